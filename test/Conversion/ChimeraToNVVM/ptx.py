"""Runs PTX on the CPU, so that kernels can be checked without a GPU.

Covers what the back end generates. Blocks run one after the other, in an order that
can be chosen, and what they tell each other by memory is checked by global_memory.py.
Warps run one after the other from barrier to
barrier, in an order that can be chosen; the threads of a warp that part at a branch
meet where all ways lead, its immediate post-dominator. ldmatrix, mma.sync and
cp.async do what the tables of the PTX ISA say. An asynchronous copy arrives when it
is waited for, or at once, as chosen: a kernel that forgets to wait, or that
overwrites what is still in use, computes something else in one of the two. Accesses to
shared memory that neither a barrier nor a wait puts in order are errors. Shared
memory starts as NaN; accesses outside of tensors or not aligned are errors. What
approximates is off by at least as much as the PTX ISA 9.1 allows, to one side or the
other.
"""

import functools
import itertools
import re
from collections import Counter

import numpy as np

from global_memory import GlobalMemory, Memory, Race

LANES = np.arange(32)
ALL_LANES = np.ones(32, bool)
FLOATS = ("f32", "tf32", "f16", "bf16")
U64 = np.uint64
# Whether copies arrive late, and whether the last warp runs first.
ORDERS = tuple(itertools.product((True, False), repeat=2))
# What is in a register before it is set.
UNKNOWN = np.full(32, 0xDEADBEEFDEADBEEF, U64)


def lay_out(count, row, column):
    """Where `count` values of each lane lie in a tile of mma."""
    return tuple(np.array([place(i) for i in range(count)]) for place in (row, column))


