"""ONNX files for onnxruntime, in the spellings of attention that it knows.

"spelled out" has products and a softmax; "Attention" the operator of the ONNX
standard; "MultiHeadAttention" onnxruntime's own, which its optimiser for
transformers makes and which has a kernel that keeps no scores.

Quantized cases take "codes", or "floats" that the first operator rounds to them.
"""

import pathlib

import numpy as np

from . import data, quantized
from .cases import FLOATS, Case

SPELLINGS = ("spelled out", "Attention", "MultiHeadAttention")
QUANTIZED_SPELLINGS = ("codes", "floats")


def spellings(case: Case) -> list[str]:
    if case.element not in FLOATS:
        return list(QUANTIZED_SPELLINGS if case.quantized_layers else ())
    return list(SPELLINGS[:None if case.attends else 1])


def make(case: Case, spelling: str, stem: pathlib.Path) -> pathlib.Path:
    """Writes it where it is not there yet."""
    path = stem.with_name(f"{stem.name}.{spelling.replace(' ', '-')}.onnx")
    if path.exists():
        return path
    if case.quantized_layers:
        quantized.write_onnx(case.quantized_layers, data.make(case), spelling == "floats", path)
    else:
        export(case, spelling, path)
    return path


def make_inputs(case: Case, spelling: str) -> list[np.ndarray]:
    inputs = data.make_inputs(case)
    if spelling == "floats":
        return [data.align(codes * np.float32(quantized.INPUT_SCALE)) for codes in inputs]
    return inputs


def export(case: Case, spelling: str, path: pathlib.Path) -> None:
    import torch

    from . import torch_peers
    fused = spelling != "spelled out"
    module, inputs = torch_peers.make_module(case, fused)
    with torch.no_grad():
        torch.onnx.export(module, tuple(inputs), str(path), dynamo=True,
                          opset_version=23 if fused else 18, external_data=False,
                          verbose=False)
    if spelling == "MultiHeadAttention":
        replace_attention(path)


def replace_attention(path: pathlib.Path) -> None:
    import onnx
    model = onnx.load(path)
    graph = model.graph
    values = [*graph.input, *graph.output, *graph.value_info]
    shapes = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim]
              for value in values}
    nodes = []
    for node in graph.node:
        if node.op_type == "Attention":
            nodes += multi_head_attention(node, graph, shapes)
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, path)


def multi_head_attention(node, graph, shapes) -> list:
    """Queries and the result have the heads inside for this operator."""
    from onnx import helper, numpy_helper
    import numpy as np
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    query, key, value = (shapes[name] for name in node.input[:3])
    if len(node.input) > 3 or attributes.get("is_causal") or query[1] != key[1]:
        raise ValueError("attention with a mask or shared heads")
    batch, heads, rows, depth = query
    out = node.output[0]

    def constant(name: str, numbers: list[int]) -> str:
        tensor = numpy_helper.from_array(np.array(numbers, dtype=np.int64),
                                         f"{out}.{name}")
        graph.initializer.append(tensor)
        return tensor.name

    rows_first = {"perm": [0, 2, 1, 3]}
    flat = constant("flat_shape", [batch, rows, heads * depth])
    split = constant("split_shape", [batch, rows, heads, value[3]])
    scale = {"scale": attributes["scale"]} if "scale" in attributes else {}
    return [
        helper.make_node("Transpose", [node.input[0]], [f"{out}.q"], **rows_first),
        helper.make_node("Reshape", [f"{out}.q", flat], [f"{out}.flat_q"]),
        helper.make_node("MultiHeadAttention",
                         [f"{out}.flat_q", node.input[1], node.input[2]],
                         [f"{out}.flat"], domain="com.microsoft", num_heads=heads,
                         **scale),
        helper.make_node("Reshape", [f"{out}.flat", split], [f"{out}.rows"]),
        helper.make_node("Transpose", [f"{out}.rows"], [out], **rows_first),
    ]
