"""Runs chains and attention on the functional model of an Ascend core and checks

- the result against f64;
- with --nest, that the loops of products written out do exactly the same;
- the bytes on every route, and the room taken in every memory, against what was
  predicted, exactly.

usage: check.py --opt=PATH --translate=PATH --runtime=DIR --work=DIR
                [--target=NAME] [--compiler=CXX] [--random=N] [--kind=KIND]
                [--seed=N] [--cases=NAME] [--nest]
"""

import argparse
import dataclasses
import pathlib
import random
import sys

sys.dont_write_bytecode = True

import numpy as np

from attention import Attention
from convolutions import Convolutions, Layer
from integers import ByteChain, ByteStage
from kernels import Failure, Kernels
from programs import Chain, Gate, Stage

# Sums in f32 of products of f16, rounded to f16 once per stage.
TOLERANCE = 2e-3
# Programs in one module: compiling the functional model takes longer than
# compiling a kernel.
TOGETHER = 25

# Cases that take longer to run than to optimise.
LARGE = ("paper", "bytes-paper", "mlp", "paper-convolutions", "paper-convolutions-plain")

SHAPES = pathlib.Path(__file__).resolve().parents[3] / "benchmarks" / "shapes"


def paper_chains() -> list:
    """G1 to G12, with the paper's batch."""
    lines = [line.split(",") for line in
             (SHAPES / "gemm_chains.csv").read_text().splitlines()
             if line.startswith("G")]
    return [Chain(batch, m, k, [Stage(l), Stage(n)])
            for batch, m, n, k, l in ([int(size) for size in line[1:6]]
                                      for line in lines)]


