#include <fcntl.h>

#include <algorithm>

#include "store/results/recovery.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat::store {
namespace {

/// Gives every field a slot of its shape, in the order of the rows, and copies it there. Returns
/// the rows whose field is lost.
std::vector<std::size_t> copy_fields(const FieldSource& source, FieldTables& fields,
                                     Snapshot& snapshot) {
  std::map<GridShape, std::int64_t> next_slot;
  for (std::size_t i = 0; i < snapshot.rows.size(); ++i) {
    Row row = snapshot.rows[i];
    if (!has_field(row)) continue;
    row.field_slot = next_slot[shape_of(row)]++;
    seal(row);
    snapshot.rows.set(i, row);
  }
  std::vector<std::size_t> lost;
  std::vector<std::byte> chunk;
  for (const auto i : source.order) {
    const auto& row = snapshot.rows[i];
    if (!has_field(row)) continue;
    if (source.read(i, chunk)) {
      snapshot.offsets[i] = fields.write(shape_of(row), row.field_slot, chunk).offset;
    } else {
      forget_row(snapshot, i);
      lost.push_back(i);
    }
  }
  return lost;
}

/// Notes a file that `snapshot` takes the place of.
void succeed(Snapshot& snapshot, const std::string& file_id) {
  constexpr std::size_t most = 64;  // so that they fit into an attribute
  auto& ids = snapshot.succeeds;
  if (file_id.empty() || std::find(ids.begin(), ids.end(), file_id) != ids.end()) return;
  if (ids.size() == most) ids.erase(ids.begin());
  ids.push_back(file_id);
}

}  // namespace

std::vector<std::size_t> build(const StoreEnvironment& env, const std::filesystem::path& path,
                               Snapshot& snapshot, const FieldSource& source) {
  const auto temporary = temporary_path(path);
  // The old log's offsets are wrong for the new file; the new id keeps the two apart.
  succeed(snapshot, snapshot.file_id);
  succeed(snapshot, logged_file_id(env, path));
  snapshot.file_id = new_file_id(env.system);
  std::vector<std::size_t> lost;
  remove_durably(env.system, temporary);
  auto file = create_file(env, temporary);
  try {
    take_rights_of(env.system, path, temporary, descriptor_of(file));
    write_identity(file, snapshot);
    write_attributes(file, "/settings", snapshot.settings);
    write_sessions(file, snapshot.sessions);
    if (snapshot.save_fields) {
      FieldTables::create(file, snapshot.capacities);
      FieldTables fields(file);
      lost = copy_fields(source, fields, snapshot);
    }
    write_ids(file, snapshot.rows);
    RowTable::create(file, snapshot.rows.size());
    RowTable(file).write_all(snapshot.rows);
    if (keeps_rooms(snapshot.settings)) write_rooms(file, snapshot.rows, snapshot.rooms_of);
    file.close("close " + temporary.string());
    sync_file(env.system, temporary);
    rename_durably(env.system, temporary, path);
  } catch (...) {
    file.leak();
    env.system.unlink(temporary.c_str());
    throw;
  }
  return lost;
}

std::vector<std::size_t> build(const StoreEnvironment& env, const std::filesystem::path& path,
                               Snapshot& snapshot) {
  std::optional<PosixFile> old;
  if (exists(env.system, path)) old.emplace(env.system, path, O_RDONLY);
  const auto offsets = snapshot.offsets;
  FieldSource source;
  source.order = all_rows(snapshot);
  source.read = [&](std::size_t i, std::vector<std::byte>& chunk) {
    return old && read_chunk(*old, offsets[i], snapshot.rows[i], chunk);
  };
  return build(env, path, snapshot, source);
}

}  // namespace wallheat::store
