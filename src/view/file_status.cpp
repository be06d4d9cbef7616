#include "view/file_status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/bytes.hpp"
#include "core/exit_status.hpp"
#include "store/merge.hpp"
#include "store/result_path.hpp"
#include "view/advice.hpp"
#include "view/bytes_text.hpp"
#include "view/gpu_text.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

// A writer replaces its status every two seconds, and a file server may show an old one for a
// while.
constexpr double fresh_s = 30;
constexpr std::size_t longest_list = 20;

void read_status_file(FileStatus& look) {
  const fs::path path = status_file(look.file);
  try {
    look.run = read_run_status(path);
    if (!look.run) return;
    std::error_code gone;
    const auto written = fs::last_write_time(path, gone);
    if (gone) return look.run.reset();
    look.age_s = std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count();
  } catch (const DecodeError&) {
    look.note = path.string() + " is damaged and was passed over";
    return;
  } catch (const RunError& error) {
    look.note = error.what();
    return;
  }
  // These texts sort as the times they name. A session is in the file from its first result on.
  const auto started = look.session.find("started_utc");
  if (started == look.session.end() || look.run->started_utc >= started->second) return;
  look.run.reset();
  look.note = path.string() + " is of an earlier session and was passed over";
}

/// Which rows are to be solved in this file; the others are in other files.
Shard shard_of(const fs::path& file, const Attributes& session) {
  const auto found = session.find("shard");
  if (found == session.end() || found->second.empty()) return {};
  try {
    return parse_shard(found->second);
  } catch (const UsageError&) {
    throw RunError(fmt::format("{}: its last session names the shard '{}', which is not K/N",
                               file.string(), found->second));
  }
}

/// A lock of another host may be held without this host seeing it: then a fresh status tells.
RunState state_of(bool closed_well, const FileStatus& look) {
  const bool is_fresh = look.run && look.age_s < fresh_s;
  switch (look.writer.life) {
    case LockHolder::Life::lives:
      return RunState::being_written;
    case LockHolder::Life::unknown:
      if (is_fresh) return RunState::being_written;
      return closed_well ? RunState::closed : RunState::unknown;
    case LockHolder::Life::none:
    case LockHolder::Life::dead:
      break;
  }
  return closed_well ? RunState::closed : RunState::killed;
}

std::string state_text(const FileStatus& look) {
  std::string text(to_string(look.state));
  if (look.state == RunState::closed) {
    if (const auto parts = merged_parts(look.session))
      return fmt::format("{}; merged from {} part(s)", text, *parts);
    const auto ended = look.session.find("ended_utc");
    return ended == look.session.end() ? text : text + " at " + ended->second;
  }
  if (look.state == RunState::killed) text = "left open: its writer was killed";
  if (look.state == RunState::unknown) text = "left open: its writer does not answer";
  if (!look.writer.pid.empty())
    text += fmt::format(", process {} on host {}", look.writer.pid, look.writer.host);
  if (!look.writer.job.empty()) text += ", job " + look.writer.job;
  if (!look.writer.since.empty()) text += ", started " + look.writer.since;
  return text;
}

std::string plan_text(const RunningPlan& plan, double age_s) {
  std::string text = fmt::format("{} ({}", plan.id, duration_text(plan.seconds + age_s));
  if (plan.iterations > 0) text += fmt::format(", iteration {}", plan.iterations);
  if (!std::isnan(plan.delta)) text += fmt::format(", delta {:.2g} °C", plan.delta);
  return text + ")";
}

void print_file_fact(const char* name, const std::string& text) { print_fact(name, text, 11); }

