#!/usr/bin/python3
"""Times two builds of wallheat, say of two commits, against each other.

Real plans (--data), generated ones of several sizes, two threads at once, and the whole of `wallheat run`.
The builds take turns, so that whatever else the machine does hits both alike, and the shortest times are
compared. A ratio above 1 means that the new build is faster.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

SIZES = [128, 256, 512, 1024, 2048, 4096]
UPDATES = 4e9  # of generated plans; sets how many iterations they get


def output_of(command):
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"compare_builds.py: {' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout


def bench(build, isa, plans, scaling, repeat=1):
    """Seconds of each plan, and of all of them on two threads at once if `scaling`."""
    bench = json.loads(output_of([build, "bench", "--json", "--isa", isa, "--repeat", repeat, *plans,
                                  "--scaling", int(scaling)]))
    seconds = {plan["id"]: plan["cpu_seconds_min"] for plan in bench["plans"]}
    if scaling:
        updates = sum(plan["interior_cells"] * plan["iterations"] for plan in bench["plans"])
        for rate in bench["scaling"]:
            if rate["threads"] == 2:
                return {"on two threads": 2 * updates / rate["updates_per_s"]}
        sys.exit("compare_builds.py: two threads need two cores")
    return seconds


def run(build, isa, data, threads, scratch):
    """Seconds of a whole process."""
    start = time.monotonic()
    output_of([build, "run", "--data", data, "--out", scratch / "results.h5", "--overwrite", "--isa", isa,
               "--device", "cpu", "--threads", threads, "--progress", "none"])
    return {f"whole run, {threads} thread(s)": time.monotonic() - start}


def compare(name, builds, rounds, measure):
    """Prints the shortest seconds of each thing that `measure(build)` times, old and new in turn."""
    best = [{}, {}]
    for _ in range(rounds):
        for build, times in zip(builds, best):
            for what, seconds in measure(build).items():
                times[what] = min(seconds, times.get(what, seconds))
    for what, old in best[0].items():
        new = best[1][what]
        print(f"{name:24} {what:22} {old:9.4f} s {new:9.4f} s {old / new:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path, help="a program wallheat")
    parser.add_argument("new", type=pathlib.Path, help="another one")
    parser.add_argument("--data", type=pathlib.Path, help="directory or zip archive of plans; default: only generated ones")
    parser.add_argument("--isa", nargs="+", default=["avx512", "avx2", "baseline"], help="instruction sets (default: all)")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, help="of generated plans (default: 128 to 4096)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each figure (default: 7)")
    arguments = parser.parse_args()
    builds = [arguments.old, arguments.new]
    with tempfile.TemporaryDirectory() as scratch:
        for isa in arguments.isa:
            if arguments.data:
                plans = ["--data", arguments.data]
                compare(isa, builds, arguments.rounds, lambda build: bench(build, isa, plans, False, 3))
                compare(isa, builds, arguments.rounds, lambda build: bench(build, isa, plans, True))
                for threads in (1, 2):
                    compare(isa, builds, arguments.rounds,
                            lambda build: run(build, isa, arguments.data, threads, pathlib.Path(scratch)))
            for size in arguments.sizes:
                iterations = max(50, min(20000, int(UPDATES / size**2)))
                plans = ["--plans", 1, "--size", size, "--max-iterations", iterations]
                for scaling in (False, True):
                    compare(f"{isa}, {size} x {size}", builds, arguments.rounds,
                            lambda build: bench(build, isa, plans, scaling))


if __name__ == "__main__":
    main()
