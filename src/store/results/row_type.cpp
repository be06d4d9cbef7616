#include "store/results/row_type.hpp"

#include <cstddef>

#include "store/hdf5/hdf5_object.hpp"

namespace wallheat::store {
namespace {

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

}  // namespace wallheat::store
