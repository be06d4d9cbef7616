#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "cli/commands.hpp"
#include "cli/drawing_record.hpp"
#include "core/generator.hpp"
#include "core/plan_files.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "io/files.hpp"
#include "node/placement.hpp"
#include "plans/drawing.hpp"
#include "plans/plan_source.hpp"
#include "plans/zip_writer.hpp"
#include "report/room_text.hpp"
#include "run/stop_signals.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {
namespace {

/// Throws RunError if a file exists that would be written. Plan files without a list may belong to
/// the user, too.
void require_none_of(const std::filesystem::path& directory, const std::filesystem::path& ids_file,
                     const std::vector<std::string>& ids) {
  const auto require_none = [](const std::filesystem::path& file) {
    if (std::filesystem::exists(file))
      throw RunError(file.string() + " already exists; choose another --out, or use --overwrite");
  };
  require_none(ids_file);
  for (const std::string& id : ids) {
    for (const PlanFile file : all_plan_files) require_none(directory / plan_file_name(id, file));
    require_none(directory / drawing_record_name(id));
  }
}

using Generate = FloorPlan (*)(std::uint64_t seed, std::uint64_t index, std::size_t size);

/// The plans that the command writes.
struct Plans {
  std::vector<std::string> ids;
  std::function<FloorPlan(std::size_t index)> plan;
  std::optional<double> spacing;
  /// Contents of the files that describe how the plans were made from pictures; empty if they were
  /// not.
  std::vector<std::string> drawing_records = {};

  /// Returns the content of building_ids.txt.
  [[nodiscard]] std::string ids_text() const { return fmt::format("{}\n", fmt::join(ids, "\n")); }
  [[nodiscard]] std::string spacing_text() const { return format_repr(*spacing) + "\n"; }
};

/// Replaces each file of a plan atomically: a run that reads the plan meanwhile, and other hard
/// links of the old file, keep the old content. Does not sync, because there may be many plans.
void write_plan(const std::filesystem::path& out, const Plans& plans, std::size_t index) {
  const std::string& id = plans.ids[index];
  const FloorPlan plan = plans.plan(index);
  const std::filesystem::path record = out / drawing_record_name(id);
  // The record is removed first and written last, so that it never describes another plan.
  (void)remove_file(record);
  for (const auto& [file, bytes] : encode_plan_files(plan))
    replace_file_atomically(plan_file(out, id, file), bytes);
  if (!plan.has_heat_source()) (void)remove_file(plan_file(out, id, PlanFile::source));
  if (!plans.drawing_records.empty()) replace_file_atomically(record, plans.drawing_records[index]);
}

/// Returns the lines of building_ids.txt for plans that are not replaced and have files.
std::string other_ids_text(const Plans& plans, const std::filesystem::path& out) {
  std::string text;
  if (!std::filesystem::exists(out / ids_file_name)) return text;
  for (const std::string_view listed : read_ids(out / ids_file_name).ids) {
    const std::string id(listed);
    if (std::ranges::count(plans.ids, id) == 0 &&
        std::filesystem::exists(out / plan_file_name(id, PlanFile::domain)))
      text += id + "\n";
  }
  return text;
}

/// Keeps the other plans that a directory lists if the plans are from pictures, which are often
/// added one after the other.
void write_directory(const Plans& plans, const std::filesystem::path& out, bool overwrite) {
  const auto ids_file = out / ids_file_name;
  if (!overwrite) require_none_of(out, ids_file, plans.ids);
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error)
    throw RunError(fmt::format("failed to create directory {}: {}", out.string(), error.message()));
  const std::string others = plans.drawing_records.empty() ? "" : other_ids_text(plans, out);
  (void)remove_file(ids_file);
  if (plans.spacing) {
    write_output(out / spacing_name, plans.spacing_text());
  } else if (others.empty()) {
    (void)remove_file(out / spacing_name);
  }
  for (std::size_t index = 0; index < plans.ids.size(); ++index) write_plan(out, plans, index);
  // The list is written last, so that a directory that contains it is complete.
  write_output(ids_file, others + plans.ids_text());
}

