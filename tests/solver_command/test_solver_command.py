#!/usr/bin/python3
"""Programs of the user as solvers: test_solver_command.py WALLHEAT

Sound programs give the results of jacobi. A program with a fault makes its plan fail with a reason, and the other plans
are solved. After each run no process and no folder of the program is left.
Exit status: 0 success; 1 failure. Parts without which NumPy, a compiler or mpirun is needed are skipped, with a reason.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

try:
    import numpy
except ImportError:
    numpy = None

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "jobs/examples"
WALLHEAT = ""  # the first argument
DEADLINE_S = 120
# A busy machine may block writes to a disk for longer than a plan may take.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

# A program that returns the initial field. `setup` runs before it is ready, `at_plan_3` instead of the reply to plan 00003.
PROGRAM = """
import json, os, shutil, signal, struct, subprocess, sys, time
requests = os.fdopen(int(os.environ["WALLHEAT_REQUESTS_FD"]))
replies = os.fdopen(int(os.environ["WALLHEAT_REPLIES_FD"]), "w")
def reply(**values):
    print(json.dumps(values), file=replies, flush=True)
def field(change=lambda content: content):
    with open(request["domain"], "rb") as domain, open(request["field"], "wb") as out:
        out.write(change(domain.read()))
def ring(first_cell=bytes(8)):
    def change(content):
        rows = [content[-8 * 32 * 32 + 8 * 32 * row:][:8 * 32] for row in range(32)]
        cells = first_cell + bytes(8 * 33) + b"".join(bytes(8) + row + bytes(8) for row in rows) + bytes(8 * 34)
        return content[:-8 * 32 * 32].replace(b"(32, 32)", b"(34, 34)") + cells
    return change
def first_cell(value):
    return lambda content: content[:-8 * 32 * 32] + struct.pack("<d", value) + content[-8 * 32 * 32 + 8:]
{setup}
reply(ready=True)
for line in requests:
    request = json.loads(line)
    with open("folders", "a") as folders:
        print(os.path.dirname(request["field"]), file=folders)
    if request["id"] == "00003":
        {at_plan_3}
    else:
        field()
        reply(done=True, iterations=5, converged=True)
"""
ANSWER = "field(); reply(done=True, iterations=5, converged=True)"

# Name: what the program does at plan 00003, and facts of the reason of the failure.
FAULTS = {
    "exit": ("os._exit(7)", ["exit status 7"]),
    "exit_in_a_line": ("sys.stderr.write('no licence'); sys.stderr.flush(); os._exit(1)", ["exit status 1", "no licence"]),
    "exception": ("raise ValueError('no wall')", ["ValueError", "no wall"]),
    "signal": ("os.kill(os.getpid(), signal.SIGSEGV)", ["SIGSEGV"]),
    "error": ("reply(error='ValueError: no wall')", ["ValueError: no wall"]),
    "hang": ("time.sleep(3600)", ["1 s", "--plan-timeout"]),
    "hang_without_sigterm": ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)", ["1 s"]),
    "garbage": ("print('garbage', file=replies, flush=True)", ["garbage"]),
    "not_done": ("reply(iterations=5)", ["iterations"]),
    "long_line": ("print('x' * 100000, file=replies, flush=True)", ["65536"]),
    "closed_replies": ("replies.close(); time.sleep(3600)", ["descriptor"]),
    "no_field": ("reply(done=True)", ["field"]),
    "short_file": ("field(lambda content: content[:-8]); reply(done=True)", ["field.npy"]),
    "shape": ("field(lambda content: content.replace(b'(32, 32)', b'(16, 64)')); reply(done=True)",
              ["16 x 64", "32 x 32"]),
    "large": ("field(lambda content: content + bytes(100000)); reply(done=True)", ["field.npy", "1156 cells"]),
    "nan": ("field(first_cell(float('nan'))); reply(done=True)", ["row 0", "NaN"]),
    "ring": ("field(ring(b'12345678')); reply(done=True)", ["ring"]),
    "huge_iterations": ("field(); reply(done=True, iterations=1e300)", ["1e+300"]),
    "huge_progress": ("reply(progress=1e300); " + ANSWER, ["1e+300"]),
    "fixed_cell": ("field(first_cell(77.5)); reply(done=True)", ["fixed", "row 0", "77.5"]),
}
# Behaviour that is not a fault.
SOUND = {
    "children": ("subprocess.Popen(['sleep', '3600']); subprocess.Popen(['sleep', '3600'], start_new_session=True);"
                 " subprocess.run(['sh', '-c', '(setsid sleep 3600 &)']); " + ANSWER),
    "exit_after_reply": ANSWER + "; os._exit(0)",
    "flood": "sys.stdout.write('x' * 5000000 + '\\n' * 100000); sys.stderr.write('noise\\n' * 100000); " + ANSWER,
    "progress": "[reply(progress=n, delta=0.5) for n in range(3000)]; " + ANSWER,
    "progress_with_reply": "field(); reply(done=True, progress=5, iterations=5, converged=True)",
    "ring": "field(ring()); reply(done=True, iterations=5.0, converged=True)",
    "unknown_keys": "field(); reply(done=True, iterations=5, converged=True, mood='good', progress=None)",
}

# A program that replies at once, and writes the field of a plan when it has received the next request.
LATE_PROGRAM = """
import json, os, shutil
requests = os.fdopen(int(os.environ["WALLHEAT_REQUESTS_FD"]))
replies = os.fdopen(int(os.environ["WALLHEAT_REPLIES_FD"]), "w")
print('{"ready": true}', file=replies, flush=True)
previous = None
for line in requests:
    request = json.loads(line)
    if previous:
        shutil.copy(request["domain"], previous["field"])
    previous = request
    print('{"done": true, "converged": true}', file=replies, flush=True)
