"""What the tests that kill real runs share: a session with all its processes, plans, and what must hold of results."""

import collections
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
# Open MPI does not give all its memory back.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": "detect_leaks=0"}

# role: rank, solver, mpirun or other; job: Open MPI's number of the run, where there is one.
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


class Session:
    """A command that runs wallheat, from its start until nothing of it is left."""

    def __init__(self, command, token, log, environment, folder=None):
        self.token = token
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder,
                                            env={**os.environ, **ENVIRONMENT, **environment, TOKEN: token},
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
        """What each process of a session that hangs is at, where there is gdb."""
        if shutil.which("gdb") is None:
            return
        with open(path, "wb") as file:
            for each in self.processes():
                file.write(f"--- {each.role} {each.rank} ({each.pid})\n".encode())
                file.flush()
                subprocess.run(["timeout", "30", "gdb", "-p", str(each.pid), "-batch", "-ex", "thread apply all bt"],
                               stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL)


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
        export = self("export", results, "--format", "json")
        if export.returncode not in (0, 3, 75):
            raise RuntimeError(export.stderr.strip())
        return {row["id"]: row for row in json.loads(export.stdout)}

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
