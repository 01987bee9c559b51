"""Errors that the package raises, so that callers can tell them apart."""

from __future__ import annotations

import functools
import warnings


class ChimeraError(Exception):
    """Base of every error that the package raises on purpose."""


class CompileError(ChimeraError):
    """The compiler refused a program.

    Attributes:
        message: what the compiler said, in one line.
        location: the user's line or layer where the importer kept it, else "".
    """

    def __init__(self, message: str, location: str = "") -> None:
        super().__init__(f"{location}: {message}" if location else message)
        self.message = message
        self.location = location


class MissingPackageError(ChimeraError, ImportError):
    """A package that this source needs is not installed."""


class UnsupportedError(ChimeraError):
    """A source holds something that no importer or pass can express."""


@functools.cache
def warn_once(message: str) -> None:
    """Says a thing once in this process, where the program runs all the same."""
    warnings.warn(message, RuntimeWarning, stacklevel=2)
