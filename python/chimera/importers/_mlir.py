"""MLIR text between versions: what other versions print that MLIR 22 does not read.

The libraries that import models bundle newer MLIRs than ours. Text is the one form
that passes between them; this module mends the few places where it does not, and
reads from text what a caller must know of @main.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chimera.errors import UnsupportedError
from chimera.importers import ImportedProgram, require

_BYTES_OF_BITS = re.compile(r'dense<"0x([0-9A-Fa-f]+)"> : (tensor<(?:\d+x)*i1>)')
_MAIN = re.compile(r"func\.func\s+(?:public\s+)?@(\w+|\"[^\"]*\")\s*\(")
_ARGUMENT = re.compile(r"%([\w$.-]+)\s*:")


def mend(text: str) -> str:
    """Text as MLIR 22 reads it: constants of bits are packed eight to a byte."""
    return _BYTES_OF_BITS.sub(_pack_bits, text)


def _pack_bits(match: re.Match[str]) -> str:
    numpy = require("numpy")
    elements = numpy.frombuffer(bytes.fromhex(match[1]), dtype=numpy.uint8)
    sizes = [int(size) for size in re.findall(r"(\d+)x", match[2])]
    if len(elements) != math.prod(sizes):
        return match[0]
    packed = numpy.packbits(elements != 0, bitorder="little")
    return f'dense<"0x{packed.tobytes().hex().upper()}"> : {match[2]}'


def argument_names(text: str) -> list[str]:
    """Names of the arguments of @main, or of the first function if there is none.

    Raises:
        UnsupportedError: the text has no function.
    """
    functions = list(_MAIN.finditer(text))
    if not functions:
        raise UnsupportedError("the program has no func.func")
    main = next((f for f in functions if f[1] == "main"), functions[0])
    end = _end_of_parentheses(text, main.end())
    return _ARGUMENT.findall(_without_nested(text[main.end() : end]))


def _end_of_parentheses(text: str, start: int) -> int:
    depth = 1
    for match in re.compile(r'"(?:\\.|[^"\\])*"|[()]').finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    raise UnsupportedError("the arguments of the function do not end")


def _without_nested(signature: str) -> str:
    return re.sub(
        r'"(?:\\.|[^"\\])*"|\{[^{}]*\}|loc\([^()]*(?:\([^()]*\))?[^()]*\)',
        "",
        signature,
    )


def positional(names: Sequence[str]) -> Callable[..., list[Any]]:
    """A flatten function for programs whose arguments are a plain list."""

    def flatten(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        if kwargs:
            unknown = ", ".join(kwargs)
            raise TypeError(f"the program takes no keyword arguments: {unknown}")
        if len(args) != len(names):
            raise TypeError(
                f"the program takes {len(names)} arguments"
                f" ({', '.join(names)}), not {len(args)}"
            )
        return list(args)

    return flatten


def single_or_tuple(results: Sequence[Any]) -> Any:
    """What a function with these results returns: one value, else a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


def import_text(text: str) -> ImportedProgram:
    """A program that is MLIR for our compiler already: only its arguments are read."""
    names = argument_names(text)
    return ImportedProgram(
        text=mend(text),
        constants={},
        names=names,
        flatten=positional(names),
        unflatten=single_or_tuple,
        ties={},
    )
