#include "store/results/rooms.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>

#include "io/checksum.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

std::uint32_t checksum_of(const RoomResult& room) {
  return crc32_of(std::as_bytes(std::span(&room, 1)).first(offsetof(RoomResult, room_crc32)));
}

}  // namespace

bool keeps_rooms(const Attributes& settings) { return settings.contains("rooms_door"); }

std::vector<RoomResult> sealed_rooms(std::span<const RoomResult> rooms, std::size_t i) {
  std::vector<RoomResult> sealed(rooms.begin(), rooms.end());
  for (RoomResult& room : sealed) {
    room.plan = static_cast<std::uint32_t>(i);
    room.room_crc32 = checksum_of(room);
  }
  return sealed;
}

bool are_intact(std::span<const RoomResult> rooms, std::size_t i) {
  std::uint32_t number = 0;
  return !rooms.empty() && std::all_of(rooms.begin(), rooms.end(), [&](const RoomResult& room) {
    return room.plan == i && room.room == ++number && room.room_crc32 == checksum_of(room);
  });
}

RoomsAt::RoomsAt(System& system, const std::filesystem::path& file, std::vector<RoomPlace> places,
                 std::uint64_t strays)
    : path_(file), in_(system, file, O_RDONLY), places_(std::move(places)), strays_(strays) {}

std::span<const RoomPlace> RoomsAt::find(std::size_t i) const {
  const auto found = std::ranges::equal_range(places_, i, {}, &RoomPlace::row);
  return {found.begin(), found.end()};
}

std::uint32_t RoomsAt::count(std::size_t i) const {
  std::uint32_t count = 0;
  for (const RoomPlace& place : find(i)) count += place.count;
  return count;
}

std::vector<RoomResult> RoomsAt::read(std::size_t i) const {
  std::vector<RoomResult> rooms(count(i));
  auto left = std::as_writable_bytes(std::span(rooms));
  bool whole = true;
  for (const RoomPlace& place : find(i)) {
    const std::size_t bytes = place.count * sizeof(RoomResult);
    whole = whole && in_.read_at(place.offset, left.first(bytes));
    left = left.subspan(bytes);
  }
  if (!rooms.empty() && (!whole || !are_intact(rooms, i)))
    throw RunError(path_.string() + " changed while it was read, or its rooms are damaged");
  return rooms;
}

}  // namespace wallheat::store
