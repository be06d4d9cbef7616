#include "store/hdf5/hdf5_object.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace wallheat::store {
namespace {

/// An open attribute of one element.
struct Attribute {
  Handle handle, type;
};

std::optional<Attribute> open_attribute(const Handle& object, const std::string& name) {
  const auto task = "read the attribute " + name;
  Attribute attribute;
  attribute.handle = Handle(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT), H5Aclose, task);
  attribute.type = Handle(H5Aget_type(attribute.handle.get()), H5Tclose, task);
  const Handle space(H5Aget_space(attribute.handle.get()), H5Sclose, task);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  return attribute;
}

bool has_type(const Handle& dataset, hid_t type) {
  const Handle stored(H5Dget_type(dataset.get()), H5Tclose, "read a dataset's type");
  return H5Tequal(stored.get(), type) > 0;
}

bool is_like(const std::vector<hsize_t>& size, const std::vector<hsize_t>& form) {
  return std::equal(size.begin(), size.end(), form.begin(), form.end(),
                    [](hsize_t a, hsize_t b) { return b == 0 || a == b; });
}

/// Other layouts, and external storage, take their bytes from other files.
bool is_in_this_file(const Handle& dataset, H5D_layout_t layout) {
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose, "read a dataset's layout");
  return H5Pget_layout(creation.get()) == layout && H5Pget_external_count(creation.get()) == 0;
}

/// Entries of a dataset as they lie in the file, and one after the other in memory.
struct Selection {
  Selection(const Handle& dataset, hsize_t first, hsize_t count)
      : in_file(H5Dget_space(dataset.get()), H5Sclose, "select entries") {
    auto size = size_of(dataset);
    std::vector<hsize_t> start(size.size());
    start.front() = first;
    size.front() = count;
    checked(H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(),
                                nullptr),
            "select entries");
    in_memory = Handle(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                       H5Sclose, "select entries");
  }
  Handle in_file, in_memory;
};

void require(const Handle& file, const std::string& name) {
  if (!has_object(file, name)) throw Hdf5Error("cannot open " + name + ": there is none");
}

}  // namespace

int descriptor_of(const Handle& file) {
  int* descriptor = nullptr;
  checked(H5Fget_vfd_handle(file.get(), H5P_DEFAULT, reinterpret_cast<void**>(&descriptor)),
          "find the file's descriptor");
  return *descriptor;
}

std::uint64_t file_bytes_of(const Handle& object) {
  const Handle file(H5Iget_file_id(object.get()), H5Fclose, "find the file of an object");
  struct stat info {};
  if (::fstat(descriptor_of(file), &info) != 0) {
    throw Hdf5Error(std::string("cannot examine the file: ") + std::strerror(errno));
  }
  return static_cast<std::uint64_t>(info.st_size);
}

Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "describe a text");
  checked(H5Tset_size(type.get(), bytes), "describe a text");
  checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), "describe a text");
  return type;
}

bool has_object(const Handle& file, const std::string& name) {
  for (std::size_t end = 0; end < name.size();) {
    end = std::min(name.find('/', end + 1), name.size());
    const std::string part = name.substr(0, end);
    if (part == "/") continue;
    if (checked(H5Lexists(file.get(), part.c_str(), H5P_DEFAULT), "look for " + part) == 0)
      return false;
    H5L_info_t link{};
    checked(H5Lget_info(file.get(), part.c_str(), &link, H5P_DEFAULT), "look for " + part);
    if (link.type != H5L_TYPE_HARD)
      throw Hdf5Error("cannot open " + name + ": " + part + " is a link to something else");
  }
  return true;
}

Handle create_group(const Handle& file, const std::string& name) {
  return {H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          "create the group " + name};
}

Handle open_group(const Handle& file, const std::string& name) {
  require(file, name);
  return {H5Gopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Gclose, "open the group " + name};
}

std::vector<hsize_t> size_of(const Handle& dataset) {
  const Handle space(H5Dget_space(dataset.get()), H5Sclose, "read a dataset's size");
  const int rank = checked(H5Sget_simple_extent_ndims(space.get()), "read a dataset's size");
  std::vector<hsize_t> size(static_cast<std::size_t>(rank));
  checked(H5Sget_simple_extent_dims(space.get(), size.data(), nullptr), "read a dataset's size");
  return size;
}

