#include "store/results/write_ahead_log.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <type_traits>
#include <unordered_map>

#include "core/bytes.hpp"
#include "io/checksum.hpp"
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

enum class Kind : std::uint32_t { file = 1, ids = 2, session = 3, row = 4, commit = 5, rooms = 6 };

struct RecordHead {
  std::uint32_t kind, length, crc;
};

constexpr std::uint64_t row_record_size = sizeof(RecordHead) + sizeof(LoggedRow);

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::uint32_t crc_of(std::uint32_t kind, std::span<const std::byte> payload) {
  const std::array head{kind, static_cast<std::uint32_t>(payload.size())};
  return crc32_of(payload, crc32_of(std::as_bytes(std::span(head))));
}

using RecordWriter = BasicByteWriter<std::uint32_t>;
using Reader = BasicByteReader<std::uint32_t>;

void put(RecordWriter& writer, const Attributes& values) {
  writer.put_length(values.size());
  for (const auto& [name, value] : values) {
    writer.put(name);
    writer.put(value);
  }
}

Attributes get_attributes(Reader& reader) {
  Attributes values;
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    auto name = reader.get_text();
    values[name] = reader.get_text();
  }
  return values;
}

void add_record(std::string& batch, Kind kind, std::span<const std::byte> payload) {
  RecordHead head{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size()), 0};
  head.crc = crc_of(head.kind, payload);
  batch.append(reinterpret_cast<const char*>(&head), sizeof head);
  batch.append(reinterpret_cast<const char*>(payload.data()), payload.size());
}

void add_row(std::string& batch, const LoggedRow& row) {
  add_record(batch, Kind::row, std::as_bytes(std::span(&row, 1)));
}

/// A record for each plan.
void add_rooms(std::string& batch, std::span<const RoomResult> rooms) {
  while (!rooms.empty()) {
    std::size_t count = 1;
    while (count < rooms.size() && rooms[count].plan == rooms.front().plan) ++count;
    add_record(batch, Kind::rooms, std::as_bytes(rooms.first(count)));
    rooms = rooms.subspan(count);
  }
}

void add_session(std::string& batch, std::size_t number, const Attributes& session) {
  RecordWriter writer;
  writer.put(static_cast<std::uint32_t>(number));
  put(writer, session);
  add_record(batch, Kind::session, writer.take());
}

Bytes packed_file(const Snapshot& snapshot) {
  RecordWriter writer;
  writer.put(snapshot.file_id);
  put(writer, snapshot.settings);
  writer.put(static_cast<std::uint8_t>(snapshot.save_fields ? 1 : 0));
  writer.put_length(snapshot.capacities.size());
  for (const auto& [shape, capacity] : snapshot.capacities) {
    writer.put(std::uint64_t{shape.rows});
    writer.put(std::uint64_t{shape.cols});
    writer.put(std::uint64_t{capacity});
  }
  return writer.take();
}

Bytes packed_ids(const Snapshot& snapshot) {
  RecordWriter writer;
  writer.put_length(snapshot.rows.size());
  for (const auto& row : snapshot.rows) writer.put(id_of(row));
  return writer.take();
}

/// The bytes of a log, and which of them are whole records.
class LogSource {
 public:
  LogSource(System& system, const std::filesystem::path& path)
      : in_(system, path, O_RDONLY), size_(in_.size()) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Nothing if the beginning is damaged.
  [[nodiscard]] std::optional<std::uint32_t> version() const {
    std::array<char, beginning_size> beginning{};
    if (!in_.read_at(0, std::as_writable_bytes(std::span(beginning)))) return std::nullopt;
    const std::string_view text(beginning.data(), beginning.size());
    std::uint32_t found = 0;
    std::uint32_t crc = 0;
    std::memcpy(&found, text.data() + magic.size(), sizeof found);
    std::memcpy(&crc, text.data() + magic.size() + sizeof found, sizeof crc);
    const bool sound = text.starts_with(magic) &&
                       crc == crc32_of(bytes_of(text.substr(0, beginning_size - sizeof crc)));
    return sound ? std::optional(found) : std::nullopt;
  }

