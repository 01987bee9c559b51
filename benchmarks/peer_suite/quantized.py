"""Cases in integers of eight bits: weights and activations quantized ahead of time.

Weights have a scale for each column or filter and no zero point, activations one scale.
Sums are i32; biases have the scales of sums. Hidden activations are what a ReLU leaves,
as bytes without a sign. Chimera gets this as linalg, peers as ONNX with QuantizeLinear
and DequantizeLinear around operators in f32, which is what quantizers write and what
onnxruntime and OpenVINO look for.
"""

import dataclasses
import math
import pathlib

from .program import Program, Value, affine_map

# Of the first activations and of the hidden ones. Powers of two, so that products with
# them are exact and a sum has one scale however it is written.
INPUT_SCALE, HIDDEN_SCALE = 2.0**-6, 2.0**-5
LARGEST_HIDDEN = 255
# Of codes that are spread evenly, and of sums that bytes can hold.
CODE_DEVIATION, SUM_DEVIATION = 73, 64


@dataclasses.dataclass(frozen=True)
class Layer:
    """A product or a convolution with a ReLU and a rounding to bytes, or without them."""
    weights: tuple[int, ...]
    has_bias: bool
    is_rounded: bool
    # Of a convolution.
    stride: int = 0

    @property
    def columns(self) -> int:
        return self.weights[0 if self.stride else 1]

    def usual_scale(self) -> float:
        """Of sums, so that their codes use most of a byte."""
        count = math.prod(self.weights) // self.columns
        return SUM_DEVIATION / (CODE_DEVIATION**2 * math.sqrt(count))

    def argument_shapes(self) -> list[tuple[int, ...]]:
        return [self.weights, *([(self.columns,)] if self.has_bias else []),
                (self.columns,)]


def perceptron(k, h, n) -> list[Layer]:
    return [Layer((k, h), True, True), Layer((h, n), True, False)]


def convolutions(first, second, strides) -> list[Layer]:
    return [Layer(filters, False, True, stride)
            for filters, stride in zip((first, second), strides)]


# ---- linalg

def write(input_shape, layers: list[Layer]) -> str:
    program = Program("i8")
    x = program.argument(*input_shape)
    for i, layer in enumerate(layers):
        weights = program.argument(*layer.weights)
        bias = program.argument(layer.columns, element="i32") if layer.has_bias else None
        scales = program.argument(layer.columns, element="f32")
        sums = contract(program, x, weights, layer, is_signed=i == 0)
        x = rescale(program, sums, bias, scales, layer)
    return program.finish(x)


def contract(program: Program, x: Value, weights: Value, layer: Layer,
             is_signed: bool) -> Value:
    if not layer.stride:
        dims, maps = "mnk", ["mk", "kn", "mn"]
        shape = (x.shape[0], layer.columns)
    else:
        x = program.padded(x, layer.weights[2:])
        rows, columns = ((extent - size) // layer.stride + 1
                         for extent, size in zip(x.shape[2:], layer.weights[2:]))
        shape = (x.shape[0], layer.columns, rows, columns)
        dims = "nfhwcrs"
        window = [f"{at} * {layer.stride} + {tap}" for at, tap in ("hr", "ws")]
        maps = [["n", "c", *window], "fcrs", "nfhw"]
    return program.byte_product(x, weights, shape, [affine_map(dims, m) for m in maps],
                                len(dims) - len(shape), is_signed)


def rescale(program: Program, sums: Value, bias: Value | None, scales: Value,
            layer: Layer) -> Value:
    """Bytes without a sign, or f32, of sums in i32."""
    every = range(len(sums.shape))
    channel = [1]
    if bias:
        inputs = [(sums, every), (scales, channel), (bias, channel)]
        body = ["%b = arith.addi %i0, %i2 : i32"]
    else:
        inputs = [(sums, every), (scales, channel)]
        body = []
    body += [f"%f = arith.sitofp {'%b' if bias else '%i0'} : i32 to f32",
             "%s = arith.mulf %f, %i1 : f32"]
    if not layer.is_rounded:
        return program.mapped(inputs, sums.shape, body, "%s", "f32")
    least, most = program.constant(0), program.constant(LARGEST_HIDDEN)
    body += ["%q = math.roundeven %s : f32",
             f"%l = arith.maximumf %q, {least} : f32",
             f"%m = arith.minimumf %l, {most} : f32",
             "%r = arith.fptoui %m : f32 to i8"]
    return program.mapped(inputs, sums.shape, body, "%r", "i8")


