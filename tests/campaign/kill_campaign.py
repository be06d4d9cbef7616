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
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

PLANS = 60
SIZES = (64, 80, 96)  # cells along a side
RANKS = 4
SESSION_LIMIT_S = 300  # a solver that is stopped while it loads is given 120 s
LEFTOVER_GRACE_S = 15  # for what is on its way out
UNDISTURBED_RESUMES = 3  # a machine under load may take a slow rank for a lost one
TOKEN = "WALLHEAT_KILL_CAMPAIGN"
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


# role: rank, solver, mpirun or other; job: Open MPI's number of the run, where there is one.
Process = collections.namedtuple("Process", "pid role rank job")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def processes(token):
    """The living processes of a session, found by what stands in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        environment = read(f"/proc/{name}/environ").split(b"\0")
        if f"{TOKEN}={token}".encode() not in environment:
            continue
        words = read(f"/proc/{name}/cmdline").decode(errors="replace").split("\0")
        values = dict(each.decode(errors="replace").split("=", 1) for each in environment if b"=" in each)
        rank = values.get("OMPI_COMM_WORLD_RANK", "0")
        role = "other"
        if len(words) > 1 and os.path.basename(words[0]).startswith("wallheat"):
            role = {"run": "rank", "solver-process": "solver"}.get(words[1], "other")
        elif os.path.basename(words[0]) == "mpirun":
            role = "mpirun"
        found.append(Process(int(name), role, int(rank), values.get("OMPI_MCA_ess_base_jobid")))
    return found


def state(pid):
    """What the kernel says of a process: R running, S sleeping, T stopped, Z ended ..."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2][1:2].decode()