"""
NUMPY_PROGRAM = """
import json, os
import numpy as np
requests = os.fdopen(int(os.environ["WALLHEAT_REQUESTS_FD"]))
replies = os.fdopen(int(os.environ["WALLHEAT_REPLIES_FD"]), "w")
print('{{"ready": true}}', file=replies, flush=True)
for line in requests:
    request = json.loads(line)
    u = np.pad(np.load(request["domain"]), 1).astype({dtype})
    interior = np.load(request["interior"])
    for sweep in range({sweeps}):
        old = u.copy()
        new = u.dtype.type(0.25) * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])[interior]
        delta = np.abs(u[1:-1, 1:-1][interior] - new).max()
        u[1:-1, 1:-1][interior] = new
        if delta < {tolerance}:
            break
    np.save(request["field"], {result})
    print('{{"done": true}}', file=replies, flush=True)
"""
# Wrong programs: their parameters, and a fact by which compare names them.
WRONG = {
    "fixed": ({"sweeps": 60, "tolerance": 0}, "60"),
    "tolerance": ({"tolerance": 0.01}, "0.01"),
    "single": ({"dtype": "np.float32"}, "single precision"),
    "previous": ({"result": "old"}, "before the last update"),
}


class SolverCommandTest(unittest.TestCase):
    def setUp(self):
        self.start = time.time()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wallheat-solver-command-", dir=MEMORY))
        self.addCleanup(shutil.rmtree, self.folder)
        self.mark = f"WALLHEAT_TEST_MARK={uuid.uuid4()}"
        self.wallheat("generate", "--out", "plans", "--count", "6", "--size", "32", "--seed", "3")

    def command(self, *words):
        return ["env", self.mark, WALLHEAT, *map(str, words)]

    def wallheat(self, *words, status=0):
        """Runs wallheat in the folder. Expects the exit status and returns stdout and stderr."""
        run = subprocess.run(self.command(*words), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=DEADLINE_S, check=False)
        self.assertEqual(run.returncode, status, f"{words}\n{run.stdout}\n{run.stderr}")
        return run.stdout, run.stderr

    def program(self, at_plan_3=ANSWER, setup="", name="mine.py"):
        """Writes a program and returns its command."""
        (self.folder / name).write_text(PROGRAM.format(setup=setup, at_plan_3=at_plan_3), encoding="utf-8")
        return f"{sys.executable} {name}"

    def run_command(self, command, *options, out="out.h5", status=0):
        output = self.wallheat("run", "--data", "plans", "--out", out, "--log-level", "warning", "--solver-command", command,
                               *options, status=status)
        self.expect_nothing_left()
        return output

    def rows(self, file="out.h5"):
        return {row["id"]: row for row in json.loads(self.wallheat("list", file, "--columns", "all", "--json")[0])["plans"]}

    def csv(self, file="out.h5"):
        return self.wallheat("export", file)[0]

    def processes(self):
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                pass  # it has ended, or belongs to another user
        return found

    def is_left(self, folder):
        """Returns whether the folder of a slot was created after the start of the test, and no supervisor has locked it."""
        try:
            status = folder.stat()
        except FileNotFoundError:
            return False
        locks = pathlib.Path("/proc/locks").read_text(encoding="utf-8")
        return status.st_mtime >= self.start and not re.search(rf"FLOCK .*:{status.st_ino} ", locks)

    def expect_nothing_left(self):
        self.assertEqual(self.processes(), [])
        for folder in pathlib.Path("/dev/shm").glob("wallheat-slot*"):  # also of programs that got no request
            self.wait_until(f"{folder} is removed, or locked by another run", lambda folder=folder: not self.is_left(folder))
        if (self.folder / "folders").exists():
            for folder in set((self.folder / "folders").read_text(encoding="utf-8").split()):
                self.assertFalse(os.path.exists(folder), folder)

    def wait_until(self, what, condition):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"waited in vain until {what}")
            time.sleep(0.01)

    def expect_facts(self, facts, text):
        for fact in facts:
            self.assertIn(fact, text)

    def test_fails_the_plan_with_a_reason_when_the_program_has_a_fault(self):
        for name, (fault, facts) in FAULTS.items():
            with self.subTest(name):
                self.run_command(self.program(fault), "--plan-timeout", 1 if "hang" in name else 60, "--max-attempts", 2,
                                 "--overwrite", status=3)
                rows = self.rows()
                self.assertEqual([plan for plan, row in rows.items() if row["status"] != "converged"], ["00003"])
                self.assertEqual((rows["00003"]["status"], rows["00003"]["attempts"]), ("failed", 2))
                for command, status in (("summary", 0), ("status", 3)):
                    advice, _ = self.wallheat(command, "out.h5", status=status)
                    self.expect_facts(["--retry-failed", "--allow-changed-solver"], advice)
                self.expect_facts(facts, rows["00003"]["error"])

    def test_solves_all_plans_when_the_program_does_more_than_it_must(self):
        for name, behaviour in SOUND.items():
            with self.subTest(name):
                _, log = self.run_command(self.program(behaviour), "--threads", 1, "--overwrite")
                self.assertEqual({row["status"] for row in self.rows().values()}, {"converged"})
                self.assertLess(len(log.splitlines()), 200)
                self.assertLess(len(log), 100_000)

    def test_does_not_take_a_late_field_for_that_of_the_next_plan(self):
        # All plans have equal fixed cells, so the check of the fixed cells does not find the mistake.
        for name in ("domain", "interior"):
            for plan in range(2, 7):
                shutil.copy(self.folder / f"plans/00001_{name}.npy", self.folder / f"plans/{plan:05}_{name}.npy")
        (self.folder / "late.py").write_text(LATE_PROGRAM, encoding="utf-8")
        _, log = self.run_command(f"{sys.executable} late.py", "--threads", 1, status=1)
        self.expect_facts(["field", "3"], log)
        self.assertEqual({row["status"] for row in self.rows().values()} & {"converged", "convergence_unknown"}, set())

    def test_lets_the_program_end_by_itself(self):
        setup = """import atexit
