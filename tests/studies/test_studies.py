#!/usr/bin/python3
"""The studies of jobs/examples: each task of each shows a table or a picture, a killed study goes on, and only with its
own options; what documents.csv says to be where is there.

  test_studies.py WALLHEAT

Exit status: 0 all is there, 1 something is missing, 77 skipped, with the reason on stdout.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = {"wall-heating report", "GPU monitoring lecture", "GPU computing lecture", "GPU section of a Python course",
             "Python on GPUs workshop"}
# Of each study: its options, and how many tasks it has.
STUDIES = {
    "study": (["--data", "plans", "--pictures", "4", "--timed", "3"], 12),
    "poisson-study": (["--sizes", "32,64", "--python", "32"], 2),
    "waiting-study": (["--sacct", "jobs.txt", "--sinfo", "nodes.txt"], 3),
    "gpu-study": (["--data", "plans", "--interval", "0.1", "--recording", str(ROOT / "tests/data/dmon.txt")], 5),
    "gpu-why": (["--memory", "80"], 3),
}


def missing(out, tasks):
    """A sentence for each thing that is not there."""
    page = (out / "index.html").read_text()
    for task in range(1, tasks + 1):
        shown = re.search(rf"<h1>Task {task}:.*?(?=<h1>Task|<p class=small>)", page, re.DOTALL)
        if not shown or not re.search(r"<table|<svg|<pre|run\.html", shown.group()):
            yield f"task {task} shows neither table nor picture"
    for left in out.glob("part-*"):
        yield f"{left.name} was left behind"


def run_until_killed(command, directory, environment, steps=None):
    """Kills the study and all that it has started when it has begun with so many steps; None: lets it end."""
    study = subprocess.Popen(command, cwd=directory, env=environment, start_new_session=True, text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = []
    for line in study.stderr:
        said.append(line)
        if steps is not None and len(said) >= steps:
            os.killpg(study.pid, signal.SIGKILL)
            break
    study.stderr.close()
    return study.wait(), "".join(said)


def jobs_listing():
    """Jobs of two partitions whose waits grow with their size."""
    for job in range(1, 301):
        partition, cores = ("medium", 40) if job % 2 else ("gpu", 24)
        start = 1700000000 + 900 * job
        wait = job * 617 % 997 * cores
        yield (f"{job}|{job}|{partition}|normal|COMPLETED|{start}|{start}|{start + wait}|{start + wait + 3600}|"
               f"{30 * 2 ** (job % 5)}|1|{cores}|8G|cpu={cores},mem=8G,node=1")


def of_others(script, options, root, environment):
    """A sentence for each folder that a study takes although it is another one's, or at work."""
    out = root / script.stem
    for more, words in ([["--threads", "7"], "begun with other options"], [["--timed", "2"], "options"]):
        status, said = run_until_killed([script, "--out", out, *options, *more], root, environment)
        if status != 2 or words not in said:
            yield f"with {more} a folder of other options ended with {status}: {said}"
    with open(out / ".lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, said = run_until_killed([script, "--out", out, *options], root, environment)
    if status != 1 or "another study is at work" not in said:
        yield f"a folder at work ended with {status}: {said}"


def not_where_it_is_said(table, root):
    """A sentence for each row of documents.csv that names a script or a file that is not there, or nothing at all."""
    with open(table, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if {row["document"] for row in rows} != DOCUMENTS:
        yield f"{table.name} is not of the five documents"
    for row in rows:
        if not row["where"] and not row["note"]:
            yield f"{table.name} says neither where \"{row['what']}\" is nor why it stays out"
        for place in row["where"].split():
            script, _, file = place.partition("/")
            made = root / script.removesuffix(".sh") / file
            if not (ROOT / "jobs/examples" / script).exists() or not made.is_file() or made.stat().st_size == 0:
                yield f"{table.name} names {place}, which is not there"
            elif made.suffix == ".json" and len(json.loads(made.read_text())) < 2:
                yield f"{place} tells nothing"


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
        (root / "jobs.txt").write_text("\n".join(jobs_listing()) + "\n")
        (root / "nodes.txt").write_text("medium|up|9|40|(null)|2-00:00:00|192000\ngpu|up|2|24|gpu:4|1-00:00:00|384000\n")
        for name, (options, tasks) in STUDIES.items():
            script = shared / "jobs/examples" / f"{name}.sh"
            command = [script, "--out", name, *options]
            status, said = run_until_killed([*command, "--list"], root, environment)
            if status != 0 or (root / name).exists():
                problems.append(f"{name} --list ended with {status}, or did something: {said}")
            for kill_at in (1, 4, 9):
                run_until_killed(command, root, environment, kill_at)
            status, said = run_until_killed(command, root, environment)
            if status != 0:
                problems.append(f"{name} ended with status {status}:\n{said}")
                continue
            problems += [f"{name}: {sentence}" for sentence in missing(root / name, tasks)]
            said = run_until_killed(command, root, environment)[1]
            remade = re.findall(r": ([\w-]+\.(?:txt|svg|json))$", said, re.MULTILINE)
            if remade:
                problems.append(f"{name}: a second call made again what was there: {remade}")
            if name == "study":
                problems += of_others(script, options, root, environment)
        problems += not_where_it_is_said(ROOT / "jobs/examples/documents.csv", root)
    print("\n".join(problems) or "every task of every study has its tables and pictures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
