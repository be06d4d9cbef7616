"""Starts the program `wallheat`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Union

import numpy as np

Value = Union[str, bytes, int, float, "os.PathLike[Any]"]
Option = Union[bool, Value, Iterable[Value], None]
Progress = Callable[[dict[str, Any]], None]

EXIT_USAGE = 2
ENDED_WELL = (0, 3, 75)


@dataclasses.dataclass(frozen=True)
class Run:
    """How a run ended."""

    status: int
    """0 all plans are solved, 3 finished but some plans failed, 75 stopped early with work left (say resume=True)."""
    output: str
    """What the program printed."""


def _word(value: Value) -> str:
    word = os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
    if "\0" in word:
        raise ValueError(f"no option can have the value {word!r}")
    return word


def _words(options: dict[str, Option]) -> list[str]:
    """threads=2, resume=True, id=["a", "b"] -> --threads=2 --resume --id=a --id=b"""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, (bool, np.bool_)):
            words += [option] if value else []
        elif value is not None:
            is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) > 0
            values = [_word(one) for one in value] if is_list else [_word(value)]
            if not values:
                raise ValueError(f"{name} has no values; to leave it out, give None")
            words += [f"{option}={one}" for one in values]
    return words


def _ending(status: int, output: str) -> str:
    """The sentence about a run that failed."""
    if status < 0:
        return f"wallheat was ended by {signal.strsignal(-status) or 'signal'} ({-status}); what is solved is stored"
    return output.strip().splitlines()[-1] if output.strip() else f"wallheat ended with {status}"


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise RuntimeError(f"the program wrote an event that is not one: {line.strip()[:80]!r}")
    return event


class _Listener:
    """Hands the events that are written into a named pipe to a function, on a thread of its own."""

    def __init__(self, pipe: pathlib.Path, progress: Progress) -> None:
        self.failure: BaseException | None = None
        self.process: subprocess.Popen[str] | None = None
        self._progress = progress
        os.mkfifo(pipe)
        # As long as this process could write, the pipe does not end, however late the program opens it.
        self._keeper = os.open(pipe, os.O_RDWR)
        # The thread closes it. Names of files may be of any bytes.
        self._pipe = open(pipe, encoding="utf-8", errors="surrogateescape")  # pylint: disable=consider-using-with
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def listen_to(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._thread.start()

    def close(self) -> None:
        """Waits until all events are handed on."""
        os.close(self._keeper)
        if self.process is None:
            self._pipe.close()
        else:
            self._thread.join()

    def _listen(self) -> None:
        assert self.process is not None
        with self._pipe:
            for line in self._pipe:
                # A program that is killed leaves half a line. After a failure read on, as the program must not wait.
                if line.endswith("\n") and self.failure is None:
                    try:
                        self._progress(_event(line))
                    except BaseException as failure:  # pylint: disable=broad-except  # run() raises it
                        self.failure = failure
                        self.process.terminate()


@contextlib.contextmanager
def _listener(progress: Progress | None) -> Iterator[tuple[_Listener | None, list[str]]]:
    """The listener, and what the program must be told of it."""
    if progress is None:
        yield None, []
        return
    with tempfile.TemporaryDirectory(prefix="wallheat-") as folder:
        pipe = pathlib.Path(folder) / "events"
        listener = _Listener(pipe, progress)
        try:
            yield listener, [f"--events={pipe}"]
        finally:
            listener.close()
    if listener.failure is not None:
        raise listener.failure


def run(data: str | os.PathLike[str], out: str | os.PathLike[str], *, progress: Progress | None = None,
        program: str | os.PathLike[str] = "wallheat", **options: Option) -> Run:
    """Solves all plans of a directory or zip archive into a result file, on the cores and GPUs of this machine.

    This is `wallheat run`, in a process of its own, which must be installed.

    data: directory of ID_domain.npy and ID_interior.npy, or a zip archive of one.
    out: the result file.
    progress: is called with each event, in order, on a thread of its own. An event is a dict with "event" ("start",
        "result", "failure", "run_finished", ...), "time" (UTC) and, of a plan, "id", "status", "seconds" (s) and so on,
        as `wallheat run --events` writes it. An exception that it raises stops the run, and is raised here.
    program: the program's name or path.
    options: those of `wallheat run` with _ for -, such as save_fields=True, resume=True, solver="steady", threads=2;
        what may be given several times also as a list or array, such as id=["00001", "00007"].

    Ctrl-C stops the run; what is solved is stored. Raises ValueError if the program refuses an option, and
    RuntimeError if the run fails or there is no such program.
    """
    path = shutil.which(program)
    if path is None:
        raise RuntimeError(f"there is no program {os.fspath(program)}: install wallheat, or name its path by program=")
    with _listener(progress) as (listener, words):
        command = [path, "run", f"--data={_word(data)}", f"--out={_word(out)}", *words, *_words(options)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace") as process:
            try:
                if listener is not None:
                    listener.listen_to(process)
                output, _ = process.communicate()
            except BaseException:  # of Ctrl-C, or of another signal's handler
                # Not SIGINT: a terminal has sent that to the program, too, and a second one would kill it.
                process.terminate()
                process.communicate()
                raise
    if process.returncode in ENDED_WELL:
        return Run(process.returncode, output)
    raise (ValueError if process.returncode == EXIT_USAGE else RuntimeError)(_ending(process.returncode, output))
