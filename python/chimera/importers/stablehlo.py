"""The door for jax functions and StableHLO.

jaxlib has all that lowers StableHLO to linalg, so no other library is needed. Large
constants, which are the arrays a function closes over, become arguments of @main.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chimera.errors import UnsupportedError
from chimera.importers import ImportedProgram, _mlir, require

LARGEST_INLINE = 1024
"""Bytes up to which a constant stays in the program."""

_TO_LINALG = (
    "builtin.module(inline,func.func(chlo-legalize-to-stablehlo),canonicalize,"
    "stablehlo-legalize-to-linalg,canonicalize,cse)"
)
_DIALECT = re.compile(r"\b(stablehlo|chlo|mhlo|vhlo)\.\w")
_LEFT_OVER = re.compile(r"\b(?:stablehlo|chlo|mhlo)\.(?!return\b)\w+")
_UNSIGNED = re.compile(r"\bui(\d+)\b")


def is_stablehlo(text: str) -> bool:
    """Whether text holds operations of StableHLO or of CHLO."""
    return _DIALECT.search(text) is not None


def import_text(text: str) -> ImportedProgram:
    """Import StableHLO as text.

    Raises:
        MissingPackageError: jax is not installed.
        UnsupportedError: the text is damaged or an operation cannot be lowered.
    """
    ir = require("jaxlib.mlir.ir")
    interpreters = require("jax._src.interpreters.mlir")
    with interpreters.make_ir_context():
        try:
            module = ir.Module.parse(text)
        except Exception as error:
            raise UnsupportedError(f"StableHLO does not parse: {error}") from error
        return _import(module, None, _mlir.single_or_tuple)


def import_lowered(lowered: Any) -> ImportedProgram:
    """Import what `jax.jit(f).lower(...)` returns.

    Raises:
        MissingPackageError: jax is not installed.
        UnsupportedError: an operation cannot be lowered.
    """
    tree = require("jax.tree_util")
    require("jaxlib.mlir.ir")
    module = lowered.compiler_ir("stablehlo")
    kept = _kept_arguments(lowered)
    types = [value.dtype for value in tree.tree_leaves(lowered.in_avals)]

    def flatten(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        leaves, structure = tree.tree_flatten((tuple(args), dict(kwargs)))
        if structure != lowered.in_tree:
            raise TypeError(
                "the arguments have another structure than the example's:"
                f" {structure} instead of {lowered.in_tree}"
            )
        return [_as_typed(leaves[number], types[number]) for number in kept]

    def unflatten(results: Sequence[Any]) -> Any:
        return tree.tree_unflatten(lowered.out_tree, list(results))

    with module.context:
        return _import(module.operation.clone(), flatten, unflatten)


def _as_typed(value: Any, dtype: Any) -> Any:
    """An argument with the type that jax traced it with; it narrows to 32 bits."""
    if getattr(value, "dtype", None) == dtype:
        return value
    return require("numpy").asarray(value, dtype=dtype)


def _kept_arguments(lowered: Any) -> list[int]:
    """The arguments that jax has not dropped from the module as unused."""
    count = lowered.in_tree.num_leaves
    details = getattr(lowered, "_lowering", None)
    kept = getattr(details, "compile_args", {}).get("kept_var_idx")
    return sorted(kept) if kept is not None else list(range(count))


def _import(
    module: Any,
    flatten: Callable[..., list[Any]] | None,
    unflatten: Callable[[Sequence[Any]], Any],
) -> ImportedProgram:
    require("jaxlib.mlir.dialects.stablehlo").register_stablehlo_passes()
    passes = require("jaxlib.mlir.passmanager").PassManager
    operation = getattr(module, "operation", module)
    _drop_attributes(operation)
    values = _lift_constants(operation)
    try:
        passes.parse(_TO_LINALG).run(operation)
    except Exception as error:
        raise UnsupportedError(_reason(str(error))) from error
    text = operation.get_asm(enable_debug_info=True)
    left = _LEFT_OVER.search(_without_locations(text))
    if left:
        raise UnsupportedError(f"jaxlib has no lowering to linalg for {left[0]}")
    text = _mlir.mend(_UNSIGNED.sub(r"i\1", text))
    names = _mlir.argument_names(text)
    first = len(names) - len(values)
    return ImportedProgram(
        text=text,
        constants=dict(enumerate(values, first)),
        names=names,
        flatten=flatten or _mlir.positional(names[:first]),
        unflatten=unflatten,
        ties={},
    )


def _without_locations(text: str) -> str:
    return re.sub(r'loc\("(?:\\.|[^"\\])*"', "", text)


def _reason(message: str) -> str:
    match = re.search(r"failed to legalize operation '([\w.]+)'", message)
    if match:
        return f"jaxlib has no lowering to linalg for {match[1]}"
    lines = [line for line in message.splitlines() if line.strip()]
    return lines[0] if lines else "jaxlib refused the program"


def _lift_constants(module: Any) -> list[Any]:
    """Make the large constants of @main its last arguments; return their arrays."""
    ir = require("jaxlib.mlir.ir")
    numpy = require("numpy")
    main = _main(module)
    entry = main.regions[0].blocks[0]
    values = []
    for operation in list(entry.operations):
        if operation.operation.name != "stablehlo.constant":
            continue
        attribute = operation.operation.attributes["value"]
        if not _is_large(attribute):
            continue
        array = numpy.array(attribute)
        result = operation.operation.results[0]
        argument = entry.add_argument(result.type, operation.operation.location)
        result.replace_all_uses_with(argument)
        operation.operation.erase()
        values.append(array)
    if values:
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        inputs = [argument.type for argument in entry.arguments]
        with main.context:
            widened = ir.FunctionType.get(inputs, kind.results)
            main.attributes["function_type"] = ir.TypeAttr.get(widened)
    return values


def _drop_attributes(module: Any) -> None:
    """Remove what jax notes on modules and functions for its own runtime."""
    for name in list(module.attributes):
        if name != "sym_name":
            del module.attributes[name]
    for function in _functions(module):
        for name in list(function.attributes):
            if name in ("arg_attrs", "res_attrs") or "." in name:
                del function.attributes[name]


def _is_large(attribute: Any) -> bool:
    """Whether a constant is worth an argument: no splat, and of floats."""
    ir = require("jaxlib.mlir.ir")
    numpy = require("numpy")
    if not isinstance(attribute, ir.DenseFPElementsAttr) or attribute.is_splat:
        return False
    return bool(numpy.array(attribute).nbytes > LARGEST_INLINE)


def _functions(module: Any) -> list[Any]:
    return [
        operation.operation
        for operation in module.regions[0].blocks[0].operations
        if operation.operation.name == "func.func"
    ]


def _main(module: Any) -> Any:
    functions = _functions(module)
    for function in functions:
        if function.attributes["sym_name"].value == "main":
            return function
    if not functions:
        raise UnsupportedError("the program has no func.func")
    return functions[0]