def hit(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def size(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def events_of(path):
    """The events of a session; a kill may have cut the last line short."""
    lines = read(path).split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


class Session:
    """One `wallheat run`, from its start until nothing of it is left."""

    def __init__(self, campaign, lane, folder, number, save_fields):
        self.out = os.path.join(folder, "results.h5")
        self.events = os.path.join(folder, f"events-{number}.jsonl")
        self.log = os.path.join(folder, f"log-{number}.txt")
        self.wal_before = size(self.out + ".wal")
        self.token = f"{os.getpid()}-{lane}-{os.path.basename(folder)}-{number}"
        run = [campaign.wallheat, "run", "--data", campaign.plans, "--out", self.out, "--events", self.events,
               "--resume", *RUN_OPTIONS, *(["--save-fields"] if save_fields else [])]
        command = {"alone": run,
                   "mpirun": ["mpirun", "-n", str(RANKS), "--oversubscribe", "--bind-to", "none", *run],
                   "launch": [os.path.join(here, "../../jobs/launch.sh"), "-n", str(RANKS), "--oversubscribe", "--bind-to",
                              "none", "--", *run]}[lane]
        environment = {**os.environ, TOKEN: self.token, "WALLHEAT_SILENCE_S": "10",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "ASAN_OPTIONS": "detect_leaks=0"}  # Open MPI does not give all its memory back
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, start_new_session=True)
        self.began = time.monotonic()
        self.jobs = set()
        self.seen = []  # processes at the last look
        self.looked = 0.0
        self.killed = False
        self.stopped = set()
        self.others_there = self.began  # when ranks were last seen that are not stopped

    def processes(self):
        self.seen = found = processes(self.token)
        self.jobs |= {each.job for each in found if each.job}
        return found

    def running(self):
        """Also looks now and then which job of Open MPI this is, as its shared memory bears that name."""
        now = time.monotonic()
        if now - self.looked > (0.5 if self.jobs else 0.05):
            self.looked = now
            self.processes()
        return self.process.poll() is None

    def overdue(self):
        return time.monotonic() - self.began > SESSION_LIMIT_S

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

    def shared_memory(self):
        names = []
        for job in self.jobs:
            names += glob.glob(f"/dev/shm/vader_segment.*.{os.getuid()}.{int(job):x}.*")
        return names


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
        session = Session(self.campaign, self.lane, self.folder, number, self.save_fields)
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
            left = [f"{each.role} {each.rank} ({each.pid}, {state(each.pid)})" for each in session.processes()]
            self.keep_stacks(session, number)
            self.fail("hangs", f"session {number} has not ended after {SESSION_LIMIT_S} s; there are {', '.join(left)}")
            self.clear(session)
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

    def keep_stacks(self, session, number):
        """What each process of a session that hangs is at, where there is gdb."""
        if shutil.which("gdb") is None:
            return
        with open(os.path.join(self.folder, f"stacks-{number}.txt"), "wb") as file:
            for each in session.processes():
                file.write(f"--- {each.role} {each.rank} ({each.pid})\n".encode())
                file.flush()
                subprocess.run(["timeout", "30", "gdb", "-p", str(each.pid), "-batch", "-ex", "thread apply all bt"],
                               stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL)

    def clear(self, session):
        for _ in range(50):
            left = session.processes()
            for each in left:
                hit(each.pid, signal.SIGKILL)
            if not left:
                break
            time.sleep(0.1)
        session.process.wait()
        for name in session.shared_memory():
            os.remove(name)

    # --- What must hold ---

    def nothing_left(self, session, number, nobody_to_clean):
        end = time.monotonic() + LEFTOVER_GRACE_S
        while (left := session.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            self.fail("leftovers", f"session {number} left {[(each.role, each.rank, each.pid) for each in left]}")
        names = session.shared_memory()
        if names and not nobody_to_clean:
            self.fail("leftovers", f"session {number} left {names}")
        self.clear(session)

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
            export = self.campaign.wallheat_does("export", session.out, "--format", "json")
            if export.returncode in (0, 3, 75):
                rows = {row["id"]: row for row in json.loads(export.stdout)}
            elif results or self.acknowledged:
                self.fail("results lost", f"after session {number}: {export.stderr.strip()}")
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
        out = os.path.join(self.folder, "results.h5")
        reference = self.campaign.reference(self.save_fields)
        csv = self.campaign.wallheat_does("export", out).stdout
        if csv != self.campaign.csv[self.save_fields]:
            self.fail("results lost", "the CSV is not that of the undisturbed run")
        for check in (("verify", out, "--data", self.campaign.plans, "--sample", "0"),
                      ("merge", "--out", os.path.join(self.folder, "merged.h5"), reference, out)):
            done = self.campaign.wallheat_does(*check)
            if done.returncode != 0:
                self.fail("results lost", f"{check[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")


class Campaign:
    def __init__(self, wallheat, seed):
        self.wallheat, self.seed = os.path.abspath(wallheat), seed
        self.tally = Tally()
        self.scratch = tempfile.mkdtemp(prefix="wallheat-kills-")
        self.plans = os.path.join(self.scratch, "plans")
        self.full, self.csv = {}, {}

    def wallheat_does(self, *words):
        return subprocess.run([self.wallheat, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=SESSION_LIMIT_S)

    def reference(self, save_fields):
        return os.path.join(self.scratch, f"undisturbed-{save_fields}", "results.h5")

    def make_plans(self):
        """Plans of several sizes in one directory."""
        os.mkdir(self.plans)
        ids = []
        for number, cells in enumerate(SIZES):
            part = os.path.join(self.scratch, f"plans-{cells}")
            done = self.wallheat_does("generate", "--out", part, "--count", str(PLANS // len(SIZES)), "--size",
                                      str(cells), "--seed", str(number + 1))
            if done.returncode != 0:
                sys.exit(done.stderr)
            with open(os.path.join(part, "building_ids.txt"), encoding="ascii") as file:
                for plan in file.read().split():
                    ids.append(f"{cells}-{plan}")
                    for kind in ("domain", "interior"):
                        os.rename(os.path.join(part, f"{plan}_{kind}.npy"),
                                  os.path.join(self.plans, f"{ids[-1]}_{kind}.npy"))
        with open(os.path.join(self.plans, "building_ids.txt"), "w", encoding="ascii") as file:
            file.write("\n".join(ids) + "\n")

    def run_undisturbed(self):
        """Also measures how far each gauge goes."""
        for save_fields in (False, True):
            folder = os.path.join(self.scratch, f"undisturbed-{save_fields}")
            os.mkdir(folder)
            session = Session(self, "alone", folder, 0, save_fields)
            full = dict.fromkeys(("log", "events", "wal"), 1)
            while session.running():
                full = {gauge: max(value, session.gauge(gauge)) for gauge, value in full.items()}
                time.sleep(0.002)
            if session.process.wait() != 0:
                sys.exit(f"the undisturbed run failed: {read(session.log).decode()}")
            self.full[save_fields] = full
            self.csv[save_fields] = self.wallheat_does("export", session.out).stdout

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
        self.make_plans()
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
