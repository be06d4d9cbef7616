#include "simulation/store/story.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "io/file_names.hpp"
#include "simulation/store/hdf5_driver.hpp"
#include "store/packs/plan_pack.hpp"
#include "store/results/environment.hpp"
#include "store/results/field_codec.hpp"
#include "store/results/merge.hpp"
#include "store/results/repair.hpp"
#include "store/results/result_store.hpp"
#include "store/results/row.hpp"
#include "wallheat/error.hpp"

namespace wallheat::simulation {
namespace {

namespace fs = std::filesystem;

enum Story : std::uint64_t { create, resume, other_ids, overwrite, merge, pack };

const fs::path results = fs::path(directory) / "results.h5";
const fs::path pack_file = fs::path(directory) / "plans.h5";
const std::array parts{fs::path(directory) / "part0.h5", fs::path(directory) / "part1.h5"};

constexpr const char* campaign = "campaign";  // the setting that tells two campaigns apart

/// The n-th result that a plan gets is its version n. One with new stamps only is a version, too.
using Version = int;
constexpr Version pending_version = -1;
constexpr Version stamped = 1000;

GridShape shape_of_plan(std::size_t number, std::uint64_t shapes) {
  // Less than a sector, more than one page, and several pages.
  constexpr std::array sizes{GridShape{6, 7}, GridShape{20, 40}, GridShape{40, 40}};
  return sizes[number % std::min<std::size_t>(shapes, sizes.size())];
}

std::size_t number_of(const std::string& id) {
  return static_cast<std::size_t>(std::stoul(id.substr(id.find(' ') + 1)));
}

StorePlan make_plan(const std::string& name, std::size_t count, const Options& options) {
  StorePlan plan;
  plan.settings = {{campaign, name}, {"solver", "jacobi"}};
  plan.save_fields = options.fields != 0;
  for (std::size_t i = 0; i < count; ++i) {
    plan.ids.push_back("plan " + std::to_string(i));
    if (plan.save_fields) plan.shapes.push_back(shape_of_plan(i, options.shapes));
  }
  return plan;
}

/// Incompressible, so that fields take sectors of their own.
Grid<double> make_field(std::size_t number, GridShape shape, Version version) {
  Grid<double> field(shape.rows, shape.cols);
  Random random(mixed(number, static_cast<std::uint64_t>(version % stamped)));
  for (auto& cell : field.cells) cell = 15 + static_cast<double>(random.below(1U << 30)) * 1e-9;
  return field;
}

/// Where a field is to replace one, it has the same size, compressed.
PlanResult make_result(const StorePlan& plan, std::size_t index, Version version) {
  const auto number = number_of(plan.ids[index]);
  const auto content = version % stamped;
  PlanResult result;
  result.index = static_cast<std::uint32_t>(index);
  result.id = plan.ids[index];
  const bool failed = content == 0 && number % 5 == 4;
  result.status = failed ? PlanStatus::failed : PlanStatus::converged;
  result.statistics = {17.5 + static_cast<double>(number), 2.5, std::nan(""), 0.1 * content};
  result.iterations = static_cast<std::int64_t>(1000 + number);
  result.rows = 4;
  result.cols = 5;
  result.attempts = content + 1;
  result.failures = failed ? 1 : 0;
  result.host = "node" + std::to_string(number);
  result.input_hash = 0xfeedfacecafebeefULL + number;
  result.input_stamps[0] = {4242, version >= stamped ? 7 : 6};
  if (failed) result.error = "it was meant to fail";
  if (!plan.save_fields) return result;
  const auto shape = plan.shapes[index];
  result.rows = static_cast<std::uint32_t>(shape.rows);
  result.cols = static_cast<std::uint32_t>(shape.cols);
  if (!failed) result.field = compress_field(make_field(number, shape, version));
  return result;
}

bool is_same(const PlanResult& a, const PlanResult& b) {
  auto x = store::to_row(a);
  auto y = store::to_row(b);
  x.session = y.session = 0;
  x.index = y.index = 0;
  return std::memcmp(&x, &y, sizeof x) == 0;
}

/// Nothing if no version of the plan is like this.
std::optional<Version> version_of(const PlanResult& found, const StorePlan& plan,
                                  std::size_t index) {
  if (found.status == PlanStatus::pending) return pending_version;
  for (const Version version : {found.attempts - 1, found.attempts - 1 + stamped}) {
    if (is_same(found, make_result(plan, index, version))) return version;
  }
  return std::nullopt;
}

/// One of the things that a disk may hold.
struct World {
  bool missing = false;      ///< there is no file
  bool closed = false;       ///< it is one HDF5 file, and no log beside it
  std::size_t sessions = 0;  ///< at least
  std::size_t ended = 0;     ///< of these, with their end
  StorePlan plan{};
  std::map<std::string, std::set<Version>> versions{};  ///< that a plan may have, by its id
};
using Worlds = std::vector<World>;

World empty_world(const StorePlan& plan) {
  World world;
  world.plan = plan;
  for (const auto& id : plan.ids) world.versions[id] = {pending_version};
  return world;
}

const World no_file{.missing = true};

/// What may be found after a crash at each event.
class History {
 public:
  void note(const Disk& disk, Worlds worlds) {
    entries_.emplace_back(disk.events().size(), std::move(worlds));
  }
  [[nodiscard]] const Worlds& after(std::size_t events) const {
    const Worlds* last = &entries_.front().second;
    for (const auto& [begin, worlds] : entries_) {
      if (begin <= events) last = &worlds;
    }
    return *last;
  }
  [[nodiscard]] std::size_t begin() const { return entries_.front().first; }
  [[nodiscard]] const Worlds& last() const { return entries_.back().second; }

