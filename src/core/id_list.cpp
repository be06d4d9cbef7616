#include "core/id_list.hpp"

#include <bit>
#include <functional>
#include <limits>
#include <stdexcept>

namespace wallheat {

void TextList::push_back(std::string_view text) {
  letters_ += text;
  ends_.push_back(letters_.size());
}

std::string_view TextList::operator[](std::size_t place) const {
  const std::uint64_t begin = place == 0 ? 0 : ends_[place - 1];
  return std::string_view(letters_).substr(begin, ends_[place] - begin);
}

std::size_t IdList::slot_of(std::string_view id) const {
  const std::size_t mask = slots_.size() - 1;  // a power of two
  std::size_t slot = std::hash<std::string_view>{}(id)&mask;
  while (slots_[slot] != 0 && (*this)[slots_[slot] - 1] != id) slot = (slot + 1) & mask;
  return slot;
}

void IdList::make_slots(std::size_t count) {
  slots_.assign(count, 0);
  for (std::size_t place = 0; place < size(); ++place)
    slots_[slot_of((*this)[place])] = static_cast<std::uint32_t>(place + 1);
}

bool IdList::add(std::string_view id) {
  if (size() == std::numeric_limits<std::uint32_t>::max() - 1)
    throw std::length_error("too many ids");
  if (2 * (size() + 1) > slots_.size()) make_slots(std::bit_ceil(4 * (size() + 1)));
  const std::size_t slot = slot_of(id);
  if (slots_[slot] != 0) return false;
  ids_.push_back(id);
  slots_[slot] = static_cast<std::uint32_t>(size());
  return true;
}

std::optional<std::size_t> IdList::find(std::string_view id) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(id)];
  return found == 0 ? std::nullopt : std::optional<std::size_t>(found - 1);
}

}  // namespace wallheat
