#!/usr/bin/env python3
"""Kills whole runs of wallheat at random moments, resumes them, and compares with an undisturbed run.

Three lanes run side by side: `wallheat run` by itself, under plain mpirun, and through jobs/launch.sh.
A lane takes rounds: a new result file, sessions that are hit by a few kills, and resumes until all is
done. A kill waits for a moment (so many bytes in the log, the events or the write-ahead log; so many
processes; the end of the run) and hits a victim, both drawn from the seed; which processes are there
by then is up to the machine.

What must hold, after each session:
  * what an earlier event log called a result is still there, unchanged, and is never handed out again;
  * status 0 only if all is done and the file is closed, and no plan is blamed for what it did not do;
  * no process and no shared memory is left (after a kill of everything at once nobody is there to
    remove shared memory: then only processes count);
and of each round: it ends within a bounded number of resumes, none of which hangs; its CSV, and every row and
field as `wallheat merge` compares them bit for bit, are those of the undisturbed run; it verifies.

Two leniencies, under plain mpirun only; through jobs/launch.sh such runs must end by themselves, and clean:
  * mpirun waits for ever for a rank that is stopped (SIGSTOP) when all others have ended well. The file is closed
    by then and nothing of wallheat is left to notice; so after 15 s the campaign wakes that rank, and says so.
  * mpirun of Open MPI 4.1.4 sometimes crashes when it is told to end while it cleans up after a death: then, too,
    nobody is there to remove shared memory. Counted at the end.

Exit status: 0 if all of that held, 1 if not; what failed is kept and named.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

from sessions import Program, Session, events_of, hit, read, size

PLANS = 60
SIZES = (64, 80, 96)  # cells along a side
RANKS = 4
SESSION_LIMIT_S = 300  # a solver that is stopped while it loads is given 120 s
LEFTOVER_GRACE_S = 15  # for what is on its way out
UNDISTURBED_RESUMES = 3  # a machine under load may take a slow rank for a lost one
RUN_OPTIONS = ("--tolerance 0 --max-iterations 20000 --threads 1 --progress lines --log-level debug --shard none "
               "--time-limit none --worker-timeout 1 --plan-timeout 2 --max-attempts 1000").split()

# What may happen, and how often, in each lane.
COMMON = {"solver SIGKILL": 4, "solver SIGSTOP": 1, "launcher SIGTERM": 2, "launcher SIGUSR1": 3,
          "rank 0 SIGKILL": 3, "rank 0 pause": 1, "everything SIGKILL": 2}
RANKED = {**COMMON, "worker SIGKILL": 5, "worker SIGSTOP": 3, "worker pause": 2, "rank 0 SIGSTOP": 1}
DEADLY = ("everything SIGKILL", "rank 0 SIGKILL", "launcher SIGTERM", "launcher SIGUSR1")  # end a session
LANES = {"alone": (1, COMMON), "mpirun": (2, RANKED), "launch": (2, RANKED)}  # share of the kills
GAUGES = {"log": 3, "events": 4, "wal": 4, "processes": 2, "end": 1}

here = os.path.dirname(os.path.abspath(__file__))


class Tally:
    """What all lanes report to."""

    def __init__(self):
        self.lock = threading.Lock()
        self.kills = collections.Counter()
        self.failures = collections.Counter({"results lost": 0, "hangs": 0, "leftovers": 0, "other failures": 0})
        self.sessions = self.rounds = self.acknowledged = self.mpirun_crashes = 0
        self.longest_s = 0.0
        self.kept = set()

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def fail(self, kind, folder, text):
        with self.lock:
            self.failures[kind] += 1
            self.kept.add(folder)
            print(f"FAILED  {kind}: {text}   [{folder}]", flush=True)


class KilledSession(Session):
    """One `wallheat run`, from its start until nothing of it is left."""

    def __init__(self, campaign, lane, folder, number, save_fields):
        self.out = os.path.join(folder, "results.h5")
        self.events = os.path.join(folder, f"events-{number}.jsonl")
        self.log = os.path.join(folder, f"log-{number}.txt")
        self.wal_before = size(self.out + ".wal")
        run = [campaign.wallheat.path, "run", "--data", campaign.plans, "--out", self.out, "--events", self.events,
               "--resume", *RUN_OPTIONS, *(["--save-fields"] if save_fields else [])]
        command = {"alone": run,
                   "mpirun": ["mpirun", "-n", str(RANKS), "--oversubscribe", "--bind-to", "none", *run],
                   "launch": [os.path.join(here, "../../jobs/launch.sh"), "-n", str(RANKS), "--oversubscribe", "--bind-to",
                              "none", "--", *run]}[lane]
        super().__init__(command, f"{os.getpid()}-{lane}-{os.path.basename(folder)}-{number}", self.log,
                         {"WALLHEAT_SILENCE_S": "10"})
        self.killed = False
        self.stopped = set()
        self.others_there = self.began  # when ranks were last seen that are not stopped

    def overdue(self):
        return self.age_s() > SESSION_LIMIT_S

    def gauge(self, name):
        if name == "log":
            return size(self.log)
        if name == "events":
            return size(self.events)
        if name == "wal":
            return size(self.out + ".wal") - self.wal_before
        if name == "processes":
            return len([each for each in self.processes() if each.role != "other"])
        return int(b'"event":"run_' in read(self.events).partition(b'"event":"run_started"')[2])


class Round:
    """A result file, from nothing to done."""

    def __init__(self, campaign, lane, number, chance, kills):
        self.campaign, self.lane, self.chance, self.kills = campaign, lane, chance, kills
        self.name = f"{lane} round {number}"
        self.tally = campaign.tally
        self.folder = os.path.join(campaign.scratch, f"{lane}-{number}")
        self.save_fields = chance.random() < 0.4
        self.acknowledged = {}  # id: the row as it was first seen
        self.done_kills = 0
        os.mkdir(self.folder)

    def fail(self, kind, text):
        self.tally.fail(kind, self.folder, f"{self.name}: {text}")

    def run(self):
        """Returns how many kills met somebody."""
        number = undisturbed = 0
        while True:
            status = self.session(number)
            if status is None:
                return self.done_kills  # hung: what follows would only say it again
            number += 1
            if status == 0:
                break
            if self.done_kills >= self.kills or number > 4 * self.kills:
                undisturbed += 1
                if undisturbed > UNDISTURBED_RESUMES:
                    self.fail("hangs", f"still not done after {number} sessions")
                    return self.done_kills
        self.compare()
        with self.tally.lock:
            self.tally.rounds += 1
            self.tally.acknowledged += len(self.acknowledged)
            kept = self.folder in self.tally.kept
        if not kept:
            shutil.rmtree(self.folder)
        return self.done_kills

    # --- A session and its kills ---

    def session(self, number):
        session = KilledSession(self.campaign, self.lane, self.folder, number, self.save_fields)
        last = None
        while self.done_kills < self.kills and last not in DEADLY:
            moment = self.moment()
            if not self.wait_for(session, moment):
                break
            last = self.kill(session, moment, number)
        while session.running() and not session.overdue():
            time.sleep(0.01)
            self.wake_the_last(session)
        if session.running():
            left = session.left(grace_s=0)
            session.keep_stacks(os.path.join(self.folder, f"stacks-{number}.txt"))
            self.fail("hangs", f"session {number} has not ended after {SESSION_LIMIT_S} s; there are {', '.join(left)}")
            session.clear()
            return None
        status = session.process.wait()
        took_s = time.monotonic() - session.began
        crashed = self.lane == "mpirun" and -status in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)
        with self.tally.lock:
            self.tally.sessions += 1
            self.tally.mpirun_crashes += crashed
            self.tally.longest_s = max(self.tally.longest_s, took_s)
        self.nothing_left(session, number, nobody_to_clean=crashed or last == "everything SIGKILL")
        self.check_results(session, number, status)
        self.tally.say(f"        {self.name}: session {number} ended with {status} after {took_s:.1f} s, "
                       f"{len(self.acknowledged)} of {PLANS} acknowledged")
        return status

    def moment(self):
        gauge = self.chance.choices(list(GAUGES), GAUGES.values())[0]
        part = self.chance.random()
        pause_s = self.chance.random() * 0.03
        left = 1 - len(self.acknowledged) / PLANS
        full = self.campaign.full[self.save_fields]
        if gauge == "end":
            return gauge, 1, pause_s / 3
        if gauge == "processes":
            return gauge, 1 + int(part * (2 if self.lane == "alone" else 2 * RANKS)), pause_s
        return gauge, 1 + int(part * left * full[gauge]), pause_s

    def wait_for(self, session, moment):
        gauge, least, pause_s = moment
        before = session.gauge(gauge) if session.killed and gauge not in ("processes", "end") else 0
        while session.running() and not session.overdue():
            if session.gauge(gauge) >= before + least:
                time.sleep(pause_s)  # what is written comes in bursts: this spreads the moments
                return session.running()
            self.wake_the_last(session)  # with nobody else left the moment would never come
            time.sleep(0.001)
        return False

    def wake_the_last(self, session):
        """Plain mpirun waits for ever for a stopped rank when the others have ended well, and nobody is left
        to notice."""
        if self.lane != "mpirun":
            return
        ranks = {each.pid for each in session.seen if each.role == "rank"}
        if not ranks or not ranks <= session.stopped:
            session.others_there = time.monotonic()
        elif time.monotonic() - session.others_there > LEFTOVER_GRACE_S:
            for pid in ranks:
                hit(pid, signal.SIGCONT)
            session.stopped.clear()
            self.tally.say(f"        {self.name}: the last rank was stopped when the others had ended; woken")

    def kill(self, session, moment, number):
        there = session.processes()
        victims = {"solver": [each.pid for each in there if each.role == "solver"],
                   "worker": [each.pid for each in there if each.role == "rank" and each.rank > 0],
                   "rank 0": [each.pid for each in there if each.role == "rank" and each.rank == 0],
                   "launcher": [session.process.pid],
                   # Solvers must find out by themselves.
                   "everything": [each.pid for each in there if each.role != "solver"]}
        weights = {kind: weight for kind, weight in LANES[self.lane][1].items() if victims[kind.rpartition(" ")[0]]}
        kind = self.chance.choices(list(weights), weights.values())[0]
        who, _, what = kind.rpartition(" ")
        chosen = victims[who] if who == "everything" else [self.chance.choice(victims[who])]
        self.chance.shuffle(chosen)
        for pid in chosen:
            hit(pid, signal.SIGSTOP if what == "pause" else getattr(signal, what))
        if what == "pause":
            until = time.monotonic() + self.chance.random() * 2.5  # the worker's time-out is 1 s
            while time.monotonic() < until:
                time.sleep(0.02)
            for pid in chosen:
                hit(pid, signal.SIGCONT)
        if what == "SIGSTOP":
            session.stopped.update(chosen)
        session.killed = True
        self.done_kills += 1
        with self.tally.lock:
            self.tally.kills[f"{self.lane}: {kind}"] += 1
            count = sum(self.tally.kills.values())
        self.tally.say(f"kill {count:4}  {self.name}, session {number}: {kind} "
                       f"when {moment[0]} had come to {moment[1]}")
        return kind

    # --- What must hold ---

    def nothing_left(self, session, number, nobody_to_clean):
        if left := session.left(LEFTOVER_GRACE_S):
            self.fail("leftovers", f"session {number} left {', '.join(left)}")
        names = session.shared_memory()
        if names and not nobody_to_clean:
            self.fail("leftovers", f"session {number} left {names}")
        session.clear()

    def check_results(self, session, number, status):
        try:
            events = events_of(session.events)
        except ValueError as error:
            self.fail("other failures", f"session {number}: the event log holds a line that is not JSON: {error}")
            return
        again = {event["id"] for event in events if event.get("id") in self.acknowledged}
        if again:
            self.fail("results lost", f"session {number} works again on what was acknowledged: {sorted(again)}")
        blamed = [event for event in events if event["event"] in ("failure", "conflict")]
        if blamed or status in (2, 3):
            self.fail("other failures", f"session {number} ended with {status} and blames plans: {blamed}")
        results = {event["id"] for event in events if event["event"] == "result"}

        rows = {}
        if os.path.exists(session.out) or os.path.exists(session.out + ".wal"):
            try:
                rows = self.campaign.wallheat.rows(session.out)
            except RuntimeError as error:
                if results or self.acknowledged:
                    self.fail("results lost", f"after session {number}: {error}")
        for plan in sorted(results | set(self.acknowledged)):
            row = rows.get(plan)
            if row is None or row["status"] in ("pending", "failed"):
                self.fail("results lost", f"plan {plan} was acknowledged; after session {number} it is "
                                          f"{row and row['status']}")
            elif self.acknowledged.setdefault(plan, row) != row:
                self.fail("results lost", f"plan {plan} has changed in session {number}: from "
                                          f"{self.acknowledged[plan]} to {row}")
        pending = [row["id"] for row in rows.values() if row["status"] in ("pending", "failed")]
        beside = [part for part in (".wal", ".lock", ".status") if os.path.exists(session.out + part)]
        if status == 0 and (len(rows) != PLANS or pending or beside):
            self.fail("other failures", f"session {number} ended with 0, but there are {len(rows)} rows, {len(pending)} "
                                        f"plans are not solved, and beside the file lie {beside}")

    def compare(self):
        for fault in self.campaign.wallheat.faults_of(
                os.path.join(self.folder, "results.h5"), self.campaign.plans, self.campaign.reference(self.save_fields),
                os.path.join(self.folder, "merged.h5")):
            self.fail("results lost", fault)


class Campaign:
    def __init__(self, wallheat, seed):
        self.wallheat, self.seed = Program(wallheat), seed
        self.tally = Tally()
        self.scratch = tempfile.mkdtemp(prefix="wallheat-kills-")
        self.plans = os.path.join(self.scratch, "plans")
        self.full = {}

    def reference(self, save_fields):
        return os.path.join(self.scratch, f"undisturbed-{save_fields}", "results.h5")

    def run_undisturbed(self):
        """Also measures how far each gauge goes."""
        for save_fields in (False, True):
            folder = os.path.join(self.scratch, f"undisturbed-{save_fields}")
            os.mkdir(folder)
            session = KilledSession(self, "alone", folder, 0, save_fields)
            full = dict.fromkeys(("log", "events", "wal"), 1)
            while session.running():
                full = {gauge: max(value, session.gauge(gauge)) for gauge, value in full.items()}
                time.sleep(0.002)
            if session.process.wait() != 0:
                sys.exit(f"the undisturbed run failed: {read(session.log).decode()}")
            self.full[save_fields] = full

    def lane(self, name, kills):
        chance = random.Random(f"{self.seed} {name}")
        number = met = 0
        try:
            while met < kills and number < 2 * kills:
                number += 1
                met += Round(self, name, number, chance, min(chance.randint(1, 6), kills - met)).run()
        except Exception as error:  # a lane that breaks must not look like one that is done
            self.tally.fail("other failures", self.scratch, f"the lane '{name}' broke: {error!r}")
            raise
        if met < kills:
            self.tally.fail("other failures", self.scratch, f"the lane '{name}' met a victim {met} times of {kills}")

    def run(self, kills):
        began = time.monotonic()
        print(f"{kills} kills, seed {self.seed}", flush=True)
        self.wallheat.make_plans(self.plans, [(cells, PLANS // len(SIZES)) for cells in SIZES])
        self.run_undisturbed()
        shares = sum(share for share, _ in LANES.values())
        counts = {name: kills * share // shares for name, (share, _) in LANES.items()}
        counts["mpirun"] += kills - sum(counts.values())
        lanes = [threading.Thread(target=self.lane, args=each) for each in counts.items()]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()

        tally = self.tally
        print("\nkills by kind:")
        for kind, count in sorted(tally.kills.items()):
            print(f"  {count:5}  {kind}")
        print(f"{sum(tally.kills.values())} kills, {tally.rounds} rounds, {tally.sessions} sessions "
              f"(the longest took {tally.longest_s:.1f} s), {tally.acknowledged} results, "
              f"{tally.mpirun_crashes} crashes of mpirun itself")
        print(", ".join(f"{kind} {count}" for kind, count in tally.failures.items()))
        print(f"{time.monotonic() - began:.0f} s, seed {self.seed}")
        failed = sum(tally.failures.values()) > 0
        if failed:
            print("kept: " + " ".join(sorted(tally.kept)))
        else:
            shutil.rmtree(self.scratch)
        return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, metavar="N", help="how many (default: 20)")
    parser.add_argument("--seed", type=int, metavar="S", help="the same seed chooses the same moments (default: random)")
    parser.add_argument("wallheat", metavar="WALLHEAT", help="the program")
    arguments = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun")
        return 77
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    return Campaign(arguments.wallheat, seed).run(arguments.kills)


if __name__ == "__main__":
    sys.exit(main())
