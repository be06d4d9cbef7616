#!/usr/bin/python3
"""The studies of jobs/examples: each task of each study shows a table or a picture. A killed study can be resumed, but
only with its own options. Each place that documents.csv names exists.

  test_studies.py WALLHEAT

Exit status: 0 success, 1 something is missing, 77 skipped, with the reason on stdout.
"""

import csv
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = {"wall-heating report", "GPU monitoring lecture", "GPU computing lecture", "GPU section of a Python course",
             "Python on GPUs workshop"}
# Options and number of tasks of each study.
STUDIES = {
    "study": (["--data", "plans", "--pictures", "4", "--timed", "3",
               "--solver", f"mine=/usr/bin/python3 {ROOT}/jobs/examples/plain_solver.py"], 12),
    "benchmark": (["--data", "plans", "--timed", "2", "--threads", "2"], 4),
    "poisson-study": (["--sizes", "32,64", "--python", "32"], 2),
    "waiting-study": (["--sacct", "jobs.txt", "--sinfo", "nodes.txt"], 3),
    "gpu-study": (["--data", "plans", "--interval", "0.1", "--recording", str(ROOT / "tests/data/dmon.txt")], 5),
    "gpu-why": (["--memory", "80"], 3),
}


def missing(out, tasks):
    """Yields a message for each task without a result, and for each temporary file."""
    page = (out / "index.html").read_text()
    for task in range(1, tasks + 1):
        shown = re.search(rf"<h2>Task {task}:.*?(?=<h2>Task|<p class=small>)", page, re.DOTALL)
        if not shown or not re.search(r"<table|<svg|<pre|run\.html", shown.group()):
            yield f"task {task} shows neither table nor picture"
    for left in out.glob("part-*"):
        yield f"{left.name} was left behind"