def paper_convolutions(relu: bool = True, share: int = 1) -> list:
    """C1 to C8, of one image whose sides are divided by `share`."""
    lines = [line.split(",") for line in
             (SHAPES / "conv_chains.csv").read_text().splitlines()
             if line.startswith("C")]
    return [Convolutions(1, h // share, w // share, c,
                         [Layer(f1, k1, s1, relu, k1 // 2),
                          Layer(f2, k2, s2, relu, k2 // 2)])
            for c, h, w, f1, f2, s1, s2, k1, k2 in ([int(size) for size in line[1:10]]
                                                    for line in lines)]


CASES = {
    "small": [
        Chain(1, 64, 48, [Stage(80), Stage(32)]),
        Chain(1, 77, 33, [Stage(50), Stage(32)]),
        Chain(2, 70, 40, [Stage(90, transposed=True), Stage(48)]),
        Chain(1, 64, 64, [Stage(64, bias=True, activation="relu"),
                          Stage(64, bias=True, residual=True)]),
        Chain(3, 80, 48, [Stage(100, scaled=True, activation="relu"),
                          Stage(64, scaled=True, bias=True)]),
        Chain(1, 203, 72, [Stage(64, scaled=True, residual=True),
                           Stage(48, True, scaled=True)]),
        Chain(1, 100, 60, [Stage(130, bias=True, activation="gelu"),
                           Stage(80)], transposed=True),
        Chain(1, 33, 20, [Stage(40, activation="tanh"), Stage(30), Stage(48)]),
        Chain(1, 20, 20, [Stage(32, activation="small_tanh")]),
        Chain(1, 20, 20, [Stage(32, activation="small_erf")]),
        Chain(1, 48, 100, [Stage(16, residual=True)]),
        # One row, and a tile of one row at an edge.
        Chain(3, 1, 40, [Stage(33), Stage(32)]),
        Chain(1, 1, 40, [Stage(33), Stage(32)]),
        Chain(1, 1, 512, [Stage(2048, bias=True, activation="gelu"),
                          Stage(512, residual=True)], transposed=True),
        Chain(1, 17, 40, [Stage(32), Stage(16)]),
        # The reduction goes around the columns: sums are come back to.
        Chain(1, 64, 512, [Stage(2048), Stage(512)]),
    ],
    # Results in f32: sums alone, come back to, and with what finishes them.
    "wide": [
        Chain(1, 64, 48, [Stage(80)], wide=True),
        Chain(2, 70, 40, [Stage(90), Stage(48)], wide=True),
        Chain(1, 64, 64, [Stage(64, bias=True, activation="relu"),
                          Stage(64, bias=True, residual=True)], wide=True),
        Chain(1, 33, 20, [Stage(80, activation="relu")], wide=True),
        Chain(1, 17, 300, [Stage(32, activation="gelu")], wide=True),
        Chain(1, 64, 512, [Stage(2048), Stage(512)], wide=True),
        Chain(1, 1, 300, [Stage(48, residual=True)], wide=True),
    ],
    "wide-plain": [
        Chain(1, 64, 48, [Stage(80)], wide=True),
        Chain(2, 70, 40, [Stage(90), Stage(27)], wide=True),
        Chain(1, 33, 512, [Stage(2048), Stage(100)], wide=True),
        Chain(1, 1, 512, [Stage(2048), Stage(100)], wide=True),
    ],
    # Perceptrons with a gate: sums wait for those that they let pass.
    # One row; tasks that follow each other on a core.
    "gate": [Gate(64, 64, 128, 64), Gate(50, 40, 96, 48), Gate(1, 64, 128, 64),
             Gate(1200, 40, 96, 48)],
    # Without anything element by element; rows of results that end within a
    # block.
    "plain": [
        Chain(1, 64, 48, [Stage(80), Stage(32)]),
        Chain(1, 77, 33, [Stage(50), Stage(19)]),
        Chain(2, 70, 40, [Stage(90, transposed=True), Stage(24)]),
        Chain(1, 33, 20, [Stage(40), Stage(30), Stage(50)]),
        Chain(1, 48, 100, [Stage(17)], transposed=True),
        Chain(3, 1, 40, [Stage(33), Stage(17)]),
        Chain(1, 1, 40, [Stage(33), Stage(17)]),
        Chain(1, 33, 512, [Stage(2048), Stage(100)]),
    ],
    # Windows of the first image, strides, channels that are no whole blocks, a tile
    # of one pixel at an edge.
    "convolutions": [
        Convolutions(1, 8, 14, 64, [Layer(96, relu=True), Layer(32)]),
        Convolutions(1, 7, 20, 32, [Layer(48, 3, relu=True)]),
        Convolutions(1, 9, 21, 16, [Layer(32, 3, relu=True), Layer(48)]),
        Convolutions(1, 15, 35, 32, [Layer(32, 3, 2, relu=True), Layer(16)]),
        Convolutions(2, 7, 21, 20, [Layer(32, 5, 2), Layer(32, relu=True)]),
        Convolutions(1, 9, 67, 16, [Layer(64, 3, 4, relu=True), Layer(16)]),
        Convolutions(1, 9, 31, 48, [Layer(32, 1, 2, relu=True), Layer(16)]),
        Convolutions(1, 4, 19, 24, [Layer(32, 3), Layer(16)]),
        # Windows over what another layer makes: with one tap or more before them,
        # borders and strides of either layer.
        Convolutions(1, 12, 20, 64, [Layer(64, relu=True), Layer(64, 3)]),
        Convolutions(1, 12, 20, 64, [Layer(64, 3, relu=True, padding=1),
                                     Layer(64, 3, relu=True, padding=1)]),
        Convolutions(2, 13, 35, 32, [Layer(48, 3), Layer(32, 3, 2, padding=1)]),
        Convolutions(1, 21, 35, 20, [Layer(48, 3, 2, relu=True, padding=1),
                                     Layer(32, 5, 2, relu=True, padding=2)]),
        Convolutions(1, 17, 37, 16, [Layer(64, relu=True), Layer(48, 1, 2)]),
        # Borders of zeros: around the image, with strides, wider than a window
        # needs, and around what another layer makes.
        Convolutions(1, 9, 21, 32,
                     [Layer(32, 3, relu=True, padding=1), Layer(16)]),
        Convolutions(2, 14, 35, 20,
                     [Layer(32, 5, 2, relu=True, padding=2), Layer(32)]),
        Convolutions(1, 17, 5, 16, [Layer(48, 3, 4, padding=2)]),
        Convolutions(1, 12, 20, 64, [Layer(64, relu=True),
                                     Layer(64, 3, relu=True, padding=1)]),
    ],
    "convolutions-plain": [
        Convolutions(1, 8, 14, 64, [Layer(96), Layer(30)]),
        Convolutions(1, 15, 35, 32, [Layer(32, 3, 2), Layer(16)]),
        Convolutions(2, 7, 21, 20, [Layer(33, 5, 2), Layer(17)]),
        Convolutions(1, 9, 67, 16, [Layer(64, 3, 4), Layer(16)]),
        Convolutions(2, 14, 35, 20, [Layer(33, 5, 2, padding=2), Layer(17)]),
        Convolutions(1, 12, 20, 64, [Layer(64), Layer(50, 3, padding=1)]),
        Convolutions(2, 13, 35, 32, [Layer(50, 3), Layer(33, 3, 2, padding=1)]),
        Convolutions(1, 21, 35, 20, [Layer(48, 3, 2, padding=1),
                                     Layer(20, 5, 2, padding=2)]),
    ],
    "paper": paper_chains(),
    # As the paper has them on an NPU.
    "paper-single": [dataclasses.replace(chain, batch=1)
                     for chain in paper_chains()],
    "paper-convolutions": paper_convolutions(),
    "paper-convolutions-plain": paper_convolutions(relu=False),
    "paper-convolutions-small": paper_convolutions(share=7),
    # Perceptrons of transformers.
    "mlp": [
        Chain(1, m, k, [Stage(l, bias=True, activation="gelu"),
                        Stage(n, bias=True)])
        for m, k, l, n in ((128, 768, 3072, 768), (512, 512, 2048, 512),
                           (32, 768, 3072, 768))
    ],
    # One row of blocks, several with corrections, edges everywhere; a bias,
    # groups of heads, one query, scores that overflow without a maximum.
    "attention": [
        Attention(2, 64, 96, 32),
        Attention(2, 256, 1024, 64),
        Attention(1, 77, 333, 80),
        Attention(2, 50, 700, 128, scale=False, transposed=True),
        Attention(4, 40, 100, 24, 48, bias=True, group=2),
        Attention(8, 1, 256, 64, group=4),
        # Heads of a group are rows, with those of another query between them.
        Attention(6, 2, 189, 25, 48, bias=True, group=3, sharpness=300),
        Attention(2, 64, 512, 64, sharpness=300),
        # Tiles that a mask leaves out, and rows without a score in a tile.
        Attention(2, 256, 512, 64, causal=True),
        Attention(1, 70, 300, 40, 48, causal=True),
        Attention(2, 300, 300, 40, 48, causal=True, window=37),
        Attention(3, 60, 70, 64, bias=True, causal=True, window=20),
        Attention(4, 100, 77, 40, 48, bias=True, group=2, causal=True),
        # One head and one task: the whole function is the kernel.
        Attention(1, 16, 569, 22, 16, bias=True),
        Attention(1, 28, 304, 80, 32, causal=True, window=7),
        Attention(1, 1, 500, 64, bias=True),
    ],
    # For operators one by one, with a softmax from memory to memory between
    # products; the last divides by what that leaves of each row.
    "separate": [
        Attention(2, 64, 64, 48),
        Attention(2, 128, 128, 64, causal=True),
        Attention(3, 64, 96, 64, bias=True),
        Attention(4, 112, 80, 32, group=2, mask="full"),
    ],
    # Keys that cores share: one query or a few, of one head or some, with all that
    # may be done to scores.
    "decoding": [
        Attention(8, 1, 4096, 64),
        Attention(1, 1, 2000, 64, bias=True),
        Attention(2, 16, 1500, 80, 48),
        Attention(8, 1, 1024, 64, group=4, mask="keys"),
        Attention(1, 40, 1777, 32, 64, causal=True),
        Attention(1, 16, 1000, 64, mask="full", sharpness=300),
    ],
    # Masks that are tensors: truth values, or numbers to be added; for every
    # score, for all heads, for each key.
    "masks": [
        Attention(2, 256, 1024, 64, mask="full"),
        Attention(2, 77, 333, 64, bias=True, mask="full"),
        Attention(4, 40, 113, 24, 48, group=2, mask="shared"),
        Attention(4, 40, 100, 24, 48, group=2, mask="keys"),
        Attention(1, 16, 569, 22, 16, scale=False, mask="full"),
        Attention(2, 300, 300, 40, 48, causal=True, window=37, mask="shared"),
        Attention(2, 100, 100, 40, 48, causal=True, mask="keys"),
        Attention(1, 1, 500, 64, mask="keys"),
        Attention(2, 64, 96, 32, mask="keys", of="f16"),
        Attention(4, 40, 112, 24, 48, group=2, mask="shared", of="f32"),
    ],
}


# Products of bytes whose sums are the result: tiles of any size, factors either way
# round, batches, one row, a reduction that goes around the columns.
CASES["bytes-plain"] = [
    ByteChain(1, 64, 128, [ByteStage(64, transposed=True)], "i32"),
    ByteChain(1, 64, 128, [ByteStage(64)], "i32"),
    ByteChain(1, 37, 72, [ByteStage(50, transposed=True)], "i32"),
    ByteChain(1, 20, 45, [ByteStage(25)], "i32"),
    ByteChain(1, 40, 96, [ByteStage(24)], "i32", transposed=True),
    ByteChain(3, 70, 33, [ByteStage(17, transposed=True)], "i32", transposed=True),
    ByteChain(2, 50, 31, [ByteStage(47)], "i32", transposed=True),
    ByteChain(1, 1, 100, [ByteStage(65)], "i32"),
    ByteChain(1, 17, 2500, [ByteStage(700, transposed=True)], "i32"),
    ByteChain(1, 130, 1500, [ByteStage(1100)], "i32"),
]


# Sums of bytes that are scaled, for results of all types, and rounded to bytes for a
# second product or a third: on chip, and by way of the vector cores.
CASES["bytes"] = [
    ByteChain(1, 64, 128, [ByteStage(64, True)]),
    ByteChain(1, 37, 72, [ByteStage(50, True, bias=True)], "f32"),
    ByteChain(1, 20, 45, [ByteStage(25, scale="number", relu=True)], "f32"),
    ByteChain(1, 40, 96, [ByteStage(24)], "i8", transposed=True),
    ByteChain(2, 33, 80, [ByteStage(75, True, bias=True, relu=True)], "i8"),
    ByteChain(1, 64, 64, [ByteStage(96, True), ByteStage(32, True)]),
    ByteChain(1, 64, 64, [ByteStage(96), ByteStage(32)], "i32"),
    ByteChain(1, 37, 40, [ByteStage(50, relu=True), ByteStage(35, True)], "f32"),
    ByteChain(3, 100, 33, [ByteStage(70, True, "number", bias=True, relu=True),
                           ByteStage(45, bias=True)], "i8", transposed=True),
    ByteChain(1, 1, 300, [ByteStage(80, True), ByteStage(17)], "f32"),
    ByteChain(1, 33, 20, [ByteStage(40), ByteStage(30, True, cut=True), ByteStage(48)]),
    ByteChain(1, 130, 500, [ByteStage(1300, True, relu=True), ByteStage(200, True)]),
    ByteChain(1, 64, 512, [ByteStage(2048), ByteStage(512)], "i8"),
]


# The paper's chains, of bytes, with weights the way round that needs no transpose and
# the other.
CASES["bytes-paper"] = [
    ByteChain(1, chain.rows, chain.depth, [ByteStage(first.columns, at % 2 == 0),
                                           ByteStage(second.columns, at % 3 == 0)])
    for at, chain in enumerate(paper_chains()) for first, second in [chain.stages]]


def in_blocks(size: int) -> int:
    """Columns of a result: memory is written in whole blocks."""
    return -(-size // 16) * 16


def make_random(generator: random.Random) -> Chain:
    def size():
        return generator.choice([generator.randint(1, 40),
                                 generator.randint(16, 200),
                                 16 * generator.randint(1, 12)])

    def stage():
        return Stage(max(2, size()), generator.random() < 0.3,
                     generator.random() < 0.3, generator.random() < 0.2,
                     generator.choice(["none", "none", "relu", "tanh"]))

    count = generator.choice([1, 2, 2, 2, 3])
    batch, rows, depth = generator.choice([1, 1, 2, 3]), size(), max(2, size())
    stages = [stage() for _ in range(count)]
    stages[-1].columns = in_blocks(stages[-1].columns)
    return Chain(batch, rows, depth, stages, generator.random() < 0.2,
                 wide=generator.random() < 0.2)


def make_plain(generator: random.Random) -> Chain:
    """Products alone, of any sizes."""
    chain = make_random(generator)
    stages = [Stage(max(2, stage.columns - generator.randint(0, 15)),
                    transposed=stage.transposed) for stage in chain.stages]
    return dataclasses.replace(chain, stages=stages)


def make_random_attention(generator: random.Random) -> Attention:
    def size(most):
        return generator.choice([generator.randint(2, 40),
                                 generator.randint(16, most),
                                 16 * generator.randint(1, most // 16)])

    group = generator.choice([1, 1, 2, 3])
    attention = Attention(group * generator.randint(1, 3),
                          size(150), size(700), size(128),
                          in_blocks(size(128)),
                          generator.random() < 0.7, generator.random() < 0.3,
                          group, causal=generator.random() < 0.3,
                          transposed=generator.random() < 0.3,
                          sharpness=generator.choice([1, 1, 30, 300]))
    if attention.causal and attention.rows <= attention.columns:
        attention.window = generator.choice([0, 1, generator.randint(2, 100)])
    if generator.random() < 0.4:
        # With a window a key that is left out may be the only one.
        kinds = ["full", "shared"] + ["keys"] * (not attention.window)
        attention.mask = generator.choice(kinds)
        attention.of = generator.choice(["i1", "i1", "f16", "f32"])
    return attention


def make_finite_attention(generator: random.Random) -> Attention:
    """For cores that have no infinities, of which masks of numbers are made."""
    attention = make_random_attention(generator)
    attention.of = "i1"
    return attention


def make_convolutions(generator: random.Random) -> Convolutions:
    """One or two layers, with and without padding."""
    relu = generator.random() < 0.5

    def layer(strides):
        taps = generator.choice([1, 3, 3, 5])
        padding = generator.choice([0, 0, taps // 2, taps // 2, generator.randint(0, 2)])
        return Layer(16 * generator.randint(1, 8), taps, generator.choice(strides),
                     relu, padding if taps > 1 else 0)

    layers = [layer([1, 1, 2, 3, 4])]
    kind = generator.random()
    if kind < 0.3:
        layers.append(Layer(16 * generator.randint(1, 8), relu=generator.random() < 0.3))
    elif kind < 0.8:
        layers.append(layer([1, 1, 2]))

    def side():
        """Of an image: each layer's windows move, but may start in the border."""
        size = generator.randint(2, 40)
        for own in reversed(layers):
            size = max(1, (size - 1) * own.stride + own.taps - 2 * own.padding)
        return min(size, 150)

    return Convolutions(generator.choice([1, 1, 2]), side(), side(),
                        generator.choice([3, 8, 16, 20, 64]), layers)


def make_plain_convolutions(generator: random.Random) -> Convolutions:
    """Products alone, of any number of filters."""
    case = make_convolutions(generator)
    for layer in case.layers:
        layer.relu = False
        layer.channels = max(2, layer.channels - generator.randint(0, 15))
    return case


def make_bytes_plain(generator: random.Random) -> ByteChain:
    """One product, of which the sums are the result."""
    def size():
        return generator.choice([generator.randint(2, 40), generator.randint(16, 200),
                                 32 * generator.randint(1, 20),
                                 generator.randint(200, 1300)])

    return ByteChain(generator.choice([1, 1, 2, 3]), generator.choice([1, size()]),
                     size(), [ByteStage(size(), generator.random() < 0.5)], "i32",
                     generator.random() < 0.4)


def make_bytes(generator: random.Random) -> ByteChain:
    """One to three products, with bytes between them."""
    def size():
        return generator.choice([generator.randint(2, 40), generator.randint(16, 200),
                                 32 * generator.randint(1, 8)])

    def stage():
        return ByteStage(size(), generator.random() < 0.5,
                         generator.choice(["columns", "columns", "number"]),
                         generator.random() < 0.4, generator.random() < 0.3,
                         generator.random() < 0.2)

    count = generator.choice([1, 2, 2, 3])
    # Three products of one row are one kernel of two plans.
    rows = [size(), size()] + [1] * (count < 3)
    return ByteChain(generator.choice([1, 1, 2, 3]), generator.choice(rows), size(), [stage() for _ in range(count)],
                     generator.choice(["i32", "f32", "f16", "i8"]),
                     generator.random() < 0.3)


RANDOM = {"chain": make_random, "bytes": make_bytes, "bytes-plain": make_bytes_plain, "plain": make_plain,
          "convolutions": make_convolutions,
          "convolutions-plain": make_plain_convolutions,
          "attention": make_random_attention,
          "finite-attention": make_finite_attention}


def judge(chain, kernels: Kernels, seed: int, nest=None) -> str:
    """What is wrong; nothing if all is well."""
    if not kernels.kernels:
        return "not lowered"
    try:
        values = chain.make_arguments(seed)
        result, reports = kernels.run(values)
        if nest:
            again, counted = nest.run(values)
            if "MadNest" not in nest.text:
                return "no loops were written out"
            if not np.array_equal(result, again) or reports != counted:
                return "the loops written out do something else"
    except Failure as failure:
        return str(failure)
    expected = chain.reference(values)
    if getattr(chain, "exact", False):
        wrong = np.count_nonzero(result != expected)
        if wrong:
            return f"{wrong} of {expected.size} are others"
        return "; ".join(kernels.compare(reports))
    error = np.abs(result - expected).max() / np.abs(expected).max()
    if not error <= TOLERANCE:
        return f"off by {error}"
    return "; ".join(kernels.compare(reports))


def check(chains: list, arguments, where: str) -> int:
    """Compiles the programs of `chains` together; how many are wrong."""
    tools = {"opt": arguments.opt, "translate": arguments.translate,
             "runtime": arguments.runtime}
    functions = [f"chain{number}" for number in range(len(chains))]
    text = "".join(chain.program().replace("@main(", f"@{function}(")
                   for chain, function in zip(chains, functions))

    def build(emit: str) -> list:
        return Kernels(text, pathlib.Path(arguments.work) / where / emit, tools,
                       target=arguments.target, fuse=arguments.fuse,
                       compiler=arguments.compiler,
                       flags=["-O2"] if arguments.cases in LARGE else [],
                       emit=emit).split(functions)

    try:
        kernels = build("call")
        nests = build("nest") if arguments.nest else [None] * len(chains)
    except Failure as failure:
        if len(chains) == 1:
            print(f"{chains[0].name()}: {failure}")
            return 1
        return sum(check([chain], arguments, f"{where}-{number}")
                   for number, chain in enumerate(chains))
    failed = 0
    for chain, own, nest in zip(chains, kernels, nests):
        if wrong := judge(chain, own, arguments.seed, nest):
            failed += 1
            print(f"{chain.name()}: {wrong}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("opt", "translate", "runtime", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--target", default="ascend310p")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--fuse", default="always")
    parser.add_argument("--nest", action="store_true",
                        help="also with the loops of products written out")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--kind", choices=RANDOM, default="chain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", choices=CASES)
    arguments = parser.parse_args()
    chains = list(CASES.get(arguments.cases, []))
    generator = random.Random(arguments.seed)
    chains += [RANDOM[arguments.kind](generator)
               for _ in range(arguments.random)]
    failed = 0
    for first in range(0, len(chains), TOGETHER):
        failed += check(chains[first:first + TOGETHER], arguments,
                        f"from{first}")
    print(f"{len(chains) - failed} passed, {failed} failed")
    return 1 if failed or not chains else 0


sys.exit(main())
