#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <iterator>
#include <map>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/result_file.hpp"
#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "plans/plan_source.hpp"
#include "report/field_picture.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

enum class Show { start, mask, source, field, rooms, difference };

/// A result file whose fields are drawn. Fields that it does not contain are solved again, if plans
/// are given.
class Fields {
 public:
  Fields(std::string file, SharedPlanSource plans, std::size_t min_cells)
      : file_(std::move(file)),
        reader_(open_result_file(file_)),
        plans_(std::move(plans)),
        min_cells_(min_cells) {
    reader_.for_each_row([&](const PlanResult& row) { indices_.emplace(row.id, indices_.size()); });
    if (const auto wall = reader_.settings().find("wall"); wall != reader_.settings().end())
      walls_ = parse_wall_overrides(wall->second).value_or(WallOverrides());
  }

  [[nodiscard]] const ResultReader& reader() const { return reader_; }

  [[nodiscard]] PlanResult row(const std::string& id) const { return reader_.row(index_of(id)); }

  /// A plan as it was solved, and a mask of the cells of its building.
  struct SolvedPlan {
    FloorPlan plan;
    Grid<std::uint8_t> building;
  };
  /// Returns a plan; nullopt if no plan source is given. Throws RunError if the plan cannot be
  /// loaded.
  [[nodiscard]] std::optional<SolvedPlan> plan(const std::string& id) const {
    if (!plans_) return std::nullopt;
    FloorPlan plan = plans_->load(id);
    Grid<std::uint8_t> building = building_cells(plan);
    apply_wall_overrides(plan, walls_);
    return SolvedPlan{std::move(plan), std::move(building)};
  }

  /// Returns the field in °C. Throws RunError if it is not stored and cannot be solved.
  [[nodiscard]] Grid<double> field(const std::string& id) {
    const std::size_t index = index_of(id);
    if (auto stored = reader_.field(index)) return *std::move(stored);
    if (!plans_)
      throw RunError(
          fmt::format("{} contains no field of plan \"{}\"; specify the floor plans with --data to "
                      "solve it again, or run with --save-fields",
                      file_, escape_control_chars(id)));
    if (!solver_) {
      solve_with_ =
          recorded_solver_options(file_, reader_, "its plans cannot be solved again here");
      solver_ = solve_with_.make();
    }
    print_error("wallheat: the field of plan \"{}\" is not stored; solving the plan again",
                escape_control_chars(id));
    return solver_->solve(plan(id)->plan, solve_with_.limits, {})->field;
  }

  /// Returns the rooms of a plan: those in the file; if it has none, the rooms for
  /// default_door_cells().
  [[nodiscard]] FieldPanel rooms(const std::string& id, const FloorPlan& plan,
                                 const std::string& of_plan) {
    const GridShape shape{plan.interior.rows, plan.interior.cols};
    std::vector<RoomResult> rooms = reader_.rooms(index_of(id));
    const Door door = rooms.empty() ? Door() : *recorded_solver(file_, reader_.settings()).door;
    const std::uint32_t door_cells = door.of(shape);
    const RoomMap map = map_rooms(plan.interior, door_cells);
    if (rooms.empty()) rooms = room_results(map, field(id));
    if (rooms.size() != map.room_count)
      throw RunError(fmt::format(
          "plan \"{}\" has {} in {}, but {} in --data: it is a different plan",
          escape_control_chars(id), count_text(rooms.size(), "room"), file_, map.room_count));
    std::vector<RoomResult> counted = rooms;
    std::erase_if(counted, [&](const RoomResult& room) { return room.cells < min_cells_; });
    std::string caption =
        fmt::format("{}{}, door width {}", of_plan, count_text(counted.size(), "room"),
                    count_text(door_cells, "cell"));
    if (!counted.empty() && of_plan.empty()) {
      const auto coldest = std::ranges::min_element(counted, {}, &RoomResult::mean_temp);
      caption += fmt::format(", the coldest {}: {:#.4g} °C", coldest->room, coldest->mean_temp);
    }
    return rooms_panel(caption, map, rooms, min_cells_);
  }

