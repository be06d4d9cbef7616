#include "store/results/recovery.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "io/file_names.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

bool same(const Row& a, const Row& b) { return std::memcmp(&a, &b, sizeof(Row)) == 0; }

/// The rows and fields of an open file on their way to what `snapshot` says.
class Mending {
 public:
  Mending(const StoreEnvironment& env, const Handle& file, const std::filesystem::path& path,
          Snapshot& snapshot)
      : snapshot_(snapshot),
        rows_(file),
        in_file_(env.system, path, rows_.offset(), rows_.count()),
        fields_(file),
        raw_(env.system, path, O_RDONLY) {
    if (rows_.count() != snapshot.rows.size()) {
      throw Hdf5Error("cannot mend the file: its number of rows is another");
    }
  }

  /// Returns the rows that were damaged.
  std::vector<std::size_t> mend_rows() {
    std::vector<std::size_t> damaged;
    auto next = snapshot_.rows.begin();
    in_file_.for_each_unchecked([&](std::size_t i, const Row& in_file) {
      const Row row = *next;
      ++next;
      if (same(in_file, row)) return;
      if (!is_intact(in_file)) damaged.push_back(i);
      rows_.write(i, std::span(&row, 1));
    });
    return damaged;
  }

  void mend_field(std::size_t i, bool unproven) {
    const auto& row = snapshot_.rows[i];
    auto& offset = snapshot_.offsets[i];
    const auto extent = fields_.find(shape_of(row), row.field_slot);
    if (extent && extent->bytes == row.field_bytes) {
      if (extent->offset == offset && !unproven) return;
      if (read_chunk(raw_, extent->offset, row, chunk_)) {
        offset = extent->offset;
        return;
      }
    }
    if (!read_chunk(raw_, offset, row, chunk_)) {
      throw Hdf5Error("cannot find the field of plan " + id_of(row));
    }
    offset = fields_.write(shape_of(row), row.field_slot, chunk_).offset;
  }

 private:
  Snapshot& snapshot_;
  RowTable rows_;
  RowsInFile in_file_;
  FieldTables fields_;
  PosixFile raw_;
  std::vector<std::byte> chunk_;
};

[[noreturn]] void differs(const std::string& what) {
  throw Hdf5Error("cannot trust the file: " + what + " not what was stored");
}

bool names(const TextList& ids, const RowList& rows) {
  if (ids.size() != rows.size()) return false;
  for (const Row& row : rows)
    if (!is_called(row, ids[row.index])) return false;
  return true;
}

bool same(const RowList& a, const RowList& b) {
  if (a.size() != b.size()) return false;
  auto other = b.begin();
  for (const Row& row : a) {
    if (!same(row, *other)) return false;
    ++other;
  }
  return true;
}

/// Nothing is read of rows without rooms. Both of files that keep rooms.
bool same_rooms(const Snapshot& a, const Snapshot& b) {
  for (const Row& row : a.rows) {
    if (!has_rooms(row)) continue;
    if (!a.rooms_of || !b.rooms_of || a.rooms_of(row.index) != b.rooms_of(row.index)) return false;
  }
  return true;
}

/// Makes /rooms say what `snapshot` says.
void mend_rooms(const StoreEnvironment& env, const Handle& file, const std::filesystem::path& path,
                const Snapshot& snapshot) {
  if (!keeps_rooms(snapshot.settings)) return;
  try {
    const auto in_file = find_rooms_in(env, file, path, snapshot.rows);
    Snapshot other;
    other.rooms_of = [&](std::size_t i) { return in_file->read(i); };
    if (in_file->strays() == 0 && same_rooms(snapshot, other)) return;
  } catch (const Hdf5Error&) {
    // It is missing or damaged.
  }
  write_rooms(file, snapshot.rows, snapshot.rooms_of);
}

/// Rows that are pending by now were reported as lost.
void report_rebuilt(const std::vector<std::size_t>& rows, const Snapshot& snapshot,
                    DamageReport& damage) {
  std::vector<std::string> ids;
  for (const auto i : rows) {
    if (status_of(snapshot.rows[i]) != PlanStatus::pending) ids.push_back(id_of(snapshot.rows[i]));
  }
  if (ids.empty()) return;
  damage.sentences.push_back(count_were(ids.size(), "row") +
                             " damaged and rebuilt from the log: " + few_of(ids));
}

}  // namespace

