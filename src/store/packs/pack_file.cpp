#include "store/packs/pack_file.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "io/checksum.hpp"
#include "io/deflate.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

constexpr const char* rows_name = "/plans";
constexpr const char* codes_name = "/codes";
constexpr const char* interior_name = "/interior";
constexpr const char* values_name = "/values";
constexpr const char* sources_name = "/sources";
constexpr const char* version_of_pack = "1";
/// A program that does not know sources must not solve these plans as if they had none.
constexpr const char* version_with_sources = "2";
constexpr hsize_t rows_of_chunk = 4096;

std::uint32_t checksum_of(const PackRow& row) {
  return crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(PackRow, row_crc32)));
}

Handle row_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(PackRow)), H5Tclose, "describe a plan");
  const auto add = [&](const char* name, std::size_t offset, hid_t member) {
    checked(H5Tinsert(type.get(), name, offset, member), "describe a plan");
  };
  const auto u32 = H5T_STD_U32LE;
  const auto u64 = H5T_STD_U64LE;
  add("id", offsetof(PackRow, id), text_type(sizeof(PackRow::id)).get());
  add("rows", offsetof(PackRow, rows), u32);
  add("cols", offsetof(PackRow, cols), u32);
  add("code_bytes", offsetof(PackRow, code_bytes), u32);
  add("value_count", offsetof(PackRow, value_count), u32);
  add("input_hash", offsetof(PackRow, input_hash), u64);
  add("interior_cells", offsetof(PackRow, interior_cells), H5T_STD_I64LE);
  add("codes_offset", offsetof(PackRow, codes_offset), u64);
  add("codes_bytes", offsetof(PackRow, codes_bytes), u64);
  add("interior_offset", offsetof(PackRow, interior_offset), u64);
  add("interior_bytes", offsetof(PackRow, interior_bytes), u64);
  add("values_offset", offsetof(PackRow, values_offset), u64);
  add("crc32", offsetof(PackRow, crc32), u32);
  add("reason", offsetof(PackRow, reason), text_type(sizeof(PackRow::reason)).get());
  add("row_crc32", offsetof(PackRow, row_crc32), u32);
  return type;
}

hid_t type_of(CodeKind kind) {
  switch (kind) {
    case CodeKind::byte:
      return H5T_STD_U8LE;
    case CodeKind::word:
      return H5T_STD_U16LE;
    case CodeKind::value:
      break;
  }
  return H5T_IEEE_F64LE;
}

/// Stores a grid's compressed cells as one chunk. Returns where it lies.
std::uint64_t write_grid(const Handle& file, const std::string& name, hid_t type, GridShape shape,
                         std::span<const std::byte> chunk) {
  const auto task = "write " + name;
  const std::array<hsize_t, 2> size{shape.rows, shape.cols};
  const Handle space(H5Screate_simple(2, size.data(), nullptr), H5Sclose, task);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_chunk(creation.get(), 2, size.data()), task);
  if (H5Tget_size(type) > 1) checked(H5Pset_shuffle(creation.get()), task);
  // The level is only a note here: the bytes come compressed.
  checked(H5Pset_deflate(creation.get(), 6), task);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), task);
  const Handle grid(H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT,
                               creation.get(), H5P_DEFAULT),
                    H5Dclose, task);
  const std::array<hsize_t, 2> origin{};
  checked(H5Dwrite_chunk(grid.get(), H5P_DEFAULT, 0, origin.data(), chunk.size(), chunk.data()),
          task);
  unsigned filters_left_out = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  checked(
      H5Dget_chunk_info_by_coord(grid.get(), origin.data(), &filters_left_out, &address, &bytes),
      task);
  if (address == HADDR_UNDEF || bytes != chunk.size()) throw Hdf5Error("cannot " + task);
  return address;
}

std::uint64_t write_values(const Handle& file, const std::string& name,
                           const std::vector<double>& values) {
  const auto task = "write " + name;
  const hsize_t size = values.size();
  const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, task);
  const Handle dataset(H5Dcreate2(file.get(), name.c_str(), H5T_IEEE_F64LE, space.get(),
                                  H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Dclose, task);
  checked(H5Dwrite(dataset.get(), H5T_IEEE_F64LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
          task);
  const haddr_t address = H5Dget_offset(dataset.get());
  if (address == HADDR_UNDEF) throw Hdf5Error("cannot " + task);
  return address;
}

void write_rows(const Handle& file, const char* name, const std::vector<PackRow>& rows) {
  const std::string task = "write the list of plans";
  const auto type = row_type();
  const hsize_t size = rows.size();
  const hsize_t chunk = std::min(size, rows_of_chunk);
  const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, task);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_chunk(creation.get(), 1, &chunk), task);
  checked(H5Pset_shuffle(creation.get()), task);
  checked(H5Pset_deflate(creation.get(), 6), task);
  const Handle table(H5Dcreate2(file.get(), name, type.get(), space.get(), H5P_DEFAULT,
                                creation.get(), H5P_DEFAULT),
                     H5Dclose, task);
  checked(H5Dwrite(table.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), task);
}

