#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// Texts in order. Their letters lie one after the other: a text takes its letters and eight bytes,
/// without an allocation of its own.
class TextList {
 public:
  void reserve(std::size_t texts) { ends_.reserve(texts); }
  void push_back(std::string_view text);
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  /// Valid until the next text is added.
  [[nodiscard]] std::string_view operator[](std::size_t place) const;

 private:
  std::string letters_;
  std::vector<std::uint64_t> ends_;  ///< of text k in letters_
};

/// Plan ids in order, each once, and the place of each.
class IdList {
 public:
  /// False, and nothing is added, where it is in the list.
  bool add(std::string_view id);
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  /// Valid until the next id is added.
  [[nodiscard]] std::string_view operator[](std::size_t place) const { return ids_[place]; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view id) const;

 private:
  /// The slot of an id, or the free one that it would take.
  [[nodiscard]] std::size_t slot_of(std::string_view id) const;
  void make_slots(std::size_t count);

  TextList ids_;
  std::vector<std::uint32_t> slots_;  ///< by hash: place + 1; 0 is free. At most half are taken
};

}  // namespace wallheat
