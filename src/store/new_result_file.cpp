#include <algorithm>
#include <array>
#include <utility>

#include "io/files.hpp"
#include "store/result_file.hpp"
#include "store/result_file_names.hpp"

namespace wallheat::store {
namespace {

constexpr std::size_t rows_per_write = 4096;

/// Creates a contiguous dataset, allocates its space, and returns its offset in the file. So a row
/// never moves, and writing it changes no metadata.
std::uint64_t create_table(const Handle& file, const char* name, const Handle& type,
                           hsize_t count) {
  const auto task = std::string("create ") + name;
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), task);
  checked(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), task);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), task);
  return H5Dget_offset(create_dataset(file, name, type.get(), {count}, creation.get()).get());
}

std::vector<std::uint32_t> starts_of(std::span<const std::uint32_t> counts) {
  std::vector<std::uint32_t> starts;
  if (counts.empty()) return starts;
  starts.reserve(counts.size() + 1);
  starts.push_back(0);
  for (const std::uint32_t count : counts) starts.push_back(starts.back() + count);
  return starts;
}

}  // namespace

NewResultFile::NewResultFile(const std::filesystem::path& path, const FileHeader& header,
                             std::size_t count, std::span<const std::uint32_t> room_counts)
    : path_(path), temporary_(new_temporary_path(path)), room_starts_(starts_of(room_counts)) {
  // Frees space, and prevents another process that does not see the lock of this one from finishing
  // its new file.
  remove_temporary_files(path);
  file_ = create_new(temporary_);
  try {
    bytes_.emplace(temporary_, O_RDWR);
    copy_owner_and_mode(path, *bytes_);
    create(header, count);
  } catch (...) {
    discard();
    throw;
  }
}

void NewResultFile::create(const FileHeader& header, std::size_t count) {
  write_identity(file_, header);
  write_texts(create_group(file_, settings_name), header.settings);
  write_groups(file_, sessions_name, header.sessions);
  if (!header.replaced.empty()) write_groups(file_, replaced_name, header.replaced);
  if (header.save_fields) fields_ = create_group(file_, fields_name);
  rows_at_ = create_table(file_, rows_name, make_row_type(header), count);
  if (!header.keeps_rooms()) return;
  const std::uint32_t rooms = room_starts_.empty() ? 0 : room_starts_.back();
  rooms_at_ = create_table(file_, rooms_name, make_room_type(), rooms);
}

void NewResultFile::discard() {
  // After a failed write even closing can crash in HDF5.
  fields_.forget();
  file_.forget();
  try {
    remove_file(temporary_);
  } catch (const SystemError&) {
    // The next compaction removes it.
  }
}

NewResultFile::~NewResultFile() {
  if (file_.open()) discard();
}

void NewResultFile::put(const StoredResult& result) {
  const ResultRow& row = result.row;
  if (rows_.size() == rows_per_write || (!rows_.empty() && rows_.back().index + 1 != row.index))
    flush_rows();
  rows_.push_back(row);
  if (has_field(row)) write_field(row, result.field);
  if (room_starts_.empty()) return;
  const std::uint64_t start = room_starts_.at(row.index);
  const std::size_t count = room_starts_.at(row.index + 1) - start;
  if (result.rooms.size() > count) throw_changed(path_);
  auto rooms = result.rooms;
  rooms.resize(count, RoomResult{.plan = UINT32_MAX});
  bytes_->write_at(rooms_at_ + start * sizeof(RoomResult), std::as_bytes(std::span(rooms)));
}

void NewResultFile::flush_rows() {
  if (rows_.empty()) return;
  bytes_->write_at(rows_at_ + rows_.front().index * sizeof(ResultRow),
                   std::as_bytes(std::span(rows_)));
  rows_.clear();
}

/// Writes a field as a dataset of one chunk, which a worker has compressed.
void NewResultFile::write_field(const ResultRow& row, std::span<const std::byte> chunk) {
  constexpr const char* task = "write a field";
  const std::array<hsize_t, 2> shape{row.rows, row.cols};
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_chunk(creation.get(), 2, shape.data()), task);
  checked(H5Pset_shuffle(creation.get()), task);
  checked(H5Pset_deflate(creation.get(), 1), task);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), task);
  const Handle field = create_dataset(fields_, field_name(id_of(row)), H5T_IEEE_F64LE,
                                      {row.rows, row.cols}, creation.get());
  constexpr std::array<hsize_t, 2> corner{};
  checked(H5Dwrite_chunk(field.get(), H5P_DEFAULT, 0, corner.data(), chunk.size(), chunk.data()),
          task);
}

void NewResultFile::finish(const std::function<void()>& before_it_has_its_name) {
  flush_rows();
  // Closing an HDF5 file may crash if a write fails during it, so everything is written before.
  checked(H5Fflush(file_.get(), H5F_SCOPE_LOCAL), "write " + temporary_.string());
  fields_ = Handle();
  try {
    file_.close("close " + temporary_.string());
    bytes_->sync();
    // Another process that does not see the lock of this one may create a file with this name, too.
    if (!bytes_->path_still_refers_here())
      throw RunError(temporary_.string() + " was replaced by another process");
    if (before_it_has_its_name) before_it_has_its_name();
    rename_durably(temporary_, path_);
  } catch (...) {
    discard();
    throw;
  }
}

}  // namespace wallheat::store
