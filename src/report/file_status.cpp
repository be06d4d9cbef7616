#include "report/file_status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <set>
#include <utility>

#include "core/program.hpp"
#include "core/text.hpp"
#include "store/result_path.hpp"
#include "view/advice.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

void read_status_file(PartStatus& part) {
  const fs::path path = status_file(part.file);
  std::error_code gone;
  try {
    part.run = read_run_status(path);
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, gone);
    part.age_s = std::max(0.0, std::chrono::duration<double>(age).count());
  } catch (const RunError& error) {
    part.note = error.what();
  }
  // These texts sort as the times they name. A session is in the file from its first result on.
  if (part.run && (gone || part.run->started_utc < text_in(part.session, "started_utc", "")))
    part.run.reset();
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
RunState state_of(bool closed_well, const PartStatus& part) {
  using enum LockHolder::Life;
  const LockHolder::Life life = part.writer.life;
  if (life == lives || (life == unknown && part.run && part.age_s < fresh_status_s))
    return RunState::being_written;
  if (closed_well) return RunState::closed;
  return life == unknown ? RunState::unknown : RunState::killed;
}

void count_plans(PartStatus& part, const ResultReader& reader) {
  PlanCounts& plans = part.plans;
  reader.for_each_row([&](const PlanResult& row) {
    ++part.campaign;
    if (!part.shard.holds(row.index)) return;
    plans.solved += is_answer(row.status) ? 1 : 0;
    plans.pending += row.status == PlanStatus::pending ? 1 : 0;
    if (row.status == PlanStatus::failed) part.failures.push_back(row);
    const bool is_of_session = row.session + 1 == reader.sessions().size();
    part.of_session += is_of_session && row.status != PlanStatus::pending ? 1 : 0;
  });
  plans.failed = part.failures.size();
  if (const double seconds = number_in(part.session, "seconds");
      part.state == RunState::closed && seconds > 0)
    plans.plans_per_s = number_in(part.session, "solved") / seconds;
  if (!part.run || part.run->state == "starting") return;
  const RunStatus& run = *part.run;
  plans.plans_per_s = run.plans_per_s;
  if (part.state != RunState::being_written) return;
  plans.seconds_left = run.seconds_left;
  // The run knows which of those that failed in earlier sessions it tries again.
  const std::size_t others = run.restored + run.solved + run.left;
  plans.failed = std::min(plans.failed, run.total - std::min(run.total, others));
  plans.pending += part.failures.size() - plans.failed;
  plans.running = std::min(run.running, plans.pending);
}

PartStatus status_of_part(const fs::path& file) {
  PartStatus part;
  part.file = file;
  // Before the file itself, so that a run that ends in between is not taken for killed.
  part.writer = lock_holder_of(result_path(file));
  if (part.writer.life == LockHolder::Life::lives && !has_results(file)) {  // it is being started
    part.state = RunState::being_written;
    read_status_file(part);
    return part;
  }
  const ResultReader reader(file);
  if (!reader.sessions().empty()) part.session = reader.sessions().back();
  read_status_file(part);
  part.solver = text_in(reader.settings(), "solver", "");
  if (const auto version = text_in(reader.settings(), "solver_version", ""); !version.empty())
    part.solver += ' ' + version;
  part.state = state_of(reader.closed_well(), part);
  part.is_whole = reader.is_whole();
  if (part.state == RunState::closed) part.run.reset();  // it is over
  part.shard = shard_of(file, part.session);
  count_plans(part, reader);
  return part;
}

/// Adds the plans of all parts, also of those whose files are not there yet.
FileStatus with_sums(FileStatus status) {
  std::size_t campaign = 0;
  for (const PartStatus& part : status.parts) campaign = std::max(campaign, part.campaign);
  for (PartStatus& part : status.parts) {
    if (part.campaign == 0)
      part.plans.pending = (campaign + part.shard.count - part.shard.number) / part.shard.count;
    status.plans.solved += part.plans.solved;
    status.plans.failed += part.plans.failed;
    status.plans.pending += part.plans.pending;
    status.plans.running += part.plans.running;
    status.plans.seconds_left = std::max(status.plans.seconds_left, part.plans.seconds_left);
    const bool counts = part.state == RunState::being_written || !status.is_array();
    if (counts && part.plans.plans_per_s)
      status.plans.plans_per_s = status.plans.plans_per_s.value_or(0) + *part.plans.plans_per_s;
  }
  return status;
}

/// The shard that a name beside `whole` tells of: that of a part, or of what lies beside one that
/// is being started, or of which only the log is left.
std::optional<Shard> shard_in(const std::string& name, const fs::path& whole) {
  const std::string prefix = whole.stem().string() + ".part-";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint32_t number = 0;
  std::uint32_t count = 0;
  const char* const end = name.data() + name.size();
  const char* const mark = std::from_chars(name.data() + prefix.size(), end, number).ptr;
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
  const auto recorded = number_of<int>(text_in(session, "exit_status"));
  if (!recorded) return exit_status();  // as of a merged file
  const int status = *recorded;
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

/// That of a part with work left, else of one with failed plans: the larger number.
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
  FileStatus status;
  if (files.size() == 1) status.file = files.front();
  const fs::path& whole = status.file;
  const bool is_array = !whole.empty() && !has_results(whole) && !is_being_written(whole);
  const std::size_t shards = is_array ? shards_beside(whole) : 0;
  for (std::size_t number = 1; number <= shards; ++number) {
    const Shard shard{number, shards};
    PartStatus part;
    part.file = shard_path(whole, shard);
    if (has_results(part.file) || is_being_written(part.file)) part = status_of_part(part.file);
    part.shard = shard;  // one that is being started does not say it yet
    status.parts.push_back(std::move(part));
  }
  if (shards == 0)
    for (const fs::path& file : files) status.parts.push_back(status_of_part(file));
  return with_sums(std::move(status));
}

}  // namespace wallheat
