#include "store/write_ahead_log.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "store/checksum.hpp"
#include "wallheat/error.hpp"

// A log is a 16-byte beginning (8 bytes of magic, uint32 version, uint32 CRC-32 of these 12) and
// records, each of
//   uint32 kind, uint32 length of the payload, uint32 CRC-32 of kind, length and payload, payload.
// All numbers are little-endian. Texts are a uint32 length and their bytes.
namespace wallheat::store {
namespace {

constexpr std::string_view magic = "wallhlog";
constexpr auto version = static_cast<std::uint32_t>(format_version);
constexpr std::size_t beginning_size = 16;
constexpr std::uint32_t max_sessions = 1 << 20;  // a limit for damaged numbers

enum class Kind : std::uint32_t { file = 1, ids = 2, session = 3, row = 4, commit = 5 };

struct RecordHead {
  std::uint32_t kind, length, crc;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::uint32_t crc_of(std::uint32_t kind, std::string_view payload, std::string& scratch) {
  scratch.assign(reinterpret_cast<const char*>(&kind), sizeof kind);
  const auto length = static_cast<std::uint32_t>(payload.size());
  scratch.append(reinterpret_cast<const char*>(&length), sizeof length);
  scratch.append(payload);
  return crc32_of(bytes_of(scratch));
}

/// Builds a payload.
class Packer {
 public:
  template <class Number>
  void number(Number value) {
    static_assert(std::is_trivially_copyable_v<Number>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    text_.append(value);
  }
  void attributes(const Attributes& values) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const auto& [name, value] : values) {
      text(name);
      text(value);
    }
  }
  [[nodiscard]] const std::string& payload() const { return text_; }

 private:
  std::string text_;
};

/// Takes a payload apart; after reading past the end everything is zero and ok() is false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view payload) : rest_(payload) {}

