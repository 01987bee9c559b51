"""Chimera: fused kernels for models from PyTorch, ONNX, JAX and MLIR.

    import chimera

    program = chimera.compile(module, (x,))     # or MLIR text, a file, ...
    y = program(x)
    print(program.report())

`torch.compile(module, backend="chimera")` needs no import: the package registers
itself with PyTorch.
"""

from __future__ import annotations

from .errors import ChimeraError, CompileError, MissingPackageError, UnsupportedError
from .program import Program, compile, load

__version__ = "0.1.0"

__all__ = [
    "ChimeraError",
    "CompileError",
    "MissingPackageError",
    "Program",
    "UnsupportedError",
    "compile",
    "load",
]