/// Returns the files of a plan.
std::vector<ZipMember> members_of(const Plans& plans, std::size_t index) {
  const std::string& id = plans.ids[index];
  std::vector<ZipMember> members;
  for (const auto& [file, bytes] : encode_plan_files(plans.plan(index)))
    members.push_back(compress_member(plan_file_name(id, file), bytes));
  if (!plans.drawing_records.empty())
    members.push_back(compress_member(drawing_record_name(id), plans.drawing_records[index]));
  return members;
}

void write_zip(const Plans& plans, const std::filesystem::path& out, bool overwrite) {
  require_replaceable(out, overwrite, zip_magic);
  install_stop_signal_handlers();
  const std::size_t threads = default_thread_count();
  const std::size_t batch = 64 * threads;
  write_output(out, [&](std::ostream& stream) {
    ZipWriter zip(stream);
    zip.add(compress_member(ids_file_name, plans.ids_text()));
    if (plans.spacing) zip.add(compress_member(spacing_name, plans.spacing_text()));
    for (std::size_t first = 0; first < plans.ids.size(); first += batch) {
      if (stop_requested()) throw RunError("stopped; nothing was written");
      std::vector<std::vector<ZipMember>> made(std::min(batch, plans.ids.size() - first));
      parallel_for(threads, made.size(),
                   [&] { return [&](std::size_t i) { made[i] = members_of(plans, first + i); }; });
      for (const auto& members : made)
        for (const ZipMember& member : members) zip.add(member);
    }
    zip.finish();
  });
}

/// Pictures from which plans are made, and how they are interpreted.
struct Drawings {
  std::vector<std::string> pictures;
  Legend legend;
  double cell_metres = 0;  ///< width of a cell; 0: unknown
};

std::string id_of(const std::string& picture) {
  return std::filesystem::path(picture).stem().string();
}

/// Parses "#ff0000=25". Returns nullopt if the text has another form.
std::optional<WallColour> paint_in(const std::string& text) {
  constexpr std::size_t digits = 6;
  if (!text.starts_with('#') || text.find('=') != digits + 1) return std::nullopt;
  std::uint32_t rgb = 0;
  const char* const first = text.data() + 1;
  const auto degrees = parse_number<double>(std::string_view(text).substr(digits + 2));
  if (std::from_chars(first, first + digits, rgb, 16).ptr != first + digits || !degrees ||
      !(std::abs(*degrees) <= max_magnitude))
    return std::nullopt;
  const auto byte_at = [&](int shift) { return static_cast<std::uint8_t>(rgb >> shift); };
  return WallColour{{byte_at(16), byte_at(8), byte_at(0)}, *degrees};
}

/// Parses a wall colour and adds it. Returns false if the word is not a wall colour. Throws
/// UsageError if the colour is white or is given twice.
bool take_wall(const std::string& word, std::vector<WallColour>& walls) {
  const auto paint = paint_in(word);
  if (!paint) return false;
  if (paint->colour == white) throw UsageError("--wall: #ffffff is white, which denotes rooms");
  if (std::ranges::count(walls, paint->colour, &WallColour::colour) > 0)
    throw UsageError(fmt::format("--wall: {} was given more than once", to_text(paint->colour)));
  walls.push_back(*paint);
  return true;
}

/// Parses "4" or "1/4". Returns false if the word is invalid.
bool take_scale(const std::string& word, Legend& legend) {
  const bool is_fraction = word.starts_with("1/");
  const int factor =
      parse_number<int>(std::string_view(word).substr(is_fraction ? 2 : 0)).value_or(0);
  legend.cells_per_pixel = legend.pixels_per_cell = 1;
  (is_fraction ? legend.pixels_per_cell : legend.cells_per_pixel) =
      static_cast<std::size_t>(factor);
  return factor >= 1 && factor <= 1000;
}