/// HDF5's own filters would inflate whatever a chunk holds, however much that is.
std::vector<PackRow> read_chunk_of_rows(const Handle& table, hsize_t first, hsize_t count,
                                        std::uint64_t file_bytes) {
  const std::string task = "read the list of plans";
  hsize_t bytes = 0;
  checked(H5Dget_chunk_storage_size(table.get(), &first, &bytes), task);
  if (bytes > file_bytes) throw Hdf5Error("cannot " + task);
  std::vector<std::byte> packed(bytes);
  std::vector<std::byte> planes(count * sizeof(PackRow));
  std::uint32_t filters_left_out = 0;
  checked(H5Dread_chunk(table.get(), H5P_DEFAULT, &first, &filters_left_out, packed.data()), task);
  if (filters_left_out != 0 || !inflate(packed, planes)) throw Hdf5Error("cannot " + task);
  std::vector<PackRow> rows(count);
  unshuffle<PackRow>(planes, rows);
  return rows;
}

void read_rows(const Handle& file, const char* name, std::uint64_t file_bytes,
               const std::function<void(const PackRow&)>& take) {
  const std::string task = "read the list of plans";
  const auto type = row_type();
  const Handle table = open_dataset(file.get(), name, {type.get(), {0}, {0}});
  const hsize_t count = size_of(table).front();
  const hsize_t chunk = chunk_of(table).front();
  // As deflate cannot do better than 1032 : 1, more rows than that were never written.
  if (chunk > rows_of_chunk || count > file_bytes * 1100 / sizeof(PackRow))
    throw Hdf5Error("cannot " + task);
  for (hsize_t first = 0; first < count; first += chunk) {
    const auto rows = read_chunk_of_rows(table, first, chunk, file_bytes);
    for (hsize_t i = 0; i < std::min(chunk, count - first); ++i) take(rows[i]);
  }
}

}  // namespace

void seal(PackRow& row) { row.row_crc32 = checksum_of(row); }

bool is_intact(const PackRow& row) { return row.row_crc32 == checksum_of(row); }

void begin_pack(const Handle& file) {
  for (const char* name : {codes_name, interior_name, values_name}) {
    const auto task = std::string("create the group ") + name;
    Handle(H5Gcreate2(file.get(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, task);
  }
}

void write_plan(const Handle& file, std::size_t number, const PackedPlan& plan, PackRow& row) {
  const auto name = [&](const char* group) {
    return std::string(group) + "/" + std::to_string(number);
  };
  row.rows = static_cast<std::uint32_t>(plan.shape.rows);
  row.cols = static_cast<std::uint32_t>(plan.shape.cols);
  row.code_bytes = static_cast<std::uint32_t>(plan.kind);
  row.value_count = static_cast<std::uint32_t>(plan.values.size());
  if (!plan.values.empty()) row.values_offset = write_values(file, name(values_name), plan.values);
  row.codes_bytes = plan.codes.size();
  row.codes_offset = write_grid(file, name(codes_name), type_of(plan.kind), plan.shape, plan.codes);
  row.interior_bytes = plan.interior.size();
  row.interior_offset =
      write_grid(file, name(interior_name), H5T_STD_U8LE,
                 {plan.shape.rows, bytes_of_mask_row(plan.shape.cols)}, plan.interior);
  row.crc32 = crc32_of(plan.interior,
                       crc32_of(plan.codes, crc32_of(std::as_bytes(std::span(plan.values)))));
}

void write_pack_rows(const Handle& file, const std::vector<PackRow>& rows,
                     const std::vector<PackRow>& sources) {
  write_rows(file, rows_name, rows);
  if (!sources.empty()) write_rows(file, sources_name, sources);
  write_attributes(file, "/",
                   {{"wallheat", "plans"},
                    {"format_version", sources.empty() ? version_of_pack : version_with_sources}});
}

void require_pack(const Handle& file, const std::filesystem::path& path) {
  auto marks = read_attributes(file, "/");
  if (marks["wallheat"] == "results") {
    throw RunError(path.string() +
                   " holds results, not floor plans; give a pack that "
                   "'wallheat pack' made, or a directory");
  }
  if (marks["wallheat"] != "plans") {
    throw RunError(path.string() +
                   " is an HDF5 file, but no pack of floor plans that "
                   "'wallheat pack' made");
  }
  const std::string& version = marks["format_version"];
  if (version != version_of_pack && version != version_with_sources) {
    throw RunError(path.string() + " is a pack of format version " + version +
                   ", but this wallheat knows versions " + version_of_pack + " and " +
                   version_with_sources +
                   " only; use the wallheat that wrote it, or pack the plans anew");
  }
}

void read_pack_rows(const Handle& file, std::uint64_t file_bytes,
                    const std::function<void(const PackRow&)>& take,
                    const std::function<void(const PackRow&)>& take_source) {
  read_rows(file, rows_name, file_bytes, take);
  if (read_attributes(file, "/")["format_version"] == version_with_sources)
    read_rows(file, sources_name, file_bytes, take_source);
}

}  // namespace wallheat::store
