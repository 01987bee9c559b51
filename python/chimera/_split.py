"""Graphs of ATen operators, split into parts to compile and operators for torch.

The compiler or an importer may refuse an operator. Then the operator goes to torch
and what is left is split again: the program of the user runs in any case.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chimera._parts import Options, Part, copy_graph, note_fallback
from chimera.errors import MissingPackageError
from chimera.importers import require
from chimera.importers.torch import deny_reason

if TYPE_CHECKING:
    import torch

MOST_SHAPES = 64
"""Shapes for which a graph is compiled anew, where it cannot be for all at once."""

MOST_ROUNDS = 24
"""Times that a graph is split again before all of it is left to torch."""


class _Refused(Exception):
    """Nodes that could not be compiled, by name, and why."""

    def __init__(self, reason: str, nodes: Iterable[str]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.nodes = set(nodes)


def compile_graph(
    module: torch.fx.GraphModule, static: set[int], options: Options
) -> Callable[..., tuple[Any, ...]]:
    """Compile a functional graph, whose last operators may copy into arguments.

    Args:
        module: the graph, with the values of its nodes as metadata.
        static: numbers of the arguments that are parameters and buffers.
        options: how to compile.

    Returns a function of the arguments that returns a tuple, as the graph does. What
    cannot be compiled runs in torch, with the reason said.
    """
    changed = _take_changes(module)
    if changed is None:
        note_fallback("a graph that changes tensors in its middle runs in torch")
        return _eager(module)
    constant = static - set(changed)
    call = _compile_functional(module, constant, options)
    return _with_changes(call, changed) if changed else call


def _eager(module: torch.fx.GraphModule) -> Callable[..., tuple[Any, ...]]:
    """A graph as torch runs it."""
    forward: Callable[..., tuple[Any, ...]] = module.forward
    return forward


def _compile_functional(
    module: torch.fx.GraphModule, constant: set[int], options: Options
) -> Callable[..., tuple[Any, ...]]:
    if not _is_dynamic(module.graph):
        return _split(module, constant, options)
    try:
        return _compile_once(module, constant, options, _denied(module.graph))
    except _Refused as refused:
        note_fallback(
            f"compiled anew for each shape, since {refused.reason} with dynamic sizes"
        )
        return _PerShape(module, constant, options)


def _is_dynamic(graph: torch.fx.Graph) -> bool:
    symbolic = require("torch.fx.experimental.symbolic_shapes")
    values = (n.meta.get("val") for n in graph.nodes if n.op == "placeholder")
    return any(
        symbolic.has_free_symbols(value) for value in values if value is not None
    )


def _take_changes(module: torch.fx.GraphModule) -> list[int] | None:
    """Turn copies into arguments into further outputs of the graph.

    Returns the numbers of the arguments to copy these into, or None if the graph
    changes anything else in place.
    """
    torch = require("torch")
    graph = module.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    changes = []
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None or not schema.is_mutable:
            continue
        copies = node.target is torch.ops.aten.copy_.default
        if not copies or node.args[0].op != "placeholder":
            return None
        changes.append(node)
    output = next(node for node in graph.nodes if node.op == "output")
    values = [node.args[1] for node in changes]
    numbers = [placeholders.index(node.args[0]) for node in changes]
    for node, value in zip(changes, values):
        node.replace_all_uses_with(value)
        graph.erase_node(node)
    output.args = (tuple(output.args[0]) + tuple(values),)
    module.recompile()
    return numbers


def _with_changes(
    call: Callable[..., tuple[Any, ...]], changed: Sequence[int]
) -> Callable[..., tuple[Any, ...]]:
    torch = require("torch")

    def run(*args: Any) -> tuple[Any, ...]:
        results = call(*args)
        first = len(results) - len(changed)
        with torch.no_grad():
            for number, value in zip(changed, results[first:]):
                args[number].copy_(value)
        return results[:first]

    return run


class _PerShape:
    """A graph that is compiled for each shape of its arguments that comes."""

    def __init__(
        self, module: torch.fx.GraphModule, constant: set[int], options: Options
    ) -> None:
        self._module = module
        self._constant = constant
        self._options = options
        self._calls: dict[tuple[Any, ...], Callable[..., tuple[Any, ...]]] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        key = tuple(getattr(value, "shape", value) for value in args)
        call = self._calls.get(key)
        if call is None:
            with self._lock:
                call = self._calls.get(key) or self._compile(key, args)
        return call(*args)

    def _compile(
        self, key: tuple[Any, ...], args: Sequence[Any]
    ) -> Callable[..., tuple[Any, ...]]:
        if len(self._calls) == MOST_SHAPES:
            note_fallback(f"a graph came with more than {MOST_SHAPES} shapes")
            return _eager(self._module)
        torch = require("torch")
        tracing = require("torch.fx.experimental.proxy_tensor")
        interpreter = torch.fx.Interpreter(self._module)
        with torch.no_grad(), torch.fx.traceback.preserve_node_meta():
            static = tracing.make_fx(interpreter.run, tracing_mode="fake")(*args)
        self._calls[key] = _split(static, self._constant, self._options)
        return self._calls[key]


def _denied(graph: torch.fx.Graph) -> set[str]:
    denied = set()
    for node in graph.nodes:
        reason = deny_reason(node)
        if reason:
            note_fallback(f"{reason}, so it runs in torch")
            denied.add(node.name)
    return denied


def _split(
    module: torch.fx.GraphModule, constant: set[int], options: Options
) -> Callable[..., tuple[Any, ...]]:
    """Compile what can be, with as many rounds as operators are refused."""
    graph = module.graph
    operators = [node for node in graph.nodes if node.op == "call_function"]
    if not operators:
        return _eager(module)
    excluded = _denied(graph)
    for _ in range(MOST_ROUNDS):
        if len(excluded) == len(operators):
            break
        try:
            return _compile_once(module, constant, options, excluded)
        except _Refused as refused:
            note_fallback(f"{refused.reason}, so it runs in torch")
            targets = {n.target for n in operators if n.name in refused.nodes}
            targets.discard(operator.getitem)
            fault = {n.name for n in operators if n.target in targets}
            if not fault - excluded:
                break
            excluded |= fault
    return _eager(module)


def _compile_once(
    module: torch.fx.GraphModule,
    constant: set[int],
    options: Options,
    excluded: set[str],
) -> Callable[..., tuple[Any, ...]]:
    """Compile all but the excluded nodes.

    Raises:
        _Refused: names nodes that could not be compiled.
    """
    excluded = _with_members(module.graph, excluded | _numbers(module.graph))
    if not excluded:
        whole = _lower(module.graph, constant)
        _compile(whole, module.graph, options)
        return whole
    torch = require("torch")
    split = torch.fx.GraphModule(module, copy_graph(module.graph))
    parts = {}
    for node in _fuse(split, excluded):
        fixed = {i for i, value in enumerate(node.args) if _is_fixed(value, constant)}
        parts[node.target] = _lower(getattr(split, node.target).graph, fixed)
    for name, part in parts.items():
        _compile(part, getattr(split, name).graph, options)
        _put(getattr(split, name), part)
    return _eager(split)


def _numbers(graph: torch.fx.Graph) -> set[str]:
    """The numbers that a graph computes and returns; parts return tensors."""
    torch = require("torch")
    output = next(node for node in graph.nodes if node.op == "output")
    return {
        node.name
        for node in output.all_input_nodes
        if node.op == "call_function"
        and not isinstance(node.meta.get("val"), torch.Tensor)
    }


def _with_members(graph: torch.fx.Graph, excluded: set[str]) -> set[str]:
    """The excluded nodes, with what takes their results apart, and numbers."""
    torch = require("torch")
    if not excluded:
        return excluded
    result = set(excluded)
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        member = node.target is operator.getitem and node.args[0].name in result
        number = not isinstance(node.meta.get("val"), (torch.Tensor, tuple, list))
        if member or number:
            result.add(node.name)
    return result


def _fuse(split: torch.fx.GraphModule, excluded: set[str]) -> list[torch.fx.Node]:
    """Gather supported nodes into modules; return the calls of these."""
    base: Any = require("torch.fx.passes.operator_support").OperatorSupportBase
    partitioner = require("torch.fx.passes.infra.partitioner")

    class Supported(base):  # type: ignore[misc]
        def is_node_supported(
            self, submodules: Mapping[str, Any], node: torch.fx.Node
        ) -> bool:
            return node.op == "call_function" and node.name not in excluded

    partitioner.CapabilityBasedPartitioner(
        split, Supported(), allows_single_node_partition=False
    ).partition_and_fuse()
    return [node for node in split.graph.nodes if node.op == "call_module"]


def _is_fixed(value: Any, constant: set[int]) -> bool:
    """Whether an argument of a part is the same in every call of the graph."""
    if value.op == "get_attr":
        return True
    if value.op != "placeholder":
        return False
    placeholders = [n for n in value.graph.nodes if n.op == "placeholder"]
    return placeholders.index(value) in constant


def _lower(graph: torch.fx.Graph, constant: set[int]) -> Part:
    try:
        return Part(graph, constant)
    except MissingPackageError:
        raise
    except Exception as error:
        names = [n.name for n in graph.nodes if n.op == "call_function"]
        nodes = [n for n in getattr(error, "nodes", ()) if n in names]
        raise _Refused(_reason(error), nodes or names) from error


def _compile(part: Part, graph: torch.fx.Graph, options: Options) -> None:
    try:
        part.compile(options)
    except Exception as error:
        nodes = _culprits(graph, options) or part.nodes
        raise _Refused(f"the compiler says {_reason(error)!r}", nodes) from error
    if _is_dynamic(graph) and not part.has_plan_for_any_sizes:
        # Plain loops take many times as long as planned code.
        raise _Refused("there is no plan", part.nodes)


def _culprits(graph: torch.fx.Graph, options: Options) -> list[str]:
    """The operators of a graph that do not compile alone either.

    The compiler may not know any more which operator something came from.
    """
    first: dict[Any, torch.fx.Node] = {}
    for node in graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            first.setdefault(node.target, node)
    return [node.name for node in first.values() if not _compiles(node, options)]


def _compiles(node: torch.fx.Node, options: Options) -> bool:
    try:
        Part(_alone(node), set()).compile(options)
    except Exception:
        return False
    return True


def _alone(node: torch.fx.Node) -> torch.fx.Graph:
    """A graph of one operator and what takes its results apart."""
    graph = require("torch").fx.Graph(node.graph.owning_module)
    known = {}
    for source in node.all_input_nodes:
        known[source] = graph.placeholder(source.name)
        known[source].meta = dict(source.meta)
    known[node] = graph.node_copy(node, known.__getitem__)
    members = [user for user in node.users if user.target is operator.getitem]
    results = [graph.node_copy(member, known.__getitem__) for member in members]
    graph.output(tuple(results or [known[node]]))
    return graph


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or str(error)
    return (reason.splitlines() or [type(error).__name__])[0]


def _put(module: torch.fx.GraphModule, part: Part) -> None:
    """Let a module of the split graph call a part."""
    output = next(node for node in module.graph.nodes if node.op == "output")
    if isinstance(output.args[0], (list, tuple)):
        module.forward = part
    else:
        module.forward = lambda *args: part(*args)[0]