void print_workers(const FileStatus& look) {
  const RunStatus& status = *look.run;
  // Of a run that lives, times go on since the status was written; of a dead one they stand still.
  const bool lives = look.state == RunState::being_written;
  const double age_s = lives ? std::max(0.0, look.age_s) : 0;
  if (status.workers.empty()) return;
  std::vector<std::vector<std::string>> rows{
      {"rank", "host", "device", "threads", "memory", "plans", "heard ago", "state", "at work on"}};
  for (const WorkerStatus& worker : status.workers) {
    std::string running;
    for (const RunningPlan& plan : worker.running)
      running += (running.empty() ? "" : ", ") + plan_text(plan, age_s);
    if (worker.running_plans > worker.running.size())
      running += fmt::format(", and {} more", worker.running_plans - worker.running.size());
    rows.push_back({fmt::format("{}", worker.rank), worker.host, worker.device,
                    fmt::format("{}", worker.threads), peak_memory_text(worker.peak_memory),
                    fmt::format("{}", worker.plans), duration_text(worker.last_heard_s + age_s),
                    worker.state, running});
  }
  const auto lines = table_lines("rllrrrrll", rows);
  constexpr std::size_t indent = 6;
  fmt::print("\n{}", lives ? "" : "the workers when they were last heard of\n");
  print_line(lines.front(), indent);
  for (std::size_t i = 0; i < status.workers.size(); ++i) {
    print_line(lines[i + 1], indent);
    if (const auto& gpu = status.workers[i].gpu)
      print_line(std::string(indent, ' ') + "GPU: " + gpu_text(*gpu), indent);
  }
  auto others = status.worker_states;
  for (const WorkerStatus& worker : status.workers)
    if (others[worker.state] > 0) --others[worker.state];
  std::vector<std::string> texts;
  for (const auto& [state, workers] : others)
    if (workers > 0) texts.push_back(fmt::format("{} {}", workers, state));
  if (!texts.empty())
    print_line(fmt::format("and of the other workers: {}", fmt::join(texts, ", ")), indent);
}

void print_failed(const FileStatus& look) {
  if (look.failed.empty()) return;
  fmt::print("\nfailed plans\n");
  std::vector<std::vector<std::string>> rows;
  for (const PlanResult& plan : look.failed) {
    if (rows.size() == longest_list) break;
    rows.push_back({plan.id, fmt::format("{} attempt(s): {}", plan.attempts, plan.error)});
  }
  print_table("ll", rows, table_margin);
  if (look.failed.size() > rows.size())
    fmt::print("  and {} more; --json lists all\n", look.failed.size() - rows.size());
}

/// What plans without a start wait for.
std::string wait_reason(const FileStatus& look, std::size_t plans) {
  const std::string who =
      plans == 1 ? "1 plan was never started" : fmt::format("{} plans were never started", plans);
  switch (look.state) {
    case RunState::being_written:
      return who + ": they wait for a free worker";
    case RunState::closed:
      return who + ": the last run was stopped, or its time was up, before their turn";
    case RunState::killed:
      return who + ": the run was killed before their turn";
    case RunState::unknown:
      break;
  }
  return who + ": the run does not answer";
}

/// Nothing of a plan that was simply solved.
std::string reason_of(const PlanResult& row, const FileStatus& look) {
  const std::string starts =
      fmt::format("{} start(s), {} of them failed", row.attempts, row.failures);
  const std::string error = row.error.empty() ? "" : ": " + row.error;
  switch (row.status) {
    case PlanStatus::failed:
      return fmt::format("failed at each of {} start(s){}", row.attempts, error);
    case PlanStatus::pending:
      return fmt::format(
          "{} after {}{}",
          look.state == RunState::being_written ? "runs or waits to run again" : "has no answer",
          starts, error);
    case PlanStatus::max_iterations:
      return fmt::format(
          "stopped after {} iterations, the last of which changed {:.3g} °C: raise "
          "--max-iterations, or take --solver steady",
          row.iterations, row.last_delta);
    case PlanStatus::empty:
      return "has no interior cell, so there is nothing to solve";
    case PlanStatus::converged:
      break;
  }
  if (row.failures > 0) return fmt::format("solved after {}", starts);
  if (row.attempts > 1)
    return fmt::format("solved at start {}, as runs ended before", row.attempts);
  return row.fell_back != 0 ? "solved by the exact iteration, where fastforward gains nothing" : "";
}

}  // namespace

