#include "store/results/field_places.hpp"

#include <algorithm>

#include "store/results/hdf5_file.hpp"
#include "store/results/opening.hpp"
#include "store/results/result_path.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

using namespace store;

std::vector<FieldPlace> field_places(const std::filesystem::path& file) {
  const auto path = result_path(file);
  const auto view = open_for_reading({}, path, Offsets::leave_out);
  if (!view.closed_well) {
    throw RunError(path.string() +
                   " is being written, or its run was killed: other programs read its fields only "
                   "when the run has ended, or after 'wallheat repair'");
  }
  std::vector<FieldPlace> places;
  for (const Row& row : view.snapshot.rows) {
    if (!has_field(row)) continue;
    const GridShape shape = shape_of(row);
    const auto slot = static_cast<std::uint64_t>(row.field_slot);
    const auto entry = slot % FieldTables::slots_per_dataset;
    places.push_back({row.index, std::string(text_in(row.id)), shape,
                      FieldTables::dataset_of(shape, slot), entry,
                      std::min(FieldTables::slots_per_dataset,
                               view.snapshot.capacities.at(shape) - (slot - entry))});
  }
  return places;
}

}  // namespace wallheat