  /// The kind and payload of the record at `offset`; nothing where it is not whole.
  [[nodiscard]] std::optional<Kind> read(std::uint64_t offset, Bytes& payload) {
    const auto head = head_at(offset);
    if (!head || head->length > size_ - offset - sizeof(RecordHead)) return std::nullopt;
    payload.resize(head->length);
    if (!in_.read_at(offset + sizeof(RecordHead), payload) ||
        crc_of(head->kind, payload) != head->crc) {
      return std::nullopt;
    }
    return static_cast<Kind>(head->kind);
  }

  /// The row that lies where a record's payload would, whole or not.
  [[nodiscard]] std::optional<LoggedRow> row_at(std::uint64_t offset) const {
    LoggedRow row{};
    const auto bytes = std::as_writable_bytes(std::span(&row, 1));
    return in_.read_at(offset + sizeof(RecordHead), bytes) ? std::optional(row) : std::nullopt;
  }

  /// True if the file ends within the record that seems to begin at `offset`.
  [[nodiscard]] bool is_cut(std::uint64_t offset) {
    const auto head = head_at(offset);
    return !head || head->length > size_ - offset - sizeof(RecordHead);
  }

  /// Where the first whole row, session or commit at or after `offset` begins.
  [[nodiscard]] std::optional<std::uint64_t> next_whole(std::uint64_t offset) {
    Bytes payload;
    for (; offset + sizeof(RecordHead) <= size_; ++offset) {
      const auto head = head_at(offset);
      if (head && is_worth_reading(*head) && read(offset, payload)) return offset;
    }
    return std::nullopt;
  }

 private:
  bool is_worth_reading(const RecordHead& head) {
    switch (static_cast<Kind>(head.kind)) {
      case Kind::row:
        return head.length == sizeof(LoggedRow);
      case Kind::commit:
        return head.length == 0;
      case Kind::file:
      case Kind::ids:
      case Kind::session:
      case Kind::rooms:
        if (head.length > search_left_) return false;
        search_left_ -= head.length;
        return true;
    }
    return false;
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
  std::string window_;
  std::uint64_t window_at_ = 0;
};

/// Applies records to what was read so far.
class LogReplay {
 public:
  explicit LogReplay(const Snapshot* in_file) : in_file_(in_file) {}

  /// `at`: where the payload begins in the log. False if it makes no sense: then the record counts
  /// as damaged.
  bool apply(Kind kind, std::span<const std::byte> payload, std::uint64_t at) {
    Reader reader(payload);
    try {
      switch (kind) {
        case Kind::file:
          return !has_file_ && apply_file(reader);
        case Kind::ids:
          return !has_ids_ && apply_ids(reader);
        case Kind::session:
          return apply_session(reader);
        case Kind::row: {
          LoggedRow row;
          if (payload.size() != sizeof row) return false;
          std::memcpy(&row, payload.data(), sizeof row);
          return is_intact(row.row) && apply_row(row, at);
        }
        case Kind::commit:
          commit();
          return true;
        case Kind::rooms:
          return apply_rooms(payload, at);
      }
    } catch (const DecodeError&) {
      // It makes no sense.
    }
    return false;
  }
  /// A row whose record is damaged.
  bool apply_row(const LoggedRow& row, std::uint64_t at) {
    if (!has_ids_) borrow_ids();
    if (row.row.index >= ids_.size() || !is_called(row.row, ids_[row.row.index])) return false;
    waiting_rows_.push_back({row.row.index, at + offsetof(LoggedRow, row), row.offset});
    return true;
  }
  /// A plan's rooms, which come before its row.
  bool apply_rooms(std::span<const std::byte> payload, std::uint64_t at) {
    if (!has_ids_) borrow_ids();
    std::vector<RoomResult> rooms(payload.size() / sizeof(RoomResult));
    std::memcpy(rooms.data(), payload.data(), rooms.size() * sizeof(RoomResult));
    if (payload.size() % sizeof(RoomResult) != 0 || rooms.empty()) return false;
    const std::size_t row = rooms.front().plan;
    if (row >= ids_.size() || !are_intact(rooms, row)) return false;
    waiting_rooms_.push_back({row, at, static_cast<std::uint32_t>(rooms.size())});
    return true;
  }
  /// A row that is not whole; what is left of it may tell whose it is.
  void note_damaged(const Row& row) { damaged_.push_back(row); }
  /// What waits holds. False if there is not enough to go by.
  bool finish(System& system, const std::filesystem::path& log) {
    borrow_ids();
    borrow_file();
    commit();
    reading_.snapshot.ids = ids_;
    reading_.snapshot.rows =
        RowList(std::make_shared<RowsInLog>(system, log, std::move(rows_at_), ids_));
    forget_shared_fields();
    if (keeps_rooms(reading_.snapshot.settings)) find_rooms(system, log);
    name_damaged();
    return has_file_ && has_ids_ && (!borrowed_ || belongs_to_file());
  }

