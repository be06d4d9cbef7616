"""The program whose result files are put to the test: its calls, what it answers, and what its files hold."""

import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile

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

Done = collections.namedtuple("Done", "status out err")
Look = collections.namedtuple("Look", "ids answered")  # the plans in their order; those that have an answer


class Bad(Exception):
    """Something that must not be."""


class Program:
    """The program. With a server (program_server.cpp) only what is recorded is a start of its own."""

    def __init__(self, path, recorder, server=None):
        self.path, self.recorder = os.path.realpath(path), os.path.realpath(recorder)
        self.calls = 0
        self.environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | os.environ
        self.server = None
        if server:
            self.said = tempfile.TemporaryDirectory(prefix="wallheat-said-")
            self.server = subprocess.Popen([os.path.realpath(server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment)

    def close(self):
        """Ends the server; returns the seconds of a core that all calls took."""
        if self.server:
            self.server.communicate()
            self.said.cleanup()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def call(self, folder, words, record=None, **settings):
        """Runs a command in a folder; with a record under the recorder. What it says must be sentences."""
        self.calls += 1
        if self.server and not record:
            status, out, err = self.serve(folder, words)
        else:
            status, out, err = self.start(folder, words, record, settings)
        said = err.splitlines()
        refused_well = said and SENTENCE.match(said[-1])
        stopped = status == -signal.SIGTERM and settings.get("fault", "").endswith(":0")
        if status < 0 and not stopped or status in (1, 2) and not refused_well or NO_SENTENCE.search(err):
            raise Bad(f"{words[0]} ends with {status} and says: {err}")
        return Done(status, out, err)

    def start(self, folder, words, record, settings):
        environment = self.environment
        if record:
            environment = environment | {"LD_PRELOAD": self.recorder, "RECORD_FOLDER": folder, "RECORD_TO": record}
            environment |= {f"RECORD_{name.upper()}": str(value) for name, value in settings.items()}
        done = subprocess.run([self.path, *words], cwd=folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=COMMAND_LIMIT_S)
        return done.returncode, done.stdout, done.stderr

    def serve(self, folder, words):
        files = [os.path.join(self.said.name, name) for name in ("out", "err")]
        self.server.stdin.write(b"".join(word.encode() + b"\0" for word in [folder, *files, *words, ""]))
        self.server.stdin.flush()
        status = int(self.server.stdout.readline())
        texts = []
        for name in files:
            with open(name, encoding="utf-8") as file:
                texts.append(file.read())
        return status, *texts

    def must(self, statuses, folder, words):
        done = self.call(folder, words)
        if done.status not in statuses:
            raise Bad(f"{' '.join(words)} ends with {done.status}, not {statuses}, and says: {done.err}")
        return done


class Campaign:
    """Plans, perhaps one that cannot be read, options, and the answers that an undisturbed run gives."""

    def __init__(self, program, plans, ids, options, folder, broken=None):
        self.program, self.plans, self.ids, self.options = program, plans, ids, options
        self.broken = broken
        program.must({self.status_of(ids)}, folder, self.run(ids))
        self.rows = self.rows_of(folder)
        self.whole = contents_of(os.path.join(folder, RESULTS))
        header, *lines = self.csv(folder)
        self.csv_header, self.csv_lines = header, {line.split(",")[0]: line for line in lines}

    def run(self, ids, *more, out=RESULTS, shard="none"):
        return ["run", "--data", self.plans, "--out", out, "--shard", shard, "--threads", "1", "--progress", "none",
                "--max-attempts", "1", "--log-level", "warning", *self.options, *more, *ids]

    def status_of(self, ids):
        """How a command ends that leaves none of these plans without a result."""
        return 3 if self.broken in ids else 0

    def csv(self, folder):
        return self.program.must({0, 3}, folder, ["export", RESULTS]).out.splitlines()

    def rows_of(self, folder, file=RESULTS):
        """What the program itself reads, by the plans' ids."""
        plans = json.loads(self.program.must({0}, folder, ["list", file, "--columns", "all", "--json"]).out)["plans"]
        return {row["id"]: {name: value for name, value in row.items() if name not in VARYING} for row in plans}

    def look(self, folder, file=RESULTS):
        """Looks at a file as it lies there, by the program and by HDF5. Nothing may be wrong, and nothing may change."""
        before = read_folder(folder)
        rows = self.rows_of(folder, file)
        if read_folder(folder) != before:
            raise Bad("a look changed the folder")
        answered = {plan for plan, row in rows.items() if row["status"] != "pending"}
        if wrong := [plan for plan in answered if rows[plan] != self.rows[plan]]:
            raise Bad(f"wrong: {rows[wrong[0]]} in place of {self.rows[wrong[0]]}")
        with h5py.File(os.path.join(folder, file)) as opened:  # a file is closed at every moment
            if len(opened["rows"][:]) != len(rows):
                raise Bad("HDF5 finds another number of rows")
        return Look(tuple(rows), frozenset(answered))

    def check_whole(self, folder, ids, beside, csv):
        """That there is a closed file with all answers, and nothing else; with `csv` also that the program reads them."""
        if left := set(os.listdir(folder)) - {RESULTS, *beside}:
            raise Bad(f"left over: {sorted(left)}")
        found = contents_of(os.path.join(folder, RESULTS))
        if list(found) != list(ids):
            raise Bad(f"the plans are {list(found)}, not {list(ids)}")
        for plan, content in found.items():
            if content != self.whole[plan]:
                raise Bad(f"wrong in HDF5: {content} in place of {self.whole[plan]}")
        if csv and self.csv(folder) != [self.csv_header, *(self.csv_lines[plan] for plan in ids if plan != self.broken)]:
            raise Bad("the CSV is another")


def contents_of(path):
    """What HDF5 alone finds of each plan: the bytes of its row's answer, of its rooms and of its field."""
    with h5py.File(path) as file:
        rows = file["rows"][:]
        columns = [name for name in rows.dtype.names if name not in VARYING]
        rooms = file["rooms"][:] if "rooms" in file else None
        found = {}
        for i, row in enumerate(rows):
            name = row["id"].decode()
            answer = {column: row[column].tobytes() for column in columns}
            own = [] if rooms is None else rooms[(rooms["plan"] == i) & (rooms["cells"] > 0)]
            found[name] = (answer, [tuple(room[column].tobytes() for column in rooms.dtype.names if column not in VARYING)
                                    for room in own], field_of(file, row))
        return found


def field_of(file, row):
    """The bytes of a plan's field; nothing if there is none."""
    name = row["id"].decode()
    return file["fields"][name][:].tobytes() if "fields" in file and name in file["fields"] else None


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
