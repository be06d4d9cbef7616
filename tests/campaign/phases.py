"""A real run with all its processes: in which phase it is, and how all of it is made to stand still; and wallheat for
what takes no signals."""

import collections
import errno
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

TOKEN = "WALLHEAT_SESSION"
COMMAND_LIMIT_S = 300
PARTS = ((64, 12), (160, 6))  # plans: cells along a side, how many
PLANS = sum(count for _, count in PARTS)
WORKERS = 2
SESSION_LIMIT_S = 240  # rank 0 gives a worker that starts 180 s
# Open MPI does not give all its memory back.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": "detect_leaks=0"}

# role: rank, solver, mpirun or other; job: Open MPI's number of the run, if there is one.
Process = collections.namedtuple("Process", "pid role rank job")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def size(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


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
            if "--print-out" in words:
                role = "other"
        elif os.path.basename(words[0]) == "mpirun":
            role = "mpirun"
        found.append(Process(int(name), role, int(rank), values.get("OMPI_MCA_ess_base_jobid")))
    return found


def state(pid):
    """What the kernel says of a process: R running, S sleeping, T stopped, Z ended; empty if it is gone."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2][1:2].decode()


def hit(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def events_of(path):
    """The events of a session; a kill may have cut the last line short."""
    lines = read(path).split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


def children(pid):
    """Quicker than to look through all processes."""
    return b"".join(read(f"/proc/{pid}/task/{thread}/children") for thread in listed(f"/proc/{pid}/task"))


def listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


class HeldList:
    """The list of plans as a named pipe: whoever reads it waits until it is let go."""

    def __init__(self, name, plans):
        self.path = f"/dev/shm/{name}.ids"
        # wallheat takes a named pipe for its list only by a name such as the shell gives to its own.
        self.given = f"/proc/self/fd/../../..{self.path}"
        self.plans = plans
        self.file = None
        os.mkfifo(self.path)

    def is_being_read(self):
        if self.file is None:
            try:
                self.file = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:  # nobody has it open
                    raise
                return False
        return True

    def let_go(self):
        """Of whoever reads it, and of whoever will."""
        if self.file is not None:
            try:
                os.write(self.file, self.plans)
            except BrokenPipeError:  # whoever read it was killed
                pass
            os.close(self.file)
            self.file = None
        if os.path.exists(self.path):
            os.remove(self.path)


class Run:
    """A run in one surrounding, from its start until nothing of it is left. All of wallheat in it can be made to stand
    still."""

    def __init__(self, where, folder, number, program, command, environment):
        self.where, self.folder, self.program = where, folder, program
        self.results = os.path.join(folder, "results.h5")
        self.events = os.path.join(folder, f"events-{number}.jsonl")
        self.said = os.path.join(folder, f"said-{number}.txt")
        self.log_size = 0
        self.solved_before_strike = 1
        self.token = f"{os.getpid()}-{os.path.basename(folder)}-{number}"
        with open(self.said, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder,
                                            env={**os.environ, **ENVIRONMENT, **environment, TOKEN: self.token},
                                            start_new_session=True)
        self.began = time.monotonic()
        self.jobs = set()
        self.seen = []  # processes at the last look
        self.looked = 0.0

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

    def age_s(self):
        return time.monotonic() - self.began

    def shared_memory(self):
        names = []
        for job in self.jobs:
            names += glob.glob(f"/dev/shm/vader_segment.*.{os.getuid()}.{int(job):x}.*")
        return names

    def left(self, grace_s):
        """What is still there after so long a time: descriptions."""
        end = time.monotonic() + grace_s
        while (there := self.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        return [f"{each.role} {each.rank} ({each.pid}, {state(each.pid)})" for each in there]

    def clear(self):
        """Ends by force all that is left."""
        for _ in range(50):
            there = self.processes()
            for each in there:
                hit(each.pid, signal.SIGKILL)
            if not there:
                break
            time.sleep(0.1)
        self.process.wait()
        for name in self.shared_memory():
            os.remove(name)

    def keep_stacks(self, path):
        """What each process of a session that hangs is at, if there is gdb."""
        if shutil.which("gdb") is None:
            return
        with open(path, "wb") as file:
            for each in self.processes():
                file.write(f"--- {each.role} {each.rank} ({each.pid})\n".encode())
                file.flush()
                subprocess.run(["timeout", "30", "gdb", "-p", str(each.pid), "-batch", "-ex", "thread apply all bt"],
                               stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL)

    def told(self):
        return events_of(self.events)

    def at_hand(self):
        """The ranks with plans that are started, and neither solved nor failed."""
        running = {}
        for event in self.told():
            if event["event"] == "start":
                running[event["id"]] = event["rank"]
            elif event["event"] in ("result", "failure", "failed_try"):
                running.pop(event["id"], None)
        return list(running.values())

    def stop(self):
        """Rank 0 first, as phases are what it is at."""
        stopped = set()
        while new := [each for each in self.processes() if each.role in ("rank", "solver") and each.pid not in stopped]:
            for each in sorted(new, key=lambda each: (each.role, each.rank)):
                hit(each.pid, signal.SIGSTOP)
            stopped |= {each.pid for each in new}
            while any(state(pid) not in ("T", "t", "Z", "X", "") for pid in stopped) and self.age_s() < SESSION_LIMIT_S:
                time.sleep(0.0002)
                # A process that starts another waits in the kernel until that one has begun its program: it must go on so far.
                for child in {int(child) for pid in stopped if state(pid) == "D" for child in children(pid).split()} & stopped:
                    hit(child, signal.SIGCONT)
                    stopped.remove(child)

    def go_on(self, but_for=()):
        for each in sorted(self.seen, key=lambda each: (each.role, each.rank), reverse=True):
            if each.role in ("rank", "solver") and each not in but_for:
                hit(each.pid, signal.SIGCONT)

    def seems_in(self, phase, held):
        """While all are running."""
        if phase == "start":
            ranks = 1 if self.where == "alone" else WORKERS + 1
            return held.is_being_read() and sum(each.role == "rank" for each in self.processes()) == ranks
        if phase == "ready":
            ranks = [each.pid for each in self.seen if each.role == "rank"] or [each.pid for each in self.processes()]
            return any(children(pid) for pid in ranks)
        if phase == "solving":
            return read(self.events).count(b'"event":"result"') >= self.solved_before_strike and bool(self.at_hand())
        if phase == "storing":
            before, self.log_size = self.log_size, size(self.results + ".wal0")
            return self.log_size > before > 0
        return b'"event":"run_finished"' in read(self.events)

    def is_in(self, phase):
        """While all stand still."""
        told = collections.Counter(event["event"] for event in self.told())
        if phase == "ready":
            return told["worker_ready"] == 0 and any(each.role == "solver" for each in self.seen)
        if phase == "solving":
            return bool(self.at_hand())
        if phase == "storing":
            rows = self.program.rows(self.results).values()
            return told["result"] < sum(row["status"] not in ("pending", "failed") for row in rows) < PLANS
        if phase == "closing":
            return os.path.exists(self.results + ".lock")
        return True

    def has_passed(self, phase):
        """Whether it will not come any more."""
        return phase == "ready" and b'"event":"worker_ready"' in read(self.events) or phase == "closing"

    def find(self, victim):
        """Its process, or several, or none. Of several workers or solvers, one that has something at hand."""
        if victim == "everybody":
            return self.seen
        if victim == "launcher":
            return [Process(self.process.pid, "launcher", 0, None)]
        busy = self.at_hand() or [each.rank for each in self.seen if each.role == "solver"] or [1]
        rank = 0 if victim == "rank0" or self.where == "alone" else busy[0]
        role = "solver" if victim == "solver" else "rank"
        return [each for each in self.seen if (each.role, each.rank) == (role, rank)][:1]

    def has_timed_out(self, victims):
        """Whether others have noticed that the victim stands still: then it is gone or given up, or they are gone."""
        if len(victims) > 1:
            return False
        victim = victims[0]
        if victim.role == "solver" or state(victim.pid) in ("Z", ""):
            return state(victim.pid) in ("Z", "")
        if victim.role == "rank" and victim.rank > 0:
            return any(event["event"] == "worker_left" and event["rank"] == victim.rank for event in self.told())
        ranks = [each for each in self.processes() if each.role == "rank" and each.pid != victim.pid]
        return not ranks and self.where != "alone"


class Program:
    """wallheat, for what takes no kills."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *words, folder=None):
        return subprocess.run([self.path, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=folder,
                              timeout=COMMAND_LIMIT_S)

    def make_plans(self, folder, parts):
        """Plans of several sizes in one directory; parts: (cells along a side, how many)."""
        os.mkdir(folder)
        ids = []
        for number, (cells, count) in enumerate(parts):
            part = f"{folder}-{cells}"
            done = self("generate", "--out", part, "--count", str(count), "--size", str(cells), "--seed", str(number + 1))
            if done.returncode != 0:
                sys.exit(done.stderr)
            with open(os.path.join(part, "building_ids.txt"), encoding="ascii") as file:
                for plan in file.read().split():
                    ids.append(f"{cells}-{plan}")
                    for kind in ("domain", "interior"):
                        os.rename(os.path.join(part, f"{plan}_{kind}.npy"), os.path.join(folder, f"{ids[-1]}_{kind}.npy"))
        with open(os.path.join(folder, "building_ids.txt"), "w", encoding="ascii") as file:
            file.write("\n".join(ids) + "\n")

    def rows(self, results):
        """All rows by id, also of a file that is being written. Throws RuntimeError if it cannot be read."""
        listed = self("list", results, "--columns", "all", "--json")
        if listed.returncode != 0:
            raise RuntimeError(listed.stderr.strip())
        return {row["id"]: row for row in json.loads(listed.stdout)["plans"]}

    def faults_of(self, results, plans, reference, merged):
        """What is wrong with a finished file, against that of an undisturbed run: sentences."""
        faults = []
        if self("export", results).stdout != self("export", reference).stdout:
            faults.append("the CSV is not that of the undisturbed run")
        for check in (("verify", results, "--data", plans, "--sample", "0"), ("merge", "--out", merged, reference, results)):
            done = self(*check)
            if done.returncode != 0:
                faults.append(f"{check[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return faults
