#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "core/generator.hpp"
#include "core/id_list.hpp"
#include "core/npy.hpp"
#include "core/parallel_for.hpp"
#include "core/plan_files.hpp"
#include "core/plural.hpp"
#include "core/python_float.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "plans/zip_writer.hpp"
#include "run/signals.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

/// Throws RunError if a file is there that would be written. Plans need no list to be somebody's.
void require_none_of(const std::filesystem::path& directory, const std::filesystem::path& ids_file,
                     const TextList& ids) {
  const auto require_none = [](const std::filesystem::path& file) {
    if (std::filesystem::exists(file))
      throw RunError(file.string() + " exists; give another --out, or --overwrite");
  };
  require_none(ids_file);
  for (const std::string_view id : ids)
    for (const PlanFile file : all_plan_files)
      require_none(directory / plan_file_name(std::string(id), file));
}

using Generate = FloorPlan (*)(std::uint64_t seed, std::uint64_t index, std::size_t size);

/// What is to be made.
struct Plans {
  Generate generate;
  std::uint64_t seed;
  std::size_t size;
  std::size_t count;
  std::optional<double> spacing;

  [[nodiscard]] static std::string id(std::size_t index) { return fmt::format("{:05}", index + 1); }
  [[nodiscard]] FloorPlan plan(std::size_t index) const { return generate(seed, index, size); }
  [[nodiscard]] TextList ids() const {
    TextList all;
    for (std::size_t index = 0; index < count; ++index) all.push_back(id(index));
    return all;
  }
  /// Of building_ids.txt.
  [[nodiscard]] std::string ids_text() const { return fmt::format("{}\n", fmt::join(ids(), "\n")); }
  [[nodiscard]] std::string spacing_text() const { return python_float(*spacing) + "\n"; }
};

void write_directory(const Plans& plans, const std::filesystem::path& out, bool overwrite) {
  const auto ids_file = out / ids_name;
  if (!overwrite) require_none_of(out, ids_file, plans.ids());
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error)
    throw RunError(
        fmt::format("the directory {} cannot be made: {}", out.string(), error.message()));
  std::filesystem::remove(ids_file, error);
  if (plans.spacing) {
    write_output(out / spacing_name, plans.spacing_text());
  } else {
    std::filesystem::remove(out / spacing_name, error);
  }
  for (std::size_t index = 0; index < plans.count; ++index)
    save_floor_plan(out, Plans::id(index), plans.plan(index));
  // The list comes last: a directory that has one is complete.
  write_output(ids_file, plans.ids_text());
}

/// The files of a plan.
std::vector<ZipMember> members_of(const FloorPlan& plan, const std::string& id) {
  std::vector<ZipMember> members{
      compress_member(plan_file_name(id, PlanFile::domain), npy::bytes_of(plan.domain)),
      compress_member(plan_file_name(id, PlanFile::interior), npy::bytes_of(plan.interior))};
  if (plan.has_source())
    members.push_back(
        compress_member(plan_file_name(id, PlanFile::source), npy::bytes_of(plan.source)));
  return members;
}

void write_zip(const Plans& plans, const std::filesystem::path& out, bool overwrite) {
  require_replaceable(out, overwrite, zip_beginning);
  catch_stop_signals();
  const std::size_t threads = std::max<std::size_t>(local_machine().cores.size(), 1);
  const std::size_t batch = 64 * threads;
  write_output(out, [&](std::ostream& stream) {
    ZipWriter zip(stream);
    zip.add(compress_member(ids_name, plans.ids_text()));
    if (plans.spacing) zip.add(compress_member(spacing_name, plans.spacing_text()));
    for (std::size_t first = 0; first < plans.count; first += batch) {
      if (stop_requested()) throw RunError("it was stopped; nothing was written");
      std::vector<std::vector<ZipMember>> made(std::min(batch, plans.count - first));
      parallel_for(threads, made.size(), [&] {
        return [&](std::size_t i) {
          made[i] = members_of(plans.plan(first + i), Plans::id(first + i));
        };
      });
      for (const auto& members : made)
        for (const ZipMember& member : members) zip.add(member);
    }
    zip.finish();
  });
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
      "Makes synthetic floor plans and their building_ids.txt. Plan number k of a seed "
      "is the same on every machine and does not depend on --count.",
      {"wallheat generate --out plans --count 8 --size 96",
       "wallheat generate --out plates --kind poisson --count 2 --size 64"});
  options.add("kind",
              choice(generate, "NAME", "floorplan",
                     {{"floorplan", generate_floor_plan}, {"poisson", generate_poisson_plan}}),
              "floorplan, or poisson: square plates with cold edges and heat sources (plan 00001 "
              "one in the middle, plan 00002 everywhere, the others some anywhere)");
  options.add("out,o", value(out, "DIR"),
              "directory to write to, made if missing; if it ends in .zip or .npz, the zip archive "
              "to make of what would be in it");
  options.add("count", value(count, "N", 24).at_least(1), "number of plans");
  options.add("seed,s", value(seed, "S", 1), "any whole number");
  options.add("size", value(size, "CELLS").within(16, 16384),
              "cells along each side of the grid, 16 to 16384 (default: 512; of plates 256)");
  options.add("overwrite", flag(overwrite),
              "replace the plans of a directory that has some, or the archive");
  options.require({"out"});
  options.parse();
  if (!options.was_given("size")) size = generate == generate_poisson_plan ? 256 : 512;

  std::optional<double> spacing;
  if (generate == generate_poisson_plan) spacing = 1 / static_cast<double>(size);  // 1 wide
  const Plans plans{generate, seed, size, count, spacing};
  const bool is_archive = out.extension() == ".zip" || out.extension() == ".npz";
  (is_archive ? write_zip : write_directory)(plans, out, overwrite);
  Report report{out.string()};
  report.add(Note{fmt::format("{} of {} x {} cells in {}", counted(count, "floor plan"), size, size,
                              out.string())});
  if (spacing)
    report.add(Note{fmt::format("their cells are {} apart, which is stored with them",
                                python_float(*spacing))});
  report.add(Fact{"plans", "", out.string()});
  report.add(Fact{"count", "", count});
  report.add(Fact{"height", "", size});
  report.add(Fact{"width", "", size});
  report.add(Fact{"spacing", "", spacing});
  return report;
}

}  // namespace wallheat