atexit.register(lambda: open('ends', 'a').write('at the end of the requests '))
def on_sigterm(*_):
    open('ends', 'a').write('by a signal ')
    os._exit(1)
signal.signal(signal.SIGTERM, on_sigterm)"""
        self.run_command(self.program(setup=setup), "--threads", 1)
        self.assertEqual((self.folder / "ends").read_text(encoding="utf-8"), "at the end of the requests ")

    def test_starts_a_program_that_prints_a_long_line_first(self):
        command = self.program("print(flush=True); " + ANSWER, setup="print('noise' * 40000, end='', flush=True)")
        _, log = self.run_command(command, "--threads", 1)
        self.assertEqual({row["status"] for row in self.rows().values()}, {"converged"})
        self.assertEqual(sum("noisenoise" in line for line in log.splitlines()), 1)

    def test_logs_output_with_the_plan_id(self):
        _, log = self.run_command(self.program("print('an unusual wall', flush=True); " + ANSWER))
        self.assertRegex(log, "00003.*an unusual wall")

    def test_does_not_count_the_start_against_a_plan(self):
        crash = "if not os.path.exists('crashed'): open('crashed', 'w').close(); os._exit(7)\n        " + ANSWER
        setup = "open('starts', 'a').write('.')\ntime.sleep(6)"
        self.run_command(self.program(crash, setup), "--plan-timeout", 5, "--events", "events", "--threads", 1)
        self.assertEqual((self.folder / "starts").read_text(encoding="utf-8"), "..")  # the second one after the crash
        self.assertEqual({plan: row["attempts"] for plan, row in self.rows().items() if row["attempts"] != 1}, {"00003": 2})
        events = [json.loads(line) for line in (self.folder / "events").read_text(encoding="utf-8").splitlines()]
        starts = [event["program_start_s"] for event in events if "program_start_s" in event]
        self.assertGreaterEqual(min(starts), 6)
        session = json.loads(self.wallheat("summary", "out.h5", "--json")[0])["sessions"][-1]
        self.assertGreaterEqual(float(session["program_start_seconds"]), 6)

    def test_logs_what_the_program_prints_at_its_end(self):
        setup = "import atexit; atexit.register(lambda: print('a late wall', flush=True))"
        self.assertIn("a late wall", self.run_command(self.program(setup=setup), "--threads", 1)[1])

    def test_removes_files_of_the_program_before_the_next_plan(self):
        setup = """write_field = field
