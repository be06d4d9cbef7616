#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/packs/pack_layout.hpp"

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

/// Opens a pack of any format version. Throws RunError if the file is no pack or of a version that
/// is not known, and as read_pack does.
[[nodiscard]] std::unique_ptr<PackLayout> open_pack(const Handle& file,
                                                    const std::filesystem::path& path,
                                                    const PosixFile& in, PackList& list);

}  // namespace wallheat::store
