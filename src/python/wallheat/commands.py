"""The Python side of `wallheat run --solver-command`: see jobs/examples/README.md."""

from __future__ import annotations

import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np


def serve(function: Callable[..., Any]) -> None:
    """Solves the plans that `wallheat run --solver-command 'python3 mine.py'` sends to this program, until it sends no
    more. Call this at the end of the program.

    `function(u, interior_mask, max_iter, atol)` gets the field u in °C with a ring of zeros around it, shape
    (rows + 2, columns + 2), and the mask of the interior cells, shape (rows, columns). It returns the field, with or
    without the ring, as an array of NumPy or CuPy; or (u, iterations), or (u, iterations, converged). An exception makes
    the plan fail, with its message as the reason. If a plan has a heat source, the function must have the parameters
    `source`, shape (rows, columns), and `spacing`.

    Raises SystemExit if `wallheat run` has not started this program.
    """
    if "WALLHEAT_REQUESTS_FD" not in os.environ:
        sys.exit(f"{sys.argv[0]}: start it with wallheat run --solver-command 'python3 {sys.argv[0]}'")
    with (os.fdopen(int(os.environ["WALLHEAT_REQUESTS_FD"]), encoding="utf-8") as requests,
          os.fdopen(int(os.environ["WALLHEAT_REPLIES_FD"]), "w", encoding="utf-8") as replies):
        print('{"ready": true}', file=replies, flush=True)
        for line in requests:
            try:
                reply = _solve(function, json.loads(line))
            except Exception as error:  # pylint: disable=broad-exception-caught
                traceback.print_exc()
                reply = {"error": f"{type(error).__name__}: {error}"}
            sys.stdout.flush()
            print(json.dumps(reply), file=replies, flush=True)


def _solve(function: Callable[..., Any], request: dict[str, Any]) -> dict[str, Any]:
    """Solves one plan, stores its field and returns the reply."""
    field = np.pad(np.load(request["domain"]), 1)
    options = {}
    if request["source"] is not None:
        if "source" not in inspect.signature(function).parameters:
            raise TypeError("the plan has a heat source, and the function has no parameter 'source'")
        options = {"source": np.load(request["source"]), "spacing": request["spacing"]}
    result = function(field, np.load(request["interior"]), request["max_iterations"], request["tolerance"], **options)
    field, *numbers = result if isinstance(result, tuple) else (result,)
    if hasattr(field, "get"):  # an array of CuPy
        field = field.get()
    np.save(request["field"], np.asarray(field))
    reply: dict[str, Any] = {"done": True}
    for name, kind, number in zip(("iterations", "converged"), (int, bool), numbers):
        reply[name] = None if number is None else kind(number)
    return reply
