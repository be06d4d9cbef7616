"""The program under test: its calls, its results, and the content of its files."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess

import h5py

RESULTS = "results.h5"
STATUS = RESULTS + ".status"  # with the exit status of the last run
EVENTS = "events"  # the event log of a run, in the recorded folder
COMMAND_LIMIT_S = 120
# Columns that are not deterministic: who solved a plan, and when.
VARYING = {"index", "seconds", "attempts", "failures", "rank", "host", "device", "session", "started_s", "cpu_s", "thread",
           "peak_memory", "predicted_s", "read_s", "hash_s", "solve_s", "statistics_s", "compress_s", "store_wait_s",
           "row_crc32", "room_crc32", "plan"}
# An error message starts with the name of the program, or is a line of the log of a run. Messages of other libraries are not
# accepted.
ERROR_MESSAGE = re.compile(r"^(wallheat: |[0-9:.]+ (\[[^]]*\] )?error: ).*\S$")
FOREIGN_MESSAGE = re.compile(r"terminate called|what\(\)|HDF5-DIAG|\0")

Snapshot = collections.namedtuple("Snapshot", "ids solved")  # the plans in their order; those that have a result


class Violation(Exception):
    """A requirement does not hold."""


class Program:
    def __init__(self, path, recorder):
        self.path, self.recorder = os.path.realpath(path), os.path.realpath(recorder)
        self.calls = 0
        self.environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | os.environ

    def call(self, folder, words, record=None, **settings):
        """Runs a command in a folder, under the recorder if record is given. Checks the form of its messages."""
        self.calls += 1
        environment = self.environment
        if record:
            environment = environment | {"LD_PRELOAD": self.recorder, "RECORD_FOLDER": folder, "RECORD_TO": record}
            environment |= {f"RECORD_{name.upper()}": str(value) for name, value in settings.items()}
        done = subprocess.run([self.path, *words], cwd=folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=COMMAND_LIMIT_S)
        lines = done.stderr.splitlines()
        has_error_message = lines and ERROR_MESSAGE.match(lines[-1])
        stopped = done.returncode == -signal.SIGTERM and settings.get("fault", "").endswith(":0")
        failed = done.returncode in (1, 2)
        if done.returncode < 0 and not stopped or failed and not has_error_message or FOREIGN_MESSAGE.search(done.stderr):
            raise Violation(f"{words[0]} ends with {done.returncode} and prints: {done.stderr}")
        return done

    def call_expecting(self, statuses, folder, words):
        done = self.call(folder, words)
        if done.returncode not in statuses:
            raise Violation(f"{' '.join(words)} ends with {done.returncode}, not {statuses}, and prints: {done.stderr}")
        return done


class Campaign:
    """Plans, the last of which cannot be read; options; and the results of an undisturbed run."""

    def __init__(self, program, plans, ids, options, folder):
        self.program, self.plans, self.ids, self.options = program, plans, ids, options
        program.call_expecting({self.status_of(ids)}, folder, self.run(ids))
        self.rows = self.rows_of(folder)
        self.expected = contents_of(os.path.join(folder, RESULTS))

    def run(self, ids, *more, out=RESULTS, shard="none"):
        return ["run", "--data", self.plans, "--out", out, "--shard", shard, "--threads", "1", "--progress", "none",
                "--max-attempts", "1", "--log-level", "warning", *self.options, *more, *ids]

    def status_of(self, ids):
        """Returns the exit status of a command after which all these plans are solved or have failed."""
        return 3 if self.ids[-1] in ids else 0

    def rows_of(self, folder):
        """Returns the rows that the program itself reads, by plan ID."""
        listed = self.program.call_expecting({0}, folder, ["list", RESULTS, "--columns", "all", "--json"]).stdout
        plans = json.loads(listed)["plans"]
        return {row["id"]: {name: value for name, value in row.items() if name not in VARYING} for row in plans}

    def inspect(self, folder):
        """Reads the file in its present state with the program and with HDF5. All values must be correct, and no file may
        change."""
        before = read_folder(folder)
        rows = self.rows_of(folder)
        if read_folder(folder) != before:
            raise Violation("reading changed the folder")
        solved = {plan for plan, row in rows.items() if row["status"] != "pending"}
        if wrong := [plan for plan in solved if rows[plan] != self.rows[plan]]:
            raise Violation(f"wrong: {rows[wrong[0]]} in place of {self.rows[wrong[0]]}")
        with h5py.File(os.path.join(folder, RESULTS)) as opened:  # the HDF5 file is closed at every moment
            if len(opened["rows"][:]) != len(rows):
                raise Violation("HDF5 finds a different number of rows")
        return Snapshot(tuple(rows), frozenset(solved))

    def check_complete(self, folder, ids, others):
        """Checks that there is a closed file with all results, and no other file except `others`."""
        if left := set(os.listdir(folder)) - {RESULTS, STATUS, *others}:
            raise Violation(f"left over: {sorted(left)}")
        found = contents_of(os.path.join(folder, RESULTS))
        if list(found) != list(ids):
            raise Violation(f"the plans are {list(found)}, not {list(ids)}")
        for plan, content in found.items():
            if content != self.expected[plan]:
                raise Violation(f"wrong in HDF5: {content} in place of {self.expected[plan]}")


def contents_of(path):
    """Returns for each plan the deterministic columns of its row and its rooms, and its field, as read by HDF5."""
    def deterministic_columns(row):
        return [row[column].tobytes() for column in row.dtype.names if column not in VARYING]

    found = {}
    with h5py.File(path) as file:
        rooms = file["rooms"][:] if "rooms" in file else []
        fields = file["fields"] if "fields" in file else {}
        for i, row in enumerate(file["rows"][:]):
            name = row["id"].decode()
            own = [deterministic_columns(room) for room in rooms if room["plan"] == i and room["cells"] > 0]
            found[name] = deterministic_columns(row), own, fields[name][:].tobytes() if name in fields else None
    return found


def read_folder(folder):
    contents = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            contents[name] = file.read()
    return contents


def write_folder(folder, contents):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, content in contents.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
