#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"

namespace wallheat::store {
namespace {

constexpr const char* rows_name = "/rows";
constexpr const char* describing = "describe a row";

Handle make_status_type() {
  Handle type(H5Tenum_create(H5T_STD_I32LE), H5Tclose, describing);
  for (std::int32_t value = 0; value <= static_cast<std::int32_t>(PlanStatus::failed); ++value) {
    const std::string name(to_string(static_cast<PlanStatus>(value)));
    checked(H5Tenum_insert(type.get(), name.c_str(), &value), describing);
  }
  return type;
}

Handle own(hid_t predefined) { return {H5Tcopy(predefined), H5Tclose, describing}; }

template <class T>
Handle type_of(std::type_identity<T>, std::size_t bytes) {
  if constexpr (std::is_same_v<T, std::string>) return text_type(bytes);
  if constexpr (std::is_same_v<T, PlanStatus>) return make_status_type();
  if constexpr (std::is_same_v<T, float>) return own(H5T_IEEE_F32LE);
  if constexpr (std::is_same_v<T, double>) return own(H5T_IEEE_F64LE);
  if constexpr (std::is_same_v<T, std::int32_t>) return own(H5T_STD_I32LE);
  if constexpr (std::is_same_v<T, std::uint32_t>) return own(H5T_STD_U32LE);
  if constexpr (std::is_same_v<T, std::int64_t>) return own(H5T_STD_I64LE);
  if constexpr (std::is_same_v<T, std::uint64_t>) return own(H5T_STD_U64LE);
}

}  // namespace

Handle make_row_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Row)), H5Tclose, describing);
  std::size_t offset = 0;  // a row has no gaps
  for_each_row_column([&](const char* name, auto member, auto column_type) {
    constexpr std::size_t bytes = sizeof(std::declval<Row>().*member);
    checked(H5Tinsert(type.get(), name, offset, type_of(column_type, bytes).get()), describing);
    offset += bytes;
  });
  return type;
}

void RowTable::create(const Handle& file, std::uint64_t count) {
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "prepare the rows");
  // One block, allocated now: a row's place never changes, and storing rows writes no metadata.
  checked(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), "choose the rows' layout");
  checked(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), "allocate the rows");
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "leave the rows unfilled");
  const Handle rows =
      create_dataset(file, rows_name, make_row_type().get(), {count}, creation.get());
  make_dimension(file, plan_axis, count);
  name_axis(file, rows, 0, plan_axis);
}

RowTable::RowTable(const Handle& file)
    : type_(make_row_type()),
      dataset_(open_dataset(file, rows_name, {type_.get(), {0}, {}})),
      count_(size_of(dataset_).front()) {}

std::uint64_t RowTable::offset() const {
  if (count_ > file_bytes_of(dataset_) / sizeof(Row))
    throw Hdf5Error("cannot trust the file: it is too short for its rows");
  if (count_ == 0) return 0;
  const haddr_t offset = H5Dget_offset(dataset_.get());
  if (offset == HADDR_UNDEF) throw Hdf5Error("cannot find the rows");
  return offset;
}

void RowTable::write(std::uint64_t first, std::span<const Row> rows) {
  if (!rows.empty()) write_entries(dataset_, type_.get(), first, rows.size(), rows.data());
}

void RowTable::write_all(const RowList& rows) {
  constexpr std::size_t rows_at_once = 4096;
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

void RowTable::leak() {
  type_.leak();
  dataset_.leak();
}

}  // namespace wallheat::store
