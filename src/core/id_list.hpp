#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// Plan ids in order, each once, and the place of each. Their letters lie one after the other: an
/// id takes its letters and some twenty bytes, without an allocation of its own.
class IdList {
 public:
  /// False, and nothing is added, where it is in the list.
  bool add(std::string_view id);
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  /// Valid until the next id is added.
  [[nodiscard]] std::string_view operator[](std::size_t place) const;
  [[nodiscard]] std::optional<std::size_t> find(std::string_view id) const;
  /// To be called once there are no more to come, to give back what was kept for them.
  void shrink();

 private:
  /// The slot of an id, or the free one that it would take.
  [[nodiscard]] std::size_t slot_of(std::string_view id) const;
  void make_slots(std::size_t count);

  std::string letters_;
  std::vector<std::uint64_t> ends_;   ///< of id k in letters_
  std::vector<std::uint32_t> slots_;  ///< by hash: place + 1; 0 is free. At most half are taken
};

}  // namespace wallheat
