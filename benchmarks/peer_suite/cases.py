"""What is measured: the function, its arguments and its program as text.

Needs Python alone; the arrays are made by `data`.
"""

import csv
import dataclasses
import functools
import importlib.util
import math
import pathlib
import re
from collections.abc import Callable

from . import decode, memory, models, networks, quantized
from .program import Program, Value, affine_map

SHAPES = pathlib.Path(__file__).parent.parent / "shapes"
# Of arguments and results, or of integers that stand for them.
TYPES = ("f32", "bf16", "i8", "i4")
# What integers are when they come back.
FLOATS = ("f32", "bf16")
NARROW_TOLERANCE = 2e-2
GROUPS = ("chain", "softmax", "attention", "mlp", "convolution", "decode", "memory",
          "models", "network")


@dataclasses.dataclass(frozen=True)
class Argument:
    shape: tuple[int, ...]
    # The function in data.py that makes it.
    maker: str = "normal"
    # What it makes is multiplied by this.
    factor: float = 1.0
    # Weights: constants for peers that can prepare them ahead of the calls.
    constant: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    group: str
    name: str
    arguments: list[Argument]
    # (ops, *arguments) -> result, or several; see ops.py. None if it is a network.
    compute: Callable | None
    # The same as MLIR, and as other text that IREE may be faster with.
    program: str
    iree_program: str | None = None
    # Whether `compute` calls ops.attention, which peers have kernels for.
    attends: bool = False
    # Whether it calls ops.convolution on images, whose layout peers may choose.
    convolves: bool = False
    # Multiply-adds of its products that a causal mask makes useless.
    masked: int = 0
    # Largest error in parts of the largest element of the result.
    tolerance: float = 1e-4
    # The type of arguments and results, or of codes among them.
    element: str = "f32"
    # What quantized.py makes of it as ONNX.
    quantized_layers: list[quantized.Layer] | None = None
    # The function of limits.c that computes it too, and the sizes it is given.
    limit: str = ""
    sizes: tuple[int, ...] = ()

    @property
    def is_network(self) -> bool:
        """Whether `networks` knows by the name what it computes, and of what."""
        return self.group == "network"

    @property
    def key(self) -> str:
        return f"{self.group}-{self.name}"

    @property
    def slug(self) -> str:
        """A name for files."""
        return re.sub(r"[^\w]+", "-", self.key)

    def results(self) -> list[tuple[tuple[int, ...], str]]:
        """Shapes and types of elements."""
        results = re.search(r"\) -> (.*) {\n", self.program).group(1)
        return [(tuple(int(x) for x in extents.split("x")[:-1]), element)
                for extents, element in
                re.findall(r"tensor<((?:\d+x)*)(\w+)>", results)]


def load(models_folder: pathlib.Path | None, element="f32") -> list[Case]:
    if element not in FLOATS:
        return decode_cases(element) + (quantized_cases() if element == "i8" else [])
    cases = [make(row, element) for make in (chain, softmax)
             for row in read_shapes("gemm_chains.csv")]
    cases += attention_cases(element) + mlp_cases(element)
    cases += [convolutions(row, element) for row in read_shapes("conv_chains.csv")]
    if element != "f32":
        return [dataclasses.replace(case, element=element, tolerance=NARROW_TOLERANCE)
                for case in cases]
    cases += memory_cases()
    if models_folder:
        cases += model_cases(models_folder) + network_cases(models_folder)
    return cases


# ---- chains of two products

