#!/usr/bin/python3
"""Every crash that a session could have had, and what the program makes of what is left.

A story is a sequence of commands on one result file. Each is recorded under recorder.c: every change that it makes to
files, in order. From the record follows what a kill or a loss of power in the midst of each change would have left
(disk.py): an image. Of each image

  * a look finds every result that was acknowledged before, and nothing that is wrong, and changes nothing;
  * a repair, a resume, or the same merge again end well, and lose nothing of what the look found;
  * then a resume ends with 0 and leaves one closed file: all answers, rooms and fields bit for bit, and nothing beside it;
  * whatever is said is a sentence, and no process dies of a signal.

A result counts as acknowledged when the event log tells of it: rank 0 writes that line after its call of the store has
returned, and what others act on is such a line. It is written by other code than the store's, and in the same record, so
it is known which changes were made before.

A step of a story ends well, by SIGTERM, by a kill, a loss of power, a full disk or an I/O error at one change.

Exit status: 0 if no image is bad, 1 if one is: it is kept and named.
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

from disk import Disk, File, read_record, role_of
from program import RESULTS, TOLD, Bad, Campaign, Program, read_folder, write_folder

VARIANTS = {"plain": (), "rooms, fields": ("--rooms", "--save-fields")}
PARTS = ("part.part-1-of-2.h5", "part.part-2-of-2.h5")
ENDS = ("well", "stop", "kill", "power", "full disk", "I/O error")
ERRNOS = {"stop": 0, "full disk": errno.ENOSPC, "I/O error": errno.EIO}
DELAY_MS = 55  # of each plan: results are gathered for less
# Named stories: the steps, each with its end. A run that finds a file resumes it; to rearrange is a resume over other plans.
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
}
COMMANDS = ("run", "resume", "resume", "rearrange", "overwrite", "repair", "merge")

# What a file may hold: the plans in their order (None: there is no file), and those that must have their answer.
World = collections.namedtuple("World", "ids required")
NO_FILE = World(None, frozenset())


class Story:
    def __init__(self, net, name, variant, steps, seed):
        self.net, self.name, self.variant, self.steps = net, name, variant, steps
        self.campaign = net.campaigns[variant]
        self.rng = random.Random(f"{seed} {name} {variant}")
        self.disk = Disk({})
        self.worlds = [NO_FILE]
        self.images_seen = set()
        self.beside = set()

    def live(self):
        for number, step in enumerate(self.steps):
            self.where = f"{self.name} ({self.variant}), step {number + 1} ({step})"
            try:
                self.perform(*step.split(" ", 1), int(self.rng.triangular(0, 110, 20)))
            except Bad as bad:
                self.net.report(self.where, bad, self.disk.seen())

    # --- what happens

    def perform(self, command, end, fault_at):
        words, during, after = self.prepare(command)
        changes, status, left = self.record(words, f"{fault_at}:{ERRNOS[end]}" if end in ERRNOS else None)
        is_whole = status == self.campaign.status_of(after.ids)
        if end not in ERRNOS:
            if not is_whole and not (command == "repair" and status in (0, 3, 75)):
                raise Bad(f"{command} ends with {status}")
            if left := left - {RESULTS} - self.beside:
                raise Bad(f"left over by {command}: {sorted(left)}")
        if is_whole and command != "repair":
            after = World(after.ids, frozenset(after.ids))
        crash_at = self.rng.randrange(len(changes) + 1) if end in ("kill", "power") else None
        self.replay(changes, words, during, after if is_whole else None, crash_at)
        if end == "power":
            self.disk = Disk(self.disk.after_power_loss(self.rng, False))

    def record(self, words, fault):
        """What a command changes, how it ends, and the names of the files that it leaves."""
        folder, record = os.path.join(self.net.scratch, "story"), os.path.join(self.net.scratch, "record")
        write_folder(folder, self.disk.seen())
        settings = {"fault": fault} if fault else {}
        status = self.net.program.call(folder, words, record, delay_ms=DELAY_MS, **settings).returncode
        changes = read_record(record, folder)
        os.remove(record)
        replayed = copy.deepcopy(self.disk)
        for change in changes:
            if change.name != TOLD:
                replayed.take(change, random.Random(0))
        found = read_folder(folder)
        found.pop(TOLD, None)
        if found != replayed.seen():
            raise Bad(f"not everything was recorded: {sorted(found)}, {sorted(replayed.seen())}")
        if self.net.forget:
            changes = [change for change in changes if role_of(change) != self.net.forget]
        return changes, status, set(found)

    def prepare(self, command):
        """The command's words; what the file may hold while it runs; what it holds when it has ended."""
        campaign, rng = self.campaign, self.rng
        world, answered = self.found(self.disk.seen(), self.worlds)
        plans = list(world.ids or campaign.ids[:4])
        if command == "repair" and world.ids is None:
            command = "run"  # there is nothing to repair
        if command == "repair":
            new, words = world, ["repair", RESULTS]
        elif command == "merge":
            for name, content in self.net.parts[self.variant].items():
                self.disk.names[name] = self.disk.kept_names[name] = File(content)
                self.beside.add(name)
            new = World(tuple(campaign.ids), frozenset(campaign.ids))
            words = ["merge", "--out", RESULTS, "--overwrite", *PARTS]
        elif command == "overwrite":
            plans = rng.sample(campaign.ids, 4)
            new, words = World(tuple(plans), frozenset()), campaign.run(plans, "--events", TOLD, "--overwrite")
        else:
            if command == "rearrange":  # of those that have no answer some are left out
                plans = [plan for plan in campaign.ids if plan in answered or rng.random() < 0.8] or plans
                rng.shuffle(plans)
            new, words = World(tuple(plans), world.required), campaign.run(plans, "--events", TOLD, "--resume")
        self.plans, self.gives_up = new.ids, "--overwrite" in words
        return words, [world] if world == new else [world, new], new

    def replay(self, changes, words, during, after, crash_at):
        """Makes images before some changes; ends after the last one, or by a kill in the midst of one."""
        told, worlds, crashed, chosen = "", during, None, self.choose(changes)
        for k, change in enumerate(changes + [None]):
            is_told = change is not None and change.name == TOLD
            if is_told:
                told += change.data.decode()
                worlds = self.after_acknowledged(told, during)
            if change is None and after is not None:
                worlds = [after]
            if k in chosen:
                self.judge_crashes(change, k, worlds, words)
            if k == crash_at:
                crashed = copy.deepcopy(self.disk) if change is None or is_told else self.disk.killed_in(change, self.rng)
                self.worlds = worlds
            if change is not None and not is_told:
                self.disk.take(change, self.rng)
                if self.gives_up and worlds is during and change.kind == "u" and ".wal" in change.name:
                    # What is to be replaced is given up just before the new file gets its name.
                    during = worlds = [*(World(world.ids, frozenset()) for world in during[:-1]), during[-1]]
        if crashed is None:
            self.worlds = worlds
        else:
            self.disk = crashed

    @staticmethod
    def after_acknowledged(told, during):
        lines = [json.loads(line) for line in told.split("\n")[:-1]]
        stored = frozenset(event["id"] for event in lines if event["event"] in ("result", "failure"))
        new = during[-1]
        return [World(new.ids, new.required | stored)] if stored else during

    def choose(self, changes):
        """Before which changes it crashes: all, or some, above all beside syncs and new names."""
        every, images = range(len(changes) + 1), self.net.images
        if images == 0:
            return set(every)
        close = [k for k in every if any(change.kind in "sru" for change in changes[max(k - 1, 0):k + 1])]
        picks = self.rng.sample(close, min(len(close), images * 2 // 3))
        return {*picks, *self.rng.sample(every, min(len(every), images - len(picks))), len(changes)}

    # --- what is left of it

    def judge_crashes(self, change, k, worlds, words):
        where = f"{self.where}, before change {k} " + (f"({change.kind} {change.name} {change.to})" if change else "(the end)")
        images = [("kill", self.disk.seen()), ("power, all lost", self.disk.after_power_loss(self.rng, True))]
        if change and change.kind == "w" and change.name != TOLD:
            images.append(("kill, torn", self.disk.killed_in(change, self.rng).seen()))
        for _ in range(1 if self.net.images else 3):
            images.append(("power, some lost", self.disk.after_power_loss(self.rng, False)))
        for kind, image in images:
            # Which worlds are possible decides, too: the same bytes may have become too few.
            key = hash((tuple(sorted(image.items())), tuple(worlds)))
            if key in self.images_seen:
                continue
            self.images_seen.add(key)
            self.net.counts[kind] += 1
            try:
                self.judge(image, worlds, words)
            except (Bad, OSError) as bad:  # OSError: HDF5 cannot open what should be closed
                self.net.report(f"{where}: {kind}", bad, image)

    def found(self, image, worlds):
        """Which of the worlds an image is, as a look finds it, and the plans that have an answer."""
        write_folder(self.net.image, image)
        return self.match(worlds)

    def match(self, worlds):
        if not any(name == RESULTS or name.startswith(f"{RESULTS}.wal") for name in os.listdir(self.net.image)):
            if NO_FILE in worlds:
                return NO_FILE, frozenset()
            raise Bad(f"lost: no file, but {worlds}")
        look = self.campaign.look(self.net.image)
        for world in reversed(worlds):
            if world.ids == look.ids and world.required <= look.answered:
                return world, look.answered
        raise Bad(f"lost: found {sorted(look.answered)} of {look.ids}, but {worlds}")

    def judge(self, image, worlds, words):
        program, rng, campaign, folder = self.net.program, self.rng, self.campaign, self.net.image
        world, answered = self.found(image, worlds)
        if words[0] == "merge" and rng.random() < 0.5:
            program.must({campaign.status_of(campaign.ids)}, folder, words)
            world, answered = self.match([World(tuple(campaign.ids), frozenset(campaign.ids))])
        elif world.ids is not None and rng.random() < 0.4:
            program.must({0, 3, 75}, folder, ["repair", RESULTS])
            if left := set(os.listdir(folder)) - {RESULTS} - self.beside:
                raise Bad(f"left over by a repair: {sorted(left)}")
            self.match([World(world.ids, answered)])
        plans = world.ids or self.plans
        done = program.must({campaign.status_of(plans)}, folder, campaign.run(plans, "--resume", "--events", TOLD))
        with open(os.path.join(folder, TOLD), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        if again := {event["id"] for event in events if event["event"] == "start"} & answered:
            raise Bad(f"solved again: {sorted(again)} {done.stderr}")
        campaign.check_whole(folder, plans, {TOLD} | self.beside)


class Found(Exception):
    """What was planted is found."""


class Net:
    def __init__(self, options):
        self.images, self.forget, self.keep = options.images, options.forget, None
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix="wallheat-crash-", dir=memory))
        self.image = os.path.join(self.scratch, "image")
        self.program = Program(options.wallheat, options.recorder)
        self.counts, self.bad = collections.Counter(), 0
        plans = os.path.join(self.scratch, "plans")
        self.program.must({0}, self.scratch, ["generate", "--out", plans, "--count", "6", "--size", "16"])
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
                self.program.must({0, 3}, folder, campaign.run(ids, out="part.h5", shard=f"{k}/2"))
            self.parts[variant] = {name: content for name, content in read_folder(folder).items() if name in PARTS}

    def report(self, where, bad, image):
        """A bad image: it is kept."""
        self.bad += 1
        print(f"BAD: {where}: {bad}", flush=True)
        if self.forget:
            raise Found
        self.keep = self.keep or tempfile.mkdtemp(prefix="wallheat-crash-images-")
        write_folder(os.path.join(self.keep, f"{self.bad}"), image)
        print(f"  kept in {self.keep}/{self.bad}", flush=True)


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
    parser.add_argument("--images", type=int, default=8, help="crashes of each step; 0: before every change (default: 8)")
    parser.add_argument("--named", action="store_true", help="all named stories, with rooms and fields and without")
    parser.add_argument("--story", choices=STORIES, help="only this named story")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N stories drawn from the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forget", choices=("folder", "new-file", "journal"),
                        help="as if the program forgot these syncs: then images must be bad")
    options = parser.parse_args()
    net = Net(options)
    try:
        tell_stories(net, options)
    except Found:
        print(f"forgetting to sync the {options.forget} is found")
        return 0
    finally:
        shutil.rmtree(net.scratch, ignore_errors=True)
    if options.forget:
        print(f"forgetting to sync the {options.forget} is not found")
        return 1
    counts = ", ".join(f"{kind} {count}" for kind, count in net.counts.items())
    print(f"{net.counts.total()} images ({counts}), {net.bad} bad; {net.program.calls} calls")
    return 1 if net.bad or not net.counts else 0


sys.exit(main())
