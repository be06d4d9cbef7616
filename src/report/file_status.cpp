#include "report/file_status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "core/exit_status.hpp"
#include "core/plural.hpp"
#include "report/attributes.hpp"
#include "store/result_path.hpp"
#include "view/advice.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

void read_status_file(PartStatus& look) {
  const fs::path path = status_file(look.file);
  std::error_code gone;
  try {
    look.run = read_run_status(path);
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, gone);
    look.age_s = std::max(0.0, std::chrono::duration<double>(age).count());
  } catch (const RunError& error) {
    look.note = error.what();
  }
  // These texts sort as the times they name. A session is in the file from its first result on.
  if (look.run && (gone || look.run->started_utc < text_in(look.session, "started_utc", "")))
    look.run.reset();
}

/// Which rows are to be solved in this file; the others are in other files.
Shard shard_of(const fs::path& file, const Attributes& session) {
  const std::string shard = text_in(session, "shard", "");
  try {
    return shard.empty() ? Shard{} : parse_shard(shard);
  } catch (const UsageError&) {
    throw RunError(fmt::format("{}: its last session names the shard '{}', which is not K/N",
                               file.string(), shard));
  }
}

/// A lock of another host may be held without this host seeing it: then a fresh status tells.
RunState state_of(bool closed_well, const PartStatus& look) {
  using enum LockHolder::Life;
  const LockHolder::Life life = look.writer.life;
  if (life == lives || (life == unknown && look.run && look.age_s < fresh_status_s))
    return RunState::being_written;
  if (closed_well) return RunState::closed;
  return life == unknown ? RunState::unknown : RunState::killed;
}

void count_plans(PartStatus& look, const ResultReader& reader) {
  PlanCounts& plans = look.plans;
  reader.for_each_row([&](const PlanResult& row) {
    ++look.campaign;
    if (!look.shard.holds(row.index)) return;
    plans.solved += is_answer(row.status) ? 1 : 0;
    plans.pending += row.status == PlanStatus::pending ? 1 : 0;
    if (row.status == PlanStatus::failed) look.failures.push_back(row);
    const bool is_of_session = row.session + 1 == reader.sessions().size();
    look.of_session += is_of_session && row.status != PlanStatus::pending ? 1 : 0;
  });
  plans.failed = look.failures.size();
  if (const double seconds = number_in(look.session, "seconds");
      look.state == RunState::closed && seconds > 0)
    plans.plans_per_s = number_in(look.session, "solved") / seconds;
  if (!look.run || look.run->state == "starting") return;
  const RunStatus& run = *look.run;
  plans.plans_per_s = run.plans_per_s;
  if (look.state != RunState::being_written) return;
  plans.seconds_left = run.seconds_left;
  // The run knows which of those that failed in earlier sessions it tries again.
  const std::size_t others = run.restored + run.solved + run.left;
  plans.failed = std::min(plans.failed, run.total - std::min(run.total, others));
  plans.pending += look.failures.size() - plans.failed;
  plans.running = std::min(run.running, plans.pending);
}

PartStatus status_of_part(const fs::path& file) {
  PartStatus look;
  look.file = file;
  // Before the file itself, so that a run that ends in between is not taken for killed.
  look.writer = lock_holder_of(result_path(file));
  if (look.writer.life == LockHolder::Life::lives && !has_results(file)) {  // it is being started
    look.state = RunState::being_written;
    read_status_file(look);
    return look;
  }
  const ResultReader reader(file);
  if (!reader.sessions().empty()) look.session = reader.sessions().back();
  read_status_file(look);
  look.solver = text_in(reader.settings(), "solver", "");
  if (const auto version = text_in(reader.settings(), "solver_version", ""); !version.empty())
    look.solver += ' ' + version;
  look.state = state_of(reader.closed_well(), look);
  look.is_whole = reader.is_whole();
  if (look.state == RunState::closed) look.run.reset();  // it is over
  look.shard = shard_of(file, look.session);
  count_plans(look, reader);
  return look;
}

/// Adds the plans of all parts, also of those whose files are not there yet.
FileStatus with_sums(FileStatus look) {
  std::size_t campaign = 0;
  for (const PartStatus& part : look.parts) campaign = std::max(campaign, part.campaign);
  for (PartStatus& part : look.parts) {
    if (part.campaign == 0)
      part.plans.pending = (campaign + part.shard.count - part.shard.number) / part.shard.count;
    look.plans.solved += part.plans.solved;
    look.plans.failed += part.plans.failed;
    look.plans.pending += part.plans.pending;
    look.plans.running += part.plans.running;
    look.plans.seconds_left = std::max(look.plans.seconds_left, part.plans.seconds_left);
    const bool counts = part.state == RunState::being_written || !look.is_array();
    if (counts && part.plans.plans_per_s)
      look.plans.plans_per_s = look.plans.plans_per_s.value_or(0) + *part.plans.plans_per_s;
  }
  return look;
}

