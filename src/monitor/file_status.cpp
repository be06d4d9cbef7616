#include "monitor/file_status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

#include "core/program.hpp"
#include "core/text.hpp"
#include "io/files.hpp"
#include "store/merge.hpp"
#include "store/result_path.hpp"
#include "view/advice.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

void read_status_file(ShardFileStatus& part) {
  const fs::path path = status_file(part.file);
  std::error_code vanished;
  try {
    part.run = read_run_status(path);
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, vanished);
    part.age_s = std::max(0.0, std::chrono::duration<double>(age).count());
  } catch (const RunError& error) {
    part.note = error.what();
  }
  // UTC times sort as strings. A session is in the file after its first result.
  if (part.run && (vanished || part.run->started_utc < text_in(part.session, "started_utc", "")))
    part.run.reset();
  if (!part.run) return;
  part.run_started_utc = part.run->started_utc;
  part.run_exit_status = part.run->exit_status;
}

/// Returns the shard whose plans are solved in this file.
Shard shard_of(const fs::path& file, const Attributes& session) {
  const std::string shard = text_in(session, "shard", "");
  try {
    return shard.empty() ? Shard{} : parse_shard(shard);
  } catch (const UsageError&) {
    throw RunError(fmt::format("{}: invalid shard '{}' in its last session; expected K/N",
                               file.string(), shard));
  }
}

/// On some file systems this host does not see a lock of another host. Then a recent status file
/// shows that the run is in progress.
RunState state_of(bool closed_well, const ShardFileStatus& part) {
  using enum LockHolder::State;
  const LockHolder::State lock_state = part.writer.life;
  const bool is_fresh = part.run && part.run_exit_status < 0 && part.age_s < max_status_age_s;
  if (lock_state == held || (lock_state == unknown && is_fresh)) return RunState::being_written;
  if (closed_well) return RunState::closed;
  if (lock_state == unknown) return RunState::unknown;
  return part.run_exit_status >= 0 ? RunState::failed : RunState::killed;
}

