"""The program whose result files are put to the test: its calls, what it answers, and what its files hold."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess

import h5py

RESULTS = "results.h5"
TOLD = "told"  # the events of a run, in the recorded folder
COMMAND_LIMIT_S = 120
# Who solved a plan, and when: not part of its answer.
VARYING = {"index", "seconds", "attempts", "failures", "rank", "host", "device", "session", "started_s", "cpu_s", "thread",
           "peak_memory", "predicted_s", "read_s", "hash_s", "solve_s", "statistics_s", "compress_s", "store_s",
           "row_crc32", "room_crc32", "plan"}
# A refusal is a sentence, with the program's name or as a line of a run's log; nobody else's words are.
SENTENCE = re.compile(r"^(wallheat: |[0-9:.]+ (\[[^]]*\] )?error: ).*\S$")
NO_SENTENCE = re.compile(r"terminate called|what\(\)|HDF5-DIAG|\0")

Look = collections.namedtuple("Look", "ids answered")  # the plans in their order; those that have an answer


class Bad(Exception):
    """Something that must not be."""


class Program:
    def __init__(self, path, recorder):
        self.path, self.recorder = os.path.realpath(path), os.path.realpath(recorder)
        self.calls = 0
        self.environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | os.environ

    def call(self, folder, words, record=None, **settings):
        """Runs a command in a folder; with a record under the recorder. What it says must be sentences."""
        self.calls += 1
        environment = self.environment
        if record:
            environment = environment | {"LD_PRELOAD": self.recorder, "RECORD_FOLDER": folder, "RECORD_TO": record}
            environment |= {f"RECORD_{name.upper()}": str(value) for name, value in settings.items()}
        done = subprocess.run([self.path, *words], cwd=folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=COMMAND_LIMIT_S)
        said = done.stderr.splitlines()
        refused_well = said and SENTENCE.match(said[-1])
        stopped = done.returncode == -signal.SIGTERM and settings.get("fault", "").endswith(":0")
        refused = done.returncode in (1, 2)
        if done.returncode < 0 and not stopped or refused and not refused_well or NO_SENTENCE.search(done.stderr):
            raise Bad(f"{words[0]} ends with {done.returncode} and says: {done.stderr}")
        return done

    def must(self, statuses, folder, words):
        done = self.call(folder, words)
        if done.returncode not in statuses:
            raise Bad(f"{' '.join(words)} ends with {done.returncode}, not {statuses}, and says: {done.stderr}")
        return done


class Campaign:
    """Plans, the last of which cannot be read, options, and the answers that an undisturbed run gives."""

    def __init__(self, program, plans, ids, options, folder):
        self.program, self.plans, self.ids, self.options = program, plans, ids, options
        program.must({self.status_of(ids)}, folder, self.run(ids))
        self.rows = self.rows_of(folder)
        self.whole = contents_of(os.path.join(folder, RESULTS))

    def run(self, ids, *more, out=RESULTS, shard="none"):
        return ["run", "--data", self.plans, "--out", out, "--shard", shard, "--threads", "1", "--progress", "none",
                "--max-attempts", "1", "--log-level", "warning", *self.options, *more, *ids]

    def status_of(self, ids):
        """How a command ends that leaves none of these plans without a result."""
        return 3 if self.ids[-1] in ids else 0

    def rows_of(self, folder):
        """What the program itself reads, by the plans' ids."""
        plans = json.loads(self.program.must({0}, folder, ["list", RESULTS, "--columns", "all", "--json"]).stdout)["plans"]
        return {row["id"]: {name: value for name, value in row.items() if name not in VARYING} for row in plans}

    def look(self, folder):
        """Looks at the file as it lies there, by the program and by HDF5. Nothing may be wrong, and nothing may change."""
        before = read_folder(folder)
        rows = self.rows_of(folder)
        if read_folder(folder) != before:
            raise Bad("a look changed the folder")
        answered = {plan for plan, row in rows.items() if row["status"] != "pending"}
        if wrong := [plan for plan in answered if rows[plan] != self.rows[plan]]:
            raise Bad(f"wrong: {rows[wrong[0]]} in place of {self.rows[wrong[0]]}")
        with h5py.File(os.path.join(folder, RESULTS)) as opened:  # a file is closed at every moment
            if len(opened["rows"][:]) != len(rows):
                raise Bad("HDF5 finds another number of rows")
        return Look(tuple(rows), frozenset(answered))

    def check_whole(self, folder, ids, beside):
        """That there is a closed file with all answers, and nothing else."""
        if left := set(os.listdir(folder)) - {RESULTS, *beside}:
            raise Bad(f"left over: {sorted(left)}")
        found = contents_of(os.path.join(folder, RESULTS))
        if list(found) != list(ids):
            raise Bad(f"the plans are {list(found)}, not {list(ids)}")
        for plan, content in found.items():
            if content != self.whole[plan]:
                raise Bad(f"wrong in HDF5: {content} in place of {self.whole[plan]}")


def contents_of(path):
    """What HDF5 alone finds of each plan: the bytes of its row's answer, of its rooms and of its field."""
    def answer_in(row):
        return [row[column].tobytes() for column in row.dtype.names if column not in VARYING]

    found = {}
    with h5py.File(path) as file:
        rooms = file["rooms"][:] if "rooms" in file else []
        fields = file["fields"] if "fields" in file else {}
        for i, row in enumerate(file["rows"][:]):
            name = row["id"].decode()
            own = [answer_in(room) for room in rooms if room["plan"] == i and room["cells"] > 0]
            found[name] = answer_in(row), own, fields[name][:].tobytes() if name in fields else None
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
