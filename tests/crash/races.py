#!/usr/bin/python3
"""Who reads or writes beside a writer.

  readers   the program and HDF5 alone look while sessions begin and end, and while plans are added: no look finds fewer
            results than were acknowledged before it
  writers   two that do not see each other's locks, one of which writes the file anew: nothing that either has
            acknowledged is lost

Exit status: 0 if it is so, 1 if not.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time

import h5py

from program import RESULTS, TOLD, Bad, Campaign, Program, write_folder

PLANS = 48
AT_ONCE = 16


def acknowledged(folder, told):
    """What the event logs tell of by now; a kill may have cut a line short."""
    found = set()
    for name in told:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            continue
        for line in lines:
            event = json.loads(line)
            if event["event"] in ("result", "failure"):
                found.add(event["id"])
    return found


class Races:
    def __init__(self, options):
        self.options = options
        self.rng = random.Random(options.seed)
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix="wallheat-races-", dir=memory))
        self.folder = os.path.join(self.scratch, "work")
        self.program = Program(options.wallheat, options.recorder)
        plans = os.path.join(self.scratch, "plans")
        self.program.must({0}, self.scratch, ["generate", "--out", plans, "--count", f"{PLANS}", "--size", "16"])
        with open(os.path.join(plans, "building_ids.txt"), encoding="utf-8") as file:
            ids = [line.strip() for line in file]
        write_folder(self.folder, {})
        self.campaign = Campaign(self.program, plans, ids, ["--rooms", "--save-fields"], self.folder)

    def beside(self, work):
        """Calls something in a thread; what it throws is thrown by the result."""
        thrown = []

        def call():
            try:
                work()
            except Exception as error:  # for the thread that waits
                thrown.append(error)

        thread = threading.Thread(target=call)
        thread.start()

        def is_over():
            if thread.is_alive():
                return False
            if thrown:
                raise thrown[0]
            return True
        return is_over

    def readers(self):
        """The plans grow by one, in any order: each session begins with a new file, and ends with one."""
        ids, folder = list(self.campaign.ids), self.folder
        write_folder(folder, {})
        self.program.must({0}, folder, self.campaign.run(ids[:AT_ONCE], "--events", TOLD))

        def sessions():
            for count in range(AT_ONCE, PLANS):
                plans = self.rng.sample(ids[:count + 1], count + 1)
                self.program.must({0}, folder, self.campaign.run(plans, "--resume", "--events", TOLD))

        is_over, looks, bad = self.beside(sessions), 0, []
        while not is_over():
            before = acknowledged(folder, [TOLD])
            looks += 1
            try:
                rows = self.campaign.rows_of(folder)
            except Bad as refusal:
                bad.append(f"look {looks}: {refusal}")
                continue
            answered = {plan for plan, row in rows.items() if row["status"] != "pending"}
            with h5py.File(os.path.join(folder, RESULTS)) as file:
                in_rows = {row["id"].decode() for row in file["rows"][:] if row["status"] != 0}
            for found in answered, in_rows:
                if not before <= found:
                    bad.append(f"look {looks} found {len(found)} results, where {len(before)} were acknowledged")
            if wrong := [plan for plan in answered if rows[plan] != self.campaign.rows[plan]]:
                bad.append(f"look {looks} found wrong results: {wrong}")
        if bad:
            raise Bad(f"{len(bad)} of {looks} looks: {bad[:5]}")
        return f"{looks} looks during {PLANS - AT_ONCE} sessions that added a plan"

    def writers(self):
        """A run, and beside it a repair or a resume over more plans; neither sees the other's lock."""
        ids, folder = self.campaign.ids, self.folder
        stopped = 0
        for trial in range(self.options.trials):
            write_folder(folder, {})
            plans = ids[:AT_ONCE]
            self.program.must({0}, folder, self.campaign.run(plans[:2], "--events", "told-0"))
            apart = {"apart": 1, "delay_ms": 8}
            statuses = []

            def run():
                words = self.campaign.run(plans, "--resume", "--events", "told-1")
                done = self.program.call(folder, words, "/dev/null", **apart)
                statuses.append(done.status)

            is_over = self.beside(run)
            wait_s = self.rng.uniform(0.05, 0.5)
            end = time.monotonic() + wait_s
            while not is_over() and time.monotonic() < end:
                time.sleep(0.002)
            other = ["repair", RESULTS]
            if trial % 2:
                other = self.campaign.run(ids[:AT_ONCE + 2], "--resume", "--events", "told-2")
            self.program.call(folder, other, "/dev/null", **apart)
            while not is_over():
                time.sleep(0.002)
            stopped += statuses != [0]
            expected = acknowledged(folder, ["told-0", "told-1", "told-2"])
            look = self.campaign.look(folder)
            if lost := expected - look.answered:
                raise Bad(f"trial {trial}, {other[0]} after {wait_s:.3f} s: {sorted(lost)} of {len(expected)} are lost; "
                          f"the run ended with {statuses}")
            self.program.must({0}, folder, self.campaign.run(ids, "--resume", "--events", TOLD))
            left = {name for name in os.listdir(folder) if name.startswith("told")}
            self.campaign.check_whole(folder, ids, left, csv=True)
        return f"{self.options.trials} pairs of writers; {stopped} runs were stopped by the other"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("race", choices=("readers", "writers"))
    parser.add_argument("wallheat", help="the program")
    parser.add_argument("recorder", help="the library of recorder.c")
    parser.add_argument("--trials", type=int, default=12, help="pairs of writers (default: 12)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    races = Races(options)
    try:
        print(getattr(races, options.race)())
    except (Bad, OSError) as bad:
        print(f"BAD: {bad}")
        return 1
    finally:
        shutil.rmtree(races.scratch, ignore_errors=True)
    return 0


sys.exit(main())
