#include <algorithm>

#include "io/checksum.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"

namespace wallheat::store {
namespace {

constexpr const char* ids_name = "/ids";
constexpr const char* checksum_name = "crc32";
constexpr const char* letter_axis = "/id_bytes";
constexpr const char* listing = "list the ids";

using Id = decltype(Row::id);

constexpr std::size_t ids_at_once = 4096;

/// Letters, as netCDF has texts: of texts of more than a byte, its version 4.9.0 frees what is not
/// its own. They are the same bytes.
Handle letter_type() { return text_type(1); }

/// Nothing if there is another thing under the name, or a list of another length.
std::optional<Handle> open(const Handle& file, std::uint64_t count) {
  if (!has_object(file, ids_name)) return std::nullopt;
  Handle dataset(H5Dopen2(file.get(), ids_name, H5P_DEFAULT), H5Dclose, listing);
  const auto letter = letter_type();
  if (!has_form(dataset, {letter.get(), {count, sizeof(Id)}, {}}) ||
      !read_whole_number(dataset, checksum_name))
    return std::nullopt;
  return dataset;
}

Handle create(const Handle& file, std::uint64_t count) {
  Handle ids = create_dataset(file, ids_name, letter_type().get(), {count, sizeof(Id)});
  make_dimension(file, plan_axis, count);
  make_dimension(file, letter_axis, sizeof(Id));
  name_axis(file, ids, 0, plan_axis);
  name_axis(file, ids, 1, letter_axis);
  return ids;
}

}  // namespace

void write_ids(const Handle& file, const RowList& rows) {
  auto dataset = open(file, rows.size());
  if (!dataset) {
    if (has_object(file, ids_name)) checked(H5Ldelete(file.get(), ids_name, H5P_DEFAULT), listing);
    dataset = create(file, rows.size());
  }
  std::uint32_t checksum = 0;
  std::vector<Id> ids;
  hsize_t first = 0;
  for (const Row& row : rows) {
    ids.push_back(row.id);
    if (ids.size() < ids_at_once && first + ids.size() < rows.size()) continue;
    checksum = crc32_of(std::as_bytes(std::span(ids)), checksum);
    write_entries(*dataset, letter_type().get(), first, ids.size(), ids.data());
    first += ids.size();
    ids.clear();
  }
  write_attribute(*dataset, checksum_name, H5T_STD_U32LE, &checksum);
}

std::optional<TextList> read_ids(const Handle& file, std::size_t count) {
  const auto dataset = open(file, count);
  if (!dataset) return std::nullopt;
  std::uint32_t checksum = 0;
  TextList texts;
  texts.reserve(count);
  std::vector<Id> ids;
  while (texts.size() < count) {
    ids.resize(std::min(ids_at_once, count - texts.size()));
    read_entries(*dataset, letter_type().get(), texts.size(), ids.size(), ids.data());
    checksum = crc32_of(std::as_bytes(std::span(ids)), checksum);
    for (const auto& id : ids) texts.push_back(text_in(id));
  }
  if (read_whole_number(*dataset, checksum_name) != checksum) return std::nullopt;
  return texts;
}

}  // namespace wallheat::store
