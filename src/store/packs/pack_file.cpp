#include "store/packs/pack_file.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/bytes.hpp"
#include "core/number_of.hpp"
#include "core/plan_ids.hpp"
#include "core/python_float.hpp"
#include "io/checksum.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/results/row.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

constexpr const char* pack_rows_name = "/plans";
constexpr const char* pack_ids_name = "/ids";
constexpr const char* left_out_name = "/left_out";
constexpr const char* data_name = "/data";
constexpr const char* pack_checksum_name = "crc32";
constexpr const char* version_name = "format_version";
constexpr const char* spacing_attribute = "spacing";
constexpr const char* version_of_pack = "1";
constexpr std::size_t bytes_of_part = std::size_t{16} << 20;
constexpr const char* writing = "write the list of plans";
constexpr const char* reading = "read the list of plans";

template <class ARow>
std::uint32_t checksum_of(const ARow& row) {
  return crc32_of(std::as_bytes(std::span(&row, 1)).first(offsetof(ARow, row_crc32)));
}

Handle pack_row_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(PackRow)), H5Tclose, "describe a plan");
  const auto add = [&](const char* name, std::size_t offset, hid_t member) {
    checked(H5Tinsert(type.get(), name, offset, member), "describe a plan");
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

Handle left_out_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(LeftOutRow)), H5Tclose, "describe a reason");
  const auto add = [&](const char* name, std::size_t offset, hid_t member) {
    checked(H5Tinsert(type.get(), name, offset, member), "describe a reason");
  };
  add("plan", offsetof(LeftOutRow, plan), H5T_STD_U32LE);
  add("reason", offsetof(LeftOutRow, reason), text_type(sizeof(LeftOutRow::reason)).get());
  add("row_crc32", offsetof(LeftOutRow, row_crc32), H5T_STD_U32LE);
  return type;
}

/// Makes a dataset of one dimension in one block and fills it.
Handle write_block(const Handle& file, const std::string& name, hid_t type, hsize_t count,
                   const void* values) {
  const auto task = "write " + name;
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, task);
  Handle dataset(H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT,
                            H5P_DEFAULT),
                 H5Dclose, task);
  checked(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), task);
  return dataset;
}

void require_pack(const Handle& file, const std::filesystem::path& path) {
  auto marks = read_attributes(file, "/");
  if (marks["wallheat"] == "results") {
    throw RunError(path.string() +
                   " holds results, not floor plans; give a pack that "
                   "'wallheat pack' made, or a directory");
  }
  if (marks["wallheat"] != "plans") {
    throw RunError(path.string() +
                   " is an HDF5 file, but no pack of floor plans that "
                   "'wallheat pack' made");
  }
  const std::string& version = marks[version_name];
  if (version != version_of_pack)
    throw RunError(path.string() + " is a pack of format version " + version +
                   ", but this wallheat knows version " + version_of_pack +
                   " only; use the wallheat that wrote it, or pack the plans anew");
}

bool is_possible(const FieldForm& form, bool may_be_missing) {
  switch (form.kind) {
    case CodeKind::none:
      return may_be_missing && form.value_count == 0;
    case CodeKind::byte:
    case CodeKind::word:
      return form.value_count <= 65536;
    case CodeKind::value:
      return form.value_count == 0;
  }
  return false;
}

PlanForm form_of(const PackRow& row) {
  return {{row.rows, row.cols},
          {static_cast<CodeKind>(row.code_bytes), row.value_count},
          {static_cast<CodeKind>(row.source_code_bytes), row.source_value_count}};
}

void require_entry(bool sound, std::size_t number) {
  if (!sound)
    throw Hdf5Error("cannot use the list of plans: entry " + std::to_string(number) +
                    " is damaged");
}

/// The bytes of `in` from `offset` on. Throws DecodeError where there are not so many.
std::vector<std::byte> bytes_at(const PosixFile& in, std::uint64_t offset, std::uint64_t count) {
  const std::uint64_t file_bytes = in.size();
  // A wild size must not ask for memory.
  if (offset > file_bytes || count > file_bytes - offset)
    throw DecodeError("it is longer than the file");
  std::vector<std::byte> bytes(count);
  if (!in.read_at(offset, bytes))
    throw DecodeError("the file ends too early, or cannot be read there");
  return bytes;
}

}  // namespace

void seal(PackRow& row) { row.row_crc32 = checksum_of(row); }

PackWriter::PackWriter(const Handle& file, std::optional<double> spacing) : file_(file) {
  // First, so that they are at the beginning of the file, where --overwrite looks for them.
  Attributes marks{{"wallheat", "plans"}, {version_name, version_of_pack}};
  if (spacing) marks[spacing_attribute] = python_float(*spacing);
  write_attributes(file, "/", marks);
  const Handle group(H5Gcreate2(file.get(), data_name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Gclose, "create a pack");
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
  write_block(file_, std::string(data_name) + "/" + std::to_string(part_), H5T_STD_U8LE,
              data_.size(), data_.data());
  data_.clear();
  ++part_;
}

void PackWriter::finish() {
  write_part();
  const auto type = pack_row_type();
  write_block(file_, pack_rows_name, type.get(), rows_.size(), rows_.data());
  if (!left_out_.empty()) {
    const auto reason = left_out_type();
    write_block(file_, left_out_name, reason.get(), left_out_.size(), left_out_.data());
  }
  const Handle ids = write_block(file_, pack_ids_name, H5T_STD_U8LE, ids_.size(), ids_.data());
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, writing);
  const Handle checksum(H5Acreate2(ids.get(), pack_checksum_name, H5T_STD_U32LE, scalar.get(),
                                   H5P_DEFAULT, H5P_DEFAULT),
                        H5Aclose, writing);
  const std::uint32_t crc = crc32_of(std::as_bytes(std::span(ids_)));
  checked(H5Awrite(checksum.get(), H5T_STD_U32LE, &crc), writing);
}