void count_plans(ShardFileStatus& part, const ResultReader& reader) {
  PlanCounts& plans = part.plans;
  reader.for_each_row([&](const PlanResult& row) {
    ++part.header;
    if (!part.shard.contains(row.index)) return;
    plans.solved += is_solved(row.status) ? 1 : 0;
    plans.pending += row.status == PlanStatus::pending ? 1 : 0;
    if (row.status == PlanStatus::failed) part.failures.push_back(row);
    const bool is_of_session = row.session + 1 == reader.sessions().size();
    part.session_plans += is_of_session && row.status != PlanStatus::pending ? 1 : 0;
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
  // Only the run knows which failed plans of earlier sessions it retries.
  const std::size_t others = run.restored + run.solved + run.left;
  plans.failed = std::min(plans.failed, run.total - std::min(run.total, others));
  plans.pending += part.failures.size() - plans.failed;
  plans.running = std::min(run.running, plans.pending);
}

ShardFileStatus shard_status(const fs::path& file) {
  ShardFileStatus part;
  part.file = file;
  // Read the lock before the file, so that a run that ends in between does not look killed.
  part.writer = lock_holder_of(result_path(file));
  // The run is starting.
  if (part.writer.life == LockHolder::State::held && !has_results(file)) {
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
  part.state = state_of(reader.closed_cleanly(), part);
  part.is_whole = reader.is_compacted();
  if (part.state == RunState::closed) part.run.reset();  // the run is over
  part.shard = shard_of(file, part.session);
  count_plans(part, reader);
  return part;
}

/// Computes the sums over all parts, including those whose files do not exist yet.
FileStatus add_totals(FileStatus status) {
  std::size_t header = 0;
  for (const ShardFileStatus& part : status.parts) header = std::max(header, part.header);
  for (ShardFileStatus& part : status.parts) {
    if (part.header == 0) part.plans.pending = part.shard.plan_count(header);
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

/// Returns the number of shards of a campaign whose shard files are next to `whole`; 0 if there are
/// none. Throws RunError if there are those of several arrays.
std::size_t count_shards_next_to(const fs::path& whole) {
  std::set<std::size_t> counts;
  for (const Shard& shard : shards_next_to(whole)) counts.insert(shard.count);
  if (counts.size() > 1)
    throw RunError(fmt::format(
        "{} does not exist, but shard files of arrays of {} jobs do; specify the shard files",
        whole.string(), fmt::join(counts, " and of ")));
  return counts.empty() ? 0 : *counts.begin();
}

}  // namespace

std::string_view to_string(RunState state) {
  constexpr std::array names{"being written", "killed", "unknown", "failed", "not begun", "closed"};
  return names[static_cast<std::size_t>(state)];
}

PlanCounts counts_of(const ResultReader& reader) {
  PlanCounts counts;
  reader.for_each_row([&](const PlanResult& row) {
    ++(is_solved(row.status)              ? counts.solved
       : row.status == PlanStatus::failed ? counts.failed
                                          : counts.pending);
  });
  return counts;
}

std::vector<Shard> shards_next_to(const fs::path& whole) {
  const fs::path path = result_path(whole);
  std::set<std::pair<std::size_t, std::size_t>> found;  // count and number of each shard
  for (const std::string& name : names_starting_with(path.parent_path() / path.stem()))
    if (const auto shard = shard_in_name(name, path)) found.emplace(shard->count, shard->number);
  std::vector<Shard> shards;
  for (const auto& [count, number] : found) shards.push_back({number, count});
  return shards;
}

bool is_being_written(const fs::path& file) {
  return lock_holder_of(result_path(file)).life == LockHolder::State::held;
}

int ShardFileStatus::exit_status() const {
  if (state != RunState::closed || plans.pending > 0 || !is_whole) return exit_incomplete;
  return plans.failed == 0 ? exit_done : exit_some_plans_failed;
}

int ShardFileStatus::session_exit_status() const {
  if (writer.life == LockHolder::State::held) return exit_incomplete;
  if (run_exit_status >= 0) {
    const bool all_done = run_exit_status == exit_done || run_exit_status == exit_some_plans_failed;
    return all_done && exit_status() == exit_incomplete ? exit_incomplete : run_exit_status;
  }
  // A run after the last session has solved nothing.
  const bool is_of_session =
      run_started_utc.empty() || run_started_utc == text_in(session, "started_utc", "");
  return is_of_session && session_plans > 0 ? exit_incomplete : exit_failed;
}

std::string ShardFileStatus::state_text() const {
  if (const auto parts = merged_parts(session); parts && state == RunState::closed)
    return "closed; merged from " + count_text(*parts, "shard file");
  std::string text(to_string(state));
  if (state == RunState::closed)
    if (const std::string ended = text_in(session, "ended_utc", ""); !ended.empty())
      text += " at " + ended;
  if (state == RunState::killed) text = "not closed: its writer was killed";
  if (state == RunState::unknown) text = "not closed: its writer is unreachable";
  if (state == RunState::failed)
    text = fmt::format("not closed: its last run failed with exit status {}, see its messages",
                       run_exit_status);
  if (!writer.pid.empty()) text += fmt::format(", process {} on host {}", writer.pid, writer.host);
  if (!writer.job.empty()) text += ", job " + writer.job;
  if (!writer.since.empty()) text += ", started " + writer.since;
  return text;
}

std::string ShardFileStatus::session_text() const {
  const bool is_running = writer.life == LockHolder::State::held;
  const std::string text = fmt::format("session of {}, {}: {} solved or given up, {} pending",
                                       text_in(session, "started_utc", "unknown time"),
                                       is_running                  ? "being written"
                                       : state == RunState::closed ? "closed"
                                                                   : "not closed",
                                       count_text(session_plans, "plan"), plans.pending);
  const int status = session_exit_status();
  if (is_running || status == exit_done || status == exit_some_plans_failed) return text;
  return fmt::format("{}; to resume, {}", text, resume_hint);
}

RunState FileStatus::state() const {
  return std::ranges::min_element(parts, {}, &ShardFileStatus::state)->state;
}

/// Returns the exit status of a part with pending plans, else of a part with failed plans: the
/// largest number.
int FileStatus::exit_status() const {
  int status = unmerged ? exit_incomplete : exit_done;
  for (const ShardFileStatus& part : parts) status = std::max(status, part.exit_status());
  return status;
}

std::string_view FileStatus::state_word() const {
  if (state() == RunState::being_written) return "running";
  if (state() == RunState::killed || state() == RunState::unknown) return "killed";
  const int status = exit_status();
  if (status == exit_incomplete) return "left";
  return status == exit_some_plans_failed ? "failed" : "done";
}

namespace {

/// Returns the status of all shards of a campaign, also of those whose files do not exist yet.
FileStatus array_status(const fs::path& whole, std::size_t shards) {
  FileStatus status;
  status.file = whole;
  for (std::size_t number = 1; number <= shards; ++number) {
    const Shard shard{number, shards};
    ShardFileStatus part;
    part.file = shard_path(whole, shard);
    if (has_results(part.file) || is_being_written(part.file)) part = shard_status(part.file);
    part.shard = shard;  // the session of a starting run is not stored yet
    status.parts.push_back(std::move(part));
  }
  // The list may have grown since the last run of a shard.
  std::size_t listed = 0;
  for (const ShardFileStatus& part : status.parts) listed = std::max(listed, part.header);
  for (ShardFileStatus& part : status.parts) {
    if (part.header == 0) continue;
    const PlanCounts& plans = part.plans;
    const std::size_t known = plans.solved + plans.failed + plans.pending;
    const std::size_t expected = part.shard.plan_count(listed);
    part.new_plans = expected - std::min(expected, known);
    part.plans.pending += part.new_plans;
  }
  return add_totals(std::move(status));
}

/// Returns true if a shard file next to a merged file, or one of its journals, is newer than the
/// merged file. For most merged files this avoids reading all shard files.
bool has_newer_shard_files(const fs::path& merged) {
  const fs::path path = result_path(merged);
  std::error_code missing;
  const auto merged_at = fs::last_write_time(path, missing);
  if (missing) return false;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), missing)) {
    std::error_code removed;
    if (shard_in_name(entry.path().filename().string(), path) &&
        entry.last_write_time(removed) > merged_at && !removed)
      return true;
  }
  return false;
}

/// Returns the counts of the shard files next to a merged file if they have more results or plans
/// than it.
std::optional<PlanCounts> unmerged_plans(const FileStatus& merged) {
  if (!merged_parts(merged.parts.front().session) || !has_newer_shard_files(merged.file))
    return std::nullopt;
  const auto shards = shards_next_to(merged.file);
  const bool is_one_array = shards.front().count == shards.back().count;
  if (!is_one_array) return std::nullopt;
  const PlanCounts found = array_status(merged.file, shards.front().count).plans;
  const auto answers = [](const PlanCounts& plans) { return plans.solved + plans.failed; };
  const bool has_more =
      answers(found) > answers(merged.plans) ||
      found.pending + answers(found) > merged.plans.pending + answers(merged.plans);
  return has_more ? std::optional(found) : std::nullopt;
}

}  // namespace

FileStatus status_of(const std::vector<fs::path>& files) {
  const fs::path whole = files.size() == 1 ? files.front() : fs::path();
  const bool is_array = !whole.empty() && !has_results(whole) && !is_being_written(whole);
  if (const std::size_t shards = is_array ? count_shards_next_to(whole) : 0; shards > 0)
    return array_status(whole, shards);
  FileStatus status;
  status.file = whole;
  for (const fs::path& file : files) status.parts.push_back(shard_status(file));
  status = add_totals(std::move(status));
  if (!whole.empty()) status.unmerged = unmerged_plans(status);
  return status;
}

}  // namespace wallheat
