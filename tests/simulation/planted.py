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
q, c = ("plan_queue", "plan_giving"), ("coordinator", "coordinator_watch")
mutations = [
    # assignment of plans
    (q, "(unknown - length)", "length"),
    (q, "/ (2 * all_lanes_)", "/ worker.lanes"),
    (q, "worker.mean_s > long_plan_s", "false"),
    (c, "if (!std::exchange(rank.has_spoken, true))", "if (report.ready && !std::exchange(rank.has_spoken, true))"),
    (c, "at(worker).has_spoken = false;", ""),
    (q, "give_copies(*worker, time_left_s, chosen);", "{}"),
    (q, "most_holders = 3", "most_holders = 9"),
    (q, "entry.holders + entry.losses < max_attempts_;", "true;"),
    (q, "entry.holders + entry.losses < max_attempts_;", "entry.losses == 0;"),
    (q, "entry.failures == 0 &&", ""),
    (q, "|| worker.holds(plan)) continue;", ") continue;"),
    (q, "entry.state == State::held && entry.failures", "entry.failures"),
    (q, "here_s >= left_s / 2", "!(here_s < left_s / 2)"),
    (q, "entry.avoid == id && !takes_back", "false"),
    (q, "here_ < 2 && !more_are_expected_", "here_ < 2"),
    (q, "now_s_ - worker.failed_s > wait_for_others_s", "false"),
    (q, "open_ == 0 && !has_troubled_alone())", "open_ == 0)"),
    (q, "if (has_troubled_alone()) return chosen;", ""),
    (q, "if (worker.shares_process && entry.troubles() > 0 && held > 0) return;", ""),
    (q, "if (worker.shares_process && plans_[plan].troubles() > 0) continue;", ""),
    (q, "entry.losses = std::max<std::uint8_t>(entry.losses, 1);", ""),
    (c, "if (stop_) return; auto plans", "auto plans"),
    (q, "*worker = {}; --here_;", "--here_;"),
    (q, "|| time_left_s <= 0) return chosen", ") return chosen"),
    (c, "deadline_s_ - now_s_", "deadline_s_ - looked_s_"),
    (q, "worker.pace->seconds_for(entry.updates) > left_s", "false"),
    (q, "here_s > time_left_s ||", ""),
    (q, "held < worker.lanes ? 0 :", "held < 1 ? 0 :"),
    (q, "caution = 1.3", "caution = 2.6"),
    (q, "make(plans_[plan]); if (is_open) open(plan);", "make(plans_[plan]);"),
    # results and counts
    (q, "if (entry.state == State::answered) return Outcome::second;", ""),
    (q, "if (entry.state == State::failed) entry.state = State::answered;", "if (entry.state == State::failed) return Outcome::second;"),
    (q, "plans_[plan].failures < max_attempts_", "plans_[plan].failures <= max_attempts_"),
    (q, "if (retryable &&", "if ("),
    (q, "if (is_finished(plan)) return Outcome::second;", ""),
    (q, "count(entry.losses);", ""),
    (q, "!is_blamed || entry.losses < max_attempts_", "true"),
    (c, "for (const PlanQueue::Plan plan : queue_.silent(worker))", "for (const PlanQueue::Plan plan : std::vector<PlanQueue::Plan>{})"),
    (q, "++entry.running == 1 &&", "++entry.running > 0 &&"),
    (q, "plans_[plan].attempts = static_cast<std::uint16_t>(std::min(plans[plan].attempts, most));", ""),
    (q, "plans_[plan].failures = static_cast<std::uint16_t>(std::min(plans[plan].failures, most));", ""),
    (q, "if (lease.has_started()) return false;", ""),
    (c, "start(worker, result.plan);", ""),
    (c, "start(worker, plan); queue_.returned(worker, plan, true);", "queue_.returned(worker, plan, true);"),
    (c, "first->second.digest != result.digest", "false"),
    (c, "event.first = at(first->second.worker).info;", "event.first = at(worker).info;"),
    (c, "++event.failures;", ""),
    (c, "std::erase_if(first_answers_, [&](const auto& each) { return !queue_.is_held(each.first); });", ""),
    (c, "event.predicted_s = static_cast<float>(predicted_s);", ""),
    (c, "report.results.clear();", "if (report.results.empty() && !report.ready) return;"),
    (q, "if (entry.state == State::open) close(plan); entry.state = state;", "entry.state = state;"),
    (q, "if (--entry.holders == 0 && entry.state == State::held) open(lease.plan);", "--entry.holders;"),
    (q, "for (const Lease& lease : worker.leases) count_holder(lease);", ";"),
    (q, "if (!worker->silent) for (const Lease& lease : worker->leases) discount_holder", "for (const Lease& lease : worker->leases) discount_holder"),
    (c, "queue_.gone(worker);", ""),
    (c, "if (was_here && report.ready)", "if (false)"),
    (c, "rank.stage == Stage::working || rank.stage == Stage::silent; if", "rank.stage == Stage::working; if"),
    (c, "queue_.returned(worker, plan, false);", ";"),
    # heartbeats
    (c, "awake_s_ = now_s - slept_s_;", "awake_s_ = now_s;"),
    (c, "awake_s_ - rank.heard_s > options_.silence_s", "awake_s_ - rank.heard_s > 2 * options_.silence_s"),
    (c, "!rank.listens && awake_s_ > options_.start_s", "false"),
    (c, "awake_s_ > 2 * options_.start_s", "false"),
    (c, "now_s_ - rank.sent_s < options_.sign_s", "true"),
    (c, "if (!rank.listens || now_s_", "if (rank.stage != Stage::working || now_s_"),
    (c, "const bool is_back = rank.stage == Stage::silent;", "const bool is_back = false;"),
    # end of a run
    (q, "--unfinished_;", ";"),
    (c, "if (queue_.finished()) return RunEnd::finished;", "if (!queue_.any_held()) return RunEnd::finished;"),
    (c, "if (time_left_s <= 0)", "if (time_left_s >= 0)"),
    (c, "if (!queue_.any_held()) ask_to_stop", "if (queue_.open() == 0) ask_to_stop"),
    (c, "if (any_at_work || count(Stage::expected) > 0) return", "if (any_at_work) return"),
    (c, "source_away_ = bye.reason;", ";"),
    (c, "ask_to_stop(\"asked to\", RunEnd::interrupted);", ";"),
    (c, "if (std::isfinite(time_left_s)) end_if", "end_if"),
    (c, "|| count(Stage::working) == 0 || count(Stage::expected) > 0)", "|| count(Stage::working) == 0)"),
    (c, "if (!was_here && stop_) outbox.stops.push_back(worker);", ""),
    (c, "if (stage == Stage::working || stage == Stage::silent) outbox", "if (stage == Stage::working) outbox"),
    (c, "|| awake_s_ - stop_s_ > options_.stop_s", ""),
    (c, "const bool is_over = !any_at_work ||", "const bool is_over = true ||"),
    (c, "attempt->second = {worker, progress};", ";"),
    (c, "note(worker, bye.abandoned);", ""),
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
    flags = ["-std=c++20", "-O1", "-w", "-I", root / "src", "-I", root / "include", "-I", root / "tests"]
    found, numbers = 0, options.numbers or range(1, len(mutations) + 1)
    texts = {number: mutated(mutations[number - 1]) for number in numbers}  # checks that all apply before the first compilation
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)

        def compiled(source, name):
            subprocess.run(["g++", *flags, "-c", source, "-o", build / f"{name}.o"], check=True)

        for source in [*root.glob("src/queue/p[al]*.cpp"), *root.glob("src/queue/coordinator*.cpp"),
                       root / "tests/simulation/simulate.cpp", root / "tests/simulation/judge.cpp"]:
            compiled(source, source.stem)
        for number in numbers:
            name, text = texts[number]
            (build / "mutation.cpp").write_text(text, encoding="utf-8")
            shutil.copy(build / f"{name}.o", build / "original")
            compiled(build / "mutation.cpp", name)
            subprocess.run(["g++", *build.glob("*.o"), "-o", build / "simulate"], check=True)
            shutil.move(build / "original", build / f"{name}.o")
            run = subprocess.run([build / "simulate", options.seeds], capture_output=True, text=True, check=False)
            found += run.returncode != 0
            print(f"{number:2} {mutations[number - 1][1][:60]}: {run.stdout.strip() if run.returncode else 'NOT FOUND'}", flush=True)
    print(f"{found} of {len(numbers)} found")
    return 0 if found == len(numbers) else 1


if __name__ == "__main__":
    sys.exit(main())