PackFile::PackFile(const Handle& file, const std::filesystem::path& path, const PosixFile& in,
                   PackList& list)
    : in_(in) {
  require_pack(file, path);
  read_ids(file, list);
  read_left_out(file, list);
  find_parts(file);
  const auto type = pack_row_type();
  const Handle dataset =
      open_dataset(file.get(), pack_rows_name, {type.get(), {list.ids.size()}, {}});
  rows_at_ = find_block(dataset, sizeof(PackRow)).offset;
  look_at_rows(list);
}

PackFile::Block PackFile::find_block(const Handle& dataset, std::size_t bytes_of_value) {
  const Block block{H5Dget_offset(dataset.get()), size_of(dataset).front()};
  const std::uint64_t file_bytes = file_bytes_of(dataset);
  if (block.offset == HADDR_UNDEF || block.offset > file_bytes ||
      block.count > (file_bytes - block.offset) / bytes_of_value)
    throw Hdf5Error("cannot trust the file: it is too short for its plans");
  return block;
}

void PackFile::read_ids(const Handle& file, PackList& list) const {
  const Handle dataset = open_dataset(file.get(), pack_ids_name, {H5T_STD_U8LE, {0}, {}});
  const Block block = find_block(dataset, 1);
  std::string letters(block.count, '\0');
  const auto bytes = std::as_writable_bytes(std::span(letters));
  if (!in_.read_at(block.offset, bytes) ||
      read_whole_number(dataset, pack_checksum_name) != crc32_of(bytes) ||
      (!letters.empty() && letters.back() != '\0'))
    throw Hdf5Error(std::string("cannot ") + reading + ": their ids are damaged");
  for (std::size_t at = 0; at < letters.size();) {
    const std::size_t end = letters.find('\0', at);
    const auto id = std::string_view(letters).substr(at, end - at);
    const std::size_t number = list.ids.size();
    require_entry(!id.empty() && id.size() <= max_id_length && list.ids.add(id), number);
    at = end + 1;
  }
}

void PackFile::read_left_out(const Handle& file, PackList& list) const {
  if (!exists(file, left_out_name)) return;
  const auto type = left_out_type();
  const Handle dataset = open_dataset(file.get(), left_out_name, {type.get(), {0}, {}});
  const Block block = find_block(dataset, sizeof(LeftOutRow));
  std::vector<LeftOutRow> rows(block.count);
  if (!in_.read_at(block.offset, std::as_writable_bytes(std::span(rows))))
    throw Hdf5Error(std::string("cannot ") + reading);
  for (const LeftOutRow& row : rows) {
    require_entry(row.row_crc32 == checksum_of(row), row.plan);
    list.left_out[row.plan] = get_text(row.reason);
  }
}

GridShape PackFile::shape(std::size_t n) const { return form_of(row(n)).shape; }
FloorPlan PackFile::load(std::size_t n) const {
  const PackRow found = row(n);
  return decode_plan(form_of(found), stream(found));
}
Grid<std::uint8_t> PackFile::mask(std::size_t n) const {
  const PackRow found = row(n);
  return decode_mask(form_of(found), stream(found));
}

void PackFile::find_parts(const Handle& file) {
  const Handle group = open_group(file, data_name);
  H5G_info_t info{};
  checked(H5Gget_info(group.get(), &info), "find the plans");
  for (hsize_t part = 0; part < info.nlinks; ++part)
    parts_.push_back(
        find_block(open_dataset(group.get(), std::to_string(part), {H5T_STD_U8LE, {0}, {}}), 1));
}

void PackFile::look_at_rows(PackList& list) const {
  constexpr std::size_t rows_at_once = 4096;
  std::vector<PackRow> rows;
  list.has_source.resize(list.ids.size());
  for (std::size_t first = 0; first < list.ids.size(); first += rows.size()) {
    rows.resize(std::min(rows_at_once, list.ids.size() - first));
    if (!in_.read_at(rows_at_ + first * sizeof(PackRow), std::as_writable_bytes(std::span(rows))))
      throw Hdf5Error(std::string("cannot ") + reading);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool left_out = rows[i].rows == 0;
      require_entry(is_sound(rows[i]) && left_out == list.left_out.contains(first + i), first + i);
      list.has_source[first + i] = rows[i].source_code_bytes != 0;
    }
  }
}

bool PackFile::is_sound(const PackRow& row) const {
  if (row.row_crc32 != checksum_of(row)) return false;
  const PlanForm form = form_of(row);
  return row.rows == 0 ||
         (row.cols > 0 && is_possible(form.domain, false) && is_possible(form.source, true) &&
          row.part < parts_.size() && row.position <= parts_[row.part].count &&
          row.bytes <= parts_[row.part].count - row.position);
}

PackRow PackFile::row(std::size_t n) const {
  PackRow row{};
  if (!in_.read_at(rows_at_ + n * sizeof row, std::as_writable_bytes(std::span(&row, 1))) ||
      !is_sound(row) || row.rows == 0)
    throw DecodeError("its entry in the list of plans cannot be read");
  return row;
}

std::vector<std::byte> PackFile::stream(const PackRow& row) const {
  auto bytes = bytes_at(in_, parts_[row.part].offset + row.position, row.bytes);
  if (crc32_of(bytes) != row.crc32) throw DecodeError("its checksum does not match");
  return bytes;
}

std::optional<double> spacing_of_pack(const Handle& file) {
  const Attributes marks = read_attributes(file, "/");
  const auto spacing = marks.find(spacing_attribute);
  return spacing == marks.end() ? std::nullopt : number_of<double>(spacing->second);
}

}  // namespace wallheat::store
