#include "store/journal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/codec.hpp"
#include "io/deflate.hpp"
#include "io/files.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {

void throw_changed(const std::filesystem::path& path) {
  throw RunError(path.string() + " changed while it was read");
}

enum class RecordKind : std::uint32_t { session = 1, result = 2, end = 3 };

namespace {

constexpr std::uint64_t marker = 0x9d57b1c6'6c686177;  // "wahl", and four bytes of invalid UTF-8

/// Header of a record. The payload and the field follow.
struct Head {
  std::uint64_t mark = marker;
  FileId file_id = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t field_bytes = 0;
  std::uint32_t kind = 0;
  std::uint32_t crc32 = 0;  ///< checksum of the members above and of the payload
};
static_assert(sizeof(Head) == 40, "padding would be stored and checked as undefined bytes");

std::uint32_t checksum_of(const Head& head, std::span<const std::byte> payload) {
  const auto before = std::as_bytes(std::span(&head, 1)).first(offsetof(Head, crc32));
  return crc32_of(payload, crc32_of(before));
}

/// Decodes attributes and adds them to `values`. Returns false if the payload has another form.
bool unpack(std::span<const std::byte> payload, Attributes& values) {
  try {
    Attributes found;
    Decoder decoder(payload);
    decoder(found);
    for (auto& [name, value] : found) values[name] = std::move(value);
    return true;
  } catch (const DecodeError&) {
    return false;
  }
}

}  // namespace

/// An intact record.
struct Record {
  Head head;
  std::span<const std::byte> payload;
  [[nodiscard]] std::uint64_t bytes() const {
    return sizeof head + head.payload_bytes + head.field_bytes;
  }
};

namespace {

/// Reads a file from front to back: in large pieces when it is read consecutively, in small pieces
/// after bytes were skipped.
class ForwardBytes {
 public:
  explicit ForwardBytes(const File& file) : file_(file), size_(file.size()) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Returns the bytes at an offset. They are valid until the next call. Returns nullopt if the
  /// file ends before.
  std::optional<std::span<const std::byte>> at(std::uint64_t offset, std::uint64_t bytes) {
    if (offset > size_ || bytes > size_ - offset) return std::nullopt;
    if (offset < begin_ || offset + bytes > begin_ + piece_.size()) {
      const bool is_next = offset >= begin_ && offset <= begin_ + piece_.size();
      const std::uint64_t wanted = std::max<std::uint64_t>(bytes, is_next ? 1 << 20 : 1 << 14);
      piece_.resize(std::min(wanted, size_ - offset));
      begin_ = offset;
      if (!file_.read_at(offset, piece_)) return std::nullopt;
    }
    return std::span<const std::byte>(piece_).subspan(offset - begin_, bytes);
  }

