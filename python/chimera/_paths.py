"""Where the package keeps the programs and libraries that came with it."""

from __future__ import annotations

import ctypes
import functools
import shutil
from pathlib import Path

from .errors import ChimeraError

_PACKAGE = Path(__file__).parent


def compiler() -> str:
    """The path of chimera-run: the package's own, else the one in PATH."""
    own = _PACKAGE / "bin" / "chimera-run"
    path = str(own) if own.exists() else shutil.which("chimera-run")
    if path is None:
        raise ChimeraError(
            "chimera-run is missing: install the package again, or put it in PATH"
        )
    return path


def runtime_library() -> str:
    """The library that compiled programs are linked against."""
    return str(_PACKAGE / "lib" / "libchimera_runtime.so")


@functools.cache
def load_collectives() -> ctypes.CDLL:
    """The library that programs of several processes call, open for all programs."""
    path = str(_PACKAGE / "lib" / "libchimera_collectives.so")
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
