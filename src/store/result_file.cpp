#include "store/result_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "io/deflate.hpp"
#include "io/files.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {
namespace {

constexpr std::size_t rooms_at_once = 4096;
constexpr std::array<unsigned char, 8> hdf5_signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

std::uint32_t room_checksum_of(const RoomResult& room) {
  return crc32_of(std::as_bytes(std::span(&room, 1)).first(offsetof(RoomResult, room_crc32)));
}

File open_existing(const std::filesystem::path& path) {
  require_not_directory(path);
  auto file = open_unless_errno(ENOENT, path, O_RDONLY);
  if (!file) throw_missing(path);
  return std::move(*file);
}

}  // namespace

std::vector<RoomResult> rooms_with_checksums(std::span<const RoomResult> rooms, std::size_t i) {
  std::vector<RoomResult> sealed(rooms.begin(), rooms.end());
  for (RoomResult& room : sealed) {
    room.plan = static_cast<std::uint32_t>(i);
    room.room_crc32 = room_checksum_of(room);
  }
  return sealed;
}

bool is_intact(const RoomResult& room) { return room.room_crc32 == room_checksum_of(room); }

bool are_intact(std::span<const RoomResult> rooms, const ResultRow& row) {
  std::uint32_t number = 0;
  std::int64_t cells = 0;
  for (const RoomResult& room : rooms) {
    if (room.plan != row.index || room.room != ++number || !is_intact(room)) return false;
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
  return random_number() | 1;  // never 0
}

/// Returns how messages name a setting: normally by its option.
static std::string setting_label(std::string name) {
  static const Attributes others{{"solver_version", "version of the solver"},
                                 {"rooms_door", "--rooms or --door"},
                                 {"solver_files", "files of the program"},
                                 {"solver_deterministic", "--deterministic-solver"}};
  if (const auto other = others.find(name); other != others.end()) return other->second;
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

std::string differences(const FileHeader& first, const std::string& a, const FileHeader& second,
                        const std::string& b) {
  std::string text;
  const auto compare = [&](const std::string& name, const std::string& of_first,
                           const std::string& of_second) {
    if (of_first == of_second) return;
    text += (text.empty() ? "" : "; ") + setting_label(name) + ": " + a + " " + of_first + ", " +
            b + " " + of_second;
  };
  const auto value_in = [](const Attributes& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? "none" : found->second;
  };
  Attributes all = first.settings;
  all.insert(second.settings.begin(), second.settings.end());
  for (const auto& [name, value] : all)
    compare(name, value_in(first.settings, name), value_in(second.settings, name));
  const auto word = [](bool saved) { return saved ? "saved" : "not saved"; };
  compare("save_fields", word(first.save_fields), word(second.save_fields));
  return text;
}

ResultFile::ResultFile(const std::filesystem::path& path) : bytes_(open_existing(path)) {
  const SuppressHdf5Errors quiet;
  std::array<unsigned char, hdf5_signature.size()> start{};
  if (!bytes_.read_at(0, std::as_writable_bytes(std::span(start))) || start != hdf5_signature)
    throw RunError(path.string() + " is not an HDF5 file");
  file_ = open_to_read(path);
  if (!bytes_.path_still_refers_here()) throw_changed(path);
  read_identity(file_, path, header_);
  read_groups_of_header();
  header_.save_fields = has_object(file_, fields_name);
  rows_ = find(rows_name, make_row_type(header_));
  if (header_.keeps_rooms()) rooms_ = find(rooms_name, make_room_type());
}

void ResultFile::read_groups_of_header() {
  std::uint64_t max_bytes = bytes_.size();
  header_.settings = read_texts(open_group(file_, settings_name), max_bytes);
  header_.sessions = read_groups(file_, sessions_name, max_bytes);
  header_.replaced = read_groups(file_, replaced_name, max_bytes);
}

Table ResultFile::find(const char* name, const Handle& type) const {
  const Handle dataset = open_dataset(file_, name, type.get(), H5D_CONTIGUOUS);
  const auto size = size_of(dataset);
  const auto fail = [&](const std::string& why) {
    throw Hdf5Error("invalid dataset " + std::string(name) + ": " + why);
  };
  if (size.size() != 1) fail("it is not one-dimensional");
  if (size.front() > bytes_.size() / H5Tget_size(type.get())) fail("it is larger than the file");
  const haddr_t offset = H5Dget_offset(dataset.get());
  if (size.front() > 0 && offset == HADDR_UNDEF) fail("it has no storage in the file");
  return {offset, size.front()};
}

void ResultFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (!bytes_.read_at(offset, bytes)) throw_changed(path());
}

void ResultFile::read_rows(std::size_t first, std::span<ResultRow> rows) const {
  read_at(rows_.offset + first * sizeof(ResultRow), std::as_writable_bytes(rows));
}

const std::vector<std::uint32_t>& ResultFile::room_starts() const {
  std::call_once(rooms_are_counted_, [&] {
    room_starts_.reserve(count() + 1);
    std::vector<RoomResult> some;
    for (std::uint64_t at = 0; at < rooms_.count;) {
      some.resize(std::min<std::uint64_t>(rooms_at_once, rooms_.count - at));
      read_at(rooms_.offset + at * sizeof(RoomResult), std::as_writable_bytes(std::span(some)));
      for (const RoomResult& room : some) {
        const bool is_whole = room.plan < count() && is_intact(room);
        while (is_whole && room_starts_.size() <= room.plan)
          room_starts_.push_back(static_cast<std::uint32_t>(at));
        ++at;
      }
    }
    room_starts_.resize(count() + 1, static_cast<std::uint32_t>(rooms_.count));
  });
  return room_starts_;
}

std::uint32_t ResultFile::room_count(std::size_t i) const {
  return room_starts()[i + 1] - room_starts()[i];
}

std::vector<RoomResult> ResultFile::rooms(std::size_t i) const {
  std::vector<RoomResult> rooms(room_count(i));
  read_at(rooms_.offset + room_starts()[i] * sizeof(RoomResult),
          std::as_writable_bytes(std::span(rooms)));
  std::erase_if(rooms, [&](const RoomResult& room) { return room.plan != i; });
  return rooms;
}

std::optional<std::vector<std::byte>> ResultFile::field(const ResultRow& row) const {
  constexpr const char* task = "read a field";
  const std::scoped_lock lock(hdf5_);
  const SuppressHdf5Errors quiet;
  try {
    const Handle fields = open_group(file_, fields_name);
    const std::string name = field_name(id_of(row));
    if (!has_object(fields, name)) return std::nullopt;
    const std::array<hsize_t, 2> corner{};
    const Handle field = open_dataset(fields, name, H5T_IEEE_F64LE, H5D_CHUNKED);
    const std::array<hsize_t, 2> shape{row.rows, row.cols};
    if (!std::ranges::equal(size_of(field), shape)) return std::nullopt;
    hsize_t bytes = 0;
    checked(H5Dget_chunk_storage_size(field.get(), corner.data(), &bytes), task);
    if (bytes != static_cast<std::uint64_t>(row.field_bytes) || bytes > bytes_.size()) return {};
    std::vector<std::byte> chunk(static_cast<std::size_t>(bytes));
    std::uint32_t filters_left_out = 0;
    checked(H5Dread_chunk(field.get(), H5P_DEFAULT, corner.data(), &filters_left_out, chunk.data()),
            task);
    if (crc32_of(chunk) != row.field_crc32) return std::nullopt;
    return chunk;
  } catch (const Hdf5Error&) {
    return std::nullopt;  // the metadata of this field are damaged
  }
}

void ResultFile::open_to_write() {
  File writable(path(), O_RDWR);
  if (!bytes_.path_still_refers_here() || !writable.path_still_refers_here()) throw_changed(path());
  bytes_ = std::move(writable);
}

bool ResultFile::write_again_if_missing() const {
  if (file_exists(path())) return false;
  const auto temporary = new_temporary_path(path());
  const File copy(temporary, O_CREAT | O_EXCL | O_RDWR);
  try {
    copy_owner_and_mode(bytes_.info(), copy);
    constexpr std::uint64_t bytes_at_once = 1 << 20;
    std::vector<std::byte> some;
    for (std::uint64_t offset = 0; offset < bytes(); offset += some.size()) {
      some.resize(std::min(bytes_at_once, bytes() - offset));
      read_at(offset, some);
      copy.write_at(offset, some);
    }
    copy.sync();
    rename_durably(temporary, path());
  } catch (...) {
    remove_file(temporary);
    throw;
  }
  return true;
}

void ResultFile::write_row(const ResultRow& row) const {
  constexpr std::size_t first_bytes = offsetof(ResultRow, id);  // index and status
  static_assert(first_bytes == sizeof(ResultRow::index) + sizeof(ResultRow::status));
  if (!is_solved(status_of(row))) {
    ResultRow old;
    read_rows(row.index, std::span(&old, 1));
    const bool is_of_this_session = old.session == row.session;
    if (is_intact(old) && is_solved(status_of(old)) && !is_of_this_session) return;
  }
  const auto bytes = std::as_bytes(std::span(&row, 1));
  const std::uint64_t at = rows_.offset + row.index * sizeof row;
  bytes_.write_at(at + first_bytes, bytes.subspan(first_bytes));
  bytes_.write_at(at, bytes.first(first_bytes));
}

}  // namespace wallheat::store
