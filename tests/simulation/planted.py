#!/usr/bin/env python3
"""Mutation test of rank 0's state machines: each mutation must violate a requirement of the simulation (judge.cpp).

Arguments: numbers of mutations (default: all). --seeds N (default: 3000). Exit status: 0 if all are found.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
q, c = ("plan_queue",), ("coordinator",)
mutations = [
    # assignment of plans
    (q, "(unknown - length)", "length"),
    (q, "/ (2 * total_slots_)", "/ worker.slots"),
    (q, "worker.mean_plan_s > long_plan_s", "false"),
    (c, "if (!std::exchange(state.awaiting_assignment, true))", "if (report.ready && !std::exchange(state.awaiting_assignment, true))"),
    (c, "state_of(worker).awaiting_assignment = false;", ""),
    (q, "assign_copies(*worker, time_left_s, chosen);", "{}"),
    (q, "max_leases = 3", "max_leases = 9"),
    (q, "entry.lease_count + entry.lost_workers < max_attempts_;", "true;"),
    (q, "entry.lease_count + entry.lost_workers < max_attempts_;", "entry.lost_workers == 0;"),
    (q, "entry.failures == 0 &&", ""),
    (q, "|| worker.holds(plan)) continue;", ") continue;"),
    (q, "entry.state == State::leased && entry.failures", "entry.failures"),
    (q, "here_s >= left_s / 2", "!(here_s < left_s / 2)"),
    (q, "entry.last_failed_on == id && !may_take_back", "false"),
    (q, "worker_count_ < 2 && !more_are_expected_", "worker_count_ < 2"),
    (q, "if (now_s_ - worker.last_failure_s <= same_worker_retry_delay_s) return false;", "return false;"),
    (q, "queued_ == 0 && !is_quarantined())", "queued_ == 0)"),
    (q, "if (is_quarantined()) return chosen;", ""),
    (q, "if (worker.shares_process && entry.suspicion() > 0 && held > 0) return;", ""),
    (q, "if (worker.shares_process && plans_[plan].suspicion() > 0) continue;", ""),
    (q, "entry.lost_workers = std::max<std::uint8_t>(entry.lost_workers, 1);", ""),
    (c, "if (requested_end_) return; auto plans", "auto plans"),
    (q, "*worker = {}; --worker_count_;", "--worker_count_;"),
    (q, "|| time_left_s <= 0) return chosen", ") return chosen"),
    (c, "deadline_s_ - now_s_", "deadline_s_ - last_check_s_"),
    (q, "worker.model->predict_seconds(entry.updates) > left_s", "false"),
    (q, "here_s > time_left_s ||", ""),
    (q, "held < worker.slots ? 0 :", "held < 1 ? 0 :"),
    (q, "safety_factor = 1.3", "safety_factor = 2.6"),
    (q, "make(plans_[plan]); if (is_queued) enqueue(plan);", "make(plans_[plan]);"),
    # results and counts
    (q, "if (entry.state == State::solved) return Outcome::duplicate;", ""),
    (q, "if (entry.state == State::failed) entry.state = State::solved;", "if (entry.state == State::failed) return Outcome::duplicate;"),
    (q, "plans_[plan].failures < max_attempts_", "plans_[plan].failures <= max_attempts_"),
    (q, "if (retryable &&", "if ("),
    (q, "if (is_finished(plan)) return Outcome::duplicate;", ""),
    (q, "increment_saturating(entry.lost_workers);", ""),
    (q, "!is_failed || entry.lost_workers < max_attempts_", "true"),
    (c, "for (const QueueIndex plan : queue_.on_worker_lost(worker))", "for (const QueueIndex plan : std::vector<QueueIndex>{})"),
    (q, "++entry.running == 1 &&", "++entry.running > 0 &&"),
    (q, "plans_[plan].attempts = static_cast<std::uint16_t>(std::min(plans[plan].attempts, max_count));", ""),
    (q, "plans_[plan].failures = static_cast<std::uint16_t>(std::min(plans[plan].failures, max_count));", ""),
    (q, "if (lease.has_started()) return false;", ""),
    (c, "mark_started(worker, result.plan, result.seconds);", ""),
    (c, "mark_started(worker, plan, 0); queue_.on_returned(worker, plan, true);", "queue_.on_returned(worker, plan, true);"),
    (c, "first->second.result_hash != result.result_hash", "false"),
    (c, "event.first_worker = state_of(first->second.worker).info;", "event.first_worker = state_of(worker).info;"),
    (c, "++event.failures;", ""),
    (c, "std::erase_if(first_results_, [&](const auto& each) { return !queue_.is_leased(each.first); });", ""),
    (c, "event.predicted_s = static_cast<float>(predicted_s);", ""),
    (c, "report.results.clear();", "if (report.results.empty() && !report.ready) return;"),
    (q, "if (entry.state == State::queued) dequeue(plan); entry.state = state;", "entry.state = state;"),
    (q, "if (--entry.lease_count == 0 && entry.state == State::leased) enqueue(lease.plan);", "--entry.lease_count;"),
    (q, "for (const Lease& lease : worker.leases) add_lease_holder(lease);", ";"),
    (q, "if (!worker->lost) for (const Lease& lease : worker->leases) remove_lease_holder", "for (const Lease& lease : worker->leases) remove_lease_holder"),
    (c, "queue_.on_worker_left(worker); set_stage(state, Stage::departed); emit", "set_stage(state, Stage::departed); emit"),
    (c, "if (was_here && report.ready)", "if (false)"),
    (c, "state.stage == Stage::active || state.stage == Stage::lost; if", "state.stage == Stage::active; if"),
    (c, "queue_.on_returned(worker, plan, false);", ";"),
    # bad hosts
    (c, "max_host_errors = 3", "max_host_errors = 4"),
    (c, "|| queue_.finished()) return; queue_", ") return; queue_"),
    (c, "queue_.on_worker_left(worker); set_stage(state, Stage::departed); if", "set_stage(state, Stage::departed); if"),
    (c, "if (!requested_end_) outbox.stop_requests.push_back(worker); Event", "Event"),
    (c, "source_outage_reason_ = event.worker->name() + \": \" + event.reason;", ""),
    (c, "result.kind != TaskResult::Kind::failed", "result.kind == TaskResult::Kind::retryable"),
    (q, "if (!worker->has_solved || !has_failed_before)", "if (!has_failed_before)"),
    (q, "if (!worker->has_solved || !has_failed_before)", ""),
    (q, "if (worker.leases[index].started_s < *worker.last_host_error_s) return;", ""),
    (q, "worker.last_host_error_s.reset(); worker.host_errors = 0;", "worker.last_host_error_s.reset();"),
    (q, "worker.last_host_error_s.reset(); worker.host_errors = 0;", "worker.host_errors = 0;"),
    (q, "!worker.last_host_error_s || std", "true || std"),
    (q, "&other != &worker && other.slots > 0 && !other.lost;", "&other != &worker && other.slots > 0;"),
    # heartbeats
    (c, "awake_s_ = now_s - stalled_s_;", "awake_s_ = now_s;"),
    (c, "awake_s_ - state.last_received_s > options_.heartbeat_timeout_s", "awake_s_ - state.last_received_s > 2 * options_.heartbeat_timeout_s"),
    (c, "!state.reachable && awake_s_ > options_.startup_timeout_s", "false"),
    (c, "awake_s_ > 2 * options_.startup_timeout_s", "false"),
    (c, "now_s_ - state.last_sent_s < options_.heartbeat_interval_s", "true"),
    (c, "if (!state.reachable || now_s_", "if (state.stage != Stage::active || now_s_"),
    (c, "const bool is_back = state.stage == Stage::lost;", "const bool is_back = false;"),
    # end of a run
    (q, "--unfinished_;", ";"),
    (c, "if (queue_.finished()) return RunEnd::finished;", "if (!queue_.any_leased()) return RunEnd::finished;"),
    (c, "if (time_left_s <= 0)", "if (time_left_s >= 0)"),
    (c, "if (!queue_.any_leased()) request_stop", "if (queue_.queued_count() == 0) request_stop"),
    (c, "if (any_active || count(Stage::starting) > 0) return", "if (any_active) return"),
    (c, "source_outage_reason_ = bye.reason;", ";"),
    (c, "request_stop(\"stop requested\", RunEnd::interrupted);", ";"),
    (c, "if (std::isfinite(time_left_s)) stop_if", "stop_if"),
    (c, "|| count(Stage::active) == 0 || count(Stage::starting) > 0)", "|| count(Stage::active) == 0)"),
    (c, "if (!was_here && requested_end_) outbox.stop_requests.push_back(worker);", ""),
    (c, "if (stage == Stage::active || stage == Stage::lost) outbox", "if (stage == Stage::active) outbox"),
    (c, "|| awake_s_ - stop_requested_s_ > options_.stop_timeout_s", ""),
    (c, "const bool is_over = !any_active ||", "const bool is_over = true ||"),
    (c, "attempt->second = {worker, progress};", ";"),
    (c, "update_progress(worker, bye.aborted);", ""),
    (c, "if (queue_.attempts(plan) > before) attempts_[plan]", "attempts_[plan]"),
]


def mutated(mutation):
    """Returns the name of a file and its text with the mutation, independent of white space."""
    names, old, new = mutation
    pattern = re.compile(r"\s*".join(re.escape(part) for part in re.findall(r"\w+|[^\w\s]", old)))
    found = []
    for name in names:
        text = (root / "src/queue" / f"{name}.cpp").read_text(encoding="utf-8")
        code = re.sub(r"\s*//[^\n]*", lambda comment: " ", text)
        found += [(name, pattern.sub(lambda _: new, code))] * len(pattern.findall(code))
    if len(found) != 1:
        sys.exit(f"planted.py: {old!r} is {len(found)} times in {' and '.join(names)}, not once")
    return found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--seeds", default="3000")
    options = parser.parse_args()
    # Functions are linked separately, because statistics.cpp also contains functions that need the rest of core.
    flags = ["-std=c++20", "-O1", "-w", "-ffunction-sections", "-I", root / "src", "-I", root / "include", "-I", root / "tests"]
    found, numbers = 0, options.numbers or range(1, len(mutations) + 1)
    texts = {number: mutated(mutations[number - 1]) for number in numbers}  # checks that all apply before the first compilation
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)

        def compiled(source, name):
            subprocess.run(["g++", *flags, "-c", source, "-o", build / f"{name}.o"], check=True)

        for source in [*root.glob("src/queue/p[al]*.cpp"), root / "src/queue/duration_model.cpp", *root.glob("src/queue/coordinator*.cpp"),
                       root / "src/core/statistics.cpp", root / "tests/simulation/simulate.cpp", root / "tests/simulation/judge.cpp"]:
            compiled(source, source.stem)
        for number in numbers:
            name, text = texts[number]
            (build / "mutation.cpp").write_text(text, encoding="utf-8")
            shutil.copy(build / f"{name}.o", build / "original")
            compiled(build / "mutation.cpp", name)
            subprocess.run(["g++", "-Wl,--gc-sections", *build.glob("*.o"), "-o", build / "simulate"], check=True)
            shutil.move(build / "original", build / f"{name}.o")
            run = subprocess.run([build / "simulate", options.seeds], capture_output=True, text=True, check=False)
            found += run.returncode != 0
            print(f"{number:2} {mutations[number - 1][1][:60]}: {run.stdout.strip() if run.returncode else 'NOT FOUND'}", flush=True)
    print(f"{found} of {len(numbers)} found")
    return 0 if found == len(numbers) else 1


if __name__ == "__main__":
    sys.exit(main())
