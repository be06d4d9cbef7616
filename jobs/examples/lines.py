#!/usr/bin/python3
"""Runs a Python program and prints what each line of one of its functions took.

The program's own output is dropped. Times are of the thread's own work, so others on the machine do not count. A
line's time holds what the line calls, and about a microsecond for being watched, so short lines look dearer than they
are. A function that calls itself is not for this.
"""

import argparse
import contextlib
import dis
import os
import runpy
import sys
import time


class Watched:
    """What each line of one function of one file took, in s of the thread's work, while the program runs."""

    def __init__(self, path, function):
        self.path, self.function = path, function
        self.code = None
        self.hits, self.seconds = {}, {}
        self.line, self.since = None, 0.0

    def call(self, frame, event, argument):
        """For sys.settrace: follows the lines of the function alone, so all others run at their usual speed."""
        code = frame.f_code
        if code.co_name != self.function or os.path.realpath(code.co_filename) != self.path:
            return None
        self.code = code
        self.line = None
        return self.step

    def step(self, frame, event, argument):
        now = time.thread_time()
        if event in ("line", "return"):
            if self.line is not None:
                self.seconds[self.line] = self.seconds.get(self.line, 0.0) + now - self.since
            self.line = None
        if event == "line":
            self.line = frame.f_lineno
            self.hits[self.line] = self.hits.get(self.line, 0) + 1
            self.since = time.thread_time()
        return self.step

    def rows(self):
        """Of each line with code: its number, hits, seconds, and its text without indentation."""
        with open(self.path, encoding="utf-8") as file:
            text = [" ".join(line.split()) for line in file]
        first = self.code.co_firstlineno
        for line in sorted({line for _, line in dis.findlinestarts(self.code) if line and line > first}):
            yield line, self.hits.get(line, 0), self.seconds.get(line, 0.0), text[line - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", help="the one to look at")
    parser.add_argument("program", help="a file of Python")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
    arguments = parser.parse_args()
    if not os.path.exists(arguments.program):
        parser.error(f"there is no program {arguments.program}")
    watched = Watched(os.path.realpath(arguments.program), arguments.function)
    sys.argv = [arguments.program, *arguments.arguments]
    sys.path.insert(0, os.path.dirname(watched.path))
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        sys.settrace(watched.call)
        try:
            runpy.run_path(watched.path, run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.settrace(None)
    if watched.code is None:
        sys.exit(f"lines.py: {arguments.program} has not called a function {arguments.function}")
    rows = list(watched.rows())
    total = sum(seconds for _, _, seconds, _ in rows) or 1.0
    print("line  hits  ms  us each  %  what it does")
    for line, hits, seconds, text in rows:
        each = f"{1e6 * seconds / hits:.1f}" if hits else "-"
        print(f"{line}  {hits}  {1e3 * seconds:.3f}  {each}  {100 * seconds / total:.1f}  {text}")


if __name__ == "__main__":
    main()