/// The shard that a name beside `whole` tells of: that of a part, or of what lies beside one that
/// is being started, or of which only the log is left.
std::optional<Shard> shard_in(const std::string& name, const fs::path& whole) {
  const std::string beginning = whole.stem().string() + ".part-";
  if (!name.starts_with(beginning)) return std::nullopt;
  std::uint32_t number = 0;
  std::uint32_t count = 0;
  const char* const end = name.data() + name.size();
  const char* const mark = std::from_chars(name.data() + beginning.size(), end, number).ptr;
  if (!std::string_view(mark, end).starts_with("-of-")) return std::nullopt;
  (void)std::from_chars(mark + 4, end, count);
  if (number < 1 || number > count) return std::nullopt;
  const Shard shard{number, count};
  const std::string part = shard_path(whole, shard).filename().string();
  const bool is_of_it = name == part || name.starts_with(part + '.');
  return is_of_it ? std::optional(shard) : std::nullopt;
}

/// Into how many parts a campaign was cut, as the names of files beside `whole` tell; 0 if there
/// are none.
std::size_t shards_beside(const fs::path& whole) {
  const fs::path path = result_path(whole);
  std::set<std::size_t> counts;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), missing))
    if (const auto shard = shard_in(entry.path().filename().string(), path))
      counts.insert(shard->count);
  if (counts.size() > 1)
    throw RunError(fmt::format(
        "{} is not there, but parts of arrays of {} jobs are; name the parts that are meant",
        whole.string(), fmt::join(counts, " and of ")));
  return counts.empty() ? 0 : *counts.begin();
}

}  // namespace

std::string_view to_string(RunState state) {
  constexpr std::array names{"being written", "killed", "unknown", "not begun", "closed"};
  return names[static_cast<std::size_t>(state)];
}

bool is_being_written(const fs::path& file) {
  return lock_holder_of(result_path(file)).life == LockHolder::Life::lives;
}

int PartStatus::exit_status() const {
  if (state != RunState::closed || plans.pending > 0 || !is_whole) return exit_work_left;
  return plans.failed == 0 ? exit_done : exit_some_plans_failed;
}

int PartStatus::session_exit_status() const {
  if (writer.life == LockHolder::Life::lives) return exit_work_left;
  if (state != RunState::closed) return of_session > 0 ? exit_work_left : exit_failed;
  const double told = number_in(session, "exit_status");
  if (std::isnan(told)) return exit_status();
  const int status = static_cast<int>(told);
  const bool all_done = status == exit_done || status == exit_some_plans_failed;
  return all_done && !is_whole ? exit_work_left : status;
}

std::string PartStatus::session_text() const {
  const bool lives = writer.life == LockHolder::Life::lives;
  const std::string text = fmt::format("session of {}, {}: {} solved or given up, {} left",
                                       text_in(session, "started_utc", "unknown time"),
                                       lives                       ? "being written"
                                       : state == RunState::closed ? "closed"
                                                                   : "left open",
                                       counted(of_session, "plan"), plans.pending);
  const int status = session_exit_status();
  if (lives || status == exit_done || status == exit_some_plans_failed) return text;
  return fmt::format("{}; to go on, {}", text, resume_same);
}

RunState FileStatus::state() const {
  return std::ranges::min_element(parts, {}, &PartStatus::state)->state;
}

/// Of a part with work left, else of one with failed plans: the larger number.
int FileStatus::exit_status() const {
  int status = exit_done;
  for (const PartStatus& part : parts) status = std::max(status, part.exit_status());
  return status;
}

std::string_view FileStatus::word() const {
  if (state() == RunState::being_written) return "running";
  if (state() == RunState::killed || state() == RunState::unknown) return "killed";
  const int status = exit_status();
  if (status == exit_work_left) return "left";
  return status == exit_some_plans_failed ? "failed" : "done";
}

FileStatus status_of(const std::vector<fs::path>& files) {
  FileStatus look;
  if (files.size() == 1) look.file = files.front();
  const fs::path& whole = look.file;
  const bool is_array = !whole.empty() && !has_results(whole) && !is_being_written(whole);
  const std::size_t shards = is_array ? shards_beside(whole) : 0;
  for (std::size_t number = 1; number <= shards; ++number) {
    const Shard shard{number, shards};
    PartStatus part;
    part.file = shard_path(whole, shard);
    if (has_results(part.file) || is_being_written(part.file)) part = status_of_part(part.file);
    part.shard = shard;  // one that is being started does not say it yet
    look.parts.push_back(std::move(part));
  }
  if (shards == 0)
    for (const fs::path& file : files) look.parts.push_back(status_of_part(file));
  return with_sums(std::move(look));
}

}  // namespace wallheat
