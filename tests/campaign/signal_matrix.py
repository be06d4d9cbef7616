#!/usr/bin/env python3
"""Every process of a run gets every signal in every phase of the run, and the run must end as the documents promise.

A cell of the matrix is a surrounding, a victim, a phase and a signal:

  --where    alone, mpirun, launch.sh
  --victim   rank0, worker (which has a plan at hand, if the phase has one), solver (its solver process), launcher
             (mpirun or launch.sh), everybody (at once, as schedulers do it)
  --phase    start    rank 0 reads the list of plans; it is held there by a named pipe
             ready    the workers' solver processes load
             solving  a plan is stored, another one is started
             storing  a result is in the log that no observer has been told of
             closing  all plans are solved, and the result file is open
  --signal   KILL, TERM, INT, HUP, USR1, USR2, PIPE; STOP until time-outs strike and then CONT (STOP-CONT) or
             KILL (STOP-KILL); USR1 and, when the run says that it is stopping, TERM (USR1-TERM)

Phases are met by what can be seen from outside: the event log, the log of the result file, /proc. When the phase
seems to be there, all ranks and solvers are stopped; if it is there indeed, the signal is sent, and they go on. Else
they go on, too, and it is looked again. So a cell named again is met in the same way again. With --random cells are drawn
from a seed, and "solving" is met at any time, not at the first result.

What must hold: the exit status is the one that the documents promise (promises.py); no process, shared memory or
temporary file is left; a line was printed that says what happened; what an event log called a result is never solved
again; a resume ends with 0; the answers are those of an undisturbed run.

Exit status: 0 if all cells are clean, 1 if not; what was not clean is kept and named.
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

from phases import PLANS, WORKERS, HeldList, Run, read
from promises import KILLED, PHASES, SIGNALS, VICTIMS, WHERE, Cell, cells, promise

COMMAND_LIMIT_S = 300
LEFTOVER_GRACE_S = 20
# A run whose launcher was killed ends by itself, at the latest when MPI has not ended in all ranks for so long.
ORPHAN_GRACE_S = 60
# How long a victim is stopped. The time-outs: 1 s for a worker, four times that for rank 0, 2 s for a solver.
STOP_S = {"worker": 4, "rank0": 12, "solver": 6, "launcher": 4, "everybody": 6}
TRIES = 6  # sessions until a phase is met
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
# Cells of the default run: each signal, victim, phase and surrounding at least once.
SHORT = [Cell(*words.split()) for words in (
    "alone rank0 start TERM", "alone rank0 storing KILL", "alone rank0 solving INT", "alone solver solving STOP-KILL",
    "alone rank0 closing HUP", "mpirun launcher solving USR1", "mpirun worker storing USR2", "mpirun rank0 ready KILL",
    "launch.sh worker solving KILL", "launch.sh worker solving STOP-CONT", "launch.sh launcher closing TERM",
    "launch.sh everybody solving INT", "launch.sh launcher solving USR1-TERM", "alone solver solving PIPE")]

launcher = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../jobs/launch.sh"))


class Trial:
    """A cell that is tried."""

    def __init__(self, matrix, cell, number):
        self.matrix, self.cell = matrix, cell
        # So many plans are solved when it is struck in the midst of solving: one, or any number.
        self.solved = 1 if matrix.seed is None else random.Random(f"{matrix.seed} {number}").randint(1, PLANS - WORKERS - 1)
        self.folder = os.path.join(matrix.scratch, f"{number}")
        self.faults = []
        self.status = None

    def try_it(self):
        """Finds out what is not clean."""
        for _ in range(TRIES):
            shutil.rmtree(self.folder, ignore_errors=True)
            os.mkdir(self.folder)
            held = HeldList(f"wallheat-{os.getpid()}-{os.path.basename(self.folder)}", self.matrix.ids) \
                if self.cell.phase == "start" else None
            run = self.matrix.start(self.cell.where, self.folder, 0, held)
            run.solved_before_strike = self.solved
            try:
                if self.strike(run, held):
                    self.judge(run)
                    break
            finally:
                if held:
                    held.let_go()
                run.clear()
        else:
            self.faults.append(f"the phase was not met in {TRIES} sessions")

    def strike(self, run, held):
        """Sends the signal; returns whether the phase was met."""
        cell, phase = self.cell, self.cell.phase
        while True:
            if not run.goes_on():
                return False
            if not run.seems_in(phase, held):
                time.sleep(0.0003)
                continue
            run.stop()
            victims = run.find(cell.victim)
            if victims and run.is_in(phase):
                break
            run.go_on()
            if run.has_passed(phase):
                return False
        first, _, then = cell.signal.partition("-")
        files = self.opened(victims)
        self.send(first, files)
        if held:
            held.let_go()
        stops = first == "STOP"
        run.go_on(but_for=victims if stops else ())
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
        """File descriptors of those that are still there: a number may later be another's."""
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

    # --- What must hold ---

    def judge(self, run):
        cell, promised = self.cell, promise(self.cell)
        while run.goes_on():
            time.sleep(0.01)
        self.status = run.process.poll()
        if self.status is None:
            self.faults.append(f"it does not end; there are {', '.join(run.left(grace_s=0))}")
            return
        if self.status not in promised.statuses:
            self.faults.append(f"status {self.status}, not {' or '.join(map(str, sorted(promised.statuses)))}")
        is_orphan = cell.victim in ("launcher", "everybody") and cell.signal.endswith("KILL")
        self.nothing_left(run, is_orphan)
        self.check_words(run, promised)
        self.check_events(run)
        self.resume(run)

    def nothing_left(self, run, is_orphan):
        if left := run.left(ORPHAN_GRACE_S if is_orphan else LEFTOVER_GRACE_S):
            self.faults.append(f"left running: {', '.join(left)}")
        if is_orphan:
            return
        if names := run.shared_memory():
            self.faults.append(f"left {names}")
        # Open MPI's empty directory may be that of the user's other jobs, too.
        beside = [name for _, _, names in os.walk(os.path.join(self.folder, "tmp")) for name in names]
        if beside and self.status not in (KILLED, 137):
            self.faults.append(f"left the files {sorted(beside)}")

    def check_words(self, run, promised):
        said = read(run.said).decode(errors="replace")
        if promised.says and not any(re.search(pattern, said) for pattern in promised.says):
            self.faults.append(f"no line says what happened: none matches {' or '.join(promised.says)}")
        # A run that could not speak any more is spoken of by `wallheat status`.
        if self.status == KILLED and os.path.exists(run.results):
            end = time.monotonic() + LEFTOVER_GRACE_S  # a killed process holds its lock until the kernel has ended it
            while "being written" in (look := self.matrix.wallheat("status", run.results)).stdout and time.monotonic() < end:
                time.sleep(0.1)
            if look.returncode not in (0, 75) or (look.returncode == 75 and not re.search("--resume|wallheat repair", look.stdout + look.stderr)):
                self.faults.append(f"wallheat status ends with {look.returncode} and says no way on: {look.stdout}{look.stderr}")

    def check_events(self, run):
        events = run.told()
        if blamed := [event for event in events if event["event"] in ("failure", "conflict")]:
            self.faults.append(f"plans are blamed: {blamed}")
        stored = {event["id"] for event in events if event["event"] == "result"}
        beside = [part for part in (".wal0", ".wal0.fold", ".lock", ".status") if os.path.exists(run.results + part)]
        if self.status == 0 and (len(stored) != PLANS or beside):
            self.faults.append(f"status 0, but {len(stored)} of {PLANS} plans are solved, and {beside} lie beside the file")
        if self.status == 75 and len(stored) == PLANS and not {".wal0", ".wal0.fold"} & set(beside):
            self.faults.append("status 75, but all plans are solved, and the file is whole")
        if self.status == 75 and not any(event["event"] == "start" for event in events):
            self.faults.append("status 75, but no plan was started: a job would go back into the queue for ever")

    def resume(self, run):
        again = self.matrix.start("alone", self.folder, 1)
        try:
            while again.goes_on():
                time.sleep(0.01)
            status = again.process.poll()
        finally:
            again.clear()
        if status != 0:
            self.faults.append(f"the resume {'hangs' if status is None else f'ends with {status}'}")
            return
        stored = {event["id"] for event in run.told() if event["event"] == "result"}
        if twice := {event["id"] for event in again.told() if event.get("id") in stored}:
            self.faults.append(f"the resume works again on what was acknowledged: {sorted(twice)}")
        wallheat, reference = self.matrix.wallheat, self.matrix.reference
        if wallheat("export", run.results).stdout != wallheat("export", reference).stdout:
            self.faults.append("the CSV is not that of the undisturbed run")
        for check in (("verify", run.results, "--data", self.matrix.plans, "--sample", "0"),
                      ("merge", "--out", os.path.join(self.folder, "merged.h5"), reference, run.results)):
            done = wallheat(*check)
            if done.returncode != 0:
                self.faults.append(f"{check[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")


