"""Arrays of NumPy, PyTorch and others, as arguments and results of programs."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Callable

import numpy

_NUMPY_TYPES = {
    "f64": numpy.float64,
    "f32": numpy.float32,
    "f16": numpy.float16,
    "i64": numpy.int64,
    "i32": numpy.int32,
    "i8": numpy.int8,
    "i4": numpy.int8,
    "i1": numpy.bool_,
}
# Kernels store whole cache lines.
_ALIGNMENT = 64


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def view(array: Any) -> Any:
    """`array` in a form that the runtime takes, without a copy."""
    if is_torch(array):
        return array.detach() if array.requires_grad else array
    if isinstance(array, numpy.ndarray) and array.dtype.name == "bfloat16":
        return array.view(numpy.uint16)
    return array


def prepare_tensor(tensor: Any) -> Any:
    """One of PyTorch's tensors as an argument in a form that the runtime takes."""
    tensor = tensor.detach() if tensor.requires_grad else tensor
    return tensor.contiguous()


def export(array: Any) -> Any:
    """`array`, which `view` or `prepare` returned, for one call of the runtime.

    PyTorch is asked in C for what its arrays say of themselves in Python, which takes
    as long as a small kernel.
    """
    return _torch_capsule()(array) if is_torch(array) else array


@functools.cache
def _torch_capsule() -> Callable[[Any], Any]:
    from torch.utils.dlpack import to_dlpack

    return to_dlpack


@functools.cache
def torch_calls() -> tuple[Callable[..., Any], Callable[[Any], Any]]:
    """What makes and what exports PyTorch's tensors, for callers that have some."""
    import torch

    return torch.empty, _torch_capsule()


def prepare(value: Any, type_: dict[str, Any]) -> Any:
    """An argument of type `type_` in a form that the runtime takes.

    Arrays that are not contiguous are copied, lists become arrays.
    """
    if type_["kind"] == "scalar":
        return value.item() if hasattr(value, "item") else value
    if is_torch(value):
        return prepare_tensor(value)
    if isinstance(value, numpy.ndarray):
        return view(
            value if value.flags.c_contiguous else numpy.ascontiguousarray(value)
        )
    if hasattr(value, "__dlpack__"):
        return value
    return numpy.asarray(value, _numpy_type(type_["element"]))


@functools.cache
def _numpy_type(element: str) -> Any:
    if element != "bf16":
        return numpy.dtype(_NUMPY_TYPES[element])
    try:
        import ml_dtypes
    except ImportError:
        return numpy.dtype(numpy.uint16)
    return numpy.dtype(ml_dtypes.bfloat16)


@functools.cache
def torch_type(element: str) -> Any:
    import torch

    return {
        "f64": torch.float64,
        "f32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "i64": torch.int64,
        "i32": torch.int32,
        "i8": torch.int8,
        "i4": torch.int8,
        "i1": torch.bool,
    }[element]


def _make_torch(shape: Sequence[int], element: str) -> Any:
    return sys.modules["torch"].empty(shape, dtype=torch_type(element))


def _make_numpy(shape: Sequence[int], element: str) -> numpy.ndarray:
    dtype = _numpy_type(element)
    size = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
    memory = numpy.empty(size + _ALIGNMENT, numpy.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


Allocator = Callable[[Sequence[int], str], Any]
"""What makes results, by shape and element."""


def allocator(
    arguments: Iterable[Any], otherwise: Allocator = _make_numpy
) -> Allocator:
    """What makes results for a call with these arguments."""
    return _make_torch if any(map(is_torch, arguments)) else otherwise


def to_numpy(value: Any) -> numpy.ndarray:
    """The elements of `value` as an array of NumPy's, bf16 as its bits."""
    if is_torch(value):
        torch = sys.modules["torch"]
        value = value.detach().contiguous()
        if value.dtype == torch.bfloat16:
            value = value.view(torch.uint16)
        return value.numpy()
    return view(numpy.asarray(value))