/// Declares the options for plans from pictures. `drawings` must live as long as the options.
void declare_drawings(Options& options, Drawings& drawings) {
  options.heading("Plans from pictures");
  options.add("from", file(drawings.pictures, FileRole::input),
              "PNG picture NAME.png, from which the plan NAME is created, with one cell per pixel: "
              "white is room; the most frequent other colour along the edge is outside, at 0 °C. A "
              "pixel that is less than half opaque is also outside, whatever its colour; other "
              "pixels count as opaque. Draw without anti-aliasing. Repeat for more plans");
  const auto add_wall = [&drawings](const std::string& text) {
    return take_wall(text, drawings.legend.walls);
  };
  options.add(
      "wall,w",
      custom_value("COLOUR=DEGREES", "COLOUR=DEGREES, such as '#ff0000=25'", add_wall).repeated(),
      "colour of walls, and their temperature in °C, such as '#ff0000=25'; repeat for more "
      "colours");
  options.add(
      "colour-tolerance",
      value(drawings.legend.colour_tolerance, "DISTANCE", drawings.legend.colour_tolerance, "60")
          .at_least(0),
      "maximum distance in RGB (black to white: 442) at which a pixel of another colour counts as "
      "the nearest of these colours; the output lists such colours and their interpretation. A "
      "picture with other colours is rejected. Text in a room would become wall or outside: paint "
      "over it first");
  const auto set_scale = [&drawings](const std::string& text) {
    return take_scale(text, drawings.legend);
  };
  options.add("scale", custom_value("N", "1 to 1000, or 1/2 to 1/1000", set_scale, "1"),
              "cells per side of a pixel, such as 4; 1/4: a cell covers 4 x 4 pixels, and is wall "
              "if any of them is");
  options.add(
      "cell-size", value(drawings.cell_metres, "METRES").above(0),
      "width of a cell in metres, for areas in m² and doors in metres; stored with the plans");
  options.add_dependency("from", {"wall", "colour-tolerance", "scale", "cell-size"});
  options.add_conflict("from", {"kind", "count", "seed", "size"});
  options.check([&drawings] {
    if (!drawings.pictures.empty() && drawings.legend.walls.empty())
      throw UsageError("--from requires --wall, such as --wall '#000000=5'");
    for (const std::string& picture : drawings.pictures)
      if (std::ranges::count(drawings.pictures, id_of(picture), id_of) > 1)
        throw UsageError(
            fmt::format("two pictures have the name {}", escape_control_chars(id_of(picture))));
  });
}

/// Returns the size of a plan, with its width first.
std::string size_text(GridShape shape, double cell_metres) {
  const std::string cells = fmt::format("{} x {} cells (width x height)", shape.cols, shape.rows);
  return cell_metres > 0 ? fmt::format("{}, {:.2f} m x {:.2f} m", cells,
                                       static_cast<double>(shape.cols) * cell_metres,
                                       static_cast<double>(shape.rows) * cell_metres)
                         : cells;
}

