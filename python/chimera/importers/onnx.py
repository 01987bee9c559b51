"""The door for ONNX models.

Weights stay where the file has them: large initializers become arguments of @main,
and those in a file beside the model are mapped into memory, not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chimera.errors import UnsupportedError
from chimera.importers import ImportedProgram, _mlir, require

if TYPE_CHECKING:
    import onnx

LARGEST_INLINE = 1024
"""Bytes up to which an initializer stays in the program, where it may be a shape."""

_REFUSED = re.compile(r"^(Random|Bernoulli$|Multinomial$|Unique$)")
"""Operators that draw other numbers than the model's, or that torch-mlir dies of."""

_CONVERSIONS = ("QuantizeLinear", "DequantizeLinear")
"""Operators that take a zero point as their third input."""

_TO_LINALG = (
    "builtin.module(torch-onnx-to-torch-backend-pipeline)",
    "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline"
    "{allow-non-finites=true})",
)


def import_model(source: onnx.ModelProto | str | Path) -> ImportedProgram:
    """Import an ONNX model, or the file of one.

    A call of the program takes the inputs of the model in order, or by name.

    Raises:
        MissingPackageError: onnx or torch-mlir is not installed.
        UnsupportedError: the file is damaged or an operator cannot be lowered.
    """
    onnx = require("onnx")
    require("torch_mlir.ir")
    folder = Path(".")
    if isinstance(source, (str, Path)):
        folder = Path(source).parent
        model = _load(Path(source))
    else:
        model = onnx.ModelProto()
        model.CopyFrom(source)
    refused = [n for n in model.graph.node if _REFUSED.match(n.op_type)]
    if refused:
        raise UnsupportedError(f"no lowering for ONNX's {refused[0].op_type}")
    weights = _take_weights(model, folder)
    model.graph.name = "main"
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception as error:
        raise UnsupportedError(f"onnx refuses the model: {error}") from error
    given = {value.name for value in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in given]
    constants = {i: weights[name] for i, name in enumerate(names) if name in weights}
    return ImportedProgram(
        text=_lower(model),
        constants=constants,
        names=names,
        flatten=_by_name([name for name in names if name not in weights]),
        unflatten=_mlir.single_or_tuple,
        ties={},
    )


def _load(path: Path) -> onnx.ModelProto:
    try:
        return require("onnx").load(str(path), load_external_data=False)
    except Exception as error:
        raise UnsupportedError(f"{path} is no ONNX model: {error}") from error


def _take_weights(model: onnx.ModelProto, folder: Path) -> dict[str, Any]:
    """Turn large initializers of weights into inputs; return their arrays.

    Other integers are shapes and indices, and zero points have to be known.
    """
    onnx = require("onnx")
    types = {
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.DOUBLE,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.BFLOAT16,
        onnx.TensorProto.INT8,
    }
    points = {
        node.input[2]
        for node in model.graph.node
        if node.op_type in _CONVERSIONS and len(node.input) > 2
    }
    weights: dict[str, Any] = {}
    kept = []
    declared = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        is_external = tensor.data_location == onnx.TensorProto.EXTERNAL
        array = _map(tensor, folder) if is_external else None
        is_weight = tensor.data_type in types and tensor.name not in points
        if not is_weight or _size(tensor) <= LARGEST_INLINE:
            if array is not None:
                tensor = onnx.numpy_helper.from_array(array, tensor.name)
            kept.append(tensor)
            continue
        if array is None:
            array = onnx.numpy_helper.to_array(tensor)
        weights[tensor.name] = array
        if tensor.name not in declared:
            declared_type = onnx.helper.make_tensor_value_info(
                tensor.name, tensor.data_type, list(tensor.dims)
            )
            model.graph.input.append(declared_type)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    return weights


def _element(tensor: onnx.TensorProto) -> Any:
    return require("onnx").helper.tensor_dtype_to_np_dtype(tensor.data_type)


def _size(tensor: onnx.TensorProto) -> int:
    """The bytes of a tensor."""
    numpy = require("numpy")
    count = int(numpy.prod(tensor.dims, dtype=numpy.int64))
    return count * int(_element(tensor).itemsize)


def _map(tensor: onnx.TensorProto, folder: Path) -> Any:
    """The array of an external tensor, mapped from its file."""
    numpy = require("numpy")
    where = {entry.key: entry.value for entry in tensor.external_data}
    path = folder / where["location"]
    if Path(where["location"]).is_absolute() or ".." in Path(where["location"]).parts:
        raise UnsupportedError(f"weights outside the model's folder: {path}")
    if _size(tensor) == 0:
        return numpy.empty(tuple(tensor.dims), _element(tensor))
    try:
        return numpy.memmap(
            path,
            dtype=_element(tensor),
            mode="r",
            offset=int(where.get("offset", 0)),
            shape=tuple(tensor.dims),
        )
    except (OSError, ValueError) as error:
        raise UnsupportedError(
            f"weights cannot be read from {path}: {error}"
        ) from error


def _by_name(names: Sequence[str]) -> Callable[..., list[Any]]:
    """A flatten function for inputs that are given in order, or by name."""
    in_order = _mlir.positional(names)

    def flatten(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        if not kwargs:
            return in_order(args, {})
        given = dict(zip(names, args)) | dict(kwargs)
        unknown = [name for name in given if name not in names]
        if unknown or len(args) + len(kwargs) != len(names):
            raise TypeError(f"the model's inputs are {', '.join(names)}")
        return [given[name] for name in names]

    return flatten


def _lower(model: onnx.ModelProto) -> str:
    ir = require("torch_mlir.ir")
    importer = require("torch_mlir.extras.onnx_importer")
    passes = require("torch_mlir.passmanager").PassManager
    context = ir.Context()
    require("torch_mlir.dialects.torch").register_dialect(context)
    try:
        info = importer.ModelInfo(model)
        module = info.create_module(context).operation
        importer.NodeImporter.define_function(info.main_graph, module).import_all()
        for pipeline in _TO_LINALG:
            passes.parse(pipeline, context).run(module)
    except Exception as error:
        raise UnsupportedError(_reason(str(error))) from error
    text = module.get_asm(enable_debug_info=True)
    left = re.search(r"\btm_tensor\.(\w+)", text)
    if left:
        raise UnsupportedError(f"an operator needs a {left[1]}, which linalg has not")
    return _mlir.mend(text)


def _reason(message: str) -> str:
    match = re.search(r'name = "onnx\.(\w+)"', message)
    if match:
        return f"no lowering for ONNX's {match[1]}"
    lines = [line for line in message.splitlines() if "pass pipeline:" not in line]
    return lines[0].removeprefix("error: ") if lines else "torch-mlir failed"
