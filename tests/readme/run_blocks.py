#!/usr/bin/env python3
"""Runs the shell and Python blocks of a README, in order, in a fresh directory.

    tests/readme/run_blocks.py README --wallheat build/wallheat

The directory holds what this checkout holds: copies of its scripts and configurations, links to its sources, and
`build`, a link to the folder of the program, which is also the first in PATH. All shell blocks of the README share one bash; a command that fails
ends the block, as with `set -e`. All Python blocks share one interpreter.

A comment on the line before a block says what differs:
    <!-- not run: REASON -->      the block is skipped; needed for every language but sh, bash and python
    <!-- exit status N -->        the block is one command, and ends with N

Links to files of the checkout and to headings are checked, too.

Exit status: 0 all went well; 1 something did not; 77 all went well, but Python blocks could not be run, as no
interpreter has numpy and h5py.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ("configs", "jobs")  # a reader may edit them
LINKED = ("docker", "include", "src", "tests", "CMakeLists.txt")
BLOCK_LIMIT_S = 600
SHELL, PYTHON = ("sh", "bash"), ("python",)

FENCE = re.compile(r"^( *)(```+|~~~+) *(\S*)")
NOT_RUN = re.compile(r"^ *<!-- not run: (\S.*\S) -->$")
EXIT_STATUS = re.compile(r"^ *<!-- exit status ([0-9]+) -->$")
LINK = re.compile(r"\]\(([^()\s]+)\)")


class Refused(Exception):
    """A README that breaks a rule, or a block that fails: line and sentence."""

    def __init__(self, line, sentence):
        super().__init__(sentence)
        self.line = line


class Block:
    def __init__(self, line, language, text, reason, status):
        self.line = line  # of its first line of code, from 1
        self.language = language
        self.text = text
        self.reason = reason  # why it is not run; None: it is
        self.status = status  # which it must end with

    def at_its_line(self):
        """The code at the lines that it has in the README, so that messages name those."""
        return "\n" * (self.line - 1) + self.text


def one_command(text):
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#")) == 1


def blocks_of(text):
    """Throws Refused where a block or a marker is not as it should be."""
    lines = text.splitlines()
    blocks, number = [], 0
    reason, status, marker_line = None, None, None
    while number < len(lines):
        line = lines[number]
        number += 1
        if not_run := NOT_RUN.match(line):
            reason, marker_line = not_run[1], number
            continue
        if exit_status := EXIT_STATUS.match(line):
            status, marker_line = int(exit_status[1]), number
            continue
        fence = FENCE.match(line)
        if not fence:
            if marker_line:
                raise Refused(marker_line, "no block follows this marker")
            continue
        indent, ticks, language = fence.groups()
        first, code = number + 1, []
        while number < len(lines) and not lines[number].strip().startswith(ticks):
            code.append(lines[number].removeprefix(indent))
            number += 1
        if number == len(lines):
            raise Refused(first - 1, "this block has no end")
        number += 1
        block = Block(first, language, "\n".join(code) + "\n", reason, status or 0)
        if reason is None and language not in SHELL + PYTHON:
            raise Refused(first - 1, f"no way to run a block of language '{language}'; "
                                     "say why with <!-- not run: REASON --> before it")
        if status and (language not in SHELL or not one_command(block.text)):
            raise Refused(first - 1, "an exit status is that of a shell block with one command")
        blocks.append(block)
        reason, status, marker_line = None, None, None
    if marker_line:
        raise Refused(marker_line, "no block follows this marker")
    return blocks


def outside_of_blocks(text):
    """(line number, line) of all that is not code."""
    ticks = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if ticks is None and fence:
            ticks = fence[2]
        elif ticks is not None:
            if line.strip().startswith(ticks):
                ticks = None
        else:
            yield number, line


def anchors(text):
    """The names that a forge gives to headings."""
    headings = (line.lstrip("#").strip() for _, line in outside_of_blocks(text) if re.match("#+ ", line))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(readme):
    for number, line in outside_of_blocks(readme.read_text(encoding="utf-8")):
        for target in LINK.findall(line):
            if re.match("[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (readme.parent / name) if name else readme
            if not file.exists():
                raise Refused(number, f"the link to {target} leads nowhere")
            if anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
                raise Refused(number, f"{file.name} has no heading for the link to {target}")


class Session:
    """A process that runs one block after the other and answers each with a status on a pipe."""

    def __init__(self, words, scratch, directory, environment):
        self.scratch = scratch
        answers, theirs = os.pipe()
        self.answers = os.fdopen(answers, encoding="utf-8")
        self.process = subprocess.Popen(words + [str(theirs)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        cwd=directory, env=environment, pass_fds=[theirs], text=True,
                                        start_new_session=True)
        os.close(theirs)
        self.output = scratch / f"output-of-{self.process.pid}"

    def ask(self, words):
        """Returns the answer; None where the process ended or took too long."""
        self.output.write_text("")

        def too_late(_signal, _frame):
            raise TimeoutError

        signal.signal(signal.SIGALRM, too_late)
        signal.alarm(BLOCK_LIMIT_S)
        try:
            self.process.stdin.write(words + "\n")
            self.process.stdin.flush()
            return self.answers.readline().rstrip("\n") or None
        except (TimeoutError, BrokenPipeError):
            return None
        finally:
            signal.alarm(0)

    def said(self):
        return self.output.read_text(encoding="utf-8", errors="replace")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


class Shell(Session):
    # The trap ends the block at the command that failed, and says which one it was. It strikes again where the
    # block itself is found to have failed; the first word counts.
    START = r"""
