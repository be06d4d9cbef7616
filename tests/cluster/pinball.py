#!/usr/bin/env python3
"""Compares what `wallheat queue --replay` would have told each job with squeue's first estimate of its start.

  pinball.py REPLAY.csv ESTIMATES

ESTIMATES has lines "JOB START" (s since 1970, or N/A), repeated as squeue was asked; the first START of a job counts.
Prints the mean pinball loss, in s, of both for several quantiles, over the jobs that have both: q (w - f) if the wait w
is above the forecast f, else (1 - q) (f - w). squeue gives one time, which stands for all quantiles. Ends with 1 if
there is nothing to compare.
"""
import csv
import sys

first = {}
for line in open(sys.argv[2]):
    words = line.split()
    if len(words) == 2 and words[1].isdigit():
        first.setdefault(words[0], int(words[1]))

told = []
for row in csv.DictReader(open(sys.argv[1])):
    if row["size"] == "all" and row["bound_95_s"] and row["job"] in first:
        told.append((row, first[row["job"]] - int(row["eligible_s"])))
if not told:
    sys.exit("no job has both a forecast and an estimate of squeue")

def loss(quantile, wait, forecast):
    return quantile * (wait - forecast) if wait > forecast else (1 - quantile) * (forecast - wait)

print(f"{len(told)} jobs with both")
print(f"{'quantile':>8}  {'wallheat':>9}  {'squeue':>9}  {'less':>6}")
totals = [0.0, 0.0]
for quantile, column in ((0.5, "median_s"), (0.75, "bound_75_s"), (0.95, "bound_95_s")):
    ours = sum(loss(quantile, int(row["wait_s"]), float(row[column])) for row, _ in told) / len(told)
    theirs = sum(loss(quantile, int(row["wait_s"]), start) for row, start in told) / len(told)
    totals[0] += ours
    totals[1] += theirs
    print(f"{quantile:8}  {ours:7.2f} s  {theirs:7.2f} s  {100 * (1 - ours / theirs) if theirs else 0:4.0f} %")
print(f"{'all':>8}  {totals[0]:7.2f} s  {totals[1]:7.2f} s  {100 * (1 - totals[0] / totals[1]) if totals[1] else 0:4.0f} %")
held = sum(int(row["wait_s"]) <= float(row["bound_95_s"]) for row, _ in told)
print(f"the 95 % bound held for {100 * held / len(told):.1f} % of them")
