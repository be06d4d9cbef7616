#!/usr/bin/env python3
"""Plants bugs one at a time, and sees whether the simulations, or the tests that do what these leave out, find them.

A bug is an entry of a TOML file:

    [[bug]]
    name = "the log is not synced"      # unique
    file = "src/store/results/write_ahead_log.cpp"
    old = "out_->sync_data();"          # occurs exactly once in the file
    new = ""
    program = "simulate_store"          # which simulation, or program of GoogleTest, is to find it
    arguments = ["--stories", "kill"]   # optional
    also = [{ file = "...", old = "...", new = "..." }]   # optional: what is changed besides

The tree is copied into --work and built there with Ninja; each bug is applied alone, its program built and run as
`PROGRAM --seeds N --first-seed 0 ARGUMENTS`. A program that finds a fault ends with status 1 and prints the line
`seed S: INVARIANT: details`, or `never reached: STATE` after all seeds. A program of GoogleTest runs with the arguments
alone. A crash or a hang counts as found, too. First the sound program must pass.

Exit status: 0 if every bug applies, builds and is found; 1 if not; 2 wrong usage; 77 if Python has no tomllib.
"""

import argparse
import json
import os
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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAILURE = re.compile(r"^seed (\d+): ([^:]+): (.*)$", re.MULTILINE)
KEYS = {"name", "file", "old", "new", "program"}


def read_bugs(paths):
    bugs = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                entries = tomllib.load(file).get("bug", [])
        except (OSError, tomllib.TOMLDecodeError) as error:
            sys.exit(f"{path} cannot be read: {error}")
        for entry in entries:
            missing, strange = KEYS - entry.keys(), entry.keys() - KEYS - {"arguments", "also"}
            if missing or strange:
                sys.exit(f"{path}: the bug {entry.get('name', '?')!r} lacks {sorted(missing)}, or has strange keys "
                         f"{sorted(strange)}")
            bugs.append(entry)
    names = [bug["name"] for bug in bugs]
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        sys.exit(f"two bugs have one name: {doubles}")
    return bugs


def planted(bug, tree):
    """The texts of the bug's files with the bug in them, by path, or None and why it does not apply."""
    texts = {}
    for edit in [bug, *bug.get("also", [])]:
        path = os.path.join(tree, edit["file"])
        try:
            if path not in texts:
                with open(path, encoding="utf-8") as file:
                    texts[path] = file.read()
        except OSError as error:
            return None, f"does not apply: {error.strerror}"
        count = texts[path].count(edit["old"])
        if count != 1:
            return None, f"does not apply: its old text occurs {count} times"
        texts[path] = texts[path].replace(edit["old"], edit["new"])
    return texts, None


