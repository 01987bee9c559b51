"""Reshapes of tensors with dynamic sizes, as axes that are merged and divided.

torch says a reshape by the sizes of its result. Where several of these are dynamic,
torch-mlir guesses which axes belong together, and guesses wrong; torch's symbols for
the sizes tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chimera.errors import UnsupportedError
from chimera.importers import require

if TYPE_CHECKING:
    import torch


def divide_reshapes(graph: torch.fx.Graph) -> None:
    """Replace the reshapes that have dynamic sizes by flatten and unflatten.

    Raises:
        UnsupportedError: it is not known which axes hold the same elements.
    """
    torch = require("torch")
    aten = torch.ops.aten
    reshapes = (aten.view.default, aten._unsafe_view.default, aten.reshape.default)
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in reshapes:
            continue
        source, result = node.args[0].meta["val"], node.meta["val"]
        if all(isinstance(size, int) for size in (*source.shape, *result.shape)):
            continue
        groups = _groups(source.shape, result.shape)
        if not groups:
            raise UnsupportedError(f"the sizes of a reshape are not known: {node}")
        _divide(graph, node, groups)


def _groups(
    source: Sequence[Any], result: Sequence[Any]
) -> list[tuple[list[int], list[int]]]:
    """The finest lists of axes of both that hold the same elements; [] if unknown."""
    befores, afters = _products(source), _products(result)
    groups = []
    i = j = 0
    for end in range(1, len(befores)):
        for other in range(j + 1, len(afters)):
            if befores[end] == afters[other]:
                groups.append((list(range(i, end)), list(range(j, other))))
                i, j = end, other
                break
    if not groups:
        return []
    groups[-1][0].extend(range(i, len(source)))
    groups[-1][1].extend(range(j, len(result)))
    rest = [*source[i:], *result[j:]]
    return groups if all(_expression(size) == 1 for size in rest) else []


def _products(sizes: Sequence[Any]) -> list[Any]:
    sympy = require("sympy")
    products = [sympy.Integer(1)]
    for size in sizes:
        products.append(sympy.expand(products[-1] * _expression(size)))
    return products


def _expression(size: Any) -> Any:
    return require("sympy").Integer(size) if isinstance(size, int) else size.node.expr


def _divide(graph: torch.fx.Graph, node: torch.fx.Node, groups: Sequence[Any]) -> None:
    """Merge the axes of each group, the last first, and then divide them."""
    aten = require("torch").ops.aten
    source, sizes = node.args
    result = node.meta["val"].shape
    value = source
    with graph.inserting_before(node):
        for merged, divided in reversed(groups):
            first, last = merged[0], merged[-1]
            if len(merged) > 1:
                shape = list(value.meta["val"].shape)
                shape[first : last + 1] = [_product(shape[first : last + 1])]
                arguments = (value, first, last)
                value = _call(graph, node, aten.flatten.using_ints, arguments, shape)
            if len(divided) > 1:
                shape = list(value.meta["val"].shape)
                shape[first : first + 1] = [result[axis] for axis in divided]
                arguments = (value, first, [sizes[axis] for axis in divided])
                value = _call(graph, node, aten.unflatten.int, arguments, shape)
    node.replace_all_uses_with(value)
    graph.erase_node(node)


def _product(sizes: Sequence[Any]) -> Any:
    product = sizes[0]
    for size in sizes[1:]:
        product = product * size
    return product


def _call(
    graph: torch.fx.Graph,
    origin: torch.fx.Node,
    target: Any,
    arguments: tuple[Any, ...],
    shape: Sequence[Any],
) -> torch.fx.Node:
    call = graph.call_function(target, arguments)
    call.meta = {k: v for k, v in origin.meta.items() if k != "tensor_meta"}
    call.meta["val"] = origin.meta["val"].new_empty(shape)
    return call