/// Returns messages on properties of a drawing that may be mistakes.
std::vector<std::string> warnings_of(const DrawnPlan& drawn, double cell_metres) {
  std::vector<std::string> warnings;
  for (const auto& [colour, meaning, pixels, near] : drawn.uses)
    if (pixels == 0)
      warnings.push_back(fmt::format("no pixel is {} or a similar colour ({}); check --wall",
                                     to_text(colour), meaning));
  const GridShape shape{drawn.plan.interior.rows, drawn.plan.interior.cols};
  const auto [shorter, longer] = std::pair(std::minmax(shape.rows, shape.cols));
  if (cell_metres > 0 && (static_cast<double>(shorter) * cell_metres < 2 ||
                          static_cast<double>(longer) * cell_metres > 1000))
    warnings.push_back(
        fmt::format("the size is {}; check --cell-size", size_text(shape, cell_metres)));
  if (drawn.at_edge.count > 0)
    warnings.push_back(
        fmt::format("{} of room on the edge of the picture, the first at x {}, y {}, beyond which "
                    "the temperature is 0 °C; if they are outside, fill them with a colour that is "
                    "not a wall colour",
                    count_text(drawn.at_edge.count, "pixel"), drawn.at_edge.x, drawn.at_edge.y));
  if (drawn.open_sides.count > 0)
    warnings.push_back(fmt::format(
        "rooms are open to the outside, which is held at 0 °C, along {}, the first at x "
        "{}, y {}; close the wall",
        count_text(drawn.open_sides.count, "pixel"), drawn.open_sides.x, drawn.open_sides.y));
  if (drawn.enclosed_areas.empty()) return warnings;
  const auto& [x, y, pixels, borders_room] = drawn.enclosed_areas.front();
  const auto in_rooms = static_cast<std::size_t>(
      std::ranges::count(drawn.enclosed_areas, true, &DrawnPlan::EnclosedArea::borders_room));
  const std::string which =
      in_rooms < drawn.enclosed_areas.size() ? fmt::format("{} of them ", in_rooms) : "";
  const std::string without_wall =
      in_rooms == 0 ? "" : fmt::format(", {}without a wall to the room", which);
  warnings.push_back(fmt::format(
      "the building encloses {}{}, held at 0 °C (the largest: {} at x {}, y {}); paint rooms white",
      count_text(drawn.enclosed_areas.size(), "area of outside", "areas of outside"), without_wall,
      count_text(pixels, "pixel"), x, y));
  return warnings;
}

/// How pictures were interpreted, with a row for each colour or area of each picture.
struct DrawingTables {
  static constexpr std::size_t max_rows = 10;  ///< in the text output
  Table colours{"colours",
                "",
                {{"id", "plan"},
                 {"colour", "colour"},
                 {"meaning", "meaning"},
                 {"pixels", "pixels"},
                 {"near_pixels", "of similar colours"}}};
  Table near{"near_colours",
             "other colours and their interpretation",
             {{"id", "plan"},
              {"colour", "colour"},
              {"meaning", "interpreted as"},
              {"pixels", "pixels"},
              {"distance", "distance in RGB", {ValueFormat::decimals, 0}}},
             {},
             {},
             max_rows};
  Table enclosed{"enclosed_areas",
                 "outside areas that the building encloses, held at 0 °C",
                 {{"id", "plan"},
                  {"x", "x"},
                  {"y", "y"},
                  {"pixels", "pixels"},
                  {"borders_room", "borders a room without a wall"}},
                 {},
                 {},
                 max_rows};

  void add(const std::string& id, const DrawnPlan& drawn) {
    for (const auto& [colour, meaning, pixels, near_pixels] : drawn.uses)
      colours.rows.push_back({id, to_text(colour), meaning, pixels, near_pixels});
    if (drawn.transparent_pixels > 0)
      colours.rows.push_back({id, "transparent", "outside", drawn.transparent_pixels, 0});
    for (const auto& [colour, use, distance, pixels] : drawn.near_colours)
      near.rows.push_back({id, to_text(colour), drawn.uses[use].meaning, pixels, distance});
    for (const auto& [x, y, pixels, borders_room] : drawn.enclosed_areas)
      enclosed.rows.push_back({id, x, y, pixels, borders_room});
  }
};

