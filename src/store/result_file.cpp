#include "store/result_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>

#include "io/checksum.hpp"
#include "store/layout.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {
namespace {

constexpr std::size_t rooms_at_once = 4096;

std::uint32_t room_checksum_of(const RoomResult& room) {
  return crc32_of(std::as_bytes(std::span(&room, 1)).first(offsetof(RoomResult, room_crc32)));
}

File open_existing(const std::filesystem::path& path, int flags) {
  refuse_folder(path);
  auto file = open_unless(ENOENT, path, flags);
  if (!file) throw RunError(path.string() + " does not exist");
  return std::move(*file);
}

}  // namespace

std::vector<RoomResult> sealed_rooms(std::span<const RoomResult> rooms, std::size_t i) {
  std::vector<RoomResult> sealed(rooms.begin(), rooms.end());
  for (RoomResult& room : sealed) {
    room.plan = static_cast<std::uint32_t>(i);
    room.room_crc32 = room_checksum_of(room);
  }
  return sealed;
}

bool are_intact(std::span<const RoomResult> rooms, const Row& row) {
  std::uint32_t number = 0;
  std::int64_t cells = 0;
  for (const RoomResult& room : rooms) {
    if (room.plan != row.index || room.room != ++number ||
        room.room_crc32 != room_checksum_of(room))
      return false;
    cells += room.cells;
  }
  return !rooms.empty() && cells == row.interior_cells;
}

std::string field_name(std::string_view id) {
  std::string name;
  for (const char letter : id) {
    const bool is_special = letter == '/' || letter == '%' || id == ".";
    name += !is_special     ? std::string(1, letter)
            : letter == '/' ? "%2F"
            : letter == '%' ? "%25"
                            : "%2E";
  }
  return name;
}

FileId new_file_id() {
  std::random_device random;
  const FileId high = random();
  return (high << 32 | random()) | 1;  // 0 is none
}

ResultFile::ResultFile(const std::filesystem::path& path) : bytes_(open_existing(path, O_RDONLY)) {
  prepare_hdf5();
  if (!is_hdf5(*bytes_)) throw RunError(path.string() + " is not an HDF5 file");
  file_ = open_to_read(path);
  if (!bytes_->is_named()) throw RunError(path.string() + " changed while it was read");
  read_identity(file_, path, campaign_);
  campaign_.settings = read_texts(open_group(file_, settings_name));
  campaign_.save_fields = has_object(file_, fields_name);
  // Many names may lead to one group: what was read already must not be had again and again.
  std::uint64_t room = bytes_->size();
  while (has_object(file_, session_name(campaign_.sessions.size()))) {
    auto session = read_texts(open_group(file_, session_name(campaign_.sessions.size())));
    for (const auto& [name, value] : session) {
      const auto bytes = name.size() + value.size();
      if (bytes > room) throw Hdf5Error("cannot trust the sessions: they hold more than the file");
      room -= bytes;
    }
    campaign_.sessions.push_back(std::move(session));
  }
  find_rows();
  if (campaign_.keeps_rooms()) find_rooms();
}

void ResultFile::find_rows() {
  const Handle type = make_row_type();
  const Handle rows = open_dataset(file_, rows_name, {type.get(), {0}, {}});
  count_ = static_cast<std::size_t>(size_of(rows).front());
  rows_at_ = offset_of(rows);
}

void ResultFile::find_rooms() {
  const Handle type = make_room_type();
  const Handle rooms = open_dataset(file_, rooms_name, {type.get(), {0}, {}});
  room_count_ = size_of(rooms).front();
  rooms_at_ = offset_of(rooms);
}

void ResultFile::read_rows(std::size_t first, std::span<Row> rows) const {
  if (!bytes_->read_at(rows_at_ + first * sizeof(Row), std::as_writable_bytes(rows)))
    throw RunError(path().string() + " changed while it was read");
}

