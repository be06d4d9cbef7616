"""Starts a real run, detects its phase, and stops and continues all of its processes."""

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
# Fewer plans than this are solved in the phases "solving" and "storing": the others keep all workers busy until the run has
# received the signal. Otherwise a run that is stopped might finish first.
STRIKE_LIMIT = PLANS - 2 * WORKERS
SESSION_LIMIT_S = 240  # rank 0 waits 180 s for a worker that starts
# Open MPI leaks memory.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": "detect_leaks=0"}

# role: rank, solver or other; job: number of the run in Open MPI, or None.
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
    """Returns the running processes of a session, which have its token in their environment."""
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
    """Returns the kernel's state of a process: R running, S sleeping, T stopped, Z zombie; empty if it does not exist."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2][1:2].decode()


def children(pid):
    """Returns the IDs of the child processes; faster than a scan of all processes."""
    return b"".join(read(path) for path in glob.glob(f"/proc/{pid}/task/*/children"))


def kill_if_exists(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class BlockedIdsFile:
    """The ids file as a named pipe: its readers block until release()."""

    def __init__(self, name, plans):
        self.path = f"/dev/shm/{name}.ids"
        # wallheat accepts a named pipe as an ids file only under a path like those of the shell's process substitution.
        self.option_value = f"/proc/self/fd/../../..{self.path}"
        self.plans = plans
        self.file = None
        os.mkfifo(self.path)

    def is_being_read(self):
        try:
            self.file = self.file or os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:  # the pipe has no reader
                raise
        return self.file is not None

    def release(self):
        """Unblocks present and future readers."""
        if self.file is not None:
            try:
                os.write(self.file, self.plans)
            except BrokenPipeError:  # the reader was killed
                pass
            os.close(self.file)
            self.file = None
        if os.path.exists(self.path):
            os.remove(self.path)


class Run:
    """A run under one launcher, from its start until all its processes have ended. Can stop and continue all processes
    of wallheat. rows_of(path) must return the rows of a result file, even while the file is being written."""

    def __init__(self, where, folder, number, rows_of, command, environment):
        self.where, self.folder, self.rows_of = where, folder, rows_of
        self.results = os.path.join(folder, "results.h5")
        self.events = os.path.join(folder, f"events-{number}.jsonl")
        self.output = os.path.join(folder, f"output-{number}.txt")
        self.log_size = 0
        self.solved_before_strike = 1
        self.token = f"{os.getpid()}-{os.path.basename(folder)}-{number}"
        with open(self.output, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder,
                                            env={**os.environ, **ENVIRONMENT, **environment, TOKEN: self.token},
                                            start_new_session=True)
        self.began = time.monotonic()
        self.jobs = set()
        self.seen = []  # processes at the last scan
        self.scanned = 0.0  # time of the last scan

    def processes(self):
        self.seen = found = processes(self.token)
        self.jobs |= {each.job for each in found if each.job}
        return found

    def running(self):
        """Returns whether the launcher is running. From time to time, it also records the job number of Open MPI, which is in the
        name of its shared memory."""
        now = time.monotonic()
        if now - self.scanned > (0.5 if self.jobs else 0.05):
            self.scanned = now
            self.processes()
        return self.process.poll() is None

    def is_running_in_time(self):
        """Returns whether the run is running and has not exceeded its time limit."""
        return self.running() and time.monotonic() - self.began < SESSION_LIMIT_S

    def shared_memory(self):
        return [name for job in self.jobs for name in glob.glob(f"/dev/shm/vader_segment.*.{os.getuid()}.{int(job):x}.*")]

    def leftover_processes(self, grace_s):
        """Returns descriptions of the processes that still exist after the grace period."""
        end = time.monotonic() + grace_s
        while (leftover := self.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        return [f"{each.role} {each.rank} ({each.pid}, {state(each.pid)})" for each in leftover]

    def clear(self):
        """Kills all remaining processes, and removes the shared memory."""
        for _ in range(50):
            remaining = self.processes()
            for each in remaining:
                kill_if_exists(each.pid, signal.SIGKILL)
            if not remaining:
                break
            time.sleep(0.1)
        self.process.wait()
        for name in self.shared_memory():
            os.remove(name)

    def logged_events(self):
        """Returns the events of the session without the last line, which a kill may have truncated."""
        return [json.loads(line) for line in read(self.events).split(b"\n")[:-1]]

    def ranks_in_progress(self):
        """Returns the ranks of plans that have started, and have neither been solved nor failed."""
        running = {}
        for event in self.logged_events():
            if event["event"] == "start":
                running[event["id"]] = event["rank"]
            elif event["event"] in ("result", "failure", "failed_try"):
                running.pop(event["id"], None)
        return list(running.values())

    def stop(self):
        """Stops all ranks and solver processes; rank 0 first, because it determines the phase."""
        stopped = set()
        while new := [each for each in self.processes() if each.role in ("rank", "solver") and each.pid not in stopped]:
            for each in sorted(new, key=lambda each: (each.role, each.rank)):
                kill_if_exists(each.pid, signal.SIGSTOP)
            stopped |= {each.pid for each in new}
            while any(state(pid) not in ("T", "t", "Z", "X", "") for pid in stopped) and self.is_running_in_time():
                time.sleep(0.0002)
                # A process that starts a child waits in the kernel until the child has called exec, so the child must
                # continue until then.
                for child in {int(child) for pid in stopped if state(pid) == "D" for child in children(pid).split()} & stopped:
                    kill_if_exists(child, signal.SIGCONT)
                    stopped.remove(child)

    def resume(self, but_for=()):
        for each in sorted(self.seen, key=lambda each: (each.role, each.rank), reverse=True):
            if each.role in ("rank", "solver") and each not in but_for:
                kill_if_exists(each.pid, signal.SIGCONT)

    def may_be_in(self, phase, ids_file):
        """Returns whether the run seems to be in the phase. Call this while all processes are running."""
        if phase == "start":
            ranks = 1 if self.where == "alone" else WORKERS + 1
            return ids_file.is_being_read() and sum(each.role == "rank" for each in self.processes()) == ranks
        if phase == "ready":
            ranks = [each.pid for each in self.seen if each.role == "rank"] or [each.pid for each in self.processes()]
            return any(children(pid) for pid in ranks)
        if phase == "solving":
            return read(self.events).count(b'"event":"result"') >= self.solved_before_strike and bool(self.ranks_in_progress())
        if phase == "storing":
            before, self.log_size = self.log_size, size(self.results + ".wal0")
            return self.log_size > before > 0
        return b'"event":"run_finished"' in read(self.events)

    def is_in(self, phase):
        """Returns whether the run is in the phase. Call this while all processes are stopped."""
        counts = collections.Counter(event["event"] for event in self.logged_events())
        if phase == "ready":
            return counts["worker_ready"] == 0 and any(each.role == "solver" for each in self.seen)
        if phase == "solving":
            return bool(self.ranks_in_progress()) and counts["result"] < STRIKE_LIMIT
        if phase == "storing":
            rows = self.rows_of(self.results)
            return counts["result"] < sum(row["status"] not in ("pending", "failed") for row in rows) < STRIKE_LIMIT
        if phase == "closing":
            return os.path.exists(self.results + ".lock")
        return True

    def has_passed(self, phase):
        """Returns whether the phase can no longer occur."""
        if phase in ("solving", "storing"):
            return read(self.events).count(b'"event":"result"') >= STRIKE_LIMIT
        return phase == "ready" and b'"event":"worker_ready"' in read(self.events) or phase == "closing"

    def find(self, victim):
        """Returns the processes of the victim. Of several workers or solvers, returns one with a plan in progress."""
        if victim == "everybody":
            return self.seen
        if victim == "launcher":
            return [Process(self.process.pid, "launcher", 0, None)]
        busy = self.ranks_in_progress() or [each.rank for each in self.seen if each.role == "solver"] or [1]
        rank = 0 if victim == "rank0" or self.where == "alone" else busy[0]
        role = "solver" if victim == "solver" else "rank"
        return [each for each in self.seen if (each.role, each.rank) == (role, rank)][:1]
