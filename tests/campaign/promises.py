"""The cells of the signal matrix, and the documented outcome of each cell. The outcomes are documented in jobs/README.md (exit
status, stopping, lost processes) and at the top of jobs/launch.sh. tests/cluster/test_job_scripts.sh tests the job scripts."""

import collections
import signal

Cell = collections.namedtuple("Cell", "where victim phase signal")

WHERE = ("alone", "mpirun", "launch.sh")
VICTIMS = ("rank0", "worker", "solver", "launcher", "everybody")
PHASES = ("start", "ready", "solving", "storing", "closing")
SIGNALS = ("KILL", "STOP-CONT", "STOP-KILL", "TERM", "INT", "HUP", "USR1", "USR1-TERM", "USR2", "PIPE")
STOPS = ("TERM", "INT", "HUP", "USR1", "USR1-TERM", "USR2")

# statuses: allowed exit statuses; messages: regular expressions, at least one of which the output must match; empty: any output.
Promise = collections.namedtuple("Promise", "statuses messages")

KILLED = -signal.SIGKILL
# Each matches a fact that a message must contain: the next command, the journals, the option to resume, the lost rank.
FINISHED = r"wallheat summary results\.h5"
NOT_COMPACTED = r"results\.h5\.wal\*"
RESUMABLE = r"--resume"
LOST = r"ranks? \d.*\b(lost|left)\b"
MPIRUN_MESSAGE = r"mpirun noticed that process rank|Primary job"  # of Open MPI


def cells(wanted):
    """Returns the cells whose fields have the wanted values. `wanted` maps each field to its values; None: all values."""
    every = (Cell(where, victim, phase, sign) for where in WHERE for phase in PHASES for victim in VICTIMS for sign in SIGNALS)
    return [cell for cell in every if exists(cell)
            and all(values is None or getattr(cell, part) in values for part, values in wanted.items())]


def exists(cell):
    """Returns whether the cell can occur. With "alone", the worker is a thread of rank 0, and there is no launcher. In the phase
    "start", no solver process exists yet."""
    return not (cell.where == "alone" and cell.victim in ("worker", "launcher")) \
        and not (cell.phase == "start" and cell.victim == "solver")


def promise(cell):
    if cell.victim == "solver" or cell.signal == "PIPE":
        # A solver process is replaced after any signal. Output without a reader is lost.
        return Promise({0}, (FINISHED,))
    if cell.victim == "everybody" and cell.where == "alone":
        cell = cell._replace(victim="rank0")
    if cell.victim in ("launcher", "everybody"):
        return promise_of_launcher(cell)
    if cell.signal in STOPS:
        return promise_of_stop(cell)
    if cell.victim == "worker":
        return promise_of_worker(cell)
    return promise_of_rank0(cell)


def promise_of_stop(cell):
    """Outcome of a graceful stop: the results are stored, and the file is closed."""
    if cell.phase == "closing":
        # 75 if the signal arrived before the file was compacted: the next run compacts it.
        return Promise({0, 75}, (FINISHED, NOT_COMPACTED))
    if cell.phase in ("start", "ready"):
        # 1 if no plan could start, because a job with status 75 would be requeued indefinitely.
        return Promise({1, 75}, (RESUMABLE,))
    return Promise({75}, (RESUMABLE,))


def promise_of_worker(cell):
    """Outcome of KILL and STOP: the plans of the worker are reassigned, unless mpirun kills the other ranks."""
    if cell.where != "mpirun":
        unnoticed = cell.signal == "STOP-CONT" or cell.phase in ("ready", "closing")
        return Promise({0}, (FINISHED if unnoticed else LOST,))
    if cell.signal == "STOP-CONT":
        return Promise({0}, (FINISHED,))
    if cell.signal == "STOP-KILL" or cell.phase == "closing":
        return Promise({0, 137}, (FINISHED, MPIRUN_MESSAGE))
    return Promise({137}, (MPIRUN_MESSAGE,))


def promise_of_rank0(cell):
    """Outcome of KILL and STOP: stored results are safe. If rank 0 is continued early enough, the run finishes normally."""
    if cell.where == "alone":
        return Promise({0}, (FINISHED,)) if cell.signal == "STOP-CONT" else Promise({KILLED}, ())
    if cell.where == "mpirun":
        ends = {137} if cell.signal == "KILL" else {1, 137} | ({0, 75} if cell.signal == "STOP-CONT" else set())
        return Promise(ends, (MPIRUN_MESSAGE, RESUMABLE))
    # 75 if the run had solved a plan, even if launch.sh stopped it.
    killed = {1} if cell.phase in ("start", "ready") else {75}
    return Promise(killed if cell.signal == "KILL" else {0, 1, 75}, (RESUMABLE, FINISHED))


def promise_of_launcher(cell):
    if cell.signal in ("KILL", "STOP-KILL"):
        return Promise({KILLED}, ())
    if cell.signal == "STOP-CONT":
        return Promise({0}, (FINISHED,))
    stop = promise_of_stop(cell)
    if cell.victim == "everybody" and cell.phase == "closing":
        stop = stop._replace(messages=())  # an mpirun that is ending does not forward output; all plans are solved
    if cell.where == "mpirun" and cell.signal not in ("USR1", "USR2"):
        # mpirun ends with its own status, and does not forward output any more.
        return Promise(stop.statuses | {1, 129, 130, 143}, ())
    return stop