  [[nodiscard]] LogReading& reading() { return reading_; }

 private:
  void commit() {
    for (const Waiting& row : waiting_rows_) {
      rows_at_[row.index] = row.at;
      reading_.snapshot.offsets[row.index] = row.offset;
      if (begun_) reading_.stored_here.push_back(row.index);
    }
    auto& sessions = reading_.snapshot.sessions;
    for (auto& [number, session] : waiting_sessions_) {
      sessions.resize(std::max<std::size_t>(sessions.size(), number + 1));
      sessions[number] = std::move(session);
    }
    for (const RoomPlace& rooms : waiting_rooms_) rooms_at_[rooms.row] = rooms;
    waiting_rows_.clear();
    waiting_rooms_.clear();
    waiting_sessions_.clear();
    begun_ = true;
  }
  bool apply_file(Reader& reader) {
    Snapshot file;
    file.file_id = reader.get_text();
    file.settings = get_attributes(reader);
    file.save_fields = reader.get<std::uint8_t>() != 0;
    for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
      const auto rows = reader.get<std::uint64_t>();
      const auto cols = reader.get<std::uint64_t>();
      file.capacities[{rows, cols}] = reader.get<std::uint64_t>();
    }
    reader.expect_end();
    take_file(file);
    return true;
  }
  void take_file(const Snapshot& from) {
    auto& snapshot = reading_.snapshot;
    snapshot.file_id = from.file_id;
    snapshot.settings = from.settings;
    snapshot.save_fields = from.save_fields;
    snapshot.capacities = from.capacities;
    has_file_ = true;
  }
  bool apply_ids(Reader& reader) {
    TextList ids;
    for (auto left = reader.get<std::uint32_t>(); left > 0; --left)
      ids.push_back(reader.get_text());
    reader.expect_end();
    set_ids(std::move(ids));
    return true;
  }
  bool apply_session(Reader& reader) {
    const auto number = reader.get<std::uint32_t>();
    auto session = get_attributes(reader);
    reader.expect_end();
    // One whose predecessor was lost with a damaged record is kept; its entry stays empty.
    if (number > max_sessions) return false;
    waiting_sessions_.emplace_back(number, std::move(session));
    return true;
  }
  void set_ids(TextList ids) {
    reading_.snapshot.offsets.assign(ids.size(), -1);
    rows_at_.assign(ids.size(), 0);
    ids_ = std::move(ids);
    has_ids_ = true;
  }

  void borrow_ids() {
    if (has_ids_ || in_file_ == nullptr) return;
    set_ids(in_file_->ids);
    borrowed_ = true;
  }
  void borrow_file() {
    // Nobody needs room for more fields than there are plans; a file with it might never be built.
    const auto& rooms = reading_.snapshot.capacities;
    const bool endless = std::any_of(rooms.begin(), rooms.end(),
                                     [&](const auto& entry) { return entry.second > ids_.size(); });
    if (has_file_ && !endless) return;
    reading_.damaged = true;
    has_file_ = false;
    if (in_file_ == nullptr) return;
    take_file(*in_file_);
    borrowed_ = true;
  }

