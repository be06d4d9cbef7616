#include "store/recovery.hpp"

namespace wallheat::store {
namespace {

bool has_room(const Capacities& capacities, const Row& row) {
  const auto room = capacities.find(shape_of(row));
  return room != capacities.end() && static_cast<std::uint64_t>(row.field_slot) < room->second;
}

}  // namespace

std::string count_were(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? " was" : "s were");
}

bool is_another_file(const std::filesystem::path& file, FileState state,
                     const std::string& logs_file_id) {
  if (state != FileState::closed) return false;
  try {
    return read_identity(open_file(file, Access::read), file) != logs_file_id;
  } catch (const Hdf5Error&) {
    return false;
  }
}

Contents load(const std::filesystem::path& path, Access access, Addresses addresses,
              std::vector<std::string>& report) {
  const auto file = open_file(path, access);
  Contents contents;
  contents.file_id = read_identity(file, path);
  contents.settings = read_attributes(file, "/settings");
  contents.sessions = read_sessions(file);
  const auto capacities = FieldTables::capacities(file);
  contents.save_fields = capacities.has_value();
  contents.capacities = capacities.value_or(Capacities{});
  contents.rows = RowTable(file).read_all();
  contents.addresses.assign(contents.rows.size(), -1);

  FieldTables fields(file);
  std::size_t damaged = 0, without_field = 0;
  for (std::size_t i = 0; i < contents.rows.size(); ++i) {
    const auto& row = contents.rows[i];
    if (!is_intact(row) || row.index != i) {
      forget_row(contents, i);
      ++damaged;
    } else if (has_field(row) && !has_room(contents.capacities, row)) {
      forget_row(contents, i);
      ++without_field;
    } else if (has_field(row) && addresses == Addresses::find) {
      const auto place = fields.find(shape_of(row), row.field_slot);
      if (place && place->bytes == row.field_bytes) {
        contents.addresses[i] = place->address;
      } else {
        forget_row(contents, i);
        ++without_field;
      }
    }
  }
  if (damaged > 0) {
    report.push_back(count_were(damaged, "row") + " damaged; the plans are solved again");
  }
  if (without_field > 0) {
    report.push_back(count_were(without_field, "row") +
                     " without the field that belongs to it; the plans are solved again");
  }
  return contents;
}

}  // namespace wallheat::store
