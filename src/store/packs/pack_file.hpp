#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/id_list.hpp"
#include "io/posix_file.hpp"
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

/// What a pack says of spacing_of_plans().
[[nodiscard]] std::optional<double> spacing_of_pack(const Handle& file);

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

/// The plans of a pack, numbered from 0 on in their order.
struct PackList {
  IdList ids;
  std::vector<bool> has_source;                           ///< of plan n
  std::unordered_map<std::size_t, std::string> left_out;  ///< plan n, and why
};

/// A pack that is read. It is asked for plans only that were not left out; several threads may ask
/// at once. What takes a plan throws DecodeError where that is damaged. The rows stay in the file:
/// of many plans they would take much memory in each of many processes.
class PackFile {
 public:
  /// Lists the plans. `in` is the same file and must live as long as this. Throws RunError if the
  /// file is no pack or of another format version, Hdf5Error where it is damaged.
  PackFile(const Handle& file, const std::filesystem::path& path, const PosixFile& in,
           PackList& list);

  [[nodiscard]] GridShape shape(std::size_t n) const;
  [[nodiscard]] std::uint64_t hash(std::size_t n) const { return row(n).input_hash; }
  [[nodiscard]] FloorPlan load(std::size_t n) const;
  [[nodiscard]] Grid<std::uint8_t> mask(std::size_t n) const;

 private:
  /// Where a dataset's values are.
  struct Block {
    std::uint64_t offset = 0, count = 0;
  };
  static Block find_block(const Handle& dataset, std::size_t bytes_of_value);
  void read_ids(const Handle& file, PackList& list) const;
  void read_left_out(const Handle& file, PackList& list) const;
  void find_parts(const Handle& file);
  void look_at_rows(PackList& list) const;
  [[nodiscard]] bool is_sound(const PackRow& row) const;
  [[nodiscard]] PackRow row(std::size_t n) const;
  [[nodiscard]] std::vector<std::byte> stream(const PackRow& row) const;

  const PosixFile& in_;
  std::vector<Block> parts_;
  std::uint64_t rows_at_ = 0;
};

}  // namespace wallheat::store
