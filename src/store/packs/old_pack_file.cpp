// Packs of format versions 1 and 2, which are read and no longer written.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "core/bytes.hpp"
#include "core/plan_ids.hpp"
#include "io/checksum.hpp"
#include "io/deflate.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/packs/pack_layout.hpp"
#include "store/results/row.hpp"

namespace wallheat::store {
namespace {

constexpr const char* old_rows_name = "/plans";
constexpr const char* sources_name = "/sources";
constexpr hsize_t rows_of_chunk = 4096;
constexpr const char* reading_old = "read the list of plans";

/// A plan's row as it lies in the file. Texts end in NUL. Values are as they are, codes and mask
/// each a zlib stream.
struct OldRow {
  std::array<char, max_id_length + 1> id;
  std::uint32_t rows, cols;  // 0: the plan was left out, see reason
  std::uint32_t code_bytes;  // a CodeKind
  std::uint32_t value_count;
  std::uint64_t input_hash;
  std::int64_t interior_cells;
  std::uint64_t codes_offset, codes_bytes;
  std::uint64_t interior_offset, interior_bytes;
  std::uint64_t values_offset;
  std::uint32_t crc32;  // of the stored bytes of values, codes and interior, one after the other
  std::array<char, 256> reason;
  std::uint32_t row_crc32;  // of all bytes before it
};
static_assert(sizeof(OldRow) == 464);

Handle old_row_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(OldRow)), H5Tclose, "describe a plan");
  const auto add = [&](const char* name, std::size_t offset, hid_t member) {
    checked(H5Tinsert(type.get(), name, offset, member), "describe a plan");
  };
  add("id", offsetof(OldRow, id), text_type(sizeof(OldRow::id)).get());
  add("rows", offsetof(OldRow, rows), H5T_STD_U32LE);
  add("cols", offsetof(OldRow, cols), H5T_STD_U32LE);
  add("code_bytes", offsetof(OldRow, code_bytes), H5T_STD_U32LE);
  add("value_count", offsetof(OldRow, value_count), H5T_STD_U32LE);
  add("input_hash", offsetof(OldRow, input_hash), H5T_STD_U64LE);
  add("interior_cells", offsetof(OldRow, interior_cells), H5T_STD_I64LE);
  add("codes_offset", offsetof(OldRow, codes_offset), H5T_STD_U64LE);
  add("codes_bytes", offsetof(OldRow, codes_bytes), H5T_STD_U64LE);
  add("interior_offset", offsetof(OldRow, interior_offset), H5T_STD_U64LE);
  add("interior_bytes", offsetof(OldRow, interior_bytes), H5T_STD_U64LE);
  add("values_offset", offsetof(OldRow, values_offset), H5T_STD_U64LE);
  add("crc32", offsetof(OldRow, crc32), H5T_STD_U32LE);
  add("reason", offsetof(OldRow, reason), text_type(sizeof(OldRow::reason)).get());
  add("row_crc32", offsetof(OldRow, row_crc32), H5T_STD_U32LE);
  return type;
}

/// HDF5's own filters would inflate whatever a chunk holds, however much that is.
std::vector<OldRow> read_chunk_of_rows(const Handle& table, hsize_t first, hsize_t count,
                                       std::uint64_t file_bytes) {
  hsize_t bytes = 0;
  checked(H5Dget_chunk_storage_size(table.get(), &first, &bytes), reading_old);
  if (bytes > file_bytes) throw Hdf5Error(std::string("cannot ") + reading_old);
  std::vector<std::byte> packed(bytes);
  std::vector<std::byte> planes(count * sizeof(OldRow));
  std::uint32_t filters_left_out = 0;
  checked(H5Dread_chunk(table.get(), H5P_DEFAULT, &first, &filters_left_out, packed.data()),
          reading_old);
  if (filters_left_out != 0 || !inflate(packed, planes))
    throw Hdf5Error(std::string("cannot ") + reading_old);
  std::vector<OldRow> rows(count);
  unshuffle<OldRow>(planes, rows);
  return rows;
}

void read_rows(const Handle& file, const char* name, std::uint64_t file_bytes,
               const std::function<void(const OldRow&)>& take) {
  const auto type = old_row_type();
  const Handle table = open_dataset(file.get(), name, {type.get(), {0}, {0}});
  const hsize_t count = size_of(table).front();
  const hsize_t chunk = chunk_of(table).front();
  // As deflate cannot do better than 1032 : 1, more rows than that were never written.
  if (chunk > rows_of_chunk || count > file_bytes * 1100 / sizeof(OldRow))
    throw Hdf5Error(std::string("cannot ") + reading_old);
  for (hsize_t first = 0; first < count; first += chunk) {
    const auto rows = read_chunk_of_rows(table, first, chunk, file_bytes);
    for (hsize_t i = 0; i < std::min(chunk, count - first); ++i) take(rows[i]);
  }
}

bool is_intact(const OldRow& row) {
  const auto kind = static_cast<CodeKind>(row.code_bytes);
  return row.row_crc32 ==
             crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(OldRow, row_crc32))) &&
         (row.rows == 0 || (row.cols > 0 && (kind == CodeKind::byte || kind == CodeKind::word ||
                                             (kind == CodeKind::value && row.value_count == 0)))) &&
         row.value_count <= 65536;
}

