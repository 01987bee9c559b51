"""Importers: from what a user has to MLIR text that the compiler reads.

Each importer is a thin layer over the library that owns the format (torch-mlir
for torch and ONNX, jaxlib for StableHLO). None of these is needed to import this
package; each is loaded when a source of its kind arrives.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chimera.errors import MissingPackageError, UnsupportedError


@dataclass(frozen=True)
class ImportedProgram:
    """A program as text, with its weights beside it.

    Attributes:
        text: linalg on tensors with one function, @main, as MLIR 22 parses it.
        constants: the arrays of the arguments of @main that are weights, by the
            number of the argument.
        names: a name for each argument of @main.
        flatten: from the arguments and keyword arguments of a user's call to the
            arrays of the arguments of @main that are no constants, in order.
        unflatten: from the results of @main to what the user's function returns.
        ties: the results that are copied into an argument after the call, which
            is how a program changes a buffer: result number to argument number.
    """

    text: str
    constants: dict[int, Any]
    names: list[str]
    flatten: Callable[[Sequence[Any], Mapping[str, Any]], list[Any]]
    unflatten: Callable[[Sequence[Any]], Any]
    ties: dict[int, int]


def import_program(
    source: Any,
    example_args: Sequence[Any] | None = None,
    example_kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
) -> ImportedProgram:
    """Import a program from whatever form the user has it in.

    Args:
        source: a torch module or function, a torch.export program (or a .pt2
            file), an ONNX model or a path to one, a jax function (jitted, or
            lowered already), StableHLO or linalg as text or as a path.
        example_args: arguments to trace a torch module or a jax function with.
        example_kwargs: keyword arguments to trace with.
        dynamic_shapes: as torch.export takes it; only for torch modules.

    Raises:
        MissingPackageError: a library for this kind of source is missing.
        UnsupportedError: the source holds what cannot be expressed.
        TypeError: the source is of no known kind.
    """
    args = tuple(example_args or ())
    kwargs = dict(example_kwargs or {})
    if isinstance(source, (str, os.PathLike)):
        return _import_text_or_file(source)
    bases = {f"{base.__module__}.{base.__name__}" for base in type(source).__mro__}
    if "torch.export.exported_program.ExportedProgram" in bases:
        from chimera.importers import torch as door

        return door.import_exported(source)
    if "torch.nn.modules.module.Module" in bases:
        from chimera.importers import torch as door

        return door.import_module(source, args, kwargs, dynamic_shapes)
    if any(base.startswith("onnx.") for base in bases):
        from chimera.importers import onnx as onnx_door

        return onnx_door.import_model(source)
    if hasattr(source, "compiler_ir"):
        from chimera.importers import stablehlo

        return stablehlo.import_lowered(source)
    if hasattr(source, "lower") and hasattr(source, "trace"):
        from chimera.importers import stablehlo

        return stablehlo.import_lowered(source.lower(*args, **kwargs))
    if callable(source):
        from chimera.importers import torch as door

        return door.import_module(source, args, kwargs, dynamic_shapes)
    raise TypeError(f"cannot import a program from {type(source).__name__}")


def _import_text_or_file(source: str | os.PathLike[str]) -> ImportedProgram:
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return _import_mlir_text(source)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    if path.suffix == ".onnx":
        from chimera.importers import onnx as onnx_door

        return onnx_door.import_model(path)
    if path.suffix == ".pt2":
        from chimera.importers import torch as torch_door

        return torch_door.import_exported(require("torch").export.load(str(path)))
    try:
        return _import_mlir_text(path.read_text())
    except UnicodeDecodeError:
        raise UnsupportedError(f"{path} is neither ONNX nor MLIR text") from None


def _import_mlir_text(text: str) -> ImportedProgram:
    from chimera.importers import _mlir, stablehlo

    if stablehlo.is_stablehlo(text):
        return stablehlo.import_text(text)
    return _mlir.import_text(text)


_PACKAGES = {
    "torch": "torch",
    "torch_mlir": "torch-mlir",
    "onnx": "onnx",
    "jax": "jax",
    "jaxlib": "jax",
    "numpy": "numpy",
}


def require(module: str) -> Any:
    """Import a module of an optional package.

    Raises:
        MissingPackageError: says what to install, in one line.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = _PACKAGES.get(module.split(".")[0], module.split(".")[0])
        raise MissingPackageError(
            f"this source needs {package}: pip install {package} ({error})"
        ) from error
