#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/id_list.hpp"
#include "io/posix_file.hpp"
#include "store/hdf5/hdf5_handle.hpp"
#include "store/packs/plan_codec.hpp"

namespace wallheat::store {

/// The plans of a pack, numbered from 0 on in their order.
struct PackList {
  IdList ids;
  std::vector<bool> has_source;                           ///< of plan n
  std::unordered_map<std::size_t, std::string> left_out;  ///< plan n, and why

  /// Throws Hdf5Error where `id` cannot be one, or is another plan's.
  void add(std::string_view id);
};

/// Throws the Hdf5Error about entry `number` of the list.
[[noreturn]] void refuse_entry(std::size_t number);

/// How the plans of a pack lie in it; each format version has its own. It is asked for plans only
/// that were not left out. Several threads may ask at once. Throws DecodeError where the plan is
/// damaged.
class PackLayout {
 public:
  PackLayout() = default;
  PackLayout(const PackLayout&) = delete;
  PackLayout& operator=(const PackLayout&) = delete;
  virtual ~PackLayout() = default;

  [[nodiscard]] virtual GridShape shape(std::size_t n) const = 0;
  [[nodiscard]] virtual std::uint64_t hash(std::size_t n) const = 0;
  [[nodiscard]] virtual FloorPlan load(std::size_t n) const = 0;
  [[nodiscard]] virtual Grid<std::uint8_t> mask(std::size_t n) const = 0;
};

/// The bytes of `in` from `offset` on. Throws DecodeError where there are not so many.
[[nodiscard]] std::vector<std::byte> bytes_at(const PosixFile& in, std::uint64_t offset,
                                              std::uint64_t count);

/// Of format version 3 (pack_file.cpp), and of 1 or 2 (old_pack_file.cpp). Lists the plans. `in` is
/// the same file and must live as long as the layout. Throws Hdf5Error where the file is damaged.
[[nodiscard]] std::unique_ptr<PackLayout> read_pack(const Handle& file, const PosixFile& in,
                                                    PackList& list);
[[nodiscard]] std::unique_ptr<PackLayout> read_old_pack(const Handle& file, const PosixFile& in,
                                                        bool with_sources, PackList& list);

}  // namespace wallheat::store
