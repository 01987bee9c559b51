"""Memory that all blocks of a launch share, for ptx.py.

What a block has written another may read once it was published and seen: a thread
that a barrier lets see it fences and counts at an atomic, and a thread of the other
block counts there later, fences, and lets its block go on by a barrier. Any other
access to what somebody else has written is an error, whatever was there."""

import numpy as np


class Race(RuntimeError):
    """Accesses that nothing puts in order."""


class Memory:
    """Bytes, of which some may be accessed, by the threads of a warp at a time."""

    def __init__(self, size):
        self.bytes = np.full(size, 0xFF, np.uint8)
        self.valid = np.zeros(size, bool)

    def find(self, addresses, size):
        """The places of `size` bytes at each of `addresses`, a row for each."""
        if (addresses < 0).any() or (addresses + size > len(self.bytes)).any():
            raise IndexError(f"access to {size} bytes at {addresses}")
        places = addresses[:, None] + np.arange(size)
        if not self.valid[places].all():
            raise IndexError(f"access outside of a tensor at {addresses}")
        return places

    def find_aligned(self, addresses, size):
        places = self.find(addresses, size)
        if (addresses % size).any():
            raise ValueError(f"{size} bytes at {addresses} are not aligned")
        return places

    @staticmethod
    def expect_apart(addresses):
        """Of aligned writes of one size, no two are of the same bytes."""
        if len(set(addresses.tolist())) < len(addresses):
            raise Race(f"several threads write at {addresses}")

    def load(self, addresses, size):
        return self.read_values(self.find_aligned(addresses, size))

    def store(self, addresses, values, size):
        self.write_values(self.find_aligned(addresses, size), values)

    def read_values(self, places):
        return self.bytes[places].view(f"<u{places.shape[1]}")[:, 0].astype(np.uint64)

    def write_values(self, places, values):
        size = places.shape[1]
        self.bytes[places] = values.astype(f"<u{size}").view(np.uint8).reshape(-1, size)


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

    def is_ordered(self, threads, places=slice(None)):
        """Which bytes the block has written so that a thread knows of it."""
        return (self.writer[places] == self.block) & (
            (self.thread[places] == threads) | (self.phase[places] < self.barriers))

    def load_by(self, threads, addresses, size):
        places = self.find_aligned(addresses, size)
        isWritten = self.writer[places] >= 0
        if isWritten.any():
            seen = self.seen[places] | self.is_ordered(threads[:, None], places)
            for row, thread in enumerate(threads.tolist() if self.seen_by else []):
                if thread in self.seen_by:
                    seen[row] |= self.seen_by[thread][places[row]]
            if (isWritten & ~seen).any():
                raise Race(f"{size} bytes at {addresses} are read that others wrote")
        return self.read_values(places)

    def store_by(self, threads, addresses, values, size):
        places = self.find_aligned(addresses, size)
        self.expect_apart(addresses)
        isOthers = (self.writer[places] >= 0) & ~self.is_ordered(threads[:, None], places)
        if isOthers.any():
            raise Race(f"{size} bytes at {addresses} are written by several threads")
        self.write_values(places, values)
        self.writer[places], self.thread[places] = self.block, threads[:, None]
        self.phase[places] = self.barriers

    def fence(self, thread):
        self.fenced[thread] = self.is_ordered(thread)
        if thread in self.found:
            before = self.seen_by.get(thread, False)
            self.seen_by[thread] = before | self.found.pop(thread)

    def increment(self, thread, address, most):
        """What was there; it becomes one more, or zero if it was `most` already."""
        place = np.array([address])
        value = int(self.load(place, 4)[0])
        self.store(place, np.array([0 if value >= most else value + 1]), 4)
        published = self.published.setdefault(
            address, np.zeros(len(self.bytes), bool))
        if thread in self.fenced:
            published |= self.fenced[thread]
        self.found[thread] = published.copy()
        return value
