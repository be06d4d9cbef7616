#include "io/checksum.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"

namespace wallheat::store {
namespace {

constexpr const char* ids_name = "/ids";
constexpr const char* checksum_name = "crc32";
constexpr const char* task = "list the ids";

using Id = decltype(Row::id);

std::uint32_t checksum_of(const std::vector<Id>& ids) {
  return crc32_of(std::as_bytes(std::span(ids)));
}

bool exists(const Handle& file) {
  return checked(H5Lexists(file.get(), ids_name, H5P_DEFAULT), task) > 0;
}

/// Nothing if there is another thing under the name, or a list of another length.
std::optional<Handle> open(const Handle& file, std::uint64_t count) {
  if (!exists(file)) return std::nullopt;
  Handle dataset(H5Dopen2(file.get(), ids_name, H5P_DEFAULT), H5Dclose, task);
  const auto type = text_type(sizeof(Id));
  if (!has_form(dataset, {type.get(), {count}, {}}) || !read_whole_number(dataset, checksum_name)) {
    return std::nullopt;
  }
  return dataset;
}

void create(const Handle& file, std::uint64_t count) {
  const auto type = text_type(sizeof(Id));
  const hsize_t size = count;
  const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, task);
  const Handle ids(H5Dcreate2(file.get(), ids_name, type.get(), space.get(), H5P_DEFAULT,
                              H5P_DEFAULT, H5P_DEFAULT),
                   H5Dclose, task);
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, task);
  Handle(
      H5Acreate2(ids.get(), checksum_name, H5T_STD_U32LE, scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, task);
}

}  // namespace

void write_ids(const Handle& file, const std::vector<Row>& rows) {
  auto dataset = open(file, rows.size());
  if (!dataset) {
    if (exists(file)) checked(H5Ldelete(file.get(), ids_name, H5P_DEFAULT), task);
    create(file, rows.size());
    dataset = open(file, rows.size());
    if (!dataset) throw Hdf5Error(std::string("cannot ") + task);
  }
  std::vector<Id> ids;
  ids.reserve(rows.size());
  for (const auto& row : rows) ids.push_back(row.id);
  const auto checksum = checksum_of(ids);
  const Handle attribute(H5Aopen(dataset->get(), checksum_name, H5P_DEFAULT), H5Aclose, task);
  const auto type = text_type(sizeof(Id));
  checked(H5Dwrite(dataset->get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, ids.data()), task);
  checked(H5Awrite(attribute.get(), H5T_STD_U32LE, &checksum), task);
}

std::optional<std::vector<std::string>> read_ids(const Handle& file, std::size_t count) {
  const auto dataset = open(file, count);
  if (!dataset) return std::nullopt;
  std::vector<Id> ids(count);
  const auto type = text_type(sizeof(Id));
  checked(H5Dread(dataset->get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, ids.data()), task);
  if (read_whole_number(*dataset, checksum_name) != checksum_of(ids)) return std::nullopt;
  std::vector<std::string> texts;
  texts.reserve(ids.size());
  for (const auto& id : ids) texts.push_back(get_text(id));
  return texts;
}

}  // namespace wallheat::store