std::vector<PlanReason> reasons_of(const FileStatus& look) {
  std::vector<PlanReason> reasons;
  std::size_t never_started = 0;
  if (!has_results(look.file)) return reasons;
  ResultReader(look.file).for_each_row([&](const PlanResult& row) {
    if (!look.shard.holds(row.index)) return;
    if (row.status == PlanStatus::pending && row.attempts == 0 && row.error.empty()) {
      ++never_started;
    } else if (std::string reason = reason_of(row, look); !reason.empty()) {
      reasons.push_back({row.id, std::move(reason)});
    }
  });
  if (never_started > 0) reasons.push_back({"", wait_reason(look, never_started)});
  return reasons;
}

std::string_view word_of(int exit_status) {
  if (exit_status == exit_work_left) return "left";
  return exit_status == exit_some_plans_failed ? "failed" : "done";
}

std::string_view to_string(RunState state) {
  switch (state) {
    case RunState::closed:
      return "closed";
    case RunState::being_written:
      return "being written";
    case RunState::killed:
      return "killed";
    case RunState::unknown:
      break;
  }
  return "unknown";
}

bool is_being_written(const fs::path& file) {
  return lock_holder_of(result_path(file)).life == LockHolder::Life::lives;
}

std::optional<double> FileStatus::plans_per_s() const {
  if (run) return run->state == "starting" ? std::nullopt : std::optional(run->plans_per_s);
  const auto number = [&](const char* name) {
    const auto found = session.find(name);
    return found == session.end() ? 0.0 : std::strtod(found->second.c_str(), nullptr);
  };
  if (state != RunState::closed || number("seconds") <= 0) return std::nullopt;
  return number("solved") / number("seconds");
}

std::optional<double> FileStatus::seconds_left() const {
  return run && state == RunState::being_written ? run->seconds_left : std::nullopt;
}

std::string FileStatus::advice() const {
  const auto go_on = [&](const std::string& more = "") {
    return merged_parts(session) ? "run '" + resume_command(file.string()) + more + "'"
                                 : resume_same + more;
  };
  switch (state) {
    case RunState::closed:
      if (pending > 0) return "to go on, " + go_on();
      if (!failed.empty())
        return "mend the input of the failed plans, then " + go_on(and_retry_failed);
      if (!is_whole)
        return "all is solved; 'wallheat repair " + file.string() +
               "' makes one file of it and its journals";
      return "nothing to do";
    case RunState::being_written:
      if (run && age_s > fresh_s)
        return fmt::format(
            "wait; but it has not written its status for {}: see whether it is stopped or waits "
            "for a file system",
            duration_text(age_s));
      return "wait";
    case RunState::killed:
      return "nothing stored is lost: to go on, " + go_on() +
             ", or make the file whole with 'wallheat "
             "repair'";
    case RunState::unknown:
      break;
  }
  return fmt::format(
      "see whether process {} on host {} still lives; if not, {}, or make the file whole with "
      "'wallheat repair'",
      writer.pid, writer.host, go_on());
}

int FileStatus::exit_status() const {
  if (state != RunState::closed || pending > 0 || !is_whole) return exit_work_left;
  return failed.empty() ? exit_done : exit_some_plans_failed;
}

std::string_view FileStatus::word() const {
  if (state == RunState::being_written) return "running";
  if (state != RunState::closed) return "killed";
  return word_of(exit_status());
}

int FileStatus::session_exit_status() const {
  const auto told = session.find("exit_status");
  if (writer.life == LockHolder::Life::lives) return exit_work_left;
  if (state != RunState::closed) return of_session > 0 ? exit_work_left : exit_failed;
  if (told == session.end()) return exit_status();
  const int status = std::atoi(told->second.c_str());
  const bool all_done = status == exit_done || status == exit_some_plans_failed;
  return all_done && !is_whole ? exit_work_left : status;
}

std::string FileStatus::session_text() const {
  const auto started = session.find("started_utc");
  const bool lives = writer.life == LockHolder::Life::lives;
  std::string text =
      fmt::format("session of {}, ", started == session.end() ? "unknown time" : started->second);
  text += lives ? "being written" : state == RunState::closed ? "closed" : "left open";
  text += fmt::format(": {} plan(s) solved or given up, {} left", of_session, pending);
  const int status = session_exit_status();
  if (lives || status == exit_done || status == exit_some_plans_failed) return text;
  return text + "; to go on, " + resume_same;
}