 private:
  std::vector<std::pair<std::size_t, Worlds>> entries_;
};

std::string describe(Version version) {
  return version == pending_version ? "pending" : "version " + std::to_string(version);
}

/// The world that these rows are, with what was found as its only versions.
World matching(const Worlds& worlds, const Attributes& settings,
               const std::vector<PlanResult>& rows, const std::string& who) {
  std::string invariant = "a file of another campaign";
  std::string details = who + " finds settings of none";
  for (const auto& world : worlds) {
    if (world.missing || settings != world.plan.settings) continue;
    World found = world;
    for (auto& [id, versions] : found.versions) versions = {pending_version};
    bool fits = true;
    std::map<std::string, std::size_t> indices;
    for (std::size_t i = 0; i < world.plan.ids.size(); ++i) indices[world.plan.ids[i]] = i;
    for (const auto& row : rows) {
      const auto index = indices.find(row.id);
      const auto version =
          index == indices.end() ? std::nullopt : version_of(row, world.plan, index->second);
      if (!version) {
        invariant = "a row that was never written";
        details = who + " finds it for the plan \"" + row.id + "\"";
        fits = false;
        break;
      }
      found.versions[row.id] = {*version};
    }
    for (const auto& [id, versions] : world.versions) {
      const auto version = *found.versions[id].begin();
      if (!fits || versions.contains(version)) continue;
      fits = false;
      invariant = version == pending_version ? "an acknowledged row is lost"
                                             : "a row is not the one that was acknowledged";
      details = who + " finds " + id + " " + describe(version) + ", it should be " +
                describe(*versions.rbegin());
    }
    if (fits) return found;
  }
  throw Violation(invariant, details);
}

bool has_field(const World& world, const std::string& id) {
  const auto version = *world.versions.at(id).begin();
  return world.plan.save_fields && version != pending_version &&
         !(version % stamped == 0 && number_of(id) % 5 == 4);
}

void check_fields(const World& world, const ResultReader& reader) {
  for (const auto& row : reader.rows()) {
    std::optional<Grid<double>> field;
    try {
      field = reader.field(row.index);
    } catch (const RunError& error) {
      throw Violation("an acknowledged field is lost", error.what());
    }
    if (!has_field(world, row.id)) {
      if (field) throw Violation("a field that was never written", row.id);
      continue;
    }
    const auto number = number_of(row.id);
    const auto index =
        std::find(world.plan.ids.begin(), world.plan.ids.end(), row.id) - world.plan.ids.begin();
    const auto version = *world.versions.at(row.id).begin();
    if (!field ||
        *field != make_field(number, world.plan.shapes[static_cast<std::size_t>(index)], version))
      throw Violation("an acknowledged field is lost", "the field of " + row.id + " differs");
  }
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

class Life {
 public:
  Life(std::uint64_t seed, const Options& options, Sometimes& sometimes)
      : options_(options), sometimes_(sometimes), seed_(seed), random_(mixed(seed, 2)) {}

  [[nodiscard]] const std::string& where() const { return where_; }

  Outcome random_crashes() {
    Disk disk(sometimes_);
    const auto history = tell(disk);
    add_hash(disk);
    for (std::uint64_t image = 0; image < options_.images; ++image) live_on(disk, history, image);
    return outcome_;
  }

  Outcome crashes_everywhere(std::uint64_t twice) {
    Disk disk(sometimes_);
    const auto history = tell(disk);
    add_hash(disk);
    for (std::size_t at = history.begin(); at <= disk.events().size(); ++at) {
      for (const bool power : {false, true}) {
        where_ = "crash after event " + std::to_string(at) + (power ? ", power lost" : "");
        auto crashed = crash(disk, at, power);
        auto recovered = recover(crashed, history.after(at), false);
        finish(crashed, recovered);
        if (twice == 0 || random_.below(twice) != 0) continue;
        for (std::size_t again = recovered.begin(); again <= crashed.events().size(); ++again) {
          where_ += "; crash after event " + std::to_string(again) + " of the recovery";
          auto once_more = crash(crashed, again, power);
          auto last = recover(once_more, recovered.after(again), random_.one_in(2));
          finish(once_more, last);
        }
      }
    }
    return outcome_;
  }

 private:
  // ---- what happens

  /// The sessions before the first crash.
  History tell(Disk& disk) {
    History history;
    const auto plan = make_plan("new", options_.plans, options_);
    history.note(disk, {no_file});
    switch (options_.story) {
      case create:
        begin_anew(disk, history, plan, main_fault(0));
        break;
      case resume:
        begin_anew(disk, history, plan, {});
        go_on(disk, history, plan, main_fault(0), false);
        break;
      case other_ids:
        begin_anew(disk, history, plan, {});
        go_on(disk, history, make_plan("new", options_.plans + 2, options_), main_fault(0), false);
        break;
      case overwrite:
        begin_anew(disk, history, make_plan("old", options_.plans + 1, options_), {});
        begin_anew(disk, history, plan, main_fault(0));
        break;
      case merge:
        return tell_merge(disk, plan);
      case pack:
        return tell_pack(disk);
      default:
        throw Violation("options", "there is no such story");
    }
    return history;
  }

  Fault main_fault(std::uint64_t where) const {
    if (options_.fault == 0 || options_.fault_in != where) return {};
    return {static_cast<Fault::Kind>(options_.fault), options_.fault_at};
  }

  /// Runs what a process does. Nothing but a fault may end it early, and that with a sentence.
  template <class Work>
  bool runs(Disk& disk, Fault fault, const fs::path& file, const Work& work) {
    Process process(disk, sometimes_, random_.next(), fault);
    const StoreEnvironment env{process, driver_on(process)};
    phase_ = "beginning";
    try {
      work(env, process);
      if (process.fault_happened()) ++sometimes_["a fault stopped nothing"];
      return true;
    } catch (const RunError& error) {
      require_sentence(error.what(), process, fault, file);
    } catch (const Violation&) {
      throw;
    } catch (const std::exception& error) {
      throw Violation("a failure that is no sentence", error.what());
    }
    return false;
  }

  void require_sentence(const std::string& text, const Process& process, const Fault& fault,
                        const fs::path& file) {
    if (!process.fault_happened() || fault.kind == Fault::Kind::short_write)
      throw Violation("a refusal without a reason", text);
    const bool no_space = fault.kind == Fault::Kind::no_space;
    const char* name = no_space                                ? "no space"
                       : fault.kind == Fault::Kind::bad_sector ? "a bad sector"
                                                               : "a failed sync";
    ++sometimes_[std::string(name) + " while " + phase_];
    // A directory that cannot be synced is named itself.
    if (text.find(file.parent_path().string()) == std::string::npos ||
        text.find('\n') != std::string::npos ||
        (no_space && text.find(std::strerror(ENOSPC)) == std::string::npos))
      throw Violation("a failure that is no sentence", text);
  }

  void begin_anew(Disk& disk, History& history, const StorePlan& plan, Fault fault) {
    runs(disk, fault, results, [&](const StoreEnvironment& env, Process& process) {
      auto worlds = history.last();
      worlds.push_back(empty_world(plan));
      history.note(disk, worlds);
      auto store = ResultStore::create(results, plan, {{"command", "create"}},
                                       options_.story == overwrite, env);
      auto world = empty_world(plan);
      world.sessions = 1;
      run_session(disk, history, process, store, world, options_.batches);
    });
  }

  /// Resumes; in a recovery it stores one batch.
  void go_on(Disk& disk, History& history, const StorePlan& plan, Fault fault, bool recovery) {
    runs(disk, fault, results, [&](const StoreEnvironment& env, Process& process) {
      auto worlds = history.last();
      const auto others = worlds;  // until the resume has made sure of names
      std::erase_if(worlds, [&](const World& world) {
        return world.missing || world.plan.settings != plan.settings;
      });
      for (auto& world : worlds) {
        world.plan = plan;
        for (const auto& id : plan.ids) world.versions.try_emplace(id, std::set{pending_version});
        world.closed = false;
      }
      auto during = worlds;
      for (const auto& world : others) {
        if (world.missing || world.plan.settings != plan.settings) during.push_back(world);
      }
      history.note(disk, during);
      phase_ = "resuming";
      std::vector<std::string> report;
      const bool was_open = is_open_for_writing(disk);
      auto store = ResultStore::resume(results, plan, {{"command", "resume"}}, &report, env);
      count_report(report, was_open);
      for (const auto& sentence : report) {
        if (sentence.ends_with("passed over") && disk.find(log_path(results)) != nullptr)
          throw Violation("a log that is of no use stays", sentence);
      }
      auto world = matching(worlds, plan.settings, store.restored(), "a resume");
      history.note(disk, {world});
      run_session(disk, history, process, store, world, recovery ? 1 : options_.batches,
                  recovery || options_.close != 0);
    });
  }

  /// By the mark of a writer in the superblock.
  static bool is_open_for_writing(const Disk& disk) {
    const auto* bytes = disk.find(results);
    return bytes != nullptr && bytes->size() > 11 && (*bytes)[11] != 0;
  }

  void count_report(const std::vector<std::string>& report, bool was_open) {
    bool rebuilt = false;
    for (const auto& sentence : report) {
      const auto says = [&](const char* words) {
        return sentence.find(words) != std::string::npos;
      };
      rebuilt = rebuilt || says("rebuilt from its log");
      for (const auto& [words, name] :
           {std::pair{"could not be mended", "a file was rebuilt from its log"},
            std::pair{"it is missing", "a missing file was rebuilt from its log"},
            std::pair{"in the middle of a record", "the end of a log was a cut record"},
            std::pair{"before a batch was complete", "the end of a log lacked its commit"},
            std::pair{"the log was damaged", "a log was damaged in its midst"},
            std::pair{"damaged and rebuilt from the log", "a torn row was rebuilt"},
            std::pair{"older than the file", "a log older than its file was passed over"},
            std::pair{"log of an earlier file", "the log of an earlier file was passed over"}}) {
        if (says(words)) ++sometimes_[name];
      }
    }
    if (was_open && !rebuilt) ++sometimes_["a file was taken up in place"];
  }

  void run_session(Disk& disk, History& history, Process& process, ResultStore& store, World world,
                   std::uint64_t batches, bool close) {
    const auto& plan = world.plan;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      phase_ = "storing";
      history.note(disk, {world});
      std::vector<PlanResult> chosen;
      World in_flight = world;
      for (std::size_t i = 0; i < plan.ids.size(); ++i) {
        auto& versions = world.versions[plan.ids[i]];
        const auto present = *versions.begin();
        const bool must =
            i == 0 && batch + 1 == batches;  // a session without results closes nothing
        if (!must && random_.below(present == pending_version ? 2 : 6) != 0) continue;
        const auto version = present % stamped + 1;
        chosen.push_back(make_result(plan, i, version));
        in_flight.versions[plan.ids[i]].insert(version);
        versions = {version};
      }
      in_flight.closed = world.closed = false;
      history.note(disk, {in_flight});
      if (!store.store(chosen).empty())
        throw Violation("a result was refused", "a field had no place");
      if (!chosen.empty()) world.sessions = std::max<std::size_t>(world.sessions, 1);
      history.note(disk, {world});
      if (!chosen.empty()) others_come(disk, {world}, !world.closed);
      if (random_.one_in(3)) {
        process.wait(std::chrono::seconds(2));
        phase_ = "publishing";
        store.publish();
      }
      if (random_.one_in(4)) restamp(disk, history, store, world);
    }
    if (!close) return;
    phase_ = "closing";
    store.close({{"finished", "yes"}});
    world.closed = batches > 0;
    if (world.closed) ++world.ended;
    history.note(disk, {world});
    if (process.fault_happened()) return;  // a lock that cannot be removed stops nobody
    for (const auto& name : disk.names()) {
      if (name.starts_with(results.string()) && name != results.string())
        throw Violation("something is left beside a closed file", name);
    }
  }
  void run_session(Disk& disk, History& history, Process& process, ResultStore& store,
                   const World& world, std::uint64_t batches) {
    run_session(disk, history, process, store, world, batches, options_.close != 0);
  }

  void restamp(Disk& disk, History& history, ResultStore& store, World& world) {
    std::vector<PlanResult> chosen;
    World in_flight = world;
    for (std::size_t i = 0; i < world.plan.ids.size(); ++i) {
      auto& versions = world.versions[world.plan.ids[i]];
      const auto present = *versions.begin();
      if (present == pending_version || present >= stamped || random_.one_in(2)) continue;
      chosen.push_back(make_result(world.plan, i, present + stamped));
      in_flight.versions[world.plan.ids[i]].insert(present + stamped);
      versions = {present + stamped};
    }
    phase_ = "stamping";
    history.note(disk, {in_flight});
    store.restamp(chosen);
    history.note(disk, {world});
  }

  /// A reader, and a second writer, while the file is being written.
  void others_come(Disk& disk, const Worlds& worlds, bool is_open) {
    if (random_.one_in(4)) look(disk, worlds, "a reader of the open file");
    if (!is_open || !random_.one_in(4)) return;
    const auto before = disk.events().size();
    Process intruder(disk, sometimes_, random_.next());
    const StoreEnvironment env{intruder, driver_on(intruder)};
    std::string refusal;
    try {
      if (random_.one_in(2)) {
        static_cast<void>(ResultStore::resume(results, worlds.front().plan, {}, nullptr, env));
      } else {
        static_cast<void>(repair_results(results, env));
      }
    } catch (const RunError& error) {
      refusal = error.what();
    }
    if (refusal.find("is being written by process") == std::string::npos ||
        disk.events().size() != before)
      throw Violation("a second writer came in", refusal);
    ++sometimes_["a second writer was refused"];
  }

  // ---- merging

  History tell_merge(Disk& disk, const StorePlan& plan) {
    World merged = empty_world(plan);
    for (std::size_t number = 0; number < parts.size(); ++number) {
      runs(disk, {}, parts[number], [&](const StoreEnvironment& env, Process&) {
        auto store = ResultStore::create(parts[number], plan, {{"part", std::to_string(number)}},
                                         false, env);
        std::vector<PlanResult> chosen;
        for (std::size_t i = 0; i < plan.ids.size(); ++i) {
          if (i % parts.size() != number && i % 3 != 0) continue;
          chosen.push_back(make_result(plan, i, 1));
          merged.versions[plan.ids[i]] = {1};
        }
        static_cast<void>(store.store(chosen));
        if (number == 0 || options_.close != 0) store.close({});
      });
    }
    World old = no_file;
    if (options_.batches % 2 == 1) {
      const auto other = make_plan("old", options_.plans + 1, options_);
      runs(disk, {}, results, [&](const StoreEnvironment& env, Process&) {
        auto store = ResultStore::create(results, other, {}, false, env);
        old = empty_world(other);
        const auto first = make_result(other, 0, 1);
        static_cast<void>(store.store(std::span(&first, 1)));
        old.versions[other.ids[0]] = {1};
      });
    }
    merged.closed = false;
    merged.sessions = 1;
    History history;
    history.note(disk, {old, merged});
    merged_ = merged;
    run_merge(disk, history, main_fault(0));
    return history;
  }

  void run_merge(Disk& disk, History& history, Fault fault) {
    std::map<std::string, std::string> before = disk.contents();
    runs(disk, fault, results, [&](const StoreEnvironment& env, Process&) {
      phase_ = "merging";
      const auto report = merge_results(results, {parts.begin(), parts.end()},
                                        {.allow_missing = true, .overwrite = true}, env);
      if (!report.written) throw Violation("a merge wrote nothing", "");
      auto whole = merged_;
      whole.closed = true;
      history.note(disk, {whole});
    });
    const auto now = disk.contents();
    for (const auto& [name, bytes] : before) {
      if (!name.starts_with(results.string()) && (!now.contains(name) || now.at(name) != bytes))
        throw Violation("an input was changed", name);
    }
  }

  // ---- packing

  class Plans final : public PlanSource {
   public:
    explicit Plans(std::size_t count) : count_(count) {}
    [[nodiscard]] fs::path path() const override { return "plans"; }
    [[nodiscard]] PlanIds ids() const override {
      PlanIds ids;
      for (std::size_t i = 0; i < count_; ++i) ids.ids.push_back(std::to_string(i));
      return ids;
    }
    [[nodiscard]] FloorPlan load(const std::string& id) const override {
      const auto number = std::stoul(id);
      FloorPlan plan{make_field(number, {24, 20}, 0), Grid<std::uint8_t>(24, 20)};
      for (std::size_t i = 0; i < plan.interior.cells.size(); ++i)
        plan.interior.cells[i] = i % 7 != number ? 1 : 0;
      if (number % 3 == 1) plan.source = make_field(number, {24, 20}, 1);
      return plan;
    }
    [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id, std::size_t) const override {
      return load(id).interior;
    }
    [[nodiscard]] GridShape shape(const std::string&) const override { return {24, 20}; }
    [[nodiscard]] PlanStamps stamps(const std::string&) const override { return {}; }

   private:
    std::size_t count_;
  };

  static std::uint64_t hash_of(const FloorPlan& plan) {
    std::uint64_t hash = 1;
    for (const auto* cells : {&plan.domain.cells, &plan.source.cells}) {
      for (const double cell : *cells) hash = mixed(hash, static_cast<std::uint64_t>(cell * 1e9));
    }
    for (const auto cell : plan.interior.cells) hash = mixed(hash, cell);
    return hash;
  }

  History tell_pack(Disk& disk) {
    History history;
    history.note(disk, {no_file});
    run_pack(disk, history, main_fault(0));
    return history;
  }

  void run_pack(Disk& disk, History& history, Fault fault) {
    const Plans plans(options_.plans);
    runs(disk, fault, pack_file, [&](const StoreEnvironment& env, Process&) {
      phase_ = "packing";
      history.note(disk, {no_file, World{.closed = true}});
      PackOptions how;
      how.overwrite = true;
      static_cast<void>(pack_plans(pack_file, plans, plans.ids().ids, how, env));
      history.note(disk, {World{.closed = true}});
    });
  }

  void look_at_pack(Disk& disk, const Worlds& worlds) {
    const bool may_be_missing =
        std::any_of(worlds.begin(), worlds.end(), [](const World& world) { return world.missing; });
    if (disk.find(pack_file) == nullptr) {
      if (may_be_missing) return;
      throw Violation("a pack is lost", pack_file);
    }
    Process process(disk, sometimes_, random_.next());
    const StoreEnvironment env{process, driver_on(process)};
    const Plans plans(options_.plans);
    try {
      const auto packed = open_plan_source(pack_file, env);
      if (packed->ids().ids != plans.ids().ids) throw Violation("a pack lacks plans", "");
      for (const auto& id : plans.ids().ids) {
        if (hash_of(packed->load(id)) != hash_of(plans.load(id)))
          throw Violation("a pack holds another plan", id);
      }
    } catch (const RunError& error) {
      throw Violation("a pack is damaged", error.what());
    }
  }

  // ---- crashes

  Disk crash(const Disk& disk, std::size_t at, bool power) {
    ++outcome_.images;
    if (!power) return disk.killed_after(at, random_.one_in(2) ? random_.next() | 1 : 0);
    return disk.power_lost_after(at, {random_.next(), options_.sector});
  }

  /// After any event from one on; most likely where little time is between two steps of a protocol.
  std::size_t moment(const Disk& disk, std::size_t begin) {
    const auto end = disk.events().size();
    switch (random_.below(4)) {
      case 0:
        return end;
      case 1: {
        std::vector<std::size_t> after;
        for (auto i = begin; i < end; ++i) {
          const auto kind = disk.events()[i].kind;
          const bool syncs_next = i + 1 < end && disk.events()[i + 1].kind == Event::Kind::sync;
          if (kind == Event::Kind::rename || kind == Event::Kind::unlink || syncs_next)
            after.push_back(i + 1);
        }
        if (!after.empty()) return after[random_.below(after.size())];
        break;
      }
      default:
        break;
    }
    return begin + random_.below(end - begin + 1);
  }

  void live_on(const Disk& story, const History& told, std::uint64_t image) {
    random_ = Random(mixed(seed_, 100 + image));
    where_.clear();
    std::optional<Disk> disk;
    History history = told;
    const Disk* last = &story;
    for (std::uint64_t n = 1; n <= options_.crashes; ++n) {
      const auto begin = history.begin();
      const auto at = moment(*last, begin);
      const auto worlds = history.after(at);
      tell_events(*last);
      const bool power = (options_.power >> n & 1) != 0;
      auto crashed = crash(*last, at, power);
      disk.emplace(std::move(crashed));
      const bool repair = (options_.repair >> n & 1) != 0;
      where_ += (where_.empty() ? "" : "; ") + std::string("crash after event ") +
                std::to_string(at) + (power ? ", power lost" : "") + (repair ? ", repaired" : "");
      history = recover(*disk, worlds, repair, main_fault(n));
      last = &*disk;
      add_hash(*disk);
      if (n > 1) ++sometimes_["a crash during a recovery was survived"];
    }
    if (!disk) disk.emplace(crash(story, story.events().size(), false));
    finish(*disk, history);
  }

  /// What the end must be: a file that no crash can change any more.
  void finish(Disk& disk, const History& history) {
    auto left = disk;
    auto worlds = history.last();
    if (!worlds.front().closed) {
      const auto recovered = recover(left, worlds, false);
      worlds = recovered.last();
    }
    if (!worlds.front().closed) throw Violation("the file cannot be closed", "");
    auto end = left.power_lost_after(left.events().size(), {random_.next(), options_.sector});
    tell_events(left);
    check(end, worlds, "a reader at the end");
  }

  void tell_events(const Disk& disk) const {
    if (options_.tell != 0) std::fprintf(stderr, "%s\n", disk.told().c_str());
  }

  void check(Disk& disk, const Worlds& worlds, const std::string& who) {
    if (options_.story == pack) {
      look_at_pack(disk, worlds);
    } else {
      look(disk, worlds, who);
    }
  }

  /// Reads; nothing must change.
  std::optional<World> look(Disk& disk, const Worlds& worlds, const std::string& who) {
    const auto before = disk.events().size();
    const auto log = log_path(results).string();
    const bool there = disk.find(results) != nullptr || disk.find(log) != nullptr;
    if (!there) {
      for (const auto& world : worlds) {
        if (world.missing) return std::nullopt;
      }
      throw Violation("an acknowledged row is lost", who + " finds no file");
    }
    Process process(disk, sometimes_, random_.next());
    const StoreEnvironment env{process, driver_on(process)};
    try {
      const ResultReader reader(results, env);
      auto found = matching(worlds, reader.settings(), reader.rows(), who);
      check_fields(found, reader);
      const auto& sessions = reader.sessions();
      for (const auto& session : sessions) check_session(session);
      const auto ended = static_cast<std::size_t>(
          std::count_if(sessions.begin(), sessions.end(),
                        [](const Attributes& session) { return session.contains("finished"); }));
      if (sessions.size() < found.sessions || ended < found.ended)
        throw Violation("a session is lost", who + " finds " + std::to_string(sessions.size()) +
                                                 " of " + std::to_string(found.sessions) +
                                                 ", ends of " + std::to_string(ended) + " of " +
                                                 std::to_string(found.ended));
      if (found.closed && (!reader.closed_well() || disk.find(log) != nullptr))
        throw Violation("a closed file is not closed",
                        who + (reader.closed_well() ? " finds its log" : " finds it left open"));
      if (disk.events().size() != before) throw Violation("a reader changed the disk", who);
      return found;
    } catch (const RunError& error) {
      throw Violation("a file cannot be read", who + ": " + error.what());
    } catch (const Violation&) {
      throw;
    } catch (const std::exception& error) {
      throw Violation("a failure that is no sentence", error.what());
    }
  }

  /// What a user does after a crash.
  History recover(Disk& disk, const Worlds& worlds, bool repair, Fault fault = {}) {
    History history;
    history.note(disk, worlds);
    if (options_.story == pack) {
      look_at_pack(disk, worlds);
      run_pack(disk, history, fault);
      return history;
    }
    const auto found = look(disk, worlds, "a reader after a crash");
    if (!found) {
      if (options_.story == merge) {
        run_merge(disk, history, fault);
      } else {
        begin_again(disk, history, fault);
      }
      return history;
    }
    if (repair) {
      const bool repaired = runs(disk, fault, results, [&](const StoreEnvironment& env, Process&) {
        phase_ = "repairing";
        const auto report = repair_results(results, env);
        for (const auto& id : report.lost) {
          // What was not acknowledged yet may be called lost, too.
          if (!found->versions.at(id).contains(pending_version))
            throw Violation("an acknowledged row is lost", "a repair says so of " + id);
        }
        ++sometimes_[report.changed ? "a repair changed the file"
                                    : "a repair left the file as it was"];
      });
      if (!repaired) return history;
      auto mended = look(disk, worlds, "a reader after a repair");
      if (!mended || disk.find(log_path(results)) != nullptr)
        throw Violation("a repaired file has a log", "");
      mended->closed = true;
      history.note(disk, {*mended});
      fault = {};
    }
    go_on(disk, history, found->plan, fault, true);
    return history;
  }

  /// There is no file: its making was cut short, and is tried again.
  void begin_again(Disk& disk, History& history, Fault fault) {
    const auto plan =
        make_plan(options_.story == overwrite ? "old" : "new", options_.plans, options_);
    runs(disk, fault, results, [&](const StoreEnvironment& env, Process& process) {
      history.note(disk, {no_file, empty_world(plan)});
      auto store = ResultStore::create(results, plan, {{"command", "again"}}, false, env);
      auto world = empty_world(plan);
      world.sessions = 1;
      run_session(disk, history, process, store, world, 1, true);
    });
  }

  void add_hash(const Disk& disk) {
    outcome_.hash = mixed(outcome_.hash, disk.hash());
    outcome_.events += disk.events().size();
  }

  const Options& options_;
  Sometimes& sometimes_;
  std::uint64_t seed_;
  Random random_;
  Outcome outcome_;
  World merged_;  ///< what a merge is to give
  std::string phase_;
  std::string where_;  ///< the crash at hand
};

}  // namespace

Options expand(std::uint64_t seed) {
  Random random(mixed(seed, 1));
  Options options;
  options.story = random.below(story_names.size());
  options.plans = 1 + random.below(10);
  options.batches = random.below(5);
  options.fields = random.below(2);
  options.shapes = 1 + random.below(3);
  options.close = random.below(3) != 0 ? 1 : 0;
  options.crashes = 1 + random.below(3);
  options.fault = random.one_in(3) ? 0 : 1 + random.below(4);
  options.fault_in = random.below(1 + options.crashes);
  // Most often in the first steps, which all stories and recoveries have.
  constexpr std::array ends{4, 12, 25, 60};
  options.fault_at = random.below(ends[random.below(ends.size() - (options.fault == 4 ? 1 : 0))]);
  options.power = random.below(16);
  options.sector = random.one_in(2) ? 512 : 4096;
  options.repair = random.one_in(2) ? random.below(16) : 0;
  options.images = 4;
  return options;
}

std::string to_text(const Options& options) {
  std::string text;
  for (const auto& option : option_names) {
    text += (text.empty() ? "" : " ") + std::string(option.name) + "=" +
            std::to_string(options.*option.value);
  }
  return text;
}

namespace {

template <class Way>
Outcome lived(Life& life, const Way& way) {
  try {
    return way();
  } catch (const Violation& violation) {
    throw Violation(violation.invariant, life.where() + ": " + violation.what());
  }
}

}  // namespace

Outcome live(std::uint64_t seed, const Options& options, Sometimes& sometimes) {
  Life life(seed, options, sometimes);
  return lived(life, [&] { return life.random_crashes(); });
}

Outcome crash_everywhere(std::uint64_t seed, const Options& options, std::uint64_t twice,
                         Sometimes& sometimes) {
  Life life(seed, options, sometimes);
  return lived(life, [&] { return life.crashes_everywhere(twice); });
}

}  // namespace wallheat::simulation
