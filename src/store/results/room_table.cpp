#include <fcntl.h>

#include <algorithm>
#include <limits>

#include "core/room_columns.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/hdf5_file.hpp"

namespace wallheat::store {
namespace {

constexpr const char* rooms_name = "/rooms";
constexpr const char* room_axis = "/room";
constexpr const char* describing_room = "describe a room";

hid_t own_type(const std::uint32_t*) { return H5T_STD_U32LE; }
hid_t own_type(const float*) { return H5T_IEEE_F32LE; }
hid_t own_type(const double*) { return H5T_IEEE_F64LE; }

/// Collects the places of rooms that are handed over in the order of the file.
class PlaceFinder {
 public:
  explicit PlaceFinder(const RowList& rows) : rows_(rows) {}

  void look_at(const RoomResult& room, std::uint64_t offset) {
    const bool goes_on = !of_row_.empty() && of_row_.back().plan == room.plan;
    if (!goes_on) finish_row();
    if (pieces_.empty() || pieces_.back().offset + pieces_.back().count * sizeof room != offset)
      pieces_.push_back({room.plan, offset, 0});
    ++pieces_.back().count;
    of_row_.push_back(room);
  }
  [[nodiscard]] std::uint64_t strays() const { return strays_; }
  std::vector<RoomPlace> take() {
    finish_row();
    return std::move(places_);
  }

 private:
  void finish_row() {
    const auto rooms = std::exchange(of_row_, {});
    const auto pieces = std::exchange(pieces_, {});
    std::int64_t cells = 0;
    for (const RoomResult& room : rooms) cells += room.cells;
    if (cells == 0) return;
    if (belong(rooms, cells)) {
      places_.insert(places_.end(), pieces.begin(), pieces.end());
    } else {
      strays_ += rooms.size();
    }
  }
  [[nodiscard]] bool belong(const std::vector<RoomResult>& rooms, std::int64_t cells) const {
    const std::size_t row = rooms.front().plan;
    if (row >= rows_.size() || !are_intact(rooms, row)) return false;
    if (!places_.empty() && places_.back().row >= row) return false;
    const Row whose = rows_[row];
    return has_rooms(whose) && whose.interior_cells == cells;
  }

  const RowList& rows_;
  std::vector<RoomResult> of_row_;
  std::vector<RoomPlace> pieces_;  // where these lie
  std::vector<RoomPlace> places_;
  std::uint64_t strays_ = 0;
};

constexpr hsize_t rooms_of_chunk = 512;

Handle open_rooms(const Handle& file) {
  const Handle type = make_room_type();
  return open_dataset(file, rooms_name, {type.get(), {0}, {rooms_of_chunk}});
}

/// The dataset with room for so many.
Handle rooms_for(const Handle& file, std::uint64_t count) {
  make_growing_dimension(file, room_axis);
  if (!has_object(file, rooms_name)) {
    const Handle type = make_room_type();
    name_axis(file, create_growing(file, rooms_name, type.get(), rooms_of_chunk), 0, room_axis);
  }
  Handle rooms = open_rooms(file);
  const Handle axis(H5Dopen2(file.get(), room_axis, H5P_DEFAULT), H5Dclose, "name the rooms");
  const hsize_t size = std::max<hsize_t>(count, size_of(rooms).front());
  checked(H5Dset_extent(rooms.get(), &size), "make room for rooms");
  checked(H5Dset_extent(axis.get(), &size), "make room for rooms");
  return rooms;
}

/// Where a chunk begins, in bytes from the beginning of the file.
std::uint64_t chunk_offset(const Handle& rooms, hsize_t first) {
  haddr_t offset = HADDR_UNDEF;
  hsize_t bytes = 0;
  unsigned filters_left_out = 0;
  checked(H5Dget_chunk_info_by_coord(rooms.get(), &first, &filters_left_out, &offset, &bytes),
          "find the rooms");
  if (offset == HADDR_UNDEF) throw Hdf5Error("cannot find the rooms");
  return offset;
}

}  // namespace

Handle make_room_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(RoomResult)), H5Tclose, describing_room);
  std::size_t offset = 0;  // a room has no gaps
  for_each_room_column([&](const char* name, auto member, const char*) {
    using Value = std::remove_reference_t<decltype(std::declval<RoomResult&>().*member)>;
    checked(H5Tinsert(type.get(), name, offset, own_type(static_cast<const Value*>(nullptr))),
            describing_room);
    offset += sizeof(Value);
  });
  return type;
}

void write_rooms(const Handle& file, const RowList& rows, const RoomsOf& rooms_of) {
  const auto for_each_plan = [&](const auto& take) {
    if (!rooms_of) return;
    for (const Row& row : rows)
      if (has_rooms(row)) take(rooms_of(row.index));
  };
  std::uint64_t count = 0;
  for_each_plan([&](const std::vector<RoomResult>& rooms) { count += rooms.size(); });
  const Handle dataset = rooms_for(file, count);
  RoomResult blank;
  blank.plan = std::numeric_limits<std::uint32_t>::max();
  // Whole chunks, written at once: of what waits in HDF5's cache nobody hears whether it was
  // written.
  std::vector<RoomResult> chunk;
  hsize_t first = 0;
  const auto write_chunk = [&] {
    chunk.resize(rooms_of_chunk, blank);
    checked(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &first, chunk.size() * sizeof(RoomResult),
                           chunk.data()),
            "write rooms");
    first += chunk.size();
    chunk.clear();
  };
  for_each_plan([&](const std::vector<RoomResult>& rooms) {
    for (const RoomResult& room : rooms) {
      chunk.push_back(room);
      if (chunk.size() == rooms_of_chunk) write_chunk();
    }
  });
  for (const hsize_t all = size_of(dataset).front(); first < all;) write_chunk();
}

std::shared_ptr<const RoomsAt> find_rooms_in(const StoreEnvironment& env, const Handle& file,
                                             const std::filesystem::path& path,
                                             const RowList& rows) {
  const Handle dataset = open_rooms(file);
  const std::uint64_t count = size_of(dataset).front();
  if (count > file_bytes_of(dataset) / sizeof(RoomResult))
    throw Hdf5Error("cannot trust the file: it is too short for its rooms");
  PlaceFinder finder(rows);
  const PosixFile in(env.system, path, O_RDONLY);
  std::vector<RoomResult> part;
  for (std::uint64_t first = 0; first < count; first += part.size()) {
    part.resize(std::min<std::uint64_t>(rooms_of_chunk, count - first));
    std::uint64_t offset = chunk_offset(dataset, first);
    if (!in.read_at(offset, std::as_writable_bytes(std::span(part))))
      throw Hdf5Error("cannot trust the file: it is too short for its rooms");
    for (const RoomResult& room : part) {
      finder.look_at(room, offset);
      offset += sizeof(RoomResult);
    }
  }
  std::vector<RoomPlace> places = finder.take();
  return std::make_shared<const RoomsAt>(env.system, path, std::move(places), finder.strays());
}

}  // namespace wallheat::store