# By the tables of the PTX ISA: the factors of m16n8k8, m16n8k16 and m16n8k32, by
# depth, and the sums.
GROUP, PLACE = LANES // 4, LANES % 4
LEFT = {
    8: lay_out(4, lambda i: GROUP + 8 * (i % 2), lambda i: PLACE + 4 * (i // 2)),
    16: lay_out(8, lambda i: GROUP + 8 * (i // 2 % 2),
                lambda i: 2 * PLACE + i % 2 + 8 * (i // 4)),
    32: lay_out(16, lambda i: GROUP + 8 * (i // 4 % 2),
                lambda i: 4 * PLACE + i % 4 + 16 * (i // 8)),
}
RIGHT = {
    8: lay_out(2, lambda i: PLACE + 4 * i, lambda i: GROUP),
    16: lay_out(4, lambda i: 2 * PLACE + i % 2 + 8 * (i // 2), lambda i: GROUP),
    32: lay_out(8, lambda i: 4 * PLACE + i % 4 + 16 * (i // 4), lambda i: GROUP),
}
SUMS = lay_out(4, lambda i: GROUP + 8 * (i // 2), lambda i: 2 * PLACE + i % 2)


def to_bf16(values):
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FFF, rounded).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_tf32(values):
    """To nearest, ties away from zero, in the bits of an f32."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isnan(values), 0x7FFFFFFF,
                    np.where(np.isinf(values), bits, rounded)).astype(np.uint32)


def read_float(bits, kind):
    if kind == "tf32":  # What was not rounded is cut off.
        bits = bits.astype(np.uint32) & np.uint32(0xFFFFE000)
    if kind in ("f32", "tf32"):
        return bits.astype(np.uint32).view(np.float32)
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16)
    return from_bf16(bits.astype(np.uint16))


def write_float(values, kind):
    if kind == "f32":
        return values.astype(np.float32).view(np.uint32).astype(U64)
    if kind == "tf32":
        return to_tf32(values).astype(U64)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16).astype(U64)
    return to_bf16(values).astype(U64)


@functools.cache
def width(kind):
    return 1 if kind == "pred" else int(kind.lstrip("bfstu"))


@functools.cache
def ones(kind):
    return U64((1 << width(kind)) - 1)


def cut(bits, kind):
    bits = np.asarray(bits, dtype=U64)
    return bits if width(kind) == 64 else bits & ones(kind)


def signed(bits, kind):
    value = cut(bits, kind).astype(np.int64)
    if width(kind) == 64:
        return value
    half = 1 << (width(kind) - 1)
    return np.where(value >= half, value - 2 * half, value)


class SharedMemory(Memory):
    """That of a block. Between two barriers no byte may be written that is also read,
    or written twice, whichever threads do it; a copy writes from where it starts to
    where its thread waits for it."""

    def __init__(self, size):
        super().__init__(size)
        self.valid[:] = True
        # Barriers so far; at which number a byte was read and written last.
        self.barriers = 0
        self.read = np.full(size, -1)
        self.written = np.full(size, -1)
        self.isPending = np.zeros(size, bool)

    def note_read(self, places):
        if (self.isPending[places] | (self.written[places] == self.barriers)).any():
            raise Race(f"bytes at {places[:, 0]} are read while they are written")
        self.read[places] = self.barriers

    def start_write(self, places):
        self.expect_apart(places[:, 0])
        if (self.isPending[places] | (self.written[places] == self.barriers)
                | (self.read[places] == self.barriers)).any():
            raise Race(f"bytes at {places[:, 0]} are written while others use them")
        self.isPending[places] = True

    def end_write(self, places):
        self.isPending[places] = False
        self.written[places] = self.barriers

    def load(self, addresses, size):
        places = self.find_aligned(addresses, size)
        self.note_read(places)
        return self.read_values(places)

    def store(self, addresses, values, size):
        places = self.find_aligned(addresses, size)
        self.start_write(places)
        self.write_values(places, values)
        self.end_write(places)


class Kernel:
    """Statements of one entry point."""

    def __init__(self, text):
        text = re.sub(r"//.*", "", text)
        body = text[text.index(".entry"):]
        self.params = re.findall(r"\.param[^,)]*?(\w+_param_\d+)", body)
        body = body[body.index("{") + 1 : body.rindex("}")]
        self.code, self.labels = [], {}
        for statement in re.split(r";|(?<=:)\s", re.sub(r"(\$L\w+):", r"\1: ", body)):
            statement = " ".join(statement.split())
            if statement.endswith(":"):
                self.labels[statement[:-1]] = len(self.code)
            elif statement and not statement.startswith("."):
                self.code.append(self.parse(statement))
        self.find_meetings()

    def find_meetings(self):
        """Where the ways from each branch meet again: one past the end, if not
        before."""
        end = len(self.code)
        after = []
        for at, (guard, _, (name, *_), operands) in enumerate(self.code):
            targets = {at + 1} if guard or name not in ("bra", "ret") else set()
            if name == "bra":
                targets.add(self.labels[operands[0]])
            if name == "ret":
                targets.add(end)
            after.append(targets)
        # What each statement cannot avoid, later statements first.
        always = [set(range(end + 1)) for _ in range(end)] + [{end}]
        changed = True
        while changed:
            changed = False
            for at in reversed(range(end)):
                common = set.intersection(*(always[to] for to in after[at])) | {at}
                if common != always[at]:
                    always[at], changed = common, True
        # The nearest of these is the one that all others of them follow.
        self.meetings = {
            at: max(always[at] - {at}, key=lambda to: len(always[to]))
            for at in range(end) if len(after[at]) > 1}

    @staticmethod
    def parse(statement):
        match = re.match(r"(?:@(!?)(%\w+) )?(\S+) ?(.*)", statement)
        negated, guard, opcode, rest = match.groups()
        operands = [
            [part.strip() for part in group.split(",")] if group else single.strip()
            for group, single in re.findall(r"\{([^}]*)\}|([^,{}]+)", rest)
            if group or single.strip()
        ]
        return guard, bool(negated), opcode.split("."), operands


class Launch:
    """A grid of thread blocks, a number of them or a list in the order in which they
    run, on arguments: arrays, read and written in place."""

    def __init__(self, kernel, grid, threads, shared_bytes, arguments,
                 late=True, reverse=False):
        self.kernel, self.late, self.reverse = kernel, late, reverse
        self.shared_bytes, self.threads = shared_bytes, threads
        # Accesses of a bank in vain, and numbers that were not rounded to tf32.
        self.conflicts, self.cut = 0, 0
        gap = 4096
        self.places, end = [], gap
        for array in arguments:
            self.places.append((end, array))
            end += (array.nbytes + gap) // 256 * 256 + gap
        self.memory = GlobalMemory(end)
        for start, array in self.places:
            self.memory.bytes[start : start + array.nbytes] = np.frombuffer(
                array.tobytes(), np.uint8)
            self.memory.valid[start : start + array.nbytes] = True
        # Bytes of each argument that go to shared memory by copies, to registers,
        # and that are written; and places of bytes that blocks read to registers.
        self.copied = [0] * len(arguments)
        self.loaded = [0] * len(arguments)
        self.stored = [0] * len(arguments)
        self.read = [set() for _ in arguments]
        # Sectors of 32 bytes that instructions of a warp touch to write.
        self.sectors = [0] * len(arguments)
        # How often warps execute each statement.
        self.executed = Counter()
        with np.errstate(all="ignore"):
            for block in range(grid) if isinstance(grid, int) else grid:
                self.run_block(block)
        for start, array in self.places:
            array[...] = np.frombuffer(
                self.memory.bytes[start : start + array.nbytes].tobytes(),
                array.dtype).reshape(array.shape)

    def count(self, counters, addresses, sizes):
        for index, (start, array) in enumerate(self.places):
            isInside = (start <= addresses) & (addresses < start + array.nbytes)
            counters[index] += int((sizes * isInside).sum())

    def note_read(self, addresses, size):
        self.count(self.loaded, addresses, size)
        for index, (start, array) in enumerate(self.places):
            self.read[index].update(
                (self.memory.block, address, size) for address in addresses.tolist()
                if start <= address < start + array.nbytes)

    def run_block(self, block):
        self.shared = SharedMemory(self.shared_bytes)
        self.memory.start_block(block)
        # What threads say at a barrier, and what comes of it.
        self.votes, self.vote = False, False
        warps = [Warp(self, block, first) for first in range(0, self.threads, 32)]
        while not all(warp.done for warp in warps):
            for warp in reversed(warps) if self.reverse else warps:
                warp.run()
            if len({warp.done for warp in warps}) != 1:
                raise RuntimeError("some warps wait for others that have ended")
            self.shared.barriers += 1
            self.memory.pass_barrier()
            self.votes, self.vote = False, self.votes


class Warp:
    def __init__(self, launch, block, first):
        self.launch, self.block, self.first = launch, block, first
        self.registers = {}
        # Threads that run together: where they are, who, and where they meet
        # those below.
        end = len(launch.kernel.code)
        self.stack = [[0, ALL_LANES, end]]
        self.done = False
        # The register that gets what a barrier comes to.
        self.awaited = None
        # Of each thread: copies since the last group, and groups of copies.
        self.copies = [[] for _ in LANES]
        self.groups = [[] for _ in LANES]

    def run(self):
        """Until the next barrier or the end."""
        code = self.launch.kernel.code
        if self.awaited:
            self.set(self.awaited, np.full(32, self.launch.vote, U64), ALL_LANES)
            self.awaited = None
        while True:
            pc, active, meeting = self.stack[-1]
            if pc == meeting:
                self.stack.pop()
                if self.stack:
                    continue
                self.done = True
                return
            guard, negated, parts, operands = code[pc]
            self.launch.executed[pc] += 1
            if guard:
                mask = active & (self.get(guard, "pred").astype(bool) != negated)
            else:
                mask = active
            self.stack[-1][0] = pc + 1
            name = parts[0]
            if name == "bra":
                self.branch(pc, active, mask, self.launch.kernel.labels[operands[0]])
            elif name == "ret":
                self.branch(pc, active, mask, len(code))
            elif parts[:2] == ["bar", "warp"]:
                self.expect_all(mask)
            elif name in ("bar", "barrier"):
                self.expect_all(mask)
                if parts == ["bar", "red", "or", "pred"]:
                    self.awaited = operands[0]
                    self.launch.votes |= bool(self.get(operands[2], "pred").any())
                return
            elif mask is ALL_LANES or mask.any():
                self.execute(name, parts, operands, mask)

    def branch(self, pc, active, taken, target):
        if not taken.any():
            return
        if (taken == active).all():
            self.stack[-1][0] = target
            return
        meeting = self.launch.kernel.meetings[pc]
        self.stack[-1][0] = meeting
        self.stack.append([pc + 1, active & ~taken, meeting])
        self.stack.append([target, taken, meeting])

    @staticmethod
    def expect_all(mask):
        if not mask.all():
            raise RuntimeError("an instruction of the warp runs in some lanes only")

    # Operands.

    def get(self, operand, kind):
        if operand.startswith("%"):
            if operand == "%tid.x":
                return (self.first + LANES).astype(U64)
            if operand == "%ctaid.x":
                return np.full(32, self.block, U64)
            return cut(self.registers[operand], kind)
        if "dynamic_shmem" in operand:
            return np.zeros(32, U64)
        return self.get_constant(operand, kind)

    @staticmethod
    @functools.cache
    def get_constant(operand, kind):
        if operand.startswith("0f"):
            number = int(operand[2:], 16)
        elif operand.startswith("0x") and kind in ("f16", "bf16", "b16"):
            number = int(operand, 16)
        else:
            number = int(operand.rstrip("U"), 0) & (2**64 - 1) & int(ones(kind))
        values = np.full(32, number, U64)
        values.flags.writeable = False
        return values

    def set(self, register, bits, mask):
        bits = np.asarray(bits, dtype=U64)
        if mask is not ALL_LANES:
            bits = np.where(mask, bits, self.registers.get(register, UNKNOWN))
        self.registers[register] = bits

    @staticmethod
    @functools.cache
    def split_address(operand):
        base, offset = re.match(r"\[([^+\]]+)(?:\+(-?\d+))?\]", operand).groups()
        return base, int(offset or 0)

    def address(self, operand):
        base, offset = self.split_address(operand)
        return self.get(base, "b64").astype(np.int64) + offset

    # Instructions.

    def execute(self, name, parts, operands, mask):
        special = getattr(self, "do_" + name, None)
        if special:
            return special(parts, operands, mask)
        kind = parts[-1]
        inputs = [self.get(operand, kind) for operand in operands[1:]]
        if kind in ("f32", "f16", "bf16"):
            floats = [read_float(value, kind) for value in inputs]
            result = write_float(FLOAT[name](parts, *floats), kind)
        else:
            result = INTEGER[name](parts, kind, *inputs)
            if "wide" not in parts:
                result = cut(result, kind)
        self.set(operands[0], result, mask)

    def do_mov(self, parts, operands, mask):
        target, source = operands
        if isinstance(target, list):  # Take a register apart.
            bits = 32 // len(target) if parts[1] == "b32" else 64 // len(target)
            value = self.get(source, parts[1])
            for index, register in enumerate(target):
                part = (value >> U64(index * bits)) & U64((1 << bits) - 1)
                if register != "_":
                    self.set(register, part, mask)
        elif isinstance(source, list):
            bits = 32 // len(source) if parts[1] == "b32" else 64 // len(source)
            value = np.zeros(32, U64)
            for index, register in enumerate(source):
                value |= self.get(register, f"b{bits}") << U64(index * bits)
            self.set(target, value, mask)
        else:
            self.set(target, self.get(source, parts[1]), mask)

    def do_shfl(self, parts, operands, mask):
        self.expect_all(mask)
        other = self.get(operands[2], "b32").astype(np.int64)
        source = {"bfly": LANES ^ other, "idx": other}[parts[2]]
        self.set(operands[0], self.get(operands[1], "b32")[source], mask)

    def do_cvta(self, parts, operands, mask):
        self.set(operands[0], self.get(operands[1], "b64"), mask)

    def do_ld(self, parts, operands, mask):
        size = width(parts[-1]) // 8
        if parts[1] == "param":
            index = self.launch.kernel.params.index(operands[1].strip("[]"))
            return self.set(operands[0],
                            np.full(32, self.launch.places[index][0], U64), mask)
        targets = operands[0] if isinstance(operands[0], list) else [operands[0]]
        memory = self.launch.shared if parts[1] == "shared" else self.launch.memory
        addresses = self.address(operands[1])
        self.expect_aligned(addresses[mask], size * len(targets))
        if parts[1] == "shared":
            self.count_conflicts(addresses, size * len(targets), mask)
        for index, target in enumerate(targets):
            value, places = np.zeros(32, U64), addresses[mask] + index * size
            if parts[1] == "global":
                value[mask] = memory.load_by(self.first + LANES[mask], places, size)
                self.launch.note_read(places, size)
            else:
                value[mask] = memory.load(places, size)
            self.set(target, value, mask)

    @staticmethod
    def expect_aligned(addresses, size):
        if (addresses % size).any():
            raise ValueError(f"a vector of {size} bytes is not aligned")

    def count_conflicts(self, addresses, size, mask):
        """As many lanes at a time as make a row of all banks; those of a bank
        should want the same word of it."""
        together = min(32, 128 // size)
        for first in range(0, 32, together):
            words = {int(addresses[lane]) // 4 + word
                     for lane in range(first, first + together) if mask[lane]
                     for word in range(max(1, size // 4))}
            most = max(Counter(word % 32 for word in words).values(), default=1)
            self.launch.conflicts += most - 1

    def do_st(self, parts, operands, mask):
        size = width(parts[-1]) // 8
        sources = operands[1] if isinstance(operands[1], list) else [operands[1]]
        memory = self.launch.shared if parts[1] == "shared" else self.launch.memory
        addresses = self.address(operands[0])
        self.expect_aligned(addresses[mask], size * len(sources))
        if parts[1] == "global":
            together = addresses[mask][:, None] + np.arange(size * len(sources))
            self.launch.count(self.launch.sectors, 32 * np.unique(together // 32), 1)
        for index, source in enumerate(sources):
            value = self.get(source, parts[-1])[mask]
            places = addresses[mask] + index * size
            if parts[1] == "global":
                memory.store_by(self.first + LANES[mask], places, value, size)
                self.launch.count(self.launch.stored, places, size)
            else:
                memory.store(places, value, size)

    def do_fence(self, parts, operands, mask):
        if parts[1:] != ["acq_rel", "gpu"]:
            raise NotImplementedError(".".join(parts))
        for lane in np.flatnonzero(mask):
            self.launch.memory.fence(self.first + lane)

    def do_atom(self, parts, operands, mask):
        if parts[1:] != ["global", "inc", "u32"]:
            raise NotImplementedError(".".join(parts))
        addresses, most = self.address(operands[1]), self.get(operands[2], "u32")
        before = np.zeros(32, U64)
        for lane in np.flatnonzero(mask):
            before[lane] = self.launch.memory.increment(
                self.first + lane, int(addresses[lane]), int(most[lane]))
        self.set(operands[0], before, mask)

    def do_setp(self, parts, operands, mask):
        relation, kind, unordered = parts[1], parts[-1], False
        left, right = (self.get(operand, kind) for operand in operands[1:])
        if kind.startswith("f"):
            left, right = read_float(left, kind), read_float(right, kind)
            # Relations that end in u hold for NaN as well.
            unordered = len(relation) == 3 and (np.isnan(left) | np.isnan(right))
            relation = relation[:2]
        elif kind.startswith("s"):
            left, right = signed(left, kind), signed(right, kind)
        result = {"eq": np.equal, "ne": np.not_equal, "lt": np.less,
                  "le": np.less_equal, "gt": np.greater,
                  "ge": np.greater_equal}[relation](left, right)
        if relation == "ne" and kind.startswith("f"):
            result &= ~(np.isnan(left) | np.isnan(right))
        result |= unordered
        self.set(operands[0], result.astype(U64), mask)

    def do_selp(self, parts, operands, mask):
        yes, no = (self.get(operand, parts[-1]) for operand in operands[1:3])
        chosen = self.get(operands[3], "pred").astype(bool)
        self.set(operands[0], np.where(chosen, yes, no), mask)

    def do_cvt(self, parts, operands, mask):
        to, source = parts[-2], parts[-1]
        if to in ("f16x2", "bf16x2"):
            kind = to[:-2]
            high, low = (
                write_float(read_float(self.get(operand, source), source), kind)
                for operand in operands[1:])
            return self.set(operands[0], high << U64(16) | low, mask)
        value = self.get(operands[1], source)
        if source in FLOATS:
            number = read_float(value, source).astype(np.float32)
            if "rni" in parts or to not in FLOATS:
                number = (np.rint if "rni" in parts else np.trunc)(number)
            result = (write_float(number, to) if to in FLOATS
                      else saturate(number, to))
        else:
            result = signed(value, source) if source[0] == "s" else value
            if to in FLOATS:
                result = write_float(result.astype(np.float32), to)
        self.set(operands[0], cut(result.astype(U64), to), mask)

    def do_prmt(self, parts, operands, mask):
        """The bytes of two words that a selector names, one for each of its digits.
        LLVM permutes words that it never sets where nobody looks at the bytes."""
        low, high = (cut(self.registers.get(operand, UNKNOWN), "b32")
                     if operand.startswith("%") else self.get(operand, "b32")
                     for operand in operands[1:3])
        both, selector = high << U64(32) | low, self.get(operands[3], "b32")
        result = np.zeros(32, U64)
        for byte in range(4):
            digit = selector >> U64(4 * byte) & U64(15)
            value = both >> U64(8) * (digit & U64(7)) & U64(255)
            sign = np.where(value >= U64(128), U64(255), U64(0))
            value = np.where(digit >= U64(8), sign, value)
            result |= value << U64(8 * byte)
        self.set(operands[0], result, mask)

    def do_cp(self, parts, operands, mask):
        lanes = np.flatnonzero(mask)
        if parts[2] == "commit_group":
            for lane in lanes:
                self.groups[lane].append(self.copies[lane])
                self.copies[lane] = []
        elif parts[2] == "wait_group":
            left, ended = int(operands[0]), []
            for lane in lanes:
                done = max(0, len(self.groups[lane]) - left)
                ended += sum(self.groups[lane][:done], [])
                del self.groups[lane][:done]
            self.end_copies(ended)
        else:
            self.start_copies(operands, lanes)

    def start_copies(self, operands, lanes):
        to, source = self.address(operands[0]), self.address(operands[1])
        size = int(operands[2])
        read = (self.get(operands[3], "b32") if len(operands) > 3
                else np.full(32, size, U64))
        to, source, read = to[lanes], source[lanes], read[lanes].astype(np.int64)
        if (to % size).any() or (source % size).any():
            raise ValueError("an asynchronous copy is not aligned")
        self.launch.count(self.launch.copied, source, read)
        shared = self.launch.shared
        shared.start_write(shared.find(to, size))
        if not self.launch.late:
            self.move(to, source, read, size)
        for lane, *copy in zip(lanes, to.tolist(), source.tolist(), read.tolist()):
            self.copies[lane].append((size, *copy))

    def end_copies(self, copies):
        shared = self.launch.shared
        for size in {size for size, *_ in copies}:
            to, source, read = np.array([copy[1:] for copy in copies
                                         if copy[0] == size]).T
            if self.launch.late:
                self.move(to, source, read, size)
            shared.end_write(shared.find(to, size))

    def move(self, to, source, read, size):
        """Copies `read` bytes, and zeros up to `size`."""
        shared, memory = self.launch.shared, self.launch.memory
        shared.bytes[shared.find(to, size)] = 0
        for part in set(read.tolist()) - {0}:
            isPart = read == part
            shared.bytes[shared.find(to[isPart], part)] = memory.bytes[
                memory.find(source[isPart], part)]

    def do_ldmatrix(self, parts, operands, mask):
        self.expect_all(mask)
        count = int(next(part for part in parts if part[0] == "x")[1:])
        shared, rows = self.launch.shared, self.address(operands[1])[: 8 * count]
        places = shared.find_aligned(rows, 16)
        shared.note_read(places)
        for matrix, register in enumerate(operands[0]):
            own = slice(8 * matrix, 8 * matrix + 8)
            self.launch.conflicts += 8 - len({*(rows[own] // 16 % 8).tolist()})
            data = shared.bytes[places[own]].view(np.uint16)
            if "trans" in parts:
                data = np.ascontiguousarray(data.T)
            self.set(register, data.view(np.uint32).reshape(32), mask)

    def stack_words(self, registers):
        return np.stack([self.get(register, "b32") for register in registers])

    def read_tile(self, registers, kind, places, shape):
        """A factor of mma, of which registers hold parts: a word each or several."""
        words, size = self.stack_words(registers), width(kind) // 8
        if kind == "tf32":
            self.launch.cut += np.count_nonzero(words & U64(0x1FFF))
        values = words.astype("<u4").view(f"<u{size}").reshape(len(words), 32, -1)
        values = values.transpose(0, 2, 1).reshape(-1, 32)
        tile = np.zeros(shape, float if kind in FLOATS else np.int64)
        if kind in FLOATS:
            tile[places] = read_float(values, kind)
        else:
            tile[places] = signed(values, kind) if kind == "s8" else values
        return tile

    def do_mma(self, parts, operands, mask):
        self.expect_all(mask)
        left, right, to = parts[7], parts[8], parts[6]
        depth = {"tf32": 8, "f16": 16, "bf16": 16, "s8": 32, "u8": 32}[left]
        if parts[3] != f"m16n8k{depth}":
            raise NotImplementedError(parts[3])
        product = (self.read_tile(operands[1], left, LEFT[depth], (16, depth))
                   @ self.read_tile(operands[2], right, RIGHT[depth], (depth, 8)))
        before = self.stack_words(operands[3])
        if to == "f32":
            sums = write_float(read_float(before, to) + product[SUMS], to)
        else:
            sums = cut((signed(before, to) + product[SUMS]).astype(U64), to)
        for register, values in zip(operands[0], sums):
            self.set(register, values, mask)


def saturate(values, kind):
    """Numbers as integers: what is too large becomes the largest, no number zero."""
    bits = width(kind)
    low, high = ((-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s"
                 else (0, (1 << bits) - 1))
    values = np.where(np.isnan(values), 0, values.astype(np.float64))
    return np.clip(values, low, high).astype(np.int64).astype(U64)


def multiply(parts, kind, left, right):
    if parts[1] == "wide":
        if kind[0] == "s":
            return (signed(left, kind) * signed(right, kind)).astype(U64)
        return left * right
    if parts[1] == "lo":
        return left * right
    bits = width(kind)
    products = [(int(a) * int(b)) >> bits for a, b in zip(left, right)]
    return np.array(products, U64)


def shift(parts, kind, value, amount):
    amount = np.minimum(amount, U64(63))
    if kind[0] == "s":
        return (signed(value, kind) >> amount.astype(np.int64)).astype(U64)
    return value >> amount


def choose(function):
    def run(parts, kind, left, right):
        if kind[0] == "s":
            return function(signed(left, kind), signed(right, kind)).astype(U64)
        return function(left, right)
    return run


def extract(parts, kind, value, start, count):
    """Bits of a number; of one with a sign the highest goes on."""
    field = value >> start & ((U64(1) << count) - U64(1))
    if kind[0] != "s":
        return field
    sign = U64(1) << (count - U64(1))
    return (field ^ sign) - sign


INTEGER = {
    "add": lambda parts, kind, a, b: a + b,
    "sub": lambda parts, kind, a, b: a - b,
    "mul": multiply,
    "mad": lambda parts, kind, a, b, c: multiply(parts, kind, a, b) + c,
    "and": lambda parts, kind, a, b: a & b,
    "or": lambda parts, kind, a, b: a | b,
    "xor": lambda parts, kind, a, b: a ^ b,
    "neg": lambda parts, kind, a: -a,
    "not": lambda parts, kind, a: a == 0 if kind == "pred" else ~a,
    "shl": lambda parts, kind, a, b: a << b,
    "shr": shift,
    "min": choose(np.minimum),
    "max": choose(np.maximum),
    "bfe": extract,
}


def miss(exact, relative, inputs):
    """A result that is off by a share of itself: upwards or downwards, as the bits of
    the inputs say, so that the same inputs make the same bits."""
    mixed = np.zeros(32, np.uint32)
    for value in inputs:
        bits = value.astype(np.float32).view(np.uint32)
        mixed = (mixed ^ bits) * np.uint32(0x9E3779B1)
    sign = np.where(mixed >> np.uint32(31), 1.0, -1.0)
    return (exact * (1 + sign * relative)).astype(np.float32)


def flush(values):
    """Subnormal numbers as zeros."""
    return np.where(np.abs(values) < 2.0 ** -126, values.dtype.type(0), values)


def divide(parts, left, right):
    exact = left.astype(np.float64) / right
    if left.dtype != np.float32 or "rn" in parts:
        return exact.astype(left.dtype)
    # Both are off by two units in the last place.
    quotient = miss(exact, 2.0 ** -22, (left, right))
    # The fast one is a product with the reciprocal, which gets too small: the product
    # is a zero with a sign, and NaN if the left one is infinite.
    if "approx" in parts:
        quotient = np.where(np.abs(right) > 2.0 ** 126,
                            left * np.copysign(np.float32(0), right), quotient)
    return quotient


def invert(parts, value):
    exact = 1 / value.astype(np.float64)
    if "approx" in parts:  # Off by a unit in the last place, whatever the value.
        return miss(exact, 2.0 ** -23, (value,))
    return exact.astype(value.dtype)


def raise_two(parts, exponent):
    if "ftz" in parts:
        exponent = flush(exponent)
    power = miss(np.exp2(exponent.astype(np.float64)), 2.0 ** -22, (exponent,))
    return flush(power) if "ftz" in parts else power


def root(parts, value):
    exact = np.sqrt(value.astype(np.float64))
    if "approx" in parts:
        return miss(exact, 2.0 ** -23, (value,))
    return exact.astype(value.dtype)


FLOAT = {
    "add": lambda parts, a, b: a + b,
    "sub": lambda parts, a, b: a - b,
    "mul": lambda parts, a, b: a * b,
    "fma": lambda parts, a, b, c:
        (a.astype(np.float64) * b + c).astype(a.dtype),
    "neg": lambda parts, a: -a,
    "abs": lambda parts, a: np.abs(a),
    "max": lambda parts, a, b: (np.maximum if "NaN" in parts else np.fmax)(a, b),
    "min": lambda parts, a, b: (np.minimum if "NaN" in parts else np.fmin)(a, b),
    "ex2": raise_two,
    "rcp": invert,
    "rsqrt": lambda parts, a:
        miss(1 / np.sqrt(a.astype(np.float64)), 2.0 ** -22, (a,)),
    "sqrt": root,
    "div": divide,
}
