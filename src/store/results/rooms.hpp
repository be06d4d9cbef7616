#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "io/posix_file.hpp"
#include "store/results/row_list.hpp"
#include "wallheat/result_reader.hpp"

// The rooms of plans, which are never all in memory.
namespace wallheat::store {

/// True if a file with these settings has the rooms of its answers.
[[nodiscard]] bool keeps_rooms(const Attributes& settings);
/// True of a row to which rooms belong, in such a file.
[[nodiscard]] inline bool has_rooms(const Row& row) {
  return is_answer(status_of(row)) && status_of(row) != PlanStatus::empty;
}

/// Reads the rooms of row i, to which rooms belong. Throws RunError where they are not what was
/// sealed.
using RoomsOf = std::function<std::vector<RoomResult>(std::size_t i)>;

/// The rooms as those of row i.
[[nodiscard]] std::vector<RoomResult> sealed_rooms(std::span<const RoomResult> rooms,
                                                   std::size_t i);
/// True if these are rooms of row i, as they were sealed, and none is missing before the last.
[[nodiscard]] bool are_intact(std::span<const RoomResult> rooms, std::size_t i);

/// Where rooms of a row lie, one after the other.
struct RoomPlace {
  std::size_t row = 0;
  std::uint64_t offset = 0;  ///< in bytes from the beginning of the file
  std::uint32_t count = 0;
};

/// The rooms that lie in a file at these places, ascending by row; those of a row may lie at
/// several. The file stays open, so that it may be replaced meanwhile.
class RoomsAt {
 public:
  /// `strays`: rooms in the file that are of no place.
  RoomsAt(System& system, const std::filesystem::path& file, std::vector<RoomPlace> places,
          std::uint64_t strays = 0);

  /// Nothing where there is no place for row i.
  [[nodiscard]] std::vector<RoomResult> read(std::size_t i) const;
  [[nodiscard]] std::uint32_t count(std::size_t i) const;
  [[nodiscard]] std::uint64_t strays() const { return strays_; }

 private:
  [[nodiscard]] std::span<const RoomPlace> find(std::size_t i) const;

  std::filesystem::path path_;
  PosixFile in_;
  std::vector<RoomPlace> places_;
  std::uint64_t strays_;
};

}  // namespace wallheat::store
