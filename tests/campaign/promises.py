"""The cells of the signal matrix, and what the documents promise of each (jobs/README.md: exit status, stopping, when
something dies; the head of jobs/launch.sh). Job scripts: tests/cluster/test_job_scripts.sh."""

import collections
import signal

Cell = collections.namedtuple("Cell", "where victim phase signal")

WHERE = ("alone", "mpirun", "launch.sh")
VICTIMS = ("rank0", "worker", "solver", "launcher", "everybody")
PHASES = ("start", "ready", "solving", "storing", "closing")
SIGNALS = ("KILL", "STOP-CONT", "STOP-KILL", "TERM", "INT", "HUP", "USR1", "USR1-TERM", "USR2", "PIPE")
STOPS = ("TERM", "INT", "HUP", "USR1", "USR1-TERM", "USR2")

# statuses: any of them; says: regular expressions, one of which a printed line must match, if there are any.
Promise = collections.namedtuple("Promise", "statuses says")

KILLED = -signal.SIGKILL
ENDED_WELL = r"the results are in"
NOT_WHOLE = r"stopped before .* was made whole"
GOES_ON = r"--resume"
LOST = r"ranks? \d.*(is|are) lost|fell silent|has left"
MPIRUN_SAYS = r"mpirun noticed that process rank|Primary job"


def cells(wanted):
    """The cells of which each part is wanted; by the name of a part: a collection of values, or None for all."""
    every = (Cell(where, victim, phase, sign) for where in WHERE for phase in PHASES for victim in VICTIMS for sign in SIGNALS)
    return [cell for cell in every if exists(cell)
            and all(values is None or getattr(cell, part) in values for part, values in wanted.items())]


def exists(cell):
    """Alone, the worker is a thread of rank 0, and nothing launches it. Solver processes are started after the start."""
    return not (cell.where == "alone" and cell.victim in ("worker", "launcher")) \
        and not (cell.phase == "start" and cell.victim == "solver")


def promise(cell):
    if cell.victim == "solver" or cell.signal == "PIPE":
        # A solver process is replaced, whatever ends it. Text that nobody reads is lost text.
        return Promise({0}, (ENDED_WELL,))
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
    """In good order: what is solved is stored, the file is closed."""
    if cell.phase == "closing":
        # 75 if it came before the file was made whole: that is done next time.
        return Promise({0, 75}, (ENDED_WELL, NOT_WHOLE))
    if cell.phase in ("start", "ready"):
        # 1 if no plan could start, or a job would go back into the queue for ever.
        return Promise({1, 75}, (GOES_ON,))
    return Promise({75}, (GOES_ON,))


def promise_of_worker(cell):
    """KILL and STOP: its plans go to others, if mpirun lets the others live."""
    if cell.where != "mpirun":
        unnoticed = cell.signal == "STOP-CONT" or cell.phase in ("ready", "closing")
        return Promise({0}, (ENDED_WELL if unnoticed else LOST,))
    if cell.signal == "STOP-CONT":
        return Promise({0}, (ENDED_WELL,))
    if cell.signal == "STOP-KILL" or cell.phase == "closing":
        return Promise({0, 137}, (ENDED_WELL, MPIRUN_SAYS))
    return Promise({137}, (MPIRUN_SAYS,))


def promise_of_rank0(cell):
    """KILL and STOP: what was stored is safe. Woken early enough, it ends as if nothing had been."""
    if cell.where == "alone":
        return Promise({0}, (ENDED_WELL,)) if cell.signal == "STOP-CONT" else Promise({KILLED}, ())
    if cell.where == "mpirun":
        ends = {137} if cell.signal == "KILL" else {1, 137} | ({0, 75} if cell.signal == "STOP-CONT" else set())
        return Promise(ends, (MPIRUN_SAYS, GOES_ON))
    # 75 if it had solved something, also if launch.sh asked it to stop and it did.
    killed = {1} if cell.phase in ("start", "ready") else {75}
    return Promise(killed if cell.signal == "KILL" else {0, 1, 75}, (GOES_ON, ENDED_WELL))


def promise_of_launcher(cell):
    if cell.signal in ("KILL", "STOP-KILL"):
        return Promise({KILLED}, ())
    if cell.signal == "STOP-CONT":
        return Promise({0}, (ENDED_WELL,))
    stop = promise_of_stop(cell)
    if cell.victim == "everybody" and cell.phase == "closing":
        stop = stop._replace(says=())  # an mpirun that is told to end passes on no more words; all is done
    if cell.where == "mpirun" and cell.signal not in ("USR1", "USR2"):
        # mpirun ends with a status of its own, and passes on no more words.
        return Promise(stop.statuses | {1, 129, 130, 143}, ())
    return stop