def field(*change):
    left = os.path.dirname(request["field"]) + "/left"
    assert not os.path.exists(left)
    open(left, "w").close()
    write_field(*change)"""
        self.run_command(self.program(setup=setup), "--threads", 1, "--max-attempts", 1)

    def test_reports_why_the_program_does_not_start(self):
        (self.folder / "not-executable").write_text("", encoding="utf-8")
        for command, facts in [("./absent --fast", ["./absent"]), ("./not-executable", ["./not-executable"]),
                               ("env ./absent", ["./absent"]), ("sh -c ./absent", ["./absent"]),
                               (self.program(setup="sys.exit('no module')"), ["exit status 1", "ready", "no module"])]:
            with self.subTest(command):
                _, log = self.run_command(command, "--overwrite", "--threads", 1, status=1)
                self.expect_facts(facts, log.splitlines()[-1])
                if facts[0].startswith("./"):  # another attempt would fail, too
                    self.assertEqual(sum(facts[0] in line for line in log.splitlines()), 2, log)  # stderr, and the reason
        for command in ("'mine.py", "''"):
            with self.subTest(command):
                self.assertIn("--solver-command", self.run_command(command, "--overwrite", status=2)[1])

    def test_resumes_with_another_command_while_no_plan_is_solved(self):
        (self.folder / "faulty.py").write_text("raise SystemExit(1)", encoding="utf-8")
        for mistake in ("./absent.py", f"{sys.executable} faulty.py"):
            with self.subTest(mistake):
                self.run_command(mistake, "--overwrite", status=1)
                command = self.program()
                options = ("run", "--data", "plans", "--out", "out.h5", "--solver-command", command, "--tolerance", "0.001")
                self.expect_facts(["--solver-command"], "".join(self.wallheat(*options, "--resume", "--check")))
                _, log = self.run_command(command, "--tolerance", "0.001", "--resume")
                self.expect_facts(["out.h5", "--solver-command", mistake, "--tolerance"], log)
                self.assertEqual({row["status"] for row in self.rows().values()}, {"converged"})
                self.expect_facts(["--solver-command"], self.run_command(mistake, "--resume", status=1)[1])

    def test_stops_when_the_first_plans_fail_for_the_same_reason(self):
        command = self.program()
        text = (self.folder / "mine.py").read_text(encoding="utf-8")
        (self.folder / "mine.py").write_text(text.replace("    with open", "    sys.exit('no wall at ' + line[:20])\n    with open"),
                                             encoding="utf-8")
        _, log = self.run_command(command, "--threads", 1, status=1)
        self.expect_facts(["3 plans", "no wall at"], log.splitlines()[-1])
        self.assertEqual(sorted(row["attempts"] for row in self.rows().values()), [0, 0, 0, 1, 1, 1])

    def test_leaves_nothing_and_resumes_when_killed(self):
        command = self.program("open('begun', 'w').close()\n        while os.path.exists('block'): time.sleep(0.01)\n        "
                               + ANSWER, "subprocess.Popen(['sleep', '3600'], start_new_session=True)")
        self.run_command(command, out="undisturbed.h5")
        for number in (signal.SIGKILL, signal.SIGTERM):
            (self.folder / "begun").unlink()
            (self.folder / "block").touch()
            with subprocess.Popen(self.command("run", "--data", "plans", "--out", "out.h5", "--overwrite", "--threads", 2,
                                               "--solver-command", command), cwd=self.folder,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
                self.wait_until("plan 00003 is in progress", (self.folder / "begun").exists)
                run.send_signal(number)
                run.wait(DEADLINE_S)
            self.wait_until("all processes have ended", lambda: not self.processes())
            self.expect_nothing_left()
            (self.folder / "block").unlink()
            self.run_command(command, "--resume")
            self.assertEqual(self.csv(), self.csv("undisturbed.h5"))

    def test_refuses_to_resume_when_the_program_has_changed(self):
        command = self.program()
        (self.folder / "lib.py").write_text("walls = 1", encoding="utf-8")
        options = ("--solver-file", "lib.py", "--resume")
        self.run_command(command, *options)
        self.run_command(command, *options)
        (self.folder / "lib.py").write_text("walls = 2", encoding="utf-8")
        facts = ["has changed", "(lib.py)", "--allow-changed-solver", "--overwrite"]
        self.expect_facts(facts, self.run_command(command, *options, status=1)[1])
        self.run_command(command, *options, "--allow-changed-solver")
        (self.folder / "lib.py").write_text("walls = 1", encoding="utf-8")
        self.expect_facts(["has changed", "--solver-command"], self.run_command(command + " --fast", *options, status=1)[1])
        self.expect_facts(["solver"], self.wallheat("run", "--data", "plans", "--out", "out.h5", "--resume", status=1)[1])

    def test_verifies_only_with_a_command_of_the_user(self):
        command = self.program()
        self.run_command(command)
        self.expect_facts(["--solver-command", "mine.py"], self.wallheat("verify", "out.h5", "--data", "plans", status=1)[1])
        self.wallheat("verify", "out.h5", "--data", "plans", "--solver-command", command)
        command = self.program(setup="open('starts', 'a').write(os.environ['OMP_NUM_THREADS'] + ' ')")
        self.run_command(command, "--overwrite")
        (self.folder / "starts").unlink()
        self.wallheat("verify", "out.h5", "--data", "plans", "--sample", 1, "--solver-command", command)
        self.assertEqual((self.folder / "starts").read_text(encoding="utf-8"), "1 ")  # one plan, one program
        other = self.program("field(first_cell(0)); reply(done=True)", name="other.py")
        self.assertIn("other.py", self.wallheat("verify", "out.h5", "--data", "plans", "--solver-command", other, status=1)[1])

    def test_starts_the_program_as_an_ordinary_one(self):
        setup = ("import resource; json.dump([sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),"
                 " [int(n) for n in range(1, 32) if signal.getsignal(n) == signal.SIG_IGN],"
                 " open('/proc/self/oom_score_adj').read(), resource.getrlimit(resource.RLIMIT_NOFILE), os.getcwd(),"
                 " os.environ['OMP_NUM_THREADS'], os.environ['NUMBA_NUM_THREADS']], open('facts', 'w'))")
        self.run_command(self.program(setup="signal.signal(signal.SIGINT, signal.SIG_DFL)\n" + setup), "--threads", 1)
        mask, ignored, oom_score, files, directory, *threads = json.loads((self.folder / "facts").read_text(encoding="utf-8"))
        self.assertEqual(mask, [])
        self.assertLessEqual(set(ignored), {signal.SIGPIPE, signal.SIGXFSZ})  # Python itself ignores these
        self.assertEqual(oom_score, pathlib.Path("/proc/self/oom_score_adj").read_text(encoding="utf-8"))
        self.assertEqual(tuple(files), resource.getrlimit(resource.RLIMIT_NOFILE))
        self.assertEqual(pathlib.Path(directory), self.folder.resolve())
        self.assertEqual(threads, ["1", "1"])

    def test_binds_slots_to_their_cores(self):
        cores = len(os.sched_getaffinity(0))
        setup = "open('cores-%d' % os.getpid(), 'w').write(str(len(os.sched_getaffinity(0))) + os.environ['OMP_NUM_THREADS'])"
        self.run_command(self.program(setup=setup), "--cores-per-slot", 1)
        slots = list(self.folder.glob("cores-*"))
        self.assertGreaterEqual(cores, len(slots))
        _, log = self.run_command(self.program(), "--cores-per-slot", 4096, "--overwrite", status=1)
        self.expect_facts(["--cores-per-slot 4096"], log.splitlines()[-1])
        if len(slots) < 2:
            print("skipped: slots of two cores (this machine has one core)")
            return
        for file in slots:
            file.unlink()
        self.run_command(self.program(setup=setup), "--cores-per-slot", 2, "--overwrite")
        self.assertEqual({file.read_text(encoding="utf-8")[-1] for file in self.folder.glob("cores-*")}, {"2"})
        self.assertEqual(len(list(self.folder.glob("cores-*"))), len(slots) // 2)

    def test_accepts_a_program_that_is_not_readable(self):
        shutil.copy(shutil.which("echo"), self.folder / "echo")
        (self.folder / "echo").chmod(0o111)
        user = {}
        if os.geteuid() == 0:  # root can read all files
            user = {"user": 65534, "group": 65534, "extra_groups": []}
            for file in (self.folder, *self.folder.rglob("*")):
                os.chown(file, 65534, 65534)
        words = self.command("run", "--data", "plans", "--out", "out.h5", "--check", "--solver-command",
                             """./echo '{"ready": true}'""")
        try:
            subprocess.run([self.folder / "echo"], **user, stdout=subprocess.DEVNULL, check=True)
            subprocess.run([WALLHEAT, "version"], **user, stdout=subprocess.DEVNULL, check=True)
        except PermissionError as error:
            print(f"skipped: a program that is not readable ({error})")
            return
        run = subprocess.run(words, **user, cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_check_predicts_no_time_of_a_program(self):
        out, _ = self.wallheat("run", "--data", "plans", "--out", "out.h5", "--solver-command", self.program(), "--check=job")
        self.expect_facts(["work", "unknown", "--solver-memory"], out)
        self.assertNotIn("not worth a job", out)
        self.assertIn("ready", out)

    def test_stores_that_convergence_is_unknown(self):
        self.run_command(self.program("field(); reply(done=True)"))
        row = self.rows()["00003"]
        self.assertEqual((row["status"], row["iterations"]), ("convergence_unknown", None))
        line = next(line for line in self.wallheat("list", "out.h5")[0].splitlines() if line.startswith("00003"))
        self.assertIn(" - ", line)
        self.assertNotIn("00003", self.wallheat("list", "out.h5", "--where", "iterations < 9")[0])
        self.assertGreater(row["last_delta"], 0)
        self.assertIn("convergence_unknown", self.wallheat("summary", "out.h5")[0])
        self.run_command(self.program("field(); reply(done=True)"), "--resume")

    def test_workers_compare_the_program_with_rank_0(self):
        if shutil.which("mpirun") is None:
            print("skipped: workers in other folders (there is no mpirun)")
            return
        (self.folder / "other").mkdir()
        self.program(name="other/mine.py", setup="walls = 2")
        words = ["run", "--data", self.folder / "plans", "--out", self.folder / "out.h5", "--solver-command", self.program()]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        rank = ["-n", "1", *self.command(*words)]
        run = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", *rank, ":", "-wdir", self.folder / "other", *rank],
                             cwd=self.folder, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.expect_facts(["--solver-file", "mine.py"], run.stderr)

    def test_complete_programs_compute_the_results_of_jacobi(self):
        commands = {}
        if compiler := shutil.which("cc"):
            folder = tempfile.mkdtemp()  # programs in memory may not be executable
            self.addCleanup(shutil.rmtree, folder)
            commands["C"] = f"{folder}/plain_solver"
            subprocess.run([compiler, "-O2", "-ffp-contract=off", EXAMPLES / "plain_solver.c", "-o", commands["C"], "-lm"],
                           check=True)
        else:
            print("skipped: the program in C (there is no compiler cc)")
        if numpy:
            commands["Python"] = f"{sys.executable} {EXAMPLES}/plain_solver.py"
        else:
            print(f"skipped: the program in Python ({sys.executable} has no NumPy)")
        shutil.make_archive(self.folder / "packed", "zip", self.folder / "plans")
        for options in ([], ["--wall", "5=8"], ["--data", "packed.zip"], ["--rooms", "--save-fields", "--first", "3"]):
            data = [] if "--data" in options else ["--data", "plans"]
            run = ["run", *data, *options, "--overwrite", "--log-level", "error"]
            self.wallheat(*run, "--out", "jacobi.h5")
            for name, command in commands.items():
                with self.subTest(name, options=options):
                    self.wallheat(*run, "--out", "out.h5", "--solver-command", command)
                    self.expect_nothing_left()
                    self.assertEqual(self.csv(), self.csv("jacobi.h5"))
                    iterations = [{plan: row["iterations"] for plan, row in self.rows(file).items()}
                                  for file in ("out.h5", "jacobi.h5")]
                    self.assertEqual(*iterations)
                    self.wallheat("compare", "out.h5", "jacobi.h5", "--require-equal")
        self.wallheat("generate", "--out", "heated", "--count", "1", "--size", "32", "--kind", "poisson")
        for name, command in commands.items():
            with self.subTest(name, data="heated"):
                self.wallheat("run", "--data", "heated", "--out", "out.h5", "--overwrite", "--max-attempts", "1",
                              "--solver-command", command, status=3)
                self.expect_facts(["heat source"], self.rows()["00001"]["error"])

    def test_compare_names_wrong_programs(self):
        if not numpy:
            print(f"skipped: wrong programs ({sys.executable} has no NumPy)")
            return
        sound = {"dtype": "float", "sweeps": 20000, "tolerance": 1e-4, "result": "u"}
        for name, (parameters, fact) in WRONG.items():
            with self.subTest(name):
                (self.folder / "wrong.py").write_text(NUMPY_PROGRAM.format(**sound | parameters), encoding="utf-8")
                self.run_command(f"{sys.executable} wrong.py", "--overwrite")
                report = json.loads(self.wallheat("compare", "out.h5", "--data", "plans", "--json")[0])
                self.assertIn(fact, report["ways"][0]["answer"])
                self.assertGreater(report["seconds_per_plan"], 0)
                self.assertGreater(report["jacobi_seconds_per_plan"], 0)

    def test_compare_uses_the_plans_that_are_available(self):
        self.run_command(self.program())
        (self.folder / "some").mkdir()
        for name in ("domain", "interior"):
            shutil.copy(self.folder / f"plans/00004_{name}.npy", self.folder / "some")
        report = json.loads(self.wallheat("compare", "out.h5", "--data", "some", "--json")[0])
        self.assertEqual(report["timed_plans"], 1)
        self.wallheat("run", "--data", "plans", "--out", "jacobi.h5")
        self.assertNotIn("seconds_per_plan", json.loads(self.wallheat("compare", "jacobi.h5", "--data", "plans", "--json")[0]))


if __name__ == "__main__":
    WALLHEAT = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
