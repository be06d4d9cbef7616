#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "store/results/recovery.hpp"
#include "store/results/row_source.hpp"

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

namespace {

/// The rows stay in the file, but for those that this process is about to change.
class Reading {
 public:
  Reading(const StoreEnvironment& env, const Handle& file, const std::filesystem::path& path,
          Access access, Offsets offsets, Snapshot& snapshot)
      : snapshot_(snapshot), offsets_(offsets), fields_(file), table_(file) {
    if ((access == Access::read || access == Access::read_live) && table_.count() > 0)
      in_file_ = std::make_shared<RowsInFile>(env.system, path, table_.offset(), table_.count());
    snapshot.offsets.assign(table_.count(), -1);
    ids_ = read_ids(file, table_.count());
  }

  void read(DamageReport& damage) {
    if (!ids_) damage.sentences.emplace_back("the list of ids was damaged");
    RowList in_memory;
    for_each([&](std::size_t i, const Row& row) {
      const std::optional<Row> instead = look_at(i, row);
      if (!in_file_) in_memory.push_back(instead.value_or(row));
    });
    if (in_file_ && damaged_.empty() && without_field_.empty() && shared_.rows().empty()) {
      snapshot_.rows = RowList(in_file_);
    } else {
      if (in_file_) {
        damaged_.clear();
        without_field_.clear();
        for_each([&](std::size_t i, const Row& row) {
          in_memory.push_back(look_at(i, row).value_or(row));
        });
      }
      snapshot_.rows = std::move(in_memory);
      for (const std::size_t i : shared_.rows()) forget_row(snapshot_, i);
    }
    damage.add_lost("row", "damaged", damaged_, snapshot_);
    damage.add_lost("row", "without the field that belongs to it", without_field_, snapshot_);
    damage.add_lost("row", "of a field that is another's, too,",
                    {shared_.rows().begin(), shared_.rows().end()}, snapshot_);
    damage.in_file =
        !ids_ || !damaged_.empty() || !without_field_.empty() || !shared_.rows().empty();
  }

 private:
  void for_each(const std::function<void(std::size_t i, const Row& row)>& take) const {
    if (!in_file_) return table_.for_each(take);
    constexpr std::size_t rows_at_once = 256;
    std::vector<Row> part;
    for (std::size_t first = 0; first < in_file_->count(); first += part.size()) {
      part.resize(std::min(rows_at_once, in_file_->count() - first));
      in_file_->read_unchecked(first, part);
      for (std::size_t k = 0; k < part.size(); ++k) take(first + k, part[k]);
    }
  }

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
  RowTable table_;
  std::optional<TextList> ids_;
  std::shared_ptr<const RowsInFile> in_file_;  ///< none: of a file that is open
  std::vector<std::size_t> damaged_;
  std::vector<std::size_t> without_field_;
  SharedFields shared_;
};

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
  Reading(env, file, path, access, offsets, snapshot).read(damage);
  return snapshot;
}

}  // namespace wallheat::store
