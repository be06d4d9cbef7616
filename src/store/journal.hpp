#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/plan_ids.hpp"
#include "io/files.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat::store {

static_assert(std::endian::native == std::endian::little, "rows are stored as they are in memory");

/// What a row holds for a column of type T: enumerations are 32 bits wide.
template <class T>
struct RowValue {
  using type = std::conditional_t<std::is_enum_v<T>, std::int32_t, T>;
};
template <std::size_t bytes>
struct RowValue<FixedText<bytes>> {
  using type = std::array<char, bytes>;
};

/// A plan's row exactly as it lies in the HDF5 file and in journals. Texts end in NUL.
struct ResultRow {
#define WALLHEAT_MEMBER(Type, name, initial, use, meaning) RowValue<Type>::type name{};
#define WALLHEAT_NESTED(Type, name, part, use, meaning) RowValue<Type>::type name{};
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_MEMBER, WALLHEAT_NESTED)
#undef WALLHEAT_MEMBER
#undef WALLHEAT_NESTED
  std::uint32_t row_crc32 = 0;
};

/// Calls visit(name, member, type, value, meaning) for each column of a row, in order: `member`
/// points to it, `type` is a std::type_identity of its type in WALLHEAT_RESULT_COLUMNS, and
/// value(result) is what a PlanResult has for it, of which only row_crc32 has nothing.
template <class Visit>
constexpr void for_each_row_column(Visit&& visit) {
#define WALLHEAT_MEMBER(Type, name, initial, use, meaning) \
  WALLHEAT_NESTED(Type, name, name, use, meaning)
#define WALLHEAT_NESTED(Type, name, part, use, meaning)    \
  visit(                                                   \
      #name, &ResultRow::name, std::type_identity<Type>{}, \
      [](auto& result) -> auto& { return result.part; }, meaning);
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_MEMBER, WALLHEAT_NESTED)
#undef WALLHEAT_MEMBER
#undef WALLHEAT_NESTED
  visit("row_crc32", &ResultRow::row_crc32, std::type_identity<std::uint32_t>{}, nullptr,
        "of the row before it");
}

static_assert(
    [] {
      std::size_t bytes = 0;
      for_each_row_column([&](const char*, auto member, auto...) {
        bytes += sizeof(std::declval<ResultRow>().*member);
      });
      return bytes;
    }() == sizeof(ResultRow),
    "a gap in Row would store, and check, undefined bytes");
static_assert(sizeof(ResultRow::id) == max_id_length + 1);

/// A row without an answer, sealed.
[[nodiscard]] ResultRow pending_row(std::size_t index, std::string_view id);

/// The row of a result, not sealed. Texts that are too long are cut between characters.
[[nodiscard]] ResultRow to_row(const PlanResult& result);
[[nodiscard]] PlanResult to_result(const ResultRow& row);
/// The same into a result that was made of another row: of a million that takes half the time.
void assign_row(const ResultRow& row, PlanResult& into);

/// Computes row_crc32; to be called after the last change.
void update_checksum(ResultRow& row);
/// True if the row is as it was sealed.
[[nodiscard]] bool is_intact(const ResultRow& row);

[[nodiscard]] inline bool has_field(const ResultRow& row) { return row.field_bytes > 0; }
[[nodiscard]] inline PlanStatus status_of(const ResultRow& row) {
  return static_cast<PlanStatus>(row.status);
}
[[nodiscard]] std::string_view id_of(const ResultRow& row);  ///< valid as long as the row
[[nodiscard]] inline GridShape shape_of(const ResultRow& row) { return {row.rows, row.cols}; }

/// Copies text into a fixed field, cut so that no UTF-8 character is split and a NUL follows.
void copy_fixed_text(std::span<char> field, std::string_view text);
/// Valid as long as the field.
[[nodiscard]] std::string_view fixed_text(std::span<const char> field);

// A session's results on their way into the result file: FILE.walK is the journal of session K. It
// is only ever appended to, and is records one after the other, see README.md.