def write_texts(texts):
    for path, text in texts.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def copy_tree(target):
    """Copies what git knows and what it does not ignore; equal files stay as they are, so that builds stay short."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-zco", "--exclude-standard"], check=True,
                            capture_output=True, text=True).stdout
    wanted = {name for name in listed.split("\0") if name and os.path.isfile(os.path.join(ROOT, name))}
    for folder, _, names in os.walk(target):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, target) not in wanted:
                os.remove(path)
    for name in wanted:
        source, copy = os.path.join(ROOT, name), os.path.join(target, name)
        with open(source, "rb") as file:
            content = file.read()
        if os.path.exists(copy):
            with open(copy, "rb") as file:
                if file.read() == content:
                    continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(source, copy)


class Builder:
    """A copy of the tree and its build."""

    def __init__(self, work, cmake_options):
        self.tree, self.build = os.path.join(work, "source"), os.path.join(work, "build")
        os.makedirs(self.tree, exist_ok=True)
        copy_tree(self.tree)
        command = ["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
                   "-DWALLHEAT_TESTS=ON", "-DWALLHEAT_CUDA=OFF", "-DCMAKE_UNITY_BUILD=OFF", *cmake_options]
        if shutil.which("ccache"):
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{self.tree} cannot be configured:\n{done.stdout}{done.stderr}")

    def make(self, program):
        """The built program's path, or None and the compiler's words."""
        done = subprocess.run(["cmake", "--build", self.build, "--target", program], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stdout + done.stderr
        for folder, _, names in os.walk(self.build):
            if program in names and os.access(os.path.join(folder, program), os.X_OK):
                return os.path.join(folder, program), None
        return None, f"there is no program {program} in {self.build}"


def run(program, arguments, seeds, limit_s):
    """(found, seeds needed or None, invariant or what happened)."""
    simulates = os.path.basename(program).startswith("simulate_")
    command = [program, *(["--seeds", str(seeds), "--first-seed", "0"] if simulates else []), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, errors="replace")
    except subprocess.TimeoutExpired:
        return True, None, f"hangs for {limit_s} s"
    if done.returncode == 0:
        return False, None, f"passes {seeds} seeds" if simulates else "passes"
    if not simulates and done.returncode == 1:
        test = re.search(r"^\[  FAILED  \] (\S+)", done.stdout, re.MULTILINE)
        return (True, None, test[1]) if test else (False, None, f"ends with status 1: {done.stderr.strip()[-200:]}")
    failure = FAILURE.search(done.stdout)
    if failure:
        return True, int(failure[1]) + 1, failure[2]
    tame = re.search(r"^never reached: .*$", done.stdout, re.MULTILINE)
    if tame:
        return True, seeds, tame[0]
    if done.returncode < 0:
        return True, None, f"crashes with signal {-done.returncode}"
    return False, None, f"ends with status {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}"


def try_bug(bug, builder, seeds, limit_s):
    result = {"name": bug["name"], "file": bug["file"], "program": bug["program"], "found": False, "seeds": None,
              "seconds": 0.0}
    texts, why = planted(bug, builder.tree)
    if texts is None:
        return {**result, "invariant": why}
    sound = {}
    for path in texts:
        with open(path, encoding="utf-8") as file:
            sound[path] = file.read()
    try:
        write_texts(texts)
        program, complaint = builder.make(bug["program"])
        if program is None:
            return {**result, "invariant": "does not build", "output": complaint}
        began = time.monotonic()
        found, needed, invariant = run(program, bug.get("arguments", []), seeds, limit_s)
        return {**result, "found": found, "seeds": needed, "invariant": invariant,
                "seconds": round(time.monotonic() - began, 1)}
    finally:
        write_texts(sound)


def require_sound(bugs, builder, seeds, limit_s):
    for program, arguments in sorted({(bug["program"], tuple(bug.get("arguments", []))) for bug in bugs}):
        path, complaint = builder.make(program)
        if path is None:
            sys.exit(f"{program} does not build without a bug:\n{complaint}")
        found, needed, invariant = run(path, arguments, seeds, limit_s)
        if found or not invariant.startswith("passes"):
            sys.exit(f"{program} {' '.join(arguments)} fails without a bug: {invariant} (seeds: {needed})")


def print_row(widths, values):
    print("  ".join(str(value).ljust(width) for value, width in zip(values, widths)).rstrip(), flush=True)


def list_bugs(bugs):
    """0 if all apply to this tree."""
    status = 0
    for bug in bugs:
        _, why = planted(bug, ROOT)
        status |= why is not None
        print(f"{bug['program']}: {bug['name']}" + (f" ({why})" if why else ""))
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.toml", help="lists of bugs")
    parser.add_argument("--list", action="store_true", help="only list the bugs, and say which do not apply any more")
    parser.add_argument("--work", metavar="DIR", help="where the copy and its build are kept for the next time")
    parser.add_argument("--seeds", type=int, default=10000, metavar="N", help="seeds a bug has (default: 10000)")
    parser.add_argument("--sound-seeds", type=int, default=1000, metavar="N",
                        help="seeds that the program without a bug must pass (default: 1000)")
    parser.add_argument("--limit", type=float, default=600, metavar="S",
                        help="seconds after which a program hangs (default: 600)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only bugs whose name contains this; may be given several times")
    parser.add_argument("--cmake", action="append", default=[], metavar="OPTION", help="for cmake, as --cmake=-DX=Y")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    bugs = [bug for bug in read_bugs(options.files)
            if not options.only or any(text in bug["name"] for text in options.only)]
    if not bugs:
        parser.error("there is no such bug")
    if options.list:
        return list_bugs(bugs)
    if not options.work:
        parser.error("--work DIR is missing")
    builder = Builder(os.path.abspath(options.work), options.cmake)
    require_sound(bugs, builder, options.sound_seeds, options.limit)
    widths = [max(len(bug["name"]) for bug in bugs), 5, 6, 7, 0]
    if not options.json:
        print_row(widths, ["bug", "found", "seeds", "seconds", "invariant"])
    results = []
    for bug in bugs:
        result = try_bug(bug, builder, options.seeds, options.limit)
        results.append(result)
        if not options.json:
            print_row(widths, [result["name"], "yes" if result["found"] else "NO", result["seeds"] or "-",
                               result["seconds"], result["invariant"]])
    found = sum(result["found"] for result in results)
    if options.json:
        json.dump({"bugs": results, "found": found}, sys.stdout, indent=2)
        print()
    else:
        print(f"{found} of {len(results)} bugs were found")
    return 0 if found == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