 private:
  [[nodiscard]] std::size_t index_of(const std::string& id) const {
    const auto found = indices_.find(id);
    if (found == indices_.end()) throw_unknown_plan(file_, reader_, id);
    return found->second;
  }

  std::string file_;
  ResultReader reader_;
  SharedPlanSource plans_;
  std::size_t min_cells_;  // smaller rooms are not counted
  std::map<std::string, std::size_t> indices_;
  WallOverrides walls_;
  SolverOptions solve_with_;
  std::unique_ptr<Solver> solver_;  // for fields that are not stored
};

/// Returns the panel for the difference of two fields of a plan. `building` is null if the plan is
/// not available.
FieldPanel difference_panel(const std::string& id, const std::string& of_plan, Fields& fields,
                            Fields& minus, const Grid<std::uint8_t>* building) {
  const Grid<double> a = fields.field(id);
  const Grid<double> b = minus.field(id);
  if (a.rows != b.rows || a.cols != b.cols)
    throw RunError(
        fmt::format("plan \"{}\" has a different shape in --minus", escape_control_chars(id)));
  const bool hides_ground = building == nullptr && !has_walls_at_zero(fields.reader()) &&
                            !has_walls_at_zero(minus.reader());
  Grid<double> difference = a;
  double largest = 0;
  for (std::size_t cell = 0; cell < a.cells.size(); ++cell) {
    const bool is_ground = hides_ground && a.cells[cell] == 0 && b.cells[cell] == 0;
    difference.cells[cell] = is_ground ? nan_value : a.cells[cell] - b.cells[cell];
    largest = std::fmax(largest, std::abs(difference.cells[cell]));
  }
  if (building != nullptr) difference = mask_outside(*building, std::move(difference));
  const std::string caption =
      a.cells == b.cells ? "no difference" : fmt::format("difference, at most {:.3g} °C", largest);
  return {of_plan + caption, std::move(difference), PanelScale::difference};
}

/// Returns the panels of one plan. With several plans, each caption contains the ID of its plan;
/// with many plans there is no space for the number of iterations.
std::vector<FieldPanel> panels_of(const std::string& id, const std::vector<Show>& shows,
                                  std::size_t plans, Fields& fields, Fields* minus) {
  const auto plan = fields.plan(id);
  const PlanResult row = fields.row(id);
  const double mean = row.statistics.mean_temp;
  constexpr std::size_t few = 9;
  const std::string of_plan = plans > 1 ? escape_control_chars(id) + ", " : "";
  std::vector<FieldPanel> panels;
  for (const Show show : shows) {
    switch (show) {
      case Show::start:
        panels.push_back({of_plan + "start", mask_outside(plan->building, plan->plan.domain)});
        break;
      case Show::mask:
        panels.push_back({of_plan + "interior cells", interior_cells(plan->plan, plan->building),
                          PanelScale::mask});
        break;
      case Show::source:
        if (!plan->plan.has_heat_source())
          throw RunError(
              fmt::format("plan \"{}\" has no heat source to draw", escape_control_chars(id)));
        panels.push_back(
            {of_plan + "heat source", heat_source_grid(plan->plan), PanelScale::source});
        break;
      case Show::field: {
        Grid<double> field = fields.field(id);
        std::string caption = of_plan;
        if (!std::isnan(mean)) caption += fmt::format("mean {:#.4g} °C, ", mean);
        if (plans <= few) caption += solution_caption(row);
        if (caption.ends_with(", ")) caption.resize(caption.size() - 2);
        panels.push_back(
            {caption, plan ? mask_outside(plan->building, std::move(field))
                           : mask_ground(std::move(field), has_walls_at_zero(fields.reader()))});
        break;
      }
      case Show::rooms:
        panels.push_back(fields.rooms(id, plan->plan, of_plan));
        break;
      case Show::difference:
        panels.push_back(
            difference_panel(id, of_plan, fields, *minus, plan ? &plan->building : nullptr));
        break;
    }
  }
  return panels;
}