def read_shapes(name: str) -> list[dict]:
    with open(SHAPES / name, encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return list(rows)


def chain_shapes(row: dict) -> list[tuple[int, int, int]]:
    b, m, n, k, l = (int(row[x]) for x in ("batch", "M", "N", "K", "L"))
    return [(b, m, k), (b, k, l), (b, l, n)]


def chain(row: dict, element="f32") -> Case:
    shapes = chain_shapes(row)
    program = Program(element)
    a, b, d = (program.argument(*shape) for shape in shapes)
    result = program.batch_matmul(program.batch_matmul(a, b), d)
    return Case("chain", row["name"], [Argument(shape) for shape in shapes],
                lambda ops, a, b, d: a @ b @ d, program.finish(result))


def softmax(row: dict, element="f32") -> Case:
    shapes = chain_shapes(row)
    scale = 1 / math.sqrt(shapes[0][2])
    program = Program(element)
    a, b, d = (program.argument(*shape) for shape in shapes)
    # As kernels for attention have them, scores are not rounded.
    scores = program.scale(program.batch_matmul(a, b, element="f32"), scale)
    result = program.batch_matmul(program.softmax(scores), d)
    return Case("softmax", row["name"], [Argument(shape) for shape in shapes],
                lambda ops, a, b, d: ops.attention(a, ops.swap(b), d),
                program.finish(result),
                iree_attention(*shapes, transposed=False), attends=True)


# ---- attention

def causal_waste(q_shape) -> int:
    """Multiply-adds with keys after the query, in both products."""
    return math.prod(q_shape) * (q_shape[-2] - 1)


def attention(name, heads, kv_heads, queries, keys, d, causal=False,
              element="f32") -> Case:
    """[heads][position][d] for queries, keys, values and the result."""
    q_shape, kv_shape = (heads, queries, d), (kv_heads, keys, d)
    program = Program(element)
    q, k, v = (program.argument(*shape) for shape in (q_shape, kv_shape, kv_shape))
    if heads != kv_heads:
        k, v = (program.repeat(x, heads // kv_heads) for x in (k, v))
    scores = program.batch_matmul(q, k, transposed=True, element="f32")
    scores = program.scale(scores, 1 / math.sqrt(d))
    if causal:
        scores = program.causal(scores)
    result = program.batch_matmul(program.softmax(scores), v)
    return Case("attention", name,
                [Argument(shape) for shape in (q_shape, kv_shape, kv_shape)],
                lambda ops, q, k, v: ops.attention(q, k, v, causal=causal),
                program.finish(result),
                iree_attention(q_shape, kv_shape, kv_shape, causal=causal),
                attends=True,
                masked=causal_waste(q_shape) if causal else 0)


def attention_cases(element="f32") -> list[Case]:
    sizes = [
        ("prefill 8 x 2048 x 128", 8, 8, 2048, 2048, 128),
        ("grouped 8/2 x 2048 x 128", 8, 2, 2048, 2048, 128),
        ("causal 8 x 2048 x 128", 8, 8, 2048, 2048, 128, True),
        ("short 12 x 197 x 64", 12, 12, 197, 197, 64),
        ("short 12 x 77 x 64", 12, 12, 77, 77, 64),
        ("short 12 x 77 x 80", 12, 12, 77, 77, 80),
        ("decode 32 x 4096 x 128", 32, 32, 1, 4096, 128),
    ]
    return [attention(*size, element=element) for size in sizes]


def iree_attention(q_shape, k_shape, v_shape, transposed=True, causal=False) -> str:
    """With the operation that IREE's importers make of attention."""
    program = Program()
    q, k, v = (program.argument(*shape) for shape in (q_shape, k_shape, v_shape))
    heads, rows, d = q_shape
    kv_heads, copies = k_shape[0], heads // k_shape[0]
    keys = v_shape[1]

    grouped = (kv_heads, copies, rows, d)
    grouped_text = str(list(grouped))
    wide = Value("", grouped).type
    q = program.add(grouped, f"tensor.expand_shape {q.name} [[0, 1], [2], [3]] "
                    f"output_shape {grouped_text} : {q.type} into {wide}")
    scale = program.constant(1 / math.sqrt(d))
    operands, maps = [q, k, v], ["hgmk", "hlk" if transposed else "hkl", "hln", ""]
    names = [q.name, k.name, v.name, scale]
    types = [q.type, k.type, v.type, "f32"]
    block = "%score: f32"
    if causal:
        mask = program.causal(program.zeros((1, rows, keys)))
        flat = Value("", (rows, keys))
        mask = program.add(flat.shape, f"tensor.collapse_shape {mask.name} "
                           f"[[0, 1], [2]] : {mask.type} into {flat.type}")
        maps.append("ml")
        names.append(mask.name)
        types.append(mask.type)
    maps.append("hgmn")
    output = program.empty((kv_heads, copies, rows, v_shape[2]))
    texts = ", ".join(affine_map("hgmlkn", results) for results in maps)
    result = program.add(
        output.shape, f"iree_linalg_ext.attention <{{indexing_maps = [{texts}]}}> "
        f"ins({', '.join(names)} : {', '.join(types)}) "
        f"outs({output.name} : {output.type}) {{\n    ^bb0({block}):\n"
        f"      iree_linalg_ext.yield %score : f32\n    }} -> {output.type}")
    flat = Value("", (heads, rows, v_shape[2]))
    result = program.add(flat.shape, f"tensor.collapse_shape {result.name} "
                         f"[[0, 1], [2], [3]] : {result.type} into {flat.type}")
    return program.finish(result)


# ---- multi-layer perceptrons

def mlp(m, k, h, n, element="f32") -> Case:
    """Weights are [in][out]."""
    weight, bias = (functools.partial(Argument, maker=maker, constant=True)
                    for maker in ("rows_in", "normal"))
    arguments = [Argument((m, k)), weight((k, h)), bias((h,)), weight((h, n)),
                 bias((n,))]
    program = Program(element)
    x, w1, b1, w2, b2 = (program.argument(*a.shape) for a in arguments)
    hidden = program.gelu_tanh(program.bias(program.matmul(x, w1), b1))
    result = program.bias(program.matmul(hidden, w2), b2)

    def compute(ops, x, w1, b1, w2, b2):
        return ops.affine(ops.gelu(ops.affine(x, w1, b1), tanh=True), w2, b2)

    return Case("mlp", f"{m} x {k} x {h} x {n}", arguments, compute,
                program.finish(result))


def mlp_cases(element="f32") -> list[Case]:
    return [mlp(*sizes, element) for sizes in ((128, 768, 3072, 768),
                                               (512, 512, 2048, 512),
                                               (32, 768, 3072, 768))]


# ---- chains of two convolutions

def convolution_sizes(row: dict) -> list[int]:
    """Channels, height, width, channels between and at last, strides, windows."""
    return [int(row[x]) for x in
            ("IC", "H", "W", "OC1", "OC2", "st1", "st2", "k1", "k2")]


def convolutions(row: dict, element="f32") -> Case:
    """Channels first, ReLU after both, padded so that images keep their size."""
    channels, height, width, middle, out, s1, s2, k1, k2 = convolution_sizes(row)
    filters = functools.partial(Argument, maker="filters", constant=True)
    arguments = [Argument((1, channels, height, width)),
                 filters((middle, channels, k1, k1)), filters((out, middle, k2, k2))]
    program = Program(element)
    x, w1, w2 = (program.argument(*a.shape) for a in arguments)
    x = program.relu(program.convolution(x, w1, s1))
    result = program.relu(program.convolution(x, w2, s2))

    def compute(ops, x, w1, w2):
        return ops.relu(ops.convolution(ops.relu(ops.convolution(x, w1, s1)), w2, s2))

    return Case("convolution", row["name"], arguments, compute,
                program.finish(result), convolves=True)


# ---- integers of eight and four bits

def quantized_case(group: str, name: str, input_shape, layers) -> Case:
    parameter = functools.partial(Argument, constant=True)
    arguments = [Argument(input_shape, "codes")]
    for layer in layers:
        weights, *bias, scales = layer.argument_shapes()
        arguments.append(parameter(weights, "codes"))
        arguments += [parameter(shape, "sums") for shape in bias]
        arguments.append(parameter(scales, "near_one", factor=layer.usual_scale()))
    return Case(group, name, arguments, functools.partial(quantized.compute, layers),
                quantized.write(input_shape, layers), tolerance=NARROW_TOLERANCE,
                element="i8", quantized_layers=layers)


def quantized_cases() -> list[Case]:
    cases = []
    for m, k, h, n in ((128, 768, 3072, 768), (512, 512, 2048, 512),
                       (32, 768, 3072, 768)):
        cases.append(quantized_case("mlp", f"{m} x {k} x {h} x {n}", (m, k),
                                    quantized.perceptron(k, h, n)))
    for row in read_shapes("conv_chains.csv"):
        channels, height, width, middle, out, s1, s2, k1, k2 = convolution_sizes(row)
        layers = quantized.convolutions((middle, channels, k1, k1), (out, middle, k2, k2),
                                        (s1, s2))
        cases.append(quantized_case("convolution", row["name"],
                                    (1, channels, height, width), layers))
    return cases


def decode_cases(element: str) -> list[Case]:
    """Weights of bytes with a scale for a row, of half bytes for a group."""
    bits = int(element[1:])
    layers = [decode.Layer(*sizes, bits, group)
              for sizes in ((32, 32, 128, 11008, 512), (32, 8, 128, 14336, 512))
              for group in ((0,) if bits == 8 else (32, 128))]
    cases = []
    for layer in layers:
        arguments = [Argument(shape, "normal") for shape in layer.state_shapes()]
        arguments += [Argument(shape, "near_one", constant=True)
                      for shape in layer.norm_shapes()]
        for codes, scales in layer.weight_shapes():
            factor = layer.usual_scale(codes)
            arguments += [
                Argument(codes, "codes" if bits == 8 else "half_codes", constant=True),
                Argument(scales, "near_one", factor, constant=True)]
        cases.append(Case("decode", layer.name, arguments,
                          functools.partial(decode.compute, layer), decode.write(layer),
                          tolerance=1e-3, element=element))
    return cases


# ---- operations that wait for memory

def memory_cases() -> list[Case]:
    cases = []
    for name, (make, sizes) in memory.CASES.items():
        program, results, compute = make(*sizes)
        arguments = [Argument(value.shape) for value in program.arguments]
        cases.append(Case("memory", name, arguments, compute, program.finish(*results),
                          limit=make.__name__, sizes=sizes))
    return cases


# ---- whole programs

def signature(text: str) -> list[tuple[int, ...]]:
    """Shapes of the arguments of @main."""
    header = re.search(r"@main\((.*?)\) ->", text).group(1)
    types = re.findall(r": tensor<((?:\d+x)*)\w+>", header)
    return [tuple(int(x) for x in extents.split("x")[:-1]) for extents in types]


def model_cases(folder: pathlib.Path) -> list[Case]:
    cases = []
    for model in models.MODELS:
        path = folder / f"{model.name}.mlir"
        if not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        shapes = signature(text)
        if len(shapes) != len(model.arguments):
            raise ValueError(f"{path} has {len(shapes)} arguments, "
                             f"expected {len(model.arguments)}")
        arguments = [Argument(shape, maker, constant=constant)
                     for shape, (maker, constant) in zip(shapes, model.arguments)]
        cases.append(Case("models", model.name, arguments, model.compute, text,
                          attends=model.attends, masked=causal_waste(shapes[0]) if model.causal else 0,
                          tolerance=model.tolerance))
    return cases


# ---- networks

def network_cases(folder: pathlib.Path) -> list[Case]:
    """Their data and references are torchvision's."""
    if not importlib.util.find_spec("torchvision"):
        return []
    cases = []
    for name, network in networks.NETWORKS.items():
        path = folder / f"{name}.mlir"
        if not path.exists():
            continue
        # Which arguments are weights is said to each peer by the case.
        text = path.read_text(encoding="utf-8").replace(" {chimera.constant}", "")
        image, *weights = signature(text)
        if image != network.image:
            raise ValueError(f"{path} takes {image}, expected {network.image}")
        arguments = [Argument(image)]
        arguments += [Argument(shape, constant=True) for shape in weights]
        cases.append(Case("network", name, arguments, None, text, convolves=True))
    return cases
