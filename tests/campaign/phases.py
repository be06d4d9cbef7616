"""A real run with all its processes: in which phase it is, and how all of it is made to stand still."""

import collections
import errno
import glob
import json
import os
import signal
import subprocess
import time

TOKEN = "WALLHEAT_SESSION"
PLANS = 18
WORKERS = 2
SESSION_LIMIT_S = 240  # rank 0 gives a worker that starts 180 s
# Open MPI does not give all its memory back.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": "detect_leaks=0"}

# role: rank, solver or other; job: Open MPI's number of the run, if there is one.
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
    for name in filter(str.isdigit, os.listdir("/proc")):
        environment = read(f"/proc/{name}/environ").split(b"\0")
        if f"{TOKEN}={token}".encode() not in environment:
            continue
        words = read(f"/proc/{name}/cmdline").decode(errors="replace").split("\0")
        values = dict(each.decode(errors="replace").split("=", 1) for each in environment if b"=" in each)
        role = "other"
        if os.path.basename(words[0]).startswith("wallheat") and "--print-out" not in words:
            role = {"run": "rank", "solver-process": "solver"}.get(words[1], "other")
        found.append(Process(int(name), role, int(values.get("OMPI_COMM_WORLD_RANK", "0")), values.get("OMPI_MCA_ess_base_jobid")))
    return found


def state(pid):
    """What the kernel says of a process: R running, S sleeping, T stopped, Z ended; empty if it is gone."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2][1:2].decode()


def children(pid):
    """Quicker than to look through all processes."""
    return b"".join(read(path) for path in glob.glob(f"/proc/{pid}/task/*/children"))


def hit(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


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
        try:
            self.file = self.file or os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:  # nobody has it open
                raise
        return self.file is not None

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
    still. rows_of: the rows of a result file, also of one that is being written, by id."""

    def __init__(self, where, folder, number, rows_of, command, environment):
        self.where, self.folder, self.rows_of = where, folder, rows_of
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

    def goes_on(self):
        """It is running, and not for too long."""
        return self.running() and time.monotonic() - self.began < SESSION_LIMIT_S

    def shared_memory(self):
        return [name for job in self.jobs for name in glob.glob(f"/dev/shm/vader_segment.*.{os.getuid()}.{int(job):x}.*")]

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

    def told(self):
        """The events of the session; a kill may have cut the last line short."""
        return [json.loads(line) for line in read(self.events).split(b"\n")[:-1]]

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
            while any(state(pid) not in ("T", "t", "Z", "X", "") for pid in stopped) and self.goes_on():
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
            rows = self.rows_of(self.results)
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