struct PlotOptions {
  std::string file;
  std::vector<std::string> ids;  ///< of the plans on the command line
  std::filesystem::path data;
  std::string minus;
  std::vector<Show> shows;
  std::size_t min_cells = 1;
  FieldPicture picture;
  RowSelection choice;

  [[nodiscard]] bool shows_any(std::initializer_list<Show> wanted) const {
    return std::find_first_of(shows.begin(), shows.end(), wanted.begin(), wanted.end()) !=
           shows.end();
  }
};

/// Chooses the panels of each plan, and checks that the required inputs are given. Throws
/// UsageError.
void choose_panels(PlotOptions& plot) {
  if (plot.shows.empty()) {
    const bool has_start = plot.ids.size() == 1 && !plot.data.empty();
    plot.shows = !plot.minus.empty() ? std::vector{Show::difference}
                 : has_start         ? std::vector{Show::start, Show::field}
                                     : std::vector{Show::field};
  }
  if (plot.min_cells > 1 && !plot.shows_any({Show::rooms}))
    throw UsageError("--min-cells requires --show rooms");
  if (plot.shows_any({Show::start, Show::mask, Show::source, Show::rooms}) && plot.data.empty())
    throw UsageError("--show start, mask, source and rooms require --data");
  const bool differs = plot.shows_any({Show::difference});
  if (differs && plot.minus.empty()) throw UsageError("--show difference requires --minus");
  if (!differs && !plot.minus.empty()) throw UsageError("--minus requires --show difference");
}

/// Declares and parses the options. Throws UsageError.
void parse_plot_options(Options& options, PlotOptions& plot) {
  options.describe(
      "FILE [ID ...] --out PICTURE [options]",
      "Draws stored temperature fields: one plan, several, or a sheet of many. A field that is not "
      "stored is solved again if --data is given.",
      {"wallheat plot results.h5 --out sheet.png",
       "wallheat plot results.h5 00001 --data plans --out plan.svg"});
  declare_result_file(options, plot.file);
  options.add("id", value(plot.ids, "ID").positional(),
              "ID of a plan to draw (also as an argument); repeat for more");
  options.add("data,d", file(plot.data, FileRole::plans, "PLANS"),
              "floor plans, required for initial fields, masks, and fields that are not stored, "
              "and to distinguish walls at 0 °C from the ground outside");
  options.add("show",
              choices(plot.shows, "NAMES", "",
                      {{"start", Show::start},
                       {"mask", Show::mask},
                       {"source", Show::source},
                       {"field", Show::field},
                       {"rooms", Show::rooms},
                       {"difference", Show::difference}}),
              "panels of each plan: start (initial field), mask, source, field, rooms (with "
              "numbers and means) or difference, separated by commas (default: field; for one plan "
              "with --data: start and field; with --minus: difference)");
  declare_min_cells(options, plot.min_cells);
  options.add("minus", file(plot.minus, FileRole::results_in_use),
              "another result file of the same plans, whose fields are subtracted");
  declare_rows(options, plot.choice);
  options.add("first,n", value(plot.choice.first, "N", 25).at_least(1),
              "draw at most N plans if no ID is given");
  std::vector<std::pair<std::string, std::string>> colours;
  for (const std::string& name : colour_maps()) colours.emplace_back(name, name);
  options.add("cmap", choice(plot.picture.colours, "NAME", "", colours),
              "colour map: heat (default), viridis, magma, inferno, cividis, grey or coolwarm "
              "(default for differences)");
  const auto set_range = [&](const std::string& text) {
    const auto range = parse_pair<double>(':', text);
    if (range) plot.picture.range = {range->first, range->second};
    return range && range->first < range->second && std::isfinite(range->second - range->first);
  };
  options.add("range", custom_value("LOW:HIGH", "LOW:HIGH, such as 0:25", set_range),
              "temperature range of the colours, in °C (default: 0:25 if walls are at 5 or 25 °C, "
              "otherwise from the minimum to the maximum)");
  options.add_conflict("id", {"where", "sort"});
  options.check([&] { choose_panels(plot); });
  options.parse();
}

