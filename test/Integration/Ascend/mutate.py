"""Breaks emitted kernels and checks that the functional model notices.

Each mutation takes one line of a kernel: it removes a flag that is raised or
waited for, within a core or between cores, or a barrier, makes a memory smaller by a block than what the kernel takes, or
swaps a layout (loads a fractal transposed that is not, or the other way round,
exchanges the steps between fractals or the gaps between halves of a square, the sides
of a product, or the row and column distances of a copy or a conversion, leaves a border
out, rounds the other way), or a ReLU on the way for none. Noticed means: it does not compile, the model
reports an error, or the result or the counted bytes are wrong.

usage: mutate.py --opt=PATH --translate=PATH --runtime=DIR --work=DIR
                 [--compiler=CXX] [--count=N] [--seed=N] [--only=PROGRAMS]
"""

import argparse
import copy
import pathlib
import random
import re
import sys

sys.dont_write_bytecode = True

import numpy as np

from attention import Attention
from convolutions import Convolutions, Layer
from integers import ByteChain, ByteStage
from kernels import Failure, Kernels, ROOM
from programs import Chain, Stage

CHAINS = [
    Chain(1, 96, 80, [Stage(112), Stage(48)]),
    Chain(2, 50, 40, [Stage(70, transposed=True, bias=True,
                            activation="relu"), Stage(48)]),
    Chain(1, 64, 300, [Stage(64, residual=True)], transposed=True),
    Chain(1, 700, 64, [Stage(600), Stage(64)]),
    Attention(2, 70, 300, 48),
    Chain(1, 96, 80, [Stage(176, bias=True, activation="gelu"), Stage(176)]),
    # Enough matrices for tiles of several fractals of rows.
    Chain(24, 70, 40, [Stage(170, transposed=True), Stage(165)]),
    # A border of zeros around an image from memory, and windows with a border over
    # what another layer makes, with a stride or without: wide enough for tiles that have
    # a border above but none beside them.
    Convolutions(1, 9, 21, 32, [Layer(32, 3, relu=True, padding=1)]),
    Convolutions(1, 13, 100, 32, [Layer(32, 3, relu=True, padding=1),
                                  Layer(32, 3, padding=1)]),
    Convolutions(1, 13, 80, 16, [Layer(48, relu=True), Layer(32, 3, 2, padding=1)]),
    Convolutions(1, 13, 33, 32, [Layer(32, 3, relu=True),
                                 Layer(20, 3, 2, padding=1)]),
    # Keys that cores share, and the kernel that combines what they leave; with several
    # queries, since with one other rows say nothing.
    Attention(2, 6, 1500, 48),
]
# What each of them is compiled for.
TARGETS = ["ascend310p"] * 5 + ["ascend910", "ascend910b", "ascend310p", "ascend310p",
                                "ascend910", "ascend910b", "ascend910"]
# Between cores: what vector cores do after one product and before another.
MIXED_CHAINS = [
    Chain(1, 96, 80, [Stage(70, bias=True, activation="gelu"),
                      Stage(50, residual=True)]),
    Chain(24, 100, 40, [Stage(600, activation="relu"), Stage(64, bias=True)]),
    Attention(2, 70, 300, 48, causal=True),
    Attention(1, 50, 300, 48, mask="full"),
]
# On one core, with squares for both factors, and with bytes between two products.
BYTE_CHAINS = [
    ByteChain(1, 70, 100, [ByteStage(150)], "i32", transposed=True),
    ByteChain(1, 70, 100, [ByteStage(90, relu=True), ByteStage(50, True)], "f32"),
]
# With queries along the lanes of vectors. Some of the barriers are for paths that
# loops of these sizes do not take.
LANES_CHAINS = [Attention(2, 70, 304, 48)]
# Programs of their own, and what they are compiled for.
PROGRAMS = {"mixed": (MIXED_CHAINS, "ascend910b"),
            "bytes": (BYTE_CHAINS, "ascend910b"),
            "lanes": (LANES_CHAINS, "ascend910")}
CORES = 2
TOLERANCE = 2e-3
# Mutations in one file: compiling the functional model takes longer than
# compiling a kernel.
TOGETHER = 25


def remove_order(lines: list, generator: random.Random):
    places = [i for i, line in enumerate(lines)
              if re.match(r"\s*((set|wait)_(cross_)?flag|pipe_barrier)\(", line)]
    place = generator.choice(places)
    return lines[:place] + lines[place + 1:], [], f"without {lines[place].strip()}"


def shrink_memory(lines: list, generator: random.Random):
    memory, size, _ = generator.choice(ROOM.findall("\n".join(lines)))
    smaller = int(size) - 32
    return lines, [f"-DCHIMERA_NPU_{memory}_BYTES={smaller}"], (
        f"{memory} of {smaller} bytes")


def exchange(line: str, first: int, second: int) -> str:
    head, arguments = re.match(r"(.*?\()(.*)\);$", line).groups()
    parts = arguments.split(", ")
    parts[first], parts[second] = parts[second], parts[first]
    return head + ", ".join(parts) + ");"