std::vector<hsize_t> chunk_of(const Handle& dataset) {
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose, "read a dataset's chunk");
  std::vector<hsize_t> chunk(size_of(dataset).size());
  const int rank = static_cast<int>(chunk.size());
  const int found =
      checked(H5Pget_chunk(creation.get(), rank, chunk.data()), "read a chunk's size");
  return found == rank ? chunk : std::vector<hsize_t>{};
}

bool has_form(const Handle& dataset, const DatasetForm& form) {
  const bool chunked = !form.chunk.empty();
  return is_in_this_file(dataset, chunked ? H5D_CHUNKED : H5D_CONTIGUOUS) &&
         has_type(dataset, form.type) && is_like(size_of(dataset), form.size) &&
         (!chunked || is_like(chunk_of(dataset), form.chunk));
}

Handle create_dataset(const Handle& file, const std::string& name, hid_t type,
                      const std::vector<hsize_t>& size, hid_t creation) {
  const auto task = "create " + name;
  const Handle space(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                     H5Sclose, task);
  return {
      H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, creation, H5P_DEFAULT),
      H5Dclose, task};
}

Handle create_growing(const Handle& file, const std::string& name, hid_t type, hsize_t chunk) {
  const auto task = "create " + name;
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_chunk(creation.get(), 1, &chunk), task);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), task);
  const hsize_t none = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose, task);
  return {H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(),
                     H5P_DEFAULT),
          H5Dclose, task};
}

void write_entries(const Handle& dataset, hid_t type, hsize_t first, hsize_t count,
                   const void* values) {
  const Selection part(dataset, first, count);
  checked(
      H5Dwrite(dataset.get(), type, part.in_memory.get(), part.in_file.get(), H5P_DEFAULT, values),
      "write entries");
}

void read_entries(const Handle& dataset, hid_t type, hsize_t first, hsize_t count, void* values) {
  const Selection part(dataset, first, count);
  checked(
      H5Dread(dataset.get(), type, part.in_memory.get(), part.in_file.get(), H5P_DEFAULT, values),
      "read entries");
}

Handle open_dataset(const Handle& file, const std::string& name, const DatasetForm& form,
                    hid_t access) {
  const auto task = "open " + name;
  require(file, name);
  Handle dataset(H5Dopen2(file.get(), name.c_str(), access), H5Dclose, task);
  if (!has_form(dataset, form)) {
    throw Hdf5Error("cannot " + task + ": it is not of the form that wallheat gives it");
  }
  return dataset;
}

void write_attribute(const Handle& object, const std::string& name, hid_t type, const void* value) {
  const auto task = "write the attribute " + name;
  if (has_attribute(object, name)) checked(H5Adelete(object.get(), name.c_str()), task);
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, task);
  const Handle attribute(
      H5Acreate2(object.get(), name.c_str(), type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, task);
  checked(H5Awrite(attribute.get(), type, value), task);
}

bool has_attribute(const Handle& object, const std::string& name) {
  return checked(H5Aexists(object.get(), name.c_str()), "look for the attribute " + name) > 0;
}

std::optional<std::string> read_text(const Handle& object, const std::string& name) {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  const hid_t type = attribute->type.get();
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0) return std::nullopt;
  const std::size_t length = H5Tget_size(type);
  if (length > file_bytes_of(object)) return std::nullopt;
  std::string value(length, '\0');
  checked(H5Aread(attribute->handle.get(), type, value.data()), "read the attribute " + name);
  return value.substr(0, value.find('\0'));
}

std::optional<std::int64_t> read_whole_number(const Handle& object, const std::string& name) {
  if (!has_attribute(object, name)) return std::nullopt;
  const auto attribute = open_attribute(object, name);
  if (!attribute || H5Tget_class(attribute->type.get()) != H5T_INTEGER) return std::nullopt;
  std::int64_t value = 0;
  checked(H5Aread(attribute->handle.get(), H5T_NATIVE_INT64, &value), "read the attribute " + name);
  return value;
}

}  // namespace wallheat::store