std::vector<std::size_t> bring_up_to_date(const StoreEnvironment& env,
                                          const std::filesystem::path& path, Access access,
                                          Snapshot& snapshot,
                                          const std::vector<std::size_t>& unproven) {
  auto file = open_file(env, path, access);
  std::vector<std::size_t> rebuilt;
  try {
    if (read_identity(file, path) != snapshot.file_id) refuse_pair(path, strangers);
    write_sessions(file, snapshot.sessions);
    if (const auto ids = read_ids(file, snapshot.rows.size());
        !ids || !names(*ids, snapshot.rows)) {
      write_ids(file, snapshot.rows);
    }
    {
      Mending mending(env, file, path, snapshot);
      rebuilt = mending.mend_rows();
      std::vector<bool> check(snapshot.rows.size());
      for (const auto i : unproven) check[i] = true;
      if (snapshot.save_fields) {
        for (std::size_t i = 0; i < snapshot.rows.size(); ++i)
          if (has_field(snapshot.rows[i])) mending.mend_field(i, check[i]);
      }
    }
    mend_rooms(env, file, path, snapshot);
    file.close("close the file");
  } catch (...) {
    file.leak();
    throw;
  }
  sync_file(env.system, path);
  return rebuilt;
}

void require_equal(const StoreEnvironment& env, const std::filesystem::path& path,
                   const Snapshot& snapshot, const std::vector<std::size_t>& unproven) {
  DamageReport complaints;
  const auto found = read_snapshot(env, path, Access::read, Offsets::find, complaints);
  if (!complaints.sentences.empty()) differs("rows are");
  if (found.settings != snapshot.settings) differs("the settings are");
  if (found.sessions != snapshot.sessions) differs("the sessions are");
  if (found.capacities != snapshot.capacities) differs("the room for fields is");
  if (!same(found.rows, snapshot.rows)) differs("rows are");
  if (found.offsets != snapshot.offsets) differs("the offsets of fields are");
  if (keeps_rooms(snapshot.settings) && !same_rooms(snapshot, found)) differs("the rooms are");
  const PosixFile raw(env.system, path, O_RDONLY);
  std::vector<std::byte> chunk;
  for (const auto i : unproven) {
    if (has_field(snapshot.rows[i]) &&
        !read_chunk(raw, snapshot.offsets[i], snapshot.rows[i], chunk)) {
      differs("the field of plan " + id_of(snapshot.rows[i]) + " is");
    }
  }
}

void recover(const StoreEnvironment& env, const std::filesystem::path& path, OpenedFile& found,
             DamageReport& damage) {
  std::string cause = "it is missing";
  if (const auto state = peek(env, path); state == Hdf5State::foreign) {
    cause = "it does not begin like an HDF5 file";
  } else if (state != Hdf5State::missing) {
    // Mending works on a copy: a failed attempt must not blur what the log says.
    auto mended = found.snapshot;
    try {
      const auto rebuilt = bring_up_to_date(env, path, Access::take_up, mended, found.unproven);
      require_equal(env, path, mended, found.unproven);
      found.snapshot = std::move(mended);
      report_rebuilt(rebuilt, found.snapshot, damage);
      damage.add_lost_with_log(found.doubtful, found.snapshot);
      return;
    } catch (const Hdf5Error& error) {
      cause = error.what();
    }
  }
  const auto lost = build(env, path, found.snapshot);
  damage.sentences.push_back("the file could not be mended (" + cause +
                             ") and was rebuilt from its log");
  damage.add_lost("field", "lost with it", lost, found.snapshot);
  damage.add_lost_with_log(found.doubtful, found.snapshot);
}

void refuse_pair(const std::filesystem::path& path, const std::string& why) {
  const auto log = log_path(path).string();
  throw RunError(path.string() + " and its log " + log + " do not belong together: " + why +
                 "; bring back the one that is missing, or move " + log + " away to go by " +
                 path.filename().string() + " alone");
}

}  // namespace wallheat::store
