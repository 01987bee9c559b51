"""Memory that all blocks of a launch share, for ptx.py.

What a block has written another may read once it was published and seen: a thread
that a barrier lets see it fences and counts at an atomic, and a thread of the other
block counts there later, fences, and lets its block go on by a barrier. Any other
access to what somebody else has written is an error, whatever was there."""

import numpy as np


class Race(RuntimeError):
    """Accesses that nothing puts in order."""


class Memory:
    """Bytes, of which some may be accessed."""

    def __init__(self, size):
        self.bytes = np.full(size, 0xFF, np.uint8)
        self.valid = np.zeros(size, bool)

    def check(self, address, size):
        if address < 0 or address + size > len(self.bytes):
            raise IndexError(f"access to {size} bytes at {address}")
        if not self.valid[address : address + size].all():
            raise IndexError(f"access outside of a tensor at {address}")

    def load(self, address, size):
        self.check(address, size)
        if address % size:
            raise ValueError(f"{size} bytes at {address} are not aligned")
        return int.from_bytes(self.bytes[address : address + size].tobytes(),
                              "little")

    def store(self, address, value, size):
        self.check(address, size)
        if address % size:
            raise ValueError(f"{size} bytes at {address} are not aligned")
        self.bytes[address : address + size] = np.frombuffer(
            int(value).to_bytes(size, "little"), np.uint8)


class GlobalMemory(Memory):
    """One block runs after the other: `start_block`. Threads are told apart by their
    number in the block."""

    def __init__(self, size):
        super().__init__(size)
        # Who wrote a byte last: block, thread, and after how many barriers.
        self.block = -1
        self.writer = np.full(size, -1)
        self.thread = np.full(size, -1)
        self.phase = np.full(size, -1)
        # What atomics at an address have published.
        self.published = {}

    def start_block(self, block):
        self.block, self.barriers = block, 0
        # What all threads of the block, and what single ones, can see of others.
        self.seen = np.zeros(len(self.bytes), bool)
        self.seen_by = {}
        # What threads have fenced, and what they found published at an atomic.
        self.fenced, self.found = {}, {}

    def pass_barrier(self):
        self.barriers += 1
        for seen in self.seen_by.values():
            self.seen |= seen
        self.seen_by = {}

    def is_ordered(self, thread, part=slice(None)):
        """Which bytes the block has written so that a thread knows of it."""
        return (self.writer[part] == self.block) & (
            (self.thread[part] == thread) | (self.phase[part] < self.barriers))

    def load_by(self, thread, address, size):
        part = slice(address, address + size)
        value = self.load(address, size)
        if self.writer[part].max() >= 0:
            seen = self.seen[part] | self.is_ordered(thread, part)
            if thread in self.seen_by:
                seen |= self.seen_by[thread][part]
            if not (seen | (self.writer[part] < 0)).all():
                raise Race(f"{size} bytes at {address} are read that others wrote")
        return value

    def store_by(self, thread, address, value, size):
        self.store(address, value, size)
        part = slice(address, address + size)
        isOthers = (self.writer[part] >= 0) & ~self.is_ordered(thread, part)
        if isOthers.any():
            raise Race(f"{size} bytes at {address} are written by several threads")
        self.writer[part], self.thread[part] = self.block, thread
        self.phase[part] = self.barriers

    def fence(self, thread):
        self.fenced[thread] = self.is_ordered(thread)
        if thread in self.found:
            before = self.seen_by.get(thread, False)
            self.seen_by[thread] = before | self.found.pop(thread)

    def increment(self, thread, address, most):
        """What was there; it becomes one more, or zero if it was `most` already."""
        value = self.load(address, 4)
        self.store(address, 0 if value >= most else value + 1, 4)
        published = self.published.setdefault(
            address, np.zeros(len(self.bytes), bool))
        if thread in self.fenced:
            published |= self.fenced[thread]
        self.found[thread] = published.copy()
        return value
