#!/usr/bin/env python3
"""Sends every signal to every process of a run in every phase; the run must end as documented.

A cell of the matrix is a launcher, a victim, a phase and a signal:

  --where    alone, mpirun, launch.sh
  --victim   rank0, worker (with a plan in progress, if the phase has one), solver (its solver process), launcher
             (mpirun or launch.sh), everybody (all at once, as schedulers do)
  --phase    start    rank 0 reads the ids file, and is blocked there by a named pipe
             ready    the workers' solver processes load
             solving  a plan is stored, another one has started
             storing  a result is in the journal, but not in the event log
             closing  all plans are solved, and the result file is open
  --signal   KILL, TERM, INT, HUP, USR1, USR2, PIPE; STOP until the timeouts expire and then CONT (STOP-CONT) or
             KILL (STOP-KILL); USR1 and, when the run logs that it is stopping, TERM (USR1-TERM)

Phases are detected from outside: by the event log, the journal, and /proc. When the run seems to be in the phase, all
ranks and solver processes are stopped. If the phase is confirmed, the signal is sent. Then the processes continue. So a
cell is reproducible. With --random cells are drawn from a seed, and "solving" is any time, not the first result.

Requirements: the exit status is the documented one (promises.py); no process, shared memory or temporary file is left;
a message describes the outcome; results of the event log are never solved again; a resume ends with 0; the results equal
those of an undisturbed run.

Exit status: 0 if all cells pass, 1 if not; the files of failed cells are kept and named.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from phases import PLANS, STRIKE_LIMIT, WORKERS, BlockedIdsFile, Run, read
from promises import KILLED, PHASES, SIGNALS, VICTIMS, WHERE, Cell, cells, promise

COMMAND_LIMIT_S = 300
LEFTOVER_GRACE_S = 20
# A run whose launcher was killed ends by itself, at the latest after the timeout for the finalization of MPI.
ORPHAN_GRACE_S = 60
# Duration of STOP in s, by victim. The timeouts are 1 s for a worker, 4 s for rank 0, or 15 s if launch.sh ends it, and 2 s for
# a solver.
STOP_S = {"worker": 4, "rank0": 16, "solver": 6, "launcher": 4, "everybody": 6}
MAX_SESSIONS = 20  # attempts to observe a phase; on a busy machine, half of them miss "storing"
OPTIONS = """data = {plans}
out = results.h5
events = {events}
save-fields = true
tolerance = 0
max-iterations = 40000
threads = 1
progress = lines
shard = none
worker-timeout = 1
plan-timeout = 2
max-attempts = 1000
"""
# Cells of the default run: each signal, victim, phase and launcher occurs at least once.
SHORT = [Cell(*words.split()) for words in (
    "alone rank0 start TERM", "alone rank0 storing KILL", "alone rank0 solving INT", "alone solver solving STOP-KILL",
    "alone rank0 closing HUP", "mpirun launcher solving USR1", "mpirun worker storing USR2", "mpirun rank0 ready KILL",
    "launch.sh worker solving KILL", "launch.sh worker solving STOP-CONT", "launch.sh launcher closing TERM",
    "launch.sh everybody solving INT", "launch.sh launcher solving USR1-TERM", "alone solver solving PIPE")]

launcher = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../jobs/launch.sh"))


class Trial:
    """One attempt to run a cell."""

    def __init__(self, matrix, cell, number):
        self.matrix, self.cell = matrix, cell
        # Number of results before the signal in the phase "solving": one, or a random number.
        self.solved = 1 if matrix.seed is None else random.Random(f"{matrix.seed} {number}").randint(1, STRIKE_LIMIT - WORKERS)
        self.folder = os.path.join(matrix.scratch, f"{number}")
        self.faults = []
        self.status = None

    def run_cell(self):
        """Runs the cell, and collects violations of the requirements in `faults`."""
        for _ in range(MAX_SESSIONS):
            shutil.rmtree(self.folder, ignore_errors=True)
            os.mkdir(self.folder)
            ids_file = BlockedIdsFile(f"wallheat-{os.getpid()}-{os.path.basename(self.folder)}", self.matrix.ids) \
                if self.cell.phase == "start" else None
            run = self.matrix.start(self.cell.where, self.folder, 0, ids_file)
            run.solved_before_strike = self.solved
            try:
                if self.strike(run, ids_file):
                    self.check_outcome(run)
                    break
            finally:
                if ids_file:
                    ids_file.release()
                run.clear()
        else:
            self.faults.append(f"the phase was not observed in {MAX_SESSIONS} sessions")

    def strike(self, run, ids_file):
        """Sends the signal in the phase; returns whether the phase was observed."""
        cell, phase = self.cell, self.cell.phase
        while True:
            if not run.is_running_in_time():
                return False
            if not run.may_be_in(phase, ids_file):
                time.sleep(0.0003)
                continue
            run.stop()
            victims = run.find(cell.victim)
            if victims and run.is_in(phase):
                break
            run.resume()
            if run.has_passed(phase):
                return False
        first, _, then = cell.signal.partition("-")
        files = self.opened(victims)
        self.send(first, files)
        if ids_file:
            ids_file.release()
        stops = first == "STOP"
        run.resume(but_for=victims if stops else ())
        if then:
            limit_s = STOP_S["worker" if cell.where == "alone" and cell.victim == "rank0" else cell.victim]
            end = time.monotonic() + limit_s
            while run.running() and (stops or b'"event":"stopping"' not in read(run.events)) and time.monotonic() < end:
                time.sleep(0.01)
            self.send(then, files)
        for file in files:
            os.close(file)
        return True

    @staticmethod
    def opened(processes):
        """Returns file descriptors of the processes that still exist, because process IDs may be reused."""
        files = []
        for each in processes:
            try:
                files.append(os.pidfd_open(each.pid))
            except ProcessLookupError:
                pass
        return files

    @staticmethod
    def send(name, files):
        for file in files:
            try:
                signal.pidfd_send_signal(file, getattr(signal, "SIG" + name))
            except ProcessLookupError:
                pass

    # --- Requirements ---

    def check_outcome(self, run):
        cell, promised = self.cell, promise(self.cell)
        while run.is_running_in_time():
            time.sleep(0.01)
        self.status = run.process.poll()
        if self.status is None:
            self.faults.append(f"the run does not end; processes: {', '.join(run.leftover_processes(grace_s=0))}")
            return
        if self.status not in promised.statuses:
            self.faults.append(f"status {self.status}, not {' or '.join(map(str, sorted(promised.statuses)))}")
        is_orphan = cell.victim in ("launcher", "everybody") and cell.signal.endswith("KILL")
        self.check_leftovers(run, is_orphan)
        self.check_messages(run, promised)
        self.check_events(run)
        self.resume(run)

    def check_leftovers(self, run, is_orphan):
        if left := run.leftover_processes(ORPHAN_GRACE_S if is_orphan else LEFTOVER_GRACE_S):
            self.faults.append(f"left running: {', '.join(left)}")
        if is_orphan:
            return
        if names := run.shared_memory():
            self.faults.append(f"left shared memory: {names}")
        # The empty directory of Open MPI may belong to other jobs of the user.
        files = [name for _, _, names in os.walk(os.path.join(self.folder, "tmp")) for name in names]
        if files and self.status not in (KILLED, 137):
            self.faults.append(f"left files: {sorted(files)}")

    def check_messages(self, run, promised):
        output = read(run.output).decode(errors="replace")
        if promised.messages and not any(re.search(pattern, output) for pattern in promised.messages):
            self.faults.append(f"no message describes the outcome: none matches {' or '.join(promised.messages)}")
        # A run that was killed prints no message, but `wallheat status` must name the next command.
        if self.status == KILLED and os.path.exists(run.results):
            end = time.monotonic() + LEFTOVER_GRACE_S  # a killed process holds its lock until the kernel has ended it
            while self.matrix.wallheat("status", "--print-state", run.results).stdout.strip() == "running" and time.monotonic() < end:
                time.sleep(0.1)
            status = self.matrix.wallheat("status", run.results)
            text = status.stdout + status.stderr
            if status.returncode not in (0, 75) or (status.returncode == 75 and not re.search("--resume|wallheat repair", text)):
                self.faults.append(f"wallheat status ends with {status.returncode} and names no command to continue: {text}")

    def check_events(self, run):
        events = run.logged_events()
        if failures := [event for event in events if event["event"] in ("failure", "conflict")]:
            self.faults.append(f"plans failed or conflict: {failures}")
        stored = {event["id"] for event in events if event["event"] == "result"}
        files = [part for part in (".wal0", ".wal0.fold", ".lock") if os.path.exists(run.results + part)]
        if self.status == 0 and (len(stored) != PLANS or files):
            self.faults.append(f"status 0, but {len(stored)} of {PLANS} plans are solved, and these files exist: {files}")
        if self.status == 75 and len(stored) == PLANS and not {".wal0", ".wal0.fold"} & set(files):
            self.faults.append("status 75, but all plans are solved, and the file is compacted")
        if self.status == 75 and not any(event["event"] == "start" for event in events):
            self.faults.append("status 75, but no plan was started: a job would be requeued indefinitely")

    def resume(self, run):
        again = self.matrix.start("alone", self.folder, 1)
        try:
            while again.is_running_in_time():
                time.sleep(0.01)
            status = again.process.poll()
        finally:
            again.clear()
        if status != 0:
            self.faults.append(f"the resume {'hangs' if status is None else f'ends with {status}'}")
            return
        stored = {event["id"] for event in run.logged_events() if event["event"] == "result"}
        if twice := {event["id"] for event in again.logged_events() if event.get("id") in stored}:
            self.faults.append(f"the resume solves acknowledged plans again: {sorted(twice)}")
        wallheat, reference = self.matrix.wallheat, self.matrix.reference
        if wallheat("export", run.results).stdout != wallheat("export", reference).stdout:
            self.faults.append("the CSV differs from that of the undisturbed run")
        for check in (("verify", run.results, "--data", self.matrix.plans, "--sample", "0"),
                      ("merge", "--out", os.path.join(self.folder, "merged.h5"), reference, run.results)):
            done = wallheat(*check)
            if done.returncode != 0:
                self.faults.append(f"{check[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")


class Matrix:
    def __init__(self, wallheat, log, seed):
        self.program, self.log, self.seed = os.path.abspath(wallheat), log, seed
        self.scratch = tempfile.mkdtemp(prefix="wallheat-signals-")
        self.plans = os.path.join(self.scratch, "plans")
        self.wallheat("generate", "--out", self.plans, "--count", str(PLANS), "--size", "110")
        self.ids = read(os.path.join(self.plans, "building_ids.txt"))
        undisturbed = os.path.join(self.scratch, "undisturbed")
        os.mkdir(undisturbed)
        run = self.start("alone", undisturbed, 0)
        if run.process.wait() != 0:
            sys.exit(f"the undisturbed run failed: {read(run.output).decode()}")
        self.reference = run.results

    def wallheat(self, *words):
        """Runs a command that gets no signals."""
        return subprocess.run([self.program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=COMMAND_LIMIT_S)

    def rows(self, results):
        listed = self.wallheat("list", results, "--columns", "all", "--json")
        if listed.returncode != 0:
            raise RuntimeError(listed.stderr.strip())
        return json.loads(listed.stdout)["plans"]

    def start(self, where, folder, number, ids_file=None):
        """Starts a run in its own folder; ids_file: a BlockedIdsFile, or None."""
        ranks = ["-n", str(WORKERS + 1), "--oversubscribe", "--bind-to", "none"]
        command = [self.program, "run", "--config", "run.cfg", "--resume"]
        environment = {"WALLHEAT_HEARTBEAT_TIMEOUT_S": "10", "TMPDIR": os.path.join(folder, "tmp")}
        os.makedirs(environment["TMPDIR"], exist_ok=True)
        if where == "mpirun":
            command = ["mpirun", *ranks, *command]
        if where == "launch.sh":
            command = [launcher, *ranks, "--", *command]
        with open(os.path.join(folder, "run.cfg"), "w", encoding="utf-8") as file:
            file.write(OPTIONS.format(plans=self.plans, events=os.path.join(folder, f"events-{number}.jsonl")))
            file.write(f"ids = {ids_file.option_value}\n" if ids_file else "")
        return Run(where, folder, number, self.rows, command, environment)

    def passes(self, cell, number):
        trial, began = Trial(self, cell, number), time.monotonic()
        try:
            trial.run_cell()
        except Exception as error:  # an error in this test must not count as a pass
            trial.faults.append(f"error in the test: {error!r}")
        self.log(f"{'FAILED' if trial.faults else 'passed'}  {' '.join(cell):42}  status {trial.status}, "
                 f"{time.monotonic() - began:.1f} s" + "".join(f"\n        {fault}" for fault in trial.faults))
        if not trial.faults:
            shutil.rmtree(trial.folder)
        return not trial.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", metavar="WALLHEAT", help="the program")
    for part, values in (("where", WHERE), ("victim", VICTIMS), ("phase", PHASES), ("signal", SIGNALS)):
        parser.add_argument(f"--{part}", nargs="+", choices=values, help="only these")
    parser.add_argument("--short", action="store_true", help=f"only {len(SHORT)} cells, those of the default run")
    parser.add_argument("--random", type=int, metavar="N", help="only N cells, drawn from the seed")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of --random (default: a new one each time)")
    parser.add_argument("--lanes", type=int, default=2, metavar="N", help="number of cells at a time (default: 2)")
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("skipped: mpirun not found")
        return 77
    for name in [name for name in os.environ if name.startswith(("SLURM_", "LSB_"))]:
        del os.environ[name]
    # If these signals are ignored, as after nohup or a shell's &, all child processes would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)

    wanted = SHORT if options.short else cells({part: getattr(options, part) for part in Cell._fields})
    seed = None
    if options.random:
        seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
        print(f"{options.random} cells, seed {seed}", flush=True)
        wanted = random.Random(seed).choices(wanted, k=options.random)
    lock = threading.Lock()

    def log(text):
        with lock:
            print(text, flush=True)

    matrix = Matrix(options.wallheat, log, seed)
    with concurrent.futures.ThreadPoolExecutor(options.lanes) as slots:
        try:
            passed = list(slots.map(matrix.passes, wanted, range(len(wanted))))
        except KeyboardInterrupt:
            slots.shutdown(cancel_futures=True)  # running cells finish
            raise
    log(f"{passed.count(True)} of {len(passed)} cells passed")
    if not all(passed):
        log(f"kept: {matrix.scratch}")
        return 1
    shutil.rmtree(matrix.scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