def run_until_killed(command, directory, environment, steps=None):
    """Returns the exit status and the messages of a study. Kills the study and its processes when it has begun this
    number of steps; None: waits for its end."""
    study = subprocess.Popen(command, cwd=directory, env=environment, start_new_session=True, text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    messages = []
    for line in study.stderr:
        messages.append(line)
        if steps is not None and len(messages) >= steps:
            os.killpg(study.pid, signal.SIGKILL)
            break
    study.stderr.close()
    return study.wait(), "".join(messages)


def jobs_listing():
    """Jobs of two partitions whose waits grow with their size."""
    for job in range(1, 301):
        partition, cores = ("medium", 40) if job % 2 else ("gpu", 24)
        start = 1700000000 + 900 * job
        wait = job * 617 % 997 * cores
        yield (f"{job}|{job}|{partition}|normal|COMPLETED|{start}|{start}|{start + wait}|{start + wait + 3600}|"
               f"{30 * 2 ** (job % 5)}|1|{cores}|8G|cpu={cores},mem=8G,node=1")


def wrongly_accepted(script, options, root, environment):
    """Yields a message if a study accepts a directory that has other options, or that another study uses now."""
    out = root / script.stem
    for more in ["--threads", "7"], ["--timed", "2"]:
        status, messages = run_until_killed([script, "--out", out, *options, *more], root, environment)
        if status != 2 or f"{out}/options" not in messages:
            yield f"with {more} a directory with other options ended with {status}: {messages}"
    with open(out / ".lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, messages = run_until_killed([script, "--out", out, *options], root, environment)
    if status != 1 or str(out) not in messages or len(messages.splitlines()) != 1:
        yield f"a directory in use ended with {status}: {messages}"
    # A study that was killed a moment ago holds its lock until its last write has ended.
    with open(out / ".lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        release = threading.Timer(1.5, fcntl.flock, [lock, fcntl.LOCK_UN])
        release.start()
        status, messages = run_until_killed([script, "--out", out, *options], root, environment)
        release.join()
    if status != 0:
        yield f"a directory whose study was just killed ended with {status}: {messages}"


def wrong_lists(script, root, environment):
    """Yields a message if a study of ten plans does not take the first of their list, or names a file twice in a command."""
    (root / "ten").mkdir()
    for plan in range(1, 11):
        for array in "domain", "interior":
            (root / "ten" / f"{plan}_{array}.npy").touch()
    for listed, first in (None, "1"), ("# the last ones\n\n9 \r\n10\n9\n", "9"):
        if listed:
            (root / "ten/building_ids.txt").write_text(listed)
        listing = subprocess.run([script, "--data", "ten", "--out", "ten-study", "--list"], cwd=root, env=environment, text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
        if f"--reference {first} " not in listing:
            yield f"with the list {listed!r}, {first} is not the first plan:\n{listing}"
        for command in listing.splitlines():
            files = re.findall(r"\s([\w-]+\.h5)", command)[1 if "--out" in command else 0:]
            if len(files) != len(set(files)):
                yield f"a file is given twice: {command}"
    (root / "empty").mkdir()
    status, messages = run_until_killed([script, "--data", "empty", "--out", "none", "--list"], root, environment)
    if status != 1 or "empty has no floor plans" not in messages or len(messages.splitlines()) != 1:
        yield f"a folder without plans ended with {status}: {messages}"


def missing_places(table, root):
    """Yields a message for each row of documents.csv that names a missing script or file, or nothing at all."""
    with open(table, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if {row["document"] for row in rows} != DOCUMENTS:
        yield f"{table.name} is not of the five documents"
    for row in rows:
        if not row["where"] and not row["note"]:
            yield f"{table.name} has neither a place nor a note for \"{row['what']}\""
        for place in row["where"].split():
            script, _, file = place.partition("/")
            made = root / script.removesuffix(".sh") / file
            if not (ROOT / "jobs/examples" / script).exists() or not made.is_file() or made.stat().st_size == 0:
                yield f"{table.name} names {place}, which does not exist"
            elif made.suffix == ".json" and len(json.loads(made.read_text())) < 2:
                yield f"{place} has less than two values"


def main():
    if not shutil.which("gnuplot"):
        print("skipped: gnuplot is not installed")
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        shared = root / "share/wallheat"
        shutil.copytree(ROOT / "jobs", shared / "jobs")
        shutil.copytree(ROOT / "configs", shared / "configs")
        (root / "bin").mkdir()
        (root / "bin/wallheat").symlink_to(pathlib.Path(sys.argv[1]).resolve())
        # A CDPATH must lead nowhere else.
        (root / "elsewhere" / "study").mkdir(parents=True)
        environment = dict(os.environ, PYTHON="/usr/bin/python3", CDPATH=str(root / "elsewhere"))
        subprocess.run([root / "bin/wallheat", "generate", "--out", root / "plans", "--count", "6", "--size", "64"],
                       check=True, stdout=subprocess.DEVNULL)
        (root / "plans/building_ids.txt").unlink()
        (root / "jobs.txt").write_text("\n".join(jobs_listing()) + "\n")
        (root / "nodes.txt").write_text("medium|up|9|40|(null)|2-00:00:00|192000\ngpu|up|2|24|gpu:4|1-00:00:00|384000\n")
        for name, (options, tasks) in STUDIES.items():
            script = shared / "jobs/examples" / f"{name}.sh"
            command = [script, "--out", name, *options]
            status, messages = run_until_killed([*command, "--list"], root, environment)
            if status != 0 or (root / name).exists():
                problems.append(f"{name} --list ended with {status}, or wrote files: {messages}")
            for kill_at in (1, 4, 9):
                run_until_killed(command, root, environment, kill_at)
            status, messages = run_until_killed(command, root, environment)
            if status != 0:
                problems.append(f"{name} ended with status {status}:\n{messages}")
                continue
            problems += [f"{name}: {problem}" for problem in missing(root / name, tasks)]
            messages = run_until_killed(command, root, environment)[1]
            remade = re.findall(r": ([\w-]+\.(?:txt|svg|json))$", messages, re.MULTILINE)
            if remade:
                problems.append(f"{name}: a second call made existing files again: {remade}")
            if name == "study":
                problems += wrongly_accepted(script, options, root, environment)
                problems += wrong_lists(script, root, environment)
                iterates = json.loads((root / name / "own-iterates.json").read_text())
                if not iterates["is_decided"] or iterates["fits"] != 3:
                    problems.append(f"the iterates of the user's program are not recognized: {iterates}")
                lines = (root / name / "profile-functions.txt").read_text().splitlines()
                if len(lines) > 40 or not any("reference.py" in line for line in lines):
                    problems.append(f"the profile by function has {len(lines)} lines, or not the program")
        problems += missing_places(ROOT / "jobs/examples/documents.csv", root)
    print("\n".join(problems) or "every task of every study has its tables and pictures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
