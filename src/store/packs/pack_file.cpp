#include "store/packs/pack_file.hpp"

#include "core/python_float.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/row.hpp"

namespace wallheat::store {
namespace {

constexpr std::size_t bytes_of_part = std::size_t{16} << 20;

/// Makes a dataset of one dimension in one block and fills it.
Handle write_block(const Handle& file, const std::string& name, hid_t type, hsize_t count,
                   const void* values) {
  Handle dataset = create_dataset(file, name, type, {count});
  write_entries(dataset, type, 0, count, values);
  return dataset;
}

}  // namespace

Handle pack_format::row_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(PackRow)), H5Tclose, "describe a row of a pack");
  const auto add = [&](const char* name, std::size_t offset, hid_t member) {
    checked(H5Tinsert(type.get(), name, offset, member), "describe a row of a pack");
  };
  add("rows", offsetof(PackRow, rows), H5T_STD_U32LE);
  add("cols", offsetof(PackRow, cols), H5T_STD_U32LE);
  add("code_bytes", offsetof(PackRow, code_bytes), H5T_STD_U32LE);
  add("value_count", offsetof(PackRow, value_count), H5T_STD_U32LE);
  add("source_code_bytes", offsetof(PackRow, source_code_bytes), H5T_STD_U32LE);
  add("source_value_count", offsetof(PackRow, source_value_count), H5T_STD_U32LE);
  add("input_hash", offsetof(PackRow, input_hash), H5T_STD_U64LE);
  add("position", offsetof(PackRow, position), H5T_STD_U64LE);
  add("bytes", offsetof(PackRow, bytes), H5T_STD_U64LE);
  add("part", offsetof(PackRow, part), H5T_STD_U32LE);
  add("interior_cells", offsetof(PackRow, interior_cells), H5T_STD_U32LE);
  add("crc32", offsetof(PackRow, crc32), H5T_STD_U32LE);
  add("row_crc32", offsetof(PackRow, row_crc32), H5T_STD_U32LE);
  return type;
}

Handle pack_format::left_out_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(LeftOutRow)), H5Tclose, "describe a row of a pack");
  const auto add = [&](const char* name, std::size_t offset, hid_t member) {
    checked(H5Tinsert(type.get(), name, offset, member), "describe a row of a pack");
  };
  add("plan", offsetof(LeftOutRow, plan), H5T_STD_U32LE);
  add("reason", offsetof(LeftOutRow, reason), text_type(sizeof(LeftOutRow::reason)).get());
  add("row_crc32", offsetof(LeftOutRow, row_crc32), H5T_STD_U32LE);
  return type;
}

void seal(PackRow& row) { row.row_crc32 = checksum_of(row); }

PackWriter::PackWriter(const Handle& file, std::optional<double> spacing) : file_(file) {
  // First, so that they are at the beginning of the file, where --overwrite looks for them.
  Attributes marks{{"wallheat", "plans"}, {pack_format::version_attribute, pack_format::version}};
  if (spacing) marks[pack_format::spacing_attribute] = python_float(*spacing);
  write_attributes(file, "/", marks);
  (void)create_group(file, pack_format::data);
}

PackRow PackWriter::store(const PackedPlan& plan) {
  if (data_.size() >= bytes_of_part) write_part();
  PackRow row{};
  row.rows = static_cast<std::uint32_t>(plan.form.shape.rows);
  row.cols = static_cast<std::uint32_t>(plan.form.shape.cols);
  row.code_bytes = static_cast<std::uint32_t>(plan.form.domain.kind);
  row.value_count = plan.form.domain.value_count;
  row.source_code_bytes = static_cast<std::uint32_t>(plan.form.source.kind);
  row.source_value_count = plan.form.source.value_count;
  row.part = part_;
  row.position = data_.size();
  row.bytes = plan.stream.size();
  row.crc32 = crc32_of(plan.stream);
  data_.insert(data_.end(), plan.stream.begin(), plan.stream.end());
  return row;
}

void PackWriter::add(std::string_view id, const PackRow& row) {
  rows_.push_back(row);
  seal(rows_.back());
  ids_ += id;
  ids_ += '\0';
}

void PackWriter::leave_out(std::string_view id, std::string_view reason) {
  LeftOutRow& row = left_out_.emplace_back();
  row.plan = static_cast<std::uint32_t>(rows_.size());
  put_text(row.reason, reason);
  row.row_crc32 = checksum_of(row);
  add(id, {});
}

void PackWriter::write_part() {
  if (data_.empty()) return;
  write_block(file_, std::string(pack_format::data) + "/" + std::to_string(part_), H5T_STD_U8LE,
              data_.size(), data_.data());
  data_.clear();
  ++part_;
}

void PackWriter::finish() {
  write_part();
  const auto type = pack_format::row_type();
  write_block(file_, pack_format::rows, type.get(), rows_.size(), rows_.data());
  if (!left_out_.empty()) {
    const auto reason = pack_format::left_out_type();
    write_block(file_, pack_format::left_out, reason.get(), left_out_.size(), left_out_.data());
  }
  const Handle ids = write_block(file_, pack_format::ids, H5T_STD_U8LE, ids_.size(), ids_.data());
  const std::uint32_t crc = crc32_of(std::as_bytes(std::span(ids_)));
  write_attribute(ids, pack_format::ids_checksum, H5T_STD_U32LE, &crc);
}

}  // namespace wallheat::store
