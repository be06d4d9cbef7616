#!/usr/bin/python3
"""Solves the plans of `wallheat run --solver-command 'python3 plain_solver.py'` in NumPy, without the module wallheat.
Plans with a heat source fail."""

import json
import os

import numpy as np

requests = os.fdopen(int(os.environ["WALLHEAT_REQUESTS_FD"]))
replies = os.fdopen(int(os.environ["WALLHEAT_REPLIES_FD"]), "w")


def reply(**values):
    print(json.dumps(values), file=replies, flush=True)


reply(ready=True)
for line in requests:
    request = json.loads(line)
    if request["source"] is not None:
        reply(error="plain_solver.py does not solve plans with a heat source")
        continue
    field = np.pad(np.load(request["domain"]), 1)
    interior = np.load(request["interior"])
    for iteration in range(1, request["max_iterations"] + 1):
        new = 0.25 * (field[1:-1, :-2] + field[1:-1, 2:] + field[:-2, 1:-1] + field[2:, 1:-1])[interior]
        delta = np.abs(field[1:-1, 1:-1][interior] - new).max()
        field[1:-1, 1:-1][interior] = new
        if delta < request["tolerance"]:
            break
        if iteration % 1000 == 0:
            reply(progress=iteration, delta=delta)
    np.save(request["field"], field)
    reply(done=True, iterations=iteration, converged=bool(delta < request["tolerance"]))
