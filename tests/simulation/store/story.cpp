#include "simulation/store/story.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "io/file_names.hpp"
#include "simulation/store/hdf5_driver.hpp"
#include "simulation/store/world.hpp"
#include "store/results/environment.hpp"
#include "store/results/merge.hpp"
#include "store/results/repair.hpp"
#include "store/results/result_store.hpp"
#include "wallheat/error.hpp"

namespace wallheat::simulation {
namespace {

namespace fs = std::filesystem;

enum class Step {
  create_old,      ///< of other plans
  leave_old_open,  ///< the same, with one result and without its end
  create,
  overwrite,  ///< the old one
  resume,
  resume_with_more_plans,
  create_part_0,
  create_part_1,
  merge,
};

/// Faults and crashes hit the last step, crashes also those before it, but for what a merge takes.
struct NamedStory {
  const char* name;
  std::vector<Step> steps;
};
const std::array stories{
    NamedStory{"create", {Step::create}},
    NamedStory{"resume", {Step::create, Step::resume}},
    NamedStory{"other ids", {Step::create, Step::resume_with_more_plans}},
    NamedStory{"overwrite", {Step::create_old, Step::overwrite}},
    NamedStory{"merge", {Step::create_part_0, Step::create_part_1, Step::merge}},
    NamedStory{"merge over another file",
               {Step::create_part_0, Step::create_part_1, Step::leave_old_open, Step::merge}},
};

const fs::path results = fs::path(directory) / "results.h5";
const std::array parts{fs::path(directory) / "part0.h5", fs::path(directory) / "part1.h5"};

class Story {
 public:
  Story(std::uint64_t seed, const Options& options, Reached& reached)
      : options_(options),
        steps_(stories.at(static_cast<std::size_t>(options.story)).steps),
        new_plan_(
            make_plan("new", count(options.plans), count(options.shapes), options.rooms != 0)),
        old_plan_(
            make_plan("old", count(options.plans) + 1, count(options.shapes), options.rooms != 0)),
        reached_(reached),
        seed_(seed),
        random_(mixed(seed, 2)) {}

  Outcome tell() {
    try {
      Life life{Disk(reached_)};
      if (steps_.back() != Step::merge) life.may_hold({no_file});
      for (const Step& step : steps_)
        perform(step, life, &step == &steps_.back() ? fault_of(0) : Fault{});
      add(life);
      if (options_.every_event != 0) {
        crash_everywhere(life);
      } else {
        for (std::size_t image = 0; image < count(options_.images); ++image) live_on(life, image);
      }
      return outcome_;
    } catch (const Violation& violation) {
      throw Violation(violation.invariant,
                      where_ + (where_.empty() ? "" : ": ") + violation.what());
    }
  }

 private:
  static std::size_t count(double value) { return static_cast<std::size_t>(value); }
  /// Bit n of an option.
  static bool bit(double option, std::size_t n) { return (count(option) >> n & 1) != 0; }
  [[nodiscard]] bool is_about(Step step) const { return steps_.back() == step; }

  // ---- what happens

  void perform(Step step, Life& life, Fault fault) {
    const bool close = options_.close != 0;
    switch (step) {
      case Step::create_old:
        return create(life, old_plan_, "create", fault, count(options_.batches), close);
      case Step::leave_old_open:
        return leave_old_open(life);
      case Step::create:
      case Step::overwrite:
        return create(life, new_plan_, "create", fault, count(options_.batches), close);
      case Step::resume:
        return resume(life, new_plan_, fault, count(options_.batches), close);
      case Step::resume_with_more_plans:
        return resume(life,
                      make_plan("new", count(options_.plans) + 2, count(options_.shapes),
                                options_.rooms != 0),
                      fault, count(options_.batches), close);
      case Step::create_part_0:
        return create_part(life, 0, true);
      case Step::create_part_1:
        return create_part(life, 1, close);
      case Step::merge:
        return merge(life, old_, fault);
    }
  }

