#!/usr/bin/python3
"""Simulates every crash of a recorded session, and checks the recovery from each.

A story is a sequence of commands on one result file. Each command runs under recorder.c, which records every change of
files, in order. From the record follows the state of the files after a kill or a power loss during each change
(disk.py): an image. For each image

  * a read finds every result that was acknowledged before, finds no wrong value, and changes no file;
  * a repair, a resume, or the same merge again succeed, and lose no result that the read found;
  * then a resume ends with 0 and leaves one closed file with bit-identical results, rooms and fields, and no other file;
  * every error is reported by a message of the program, and no process is killed by a signal.

A result is acknowledged when the event log has it: rank 0 writes that line after its call of the store has returned.
The event log is written by other code than the store's, but in the same record, so the order of the changes is known.

A step of a story ends well, by SIGTERM, by a kill, a power loss, a full disk or an I/O error at one change. Three steps are
changes by the user:

  * "foreign": creates files next to the result file, with names similar to those of wallheat; they must stay as they are;
  * "copy": compacts a copy of the file and its journals, and moves it over the file; the journals stay where they are;
  * "link": adds links to the root of the file; they must stay links.

Exit status: 0 if all images pass, 1 if one fails: it is kept and named.
"""

import argparse
import collections
import copy
import errno
import json
import os
import random
import shutil
import sys
import tempfile

import h5py

from disk import Disk, File, read_record, role_of
from program import RESULTS, STATUS, EVENTS, Violation, Campaign, Program, read_folder, write_folder

VARIANTS = {"plain": (), "rooms, fields": ("--rooms", "--save-fields")}
PARTS = ("part.part-1-of-2.h5", "part.part-2-of-2.h5")
ENDS = ("well", "stop", "kill", "power", "full disk", "I/O error")
ERRNOS = {"stop": 0, "full disk": errno.ENOSPC, "I/O error": errno.EIO}
DELAY_MS = 55  # per plan; longer than the time for which results are batched
# The steps of the named stories, each with its end. "run" resumes an existing file; "rearrange" resumes with other plans.
STORIES = {
    "run": ("run well",),
    "run, kill, resume": ("run kill", "resume well"),
    "run, power, resume": ("run power", "resume well"),
    "run, stop, resume": ("run stop", "resume well"),
    "kill, kill, resume": ("run kill", "resume kill", "resume well"),
    "other plans": ("run well", "rearrange well"),
    "kill, other plans": ("run kill", "rearrange well"),
    "overwrite": ("run kill", "overwrite well"),
    "overwrite, stop": ("run well", "rearrange kill", "overwrite stop", "resume well"),
    "repair": ("run kill", "repair well"),
    "repair after power": ("run power", "repair well"),
    "merge": ("merge well",),
    "merge over": ("run well", "merge well"),
    "merge over killed": ("run kill", "merge well"),
    "foreign files": ("foreign", "run kill", "rearrange well", "merge well"),
    "foreign files, repair": ("run power", "foreign", "repair well"),
    "copy": ("run kill", "copy", "resume well"),
    "copy, repair": ("run stop", "copy", "repair kill", "rearrange well"),
    "links": ("run stop", "link", "resume kill", "rearrange well"),
    "links, repair": ("run kill", "link", "repair well"),
}
USER_STEPS = ("foreign", "copy", "link")
FOREIGN_NAMES = (f"{RESULTS}.new", f"{RESULTS}.new-1", f"{RESULTS}.status.new", "results.h5x.wal0")
LINKS = {"best": "/rows", "nowhere": "/no/such object"}
COMMANDS = ("run", "resume", "resume", "rearrange", "overwrite", "repair", "merge")

# A possible state of the result file: the plans in their order (None: no file), and those that must have a result.
State = collections.namedtuple("State", "ids required")
NO_FILE = State(None, frozenset())


