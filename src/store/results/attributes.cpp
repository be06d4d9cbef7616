#include <hdf5_hl.h>

#include <iterator>
#include <sstream>

#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

constexpr const char* sessions_name = "/sessions";
constexpr const char* mark_name = "wallheat";
constexpr const char* mark_value = "results";
constexpr const char* predecessors_name = "succeeds";

Handle open_or_make_group(const Handle& file, const std::string& name) {
  return has_object(file, name) ? open_group(file, name) : create_group(file, name);
}

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::string session_name(std::size_t number) {
  return std::string(sessions_name) + "/" + std::to_string(number);
}

/// By this text netCDF-4 knows a dimension that has no values of its own.
std::string no_coordinates(std::uint64_t size) {
  std::string digits = std::to_string(size);
  if (digits.size() < 10) digits.insert(0, 10 - digits.size(), ' ');
  return "This is a netCDF dimension but not a netCDF variable. " + digits;
}

}  // namespace

void write_attributes(const Handle& object, const Attributes& values) {
  for (const auto& [name, value] : values) {
    if (has_attribute(object, name) && read_text(object, name) == value) continue;
    write_attribute(object, name, text_type(value.size() + 1).get(), value.c_str());
  }
}

void write_attributes(const Handle& file, const std::string& group, const Attributes& values) {
  write_attributes(open_or_make_group(file, group), values);
}

Attributes read_attributes(const Handle& file, const std::string& group) {
  const auto source = open_group(file, group);
  std::vector<std::string> names;
  hsize_t position = 0;
  checked(H5Aiterate2(source.get(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_name, &names),
          "list the attributes of " + group);
  Attributes values;
  for (const auto& name : names) {
    if (auto value = read_text(source, name)) values[name] = std::move(*value);
  }
  return values;
}

void write_sessions(const Handle& file, const std::vector<Attributes>& sessions) {
  const auto parent = open_or_make_group(file, sessions_name);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    write_attributes(file, session_name(i), sessions[i]);
  }
}

std::vector<Attributes> read_sessions(const Handle& file) {
  std::vector<Attributes> sessions;
  // Many names may lead to one group: what was read already must not be had again and again.
  std::uint64_t room = file_bytes_of(file);
  for (;;) {
    const auto name = session_name(sessions.size());
    if (!has_object(file, name)) break;
    for (const auto& [key, value] : sessions.emplace_back(read_attributes(file, name))) {
      const auto bytes = key.size() + value.size();
      if (bytes > room) throw Hdf5Error("cannot trust the sessions: they hold more than the file");
      room -= bytes;
    }
  }
  return sessions;
}

void write_identity(const Handle& file, const Snapshot& snapshot) {
  const auto root = open_group(file, "/");
  write_attribute(root, "format_version", H5T_STD_I32LE, &format_version);
  write_attributes(
      file, "/",
      {{mark_name, mark_value}, {"file_id", snapshot.file_id}, {"Conventions", "CF-1.11"}});
  std::string ids;
  for (const auto& id : snapshot.succeeds) ids += (ids.empty() ? "" : " ") + id;
  if (!ids.empty()) write_attributes(file, "/", {{predecessors_name, ids}});
}

std::vector<std::string> read_predecessors(const Handle& file) {
  const auto root = open_group(file, "/");
  if (!has_attribute(root, predecessors_name)) return {};
  std::istringstream ids(read_text(root, predecessors_name).value_or(""));
  return {std::istream_iterator<std::string>(ids), {}};
}

std::string read_identity(const Handle& file, const std::filesystem::path& path) {
  const auto root = open_group(file, "/");
  const auto version = read_whole_number(root, "format_version");
  if (!has_attribute(root, mark_name) || read_text(root, mark_name) != mark_value || !version ||
      !has_attribute(root, "file_id")) {
    throw RunError(path.string() + " is an HDF5 file, but holds no results of wallheat");
  }
  if (*version != format_version) refuse_version(path, *version);
  return read_text(root, "file_id").value_or("");
}

void make_dimension(const Handle& file, const std::string& name, std::uint64_t size) {
  if (has_object(file, name)) return;
  const auto task = "create the dimension " + name;
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), task);
  const Handle dimension = create_dataset(file, name, H5T_IEEE_F32BE, {size}, creation.get());
  checked(H5DSset_scale(dimension.get(), no_coordinates(size).c_str()), task);
}

void make_growing_dimension(const Handle& file, const std::string& name) {
  if (has_object(file, name)) return;
  const Handle dimension = create_growing(file, name, H5T_IEEE_F32BE, 1 << 16);
  checked(H5DSset_scale(dimension.get(), no_coordinates(0).c_str()),
          "create the dimension " + name);
}

void name_axis(const Handle& file, const Handle& dataset, unsigned axis,
               const std::string& dimension) {
  if (!has_object(file, dimension)) return;
  const auto task = "name an axis " + dimension;
  const Handle scale(H5Dopen2(file.get(), dimension.c_str(), H5P_DEFAULT), H5Dclose, task);
  checked(H5DSattach_scale(dataset.get(), scale.get(), axis), task);
}

}  // namespace wallheat::store