const std::vector<std::uint32_t>& ResultFile::room_starts() const {
  std::call_once(rooms_are_counted_, [&] {
    room_starts_.reserve(count_ + 1);
    std::vector<RoomResult> some(rooms_at_once);
    std::uint64_t at = 0;
    while (at < room_count_) {
      some.resize(std::min<std::uint64_t>(rooms_at_once, room_count_ - at));
      if (!bytes_->read_at(rooms_at_ + at * sizeof(RoomResult),
                           std::as_writable_bytes(std::span(some))))
        throw RunError(path().string() + " changed while it was read");
      for (const RoomResult& room : some) {
        const bool is_whole = room.plan < count_ && room.room_crc32 == room_checksum_of(room);
        while (is_whole && room_starts_.size() <= room.plan)
          room_starts_.push_back(static_cast<std::uint32_t>(at));
        ++at;
      }
    }
    room_starts_.resize(count_ + 1, static_cast<std::uint32_t>(room_count_));
  });
  return room_starts_;
}

std::uint32_t ResultFile::room_count(std::size_t i) const {
  return room_starts()[i + 1] - room_starts()[i];
}

std::vector<RoomResult> ResultFile::rooms(std::size_t i) const {
  std::vector<RoomResult> rooms(room_count(i));
  if (!rooms.empty() && !bytes_->read_at(rooms_at_ + room_starts()[i] * sizeof(RoomResult),
                                         std::as_writable_bytes(std::span(rooms))))
    throw RunError(path().string() + " changed while it was read");
  std::erase_if(rooms, [&](const RoomResult& room) { return room.plan != i; });
  return rooms;
}

std::optional<std::vector<std::byte>> ResultFile::field(const Row& row) const {
  constexpr const char* task = "read a field";
  const std::scoped_lock lock(hdf5_);
  const KeptErrorPrinting kept;
  prepare_hdf5();
  try {
    const Handle fields = open_group(file_, fields_name);
    const std::string name = field_name(text_in(row.id));
    if (!has_object(fields, name)) return std::nullopt;
    const std::array<hsize_t, 2> corner{};
    const Handle field =
        open_dataset(fields, name, {H5T_IEEE_F64LE, {row.rows, row.cols}, {row.rows, row.cols}});
    hsize_t bytes = 0;
    checked(H5Dget_chunk_storage_size(field.get(), corner.data(), &bytes), task);
    if (bytes != static_cast<std::uint64_t>(row.field_bytes) || bytes > bytes_->size()) return {};
    std::vector<std::byte> chunk(static_cast<std::size_t>(bytes));
    std::uint32_t filters_left_out = 0;
    checked(H5Dread_chunk(field.get(), H5P_DEFAULT, corner.data(), &filters_left_out, chunk.data()),
            task);
    if (crc32_of(chunk) != row.field_crc32) return std::nullopt;
    return chunk;
  } catch (const Hdf5Error&) {
    return std::nullopt;  // the metadata of this field are damaged: to its reader it is not there
  }
}

void ResultFile::open_to_write() {
  File writable(path(), O_RDWR);
  if (!bytes_->is_named() || !writable.is_named())
    throw RunError(path().string() + " changed while it was read");
  bytes_ = std::move(writable);
}

void ResultFile::write_row(const Row& row) const {
  constexpr std::size_t first_bytes = offsetof(Row, id);  // index and status
  static_assert(first_bytes == sizeof(Row::index) + sizeof(Row::status));
  if (!is_answer(status_of(row))) {
    Row old;
    read_rows(row.index, std::span(&old, 1));
    const bool is_of_this_session = old.session == row.session;
    if (is_intact(old) && is_answer(status_of(old)) && !is_of_this_session) return;
  }
  const auto bytes = std::as_bytes(std::span(&row, 1));
  const std::uint64_t at = rows_at_ + row.index * sizeof row;
  bytes_->write_at(at + first_bytes, bytes.subspan(first_bytes));
  bytes_->write_at(at, bytes.first(first_bytes));
}

void ResultFile::copy_unknown_objects(const Handle& target) const { copy_unknown(file_, target); }

}  // namespace wallheat::store
