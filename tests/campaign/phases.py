"""A run of the signal matrix: in which phase it is, and how all of it is made to stand still."""

import collections
import errno
import os
import signal
import time

from sessions import Process, Session, events_of, hit, read, size, state

PARTS = ((64, 12), (160, 6))  # plans: cells along a side, how many
PLANS = sum(count for _, count in PARTS)
WORKERS = 2
SESSION_LIMIT_S = 240  # rank 0 gives a worker that starts 180 s


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
        # wallheat takes a named pipe for its list only where the shell has its own.
        self.path = f"/dev/shm/{name}.ids"
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


class Run(Session):
    """A session in one surrounding. All of wallheat in it can be made to stand still."""

    def __init__(self, where, folder, number, program, command, environment):
        self.where, self.folder, self.program = where, folder, program
        self.results = os.path.join(folder, "results.h5")
        self.events = os.path.join(folder, f"events-{number}.jsonl")
        self.said = os.path.join(folder, f"said-{number}.txt")
        self.log_size = 0
        self.solved_before_strike = 1
        super().__init__(command, f"{os.getpid()}-{os.path.basename(folder)}-{number}", self.said, environment, folder)

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
            before, self.log_size = self.log_size, size(self.results + ".wal")
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
