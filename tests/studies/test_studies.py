#!/usr/bin/python3
"""The studies of jobs/examples: each task of each has its table or picture, or says why not, and a killed study goes on;
what documents.csv says to be where is there.

  test_studies.py WALLHEAT

Exit status: 0 all is there, 1 something is missing, 77 skipped, with the reason on stdout.
"""

import ast
import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDING = ROOT / "tests/data/dmon.txt"

DOCUMENTS = {"wall-heating report", "GPU monitoring lecture", "GPU computing lecture", "GPU section of a Python course",
             "Python on GPUs workshop"}
# Of each study: its options, and for each of its tasks the files without which it is not done.
STUDIES = {
    "study": (["--data", "plans", "--pictures", "4", "--timed", "3"], {
        1: ["start-fields.svg", "start-fields.png", "plan.svg"],
        2: ["numpy.csv", "numpy.md", "same-answers.txt"],
        3: ["fields.svg", "coldest.png"],
        4: ["profile-functions.txt", "profile-lines.csv", "profile-steps.csv"],
        5: ["replay-static.csv", "amdahl-static.md"],
        6: ["replay-dynamic.csv", "amdahl-dynamic.md", "schedules.svg", "scaling.csv"],
        7: ["programs.csv", "answers.svg"],
        8: ["fixed.csv"],
        9: ["digits.txt"],
        10: ["trace.json", "run.html", "ledger.txt"],
        11: ["plan-counts.csv", "plan-counts.svg", "slurm.txt", "lsf.txt"],
        12: ["answers-tolerance.txt", "answers-fixed.txt", "histogram.svg", "all.csv"],
    }),
    "poisson-study": (["--sizes", "32,64", "--python", "32"], {
        1: ["plate.svg"], 2: ["programs.csv", "programs.md", "times.svg"], 3: ["errors.csv", "errors-plot.png"],
        4: ["offload.txt"],
    }),
    "waiting-study": (["--sacct", "jobs.txt", "--sinfo", "nodes.txt"], {
        1: ["means-core-hours.csv", "means-memory.md", "means.svg"], 2: ["bounds.csv", "bounds-plot.png"],
        3: ["partitions.csv", "offload.csv", "offload-plot.svg"],
    }),
    "gpu-study": (["--data", "plans", "--interval", "0.1", "--recording", str(RECORDING)], {
        1: ["devices.txt"], 2: ["utilisation.txt", "recording.svg", "recording-given.svg"],
        3: ["steps.txt", "run.html", "trace.json"], 4: ["kernels.txt"],
        5: ["scaling-given.csv", "scaling-plot.svg", "scaling-predicted.csv"],
    }),
    "gpu-why": (["--memory", "80"], {
        1: ["sizes.txt", "sizes.svg"], 2: ["offload.csv", "offload-plot.svg"], 3: ["memory.csv"],
    }),
}


def section(page, task):
    """What the page has between the head of a task and the next one."""
    found = re.search(rf'<h2 id="task-{task}">.*?(?=<h2|</html>)', page, re.DOTALL)
    return found.group() if found else ""


def missing(out, tasks):
    """A sentence for each thing that is not there."""
    page = (out / "index.html").read_text()
    for task, files in tasks.items():
        shown = section(page, task)
        if not shown:
            yield f"the page has no task {task}"
        if "<pre>" not in shown and "<img" not in shown:
            yield f"task {task} shows neither table nor picture"
        for file in files:
            if not (out / file).exists() or (out / file).stat().st_size == 0:
                yield f"task {task} has no {file}"
        for picture in re.findall(r'<img src="([^"]*)"', shown):
            if not (out / picture).exists():
                yield f"task {task} shows {picture}, which is not there"
    for left in out.glob("part-*"):
        yield f"{left.name} was left behind"


def steps_until_killed(command, directory, environment, steps):
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
    status = study.wait()
    return status, "".join(said)


def jobs_listing():
    """Jobs of two partitions whose waits grow with their size."""
    for job in range(1, 301):
        partition, cores = ("medium", 40) if job % 2 else ("gpu", 24)
        start = 1700000000 + 900 * job
        wait = job * 617 % 997 * cores
        yield (f"{job}|{job}|{partition}|normal|COMPLETED|{start}|{start}|{start + wait}|{start + wait + 3600}|"
               f"{30 * 2 ** (job % 5)}|1|{cores}|8G|cpu={cores},mem=8G,node=1")