class Story:
    def __init__(self, net, name, variant, steps, seed):
        self.net, self.name, self.variant, self.steps = net, name, variant, steps
        self.campaign = net.campaigns[variant]
        self.rng = random.Random(f"{seed} {name} {variant}")
        self.disk = Disk({})
        self.states = [NO_FILE]
        self.images_seen = set()
        self.others = set()
        self.foreign_files, self.has_links = {}, False

    def live(self):
        for number, step in enumerate(self.steps):
            self.where = f"{self.name} ({self.variant}), step {number + 1} ({step})"
            try:
                if step in USER_STEPS:
                    getattr(self, step)()
                    continue
                self.perform(*step.split(" ", 1), int(self.rng.triangular(0, 110, 20)))
            except Violation as violation:
                self.net.report(self.where, violation, self.disk.seen())

    # --- the steps of the user

    def add_file(self, name, content):
        self.disk = Disk({**self.disk.seen(), name: content})

    def foreign(self):
        for name in FOREIGN_NAMES:
            self.foreign_files[name] = self.net.parts[self.variant][PARTS[0]]
            self.add_file(name, self.foreign_files[name])
        self.others.update(FOREIGN_NAMES)

    def change_results(self, change):
        """Calls change() with a folder that contains the files, and then replaces the result file durably."""
        seen = self.disk.seen()
        if RESULTS not in seen:
            return
        folder = os.path.join(self.net.scratch, "user")
        write_folder(folder, seen)
        change(folder)
        self.add_file(RESULTS, read_folder(folder)[RESULTS])

    def copy(self):
        def compact_copy(folder):
            names = [name for name in os.listdir(folder) if name == RESULTS or name.startswith(f"{RESULTS}.wal")]
            for name in names:
                shutil.copy(os.path.join(folder, name), os.path.join(folder, f"copy-of-{name}"))
            self.net.program.call_expecting({0, 3, 75}, folder, ["repair", f"copy-of-{RESULTS}"])
            os.replace(os.path.join(folder, f"copy-of-{RESULTS}"), os.path.join(folder, RESULTS))

        self.change_results(compact_copy)

    def link(self):
        def add_links(folder):
            with h5py.File(os.path.join(folder, RESULTS), "r+") as file:
                for name, target in LINKS.items():
                    file[name] = h5py.SoftLink(target)

        self.change_results(add_links)
        self.has_links = RESULTS in self.disk.seen()

    def check_user_files(self, folder):
        found = read_folder(folder)
        if changed := [name for name, content in self.foreign_files.items() if found.get(name) != content]:
            raise Violation(f"changed files of the user: {changed}")
        if not self.has_links or RESULTS not in found:
            return
        with h5py.File(os.path.join(folder, RESULTS)) as file:
            links = {name: file.get(name, getlink=True) for name in LINKS if name in set(file)}
        if {name: getattr(link, "path", None) for name, link in links.items()} != LINKS:
            raise Violation(f"changed links of the user: {links}")

    # --- the steps

    def perform(self, command, end, fault_at):
        words, during, after = self.prepare(command)
        changes, status, left = self.record(words, f"{fault_at}:{ERRNOS[end]}" if end in ERRNOS else None)
        is_complete = status == self.campaign.status_of(after.ids)
        if end not in ERRNOS:
            if not is_complete and not (command == "repair" and status in (0, 3, 75)):
                raise Violation(f"{command} ends with {status}")
            if left := left - {RESULTS, STATUS} - self.others:
                raise Violation(f"left over by {command}: {sorted(left)}")
        if is_complete and command != "repair":
            after = State(after.ids, frozenset(after.ids))
        crash_at = self.rng.randrange(len(changes) + 1) if end in ("kill", "power") else None
        self.replay(changes, words, during, after if is_complete else None, crash_at)
        if end == "power":
            self.disk = Disk(self.disk.after_power_loss(self.rng, False))

    def record(self, words, fault):
        """Returns the changes of a command, its exit status, and the names of the files that it leaves."""
        folder, record = os.path.join(self.net.scratch, "story"), os.path.join(self.net.scratch, "record")
        write_folder(folder, self.disk.seen())
        settings = {"fault": fault} if fault else {}
        status = self.net.program.call(folder, words, record, delay_ms=DELAY_MS, **settings).returncode
        changes = read_record(record, folder)
        os.remove(record)
        replayed = copy.deepcopy(self.disk)
        for change in changes:
            if change.name != EVENTS:
                replayed.take(change, random.Random(0))
        found = read_folder(folder)
        found.pop(EVENTS, None)
        if found != replayed.seen():
            raise Violation(f"the record is incomplete: {sorted(found)}, {sorted(replayed.seen())}")
        if self.net.forget:
            changes = [change for change in changes if role_of(change) != self.net.forget]
        return changes, status, set(found)

    def prepare(self, command):
        """Returns the command's arguments, the possible states of the file while it runs, and the state after it."""
        campaign, rng = self.campaign, self.rng
        state, solved = self.found(self.disk.seen(), self.states)
        plans = list(state.ids or campaign.ids[:4])
        if command == "repair" and state.ids is None:
            command = "run"  # there is no file to repair
        if command == "repair":
            new, words = state, ["repair", RESULTS]
        elif command == "merge":
            for name, content in self.net.parts[self.variant].items():
                self.disk.names[name] = self.disk.kept_names[name] = File(content)
                self.others.add(name)
            new = State(tuple(campaign.ids), frozenset(campaign.ids))
            words = ["merge", "--out", RESULTS, "--overwrite", *PARTS]
        elif command == "overwrite":
            plans = rng.sample(campaign.ids, 4)
            new, words = State(tuple(plans), frozenset()), campaign.run(plans, "--events", EVENTS, "--overwrite")
        else:
            if command == "rearrange":  # omits some of the plans that have no result
                plans = [plan for plan in campaign.ids if plan in solved or rng.random() < 0.8] or plans
                rng.shuffle(plans)
            new, words = State(tuple(plans), state.required), campaign.run(plans, "--events", EVENTS, "--resume")
        self.plans = new.ids
        return words, [state] if state == new else [state, new], new

    def replay(self, changes, words, during, after, crash_at):
        """Replays the changes, and checks images before some of them. Leaves the disk in the state after the last change, or
        after a kill during one change."""
        events, states, crashed, chosen = "", during, None, self.choose(changes)
        for k, change in enumerate(changes + [None]):
            is_event = change is not None and change.name == EVENTS
            if is_event:
                events += change.data.decode()
                states = self.after_acknowledged(events, during)
            if change is None and after is not None:
                states = [after]
            if k in chosen:
                self.check_crashes(change, k, states, words)
            if k == crash_at:
                crashed = copy.deepcopy(self.disk) if change is None or is_event else self.disk.killed_in(change, self.rng)
                self.states = states
            if change is not None and not is_event:
                self.disk.take(change, self.rng)
        if crashed is None:
            self.states = states
        else:
            self.disk = crashed

    @staticmethod
    def after_acknowledged(events, during):
        lines = [json.loads(line) for line in events.split("\n")[:-1]]
        stored = frozenset(event["id"] for event in lines if event["event"] in ("result", "failure"))
        new = during[-1]
        return [State(new.ids, new.required | stored)] if stored else during

    def choose(self, changes):
        """Returns the indices of the changes before which to crash: all, or some, preferably next to syncs and renames."""
        every, images = range(len(changes) + 1), self.net.images
        if images == 0:
            return set(every)
        close = [k for k in every if any(change.kind in "sru" for change in changes[max(k - 1, 0):k + 1])]
        picks = self.rng.sample(close, min(len(close), images * 2 // 3))
        return {*picks, *self.rng.sample(every, min(len(every), images - len(picks))), len(changes)}

    # --- the images

    def check_crashes(self, change, k, states, words):
        where = f"{self.where}, before change {k} " + (f"({change.kind} {change.name} {change.to})" if change else "(the end)")
        images = [("kill", self.disk.seen()), ("power, all lost", self.disk.after_power_loss(self.rng, True))]
        if change and change.kind == "w" and change.name != EVENTS:
            images.append(("kill, torn", self.disk.killed_in(change, self.rng).seen()))
        for _ in range(1 if self.net.images else 3):
            images.append(("power, some lost", self.disk.after_power_loss(self.rng, False)))
        for kind, image in images:
            # The possible states are part of the key, because later states may require more results of the same bytes.
            key = hash((tuple(sorted(image.items())), tuple(states)))
            if key in self.images_seen:
                continue
            self.images_seen.add(key)
            self.net.counts[kind] += 1
            try:
                self.check_image(image, states, words)
            except (Violation, OSError) as violation:  # OSError: HDF5 cannot open a file that should be closed
                self.net.report(f"{where}: {kind}", violation, image)

    def found(self, image, states):
        """Returns the state of an image, which must be one of `states`, and the plans that have a result."""
        write_folder(self.net.image, image)
        return self.match(states)

    def match(self, states):
        if not any(name == RESULTS or name.startswith(f"{RESULTS}.wal") for name in os.listdir(self.net.image)):
            if NO_FILE in states:
                return NO_FILE, frozenset()
            raise Violation(f"lost: no file, but {states}")
        snapshot = self.campaign.inspect(self.net.image)
        for state in reversed(states):
            if state.ids == snapshot.ids and state.required <= snapshot.solved:
                return state, snapshot.solved
        raise Violation(f"lost: found {sorted(snapshot.solved)} of {snapshot.ids}, but {states}")

    def check_image(self, image, states, words):
        program, rng, campaign, folder = self.net.program, self.rng, self.campaign, self.net.image
        state, solved = self.found(image, states)
        if words[0] == "merge" and rng.random() < 0.5:
            program.call_expecting({campaign.status_of(campaign.ids)}, folder, words)
            state, solved = self.match([State(tuple(campaign.ids), frozenset(campaign.ids))])
        elif state.ids is not None and rng.random() < 0.4:
            program.call_expecting({0, 3, 75}, folder, ["repair", RESULTS])
            if left := set(os.listdir(folder)) - {RESULTS} - self.others:
                raise Violation(f"left over by a repair: {sorted(left)}")
            self.match([State(state.ids, solved)])
        plans = state.ids or self.plans
        done = program.call_expecting({campaign.status_of(plans)}, folder, campaign.run(plans, "--resume", "--events", EVENTS))
        with open(os.path.join(folder, EVENTS), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        if again := {event["id"] for event in events if event["event"] == "start"} & solved:
            raise Violation(f"solved again: {sorted(again)} {done.stderr}")
        campaign.check_complete(folder, plans, {EVENTS} | self.others)
        self.check_user_files(folder)


class Found(Exception):
    """The simulated error is found."""


class Net:
    def __init__(self, options):
        self.images, self.forget, self.keep = options.images, options.forget, None
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix="wallheat-crash-", dir=memory))
        self.image = os.path.join(self.scratch, "image")
        self.program = Program(options.wallheat, options.recorder)
        self.counts, self.failures = collections.Counter(), 0
        plans = os.path.join(self.scratch, "plans")
        self.program.call_expecting({0}, self.scratch, ["generate", "--out", plans, "--count", "6", "--size", "16"])
        with open(os.path.join(plans, "building_ids.txt"), encoding="utf-8") as file:
            ids = [line.strip() for line in file]
        with open(os.path.join(plans, f"{ids[-1]}_interior.npy"), "wb") as file:
            file.write(b"no array")
        self.campaigns, self.parts = {}, {}
        for variant, words in VARIANTS.items():
            folder = os.path.join(self.scratch, "whole")
            write_folder(folder, {})
            campaign = self.campaigns[variant] = Campaign(self.program, plans, ids, words, folder)
            for k in (1, 2):
                self.program.call_expecting({0, 3}, folder, campaign.run(ids, out="part.h5", shard=f"{k}/2"))
            self.parts[variant] = {name: content for name, content in read_folder(folder).items() if name in PARTS}

    def report(self, where, violation, image):
        """Reports an image that fails, and keeps it."""
        self.failures += 1
        print(f"FAILED: {where}: {violation}", flush=True)
        if self.forget:
            raise Found
        self.keep = self.keep or tempfile.mkdtemp(prefix="wallheat-crash-images-")
        write_folder(os.path.join(self.keep, f"{self.failures}"), image)
        print(f"  kept in {self.keep}/{self.failures}", flush=True)


def random_story(rng):
    return tuple(f"{rng.choice(COMMANDS)} {rng.choice(ENDS)}" for _ in range(rng.randint(1, 4)))


def tell_stories(net, options):
    for name, steps in STORIES.items():
        if options.named or name == options.story:
            for variant in VARIANTS:
                Story(net, name, variant, steps, options.seed).live()
    for number in range(options.random):
        rng = random.Random(f"{options.seed} {number}")
        name = f"random {options.seed}.{number}"
        Story(net, name, rng.choice(list(VARIANTS)), random_story(rng), options.seed).live()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", help="the program")
    parser.add_argument("recorder", help="the library of recorder.c")
    parser.add_argument("--images", type=int, default=8, help="crashes per step; 0: before every change (default: 8)")
    parser.add_argument("--named", action="store_true", help="all named stories, with and without rooms and fields")
    parser.add_argument("--story", choices=STORIES, help="only this named story")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N stories drawn from the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forget", choices=("folder", "new-file", "journal"),
                        help="simulate a program that omits these syncs: then images must fail")
    options = parser.parse_args()
    net = Net(options)
    try:
        tell_stories(net, options)
    except Found:
        print(f"the missing sync of the {options.forget} is found")
        return 0
    finally:
        shutil.rmtree(net.scratch, ignore_errors=True)
    if options.forget:
        print(f"the missing sync of the {options.forget} is not found")
        return 1
    counts = ", ".join(f"{kind} {count}" for kind, count in net.counts.items())
    print(f"{net.counts.total()} images ({counts}), {net.failures} failed; {net.program.calls} calls")
    return 1 if net.failures or not net.counts else 0


sys.exit(main())