/// Tells result files apart; 0 is none.
using FileId = std::uint64_t;

/// A result as it is stored.
struct StoredResult {
  ResultRow row{};
  std::vector<RoomResult> rooms{};
  std::vector<std::byte> field{};  ///< compressed
};

enum class RecordKind : std::uint32_t;
struct Record;

/// Writes a journal. Every function throws SystemError; after that only the destructor may follow.
class JournalWriter {
 public:
  /// Makes the journal of session `number`, or of a later one if there are such, for the result
  /// file with this id, and makes it durable.
  JournalWriter(const std::filesystem::path& file, std::size_t number, FileId file_id,
                const Attributes& session);

  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  /// Adds a result to the batch. The row must be sealed, and say of the field what it is.
  void add(const ResultRow& row, std::span<const RoomResult> rooms,
           std::span<const std::byte> field);
  /// Adds what is to be said of the session at its end.
  void add_end(const Attributes& end);
  /// Writes the batch, normally in one call, and syncs it: on return it survives anything. Throws
  /// RunError if the journal was taken away meanwhile: what was added may not be in the file.
  void commit();
  /// Unless one of another process that did not see this one lies behind it: that would be a gap.
  void remove();

 private:
  void add_record(RecordKind kind, std::span<const std::byte> payload,
                  std::span<const std::byte> field);
  void flush();

  std::size_t number_;
  File file_;
  FileId file_id_;
  std::vector<std::byte> batch_;
};

/// Where a result is in its journal.
struct JournalEntry {
  std::uint64_t offset = 0;          ///< of its row
  std::uint32_t rooms = 0;           ///< how many follow the row, before the field
  std::uint32_t journal_number = 0;  ///< for who has several: which one, from 1
};

/// Reads a journal as far as its records are whole.
class JournalReader {
 public:
  explicit JournalReader(File file) : file_(std::move(file)) {}

  /// Hands over every row, in the order in which they were stored. Rooms are checked but not kept,
  /// fields are skipped.
  void scan(const std::function<void(const ResultRow& row, const JournalEntry& entry)>& take);
  /// Reads the first intact record only.
  void scan_identity();

  [[nodiscard]] const File& file() const { return file_; }
  // What scan() found besides.
  [[nodiscard]] FileId file_id() const { return file_id_; }     ///< 0: no intact record exists
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  ///< size of the file
  /// False if a file without an intact record does not begin as wallheat begins a journal, or as a
  /// power loss leaves one.
  [[nodiscard]] bool is_journal() const { return is_journal_; }
  [[nodiscard]] const Attributes& session() const { return session_; }
  [[nodiscard]] bool ended_cleanly() const { return has_ended_; }  ///< and was not killed
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }    ///< not only cut short by a kill

  /// Throws RunError if it is not as it was scanned.
  [[nodiscard]] ResultRow row(const JournalEntry& entry) const;
  [[nodiscard]] std::vector<RoomResult> rooms(const JournalEntry& entry) const;
  /// Not compared with its checksum.
  [[nodiscard]] std::vector<std::byte> field(const JournalEntry& entry, const ResultRow& row) const;

 private:
  [[noreturn]] void refuse_changed() const;

  void scan_records(const std::function<bool(const Record& record, std::uint64_t offset)>& take);

  File file_;
  FileId file_id_ = 0;
  std::uint64_t bytes_ = 0;
  Attributes session_;
  bool is_journal_ = false;
  bool has_ended_ = false;
  bool is_damaged_ = false;
};

/// Calls visit() with each journal next to a result file, from the last to the first, fenced ones
/// included; each has been read by scan_identity(). Skips journals that disappear meanwhile.
void for_each_journal(
    const std::filesystem::path& file,
    const std::function<void(const std::filesystem::path& name, JournalReader& journal)>& visit);

/// True if a journal belongs to a file with one of these IDs, or contains nothing because its
/// writer was killed. A file of the user belongs to none.
[[nodiscard]] bool belongs_to(const JournalReader& journal, std::span<const FileId> file_ids);

}  // namespace wallheat::store