 private:
  const File& file_;
  std::uint64_t size_;
  std::uint64_t begin_ = 0;
  Bytes piece_;
};

/// Returns the record at an offset; nullopt if there is no intact record.
std::optional<Record> record_at(ForwardBytes& bytes, std::uint64_t offset) {
  Record record;
  const auto head = bytes.at(offset, sizeof record.head);
  if (!head) return std::nullopt;
  std::memcpy(&record.head, head->data(), sizeof record.head);
  const auto [mark, file_id, payload_bytes, field_bytes, kind, crc32] = record.head;
  const std::uint64_t left = bytes.size() - offset - sizeof record.head;
  if (mark != marker || payload_bytes > left || field_bytes > left - payload_bytes) return {};
  const auto payload = bytes.at(offset + sizeof record.head, payload_bytes);
  if (!payload || checksum_of(record.head, *payload) != crc32) return std::nullopt;
  record.payload = *payload;
  return record;
}

/// Returns true if the file is empty, or begins with a zero byte, the marker, or a prefix of the
/// marker.
bool begins_like_journal(ForwardBytes& bytes) {
  const auto begin = bytes.at(0, std::min<std::uint64_t>(bytes.size(), sizeof marker));
  return begin &&
         (begin->empty() || begin->front() == std::byte{0} ||
          std::ranges::equal(*begin, std::as_bytes(std::span(&marker, 1)).first(begin->size())));
}

/// Returns the offset of the next intact record after damaged bytes; nullopt if there is none.
std::optional<std::uint64_t> next_record(ForwardBytes& bytes, std::uint64_t offset) {
  constexpr std::uint64_t window = 1 << 16;
  const std::string_view mark(reinterpret_cast<const char*>(&marker), sizeof marker);
  for (; offset < bytes.size(); offset += window) {
    const auto some = bytes.at(
        offset, std::min<std::uint64_t>(window + sizeof(marker) - 1, bytes.size() - offset));
    if (!some) return std::nullopt;
    const std::string text(reinterpret_cast<const char*>(some->data()), some->size());
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
      if (record_at(bytes, offset + at)) return offset + at;
  }
  return std::nullopt;
}

/// Returns the entry of a result record; nullopt if the payload is not a row followed by rooms.
std::optional<JournalEntry> entry_of(const Record& record, std::uint64_t offset) {
  const std::uint64_t bytes = record.head.payload_bytes;
  if (bytes < sizeof(ResultRow) || (bytes - sizeof(ResultRow)) % sizeof(RoomResult) != 0)
    return std::nullopt;
  return JournalEntry{offset + sizeof(Head),
                      static_cast<std::uint32_t>((bytes - sizeof(ResultRow)) / sizeof(RoomResult))};
}

/// Creates a journal, and sets `number` to its number: the given number, or a higher one if
/// journals with this or a higher number exist. So a name that another process is fencing is not
/// used again.
File make_journal(const std::filesystem::path& file, std::size_t& number) {
  const auto numbers = journal_numbers(file);
  if (!numbers.empty()) number = std::max(number, numbers.back() + 1);
  for (;; ++number) {
    const auto path = journal_path(file, number);
    if (file_exists(fenced_path(path))) continue;
    if (auto made = open_unless_errno(EEXIST, path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND))
      return std::move(*made);
  }
}

[[noreturn]] void throw_taken_over(const std::filesystem::path& journal) {
  throw RunError(journal.string() +
                 " was removed, or taken over by another process, which did not see the lock of "
                 "this run; run again with --resume");
}

}  // namespace

JournalWriter::JournalWriter(const std::filesystem::path& file, std::size_t number, FileId file_id,
                             const Attributes& session)
    : number_(number), file_(make_journal(file, number_)), file_id_(file_id) {
  try {
    copy_owner_and_mode(file, file_);
    add_record(RecordKind::session, to_bytes(session), {});
    commit();
    sync_directory_of(path());
  } catch (...) {
    remove();
    throw;
  }
}

void JournalWriter::remove() {
  if (!file_.path_still_refers_here()) return;
  const auto file = std::filesystem::path(path()).replace_extension();
  const auto later = journal_path(file, number_ + 1);
  if (!file_exists(later) && !file_exists(fenced_path(later))) remove_file(path());
}

void JournalWriter::add_record(RecordKind kind, std::span<const std::byte> payload,
                               std::span<const std::byte> field) {
  Head head{.file_id = file_id_,
            .payload_bytes = payload.size(),
            .field_bytes = field.size(),
            .kind = static_cast<std::uint32_t>(kind)};
  head.crc32 = checksum_of(head, payload);
  for (const auto part : {std::as_bytes(std::span(&head, 1)), payload, field})
    batch_.insert(batch_.end(), part.begin(), part.end());
}

void JournalWriter::add(const ResultRow& row, std::span<const RoomResult> rooms,
                        std::span<const std::byte> field) {
  // A large batch is written in pieces. Its results are acknowledged only after commit() has synced
  // it.
  constexpr std::size_t max_bytes = 16 << 20;
  if (batch_.size() > max_bytes) flush();
  Bytes payload;
  for (const auto part : {std::as_bytes(std::span(&row, 1)), std::as_bytes(rooms)})
    payload.insert(payload.end(), part.begin(), part.end());
  add_record(RecordKind::result, payload, field);
}

void JournalWriter::add_end(const Attributes& end) {
  add_record(RecordKind::end, to_bytes(end), {});
}

void JournalWriter::flush() {
  file_.append(batch_);
  batch_.clear();
}

