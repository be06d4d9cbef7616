#include "simulation/store/world.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "store/field_codec.hpp"
#include "store/row.hpp"
#include "wallheat/error.hpp"

namespace wallheat::simulation {
namespace {

constexpr const char* campaign_setting = "campaign";  // tells two campaigns apart

std::size_t number_of(std::string_view id) {
  return static_cast<std::size_t>(std::stoul(std::string(id.substr(id.find(' ') + 1))));
}

bool is_failure(std::string_view id, Version version) {
  return version.number == 0 && number_of(id) % 5 == 4;
}

/// Nothing if no version of the plan is like this.
std::optional<Version> version_of(const PlanResult& found, const StorePlan& plan,
                                  std::size_t index) {
  if (found.status == PlanStatus::pending) return Version{};
  for (const bool restamped : {false, true}) {
    const Version version{found.attempts - 1, restamped};
    auto x = store::to_row(found);
    auto y = store::to_row(make_result(plan, index, version));
    x.session = y.session = 0;
    x.index = y.index = 0;
    if (std::memcmp(&x, &y, sizeof x) == 0) return version;
  }
  return std::nullopt;
}

std::string describe(Version version) {
  if (version.is_pending()) return "pending";
  return "version " + std::to_string(version.number) + (version.restamped ? " restamped" : "");
}

std::size_t place_of(const World& world, const std::string& id) {
  const auto& ids = world.plan.ids;
  return static_cast<std::size_t>(
      std::distance(ids.begin(), std::find(ids.begin(), ids.end(), id)));
}

void check_field(const World& world, const ResultReader& reader, const PlanResult& row) {
  std::optional<Grid<double>> field;
  try {
    field = reader.field(row.index);
  } catch (const RunError& error) {
    throw Violation("an acknowledged field is lost", error.what());
  }
  const auto version = *world.versions.at(row.id).begin();
  if (!world.plan.save_fields || version.is_pending() || is_failure(row.id, version)) {
    if (field) throw Violation("a field that was never written", row.id);
    return;
  }
  const auto shape = world.plan.shapes[place_of(world, row.id)];
  if (!field || *field != make_field(number_of(row.id), shape, version.number))
    throw Violation("an acknowledged field is lost", "the field of " + row.id + " differs");
}

/// From one to some more than fit into a page.
std::vector<RoomResult> make_rooms(std::size_t number) {
  std::vector<RoomResult> rooms(1 + number * number);
  Random random(number);
  for (RoomResult& room : rooms) {
    room.room = static_cast<std::uint32_t>(&room - rooms.data() + 1);
    room.cells = static_cast<std::uint32_t>(1 + random.below(100));
    room.mean_temp = static_cast<double>(number);
  }
  return rooms;
}

void check_rooms(const World& world, const ResultReader& reader, const PlanResult& row) {
  std::vector<RoomResult> rooms;
  try {
    rooms = reader.rooms(row.index);
  } catch (const RunError& error) {
    throw Violation("acknowledged rooms are lost", error.what());
  }
  const auto version = *world.versions.at(row.id).begin();
  const bool has_some = world.plan.settings.contains("rooms_door") && !version.is_pending() &&
                        !is_failure(row.id, version);
  const auto expected = has_some ? make_rooms(number_of(row.id)) : std::vector<RoomResult>();
  for (RoomResult& room : rooms) room.plan = room.room_crc32 = 0;
  if (rooms != expected) throw Violation("acknowledged rooms are lost", row.id);
}

void check_session(const Attributes& session) {
  static const std::map<std::string, std::set<std::string>> known{
      {"command", {"create", "resume", "again"}},
      {"part", {"0", "1"}},
      {"finished", {"yes"}},
      {"merged_from", {"part0.h5", "part1.h5"}},
      {"merged_parts", {"2"}}};
  for (const auto& [name, value] : session) {
    const auto values = known.find(name);
    if (values == known.end() || !values->second.contains(value))
      throw Violation("a session that was never written", name + ": " + value);
  }
}

}  // namespace

StorePlan make_plan(const std::string& campaign, std::size_t count, std::size_t shapes,
                    bool rooms) {
  // Less than a sector, more than one page, and several pages.
  constexpr std::array sizes{GridShape{6, 7}, GridShape{20, 40}, GridShape{40, 40}};
  StorePlan plan;
  plan.settings = {{campaign_setting, campaign}, {"solver", "jacobi"}};
  if (rooms) plan.settings["rooms_door"] = "auto";
  plan.save_fields = shapes > 0;
  for (std::size_t i = 0; i < count; ++i) {
    plan.ids.push_back("plan " + std::to_string(i));
    if (plan.save_fields) plan.shapes.push_back(sizes[i % std::min(shapes, sizes.size())]);
  }
  return plan;
}

Grid<double> make_field(std::size_t number, GridShape shape, int version) {
  Grid<double> field(shape.rows, shape.cols);
  Random random(mixed(number, static_cast<std::uint64_t>(version)));
  for (auto& cell : field.cells) cell = 15 + static_cast<double>(random.below(1U << 30)) * 1e-9;
  return field;
}

/// Where a field is to replace one, it has the same size, compressed.
PlanResult make_result(const StorePlan& plan, std::size_t index, Version version) {
  const auto number = number_of(plan.ids[index]);
  const bool failed = is_failure(plan.ids[index], version);
  PlanResult result;
  result.index = static_cast<std::uint32_t>(index);
  result.id = plan.ids[index];
  result.status = failed ? PlanStatus::failed : PlanStatus::converged;
  result.statistics = {17.5 + static_cast<double>(number), 2.5, std::nan(""), 0.1 * version.number};
  result.iterations = static_cast<std::int64_t>(1000 + number);
  result.rows = 4;
  result.cols = 5;
  result.attempts = version.number + 1;
  result.failures = failed ? 1 : 0;
  result.host = "node" + std::to_string(number);
  result.input_hash = 0xfeedfacecafebeefULL + number;
  result.input_stamp = version.restamped ? 7 : 6;
  if (failed) result.error = "it was meant to fail";
  if (!failed && plan.settings.contains("rooms_door")) {
    result.rooms = make_rooms(number);
    for (const RoomResult& room : result.rooms) result.interior_cells += room.cells;
  }
  if (!plan.save_fields) return result;
  const auto shape = plan.shapes[index];
  result.rows = static_cast<std::uint32_t>(shape.rows);
  result.cols = static_cast<std::uint32_t>(shape.cols);
  if (!failed) result.field = compress_field(make_field(number, shape, version.number));
  return result;
}

World new_world(const StorePlan& plan) {
  World world;
  world.plan = plan;
  for (const auto id : plan.ids) world.versions[std::string(id)] = {Version{}};
  return world;
}

World matching(const Worlds& worlds, const Attributes& settings,
               const std::vector<PlanResult>& rows, const std::string& who) {
  Violation misfit("a file of another campaign", who + " finds settings of none");
  for (const auto& world : worlds) {
    if (world.missing || settings != world.plan.settings) continue;
    World found = world;
    for (auto& [id, versions] : found.versions) versions = {Version{}};
    bool fits = true;
    for (const auto& row : rows) {
      const auto place = place_of(world, row.id);
      const auto version =
          place == world.plan.ids.size() ? std::nullopt : version_of(row, world.plan, place);
      if (version) {
        found.versions[row.id] = {*version};
        continue;
      }
      misfit = {"a row that was never written", who + " finds it for the plan \"" + row.id + "\""};
      fits = false;
      break;
    }
    for (const auto& [id, versions] : world.versions) {
      const auto version = *found.versions[id].begin();
      if (!fits || versions.contains(version)) continue;
      fits = false;
      misfit = {version.is_pending() ? "an acknowledged row is lost"
                                     : "a row is not the one that was acknowledged",
                who + " finds " + id + " " + describe(version) + ", it should be " +
                    describe(*versions.rbegin())};
    }
    if (fits) return found;
  }
  throw misfit;
}

void check_contents(const World& world, const ResultReader& reader, const std::string& who) {
  for (const auto& row : reader.rows()) {
    check_field(world, reader, row);
    check_rooms(world, reader, row);
  }
  const auto& sessions = reader.sessions();
  for (const auto& session : sessions) check_session(session);
  const auto ended = static_cast<std::size_t>(
      std::count_if(sessions.begin(), sessions.end(),
                    [](const Attributes& session) { return session.contains("finished"); }));
  if (sessions.size() < world.sessions || ended < world.ended)
    throw Violation("a session is lost", who + " finds " + std::to_string(sessions.size()) +
                                             " of " + std::to_string(world.sessions) +
                                             ", ends of " + std::to_string(ended) + " of " +
                                             std::to_string(world.ended));
}

const Worlds& Life::after(std::size_t events) const {
  const Worlds* last = &history_.front().second;
  for (const auto& [begin, worlds] : history_) {
    if (begin <= events) last = &worlds;
  }
  return *last;
}

}  // namespace wallheat::simulation
