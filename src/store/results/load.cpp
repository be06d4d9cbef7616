#include "store/results/recovery.hpp"

namespace wallheat::store {
namespace {

bool has_room(const Capacities& capacities, const Row& row) {
  const auto room = capacities.find(shape_of(row));
  return room != capacities.end() && static_cast<std::uint64_t>(row.field_slot) < room->second;
}

}  // namespace

void refuse_other_versions(const std::filesystem::path& path) {
  try {
    static_cast<void>(read_identity(open_file(path, Access::read_live), path));
  } catch (const Hdf5Error&) {
    // Too damaged to say; whoever reads it will find out.
  }
}

Contents load(const std::filesystem::path& path, Access access, Addresses addresses,
              Findings& findings) {
  const auto file = open_file(path, access);
  Contents contents;
  contents.file_id = read_identity(file, path);
  contents.succeeds = read_predecessors(file);
  contents.settings = read_attributes(file, "/settings");
  contents.sessions = read_sessions(file);
  const auto capacities = FieldTables::capacities(file);
  contents.save_fields = capacities.has_value();
  contents.capacities = capacities.value_or(Capacities{});
  const RowTable table(file);
  contents.rows = table.read_all();
  contents.addresses.assign(contents.rows.size(), -1);
  const auto ids = read_ids(file, contents.rows.size());
  if (!ids) findings.sentences.emplace_back("the list of ids was damaged");

  FieldTables fields(file);
  std::vector<std::size_t> damaged;
  std::vector<std::size_t> without_field;
  for (std::size_t i = 0; i < contents.rows.size(); ++i) {
    auto& row = contents.rows[i];
    if (!is_intact(row) || row.index != i || (ids && id_of(row) != (*ids)[i])) {
      if (ids) put_text(row.id, (*ids)[i]);
      forget_row(contents, i);
      damaged.push_back(i);
    } else if (has_field(row) && !has_room(contents.capacities, row)) {
      forget_row(contents, i);
      without_field.push_back(i);
    } else if (has_field(row) && addresses == Addresses::find) {
      const auto place = fields.find(shape_of(row), row.field_slot);
      if (place && place->bytes == row.field_bytes) {
        contents.addresses[i] = place->address;
      } else {
        forget_row(contents, i);
        without_field.push_back(i);
      }
    }
  }
  findings.add_lost("row", "damaged", damaged, contents);
  findings.add_lost("row", "without the field that belongs to it", without_field, contents);
  findings.in_file = !ids || !damaged.empty() || !without_field.empty();
  return contents;
}

}  // namespace wallheat::store
