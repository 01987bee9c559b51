"""Random programs through the interpreter of PTX.

    random_kernels.py TARGET COUNT SEED

Chains, attention, convolutions and products of bytes as the planner has them, of sizes
that divide nothing; what is checked of each is what the lists of the other files are
checked for. Prints how many were as they should be, and the others.
"""

import contextlib
import io
import random
import sys

import convolutions
import integers
import kernels
from programs import Attention, Chain

# Results of a few elements may all be small.
SLACK = 2


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def size(self, most):
        """Often a multiple of what instructions or copies take."""
        unit = self.random.choice((1, 1, 2, 8, 16))
        return unit * self.random.randint(1, max(1, most // unit))

    def chance(self, share):
        return self.random.random() < share

    def chain(self):
        kind = self.random.choice(("f16", "bf16", "f32"))
        transposed = "".join(name for name in "xwv" if self.chance(0.3))
        activation = self.random.choice(("relu", "none", "tanh", "gelu"))
        batch = self.random.choice((0, 0, 2))
        m, k, l, n = (self.size(most) for most in (70, 80, 90, 60))
        return Chain(kind, batch, m, k, l, n, activation, transposed=transposed)

    def attention(self):
        kind = self.random.choice(("f16", "bf16", "f32"))
        mask = self.random.choice(("", "", "causal", "added", "window"))
        heads, group = self.random.randint(1, 2), self.random.choice((0, 0, 2))
        return Attention(
            kind, heads, group, self.size(48), self.size(90), self.size(80), mask, None
        )

    def convolution(self):
        kind = self.random.choice(("f16", "bf16", "f32"))
        layout = self.random.choice(("nhwc", "nchw"))
        sides = [self.random.choice((1, 3)) for _ in range(2)]
        layers = tuple(
            (self.size(40), side, self.random.choice((1, 1, 2)) if not place else 1)
            for place, side in enumerate(sides)
        )
        ending = self.random.choice(("", "relu", "residual"))
        c, h, w = 1 + self.size(32), self.random.randint(3, 6), 1 + self.size(20)
        return convolutions.Convolution(kind, layout, c, h, w, layers, ending)

    def bytes(self):
        made = self.random.choice(("f16", "f32", "i32", "i8"))
        transposed = "".join(name for name in "xwv" if self.chance(0.6))
        m, k, l = (self.size(most) for most in (70, 100, 70))
        n = self.random.choice((0, self.size(50)))
        unsigned = self.random.choice(("", "", "x", "w"))
        return integers.Bytes(m, k, l, n, made, transposed, unsigned)


def run_planned(case, target):
    """Whether one launch after the other makes what it should, whatever the order of
    blocks and warps; of an attention with sharp scores, too."""
    numbers = kernels.Numbers(case.type)
    data = (
        [kernels.chain_data(case, numbers)]
        if isinstance(case, Chain)
        else [kernels.attention_data(case, numbers, sharp) for sharp in (False, True)]
    )
    made = kernels.make(case, target)
    return [problem for one in data for problem in find_problems(case, made, *one)]


def find_problems(case, made, inputs, expected, terms):
    """What is wrong with the kernels `made`, for one set of arguments."""
    numbers = kernels.Numbers(case.type)
    np, emulator = numbers.np, numbers.ptx
    problems, bits = [], set()
    for late, reverse in emulator.ORDERS:
        if problems:
            break
        arrays = {("argument", place): array for place, array in enumerate(inputs)}
        for text, manifest, _ in made:
            for argument in manifest["arguments"]:
                key = kernels.key_of(argument)
                if key in arrays:
                    continue
                if "buffer" in argument and argument.get("zeroed"):
                    arrays[key] = np.zeros(argument["shape"], np.int32)
                elif argument["type"] == "f32":
                    arrays[key] = np.full(argument["shape"], np.nan, np.float32)
                else:
                    arrays[key] = numbers.narrow(np.full(argument["shape"], np.nan))
            blocks = np.arange(manifest["grid"][0])
            launch = emulator.Launch(
                emulator.Kernel(text),
                blocks if reverse else numbers.random.permutation(blocks),
                manifest["block"][0],
                manifest["shared"],
                [
                    arrays[kernels.key_of(argument)]
                    for argument in manifest["arguments"]
                ],
                late=late,
                reverse=reverse,
            )
            if launch.conflicts or launch.cut:
                problems.append(f"{launch.conflicts} conflicts, {launch.cut} cut")
        result = arrays["argument", len(inputs)]
        bits.add(result.tobytes())
        allowed = SLACK * kernels.TOLERANCE[case.type] * len(made)
        problems += kernels.find_errors(numbers, result, expected, terms, allowed)[1]
    if len(bits) > 1:
        problems.append("bits depend on the order")
    return problems


CHECKS = {
    "chain": run_planned,
    "attention": run_planned,
    "convolution": convolutions.run_convolution,
    "bytes": integers.run_case,
}


def main():
    target, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    generator, wrong, refused = Generator(seed), 0, 0
    for number in range(count):
        kind = list(CHECKS)[number % len(CHECKS)]
        case = getattr(generator, kind)()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                problems = CHECKS[kind](case, target)
        except SystemExit as error:
            if "no kernel for" not in str(error):
                raise
            refused += 1
            problems = []
            print("refused:", case, flush=True)
        except Exception as error:
            problems = [f"{type(error).__name__}: {error}"]
        if problems:
            wrong += 1
            print(kind, case, *problems, flush=True)
    print(f"{count - wrong - refused} passed, {wrong} failed, {refused} refused")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
