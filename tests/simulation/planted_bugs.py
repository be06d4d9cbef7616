#!/usr/bin/env python3
"""Plants bugs one at a time, and sees whether the simulation finds them.

bugs_cluster.toml lists those for simulate_cluster. A bug is

    [[bug]]
    promise = "a plan that failed is tried again"   # what it breaks; unique
    in = "src/queue"             # the file, or a folder: then one file below it
    find = '++failures;'         # a fragment that is there once; how white space falls does not matter
    put = ''                     # what takes its place

Where sources change, --list says which fragments are not there, or several times: look for the line that keeps the
promise now, and quote the shortest part of it that is unique.

The tree is copied into --work and built there with Ninja; each bug is applied alone, its program built and run with
`--seeds N --no-shrinking`. A bug is found where the program ends with status 1, or never ends.
First the sound program must pass. Exit status: 0 if every bug applies, builds and is found; 1 if not; 2 wrong usage;
77 if Python has no tomllib.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

try:
    import tomllib
except ImportError:
    print("skipped: planted_bugs.py needs tomllib, which Python has since 3.11")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ("simulate_cluster",)
LIMIT_S = 600  # a program that takes longer never ends


def read_bugs():
    bugs = []
    for program in PROGRAMS:
        path = HERE / f"{program.replace('simulate', 'bugs')}.toml"
        for bug in tomllib.loads(path.read_text(encoding="utf-8"))["bug"]:
            if bug.keys() != {"promise", "in", "find", "put"}:
                sys.exit(f"{path}: a bug has the keys promise, in, find and put, not {', '.join(bug)}")
            bugs.append({**bug, "program": program})
    return bugs


def planted(bug, tree):
    """(file, its text with the bug in it, what is wrong or None)"""
    place = tree / bug["in"]
    fragment = re.compile(r"\s+".join(map(re.escape, bug["find"].split())))
    found = []
    for file in [place] if place.is_file() else sorted(place.rglob("*.[ch]pp")):
        text = file.read_text(encoding="utf-8")
        found += [(file, text[:match.start()] + bug["put"] + text[match.end():]) for match in fragment.finditer(text)]
    if len(found) == 1:
        return *found[0], None
    return None, None, f"does not apply: in {bug['in']}, {bug['find']!r} is found {len(found)} times, not once"


def copy_tree(target):
    """Copies what git knows and what it does not ignore; equal files stay as they are, so that builds stay short."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-zco", "--exclude-standard"], check=True,
                            capture_output=True, text=True).stdout
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for file in target.rglob("*"):
        if file.is_file() and str(file.relative_to(target)) not in wanted:
            file.unlink()
    for name in wanted:
        source, copy = ROOT / name, target / name
        if copy.exists() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


class Builder:
    """A copy of the tree and its build."""

    def __init__(self, work, cmake_options):
        self.tree, self.build = work / "source", work / "build"
        self.tree.mkdir(parents=True, exist_ok=True)
        copy_tree(self.tree)
        command = ["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
                   "-DWALLHEAT_TESTS=ON", "-DWALLHEAT_CUDA=OFF", "-DCMAKE_UNITY_BUILD=OFF", *cmake_options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{self.tree} cannot be configured:\n{done.stdout}{done.stderr}")

    def try_program(self, program, seeds):
        """What happens with the sources as they are: whether something was found, and what."""
        done = subprocess.run(["cmake", "--build", self.build, "--target", program], capture_output=True, text=True)
        if done.returncode != 0:
            return False, "does not build:\n" + "\n".join(line for line in done.stdout.splitlines() if "error" in line)
        path = self.build / "tests" / program
        try:
            done = subprocess.run([path, "--seeds", str(seeds), "--no-shrinking"], capture_output=True, text=True,
                                  timeout=LIMIT_S, errors="replace")
        except subprocess.TimeoutExpired:
            return True, f"never ends within {LIMIT_S} s"
        said = re.search(r"^(seed|never reached).*$", done.stdout, re.MULTILINE)
        if done.returncode == 1 and said:
            return True, said[0]
        return False, f"passes {seeds} seeds" if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"

    def try_bug(self, bug, seeds):
        file, text, wrong = planted(bug, self.tree)
        if wrong:
            return False, wrong
        sound = file.read_text(encoding="utf-8")
        file.write_text(text, encoding="utf-8")
        try:
            return self.try_program(bug["program"], seeds)
        finally:
            file.write_text(sound, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="only list the bugs, and say which do not apply any more")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR", help="where the copy and its build are kept")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds a bug has (default: those of the program's test)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only bugs whose program or promise contains this")
    parser.add_argument("--cmake", action="append", default=[], metavar="OPTION", help="for cmake, as --cmake=-DX=Y")
    options = parser.parse_args()
    bugs = [bug for bug in read_bugs() if options.only in bug["program"] + bug["promise"]]
    if not bugs or not (options.list or options.work):
        parser.error("there is no such bug" if not bugs else "--work DIR is missing")
    if options.list:
        wrong = [f"{bug['promise']} ({why})" for bug in bugs if (why := planted(bug, ROOT)[2])]
        print("\n".join(wrong) or f"all {len(bugs)} bugs apply")
        return 1 if wrong else 0
    builder = Builder(options.work.resolve(), options.cmake)
    seeds = {"simulate_cluster": options.seeds or 10000}
    for program in {bug["program"] for bug in bugs}:
        found, said = builder.try_program(program, min(seeds[program], 1000))
        if found or not said.startswith("passes"):
            sys.exit(f"{program} fails without a bug: {said}")
    missed = 0
    for bug in bugs:
        began = time.monotonic()
        found, said = builder.try_bug(bug, seeds[bug["program"]])
        missed += not found
        print(f"{'found' if found else 'NOT FOUND'}, {time.monotonic() - began:.0f} s: {bug['promise']}: {said}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} bugs were found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