  /// That of the story, or of the n-th recovery.
  [[nodiscard]] Fault fault_of(std::size_t n) const {
    if (options_.fault == 0 || count(options_.fault_in) != n) return {};
    return {static_cast<Fault::Kind>(options_.fault), count(options_.fault_at)};
  }

  /// Runs what a process does. Nothing but a fault may end it early, and that with a sentence.
  template <class Work>
  bool runs(Disk& disk, Fault fault, const fs::path& file, const Work& work) {
    Process process(disk, reached_, random_.next(), fault);
    const StoreEnvironment env{process, driver_on(process)};
    phase_ = "beginning";
    try {
      work(env, process);
      if (process.fault_happened()) ++reached_["a fault stopped nothing"];
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
    ++reached_[std::string(name) + " while " + phase_];
    // A directory that cannot be synced is named itself.
    if (text.find(file.parent_path().string()) == std::string::npos ||
        text.find('\n') != std::string::npos ||
        (no_space && text.find(std::strerror(ENOSPC)) == std::string::npos))
      throw Violation("a failure that is no sentence", text);
  }

  void create(Life& life, const StorePlan& plan, const char* command, Fault fault,
              std::size_t batches, bool close) {
    runs(life.disk, fault, results, [&](const StoreEnvironment& env, Process& process) {
      auto worlds = life.now();
      worlds.push_back(new_world(plan));
      life.may_hold(worlds);
      auto store = ResultStore::create(results, plan, {{"command", command}},
                                       is_about(Step::overwrite), env);
      auto world = new_world(plan);
      world.sessions = 1;
      run_session(life, process, store, world, batches, close);
    });
  }

  void resume(Life& life, const StorePlan& plan, Fault fault, std::size_t batches, bool close) {
    runs(life.disk, fault, results, [&](const StoreEnvironment& env, Process& process) {
      Worlds of_plan;
      Worlds during;  // until the resume has made sure of names
      for (auto world : life.now()) {
        if (!world.missing && world.plan.settings == plan.settings) {
          world.plan = plan;
          for (const auto id : plan.ids)
            world.versions.try_emplace(std::string(id), std::set{Version{}});
          world.closed = false;
          of_plan.push_back(world);
        }
        during.push_back(world);
      }
      life.may_hold(during);
      phase_ = "resuming";
      std::vector<std::string> report;
      const bool was_open = is_open_for_writing(life.disk);
      auto store = ResultStore::resume(results, plan, {{"command", "resume"}}, &report, env);
      note_report(report, was_open, life.disk);
      auto world = matching(of_plan, plan.settings, store.restored(), "a resume");
      life.may_hold({world});
      run_session(life, process, store, world, batches, close);
    });
  }

  /// By the mark of a writer in the superblock.
  static bool is_open_for_writing(const Disk& disk) {
    const auto* bytes = disk.find(results);
    return bytes != nullptr && bytes->size() > 11 && (*bytes)[11] != 0;
  }

  void note_report(const std::vector<std::string>& report, bool was_open, const Disk& disk) {
    bool rebuilt = false;
    for (const auto& sentence : report) {
      const auto says = [&](const char* words) {
        return sentence.find(words) != std::string::npos;
      };
      rebuilt = rebuilt || says("rebuilt from its log");
      for (const auto& [words, state] :
           {std::pair{"could not be mended", "a file was rebuilt from its log"},
            std::pair{"in the middle of a record", "the end of a log was a cut record"},
            std::pair{"before a batch was complete", "the end of a log lacked its commit"},
            std::pair{"damaged and rebuilt from the log", "a torn row was rebuilt"},
            std::pair{"log of an earlier file", "the log of an earlier file was passed over"}}) {
        if (says(words)) ++reached_[state];
      }
      if (sentence.ends_with("passed over") && disk.find(log_path(results)) != nullptr)
        throw Violation("a log that is of no use stays", sentence);
    }
    if (was_open && !rebuilt) ++reached_["a file was taken up in place"];
  }

  void run_session(Life& life, Process& process, ResultStore& store, World world,
                   std::size_t batches, bool close) {
    for (std::size_t batch = 0; batch < batches; ++batch) {
      life.may_hold({world});
      // A session without results closes nothing.
      store_batch(life, store, world, batch + 1 == batches);
      if (random_.one_in(3)) {
        process.wait(std::chrono::seconds(2));
        phase_ = "publishing";
        store.publish();
      }
      if (random_.one_in(4)) restamp(life, store, world);
    }
    if (!close) return;
    phase_ = "closing";
    store.close({{"finished", "yes"}});
    world.closed = batches > 0;
    if (world.closed) ++world.ended;
    life.may_hold({world});
    if (process.fault_happened()) return;  // a lock that cannot be removed stops nobody
    for (const auto& name : life.disk.names()) {
      if (name.starts_with(results.string()) && name != results.string())
        throw Violation("something is left beside a closed file", name);
    }
  }

  /// Some plans get their next version; `whole`: the first one, too.
  void store_batch(Life& life, ResultStore& store, World& world, bool whole) {
    phase_ = "storing";
    std::vector<PlanResult> chosen;
    World in_flight = world;
    for (std::size_t i = 0; i < world.plan.ids.size(); ++i) {
      auto& versions = world.versions[std::string(world.plan.ids[i])];
      const Version present = *versions.begin();
      if (!(whole && i == 0) && random_.below(present.is_pending() ? 2 : 6) != 0) continue;
      const Version next{present.number + 1};
      chosen.push_back(make_result(world.plan, i, next));
      in_flight.versions[std::string(world.plan.ids[i])].insert(next);
      versions = {next};
    }
    in_flight.closed = world.closed = false;
    life.may_hold({in_flight});
    if (!store.store(chosen).empty())
      throw Violation("a result was refused", "a field had no place");
    if (!chosen.empty()) world.sessions = std::max<std::size_t>(world.sessions, 1);
    life.may_hold({world});
    if (chosen.empty()) return;
    if (random_.one_in(4)) look(life.disk, {world}, "a reader of the open file");
    if (random_.one_in(4)) try_to_write(life.disk, world.plan);
  }

  void restamp(Life& life, ResultStore& store, World& world) {
    phase_ = "stamping";
    std::vector<PlanResult> chosen;
    World in_flight = world;
    for (std::size_t i = 0; i < world.plan.ids.size(); ++i) {
      auto& versions = world.versions[std::string(world.plan.ids[i])];
      const Version present = *versions.begin();
      if (present.is_pending() || present.restamped || random_.one_in(2)) continue;
      const Version next{present.number, true};
      chosen.push_back(make_result(world.plan, i, next));
      in_flight.versions[std::string(world.plan.ids[i])].insert(next);
      versions = {next};
    }
    life.may_hold({in_flight});
    store.restamp(chosen);
    life.may_hold({world});
  }

  /// A second writer, while the file is being written.
  void try_to_write(Disk& disk, const StorePlan& plan) {
    const auto before = disk.events().size();
    Process intruder(disk, reached_, random_.next());
    const StoreEnvironment env{intruder, driver_on(intruder)};
    std::string refusal;
    try {
      if (random_.one_in(2)) {
        static_cast<void>(ResultStore::resume(results, plan, {}, nullptr, env));
      } else {
        static_cast<void>(repair_results(results, env));
      }
    } catch (const RunError& error) {
      refusal = error.what();
    }
    if (refusal.find("is being written by process") == std::string::npos ||
        disk.events().size() != before)
      throw Violation("a second writer came in", refusal);
    ++reached_["a second writer was refused"];
  }

  void create_part(Life& life, std::size_t number, bool close) {
    if (number == 0) merged_ = new_world(new_plan_);
    merged_.sessions = 1;
    runs(life.disk, {}, parts[number], [&](const StoreEnvironment& env, Process&) {
      auto store = ResultStore::create(parts[number], new_plan_, {{"part", std::to_string(number)}},
                                       false, env);
      std::vector<PlanResult> chosen;
      for (std::size_t i = 0; i < new_plan_.ids.size(); ++i) {
        if (i % parts.size() != number && i % 3 != 0) continue;
        chosen.push_back(make_result(new_plan_, i, {1}));
        merged_.versions[std::string(new_plan_.ids[i])] = {Version{1}};
      }
      static_cast<void>(store.store(chosen));
      if (close) store.close({});
    });
  }

  void leave_old_open(Life& life) {
    runs(life.disk, {}, results, [&](const StoreEnvironment& env, Process&) {
      auto store = ResultStore::create(results, old_plan_, {}, false, env);
      old_ = new_world(old_plan_);
      const auto first = make_result(old_plan_, 0, {1});
      static_cast<void>(store.store(std::span(&first, 1)));
      old_.versions[std::string(old_plan_.ids[0])] = {Version{1}};
    });
  }

  void merge(Life& life, const World& before_it, Fault fault) {
    life.may_hold({before_it, merged_});
    const auto before = life.disk.contents();
    runs(life.disk, fault, results, [&](const StoreEnvironment& env, Process&) {
      phase_ = "merging";
      const auto report = merge_results(results, {parts.begin(), parts.end()},
                                        {.allow_missing = true, .overwrite = true}, env);
      if (!report.written) throw Violation("a merge wrote nothing", "");
      auto whole = merged_;
      whole.closed = true;
      life.may_hold({whole});
    });
    const auto now = life.disk.contents();
    for (const auto& [name, bytes] : before) {
      if (!name.starts_with(results.string()) && (!now.contains(name) || now.at(name) != bytes))
        throw Violation("an input was changed", name);
    }
  }

  // ---- what is seen

  static bool may_be_missing(const Worlds& worlds) {
    return std::any_of(worlds.begin(), worlds.end(),
                       [](const World& world) { return world.missing; });
  }

  /// The world that a reader finds, who must not change anything; nothing where there is no file.
  std::optional<World> look(Disk& disk, const Worlds& worlds, const std::string& who) {
    const auto before = disk.events().size();
    const auto log = log_path(results).string();
    if (disk.find(results) == nullptr && disk.find(log) == nullptr) {
      if (may_be_missing(worlds)) return std::nullopt;
      throw Violation("an acknowledged row is lost", who + " finds no file");
    }
    Process process(disk, reached_, random_.next());
    const StoreEnvironment env{process, driver_on(process)};
    try {
      const ResultReader reader(results, env);
      auto found = matching(worlds, reader.settings(), reader.rows(), who);
      check_contents(found, reader, who);
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

  // ---- crashes

  Disk crash(const Disk& disk, std::size_t at, bool power) {
    ++outcome_.amount;
    where_ += (where_.empty() ? "" : "; ") + std::string("crash after event ") +
              std::to_string(at) + (power ? ", power lost" : "");
    if (!power) return disk.killed_after(at, random_.one_in(2) ? random_.next() | 1 : 0);
    return disk.power_lost_after(at, {random_.next(), count(options_.sector)});
  }

  void crash_everywhere(const Life& story) {
    const auto twice = count(options_.twice);
    for (auto at = story.begin(); at <= story.disk.events().size(); ++at) {
      for (const bool power : {false, true}) {
        where_.clear();
        const auto first = recovered(crash(story.disk, at, power), story.after(at), false, {});
        finish(first);
        if (twice == 0 || random_.below(twice) != 0) continue;
        const auto so_far = where_;
        for (auto again = first.begin(); again <= first.disk.events().size(); ++again) {
          where_ = so_far;
          finish(recovered(crash(first.disk, again, power), first.after(again), random_.one_in(2),
                           {}));
        }
      }
    }
  }

  void live_on(const Life& story, std::size_t image) {
    random_ = Random(mixed(seed_, 100 + image));
    where_.clear();
    Life life = story;
    for (std::size_t n = 1; n <= count(options_.crashes); ++n) {
      tell_events(life.disk);
      const auto at = moment(life);
      auto crashed = crash(life.disk, at, bit(options_.power, n));
      life = recovered(std::move(crashed), life.after(at), bit(options_.repair, n), fault_of(n));
      add(life);
      if (n > 1) ++reached_["a crash during a recovery was survived"];
    }
    finish(life);
  }

  /// After any event from its beginning on; most likely where little time is between two steps of a
  /// protocol.
  std::size_t moment(const Life& life) {
    const auto& events = life.disk.events();
    std::vector<std::size_t> likely;
    switch (random_.below(4)) {
      case 0:
        return events.size();
      case 1:
        for (auto i = life.begin(); i < events.size(); ++i) {
          const auto kind = events[i].kind;
          const bool syncs_next = i + 1 < events.size() && events[i + 1].kind == Event::Kind::sync;
          if (kind == Event::Kind::rename || kind == Event::Kind::unlink || syncs_next)
            likely.push_back(i + 1);
        }
        if (!likely.empty()) return likely[random_.below(likely.size())];
        break;
      default:
        break;
    }
    return life.begin() + random_.below(events.size() - life.begin() + 1);
  }

  /// What the end must be: a file that no crash can change any more.
  void finish(const Life& life) {
    const auto end = life.now().front().closed ? life : recovered(life.disk, life.now(), false, {});
    if (!end.now().front().closed) throw Violation("the file cannot be closed", "");
    tell_events(end.disk);
    auto left = end.disk.power_lost_after(end.disk.events().size(),
                                          {random_.next(), count(options_.sector)});
    look(left, end.now(), "a reader at the end");
  }

  /// What a user does after a crash.
  Life recovered(Disk disk, const Worlds& worlds, bool repair, Fault fault) {
    Life life(std::move(disk));
    life.may_hold(worlds);
    const auto found = look(life.disk, worlds, "a reader after a crash");
    if (!found) {
      life.may_hold({no_file});
      if (is_about(Step::merge)) {
        merge(life, no_file, fault);
      } else {
        const auto& plan = is_about(Step::overwrite) ? old_plan_ : new_plan_;
        create(life, plan, "again", fault, 1, true);
      }
      return life;
    }
    if (repair) {
      if (!repaired(life, *found, fault)) return life;
      fault = {};
    }
    resume(life, found->plan, fault, 1, true);
    return life;
  }

  bool repaired(Life& life, const World& found, Fault fault) {
    where_ += ", repaired";
    const bool done = runs(life.disk, fault, results, [&](const StoreEnvironment& env, Process&) {
      phase_ = "repairing";
      const auto report = repair_results(results, env);
      for (const auto& id : report.lost) {
        // What was not acknowledged yet may be called lost, too.
        if (!found.versions.at(id).contains(Version{}))
          throw Violation("an acknowledged row is lost", "a repair says so of " + id);
      }
      ++reached_[report.changed ? "a repair changed the file" : "a repair left the file as it was"];
    });
    if (!done) return false;
    auto mended = look(life.disk, life.now(), "a reader after a repair");
    if (!mended || life.disk.find(log_path(results)) != nullptr)
      throw Violation("a repaired file has a log", "");
    mended->closed = true;
    life.may_hold({*mended});
    return true;
  }

  void add(const Life& life) {
    outcome_.hash = mixed(outcome_.hash, life.disk.hash());
    outcome_.events += life.disk.events().size();
  }

  void tell_events(const Disk& disk) const {
    if (options_.tell != 0) std::fprintf(stderr, "%s\n", disk.told().c_str());
  }

  const Options& options_;
  const std::vector<Step>& steps_;
  const StorePlan new_plan_, old_plan_;
  World old_ = no_file;  ///< what a merge replaces
  World merged_;         ///< what it is to give
  Reached& reached_;
  std::uint64_t seed_;
  Random random_;
  Outcome outcome_;
  std::string phase_;
  std::string where_;  ///< the crashes until now
};

}  // namespace

const std::vector<Option<Options>>& all_options() {
  static const std::vector<Option<Options>> all = [] {
    static std::string names = "0";
    for (std::size_t i = 0; i < stories.size(); ++i)
      names += (i == 0 ? ": " : ", " + std::to_string(i) + ": ") + std::string(stories[i].name);
    return std::vector<Option<Options>>{
        {"story", &Options::story, 0, names.c_str()},
        {"crashes", &Options::crashes, 0, "one in the story, the others in the recoveries"},
        {"fault", &Options::fault, 0, "1 no space, 2 bad sector, 3 short write, 4 failed sync"},
        {"batches", &Options::batches, 0, "that a session stores"},
        {"plans", &Options::plans, 1, "of the campaign"},
        {"shapes", &Options::shapes, 0, "different shapes of fields; 0: none is saved"},
        {"rooms", &Options::rooms, 0, "1: the answers have rooms"},
        {"close", &Options::close, 0, "1: the session ends well"},
        {"fault_at", &Options::fault_at, 0, "the change to the disk, or the sync, that it hits"},
        {"fault_in", &Options::fault_in, 0, "0: the story, n: the n-th recovery"},
        {"power", &Options::power, 0, "bit n: crash n loses power, else the process is killed"},
        {"sector", &Options::sector, 512, "bytes that are written whole or not at all"},
        {"repair", &Options::repair, 0, "bit n: recovery n begins with a repair"},
        {"images", &Options::images, 1, "different lives after the same story"},
        {"every_event", &Options::every_event, 0, "1: crashes at each event, not at random ones"},
        {"twice", &Options::twice, 0,
         "the same: after one in so many a second one at each event of the recovery"},
        {"tell", &Options::tell, 0, "1: print the events between crashes"}};
  }();
  return all;
}

Options expand(std::uint64_t seed) {
  Random random(mixed(seed, 1));
  Options options;
  options.story = random.whole(0, stories.size() - 1);
  options.plans = random.whole(1, 10);
  options.batches = random.whole(0, 4);
  options.shapes = random.one_in(2) ? random.whole(1, 3) : 0;
  options.close = random.one_in(3) ? 0 : 1;
  options.crashes = random.whole(1, 3);
  options.fault = random.one_in(3) ? 0 : random.whole(1, 4);
  options.fault_in = random.whole(0, static_cast<int>(options.crashes));
  // Most often in the first steps, which all stories and recoveries have.
  constexpr std::array ends{3, 11, 24, 59};
  options.fault_at =
      random.whole(0, ends[random.below(ends.size() - (options.fault == 4 ? 1 : 0))]);
  options.power = random.whole(0, 15);
  options.sector = random.one_in(2) ? 512 : 4096;
  options.repair = random.one_in(2) ? random.whole(0, 15) : 0;
  options.images = 4;
  options.rooms = random.one_in(2) ? 1 : 0;
  return options;
}

Options systematic(std::uint64_t number) {
  Options options = expand(number);
  options.story = static_cast<double>(number % stories.size());
  options.shapes = static_cast<double>(number / stories.size() % 2 * 2);
  options.rooms = static_cast<double>(number / stories.size() / 2 % 2);
  options.batches = 3;
  options.plans = 5;
  options.close = 1;
  options.fault = 0;
  options.every_event = 1;
  return options;
}

Outcome live(std::uint64_t seed, const Options& options, Reached& reached) {
  return Story(seed, options, reached).tell();
}

}  // namespace wallheat::simulation
