#include <algorithm>

#include "store/hdf5/hdf5_object.hpp"
#include "store/results/dimensions.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/results/row_type.hpp"

namespace wallheat::store {
namespace {

constexpr const char* rows_name = "/rows";
constexpr std::size_t rows_at_once = 4096;

}  // namespace

void RowTable::create(const Handle& file, std::uint64_t count) {
  const auto type = make_row_type();
  const hsize_t size = count;
  const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "shape the rows");
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "prepare the rows");
  // One block, allocated now: a row's place never changes, and storing rows writes no metadata.
  checked(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), "choose the rows' layout");
  checked(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), "allocate the rows");
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "leave the rows unfilled");
  const Handle rows(H5Dcreate2(file.get(), rows_name, type.get(), space.get(), H5P_DEFAULT,
                               creation.get(), H5P_DEFAULT),
                    H5Dclose, "create the rows");
  make_dimension(file, plan_axis, count);
  name_axis(file, rows, 0, plan_axis);
}

RowTable::RowTable(const Handle& file)
    : type_(make_row_type()),
      dataset_(open_dataset(file.get(), rows_name, {type_.get(), {0}, {}})),
      count_(size_of(dataset_).front()) {}

Handle RowTable::selection(std::uint64_t first, std::uint64_t count) const {
  Handle space(H5Dget_space(dataset_.get()), H5Sclose, "select rows");
  const hsize_t start = first;
  const hsize_t length = count;
  checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr),
          "select rows");
  return space;
}

void RowTable::write(std::uint64_t first, std::span<const Row> rows) {
  if (rows.empty()) return;
  const hsize_t length = rows.size();
  const Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose, "select rows");
  checked(H5Dwrite(dataset_.get(), type_.get(), memory.get(), selection(first, rows.size()).get(),
                   H5P_DEFAULT, rows.data()),
          "write rows");
}

void RowTable::read(std::uint64_t first, std::span<Row> rows) const {
  if (rows.empty()) return;
  const hsize_t length = rows.size();
  const Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose, "select rows");
  checked(H5Dread(dataset_.get(), type_.get(), memory.get(), selection(first, rows.size()).get(),
                  H5P_DEFAULT, rows.data()),
          "read rows");
}

void RowTable::write_all(const RowList& rows) {
  std::vector<Row> part;
  std::uint64_t first = 0;
  for (const Row& row : rows) {
    part.push_back(row);
    if (part.size() < rows_at_once && first + part.size() < rows.size()) continue;
    write(first, part);
    first += part.size();
    part.clear();
  }
}

void RowTable::for_each(const std::function<void(std::size_t i, const Row& row)>& take) const {
  require_whole();
  std::vector<Row> part;
  for (std::uint64_t first = 0; first < count_; first += part.size()) {
    part.resize(std::min<std::uint64_t>(rows_at_once, count_ - first));
    read(first, part);
    for (std::size_t k = 0; k < part.size(); ++k) take(first + k, part[k]);
  }
}

void RowTable::require_whole() const {
  if (count_ > file_bytes_of(dataset_) / sizeof(Row)) {
    throw Hdf5Error("cannot trust the file: it is too short for its rows");
  }
}

std::uint64_t RowTable::offset() const {
  require_whole();
  const haddr_t offset = H5Dget_offset(dataset_.get());
  if (offset == HADDR_UNDEF) throw Hdf5Error("cannot find the rows");
  return offset;
}

void RowTable::leak() {
  type_.leak();
  dataset_.leak();
}

}  // namespace wallheat::store