  void forget_shared_fields() {
    auto& snapshot = reading_.snapshot;
    if (!snapshot.save_fields) return;
    SharedFields shared;
    for (const Row& row : snapshot.rows)
      if (has_field(row)) shared.look_at(row.index, row, snapshot.offsets[row.index]);
    for (const std::size_t row : shared.rows()) {
      forget_row(snapshot, row);
      reading_.damaged_rows.push_back(row);
      reading_.damaged = true;
    }
  }

  /// Rows without their rooms become pending.
  void find_rooms(System& system, const std::filesystem::path& log) {
    std::vector<RoomPlace> places;
    for (const auto& [row, place] : rooms_at_) places.push_back(place);
    const auto rooms = std::make_shared<const RoomsAt>(system, log, std::move(places));
    auto& snapshot = reading_.snapshot;
    snapshot.rooms_of = [rooms](std::size_t i) { return rooms->read(i); };
    std::vector<std::size_t> without_rooms;
    for (const Row& row : snapshot.rows)
      if (has_rooms(row) && !rooms_at_.contains(row.index)) without_rooms.push_back(row.index);
    for (const std::size_t row : without_rooms) {
      forget_row(snapshot, row);
      reading_.damaged_rows.push_back(row);
      reading_.damaged = true;
    }
  }

  void name_damaged() {
    if (damaged_.empty()) return;
    const auto& rows = reading_.snapshot.rows;
    std::unordered_map<std::string, std::size_t> indices;
    for (std::size_t i = 0; i < ids_.size(); ++i) indices.emplace(ids_[i], i);
    for (const auto& row : damaged_) {
      // Nobody logs a row that is pending, but blank bytes look like one.
      const bool is_row = status_of(row) != PlanStatus::pending && row.index < rows.size();
      if (const auto index = indices.find(id_of(row)); index != indices.end()) {
        reading_.damaged_rows.push_back(index->second);
      } else if (is_row) {
        reading_.damaged_rows.push_back(row.index);
      }
    }
  }

  /// A log without its own identity is taken for the file's if the ids are the same, no session
  /// contradicts, and a session or an answer, each of which tells its time, is the same in
  /// both.
  [[nodiscard]] bool belongs_to_file() const {
    const auto& mine = reading_.snapshot;
    const auto& theirs = *in_file_;
    if (mine.file_id != theirs.file_id || mine.rows.size() != theirs.rows.size()) return false;
    bool proven = false;
    for (std::size_t i = 0; i < std::min(mine.sessions.size(), theirs.sessions.size()); ++i) {
      if (mine.sessions[i].empty()) continue;
      if (!includes(mine.sessions[i], theirs.sessions[i])) return false;
      proven = proven || !theirs.sessions[i].empty();
    }
    for (const Row& other : theirs.rows) {
      const Row row = mine.rows[other.index];
      if (row.id != other.id) return false;
      proven = proven || (status_of(row) != PlanStatus::pending &&
                          std::memcmp(&row, &other, sizeof(Row)) == 0);
    }
    return proven;
  }

  LogReading reading_;
  const Snapshot* in_file_;
  TextList ids_;
  std::vector<std::uint64_t> rows_at_;  ///< where in the log each id's latest row begins; 0: none
  struct Waiting {
    std::uint32_t index;
    std::uint64_t at;
    Offset offset;
  };
  std::vector<Waiting> waiting_rows_;
  std::vector<RoomPlace> waiting_rooms_;
  std::map<std::size_t, RoomPlace> rooms_at_;  ///< in the log, of rows
  std::vector<Row> damaged_;
  std::vector<std::pair<std::size_t, Attributes>> waiting_sessions_;
  bool has_file_ = false, has_ids_ = false, begun_ = false, borrowed_ = false;
};

}  // namespace