# ---- what it computes

def compute(layers: list[Layer], ops, x, *parameters):
    """The reference: integers are exact in f64."""
    np = ops.np
    rest = iter(parameters)
    for layer in layers:
        x, weights = x.astype(np.float64), next(rest).astype(np.float64)
        sums = ops.convolution(x, weights, layer.stride) if layer.stride else x @ weights
        if layer.has_bias:
            sums = sums + next(rest)
        scales = next(rest)
        x = sums * (scales[:, None, None] if layer.stride else scales)
        if layer.is_rounded:
            x = np.clip(np.round(x), 0, LARGEST_HIDDEN)
    return x


# ---- ONNX

def write_onnx(layers: list[Layer], arrays, takes_floats: bool,
               path: pathlib.Path) -> None:
    """`arrays` are the arguments; the graph takes the first, in f32 if it is asked to."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants = [], []
    add = lambda *arguments, **attributes: nodes.append(
        helper.make_node(*arguments, **attributes))

    def constant(name: str, array) -> str:
        constants.append(numpy_helper.from_array(np.array(array), name))
        return name

    def dequantized(name: str, scale, zero, axis=1) -> str:
        add("DequantizeLinear", [name, constant(f"{name}.scale", np.float32(scale)),
                                 constant(f"{name}.zero", zero)], [f"{name}.real"],
            axis=axis)
        return f"{name}.real"

    def quantized(name: str, scale, zero, result: str) -> str:
        add("QuantizeLinear", [name, constant(f"{result}.by", np.float32(scale)),
                               constant(f"{result}.at", zero)], [result])
        return result

    x, *rest = arrays
    rest = iter(rest)
    value, scale = "x", INPUT_SCALE
    if takes_floats:
        value = quantized("x", scale, np.int8(0), "x.codes")
    value = dequantized(value, scale, np.int8(0))
    for i, layer in enumerate(layers):
        weights = next(rest)
        bias = next(rest) if layer.has_bias else None
        scales = next(rest)
        result_scale = HIDDEN_SCALE if layer.is_rounded else 1.0
        of_weights = scales * np.float32(result_scale / scale)
        inputs = [value, dequantized(constant(f"w{i}", weights), of_weights,
                                     np.zeros(layer.columns, np.int8),
                                     axis=0 if layer.stride else 1)]
        if bias is not None:
            inputs.append(dequantized(constant(f"b{i}", bias), of_weights * scale,
                                      np.zeros(layer.columns, np.int32), axis=0))
        result = f"y{i}"
        if layer.stride:
            pads = [size // 2 for size in layer.weights[2:]]
            add("Conv", inputs, [result], strides=[layer.stride] * 2, pads=pads * 2)
        else:
            add("Gemm", inputs, [result])
        if layer.is_rounded:
            add("Relu", [result], [f"{result}.relu"])
            result = quantized(f"{result}.relu", HIDDEN_SCALE, np.uint8(0), f"h{i}")
            if i + 1 < len(layers):
                value = dequantized(result, HIDDEN_SCALE, np.uint8(0))
        scale = HIDDEN_SCALE
    first = helper.make_tensor_value_info(
        "x", TensorProto.FLOAT if takes_floats else TensorProto.INT8, x.shape)
    last = helper.make_tensor_value_info(
        result, TensorProto.UINT8 if layers[-1].is_rounded else TensorProto.FLOAT,
        [None] * x.ndim)
    graph = helper.make_graph(nodes, "quantized", [first], [last], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    onnx.save(model, path)
