#include <algorithm>
#include <array>
#include <cstdio>

#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"

namespace wallheat::store {
namespace {

constexpr const char* fields_name = "/fields";

std::string group_of(GridShape shape) {
  return std::string(fields_name) + "/" + std::to_string(shape.rows) + "x" +
         std::to_string(shape.cols);
}

std::string dataset_name(GridShape shape, std::uint64_t number) {
  return group_of(shape) + "/" + std::to_string(number);
}

void make_dataset(const Handle& file, GridShape shape, std::uint64_t number, std::uint64_t slots) {
  const auto name = dataset_name(shape, number);
  const auto task = "create " + name;
  const std::array<hsize_t, 3> chunk{1, shape.rows, shape.cols};
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_chunk(creation.get(), 3, chunk.data()), task);
  checked(H5Pset_shuffle(creation.get()), task);
  // The level is only a note here: the bytes come compressed.
  checked(H5Pset_deflate(creation.get(), 4), task);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), task);
  const Handle fields =
      create_dataset(file, name, H5T_IEEE_F64LE, {slots, shape.rows, shape.cols}, creation.get());
  const auto slot = group_of(shape) + "/slot_" + std::to_string(number);
  make_dimension(file, slot, slots);
  name_axis(file, fields, 0, slot);
  name_axis(file, fields, 1, group_of(shape) + "/row");
  name_axis(file, fields, 2, group_of(shape) + "/col");
  write_attributes(fields, {{"units", "degree_Celsius"}, {"long_name", "temperature"}});
}

Handle open_table(const Handle& file, GridShape shape, std::uint64_t number) {
  // Chunks pass by whole and compressed: HDF5's cache of uncompressed ones would be waste.
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "open the fields");
  checked(H5Pset_chunk_cache(access.get(), 1, 0, 1.0), "open the fields");
  const DatasetForm form{H5T_IEEE_F64LE, {0, shape.rows, shape.cols}, {1, shape.rows, shape.cols}};
  return open_dataset(file, dataset_name(shape, number), form, access.get());
}

/// Throws Hdf5Error if a table has more slots than any.
std::uint64_t slots_of(const Handle& file, GridShape shape, std::uint64_t number) {
  const auto slots = size_of(open_table(file, shape, number)).front();
  if (slots > FieldTables::slots_per_dataset) {
    throw Hdf5Error("cannot trust " + dataset_name(shape, number) + ": it is too long");
  }
  return slots;
}

herr_t collect_table_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

std::string FieldTables::dataset_of(GridShape shape, std::uint64_t slot) {
  return dataset_name(shape, slot / slots_per_dataset);
}

void FieldTables::create(const Handle& file, const Capacities& capacities) {
  const auto fields = create_group(file, fields_name);
  for (const auto& [shape, capacity] : capacities) {
    const auto group = create_group(file, group_of(shape));
    make_dimension(file, group_of(shape) + "/row", shape.rows);
    make_dimension(file, group_of(shape) + "/col", shape.cols);
    for (std::uint64_t first = 0; first < capacity; first += slots_per_dataset) {
      make_dataset(file, shape, first / slots_per_dataset,
                   std::min(slots_per_dataset, capacity - first));
    }
  }
}

std::optional<Capacities> FieldTables::capacities(const Handle& file) {
  if (!has_object(file, fields_name)) return std::nullopt;
  const Handle fields = open_group(file, fields_name);
  std::vector<std::string> names;
  checked(H5Literate(fields.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_table_name, &names),
          "list the fields");
  Capacities found;
  for (const auto& name : names) {
    unsigned long rows = 0;
    unsigned long cols = 0;
    if (std::sscanf(name.c_str(), "%lux%lu", &rows, &cols) != 2) continue;
    const GridShape shape{rows, cols};
    if (group_of(shape) != std::string(fields_name) + "/" + name) continue;
    for (std::uint64_t number = 0; has_object(file, dataset_name(shape, number)); ++number) {
      found[shape] += slots_of(file, shape, number);
    }
  }
  return found;
}

hid_t FieldTables::dataset(GridShape shape, std::int64_t slot) {
  const auto number = static_cast<std::uint64_t>(slot) / slots_per_dataset;
  const auto found = open_.find({shape, number});
  if (found != open_.end()) return found->second.get();
  // An open dataset takes HDF5 some 15 kB. All go at once where there are many, as those that
  // are wanted next are soon open again.
  if (open_.size() == most_open) open_.clear();
  return open_.emplace(std::pair(shape, number), open_table(file_, shape, number))
      .first->second.get();
}

FieldTables::Extent FieldTables::write(GridShape shape, std::int64_t slot,
                                       std::span<const std::byte> chunk) {
  const auto target = dataset(shape, slot);
  const std::array<hsize_t, 3> corner{static_cast<std::uint64_t>(slot) % slots_per_dataset, 0, 0};
  checked(H5Dwrite_chunk(target, H5P_DEFAULT, 0, corner.data(), chunk.size(), chunk.data()),
          "write a field");
  const auto extent = find(shape, slot);
  if (!extent) throw Hdf5Error("cannot find a field that was just written");
  return *extent;
}

std::optional<FieldTables::Extent> FieldTables::find(GridShape shape, std::int64_t slot) {
  const auto target = dataset(shape, slot);
  const std::array<hsize_t, 3> corner{static_cast<std::uint64_t>(slot) % slots_per_dataset, 0, 0};
  haddr_t offset = HADDR_UNDEF;
  hsize_t bytes = 0;
  unsigned filters_left_out = 0;
  checked(H5Dget_chunk_info_by_coord(target, corner.data(), &filters_left_out, &offset, &bytes),
          "find a field");
  if (offset == HADDR_UNDEF) return std::nullopt;
  return Extent{static_cast<Offset>(offset), static_cast<std::int64_t>(bytes)};
}

void FieldTables::leak() {
  for (auto& [key, handle] : open_) handle.leak();
  open_.clear();
}

}  // namespace wallheat::store
