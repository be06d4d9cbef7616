#include <map>
#include <memory>
#include <optional>

#include "store/results/recovery.hpp"

namespace wallheat::store {
namespace {

bool has_room(const Capacities& capacities, const Row& row) {
  const auto room = capacities.find(shape_of(row));
  return room != capacities.end() && static_cast<std::uint64_t>(row.field_slot) < room->second;
}

/// The rows stay in the file, unless some of them cannot be used.
class Reading {
 public:
  Reading(const StoreEnvironment& env, const Handle& file, const std::filesystem::path& path,
          Offsets offsets, Snapshot& snapshot)
      : snapshot_(snapshot), offsets_(offsets), fields_(file) {
    const RowTable table(file);
    in_file_ = std::make_shared<RowsInFile>(env.system, path, table.offset(), table.count());
    snapshot.offsets.assign(table.count(), -1);
    ids_ = read_ids(file, table.count());
  }

  void read(DamageReport& damage) {
    if (!ids_) damage.sentences.emplace_back("the list of ids was damaged");
    std::map<std::size_t, Row> instead;
    in_file_->for_each_unchecked([&](std::size_t i, const Row& row) {
      if (const auto other = look_at(i, row)) instead.emplace(i, *other);
    });
    if (instead.empty() && shared_.rows().empty()) {
      snapshot_.rows = RowList(in_file_);
    } else {
      in_file_->for_each_unchecked([&](std::size_t i, const Row& row) {
        const auto other = instead.find(i);
        if (other == instead.end() && !is_intact(row))
          throw Hdf5Error("cannot trust the rows: they change while they are read");
        snapshot_.rows.push_back(other == instead.end() ? row : other->second);
      });
      for (const std::size_t i : shared_.rows()) forget_row(snapshot_, i);
    }
    if (ids_) {
      snapshot_.ids = std::move(*ids_);
    } else {
      for (const Row& row : snapshot_.rows) snapshot_.ids.push_back(text_in(row.id));
    }
    damage.in_file = !ids_ || !instead.empty() || !shared_.rows().empty();
    damage.add_lost("row", "damaged", damaged_, snapshot_);
    damage.add_lost("row", "without the field that belongs to it", without_field_, snapshot_);
    damage.add_lost("row", "of a field that is another's, too,",
                    {shared_.rows().begin(), shared_.rows().end()}, snapshot_);
  }

 private:
  /// The row to take in place of one that cannot be used.
  std::optional<Row> look_at(std::size_t i, const Row& row) {
    if (!is_intact(row) || row.index != i || (ids_ && !is_called(row, (*ids_)[i]))) {
      damaged_.push_back(i);
      return pending_row(i, ids_ ? (*ids_)[i] : text_in(row.id));
    }
    if (!has_field(row)) return std::nullopt;
    if (has_room(snapshot_.capacities, row)) {
      if (offsets_ == Offsets::leave_out) {
        shared_.look_at(i, row, -1);
        return std::nullopt;
      }
      const auto extent = fields_.find(shape_of(row), row.field_slot);
      if (extent && extent->bytes == row.field_bytes) {
        snapshot_.offsets[i] = extent->offset;
        shared_.look_at(i, row, extent->offset);
        return std::nullopt;
      }
    }
    without_field_.push_back(i);
    return pending_row(i, text_in(row.id));
  }

  Snapshot& snapshot_;
  Offsets offsets_;
  FieldTables fields_;
  std::optional<TextList> ids_;
  std::shared_ptr<const RowsInFile> in_file_;
  std::vector<std::size_t> damaged_;
  std::vector<std::size_t> without_field_;
  SharedFields shared_;
};

/// Rows without their rooms become pending.
void read_rooms(const StoreEnvironment& env, const Handle& file, const std::filesystem::path& path,
                Snapshot& snapshot, DamageReport& damage) {
  const auto rooms = find_rooms_in(env, file, path, snapshot.rows);
  snapshot.rooms_of = [rooms](std::size_t i) { return rooms->read(i); };
  std::vector<std::size_t> without_rooms;
  for (const Row& row : snapshot.rows)
    if (has_rooms(row) && rooms->count(row.index) == 0) without_rooms.push_back(row.index);
  for (const std::size_t i : without_rooms) forget_row(snapshot, i);
  damage.in_file = damage.in_file || !without_rooms.empty();
  damage.add_lost("row", "without the rooms that belong to it", without_rooms, snapshot);
}

}  // namespace

Snapshot read_snapshot(const StoreEnvironment& env, const std::filesystem::path& path,
                       Access access, Offsets offsets, DamageReport& damage) {
  const auto file = open_file(env, path, access);
  Snapshot snapshot;
  snapshot.file_id = read_identity(file, path);
  snapshot.succeeds = read_predecessors(file);
  snapshot.settings = read_attributes(file, "/settings");
  snapshot.sessions = read_sessions(file);
  const auto capacities = FieldTables::capacities(file);
  snapshot.save_fields = capacities.has_value();
  snapshot.capacities = capacities.value_or(Capacities{});
  Reading(env, file, path, offsets, snapshot).read(damage);
  if (keeps_rooms(snapshot.settings) && offsets == Offsets::find)
    read_rooms(env, file, path, snapshot, damage);
  return snapshot;
}

}  // namespace wallheat::store