class Matrix:
    def __init__(self, wallheat, say, seed):
        self.program, self.say, self.seed = os.path.abspath(wallheat), say, seed
        self.scratch = tempfile.mkdtemp(prefix="wallheat-signals-")
        self.plans = os.path.join(self.scratch, "plans")
        self.wallheat("generate", "--out", self.plans, "--count", str(PLANS), "--size", "110")
        self.ids = read(os.path.join(self.plans, "building_ids.txt"))
        undisturbed = os.path.join(self.scratch, "undisturbed")
        os.mkdir(undisturbed)
        run = self.start("alone", undisturbed, 0)
        if run.process.wait() != 0:
            sys.exit(f"the undisturbed run failed: {read(run.said).decode()}")
        self.reference = run.results

    def wallheat(self, *words):
        """For what takes no signals."""
        return subprocess.run([self.program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=COMMAND_LIMIT_S)

    def rows(self, results):
        listed = self.wallheat("list", results, "--columns", "all", "--json")
        if listed.returncode != 0:
            raise RuntimeError(listed.stderr.strip())
        return json.loads(listed.stdout)["plans"]

    def start(self, where, folder, number, held=None):
        """A run in a folder of its own; `held`: the list of plans."""
        ranks = ["-n", str(WORKERS + 1), "--oversubscribe", "--bind-to", "none"]
        command = [self.program, "run", "--config", "run.cfg", "--resume"]
        environment = {"WALLHEAT_SILENCE_S": "6", "TMPDIR": os.path.join(folder, "tmp")}
        os.makedirs(environment["TMPDIR"], exist_ok=True)
        if where == "mpirun":
            command = ["mpirun", *ranks, *command]
        if where == "launch.sh":
            command = [launcher, *ranks, "--", *command]
        with open(os.path.join(folder, "run.cfg"), "w", encoding="utf-8") as file:
            file.write(OPTIONS.format(plans=self.plans, events=os.path.join(folder, f"events-{number}.jsonl")))
            file.write(f"ids = {held.given}\n" if held else "")
        return Run(where, folder, number, self.rows, command, environment)

    def is_clean(self, cell, number):
        trial, began = Trial(self, cell, number), time.monotonic()
        try:
            trial.try_it()
        except Exception as error:  # what breaks here must not look like a clean cell
            trial.faults.append(f"this program broke: {error!r}")
        self.say(f"{'not clean' if trial.faults else 'clean':9}  {' '.join(cell):42}  status {trial.status}, "
                 f"{time.monotonic() - began:.1f} s" + "".join(f"\n           {fault}" for fault in trial.faults))
        if not trial.faults:
            shutil.rmtree(trial.folder)
        return not trial.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", metavar="WALLHEAT", help="the program")
    for part, values in (("where", WHERE), ("victim", VICTIMS), ("phase", PHASES), ("signal", SIGNALS)):
        parser.add_argument(f"--{part}", nargs="+", choices=values, help="only these")
    parser.add_argument("--short", action="store_true", help=f"only {len(SHORT)} cells, for every day")
    parser.add_argument("--random", type=int, metavar="N", help="only N cells, drawn from the seed")
    parser.add_argument("--seed", type=int, metavar="S", help="of --random (default: another one each time)")
    parser.add_argument("--lanes", type=int, default=2, metavar="N", help="cells side by side (default: 2)")
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun")
        return 77
    for name in [name for name in os.environ if name.startswith(("SLURM_", "LSB_"))]:
        del os.environ[name]
    # Where they were ignored, by nohup or a shell's &, all that is started would be deaf to them.
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

    def say(text):
        with lock:
            print(text, flush=True)

    matrix = Matrix(options.wallheat, say, seed)
    with concurrent.futures.ThreadPoolExecutor(options.lanes) as lanes:
        try:
            clean = list(lanes.map(matrix.is_clean, wanted, range(len(wanted))))
        except KeyboardInterrupt:
            lanes.shutdown(cancel_futures=True)  # what is being tried comes to its end
            raise
    say(f"{clean.count(True)} of {len(clean)} cells are clean")
    if not all(clean):
        say(f"kept: {matrix.scratch}")
        return 1
    shutil.rmtree(matrix.scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
