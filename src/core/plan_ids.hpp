#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wallheat {

/// Texts in order. Their letters lie one after the other: a text takes its letters and eight bytes,
/// without an allocation of its own. Copies share them, until a text is added to one.
class StringList {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = std::string_view;

    Iterator(const StringList& list, std::size_t index) : list_(&list), index_(index) {}
    std::string_view operator*() const { return (*list_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) { return {*list_, index_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

   private:
    const StringList* list_;
    std::size_t index_;
  };
  using value_type = std::string_view;
  using const_iterator = Iterator;

  StringList() = default;
  StringList(std::initializer_list<std::string_view> texts);
  explicit StringList(const std::vector<std::string>& texts);

  void reserve(std::size_t texts, std::size_t letters = 0);
  void push_back(std::string_view text);
  [[nodiscard]] std::size_t size() const { return texts_ ? texts_->ends.size() : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Valid until the next text is added.
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    const std::uint64_t begin = index == 0 ? 0 : texts_->ends[index - 1];
    return std::string_view(texts_->letters).substr(begin, texts_->ends[index] - begin);
  }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }
  /// The first `count` of them, or all if there are fewer.
  [[nodiscard]] StringList first(std::size_t count) const;
  friend bool operator==(const StringList& a, const StringList& b);

 private:
  struct Texts {
    std::string letters;
    std::vector<std::uint64_t> ends;  ///< of text k in letters
  };
  [[nodiscard]] Texts& own();

  std::shared_ptr<Texts> texts_;
};

/// Plan ids in order, each once, and the index of each. If they are sorted, as an archive has
/// them all but always, that takes no table: of a million one takes longer than all else.
class IdIndex {
 public:
  /// Makes room for `ids` ids of `letters` letters in all, so that none is taken for more.
  void reserve(std::size_t ids, std::size_t letters);
  /// False, and nothing is added, if it is in the list.
  bool add(std::string_view id) { return insert(id).second; }
  /// Adds an id that is not in the list. Returns its index, and whether it was added.
  std::pair<std::size_t, bool> insert(std::string_view id);
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  /// Valid until the next id is added.
  [[nodiscard]] std::string_view operator[](std::size_t index) const { return ids_[index]; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view id) const;
  [[nodiscard]] const StringList& ids() const { return ids_; }

 private:
  /// The slot of an id, or the free one that it would take.
  [[nodiscard]] std::size_t slot_of(std::string_view id) const;
  void make_slots(std::size_t count);

  StringList ids_;
  bool is_sorted_ = true;
  /// If they are not sorted, by hash: index + 1; 0 is free. At most two thirds are taken.
  std::vector<std::uint32_t> slots_;
};

/// The longest plan id in bytes; the result file keeps ids in fixed-length strings.
inline constexpr std::size_t max_id_length = 127;

/// The ids of a run in order, each once.
struct PlanIds {
  StringList ids;
  std::vector<std::string> duplicates;  ///< ids that were named more than once
  std::string origin_note{};            ///< where they are from, if that may surprise; or empty
};

/// Keeps the first of each id, in order.
[[nodiscard]] PlanIds unique_ids(const StringList& names);

/// Reads an ids file: one id a line. Blank lines, carriage returns and lines that begin with # do
/// not count.
/// Throws RunError if the file cannot be read or names no id.
[[nodiscard]] PlanIds read_ids(const std::filesystem::path& file);

/// Parses the text of an ids file; `file` is its name in messages. Throws RunError if the text is
/// UTF-16, or names no ID.
[[nodiscard]] PlanIds parse_ids(std::string_view text, const std::string& file);
/// The plans of a directory or an archive without a list of them, each once, in natural order.
/// Throws RunError if there are none.
[[nodiscard]] PlanIds sorted_ids_without_list(const std::string& where,
                                              std::vector<std::string> ids);

/// The order in which people number things: digits count as numbers, so 9 comes before 10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// Throws InputError if an id could lead out of the data directory ("/", "..", control
/// characters), or is longer than max_id_length.
void require_valid_id(std::string_view id);

}  // namespace wallheat