def lines_without_hits(out, wallheat):
    """A sentence for each line of NumPy's loop that the profile by line lacks, or has with other hits than iterations."""
    loop = next(node for node in ast.walk(ast.parse((ROOT / "jobs/examples/reference.py").read_text()))
                if isinstance(node, ast.While))
    with open(out / "profile-lines.csv", encoding="utf-8") as file:
        hits = {int(row["line"]): int(row["hits"]) for row in csv.DictReader(file)}
    plans = subprocess.run([wallheat, "list", out / "all.h5", "--columns", "iterations", "--format", "csv"], check=True,
                           capture_output=True, text=True).stdout
    iterations = min(1000, int(next(csv.DictReader(plans.splitlines()))["iterations"]))
    if hits.get(loop.lineno) not in (iterations, iterations + 1):
        yield f"the loop of {iterations} iterations, line {loop.lineno}, has {hits.get(loop.lineno)} hits"
    for statement in loop.body:
        if hits.get(statement.lineno) != iterations:
            yield f"line {statement.lineno} of {iterations} iterations has {hits.get(statement.lineno)} hits"


def without_a_cluster(script, root, environment):
    """A sentence for what is wrong of a study of waits where sacct is installed but reaches no cluster."""
    (root / "unreachable").mkdir()
    for name in ("sacct", "sinfo"):
        program = root / "unreachable" / name
        program.write_text(f"#!/bin/sh\necho '{name}: error: no cluster answers' >&2\nexit 1\n")
        program.chmod(0o755)
    environment = dict(environment, PATH=f"{root / 'unreachable'}:{environment['PATH']}")
    command = [script, "--out", "made-up"]
    for _ in range(2):  # the second time all is there
        study = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        if study.returncode != 0:
            yield f"ended with status {study.returncode} where Slurm does not answer: {study.stderr}"
            return
        page = (root / "made-up/index.html").read_text()
        for name, listing in (("sacct", "jobs"), ("sinfo", "nodes")):
            if f"The {listing} below are a made-up example" not in page or f"{name}: error: no cluster answers" not in page:
                yield f"the page does not say that {name} failed and its listing is made up"
    yield from missing(root / "made-up", STUDIES["waiting-study"][1])


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
            if not (ROOT / "jobs/examples" / script).exists():
                yield f"{table.name} names {script}, which is not there"
            made = root / script.removesuffix(".sh") / file
            if not made.is_file() or made.stat().st_size == 0:
                yield f"{table.name} names {file}, which {script} has not made"


def main():
    for program in ("gnuplot",):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            return 77
    wallheat = pathlib.Path(sys.argv[1]).resolve()
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        shared = root / "share/wallheat"
        shutil.copytree(ROOT / "jobs", shared / "jobs")
        shutil.copytree(ROOT / "configs", shared / "configs")
        (root / "bin").mkdir()
        (root / "bin/wallheat").symlink_to(wallheat)
        environment = dict(os.environ, PYTHON="/usr/bin/python3")
        subprocess.run([wallheat, "generate", "--out", root / "plans", "--count", "6", "--size", "64"], check=True,
                       stdout=subprocess.DEVNULL)
        (root / "jobs.txt").write_text("\n".join(jobs_listing()) + "\n")
        (root / "nodes.txt").write_text("medium|up|9|40|(null)|2-00:00:00|192000\ngpu|up|2|24|gpu:4|1-00:00:00|384000\n")
        for name, (options, tasks) in STUDIES.items():
            script = shared / "jobs/examples" / f"{name}.sh"
            command = [script, "--out", name, *options]
            listed = subprocess.run([*command, "--list"], cwd=root, env=environment, capture_output=True, text=True)
            if listed.returncode != 0 or (root / name).exists():
                problems.append(f"{name} --list ended with {listed.returncode}, or did something: {listed.stderr}")
            for kill_at in (1, 4, 9):
                steps_until_killed(command, root, environment, kill_at)
            status, said = steps_until_killed(command, root, environment, None)
            if status != 0:
                problems.append(f"{name} ended with status {status}:\n{said}")
                continue
            problems += [f"{name}: {sentence}" for sentence in missing(root / name, tasks)]
            again = steps_until_killed(command, root, environment, None)[1]
            if name == "study":
                problems += lines_without_hits(root / name, wallheat)
            if name == "waiting-study":
                problems += [f"{name}: {sentence}" for sentence in without_a_cluster(script, root, environment)]
            remade = [line for line in again.splitlines() if re.search(r": [\w-]+\.(txt|svg|png|csv)$", line)]
            if remade:
                problems.append(f"{name}: a second call made again what was there: {remade}")
        problems += not_where_it_is_said(ROOT / "jobs/examples/documents.csv", root)
    print("\n".join(problems) or "every task of every study has its tables and pictures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
