#include "store/results/row_type.hpp"

#include <cstddef>

#include "store/results/row.hpp"

namespace wallheat::store {
namespace {

constexpr const char* task = "describe a row";

Handle make_status_type() {
  Handle type(H5Tenum_create(H5T_STD_I32LE), H5Tclose, task);
  for (std::int32_t value = 0; value <= static_cast<std::int32_t>(PlanStatus::failed); ++value) {
    const std::string name(to_string(static_cast<PlanStatus>(value)));
    checked(H5Tenum_insert(type.get(), name.c_str(), &value), task);
  }
  return type;
}

Handle make_text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, task);
  checked(H5Tset_size(type.get(), size), task);
  checked(H5Tset_strpad(type.get(), H5T_STR_NULLTERM), task);
  checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), task);
  return type;
}

}  // namespace

Handle make_row_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Row)), H5Tclose, task);
  const auto add = [&](const char* name, std::size_t offset, hid_t member) {
    checked(H5Tinsert(type.get(), name, offset, member), task);
  };
  const auto add_text = [&](const char* name, std::size_t offset, std::size_t size) {
    add(name, offset, make_text_type(size).get());
  };
  const auto u32 = H5T_STD_U32LE;
  const auto i32 = H5T_STD_I32LE;
  const auto i64 = H5T_STD_I64LE;
  const auto f64 = H5T_IEEE_F64LE;
  add("index", offsetof(Row, index), u32);
  add("status", offsetof(Row, status), make_status_type().get());
  add_text("id", offsetof(Row, id), sizeof(Row::id));
  add("mean_temp", offsetof(Row, mean_temp), f64);
  add("std_temp", offsetof(Row, std_temp), f64);
  add("pct_above_18", offsetof(Row, pct_above_18), f64);
  add("pct_below_15", offsetof(Row, pct_below_15), f64);
  add("iterations", offsetof(Row, iterations), i64);
  add("last_delta", offsetof(Row, last_delta), f64);
  add("interior_cells", offsetof(Row, interior_cells), i64);
  add("rows", offsetof(Row, rows), u32);
  add("cols", offsetof(Row, cols), u32);
  add("seconds", offsetof(Row, seconds), f64);
  add("attempts", offsetof(Row, attempts), i32);
  add("rank", offsetof(Row, rank), i32);
  add_text("host", offsetof(Row, host), sizeof(Row::host));
  add_text("device", offsetof(Row, device), sizeof(Row::device));
  add_text("solver", offsetof(Row, solver), sizeof(Row::solver));
  add("input_hash", offsetof(Row, input_hash), H5T_STD_U64LE);
  add("domain_size", offsetof(Row, domain_size), i64);
  add("domain_mtime_ns", offsetof(Row, domain_mtime_ns), i64);
  add("interior_size", offsetof(Row, interior_size), i64);
  add("interior_mtime_ns", offsetof(Row, interior_mtime_ns), i64);
  add("field_slot", offsetof(Row, field_slot), i64);
  add("field_bytes", offsetof(Row, field_bytes), i64);
  add("field_crc32", offsetof(Row, field_crc32), u32);
  add("failures", offsetof(Row, failures), i32);
  add_text("error", offsetof(Row, error), sizeof(Row::error));
  add("row_crc32", offsetof(Row, row_crc32), u32);
  return type;
}

}  // namespace wallheat::store
