#include "run/disk_need.hpp"

#include <fmt/format.h>

#include "store/result_path.hpp"
#include "store/row.hpp"
#include "view/bytes_text.hpp"

namespace wallheat {

DiskNeed disk_need(const JobSettings& job, double plans, double cells) {
  constexpr double usual_rooms = 40;  // of a real floor plan
  const double rooms = job.solver.door ? 2 * usual_rooms * sizeof(RoomResult) : 0;
  return {plans * (3 * sizeof(store::Row) + rooms),
          job.save_fields ? 2 * cells * sizeof(double) : 0};
}

std::optional<FreeDisk> free_disk(const std::filesystem::path& results) {
  const auto folder = result_path(results).parent_path();
  std::error_code unknown;
  const auto space = std::filesystem::space(folder, unknown);
  if (unknown) return std::nullopt;
  return FreeDisk{folder, static_cast<double>(space.available)};
}

std::string lack_of_disk(const DiskNeed& need, const FreeDisk& free) {
  if (need.usual() <= free.bytes) return {};
  return fmt::format(
      "{} has room for {} only, and the results need about {}: make room, or name a --out "
      "elsewhere",
      free.folder.string(), bytes_text(free.bytes), bytes_text(need.usual()));
}

}  // namespace wallheat
