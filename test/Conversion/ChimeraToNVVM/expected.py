"""How many instructions a kernel must have, from its schedule alone.

A thread block runs the loops of its plan that are not parallel. Blocks of products
are straight code, one instruction of each kind after the other: for each step of 32
bytes along the reduction HMMA for 16 rows of a warp and 8 columns, LDSM for 16 rows
of the left operand, if that is not in registers, and for 16 columns of the right one.
Words come by LDSM only if rows run along the reduction, and not for a product with
what is in registers. A left
operand from shared memory that is deeper than 8 such steps is gone over in a loop,
as many as divide them, up to 8, in an iteration, and LLVM and ptxas may unroll it: all of its HMMA and LDSM are there several times, as
often as one another. No other loop is: those that copy say so, others carry
barriers. LDGSTS: each thread copies units of up to 16 bytes, 16 in an iteration of a
loop if it has more than 32 units of a tile, and some of the threads one more; fewer
if a round, of all threads or at least three quarters of them, has no whole rows. Tiles that a loop
chooses are copied before it, and inside for a later iteration.
"""

import re
from collections import namedtuple
from math import gcd, lcm

# What is there once, and what a loop over steps of the reduction has, of `trips`.
Counts = namedtuple("Counts", "hmma ldsm ldgsts loop_hmma loop_ldsm trips")

STRAIGHT = 8
STRAIGHT_COPIES = 32


def up(value, unit):
    return -(-value // unit) * unit


# Loops over the taps of windows, which are around blocks.
TAPS = ("r", "r1")


def paths_of(plan):
    """For each product, the loops around it and the sizes of its largest tile."""
    around = []
    for line in plan["tree"]:
        del around[line["depth"]:]
        if "loop" in line:
            around.append(line)
        else:
            yield list(around), {name: int(size) for name, size in re.findall(
                r"(\w+)=(\d+)", line["tiles"])}


def sharers_of(plan, sizes):
    """Warps that have the same rows of a tile of these sizes: each has a part of the
    first product's columns, which the second one adds up over."""
    *_, rows, _, _ = (size for name, size in sizes.items() if name not in TAPS)
    fragments = plan["fragments"]
    row_groups = -(-up(rows, 16) // (16 * fragments["row_tiles"]))
    return fragments["groups"] // row_groups


def copies_of(own, last, others, path, sizes, threads, stages, bytes, side):
    """LDGSTS for the tile of a factor of `others` times the size of loop `last`,
    along which elements of so many bytes are neighbours, in whole multiples of
    `side`; `own` are all loops that choose it."""
    pitch, width = None, 16 // bytes
    for line in path:
        if line["loop"] == last:
            pitch = pitch or line["extent"]
            width = gcd(width, line["tile"])
    width = gcd(width, pitch or sizes[last])
    if width * bytes < 4:
        return 0  # Element by element.
    row = up(sizes[last], side) // width
    straight = STRAIGHT_COPIES
    if threads % row * 4 <= threads:
        threads -= threads % row
    else:
        straight //= 4
    rounds, left = divmod(others * row, threads)
    copies = left != 0
    if rounds > straight:
        copies += straight // 2 + rounds % (straight // 2)
    else:
        copies += rounds
    chooses = [line for line in path if line["loop"] in own and not line["parallel"]]
    if not chooses:
        return copies
    # Ahead of a loop, no more iterations than it has.
    trips = -(-chooses[-1]["extent"] // chooses[-1]["tile"])
    return copies * min(stages, trips)


def expect(plan, threads, rhs_by_columns, bytes):
    """The counts for a kernel of one or two products of factors of so many bytes,
    each of which takes the one before as its left operand. `rhs_by_columns`: for
    each product, whether its right operand has rows that belong to columns of the
    result. None where loops become straight code."""
    step = 32 // bytes
    side = lcm(8, step)
    hmma = ldsm = ldgsts = loop_hmma = loop_ldsm = 0
    trips = 1
    row_tiles, stages = (plan["fragments"][name] for name in ("row_tiles", "stages"))
    products = list(paths_of(plan))
    for index, (path, sizes) in enumerate(products):
        *_, rows, columns, depth = (name for name in sizes if name not in TAPS)
        # Loops over parts of what registers hold become straight code, which is
        # not covered here: others are around all products, or add up.
        if not all(line["parallel"]
                   or (index == 0 and line["loop"] in (depth, *TAPS))
                   or all(line in path for path, _ in products) for line in path):
            return None
        sharers = sharers_of(plan, sizes)
        own_columns, own_depth = sizes[columns], sizes[depth]
        if sharers > 1 and index == 0:
            own_columns = up(own_columns, side) // sharers
        if sharers > 1 and index == 1:
            own_depth = up(own_depth, side) // sharers
        steps = up(own_depth, step) // step
        own_hmma = up(own_columns, 8) // 8 * row_tiles
        own_ldsm = row_tiles if index == 0 else 0
        if bytes == 2 or (rhs_by_columns[index] and index == 0):
            own_ldsm += up(own_columns, 16) // 16
        if index == 0 and steps > STRAIGHT:
            together = max(count for count in range(1, STRAIGHT + 1)
                           if steps % count == 0)
            loop_hmma, loop_ldsm = own_hmma * together, own_ldsm * together
            trips = steps // together
        else:
            hmma, ldsm = hmma + steps * own_hmma, ldsm + steps * own_ldsm
        batch = set(sizes) - {rows, columns, depth}
        if index == 0:
            ldgsts += copies_of({*batch, rows, depth}, depth,
                                threads // 32 // sharers * 16 * row_tiles, path,
                                sizes, threads, stages, bytes, side)
        last, other = ((depth, columns) if rhs_by_columns[index]
                       else (columns, depth))
        ldgsts += copies_of({*batch, columns, depth}, last, up(sizes[other], side),
                            path, sizes, threads, stages, bytes, side)
    return Counts(hmma, ldsm, ldgsts, loop_hmma, loop_ldsm, trips)


def compare(expected, ptx, opcodes):
    """What is wrong with the instructions of a kernel: there have to be exactly
    those expected, in PTX and in machine code, of loops as often as they are
    unrolled."""
    written = {name: len(re.findall(pattern, ptx)) for name, pattern in (
        ("HMMA", "mma.sync.aligned"), ("LDSM", "ldmatrix.sync.aligned"),
        ("LDGSTS", "cp.async.c[ag].shared"))}
    problems = []
    for place, found in (("PTX", written), ("machine code", opcodes)):
        times, rest = 1, 0
        if expected.loop_hmma:
            times, rest = divmod(found["HMMA"] - expected.hmma, expected.loop_hmma)
        if rest or not 1 <= times <= expected.trips:
            problems.append(f"{found['HMMA']} HMMA in {place} are no multiple")
        counts = {"HMMA": expected.hmma + times * expected.loop_hmma,
                  "LDSM": expected.ldsm + times * expected.loop_ldsm,
                  "LDGSTS": expected.ldgsts}
        problems += [f"{found[name]} {name} in {place} instead of {count}"
                     for name, count in counts.items() if found[name] != count]
    return problems
