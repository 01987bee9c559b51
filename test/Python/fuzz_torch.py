"""Random torch programs, compiled and compared with eager torch.

    python fuzz_torch.py --count 1000 --seed 0

Each program is a function of a few tensors that applies random operators to random
earlier values. A wrong result or a crash is a failure, and its source is printed; an
operator that is left to torch is counted with its reason.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

import chimera.backend

TOLERANCE = 1e-4
LARGEST = 1e3
MOST_ELEMENTS = 1 << 15


@dataclass
class Value:
    """A value of the program so far.

    `exact` says that any right implementation computes the very same bits, so that
    operators with steps, such as comparisons, may be applied to it.
    """

    name: str
    tensor: torch.Tensor
    exact: bool

    @property
    def shape(self) -> list[int]:
        return list(self.tensor.shape)

    @property
    def rank(self) -> int:
        return self.tensor.dim()

    def axis(self, dice: random.Random) -> int:
        return dice.randrange(self.rank)


@dataclass
class Program:
    """A random program: its inputs, its source, and its values in eager torch."""

    dice: random.Random
    inputs: list[torch.Tensor] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def add_input(self, tensor: torch.Tensor) -> Value:
        value = Value(f"a{len(self.inputs)}", tensor, exact=True)
        self.inputs.append(tensor)
        self.values.append(value)
        return value

    def weight(self, *shape: int) -> str:
        """A new input of this shape, of small numbers; returns its name."""
        tensor = torch.randn(*shape) * 0.3
        self.inputs.append(tensor)
        return f"a{len(self.inputs) - 1}"

    def indices(self, count: int, below: int) -> str:
        """A new input with distinct indices below a number; returns its name."""
        self.inputs.append(torch.randperm(below)[: min(count, below)])
        return f"a{len(self.inputs) - 1}"

    def names(self) -> dict[str, torch.Tensor]:
        named = {f"a{i}": tensor for i, tensor in enumerate(self.inputs)}
        return named | {value.name: value.tensor for value in self.values}

    def apply(self, text: str, exact: bool) -> bool:
        """Append a line if its result is a tensor worth having."""
        scope = {"torch": torch, "F": F, **self.names()}
        result = eval(text, scope)
        if result.numel() > MOST_ELEMENTS or result.numel() == 0:
            return False
        if result.is_floating_point():
            finite = result.isfinite().all()
            if not finite or result.abs().max() > LARGEST:
                return False
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values.append(Value(name, result, exact))
        return True

    def source(self) -> str:
        arguments = ", ".join(f"a{i}" for i in range(len(self.inputs)))
        last = [value.name for value in self.values if value.name.startswith("v")]
        body = "\n    ".join([*self.lines, f"return ({', '.join(last[-3:])},)"])
        return f"def program({arguments}):\n    {body}\n"


Template = Callable[[Program, Value], "tuple[str, bool] | None"]

SMOOTH = (
    "torch.tanh({x})|torch.sigmoid({x})|F.gelu({x})|F.gelu({x}, approximate='tanh')"
    "|F.silu({x})|torch.sin({x})|torch.cos({x})|torch.erf({x})|F.softplus({x})"
    "|torch.exp(-{x}.abs())|torch.log1p({x}.abs())|torch.sqrt({x}.abs() + 1)"
    "|torch.rsqrt({x}.abs() + 1)|F.elu({x})|F.mish({x})|torch.atan({x})|{x} * {x}"
    "|torch.reciprocal({x}.abs() + 1)|{x}.pow(3) * 0.1|F.hardswish({x})|torch.erfc({x})"
    "|torch.lgamma({x}.abs() + 1)|torch.expm1({x}.clamp(-3, 3))|F.logsigmoid({x})"
    "|torch.sinh({x}.clamp(-2, 2))|torch.logaddexp({x}, {x} * 0.5)"
).split("|")
EXACT = (
    "F.relu({x})|-{x}|{x}.abs()|{x}.clamp(-0.5, 0.7)|F.hardtanh({x})|{x} + 1"
    "|F.leaky_relu({x}, 0.5)|{x} * 2|{x}.clone()|{x}.detach()|{x}.contiguous()"
).split("|")
STEPS = (
    "{x}.floor()|{x}.round()|{x}.ceil()|{x}.trunc()|{x}.sign()"
    "|({x} > 0).float()|({x} > 0.25) & ({x} < 1)|torch.isfinite({x}).float()"
    "|({x} * 4).to(torch.int64)|torch.where({x} > 0, {x}, 0.5)|{x}.to(torch.int32)"
    "|{x}.masked_fill({x} > 0.5, -1.0)|{x}.bool()|torch.isnan({x})"
).split("|")
WHOLE = (
    "{x} // 3|{x} % 3|{x} * 2 + 1|{x}.float()|{x} & 3|{x} ^ 1|({x} == 0)|-{x}"
    "|{x}.clamp(0, 3)|F.one_hot({x}.long() % 4, 4)|{x}.to(torch.int64)|{x}.abs()"
).split("|")
REDUCTIONS = (
    "{x}.sum({d})|{x}.mean({d})|{x}.mean({d}, keepdim=True)|{x}.softmax({d})"
    "|{x}.log_softmax({d})|{x}.var({d}, correction=0)|{x}.std({d}, correction=0)"
    "|torch.logsumexp({x}, {d})|torch.linalg.vector_norm({x}, dim={d})|{x}.cumsum({d})"
    "|F.normalize({x}, dim={d})|{x}.prod({d}) * 0.1|{x}.sum()|{x}.mean()"
).split("|")
ORDERED = (
    "{x}.amax({d})|{x}.amin({d}, keepdim=True)|{x}.max({d})[0]|{x}.sort({d})[0]"
    "|{x}.topk(1, {d})[0]|torch.flip({x}, [{d}])|{x}.cummax({d})[0]|{x}.roll(1, {d})"
).split("|")
VIEWS = (
    "{x}.unsqueeze({d})|{x}.transpose({d}, {e})|{x}.select({d}, 0)|{x}.flatten()"
    "|{x}.narrow({d}, 0, {h})|{x}.movedim({d}, {e})|torch.cat([{x}, {x}], {d})"
    "|torch.stack([{x}, {x}], {d})|{x}.chunk(2, {d})[0]|{x}.repeat_interleave(2, {d})"
    "|{x}.unbind({d})[-1]|{x}.squeeze({d})|torch.tril({x}.unsqueeze(0))"
    "|{x}.unsqueeze({d}).expand_as(torch.stack([{x}, {x}], {d}))"
).split("|")
PAIRS = "{x} + {y}|{x} - {y}|{x} * {y}|{x} / ({y}.abs() + 1)|torch.hypot({x}, {y})"
EXACT_PAIRS = "torch.maximum({x}, {y})|torch.minimum({x}, {y})"


def unary(program: Program, x: Value) -> tuple[str, bool] | None:
    if not x.tensor.is_floating_point():
        return program.dice.choice(WHOLE).format(x=x.name), True
    kinds = [(SMOOTH, False), (EXACT, x.exact)]
    if x.exact:
        kinds.append((STEPS, True))
    texts, exact = program.dice.choice(kinds)
    return program.dice.choice(texts).format(x=x.name), exact


def reduction(program: Program, x: Value) -> tuple[str, bool] | None:
    if not x.rank or not x.tensor.is_floating_point():
        return None
    texts, exact = program.dice.choice([(REDUCTIONS, False), (ORDERED, x.exact)])
    text = program.dice.choice(texts)
    return text.format(x=x.name, d=x.axis(program.dice)), exact


def view(program: Program, x: Value) -> tuple[str, bool] | None:
    if not 0 < x.rank < 5:
        return None
    axis, other = x.axis(program.dice), x.axis(program.dice)
    half = max(1, x.shape[axis] // 2)
    text = program.dice.choice(VIEWS)
    return text.format(x=x.name, d=axis, e=other, h=half), x.exact


def pair(program: Program, x: Value) -> tuple[str, bool] | None:
    dtype = x.tensor.dtype
    others = [
        v
        for v in program.values
        if v.tensor.dtype == dtype and _broadcasts(x.shape, v.shape)
    ]
    y = program.dice.choice(others)
    if not dtype.is_floating_point:
        text = "{x} | {y}" if dtype == torch.bool else "torch.maximum({x}, {y})"
        return text.format(x=x.name, y=y.name), True
    texts, exact = program.dice.choice(
        [(PAIRS, False), (EXACT_PAIRS, x.exact and y.exact)]
    )
    return program.dice.choice(texts.split("|")).format(x=x.name, y=y.name), exact


def _broadcasts(left: list[int], right: list[int]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(left[::-1], right[::-1]))


def product(program: Program, x: Value) -> tuple[str, bool] | None:
    if not x.rank or x.tensor.dtype != torch.float32:
        return None
    inner, width = x.shape[-1], program.dice.choice([1, 3, 8, 17])
    weight, bias = program.weight(width, inner), program.weight(width)
    texts = [f"F.linear({x.name}, {weight}, {bias})", f"{x.name} @ {weight}.t()"]
    if x.rank >= 2:
        texts.append(f"torch.matmul({x.name}, {x.name}.transpose(-1, -2)) * 0.1")
    if x.rank == 2:
        texts.append(f"torch.einsum('ij,kj->ki', {x.name}, {weight})")
    return program.dice.choice(texts), False


def norm(program: Program, x: Value) -> tuple[str, bool] | None:
    if x.rank < 2 or x.tensor.dtype != torch.float32:
        return None
    last, second = x.shape[-1], x.shape[1]
    texts = [
        f"F.layer_norm({x.name}, [{last}], {program.weight(last)})",
        f"F.rms_norm({x.name}, [{last}])",
        f"F.group_norm({x.name}, 1, {program.weight(second)})",
        f"F.batch_norm({x.name}, {program.weight(second)},"
        f" {program.weight(second)}.abs() + 1)",
    ]
    return program.dice.choice(texts), False


def attend(program: Program, x: Value) -> tuple[str, bool] | None:
    if x.rank not in (3, 4) or x.tensor.dtype != torch.float32:
        return None
    name, length = x.name, x.shape[-2]
    mask = program.weight(length, length)
    options = program.dice.choice(
        ["", ", is_causal=True", f", attn_mask={mask}", f", attn_mask={mask} > 0"]
    )
    return f"F.scaled_dot_product_attention({name}, {name}, {name}{options})", False


def convolve(program: Program, x: Value) -> tuple[str, bool] | None:
    if x.rank != 4 or x.tensor.dtype != torch.float32 or min(x.shape[2:]) < 3:
        return None
    channels = x.shape[1]
    weight = program.weight(4, channels, 3, 3)
    single = program.weight(channels, 1, 3, 3)
    texts = [
        f"F.conv2d({x.name}, {weight}, padding=1)",
        f"F.conv2d({x.name}, {weight}, stride=2)",
        f"F.conv2d({x.name}, {single}, groups={channels})",
        f"F.max_pool2d({x.name}, 2)",
        f"F.avg_pool2d({x.name}, 2, 1)",
        f"F.adaptive_avg_pool2d({x.name}, 1)",
        f"F.adaptive_avg_pool2d({x.name}, (3, 2))",
        f"F.interpolate({x.name}, scale_factor=2, mode='nearest')",
        f"F.interpolate({x.name}, size=(7, 6), mode='bilinear', align_corners=True)",
        f"F.interpolate({x.name}, scale_factor=1.5, mode='bicubic')",
        f"F.pad({x.name}, (1, -1, 2, 0))",
    ]
    text = program.dice.choice(texts)
    inexact = ("pool2d", "conv", "bi")
    return text, x.exact and not any(word in text for word in inexact)


def look_up(program: Program, x: Value) -> tuple[str, bool] | None:
    if not x.rank or x.tensor.dtype != torch.float32:
        return None
    axis = x.axis(program.dice)
    index = program.indices(3, x.shape[axis])
    count = len(program.inputs[-1])
    rows = list(x.shape)
    rows[axis] = count
    source = program.weight(*rows)
    texts = [
        f"{x.name}.index_select({axis}, {index})",
        f"{x.name}.index_copy({axis}, {index}, {source})",
        f"{x.name}.index_add({axis}, {index}, {source})",
        f"F.pad({x.name}, (1, 2))",
        f"torch.where({x.name} > 0, {x.name}, 0.0).cumsum({axis})",
    ]
    if axis == 0:
        texts.append(f"{x.name}.index_put(({index},), {source})")
        texts.append(f"F.embedding({index}, {x.name}.flatten(1))" if x.rank > 1 else "")
    text = program.dice.choice([t for t in texts if t])
    return text, x.exact and "add" not in text and "cumsum" not in text


TEMPLATES: tuple[Template, ...] = (
    *(unary, unary, unary, reduction, reduction, view, view, pair, pair),
    *(product, norm, attend, convolve, look_up),
)


def generate(seed: int, length: int = 8) -> Program:
    """A program of about `length` operators, the same for the same seed."""
    dice = random.Random(seed)
    torch.manual_seed(seed)
    program = Program(dice)
    for _ in range(dice.choice([1, 2])):
        shape = [
            dice.choice([1, 2, 3, 5, 8, 16]) for _ in range(dice.choice([1, 2, 3, 4]))
        ]
        program.add_input(torch.randn(shape))
    for _ in range(length * 20):
        if len(program.lines) == length:
            break
        recent = program.values[-4:] if dice.random() < 0.7 else program.values
        inputs = len(program.inputs)
        chosen = dice.choice(TEMPLATES)(program, dice.choice(recent))
        try:
            added = chosen is not None and program.apply(*chosen)
        except (RuntimeError, IndexError, NotImplementedError, ValueError):
            added = False
        if not added:
            del program.inputs[inputs:]
    return program


def difference(
    expected: torch.Tensor, promised: torch.Tensor, actual: torch.Tensor
) -> str:
    """What is wrong with a result, or "" if nothing is.

    Strides must be those that tracing promises, which are not always eager torch's.
    """
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return f"{actual.dtype}{list(actual.shape)} for {expected.dtype}"
    wide = [axis for axis, size in enumerate(expected.shape) if size > 1]
    if any(actual.stride(axis) != promised.stride(axis) for axis in wide):
        return f"strides {actual.stride()} for {promised.stride()}"
    if not expected.is_floating_point():
        return "" if torch.equal(expected, actual) else "other whole numbers"
    scale = max(1.0, float(expected.abs().max()))
    error = float((expected - actual).abs().max())
    return "" if error <= TOLERANCE * scale else f"an error of {error:.2e}"


def check(seed: int) -> str:
    """Run the program of a seed both ways; return what is wrong, with its source."""
    program = generate(seed)
    source = program.source()
    scope: dict[str, Any] = {"torch": torch, "F": F}
    exec(source, scope)
    torch._dynamo.reset()
    compiled = torch.compile(scope["program"], backend=chimera.backend.chimera)
    try:
        with torch.no_grad():
            expected = scope["program"](*program.inputs)
            actual = compiled(*program.inputs)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{source}"
    mode = FakeTensorMode()
    with mode, torch.no_grad():
        promised = scope["program"](*map(mode.from_tensor, program.inputs))
    for number, values in enumerate(zip(expected, promised, actual)):
        wrong = difference(*values)
        if wrong:
            return f"result {number} has {wrong}\n{source}"
    return ""


def run(count: int, seed: int, out: Any = sys.stdout) -> int:
    """Check programs; return how many are wrong."""
    wrong = 0
    before = chimera.backend.fallbacks()
    for number in range(seed, seed + count):
        problem = check(number)
        if problem:
            wrong += 1
            print(f"seed {number}: {problem}", file=out, flush=True)
    reasons = {
        reason: times - before.get(reason, 0)
        for reason, times in chimera.backend.fallbacks().items()
        if times > before.get(reason, 0)
    }
    print(f"{count} programs, {wrong} wrong; left to torch:", file=out)
    for reason, times in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f"  {times} x {reason}", file=out)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=100, help="programs to check")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first")
    arguments = parser.parse_args()
    logging.getLogger("chimera").setLevel(logging.ERROR)
    return 1 if run(arguments.count, arguments.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
