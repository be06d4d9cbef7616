"""Computes the content of a folder from a record (recorder.c), also after a crash."""

import collections
import copy
import os
import struct

# `kind` is the first character of create, write, truncate (or extend), sync, failed sync, rename or unlink. The name of
# the folder itself is ".".
Change = collections.namedtuple("Change", "kind name to offset data")
HEAD = struct.Struct("<5Q")


def read_record(path, folder):
    """Returns the changes of a record, in order."""
    changes, at = [], 0
    with open(path, "rb") as file:
        record = file.read()
    while at < len(record):
        kind, name, to, offset, size = HEAD.unpack_from(record, at)
        at += HEAD.size
        texts = (record[at:at + name].decode(), record[at + name:at + name + to].decode())
        names = [os.path.relpath(text, folder) if text else "" for text in texts]
        at += name + to
        changes.append(Change(chr(kind), *names, offset, record[at:at + size]))
        at += size
    return changes


def role_of(change):
    """Returns the purpose of a sync: "folder", "new-file" (a file that is renamed later) or "journal". Returns None for other
    changes."""
    if change.kind != "s":
        return None
    if change.name == ".":
        return "folder"
    return "new-file" if ".new-" in change.name else "journal"


class File:
    def __init__(self, content=b""):
        self.seen = bytearray(content)  # content as seen by every process
        self.kept = bytearray(content)  # durable content
        self.pending = []               # changes that may or may not be durable

    def take(self, change):
        apply(self.seen, change)
        self.pending.append(change)

    def sync(self, rng=None):
        """Makes the pending changes durable. If rng is given, the sync fails: the kernel marks all of them as written, but writes
        only some of them."""
        for change in self.pending:
            if rng is None or rng.random() < 0.5:
                apply(self.kept, change)
        self.pending = []

    def after_power_loss(self, rng, sector):
        content = bytearray(self.kept)
        for change in some_of(self.pending, rng):
            pieces = sectors_of(change, sector) if change.kind == "w" and rng.random() < 0.5 else [change]
            for piece in pieces:
                if piece is change or rng.random() < 0.75:
                    apply(content, piece)
        if len(content) < len(self.seen) and rng.random() < 0.3:  # the size is durable, but the last bytes are not
            content.extend(bytes(len(self.seen) - len(content)))
        return bytes(content)


def apply(content, change):
    end = change.offset + len(change.data)
    content.extend(bytes(max(0, end - len(content))))
    if change.kind == "t":
        del content[change.offset:]
    else:
        content[change.offset:end] = change.data


def sectors_of(change, sector):
    """Yields the pieces of a write that a disk writes atomically."""
    begin, end = change.offset, change.offset + len(change.data)
    while begin < end:
        next_begin = min(end, begin - begin % sector + sector)
        yield change._replace(offset=begin, data=change.data[begin - change.offset:next_begin - change.offset])
        begin = next_begin


def some_of(pending, rng):
    """Returns all changes, the first ones, or a random selection."""
    how = rng.randrange(3)
    if how == 0:
        return pending
    if how == 1:
        return pending[:rng.randrange(len(pending) + 1)]
    return [change for change in pending if rng.random() < 0.5]


def rename(names, change, file):
    if change.kind != "c":
        names.pop(change.name, None)
    if change.kind != "u":
        names[change.to or change.name] = file


class Disk:
    """A folder, with the visible and the durable contents of its files."""

    def __init__(self, contents):
        self.names = {name: File(content) for name, content in contents.items()}
        self.kept_names = dict(self.names)
        self.pending_names = []  # (change, file)

    def take(self, change, rng):
        if change.kind in "cru":
            file = File() if change.kind == "c" else self.names[change.name]
            rename(self.names, change, file)
            self.pending_names.append((change, file))
        elif change.kind in "wt":
            self.names[change.name].take(change)
        elif change.name != ".":
            self.names[change.name].sync(None if change.kind == "s" else rng)
        elif change.kind == "s":
            for each, file in self.pending_names:
                rename(self.kept_names, each, file)
            self.pending_names = []

    def seen(self):
        return {name: bytes(file.seen) for name, file in self.names.items()}

    def killed_in(self, change, rng):
        """Returns the disk after a kill during this change: a write is made partially, and any other change is not made."""
        disk = copy.deepcopy(self)
        if change.kind == "w" and len(change.data) > 1:
            disk.take(change._replace(data=change.data[:rng.randrange(1, len(change.data))]), rng)
        return disk

    def after_power_loss(self, rng, all_lost):
        """Returns the files after a power loss: without all changes that were not synced, or with some of them."""
        if all_lost:
            return {name: bytes(file.kept) for name, file in self.kept_names.items()}
        names = dict(self.kept_names)
        for change, file in some_of(self.pending_names, rng):
            rename(names, change, file)
        sector = rng.choice((512, 4096))
        return {name: file.after_power_loss(rng, sector) for name, file in names.items()}