def swap_layout(lines: list, generator: random.Random):
    """One of the ways to see a tile as another layout has it."""
    changes = []
    for i, line in enumerate(lines):
        if "copy_matrix_cc_to_" in line and "F32toF16" in line:
            flipped = (line.replace("_RELU)", "_NONE)") if "_RELU)" in line
                       else line.replace("_NONE)", "_RELU)"))
            changes.append((i, flipped))
        if "_transpose(" in line:
            changes += [(i, exchange(line, 3, 4)), (i, exchange(line, 5, 6))]
        elif "vconv_" in line:
            changes += [(i, exchange(line, 3, 4)),
                        (i, line.replace("f32r(", "f32z("))]
            # One repeat alone has no distances.
            if re.search(r"\(\w+, \w+, 1, ", line) is None:
                changes.append((i, exchange(line, 5, 6)))
        elif "load_cbuf_to" in line:
            flipped = (line.replace("true)", "false)") if "true)" in line
                       else line.replace("false)", "true)"))
            changes.append((i, flipped))
            changes.append((i, exchange(line, 3, 4)))
        elif re.match(r"\s*mad\(", line):
            changes += [(i, exchange(line, 3, 4)), (i, exchange(line, 4, 5)),
                        (i, exchange(line, 3, 5))]
        elif "create_cbuf_matrix(" in line:
            changes += [(i, ""), (i, line.replace("half(0)", "half(1)"))]
        elif "copy_matrix_cc_to_cbuf(" in line or "to_gm_nz(" in line:
            changes += [(i, exchange(line, 2, 3)), (i, exchange(line, 4, 5))]
        elif "nd2nz" in line:
            changes.append((i, exchange(line, 2, 3)))
        elif "copy_gm_to_" in line or "copy_ubuf_to_gm(" in line:
            # One burst alone has no distances.
            if re.search(r"\(\w+, \w+, 1, ", line) is None:
                changes.append((i, exchange(line, 4, 5)))
        elif "vnchwconv(" in line:
            changes += [(i, exchange(line, 3, 4)), (i, exchange(line, 5, 6))]
        elif "copy_ubuf_to_cbuf(" in line:
            # One burst as many, which do not follow each other any more.
            changes.append((i, exchange(line, 2, 3).replace(", 0);", ", 1);")))
    while True:
        place, line = generator.choice(changes)
        if line != lines[place]:
            break
    return lines[:place] + [line] + lines[place + 1:], [], (
        f"{lines[place].strip()} as {line.strip()}")


class Mutation:
    """A broken kernel of one of the chains."""

    def __init__(self, number: int, index: int, whole: Kernels,
                 generator: random.Random):
        self.index = index
        self.function = f"broken{number}"
        mutate = generator.choice([remove_order, remove_order, shrink_memory,
                                   swap_layout, swap_layout])
        lines, self.flags, self.what = mutate(whole.text.splitlines(),
                                              generator)
        self.text = "\n".join(lines).replace("main_kernel",
                                             self.function + "_kernel") + "\n"


def is_wrong(kernels: Kernels, chain) -> bool:
    values = chain.make_arguments(1)
    try:
        result, reports = kernels.run(values, cores=CORES)
    except Failure:
        return True
    expected = chain.reference(values)
    if getattr(chain, "exact", False):
        return not np.array_equal(result, expected) or bool(kernels.compare(reports))
    error = np.abs(result - expected).max() / np.abs(expected).max()
    return not error <= TOLERANCE or bool(kernels.compare(reports))


def find_unnoticed(mutations: list, whole: list, where: pathlib.Path) -> list:
    """Compiles `mutations` together if that goes, else one by one."""
    text = "".join(mutation.text for mutation in mutations)
    name = mutations[0].function + f"to{len(mutations)}"
    try:
        together = whole[mutations[0].index].rebuild(text, where, name, mutations[0].flags)
    except Failure:
        if len(mutations) == 1:
            return []
        return [left for mutation in mutations
                for left in find_unnoticed([mutation], whole, where)]
    unnoticed = []
    for mutation in mutations:
        broken = copy.copy(together)
        broken.kernels = [kernel for kernel in together.kernels
                          if kernel[0].startswith(mutation.function + "_")]
        broken.plans = whole[mutation.index].plans
        if not is_wrong(broken, CHAINS[mutation.index]):
            unnoticed.append(mutation)
    return unnoticed


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("opt", "translate", "runtime", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=PROGRAMS)
    arguments = parser.parse_args()
    if arguments.only:
        CHAINS[:], target = PROGRAMS[arguments.only]
        TARGETS[:] = [target] * len(CHAINS)
    tools = {"opt": arguments.opt, "translate": arguments.translate,
             "runtime": arguments.runtime}
    work = pathlib.Path(arguments.work)
    whole = [Kernels(chain.program(), work / chain.name(), tools,
                     target=target, compiler=arguments.compiler)
             for chain, target in zip(CHAINS, TARGETS)]
    for kernels, chain in zip(whole, CHAINS):
        if is_wrong(kernels, chain):
            print(f"{chain.name()} is wrong before it is broken")
            return 1
    generator = random.Random(arguments.seed)
    mutations = []
    for number in range(arguments.count):
        index = generator.randrange(len(CHAINS))
        mutations.append(Mutation(number, index, whole[index], generator))
    groups = [[mutation] for mutation in mutations if mutation.flags]
    for target in dict.fromkeys(TARGETS):
        others = [mutation for mutation in mutations if not mutation.flags and
                  TARGETS[mutation.index] == target]
        groups += [others[first:first + TOGETHER]
                   for first in range(0, len(others), TOGETHER)]
    missed = [mutation for group in groups
              for mutation in find_unnoticed(group, whole, work)]
    for mutation in missed:
        print(f"missed: {CHAINS[mutation.index].name()}: {mutation.what}")
    print(f"{arguments.count - len(missed)} of {arguments.count} noticed")
    return 1 if len(missed) > arguments.count // 100 else 0


sys.exit(main())