FileStatus status_of(const fs::path& file) {
  FileStatus look;
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
  for (const char* name : {"solver", "solver_version"}) {
    const auto found = reader.settings().find(name);
    if (found != reader.settings().end())
      look.solver += (look.solver.empty() ? "" : " ") + found->second;
  }
  look.state = state_of(reader.closed_well(), look);
  look.is_whole = reader.is_whole();
  if (look.state == RunState::closed) look.run.reset();  // it is over
  look.shard = shard_of(file, look.session);
  reader.for_each_row([&](const PlanResult& row) {
    ++look.campaign;
    if (!look.shard.holds(row.index)) return;
    const bool is_settled = is_answer(row.status) || row.status == PlanStatus::failed;
    if (is_settled && row.session + 1 == reader.sessions().size()) ++look.of_session;
    look.solved += is_answer(row.status) ? 1 : 0;
    look.pending += row.status == PlanStatus::pending ? 1 : 0;
    if (row.status == PlanStatus::failed) look.failed.push_back(row);
  });
  return look;
}

void print_text(const FileStatus& look) {
  const bool lives = look.state == RunState::being_written;
  print_line(fmt::format("{}: {}", look.file.string(), state_text(look)), 2);
  const std::size_t total = look.solved + look.failed.size() + look.pending;
  print_file_fact(
      "plans",
      fmt::format("{}{}", total,
                  look.shard.count > 1 ? fmt::format(" in shard {}", look.shard.text()) : ""));
  fmt::print("  solved   {}\n  failed   {}\n  pending  {}\n", look.solved, look.failed.size(),
             look.pending);
  if (!look.solver.empty()) print_file_fact("solver", look.solver);
  if (const auto rate = look.plans_per_s())
    print_file_fact("rate", rate_text(*rate) + (lives ? "" : " at last"));
  if (const auto left = look.seconds_left()) print_file_fact("left", duration_text(*left));
  if (look.run)
    print_file_fact("status", fmt::format("{}written {} ago", lives ? look.run->state + ", " : "",
                                          duration_text(std::max(0.0, look.age_s))));
  if (!look.note.empty()) print_file_fact("note", look.note);
  print_file_fact("advice", look.advice());
  if (look.run) print_workers(look);
  print_failed(look);
}

Json to_json(const FileStatus& look) {
  const auto or_null = [](const std::optional<double>& number) {
    return number ? Json(*number) : Json(nullptr);
  };
  Json json = {{"file", look.file.string()},
               {"state", to_string(look.state)},
               {"advice", look.advice()},
               {"writer",
                {{"host", look.writer.host},
                 {"pid", look.writer.pid},
                 {"job", look.writer.job},
                 {"since", look.writer.since}}},
               {"solver", look.solver},
               {"shard", look.shard.count > 1 ? Json(look.shard.text()) : Json(nullptr)},
               {"total", look.solved + look.failed.size() + look.pending},
               {"solved", look.solved},
               {"failed", look.failed.size()},
               {"pending", look.pending},
               {"plans_per_s", or_null(look.plans_per_s())},
               {"seconds_left", or_null(look.seconds_left())}};
  json["failed_plans"] = Json::array();
  for (const PlanResult& plan : look.failed)
    json["failed_plans"].push_back(
        {{"id", plan.id}, {"attempts", plan.attempts}, {"error", plan.error}});
  json["status_age_s"] = look.run ? Json(look.age_s) : Json(nullptr);
  json["status"] = look.run ? to_json(*look.run) : Json(nullptr);
  // What it was doing then is not what it does now.
  if (look.run && look.state != RunState::being_written)
    json["status"]["state"] = to_string(look.state);
  if (!look.note.empty()) json["note"] = look.note;
  return json;
}

void print_line(const FileStatus& look) {
  const auto rate = look.plans_per_s();
  const auto left = look.seconds_left();
  fmt::print("{} {}: {} solved, {} failed, {} pending{}{}\n", utc_now(), to_string(look.state),
             look.solved, look.failed.size(), look.pending,
             rate && *rate > 0 ? ", " + rate_text(*rate) : "",
             left ? fmt::format(", {} left", duration_text(*left)) : "");
}

}  // namespace wallheat
