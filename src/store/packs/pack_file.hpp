#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/plan_ids.hpp"
#include "store/hdf5/hdf5_handle.hpp"
#include "store/packs/plan_codec.hpp"

namespace wallheat::store {

/// A plan's row in /plans of a pack, as it lies in the file. Texts end in NUL.
struct PackRow {
  std::array<char, max_id_length + 1> id;
  std::uint32_t rows, cols;   // 0: the plan was left out, see reason
  std::uint32_t code_bytes;   // a CodeKind
  std::uint32_t value_count;  // of /values/{n}
  std::uint64_t input_hash;
  std::int64_t interior_cells;
  std::uint64_t codes_offset, codes_bytes;  // where the chunk lies in the file
  std::uint64_t interior_offset, interior_bytes;
  std::uint64_t values_offset;
  std::uint32_t crc32;  // of the stored bytes of values, codes and interior, one after the other
  std::array<char, 256> reason;
  std::uint32_t row_crc32;  // of all bytes before it
};
static_assert(sizeof(PackRow) == 464, "a gap in PackRow would store, and check, undefined bytes");

/// Computes row_crc32; to be called after the last change.
void seal(PackRow& row);
[[nodiscard]] bool is_intact(const PackRow& row);

/// Makes the groups of a new pack.
void begin_pack(const Handle& file);
/// Stores a plan under a number and where it lies: all of `row` but id, hash and interior_cells.
void write_plan(const Handle& file, std::size_t number, const PackedPlan& plan, PackRow& row);
/// To be called once, with all rows sealed. `sources`: for each plan with a source a row of the
/// same id, that of a plan whose start field is the source.
void write_pack_rows(const Handle& file, const std::vector<PackRow>& rows,
                     const std::vector<PackRow>& sources);

/// Throws RunError if the file is no pack, or one of another format version.
void require_pack(const Handle& file, const std::filesystem::path& path);
/// Hands over one row after the other, unchecked; those of the plans, then those of the sources.
void read_pack_rows(const Handle& file, std::uint64_t file_bytes,
                    const std::function<void(const PackRow&)>& take,
                    const std::function<void(const PackRow&)>& take_source);

}  // namespace wallheat::store
