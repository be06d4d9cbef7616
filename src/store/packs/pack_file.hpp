#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/checksum.hpp"
#include "store/hdf5/hdf5_handle.hpp"
#include "store/packs/plan_codec.hpp"

namespace wallheat::store {

/// A plan's row in /plans of a pack, as it lies in the file.
struct PackRow {
  std::uint32_t rows, cols;               // 0: the plan was left out
  std::uint32_t code_bytes, value_count;  // of the start field: a CodeKind, and its values
  std::uint32_t source_code_bytes, source_value_count;
  std::uint64_t input_hash;
  std::uint64_t position, bytes;  // of its stream in /data/{part}
  std::uint32_t part;
  std::uint32_t interior_cells;
  std::uint32_t crc32;      // of the stream
  std::uint32_t row_crc32;  // of all bytes before it
};
static_assert(sizeof(PackRow) == 64, "a gap in PackRow would store, and check, undefined bytes");

/// Why a plan was left out, a row in /left_out. The text ends in NUL.
struct LeftOutRow {
  std::uint32_t plan;
  std::array<char, 256> reason;
  std::uint32_t row_crc32;
};

/// Computes row_crc32; to be called after the last change.
void seal(PackRow& row);

template <class ARow>
[[nodiscard]] std::uint32_t checksum_of(const ARow& row) {
  return crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(ARow, row_crc32)));
}

// What is where in a pack.
namespace pack_format {
inline constexpr const char* version = "1";
inline constexpr const char* version_attribute = "format_version";
inline constexpr const char* spacing_attribute = "spacing";
inline constexpr const char* rows = "/plans";
inline constexpr const char* ids = "/ids";
inline constexpr const char* ids_checksum = "crc32";
inline constexpr const char* left_out = "/left_out";
inline constexpr const char* data = "/data";
[[nodiscard]] Handle row_type();
[[nodiscard]] Handle left_out_type();
}  // namespace pack_format

/// Fills a new HDF5 file. Throws Hdf5Error.
class PackWriter {
 public:
  explicit PackWriter(const Handle& file, std::optional<double> spacing = {});

  /// Keeps a plan's stream. Gives its row: all of it but hash and interior_cells.
  [[nodiscard]] PackRow store(const PackedPlan& plan);
  /// Adds the next plan of the list.
  void add(std::string_view id, const PackRow& row);
  void leave_out(std::string_view id, std::string_view reason);
  /// To be called once, with all plans added.
  void finish();

 private:
  void write_part();

  const Handle& file_;
  std::vector<PackRow> rows_;
  std::vector<LeftOutRow> left_out_;
  std::string ids_;              ///< each with a NUL behind it
  std::vector<std::byte> data_;  ///< of the part that is being filled
  std::uint32_t part_ = 0;
};

}  // namespace wallheat::store