/// A start field with its mask. A source is the same: of a plan of that mask whose start field is
/// the source.
struct Entry {
  GridShape shape;
  FieldForm form;
  std::uint32_t crc32 = 0;
  std::uint64_t hash = 0;
  std::uint64_t values_offset = 0;
  std::uint64_t codes_offset = 0, codes_bytes = 0;
  std::uint64_t interior_offset = 0, interior_bytes = 0;
};

Entry entry_of(const OldRow& row) {
  return {{row.rows, row.cols},
          {static_cast<CodeKind>(row.code_bytes), row.value_count},
          row.crc32,
          row.input_hash,
          row.values_offset,
          row.codes_offset,
          row.codes_bytes,
          row.interior_offset,
          row.interior_bytes};
}

class OldLayout final : public PackLayout {
 public:
  OldLayout(const Handle& file, const PosixFile& in, bool with_sources, PackList& list) : in_(in) {
    read_rows(file, old_rows_name, in.size(), [&](const OldRow& row) {
      const std::size_t number = list.ids.size();
      if (!is_intact(row)) refuse_entry(number);
      list.add(get_text(row.id));
      if (row.rows == 0) list.left_out[number] = get_text(row.reason);
      entries_.push_back(entry_of(row));
    });
    list.has_source.resize(list.ids.size());
    if (!with_sources) return;
    read_rows(file, sources_name, in.size(), [&](const OldRow& row) {
      const auto plan = list.ids.find(get_text(row.id));
      if (!is_intact(row) || row.rows == 0 || !plan ||
          !sources_.emplace(*plan, entry_of(row)).second)
        refuse_entry(list.ids.size() + sources_.size());
      list.has_source[*plan] = true;
    });
  }

  [[nodiscard]] GridShape shape(std::size_t n) const override { return entries_[n].shape; }
  [[nodiscard]] std::uint64_t hash(std::size_t n) const override { return entries_[n].hash; }

  [[nodiscard]] FloorPlan load(std::size_t n) const override {
    const Entry& entry = entries_[n];
    const Pieces pieces = read(entry);
    FloorPlan plan{decode(entry, pieces), decode_mask(entry, pieces)};
    if (const auto source = sources_.find(n); source != sources_.end()) {
      if (source->second.shape != entry.shape) throw DecodeError("its source has another shape");
      plan.source = decode(source->second, read(source->second));
    }
    return plan;
  }

  [[nodiscard]] Grid<std::uint8_t> mask(std::size_t n) const override {
    return decode_mask(entries_[n], read(entries_[n]));
  }

 private:
  struct Pieces {
    std::vector<std::byte> values, codes, interior;
  };

  [[nodiscard]] Pieces read(const Entry& entry) const {
    // No stream is twice as long as what it holds.
    const std::uint64_t cells = std::uint64_t{entry.shape.rows} * entry.shape.cols;
    constexpr std::uint64_t least = 4096;
    if (entry.codes_bytes / 2 > cells * static_cast<std::uint64_t>(entry.form.kind) + least ||
        entry.interior_bytes / 2 > cells + least)
      throw DecodeError("it is longer than its shape allows");
    Pieces pieces{bytes_at(in_, entry.values_offset, entry.form.values_bytes()),
                  bytes_at(in_, entry.codes_offset, entry.codes_bytes),
                  bytes_at(in_, entry.interior_offset, entry.interior_bytes)};
    if (crc32_of(pieces.interior, crc32_of(pieces.codes, crc32_of(pieces.values))) != entry.crc32)
      throw DecodeError("its checksum does not match");
    return pieces;
  }

  static Grid<double> decode(const Entry& entry, const Pieces& pieces) {
    const auto width = static_cast<std::size_t>(entry.form.kind);
    if (!can_hold(pieces.codes.size(), entry.shape.rows, entry.shape.cols, width))
      throw DecodeError(
          "the cells of its start field cannot have the shape that is given for them");
    std::vector<std::byte> bytes = pieces.values;
    bytes.resize(entry.form.bytes(entry.shape.rows * entry.shape.cols));
    if (!inflate(pieces.codes, std::span(bytes).subspan(pieces.values.size())))
      throw DecodeError("the cells of its start field cannot be unpacked");
    return decode_field(entry.shape, entry.form, bytes);
  }

  static Grid<std::uint8_t> decode_mask(const Entry& entry, const Pieces& pieces) {
    const std::size_t stride = bytes_of_mask_row(entry.shape.cols);
    if (!can_hold(pieces.interior.size(), entry.shape.rows, stride, 1))
      throw DecodeError("the cells of its mask cannot have the shape that is given for them");
    std::vector<std::byte> bits(entry.shape.rows * stride);
    if (!inflate(pieces.interior, bits))
      throw DecodeError("the cells of its mask cannot be unpacked");
    return decode_bits(entry.shape, bits);
  }

  const PosixFile& in_;
  std::vector<Entry> entries_;
  std::unordered_map<std::size_t, Entry> sources_;  ///< of plan n
};

}  // namespace

std::unique_ptr<PackLayout> read_old_pack(const Handle& file, const PosixFile& in,
                                          bool with_sources, PackList& list) {
  return std::make_unique<OldLayout>(file, in, with_sources, list);
}

}  // namespace wallheat::store
