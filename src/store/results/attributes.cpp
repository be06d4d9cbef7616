#include <array>
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
  if (exists(file, name)) return open_group(file, name);
  return {H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          "create the group " + name};
}

void write_text(const Handle& group, const std::string& name, const std::string& value) {
  const auto task = "write the attribute " + name;
  if (has_attribute(group, name)) {
    if (read_text(group, name) == value) return;
    checked(H5Adelete(group.get(), name.c_str()), task);
  }
  const auto type = text_type(value.size() + 1);
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, task);
  const Handle attribute(
      H5Acreate2(group.get(), name.c_str(), type.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, task);
  checked(H5Awrite(attribute.get(), type.get(), value.c_str()), task);
}

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::string session_name(std::size_t number) {
  return std::string(sessions_name) + "/" + std::to_string(number);
}

}  // namespace

void write_attributes(const Handle& object, const Attributes& values) {
  for (const auto& [name, value] : values) write_text(object, name, value);
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
    if (!exists(file, name)) break;
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
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, "write the version");
  const Handle version(H5Acreate2(root.get(), "format_version", H5T_STD_I32LE, scalar.get(),
                                  H5P_DEFAULT, H5P_DEFAULT),
                       H5Aclose, "write the version");
  checked(H5Awrite(version.get(), H5T_NATIVE_INT, &format_version), "write the version");
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

}  // namespace wallheat::store