/// Returns the content of the file that describes how a plan was made from a picture.
std::string drawing_record_of(const std::string& picture, const std::string& id,
                              const Drawings& drawings, const DrawnPlan& drawn,
                              const std::vector<std::string>& warnings) {
  const double metres = drawings.cell_metres;
  Report report{"drawing of plan " + id};
  report.add_json_fact("id", id);
  Table drawing{
      "drawing", "interpretation of the drawing", {{"property", "property"}, {"value", "value"}}};
  drawing.rows.push_back({"picture", std::filesystem::path(picture).filename().string()});
  const auto& [walls, tolerance, cells_per_pixel, pixels_per_cell] = drawings.legend;
  if (pixels_per_cell > 1)
    drawing.rows.push_back(
        {"scale", fmt::format("one cell for {0} x {0} pixels", pixels_per_cell)});
  else
    drawing.rows.push_back(
        {"scale",
         fmt::format("one pixel for {}", count_text(cells_per_pixel * cells_per_pixel, "cell"))});
  drawing.rows.push_back({"width of a cell", metres > 0 ? fmt::format("{} m", metres)
                                                        : "unknown, so areas are in cells"});
  drawing.rows.push_back(
      {"size", size_text({drawn.plan.interior.rows, drawn.plan.interior.cols}, metres)});
  report.add(std::move(drawing));
  Table& of_warnings =
      report.add(Table{"warnings", "warnings on the drawing", {{"warning", "warning"}}});
  for (const std::string& warning : warnings) of_warnings.rows.push_back({warning});
  DrawingTables tables;
  tables.add(id, drawn);
  tables.colours.name = "colours of the drawing";
  tables.near.is_collapsed = true;
  for (Table* table : {&tables.colours, &tables.near, &tables.enclosed}) {
    table->columns.front().hide();
    if (table == &tables.colours) table->hide_constant_columns(0, 4);
    report.add(std::move(*table));
  }
  return encode_drawing_record(
      {metres > 0 ? std::optional(metres) : std::nullopt, std::move(report)},
      plan_hash(drawn.plan));
}

/// Plans that were made from pictures.
struct DrawnPlans {
  std::vector<std::string> ids;
  std::vector<FloorPlan> plans;
  std::vector<std::string> records;
};

/// Reads each drawing. The ID of its plan is the name of the picture. Adds to the report how the
/// colours were interpreted, and what may be a mistake. Throws RunError.
DrawnPlans read_drawings(const Drawings& drawings, Report& report) {
  DrawnPlans plans;
  DrawingTables tables;
  std::vector<Note> notes;
  Table of_warnings{"warnings", "", {json_only_column("id"), json_only_column("warning")}};
  Table rooms{
      "rooms",
      "rooms that 'wallheat run --rooms' finds with --door auto",
      {{"id", "plan"},
       {"rooms", "rooms"},
       {"small_rooms", fmt::format("of fewer than {} cells", corner_cells)},
       {"door_cells", "door width", {.unit = "cells"}},
       {"door_m", drawings.cell_metres > 0 ? "door width" : "", {ValueFormat::digits, 3, "m"}},
       // The note on the plan shows them.
       json_only_column("dividing_door_cells"),
       json_only_column("dividing_door_m"),
       json_only_column("divided_rooms")}};
  for (const std::string& picture : drawings.pictures) {
    DrawnPlan drawn = plan_from_image(read_input_file(picture), drawings.legend);
    const std::string id = id_of(picture);
    tables.add(id, drawn);
    const std::uint32_t door =
        default_door_cells({drawn.plan.interior.rows, drawn.plan.interior.cols});
    const RoomCounts counts = count_rooms(drawn.plan.interior, door);
    const auto division =
        counts.counted == 1 ? find_division(drawn.plan.interior, door) : std::optional<Division>();
    const auto metres_of = [&](std::uint32_t cells) {
      return drawings.cell_metres > 0 ? Value(cells * drawings.cell_metres) : Value();
    };
    rooms.rows.push_back({id, counts.counted + counts.small, counts.small, door, metres_of(door),
                          division ? Value(division->door_cells) : Value(),
                          division ? metres_of(division->door_cells) : Value(),
                          division ? Value(division->rooms) : Value()});
    const auto warnings = warnings_of(drawn, drawings.cell_metres);
    for (const std::string& warning : warnings) {
      report.add_note(fmt::format("{}: warning: {}", picture, warning));
      of_warnings.rows.push_back({id, warning});
    }
    if (division)
      notes.push_back(
          {escape_control_chars(id) + ": " + division_text(*division, door, drawings.cell_metres)});
    plans.ids.push_back(id);
    plans.records.push_back(drawing_record_of(picture, id, drawings, drawn, warnings));
    plans.plans.push_back(std::move(drawn.plan));
  }
  for (Table* table : {&tables.colours, &tables.near, &tables.enclosed, &rooms, &of_warnings})
    report.add(std::move(*table));
  for (Note& note : notes) report.add(std::move(note));
  if (!drawings.pictures.empty())
    report.add_note(
        "Openings that are wider than the door width join rooms. When you compute rooms, set "
        "--door "
        "to the width of the widest door, not more, because a larger width also divides "
        "corridors.");
  return plans;
}

}  // namespace

