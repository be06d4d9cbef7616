#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "core/generator.hpp"
#include "core/plan_source.hpp"
#include "core/python_float.hpp"
#include "node/local_machine.hpp"
#include "run/signals.hpp"
#include "store/packs/plan_pack.hpp"
#include "view/json.hpp"
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
    for (const char* ending : {"_domain.npy", "_interior.npy", "_source.npy"})
      require_none(directory / (std::string(id) + ending));
}

using Generate = FloorPlan (*)(std::uint64_t seed, std::uint64_t index, std::size_t size);

/// Plans that are made when they are asked for.
class GeneratedPlans final : public PlanSource {
 public:
  GeneratedPlans(std::filesystem::path path, Generate generate, std::uint64_t seed,
                 std::size_t size, std::int64_t count)
      : path_(std::move(path)), generate_(generate), seed_(seed), size_(size), count_(count) {}

  [[nodiscard]] std::filesystem::path path() const override { return path_; }
  [[nodiscard]] PlanIds ids() const override {
    PlanIds all;
    for (std::int64_t index = 0; index < count_; ++index)
      all.ids.push_back(fmt::format("{:05}", index + 1));
    return all;
  }
  [[nodiscard]] FloorPlan load(const std::string& id) const override {
    return generate_(seed_, std::stoull(id) - 1, size_);
  }
  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id, std::size_t) const override {
    return load(id).interior;
  }
  [[nodiscard]] GridShape shape(const std::string&) const override { return {size_, size_}; }
  [[nodiscard]] bool has_source(const std::string&) const override {
    return generate_ == generate_poisson_plan;
  }
  [[nodiscard]] std::uint64_t stamp(const std::string&) const override { return 0; }

 private:
  std::filesystem::path path_;
  Generate generate_;
  std::uint64_t seed_;
  std::size_t size_;
  std::int64_t count_;
};

void write_directory(const GeneratedPlans& plans, bool overwrite, std::optional<double> spacing) {
  const std::filesystem::path out = plans.path();
  const TextList all = plans.ids().ids;
  const auto ids_file = out / "building_ids.txt";
  if (!overwrite) require_none_of(out, ids_file, all);
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error)
    throw RunError(
        fmt::format("the directory {} cannot be made: {}", out.string(), error.message()));
  std::filesystem::remove(ids_file, error);
  if (spacing) {
    write_output(out / spacing_name, python_float(*spacing) + "\n");
  } else {
    std::filesystem::remove(out / spacing_name, error);
  }
  for (const std::string_view text : all) {
    const std::string id(text);
    save_floor_plan(out, id, plans.load(id));
  }
  // The list comes last: a directory that has one is complete.
  write_output(ids_file, fmt::format("{}\n", fmt::join(all, "\n")));
}

void write_pack(const GeneratedPlans& plans, bool overwrite, std::optional<double> spacing) {
  catch_stop_signals();
  PackOptions options;
  options.overwrite = overwrite;
  options.spacing = spacing;
  options.threads = std::max<std::size_t>(local_machine().cores.size(), 1);
  options.interrupted = stop_requested;
  (void)pack_plans(plans.path(), plans, plans.ids().ids, options);
}

}  // namespace

int generate_command(const Arguments& arguments) {
  std::filesystem::path out;
  bool pack = false;
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  std::string kind;
  std::int64_t size = 0;
  bool overwrite = false;
  bool json = false;
  Options options("generate --out DIR [options]",
                  "Makes synthetic floor plans and their building_ids.txt, or a pack of them. Plan "
                  "number k of a seed is the same on every machine and does not depend on --count.",
                  {"wallheat generate --out plans --count 8 --size 96",
                   "wallheat generate --out plates --kind poisson --count 2 --size 64"});
  options.add("kind", value(kind, "NAME", "floorplan"),
              "floorplan, or poisson: square plates with cold edges and heat sources (plan 00001 "
              "one in the middle, plan 00002 everywhere, the others some anywhere)");
  options.add("out,o", value(out, "DIR"), "directory to write to, made if missing; or the pack");
  options.add("pack", flag(pack),
              "make --out one pack, as 'wallheat pack' would, in place of two files a plan");
  options.add("count", value(count, "N", 24), "number of plans");
  options.add("seed,s", value(seed, "S", 1), "any whole number");
  options.add("size", value(size, "CELLS"),
              "cells along each side of the grid, 16 to 16384 (default: 512; of plates 256)");
  options.add("overwrite", flag(overwrite),
              "replace the plans of a directory that has some, or the pack");
  options.add("json", flag(json), "print what was made as one JSON object");
  options.words("kind", {"floorplan", "poisson"});
  options.require({"out"});
  if (!options.parse(arguments)) return exit_done;
  const auto generate = choose<Generate>(
      "kind", kind, {{"floorplan", generate_floor_plan}, {"poisson", generate_poisson_plan}});
  if (!options.was_given("size")) size = generate == generate_poisson_plan ? 256 : 512;
  if (count < 1) throw UsageError("--count must be at least 1");
  if (size < 16 || size > 16384) throw UsageError("--size must be from 16 to 16384 cells");

  std::optional<double> spacing;
  if (generate == generate_poisson_plan) spacing = 1 / static_cast<double>(size);  // 1 wide
  const GeneratedPlans plans(out, generate, seed, static_cast<std::size_t>(size), count);
  (pack ? write_pack : write_directory)(plans, overwrite, spacing);
  if (json) {
    fmt::print("{}", json_text({{"plans", out.string()},
                                {"count", count},
                                {"height", size},
                                {"width", size},
                                {"spacing", spacing ? Json(*spacing) : Json()}}));
    return exit_done;
  }
  fmt::print("{} floor plan(s) of {} x {} cells in {}\n", count, size, size, out.string());
  if (spacing)
    fmt::print("their cells are {} apart, which is stored with them\n", python_float(*spacing));
  return exit_done;
}

}  // namespace wallheat