failure=$1 answers=$2
set -E -o pipefail
trap 'status=$?; [ -s "$failure" ] || printf "%s\n" "$LINENO" "$BASH_COMMAND" > "$failure"; return "$status" 2> /dev/null' ERR
run_block() { : > "$failure"; . "$1"; }
while IFS= read -r words; do eval "$words"; printf "%s\n" "$?" >&"$answers"; done
"""

    def __init__(self, scratch, directory, environment):
        self.failure = scratch / "failure"
        super().__init__(["bash", "--noprofile", "--norc", "-c", self.START, "bash", str(self.failure)], scratch,
                         directory, environment)

    def run(self, block):
        file = self.scratch / "block"
        file.write_text(block.at_its_line(), encoding="utf-8")
        answer = self.ask(f"run_block {shlex.quote(str(file))} > {shlex.quote(str(self.output))} 2>&1 < /dev/null")
        if answer is None:
            raise Refused(block.line, f"the shell did not come back from this block within {BLOCK_LIMIT_S} s\n"
                          + self.said())
        if int(answer) == block.status:
            return
        failure = self.failure.read_text(encoding="utf-8").splitlines()
        line, command = (int(failure[0]), "\n".join(failure[1:])) if failure else (block.line, block.text.strip())
        if command.startswith(". "):  # bash found no command in it
            line, command = block.line, block.text.strip()
        raise Refused(line, f"exit status {answer}, not {block.status}: {command}\n{self.said()}")


class Python(Session):
    START = r"""
import contextlib, json, linecache, os, sys, traceback
answers = os.fdopen(int(sys.argv[1]), "w")
session = {"__name__": "__main__"}
for words in sys.stdin:
    code, name, output = json.loads(words)
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    with open(output, "w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        status = 0
        try:
            exec(compile(code, name, "exec"), session)
        except BaseException:
            traceback.print_exc()
            status = 1
    print(status, file=answers, flush=True)
"""

    def __init__(self, program, scratch, directory, environment):
        super().__init__([program, "-c", self.START], scratch, directory, environment)

    def run(self, block, readme):
        words = json.dumps([block.at_its_line(), str(readme), str(self.output)])
        answer = self.ask(words)
        if answer is None:
            raise Refused(block.line, "Python did not come back from this block\n" + self.said())
        if answer != "0":
            said = self.said()
            lines = re.findall(re.escape(f'File "{readme}", line ') + "([0-9]+)", said)
            line = int(lines[-1]) if lines else block.line
            source = block.at_its_line().splitlines()[line - 1].strip()
            raise Refused(line, f"Python fails: {source}\n{said}")


def python_with_h5py():
    for program in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([program, "-c", "import h5py, numpy"], capture_output=True, check=False).returncode == 0:
            return program
    return None


def environment_with(program):
    environment = dict(os.environ)
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    # Open MPI, of version 4 and 5: this machine may have fewer cores than a README has ranks.
    environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    environment["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    if os.geteuid() == 0:
        environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    environment["ASAN_OPTIONS"] = "detect_leaks=0"  # Open MPI does not give all its memory back
    # What a batch job around this test says is not about the runs of a README.
    return {name: value for name, value in environment.items() if not re.match("SLURM_|LSB_", name)}


def copy_checkout(directory, program):
    """What a fresh clone has in which wallheat was built."""
    directory.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, directory / name)
    for name in LINKED:
        (directory / name).symlink_to(ROOT / name)
    (directory / "build").symlink_to(program.parent)


def name_of(readme):
    readme = readme.resolve()
    return readme.relative_to(ROOT) if readme.is_relative_to(ROOT) else readme


def run_blocks(readme, program, scratch):
    """Returns the exit status. Throws Refused."""
    text = readme.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    check_links(readme)
    directory = scratch / "clone"
    if any(block.reason is None for block in blocks):
        copy_checkout(directory, program)
    environment = environment_with(program)
    shell, python, without_python = None, None, False
    try:
        for block in blocks:
            reason, begin = block.reason, time.monotonic()
            if reason is None and block.language in PYTHON and python is None:
                interpreter = None if without_python else python_with_h5py()
                without_python = interpreter is None
                if interpreter:
                    python = Python(interpreter, scratch, directory, environment)
            if reason is None and block.language in PYTHON and without_python:
                reason = "no Python here has numpy and h5py; jobs/install-packages.sh tests installs them"
            if reason is not None:
                print(f"{name_of(readme)}:{block.line}: skipped ({block.language}): {reason}", flush=True)
                continue
            if block.language in PYTHON:
                python.run(block, readme)
            else:
                shell = shell or Shell(scratch, directory, environment)
                shell.run(block)
            print(f"{name_of(readme)}:{block.line}: ran ({block.language}), {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        for session in (shell, python):
            if session:
                session.close()
    return 77 if without_python else 0


def main():
    parser = argparse.ArgumentParser(description="Runs the shell and Python blocks of a README.")
    parser.add_argument("readme", type=pathlib.Path)
    parser.add_argument("--wallheat", type=pathlib.Path, required=True, help="the built program")
    arguments = parser.parse_args()
    program = arguments.wallheat.resolve()
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} is not built")
    with tempfile.TemporaryDirectory(prefix="wallheat readme ") as scratch:
        try:
            return run_blocks(arguments.readme, program, pathlib.Path(scratch))
        except Refused as refused:
            print(f"{name_of(arguments.readme)}:{refused.line}: {refused}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