void JournalWriter::commit() {
  flush();
  try {
    file_.sync_data();
  } catch (const SystemError& error) {
    if (error.code == ESTALE) throw_taken_over(path());
    throw;
  }
  // A compaction renames a journal before it reads it. If the journal still has its name now, the
  // compaction will read what was synced.
  require_named();
}

void JournalWriter::require_named() const {
  try {
    if (file_.path_still_refers_here()) return;
  } catch (const SystemError& error) {
    if (error.code != ESTALE) throw;
  }
  throw_taken_over(path());
}

/// Calls take() with each intact record until it returns false.
void JournalReader::scan_records(
    const std::function<bool(const Record& record, std::uint64_t offset)>& take) {
  ForwardBytes bytes(file_);
  bytes_ = bytes.size();
  is_journal_ = begins_like_journal(bytes);
  for (std::uint64_t offset = 0; offset < bytes.size();) {
    const auto record = record_at(bytes, offset);
    if (!record) {
      const auto next = next_record(bytes, offset + 1);
      if (!next) break;  // an incomplete record at the end, as a kill leaves it
      is_damaged_ = true;
      offset = *next;
      continue;
    }
    is_journal_ = true;
    file_id_ = record->head.file_id;
    const std::uint64_t end = offset + record->bytes();
    if (!take(*record, offset)) break;
    offset = end;
  }
}

void JournalReader::scan_identity() {
  scan_records([&](const Record& record, std::uint64_t) {
    if (static_cast<RecordKind>(record.head.kind) == RecordKind::session)
      (void)unpack(record.payload, session_);
    return false;
  });
}

void JournalReader::scan(
    const std::function<void(const ResultRow& row, const JournalEntry& entry)>& take) {
  ResultRow row;
  scan_records([&](const Record& record, std::uint64_t offset) {
    const auto entry = entry_of(record, offset);
    bool is_valid = true;
    switch (static_cast<RecordKind>(record.head.kind)) {
      case RecordKind::session:
        is_valid = unpack(record.payload, session_);
        break;
      case RecordKind::end:
        is_valid = unpack(record.payload, session_);
        has_ended_ = is_valid;
        break;
      case RecordKind::result:
        if (entry) std::memcpy(&row, record.payload.data(), sizeof row);
        is_valid = entry && is_intact(row) &&
                   static_cast<std::uint64_t>(row.field_bytes) == record.head.field_bytes;
        if (is_valid) take(row, *entry);
        break;
    }
    is_damaged_ = is_damaged_ || !is_valid;
    return true;
  });
}

ResultRow JournalReader::row(const JournalEntry& entry) const {
  ResultRow row;
  if (!file_.read_at(entry.offset, std::as_writable_bytes(std::span(&row, 1))) || !is_intact(row))
    throw_changed(file_.path());
  return row;
}

std::vector<RoomResult> JournalReader::rooms(const JournalEntry& entry) const {
  std::vector<RoomResult> rooms(entry.rooms);
  if (!file_.read_at(entry.offset + sizeof(ResultRow), std::as_writable_bytes(std::span(rooms))))
    throw_changed(file_.path());
  return rooms;
}

std::vector<std::byte> JournalReader::field(const JournalEntry& entry, const ResultRow& row) const {
  std::vector<std::byte> field(static_cast<std::size_t>(row.field_bytes));
  if (!file_.read_at(entry.offset + sizeof(ResultRow) + entry.rooms * sizeof(RoomResult), field))
    throw_changed(file_.path());
  return field;
}

void for_each_journal(
    const std::filesystem::path& file,
    const std::function<void(const std::filesystem::path& name, JournalReader& journal)>& visit) {
  const auto numbers = journal_numbers(file);
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    const auto path = journal_path(file, *number);
    for (const auto& name : {path, fenced_path(path)}) {
      auto opened = open_unless_errno(ENOENT, name, O_RDONLY);
      if (!opened) continue;
      JournalReader journal(std::move(*opened));
      journal.scan_identity();
      visit(name, journal);
    }
  }
}

bool belongs_to(const JournalReader& journal, std::span<const FileId> file_ids) {
  if (journal.file_id() == 0) return journal.is_journal();
  return std::ranges::find(file_ids, journal.file_id()) != file_ids.end();
}

}  // namespace wallheat::store