LogWriter::LogWriter(const StoreEnvironment& env, const std::filesystem::path& file,
                     const Snapshot& snapshot) {
  const auto path = log_path(file);
  const auto temporary = temporary_path(path);
  out_.emplace(PosixFile::make(env.system, temporary));
  take_rights_of(env.system, file, temporary, out_->fd());

  batch_.assign(magic);
  batch_.append(reinterpret_cast<const char*>(&version), sizeof version);
  const auto crc = crc32_of(bytes_of(batch_));
  batch_.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  add_record(batch_, Kind::file, packed_file(snapshot));
  add_record(batch_, Kind::ids, packed_ids(snapshot));
  for (std::size_t i = 0; i < snapshot.sessions.size(); ++i) {
    add_session(batch_, i, snapshot.sessions[i]);
  }
  constexpr std::size_t enough_for_one_write = 1 << 20;
  for (const Row& row : snapshot.rows) {
    if (status_of(row) == PlanStatus::pending) continue;
    if (snapshot.rooms_of && has_rooms(row)) add_rooms(batch_, snapshot.rooms_of(row.index));
    add_row(batch_, {snapshot.offsets[row.index], row});
    if (batch_.size() < enough_for_one_write) continue;
    out_->append(bytes_of(batch_));
    batch_.clear();
  }
  add_record(batch_, Kind::commit, {});
  out_->append(bytes_of(batch_));
  batch_ = {};
  out_->sync_all();
  rename_durably(env.system, temporary, path);
  out_->now_called(path);
}

void LogWriter::append(std::span<const LoggedRow> rows, std::span<const RoomResult> rooms) {
  add_rooms(batch_, rooms);
  for (const auto& row : rows) add_row(batch_, row);
  commit();
}

void LogWriter::append_session(std::size_t number, const Attributes& session) {
  add_session(batch_, number, session);
  commit();
}

void LogWriter::commit() {
  add_record(batch_, Kind::commit, {});
  out_->append(bytes_of(batch_));
  out_->sync_data();
  batch_.clear();
}

std::optional<LogReading> read_log(const StoreEnvironment& env, const std::filesystem::path& file,
                                   const Snapshot* in_file) {
  const auto path = log_path(file);
  LogSource log(env.system, path);
  if (const auto found = log.version(); found && *found != version) refuse_version(path, *found);

  LogReplay replay(in_file);
  auto& reading = replay.reading();
  reading.damaged = !log.version();
  std::uint64_t offset = beginning_size;
  std::uint64_t dropped = 0;
  Bytes payload;
  bool cut = false;
  bool committed = true;
  while (offset < log.size()) {
    if (const auto kind = log.read(offset, payload);
        kind && replay.apply(*kind, payload, offset + sizeof(RecordHead))) {
      offset += sizeof(RecordHead) + payload.size();
      committed = *kind == Kind::commit;
      continue;
    }
    // A damaged record costs itself only, or not even that where its row is whole by its own
    // checksum.
    if (const auto row = log.row_at(offset); row && is_intact(row->row) &&
                                             has_field(row->row) == (row->offset >= 0) &&
                                             replay.apply_row(*row, offset + sizeof(RecordHead))) {
      reading.damaged = true;
      offset += row_record_size;
      committed = false;
      continue;
    }
    const auto next = log.next_whole(offset + 1);
    if (!next) {
      cut = log.is_cut(offset);
      dropped += log.size() - offset;
      break;
    }
    reading.damaged = true;
    dropped += *next - offset;
    for (; offset + row_record_size <= *next; offset += row_record_size) {
      if (const auto row = log.row_at(offset)) replay.note_damaged(row->row);
    }
    offset = *next;
  }
  if (!replay.finish(env.system, path)) return std::nullopt;
  if (reading.damaged || dropped > 0 || !committed) {
    reading.damage = std::string("the log ") +
                     (reading.damaged ? "was damaged"
                      : cut           ? "ended in the middle of a record"
                                      : "ended before a batch was complete") +
                     ": " + std::to_string(dropped) + " bytes dropped";
  }
  return std::move(reading);
}

std::string logged_file_id(const StoreEnvironment& env, const std::filesystem::path& file) {
  try {
    LogSource log(env.system, log_path(file));
    Bytes payload;
    if (log.version() == version && log.read(beginning_size, payload) == Kind::file) {
      return Reader(payload).get_text();
    }
  } catch (const SystemError&) {
    // There is none, or none that this process may read.
  } catch (const DecodeError&) {
    // It is damaged.
  }
  return {};
}

}  // namespace wallheat::store
