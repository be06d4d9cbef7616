#include <algorithm>
#include <array>

#include "io/checksum.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/dimensions.hpp"
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

/// Nothing if there is another thing under the name, or a list of another length. Files have texts
/// in it that were made before letters were.
std::optional<Handle> open(const Handle& file, std::uint64_t count) {
  if (!exists(file, ids_name)) return std::nullopt;
  Handle dataset(H5Dopen2(file.get(), ids_name, H5P_DEFAULT), H5Dclose, listing);
  const auto letter = letter_type();
  const auto text = text_type(sizeof(Id));
  if (!has_form(dataset, {letter.get(), {count, sizeof(Id)}, {}}) &&
      !has_form(dataset, {text.get(), {count}, {}})) {
    return std::nullopt;
  }
  if (!read_whole_number(dataset, checksum_name)) return std::nullopt;
  return dataset;
}

void create(const Handle& file, std::uint64_t count) {
  const auto type = letter_type();
  const std::array<hsize_t, 2> size{count, sizeof(Id)};
  const Handle space(H5Screate_simple(2, size.data(), nullptr), H5Sclose, listing);
  const Handle ids(H5Dcreate2(file.get(), ids_name, type.get(), space.get(), H5P_DEFAULT,
                              H5P_DEFAULT, H5P_DEFAULT),
                   H5Dclose, listing);
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, listing);
  const Handle checksum(
      H5Acreate2(ids.get(), checksum_name, H5T_STD_U32LE, scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, listing);
  make_dimension(file, plan_axis, count);
  make_dimension(file, letter_axis, sizeof(Id));
  name_axis(file, ids, 0, plan_axis);
  name_axis(file, ids, 1, letter_axis);
}

/// Some ids one after the other, of letters or texts, in the file and in memory.
struct Part {
  Part(const Handle& dataset, hsize_t first, hsize_t count)
      : type(H5Dget_type(dataset.get()), H5Tclose, listing),
        in_file(H5Dget_space(dataset.get()), H5Sclose, listing) {
    const std::array<hsize_t, 2> start{first, 0};
    const std::array<hsize_t, 2> size{count, sizeof(Id)};
    checked(H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(),
                                nullptr),
            listing);
    const hsize_t values = count * sizeof(Id) / H5Tget_size(type.get());
    in_memory = Handle(H5Screate_simple(1, &values, nullptr), H5Sclose, listing);
  }
  Handle type, in_file, in_memory;
};

}  // namespace

void write_ids(const Handle& file, const RowList& rows) {
  auto dataset = open(file, rows.size());
  if (!dataset) {
    if (exists(file, ids_name)) checked(H5Ldelete(file.get(), ids_name, H5P_DEFAULT), listing);
    create(file, rows.size());
    dataset = open(file, rows.size());
    if (!dataset) throw Hdf5Error(std::string("cannot ") + listing);
  }
  std::uint32_t checksum = 0;
  std::vector<Id> ids;
  hsize_t first = 0;
  for (const Row& row : rows) {
    ids.push_back(row.id);
    if (ids.size() < ids_at_once && first + ids.size() < rows.size()) continue;
    checksum = crc32_of(std::as_bytes(std::span(ids)), checksum);
    const Part part(*dataset, first, ids.size());
    checked(H5Dwrite(dataset->get(), part.type.get(), part.in_memory.get(), part.in_file.get(),
                     H5P_DEFAULT, ids.data()),
            listing);
    first += ids.size();
    ids.clear();
  }
  const Handle attribute(H5Aopen(dataset->get(), checksum_name, H5P_DEFAULT), H5Aclose, listing);
  checked(H5Awrite(attribute.get(), H5T_STD_U32LE, &checksum), listing);
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
    const Part part(*dataset, texts.size(), ids.size());
    checked(H5Dread(dataset->get(), part.type.get(), part.in_memory.get(), part.in_file.get(),
                    H5P_DEFAULT, ids.data()),
            listing);
    checksum = crc32_of(std::as_bytes(std::span(ids)), checksum);
    for (const auto& id : ids) texts.push_back(text_in(id));
  }
  if (read_whole_number(*dataset, checksum_name) != checksum) return std::nullopt;
  return texts;
}

}  // namespace wallheat::store
