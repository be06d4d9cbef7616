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

// Lists of plan IDs. A campaign may have millions of plans, so a list needs little memory per ID.

namespace wallheat {

/// Copy-on-write list of strings, stored back to back in one buffer: eight bytes of overhead per
/// string and no allocation per string. Copies share the buffer until one of them is modified.
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
  /// Returns a view that is valid until a string is added.
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    const std::uint64_t begin = index == 0 ? 0 : texts_->ends[index - 1];
    return std::string_view(texts_->letters).substr(begin, texts_->ends[index] - begin);
  }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }
  /// Returns a list of the first `count` strings, or of all if there are fewer.
  [[nodiscard]] StringList first(std::size_t count) const;
  friend bool operator==(const StringList& a, const StringList& b);

 private:
  struct Texts {
    std::string letters;
    std::vector<std::uint64_t> ends;  ///< end of string k in `letters`
  };
  [[nodiscard]] Texts& own();

  std::shared_ptr<Texts> texts_;
};

/// Ordered set of plan IDs with an index per ID. While IDs are added in sorted order, as archives
/// nearly always list them, lookups use binary search; otherwise a hash table is built. For a
/// million IDs, building the table takes longer than everything else.
class IdIndex {
 public:
  /// Reserves memory for `ids` IDs that have `letters` bytes in total, so that adding them does not
  /// allocate.
  void reserve(std::size_t ids, std::size_t letters);
  /// Adds an ID. Returns false, and adds nothing, if the list contains it.
  bool add(std::string_view id) { return insert(id).second; }
  /// Adds an ID unless the list contains it. Returns its index, and whether it was added.
  std::pair<std::size_t, bool> insert(std::string_view id);
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  /// Returns a view that is valid until an ID is added.
  [[nodiscard]] std::string_view operator[](std::size_t index) const { return ids_[index]; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view id) const;
  [[nodiscard]] const StringList& ids() const { return ids_; }

 private:
  /// Returns the slot of an ID, or the free slot in which it would be stored.
  [[nodiscard]] std::size_t slot_of(std::string_view id) const;
  void make_slots(std::size_t count);

  StringList ids_;
  bool is_sorted_ = true;
  /// Hash table, used if the IDs are not sorted: index + 1; 0 is a free slot. At most two thirds of
  /// the slots are used.
  std::vector<std::uint32_t> slots_;
};

/// Maximum length of a plan ID in bytes. The result file stores IDs in fixed-length strings.
inline constexpr std::size_t max_id_length = 127;

/// IDs of a run in order, without duplicates.
struct PlanIds {
  StringList ids;
  std::vector<std::string> duplicates;  ///< IDs that were listed more than once
  /// Note on the origin of the IDs, if it may surprise the user; or empty.
  std::string origin_note{};
};

/// Returns the IDs in order, without the repetitions of an ID.
[[nodiscard]] PlanIds unique_ids(const StringList& names);

/// Reads an IDs file, which contains one ID per line. Blank lines, carriage returns and lines that
/// begin with # are ignored. Throws RunError if the file cannot be read or contains no ID.
[[nodiscard]] PlanIds read_ids(const std::filesystem::path& file);

/// Parses the content of an IDs file; `file` is its name in messages. Throws RunError if the text
/// contains no ID, or is UTF-16.
[[nodiscard]] PlanIds parse_ids(std::string_view text, const std::string& file);
/// Returns the plans of a directory or an archive without a list of IDs, without duplicates, in
/// natural order. `where` is its name in messages. Throws RunError if there are no plans.
[[nodiscard]] PlanIds sorted_ids_without_list(const std::string& where,
                                              std::vector<std::string> ids);

/// Compares in natural order: digits are compared as numbers, so 9 comes before 10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// Throws InputError if an ID could lead to a path outside of the data directory ("/", "..",
/// control characters), or is longer than max_id_length.
void require_valid_id(std::string_view id);

}  // namespace wallheat