/// Sets the plans to draw: those on the command line, otherwise the first of the selected plans.
/// Returns the number of selected plans.
std::size_t choose_plans(PlotOptions& plot, const ResultReader& reader) {
  if (!plot.ids.empty()) return plot.ids.size();
  constexpr const char* solved = "status not in ('pending', 'failed')";
  RowSelection choice = plot.choice;
  const std::size_t first = std::exchange(choice.first, SIZE_MAX);
  choice.where = choice.where.empty() ? solved : fmt::format("({}) and {}", choice.where, solved);
  const std::vector<std::size_t> rows = selected_rows(plot.file, reader, choice);
  for (const std::size_t row : std::span(rows).first(std::min(rows.size(), first)))
    plot.ids.push_back(reader.row(row).id);
  return rows.size();
}

/// Returns a title such as "plan 00003: minus other.h5" or "results.h5, 25 of 4571 plans, jacobi".
std::string title_of(const PlotOptions& plot, bool is_one, std::size_t all,
                     const ResultReader& reader) {
  const std::size_t drawn = plot.ids.size();
  const auto name = [](const std::string& file) {
    return std::filesystem::path(file).filename().string();
  };
  const std::string solver = recorded_solver_text(reader);
  std::string title =
      is_one ? "plan " + escape_control_chars(plot.ids.front())
             : fmt::format("{}, {}{}, {}", name(plot.file),
                           drawn < all ? fmt::format("{} of ", drawn) : "", count_text(all, "plan"),
                           solver.substr(0, solver.find(' ')));
  if (!plot.minus.empty()) title += fmt::format(": {} minus {}", name(plot.file), name(plot.minus));
  return title;
}

}  // namespace

Report plot_command(Options& options) {
  PlotOptions plot;
  parse_plot_options(options, plot);
  const bool is_one = plot.ids.size() == 1;
  const SharedPlanSource plans = plot.data.empty() ? nullptr : open_plan_source(plot.data);
  Fields fields(plot.file, plans, plot.min_cells);
  std::optional<Fields> minus;
  if (!plot.minus.empty()) minus.emplace(plot.minus, plans, plot.min_cells);
  for (const std::string& id : plot.ids) {
    (void)fields.row(id);  // fails before any field is solved again
    if (minus) (void)minus->row(id);
  }
  const std::size_t all = choose_plans(plot, fields.reader());
  FieldPicture& drawn = plot.picture;
  drawn.title = title_of(plot, is_one, all, fields.reader());
  for (const std::string& id : plot.ids) {
    auto panels = panels_of(id, plot.shows, plot.ids.size(), fields, minus ? &*minus : nullptr);
    std::move(panels.begin(), panels.end(), std::back_inserter(drawn.panels));
  }
  constexpr std::size_t few = 3;
  const std::size_t count = drawn.panels.size();
  if (is_one) {
    drawn.columns = count;
  } else {
    const auto across = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    // All panels of a plan are in one row.
    const std::size_t of_plan = plot.shows.size();
    drawn.columns = (across + of_plan - 1) / of_plan * of_plan;
    drawn.side = count <= few ? 500 : std::max<std::size_t>(1800 / drawn.columns, 60);
  }
  Report report{drawn.title};
  report.add(
      Note{fmt::format("{}, {}", count_text(plot.ids.size(), "plan"), count_text(count, "panel"))});
  if (!plans &&
      (has_walls_at_zero(fields.reader()) || (minus && has_walls_at_zero(minus->reader()))))
    report.add_note(
        "walls at 0 °C cannot be distinguished from the ground outside, so both are drawn; specify "
        "the floor plans with --data to hide the ground");
  report.add_json_fact("plans", plot.ids.size());
  report.add_json_fact("panels", count);
  report.add(Figure{.key = "fields",
                    .name = drawn.title,
                    .fields = std::make_shared<const FieldPicture>(std::move(drawn))});
  return report;
}

}  // namespace wallheat
