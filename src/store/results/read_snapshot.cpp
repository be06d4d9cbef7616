#include "store/results/recovery.hpp"

namespace wallheat::store {
namespace {

bool has_room(const Capacities& capacities, const Row& row) {
  const auto room = capacities.find(shape_of(row));
  return room != capacities.end() && static_cast<std::uint64_t>(row.field_slot) < room->second;
}

}  // namespace

void refuse_other_versions(const StoreEnvironment& env, const std::filesystem::path& path) {
  try {
    static_cast<void>(read_identity(open_file(env, path, Access::read_live), path));
  } catch (const Hdf5Error&) {
    // Too damaged to say; whoever reads it will find out.
  }
}

Snapshot read_snapshot(const StoreEnvironment& env, const std::filesystem::path& path,
                       Access access, Offsets offsets, DamageReport& damage) {
  const auto file = open_file(env, path, access);
  Snapshot snapshot;
  const Identity identity = read_identity(file, path, access == Access::read);
  snapshot.file_id = identity.file_id;
  snapshot.version = identity.version;
  snapshot.succeeds = read_predecessors(file);
  snapshot.settings = read_attributes(file, "/settings");
  snapshot.sessions = read_sessions(file);
  const auto capacities = FieldTables::capacities(file);
  snapshot.save_fields = capacities.has_value();
  snapshot.capacities = capacities.value_or(Capacities{});
  const RowTable table(file, snapshot.version);
  snapshot.rows = table.read_all();
  snapshot.offsets.assign(snapshot.rows.size(), -1);
  const auto ids = read_ids(file, snapshot.rows.size());
  if (!ids) damage.sentences.emplace_back("the list of ids was damaged");

  FieldTables fields(file);
  std::vector<std::size_t> damaged;
  std::vector<std::size_t> without_field;
  for (std::size_t i = 0; i < snapshot.rows.size(); ++i) {
    const Row row = snapshot.rows[i];
    if (!is_intact(row) || row.index != i || (ids && id_of(row) != (*ids)[i])) {
      snapshot.rows.set(i, pending_row(i, ids ? (*ids)[i] : id_of(row)));
      damaged.push_back(i);
    } else if (has_field(row) && !has_room(snapshot.capacities, row)) {
      forget_row(snapshot, i);
      without_field.push_back(i);
    } else if (has_field(row) && offsets == Offsets::find) {
      const auto extent = fields.find(shape_of(row), row.field_slot);
      if (extent && extent->bytes == row.field_bytes) {
        snapshot.offsets[i] = extent->offset;
      } else {
        forget_row(snapshot, i);
        without_field.push_back(i);
      }
    }
  }
  damage.add_lost("row", "damaged", damaged, snapshot);
  damage.add_lost("row", "without the field that belongs to it", without_field, snapshot);
  damage.in_file = !ids || !damaged.empty() || !without_field.empty();
  return snapshot;
}

}  // namespace wallheat::store
