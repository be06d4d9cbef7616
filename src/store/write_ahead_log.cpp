#include "store/write_ahead_log.hpp"

#include <fcntl.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "store/checksum.hpp"
#include "wallheat/error.hpp"

// A log is a 16-byte beginning (8 bytes of magic, version, zero) and records, each of
//   uint32 kind, uint32 length of the payload, uint32 CRC-32 of kind, length and payload, payload.
// All numbers are little-endian. Texts are a uint32 length and their bytes.
namespace wallheat::store {
namespace {

constexpr std::string_view magic = "wallhlog";
constexpr std::uint32_t version = 1;
constexpr std::size_t beginning_size = 16;

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

/// Applies records to what was read so far.
class Replay {
 public:
  /// False where the payload makes no sense: then the log ends before it.
  bool apply(Kind kind, std::string_view payload) {
    Unpacker in(payload);
    switch (kind) {
      case Kind::file:
        return apply_file(in);
      case Kind::ids:
        return apply_ids(in);
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
    for (auto& [number, session] : waiting_sessions_) {
      if (number == reading.contents.sessions.size()) {
        reading.contents.sessions.push_back(std::move(session));
      } else {
        reading.contents.sessions[number] = std::move(session);
      }
    }
    waiting_rows_.clear();
    waiting_sessions_.clear();
    begun_ = true;
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
    return in.ok();
  }
  bool apply_ids(Unpacker& in) {
    auto& contents = reading.contents;
    for (auto left = in.number<std::uint32_t>(); in.ok() && left > 0; --left) {
      contents.rows.push_back(pending_row(contents.rows.size(), in.text()));
    }
    contents.addresses.assign(contents.rows.size(), -1);
    return in.ok();
  }
  bool apply_session(Unpacker& in) {
    const auto number = in.number<std::uint32_t>();
    waiting_sessions_.emplace_back(number, in.attributes());
    return in.ok() && number <= reading.contents.sessions.size() + waiting_sessions_.size() - 1;
  }
  bool apply_row(Unpacker& in) {
    const auto row = in.number<LoggedRow>();
    if (!in.ok() || row.row.index >= reading.contents.rows.size() || !is_intact(row.row)) {
      return false;
    }
    waiting_rows_.push_back(row);
    return true;
  }

  std::vector<LoggedRow> waiting_rows_;
  std::vector<std::pair<std::size_t, Attributes>> waiting_sessions_;
  bool begun_ = false;
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
  batch_.resize(beginning_size, '\0');
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
  const PosixFile in(path, O_RDONLY);
  const auto size = in.size();
  std::array<char, beginning_size> beginning{};
  if (!in.read_at(0, std::as_writable_bytes(std::span(beginning)))) return std::nullopt;
  if (std::string_view(beginning.data(), magic.size()) != magic) return std::nullopt;
  std::uint32_t found = 0;
  std::memcpy(&found, beginning.data() + magic.size(), sizeof found);
  if (found > version) {
    throw RunError(path.string() + " was written by a newer wallheat; go on with that one");
  }

  Replay replay;
  std::uint64_t offset = beginning_size, committed = offset;
  std::string payload, scratch, cause;
  while (offset < size) {
    RecordHead head{};
    if (offset + sizeof head > size ||
        !in.read_at(offset, std::as_writable_bytes(std::span(&head, 1))) ||
        offset + sizeof head + head.length > size) {
      cause = "ended in the middle of a record";
      break;
    }
    payload.resize(head.length);
    if (!in.read_at(offset + sizeof head, std::as_writable_bytes(std::span(payload))) ||
        crc_of(head.kind, payload, scratch) != head.crc ||
        !replay.apply(static_cast<Kind>(head.kind), payload)) {
      cause = "was damaged";
      break;
    }
    offset += sizeof head + payload.size();
    if (static_cast<Kind>(head.kind) == Kind::commit) {
      replay.commit();
      committed = offset;
    }
  }
  if (!replay.begun()) return std::nullopt;
  if (committed < size) {
    if (cause.empty()) cause = "ended before a batch was complete";
    replay.reading.damage =
        "the log " + cause + ": " + std::to_string(size - committed) + " bytes dropped";
  }
  return std::move(replay.reading);
}

}  // namespace wallheat::store