Report generate_command(Options& options) {
  std::filesystem::path out;
  std::size_t count = 0;
  std::uint64_t seed = 0;
  Generate generate = nullptr;
  std::size_t size = 0;
  bool overwrite = false;
  options.describe(
      "--out DIR [options]",
      "Generates synthetic floor plans, or creates plans from pictures. Plan k of a seed is the "
      "same on every machine and for every --count.",
      {"wallheat generate --out plans --count 8 --size 96",
       "wallheat generate --from flat.png --wall '#ff0000=25' --wall '#000000=5' --out drawn"});
  options.add("kind",
              choice(generate, "NAME", "floorplan",
                     {{"floorplan", generate_floor_plan}, {"poisson", generate_poisson_plan}}),
              "floorplan, or poisson: square plates with cold edges and heat sources (00001: one "
              "in the centre, 00002: everywhere, others: some at random positions)");
  options.add(
      "out,o", value(out, "DIR").required(),
      "directory for the plans and their building_ids.txt; NAME.zip or NAME.npz: a zip archive "
      "instead");
  options.add("count", value(count, "N", 24).at_least(1), "number of plans");
  options.add("seed,s", value(seed, "S", 1), "seed of the random numbers, any whole number");
  options.add("size", value(size, "CELLS").within(16, 16384),
              "cells per side of the grid, 16 to 16384 (default: 512, for poisson 256)");
  options.add("overwrite", flag(overwrite),
              "overwrite existing plans in the directory, or the archive; with --from the other "
              "plans of a directory stay in its building_ids.txt");
  Drawings drawings;
  declare_drawings(options, drawings);
  options.parse();
  if (!options.was_given("size")) size = generate == generate_poisson_plan ? 256 : 512;

  Report report{out.string()};
  GridShape shape{size, size};
  Plans plans;
  const DrawnPlans drawn = read_drawings(drawings, report);
  if (!drawn.ids.empty()) {
    plans.ids = drawn.ids;
    plans.plan = [&](std::size_t index) { return drawn.plans[index]; };
    plans.drawing_records = drawn.records;
    shape = {drawn.plans.front().domain.rows, drawn.plans.front().domain.cols};
  } else {
    for (std::size_t number = 1; number <= count; ++number)
      plans.ids.push_back(fmt::format("{:05}", number));
    plans.plan = [&](std::size_t index) { return generate(seed, index, size); };
    // The domain is 1 wide.
    if (generate == generate_poisson_plan) plans.spacing = 1 / static_cast<double>(size);
  }
  const bool is_archive = out.extension() == ".zip" || out.extension() == ".npz";
  (is_archive ? write_zip : write_directory)(plans, out, overwrite);
  const bool are_alike = std::ranges::all_of(drawn.plans, [&](const FloorPlan& plan) {
    return GridShape{plan.domain.rows, plan.domain.cols} == shape;
  });
  report.add_note(fmt::format(
      "{}{} in {}", count_text(plans.ids.size(), "floor plan"),
      are_alike ? " of " + size_text(shape, drawings.cell_metres) + "," : "", out.string()));
  if (plans.spacing)
    report.add_note(
        fmt::format("grid spacing {}, stored with the plans", format_repr(*plans.spacing)));
  report.add_json_fact("plans", out.string());
  report.add_json_fact("count", plans.ids.size());
  report.add_json_fact("height", are_alike ? Value(shape.rows) : Value());
  report.add_json_fact("width", are_alike ? Value(shape.cols) : Value());
  report.add_json_fact("spacing", plans.spacing);
  return report;
}

}  // namespace wallheat