  template <class Number>
  Number number() {
    Number value{};
    if (rest_.size() < sizeof value) {
      ok_ = false;
      rest_ = {};
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const auto length = number<std::uint32_t>();
    ok_ = ok_ && length <= rest_.size();
    if (!ok_) return {};
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return value;
  }
  Attributes attributes() {
    Attributes values;
    for (auto left = number<std::uint32_t>(); ok_ && left > 0; --left) {
      auto name = text();
      values[name] = text();
    }
    return values;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void add_record(std::string& batch, Kind kind, std::string_view payload) {
  std::string scratch;
  RecordHead head{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size()), 0};
  head.crc = crc_of(head.kind, payload, scratch);
  batch.append(reinterpret_cast<const char*>(&head), sizeof head);
  batch.append(payload);
}

void add_row(std::string& batch, const LoggedRow& row) {
  add_record(batch, Kind::row, {reinterpret_cast<const char*>(&row), sizeof row});
}

void add_session(std::string& batch, std::size_t number, const Attributes& session) {
  Packer packer;
  packer.number(static_cast<std::uint32_t>(number));
  packer.attributes(session);
  add_record(batch, Kind::session, packer.payload());
}

std::string packed_file(const Contents& contents) {
  Packer packer;
  packer.text(contents.file_id);
  packer.attributes(contents.settings);
  packer.number(std::uint8_t{contents.save_fields});
  packer.number(static_cast<std::uint32_t>(contents.capacities.size()));
  for (const auto& [shape, capacity] : contents.capacities) {
    packer.number(std::uint64_t{shape.rows});
    packer.number(std::uint64_t{shape.cols});
    packer.number(std::uint64_t{capacity});
  }
  return packer.payload();
}

std::string packed_ids(const Contents& contents) {
  Packer packer;
  packer.number(static_cast<std::uint32_t>(contents.rows.size()));
  for (const auto& row : contents.rows) packer.text(id_of(row));
  return packer.payload();
}

/// The bytes of a log, and which of them are whole records.
class LogSource {
 public:
  explicit LogSource(const std::filesystem::path& path) : in_(path, O_RDONLY), size_(in_.size()) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Nothing where the beginning is damaged.
  [[nodiscard]] std::optional<std::uint32_t> version() const {
    std::array<char, beginning_size> beginning{};
    if (!in_.read_at(0, std::as_writable_bytes(std::span(beginning)))) return std::nullopt;
    const std::string_view text(beginning.data(), beginning.size());
    std::uint32_t found = 0, crc = 0;
    std::memcpy(&found, text.data() + magic.size(), sizeof found);
    std::memcpy(&crc, text.data() + magic.size() + sizeof found, sizeof crc);
    if (!text.starts_with(magic)) return std::nullopt;
    // Version 1 had no checksum there.
    const bool sound = crc == crc32_of(bytes_of(text.substr(0, beginning_size - sizeof crc)));
    return sound || (found == 1 && crc == 0) ? std::optional(found) : std::nullopt;
  }

  /// The kind and payload of the record at `offset`; nothing where it is not whole.
  [[nodiscard]] std::optional<Kind> read(std::uint64_t offset, std::string& payload) {
    const auto head = head_at(offset);
    if (!head || head->length > size_ - offset - sizeof(RecordHead)) return std::nullopt;
    payload.resize(head->length);
    if (!in_.read_at(offset + sizeof(RecordHead), std::as_writable_bytes(std::span(payload))) ||
        crc_of(head->kind, payload, scratch_) != head->crc) {
      return std::nullopt;
    }
    return static_cast<Kind>(head->kind);
  }

  /// True where the file ends within the record that seems to begin at `offset`.
  [[nodiscard]] bool is_cut(std::uint64_t offset) {
    const auto head = head_at(offset);
    return !head || head->length > size_ - offset - sizeof(RecordHead);
  }

  /// Where the first whole row, session or commit at or after `offset` begins.
  [[nodiscard]] std::optional<std::uint64_t> next_whole(std::uint64_t offset) {
    std::string payload;
    for (; offset + sizeof(RecordHead) <= size_; ++offset) {
      const auto head = head_at(offset);
      if (!head || !is_plausible(*head)) continue;
      if (!has_fixed_length(*head)) {
        if (head->length > search_left_) continue;
        search_left_ -= head->length;
      }
      if (read(offset, payload)) return offset;
    }
    return std::nullopt;
  }

 private:
  static bool is_plausible(const RecordHead& head) {
    switch (static_cast<Kind>(head.kind)) {
      case Kind::row:
        return head.length == sizeof(LoggedRow);
      case Kind::commit:
        return head.length == 0;
      case Kind::file:
      case Kind::ids:
      case Kind::session:
        return true;
    }
    return false;
  }

  static bool has_fixed_length(const RecordHead& head) {
    const auto kind = static_cast<Kind>(head.kind);
    return kind == Kind::row || kind == Kind::commit;
  }

  [[nodiscard]] std::optional<RecordHead> head_at(std::uint64_t offset) {
    RecordHead head{};
    if (offset > size_ || size_ - offset < sizeof head) return std::nullopt;
    if (offset < window_at_ || offset + sizeof head > window_at_ + window_.size()) {
      window_.resize(std::min<std::uint64_t>(1 << 16, size_ - offset));
      window_at_ = offset;
      if (!in_.read_at(offset, std::as_writable_bytes(std::span(window_)))) {
        window_.clear();
        return std::nullopt;
      }
    }
    std::memcpy(&head, window_.data() + (offset - window_at_), sizeof head);
    return head;
  }

  PosixFile in_;
  std::uint64_t size_;
  // Bytes that a search may still take for records of any length: in a log that is made of nothing
  // but heads, each of them promising half the log, it would hardly end.
  std::uint64_t search_left_ = 64 * size_;
  std::string window_, scratch_;
  std::uint64_t window_at_ = 0;
};

/// Applies records to what was read so far.
class Replay {
 public:
  /// False where the payload makes no sense: then the log ends before it.
  bool apply(Kind kind, std::string_view payload) {
    Unpacker in(payload);
    switch (kind) {
      case Kind::file:
        return !has_file_ && apply_file(in);
      case Kind::ids:
        return !has_ids_ && apply_ids(in);
      case Kind::session:
        return apply_session(in);
      case Kind::row:
        return apply_row(in);
      case Kind::commit:
        return true;
    }
    return false;
  }
  /// What is known at a commit becomes what is said.
  void commit() {
    for (const auto& [address, row] : waiting_rows_) {
      reading.contents.rows[row.index] = row;
      reading.contents.addresses[row.index] = address;
      if (begun_) reading.stored_here.push_back(row.index);
    }
    auto& sessions = reading.contents.sessions;
    for (auto& [number, session] : waiting_sessions_) {
      sessions.resize(std::max<std::size_t>(sessions.size(), number + 1));
      sessions[number] = std::move(session);
    }
    waiting_rows_.clear();
    waiting_sessions_.clear();
    begun_ = has_file_ && has_ids_;
  }
  [[nodiscard]] bool begun() const { return begun_; }

  LogReading reading;

 private:
  bool apply_file(Unpacker& in) {
    auto& contents = reading.contents;
    contents.file_id = in.text();
    contents.settings = in.attributes();
    contents.save_fields = in.number<std::uint8_t>() != 0;
    for (auto left = in.number<std::uint32_t>(); in.ok() && left > 0; --left) {
      const auto rows = in.number<std::uint64_t>();
      const auto cols = in.number<std::uint64_t>();
      contents.capacities[{rows, cols}] = in.number<std::uint64_t>();
    }
    has_file_ = in.at_end();
    return has_file_;
  }
  bool apply_ids(Unpacker& in) {
    auto& contents = reading.contents;
    contents.rows.clear();
    for (auto left = in.number<std::uint32_t>(); in.ok() && left > 0; --left) {
      contents.rows.push_back(pending_row(contents.rows.size(), in.text()));
    }
    contents.addresses.assign(contents.rows.size(), -1);
    has_ids_ = in.at_end();
    return has_ids_;
  }
  bool apply_session(Unpacker& in) {
    const auto number = in.number<std::uint32_t>();
    auto session = in.attributes();
    // One whose predecessor was lost with a damaged record is kept; its place stays empty.
    if (!in.at_end() || number > max_sessions) return false;
    waiting_sessions_.emplace_back(number, std::move(session));
    return true;
  }
  bool apply_row(Unpacker& in) {
    const auto row = in.number<LoggedRow>();
    if (!has_ids_ || !in.at_end() || row.row.index >= reading.contents.rows.size() ||
        !is_intact(row.row)) {
      return false;
    }
    waiting_rows_.push_back(row);
    return true;
  }

  std::vector<LoggedRow> waiting_rows_;
  std::vector<std::pair<std::size_t, Attributes>> waiting_sessions_;
  bool has_file_ = false, has_ids_ = false, begun_ = false;
};

}  // namespace

std::filesystem::path log_path(std::filesystem::path file) { return file += ".wal"; }

LogWriter::LogWriter(const std::filesystem::path& file, const Contents& contents) {
  const auto path = log_path(file);
  auto temporary = path;
  temporary += ".new";
  out_.emplace(temporary, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND);

  batch_.assign(magic);
  batch_.append(reinterpret_cast<const char*>(&version), sizeof version);
  const auto crc = crc32_of(bytes_of(batch_));
  batch_.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  add_record(batch_, Kind::file, packed_file(contents));
  add_record(batch_, Kind::ids, packed_ids(contents));
  for (std::size_t i = 0; i < contents.sessions.size(); ++i) {
    add_session(batch_, i, contents.sessions[i]);
  }
  constexpr std::size_t enough_for_one_write = 1 << 20;
  for (std::size_t i = 0; i < contents.rows.size(); ++i) {
    if (status_of(contents.rows[i]) == PlanStatus::pending) continue;
    add_row(batch_, {contents.addresses[i], contents.rows[i]});
    if (batch_.size() < enough_for_one_write) continue;
    out_->append(bytes_of(batch_));
    batch_.clear();
  }
  add_record(batch_, Kind::commit, {});
  out_->append(bytes_of(batch_));
  batch_ = {};
  out_->sync_all();
  rename_durably(temporary, path);
  out_->now_called(path);
}

void LogWriter::append(std::span<const LoggedRow> rows) {
  batch_.clear();
  for (const auto& row : rows) add_row(batch_, row);
  add_record(batch_, Kind::commit, {});
  out_->append(bytes_of(batch_));
  out_->sync_data();
}

void LogWriter::append_session(std::size_t number, const Attributes& session) {
  batch_.clear();
  add_session(batch_, number, session);
  add_record(batch_, Kind::commit, {});
  out_->append(bytes_of(batch_));
  out_->sync_data();
}

std::optional<LogReading> read_log(const std::filesystem::path& file) {
  const auto path = log_path(file);
  LogSource log(path);
  if (const auto found = log.version(); found && *found != version) refuse_version(path, *found);

  Replay replay;
  std::uint64_t offset = beginning_size, committed = offset, dropped = 0;
  std::string payload;
  bool cut = false;
  while (offset < log.size()) {
    auto kind = log.read(offset, payload);
    if (!kind || !replay.apply(*kind, payload)) {
      // A damaged record costs itself only: the next that is whole holds.
      cut = log.is_cut(offset);
      const auto next = log.next_whole(offset + 1);
      if (!next) break;
      dropped += *next - offset;
      offset = *next;
      cut = false;
      continue;
    }
    offset += sizeof(RecordHead) + payload.size();
    if (*kind != Kind::commit) continue;
    replay.commit();
    committed = offset;
  }
  if (!replay.begun()) return std::nullopt;
  const bool damaged = dropped > 0 || !log.version();
  replay.reading.damaged = damaged;
  dropped += log.size() - committed;
  if (damaged || dropped > 0) {
    replay.reading.damage = std::string("the log ") +
                            (damaged ? "was damaged"
                             : cut   ? "ended in the middle of a record"
                                     : "ended before a batch was complete") +
                            ": " + std::to_string(dropped) + " bytes dropped";
  }
  return std::move(replay.reading);
}

}  // namespace wallheat::store
