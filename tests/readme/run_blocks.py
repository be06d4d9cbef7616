#!/usr/bin/env python3
"""Runs the shell and Python blocks of a README, in order, in a fresh directory.

    tests/readme/run_blocks.py README --wallheat build/wallheat
    tests/readme/run_blocks.py --only-links DOCUMENT...

The directory contains copies of this checkout's scripts and configurations, links to its sources, and `build`, a link
to the directory of the program, which is also the first in PATH. The blocks are one bash script, which ends at the first
command that fails, and whose line N is line N of the README. A Python block runs after all Python blocks before it.

A comment on the line before a block changes how it runs:
    <!-- not run: REASON -->      the block is skipped; needed for every language but sh, bash and python
    <!-- exit status N -->        the last command of the block ends with N

Links to files of the checkout and to headings are checked, too.

Exit status: 0 success; 1 failure; 77 success, but the Python blocks were not run, because no interpreter has numpy and
h5py.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ("configs", "jobs")  # a reader may edit them
LINKED = ("docker", "include", "src", "tests", "CMakeLists.txt")

FENCE = re.compile(r" *```+ *(\S*)")
MARKER = re.compile(r" *<!-- (?:not run: (?P<reason>\S.*\S)|exit status (?P<status>[0-9]+)) -->$")
LINK = re.compile(r"\]\(([^()\s]+)\)")

STRICT = """set -eE; trap 'echo "line $LINENO: exit status $?: $BASH_COMMAND"' ERR"""
LENIENT = "set +e; trap - ERR"
ALL = STRICT + '; set -o pipefail; . "$1"; touch "$1.done"'


def split(text):
    """Returns (prose, blocks): the lines that are not code, by number; for each block the language, the groups of its
    marker, and the numbers of its two fences."""
    prose, blocks, marker, block = {}, [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        if block and not line.strip().startswith("```"):
            continue
        if block:
            blocks.append((*block, number))
            block = None
        elif fence := FENCE.match(line):
            block = (fence[1], marker or {}, number)
            marker = None
        elif marker:
            sys.exit(f"line {number - 1}: no block follows this marker")
        elif found := MARKER.match(line):
            marker = found.groupdict()
        else:
            prose[number] = line
    return prose, blocks


def script_of(text, has_python, scratch):
    """Returns the bash script. Writes the Python blocks to scratch."""
    lines = text.splitlines()
    shell, python = [""] * len(lines), [""] * len(lines)
    for language, marker, first, last in split(text)[1]:
        reason = marker.get("reason")
        if language not in ("sh", "bash", "python") and not reason:
            sys.exit(f"line {first}: no way to run a block of language '{language}': <!-- not run: REASON --> says why")
        if language == "python" and not has_python:
            reason = reason or "no Python here has numpy and h5py; jobs/install-packages.sh tests installs them"
        if reason:
            print(f"line {first}: skipped ({language}): {reason}", flush=True)
        elif language == "python":
            python[first:last - 1] = lines[first:last - 1]
            (scratch / f"until-{last}.py").write_text("\n".join(python), encoding="utf-8")
            shell[first - 1] = f'"$PYTHON" "{scratch}/until-{last}.py"'
        else:
            shell[first:last - 1] = lines[first:last - 1]
            if status := marker.get("status"):
                shell[first - 1] = LENIENT
                shell[last - 1] = f"status=$?; {STRICT}; [ $status = {status} ]"
    return "\n".join(shell) + "\n"


def anchors(text):
    """Returns the anchors that a forge makes for the headings."""
    headings = (line.lstrip("#").strip() for line in split(text)[0].values() if re.match("#+ ", line))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(document):
    for number, line in split(document.read_text(encoding="utf-8"))[0].items():
        for target in LINK.findall(line):
            name, _, anchor = target.partition("#")
            file = (document.parent / name) if name else document
            if re.match("[a-z]+:", target):
                continue
            if not file.exists():
                sys.exit(f"{document}:{number}: broken link to {target}")
            if anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
                sys.exit(f"{document}:{number}: {file.name} has no heading for the link to {target}")


def python_with_h5py():
    for program in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([program, "-c", "import h5py, numpy"], capture_output=True, check=False).returncode == 0:
            return program
    return None


def environment_with(program, python):
    # The variables of a batch job that runs this test do not apply to the runs of a README.
    environment = {name: value for name, value in os.environ.items() if not re.match("SLURM_|LSB_", name)}
    return environment | {
        "PATH": f"{program.parent}{os.pathsep}{environment['PATH']}", "PYTHON": python or "",
        # Open MPI, versions 4 and 5: this machine may have fewer cores than a README starts ranks.
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "ASAN_OPTIONS": "detect_leaks=0"}  # Open MPI does not free all its memory


def run_blocks(readme, program, scratch):
    """Returns the exit status."""
    python = python_with_h5py()
    script, clone = scratch / "README.md", scratch / "clone"
    text = readme.read_text(encoding="utf-8")
    script.write_text(script_of(text, python is not None, scratch), encoding="utf-8")
    for name in COPIED:
        shutil.copytree(ROOT / name, clone / name)
    for name in LINKED:
        (clone / name).symlink_to(ROOT / name)
    (clone / "build").symlink_to(program.parent)
    subprocess.run(["bash", "--noprofile", "--norc", "-c", ALL, "bash", script], cwd=clone, check=False,
                   stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, env=environment_with(program, python))
    if not script.with_name("README.md.done").exists():
        print(f"{readme}: the script ended before its last block")
        return 1
    return 77 if python is None and "```python" in text else 0


def main():
    parser = argparse.ArgumentParser(description="Runs the shell and Python blocks of a README.")
    parser.add_argument("documents", type=pathlib.Path, nargs="+")
    parser.add_argument("--wallheat", type=pathlib.Path, help="the built program")
    parser.add_argument("--only-links", action="store_true")
    arguments = parser.parse_args()
    for document in arguments.documents:
        check_links(document)
    if arguments.only_links:
        return 0
    with tempfile.TemporaryDirectory(prefix="wallheat readme ") as scratch:
        return run_blocks(arguments.documents[0], arguments.wallheat.resolve(strict=True), pathlib.Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
