#include "core/id_list.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <ranges>
#include <stdexcept>

namespace wallheat {
namespace {

/// How many slots the table of `ids` ids has.
std::size_t slots_for(std::size_t ids) { return std::bit_ceil(ids + ids / 2 + 1); }

}  // namespace

TextList::TextList(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) push_back(text);
}

TextList::TextList(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) push_back(text);
}

TextList::Texts& TextList::own() {
  if (!texts_) {
    texts_ = std::make_shared<Texts>();
  } else if (texts_.use_count() > 1) {
    texts_ = std::make_shared<Texts>(*texts_);
  }
  return *texts_;
}

void TextList::reserve(std::size_t texts, std::size_t letters) {
  Texts& mine = own();
  mine.ends.reserve(texts);
  mine.letters.reserve(letters);
}

void TextList::push_back(std::string_view text) {
  Texts& mine = own();
  mine.letters += text;
  mine.ends.push_back(mine.letters.size());
}

TextList TextList::first(std::size_t count) const {
  if (count >= size()) return *this;
  TextList some;
  for (std::size_t index = 0; index < count; ++index) some.push_back((*this)[index]);
  return some;
}

bool operator==(const TextList& a, const TextList& b) {
  if (a.texts_ == b.texts_ || (a.empty() && b.empty())) return true;
  return a.texts_ && b.texts_ && a.texts_->ends == b.texts_->ends &&
         a.texts_->letters == b.texts_->letters;
}

std::size_t IdList::slot_of(std::string_view id) const {
  const std::size_t mask = slots_.size() - 1;  // a power of two
  std::size_t slot = std::hash<std::string_view>{}(id)&mask;
  while (slots_[slot] != 0 && (*this)[slots_[slot] - 1] != id) slot = (slot + 1) & mask;
  return slot;
}

void IdList::make_slots(std::size_t count) {
  slots_ = std::vector<std::uint32_t>(count);
  for (std::size_t index = 0; index < size(); ++index)
    slots_[slot_of((*this)[index])] = static_cast<std::uint32_t>(index + 1);
}

void IdList::reserve(std::size_t ids, std::size_t letters) {
  ids_.reserve(ids, letters);
  if (!is_sorted_ && slots_for(ids) > slots_.size()) make_slots(slots_for(ids));
}

std::pair<std::size_t, bool> IdList::insert(std::string_view id) {
  // The files of a plan are often listed one after the other.
  if (size() > 0 && (*this)[size() - 1] == id) return {size() - 1, false};
  if (size() == std::numeric_limits<std::uint32_t>::max() - 1)
    throw std::length_error("too many ids");
  is_sorted_ = is_sorted_ && (size() == 0 || (*this)[size() - 1] < id);
  if (!is_sorted_) {
    if (slots_for(size() + 1) > slots_.size()) make_slots(slots_for(2 * (size() + 1)));
    const std::size_t slot = slot_of(id);
    if (slots_[slot] != 0) return {slots_[slot] - 1, false};
    slots_[slot] = static_cast<std::uint32_t>(size() + 1);
  }
  ids_.push_back(id);
  return {size() - 1, true};
}

std::optional<std::size_t> IdList::find(std::string_view id) const {
  if (!is_sorted_) {
    const std::uint32_t found = slots_[slot_of(id)];
    return found == 0 ? std::nullopt : std::optional<std::size_t>(found - 1);
  }
  const auto indices = std::views::iota(std::size_t{0}, size());
  const auto at = [&](std::size_t index) { return (*this)[index]; };
  const auto found = std::ranges::lower_bound(indices, id, {}, at);
  return found != indices.end() && at(*found) == id ? std::optional(*found) : std::nullopt;
}

}  // namespace wallheat
