"""A compiled part of a torch graph: its code, its sets of weights, its strides.

Dynamo shares one graph between all modules of a class, so weights belong to no code:
each set of weights that a part is called with gets an instance with memory of its
own, found again by the addresses and the versions of the tensors.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import operator
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chimera._prepared import known_panels
from chimera._weights import Originals
from chimera.errors import UnsupportedError
from chimera.importers import require
from chimera.importers.torch import lower_graph

if TYPE_CHECKING:
    import torch

_LOG = logging.getLogger("chimera")
_reasons: dict[str, int] = {}
_refreshed = 0


def note_fallback(reason: str) -> None:
    """Count a reason for which something runs in torch; say it the first time."""
    _reasons[reason] = _reasons.get(reason, 0) + 1
    if _reasons[reason] == 1:
        _LOG.warning("chimera: %s", reason)


def fallbacks() -> dict[str, int]:
    """The reasons so far for which something ran in torch, with their counts."""
    return dict(_reasons)


def refresh() -> None:
    """Pack all weights again in the next call, after changes torch does not count."""
    global _refreshed
    _refreshed += 1


@dataclasses.dataclass(frozen=True)
class Options:
    """How parts are compiled: as the arguments of `chimera.compile` of these names."""

    target: str = "host"
    threads: int | None = None
    sizes: Any = None
    fuse: str = "auto"
    cache: bool = True
    discard_weights: bool = False
    page_out_weights: bool = True

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Options:
        """Options from a user's dictionary.

        Raises:
            ValueError: names the option that does not exist.
        """
        unknown = set(given) - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ValueError(
                f"the backend chimera has no option {sorted(unknown)[0]!r}"
            )
        return cls(**given)

    def for_compiler(self) -> dict[str, Any]:
        """What decides about code."""
        options = dataclasses.asdict(self)
        del options["discard_weights"], options["page_out_weights"]
        return options

    @property
    def originals(self) -> Originals:
        """What becomes of weights once they are packed."""
        return Originals.chosen(self.discard_weights, self.page_out_weights)


PANELS = "chimera_panels"
"""On a placeholder for a weight, the columns of the panels in which it is packed."""

MOST_INSTANCES = 16
"""Sets of weights of one part that are kept packed."""


class Weights:
    """The instances of a library, one for each set of weights it is called with.

    Where weights are discarded, their storage is given back once they are packed. The
    tensors stay, as what their module is known by.
    """

    def __init__(
        self,
        library: Any,
        positions: Sequence[int],
        originals: Originals = Originals.KEPT,
    ) -> None:
        self._library = library
        self._positions = tuple(positions)
        self._originals = originals
        self._packed: dict[tuple[int, ...], tuple[Any, Any]] = {}
        self._owners: dict[tuple[int, ...], list[weakref.ref[Any]]] = {}
        self._lock = threading.Lock()
        torch = require("torch")
        self._discards = originals is Originals.DISCARDED
        # What is discarded has no address any more.
        self._identity = id if self._discards else torch.Tensor.data_ptr
        self._version = torch._C.TensorBase._version.__get__

    def __len__(self) -> int:
        return len(self._packed)

    def instance(self, tensors: Sequence[Any]) -> Any:
        """The instance for these weights, packed as they are now."""
        key = tuple(map(self._identity, tensors))
        versions = (_refreshed, self._read_versions(tensors))
        packed = self._packed.get(key)
        if packed is not None and packed[0] == versions:
            return packed[1]
        with self._lock:
            packed = self._packed.get(key)
            known = packed[1] if packed else None
            if packed is None or packed[0] != versions:
                known = self._pack(known, key, tensors)
                self._packed[key] = (versions, known)
            return known

    def _read_versions(self, tensors: Sequence[Any]) -> tuple[int, ...]:
        try:
            return tuple(map(self._version, tensors))
        except RuntimeError:
            counted = (0 if t.is_inference() else t._version for t in tensors)
            return tuple(counted)

    def _pack(self, known: Any, key: tuple[int, ...], tensors: Sequence[Any]) -> Any:
        if known is not None and all(t.is_contiguous() for t in tensors):
            known.pack(_refreshed)
            return known
        if len(self._packed) >= MOST_INSTANCES:
            self._forget(next(iter(self._packed)))
        # A number is that of its tensor only as long as the tensor lives.
        owners = tensors if self._discards else tensors[:1]
        forget = self._forgetter(key)
        self._owners[key] = [weakref.ref(tensor, forget) for tensor in owners]
        values = [tensor.detach() for tensor in tensors]
        return self._library.instantiate(
            dict(zip(self._positions, values)),
            originals=self._originals,
            state=_refreshed,
        )

    def _forget(self, key: tuple[int, ...]) -> None:
        self._packed.pop(key, None)
        self._owners.pop(key, None)

    def _forgetter(self, key: tuple[int, ...]) -> Callable[[Any], None]:
        """Drops the instance of weights whose module is gone."""
        weights = weakref.ref(self)

        def forget(_: Any) -> None:
            owner = weights()
            if owner is not None:
                owner._forget(key)

        return forget


class Part:
    """Code that is called as the graph that it is made from.

    Making it lowers the graph, and `compile` compiles it.

    Raises, when made:
        LoweringError: an operator cannot be lowered; names the nodes.
    """

    def __init__(self, graph: torch.fx.Graph, constant: set[int]) -> None:
        graph = copy_graph(graph)
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        names = [node.name for node in inputs]
        panels = {node.name: node.meta.get(PANELS) for node in inputs}
        self.arity = len(names)
        self.nodes = [n.name for n in graph.nodes if n.op == "call_function"]
        self._held = _lift_attributes(graph)
        self._strides = _result_strides(graph)
        self._rebuild = _take_results(graph, names)
        gone = _replace_symbols(graph)
        kept = [number for number in range(len(names)) if number not in gone]
        places = [i for i, number in enumerate(kept) if number in constant]
        self._constants = [kept[i] for i in places]
        self._inputs = [number for number in kept if number not in constant]
        held = [len(kept) + i for i in range(len(self._held))]
        self._panels = {
            place: columns
            for place, tensor in zip(held, self._held)
            if (columns := known_panels(tensor))
        }
        for place in places:
            if columns := panels[names[kept[place]]]:
                self._panels[place] = columns
        self._places = places + held
        self._text = lower_graph(graph)

    def compile(self, options: Options) -> None:
        """Compile the lowered graph.

        Raises:
            CompileError: the compiler refused the program.
        """
        library = require("chimera._compiler").compile_text(
            self._text,
            constants=tuple(self._places),
            panels=self._panels,
            only_panels=options.originals is not Originals.KEPT,
            **options.for_compiler(),
        )
        self._text = ""
        self._weights = Weights(library, self._places, options.originals)
        manifest = library.manifest
        self.has_plan_for_any_sizes = not any(
            remark["name"] == "sizes" for remark in manifest["remarks"]
        )

    def keeps(self, promised: Sequence[tuple[int, ...] | None]) -> bool:
        """Whether results have these strides in every call, where there are any."""
        return len(promised) == len(self._strides) and all(
            wanted is None or wanted == strides
            for wanted, strides in zip(promised, self._strides)
        )

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        constants = [args[number] for number in self._constants]
        constants += self._held
        instance = self._weights.instance(constants)
        results = instance(*[args[number] for number in self._inputs])
        if not self._inputs:
            results = [_as_tensor(result) for result in results]
        return self._rebuild(results, args)


def _as_tensor(value: Any) -> Any:
    torch = require("torch")
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(value)


def copy_graph(graph: torch.fx.Graph) -> torch.fx.Graph:
    """A graph with the nodes, names and metadata of another."""
    torch = require("torch")
    copy = torch.fx.Graph(graph.owning_module)
    copy.output(copy.graph_copy(graph, {}))
    return copy


def _lift_attributes(graph: torch.fx.Graph) -> list[Any]:
    """Make tensors that the graph holds its last arguments; return them."""
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    attributes = [node for node in graph.nodes if node.op == "get_attr"]
    place = placeholders[-1] if placeholders else None
    values: list[Any] = []
    for node in attributes:
        if not node.users:
            graph.erase_node(node)
            continue
        value = operator.attrgetter(node.target)(graph.owning_module)
        with graph.inserting_after(place) if place else graph.inserting_before():
            place = graph.placeholder(f"held_{len(values)}")
        place.meta = {**node.meta}
        place.meta.setdefault("val", _fake_like(graph, value))
        node.replace_all_uses_with(place)
        graph.erase_node(node)
        values.append(value)
    return values


def _fake_like(graph: torch.fx.Graph, value: Any) -> Any:
    for node in graph.nodes:
        fake = getattr(node.meta.get("val"), "fake_mode", None)
        if fake is not None:
            return fake.from_tensor(value)
    fake_tensor = require("torch._subclasses.fake_tensor")
    return fake_tensor.FakeTensorMode().from_tensor(value)


def _replace_symbols(graph: torch.fx.Graph) -> set[int]:
    """Read sizes that are arguments from the tensors that have them.

    Returns the numbers of the arguments that are gone.
    """
    torch = require("torch")
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    sizes: dict[str, tuple[Any, int]] = {}
    for node in placeholders:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt):
                    sizes.setdefault(str(size), (node, axis))
    gone = set()
    for number, node in enumerate(placeholders):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            continue
        if node.users:
            if str(value) not in sizes:
                continue
            with graph.inserting_after(placeholders[-1]):
                size = graph.call_function(
                    torch.ops.aten.sym_size.int, sizes[str(value)]
                )
            size.meta = dict(node.meta)
            node.replace_all_uses_with(size)
        graph.erase_node(node)
        gone.add(number)
    return gone


def _take_results(
    graph: torch.fx.Graph, names: Sequence[str]
) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
    """Leave each tensor that the graph computes once as a result, in memory order.

    Returns what makes the outputs of the graph from the results and the arguments,
    whose names are given: arguments and plain values pass by, and results get the
    strides that torch was promised, by views where it can be.

    Raises:
        UnsupportedError: the promised strides have gaps and depend on sizes.
    """
    output = next(node for node in graph.nodes if node.op == "output")
    outputs = output.args[0]
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    places: dict[Any, int] = {}
    makers: list[Callable[[Sequence[Any], Sequence[Any]], Any]] = []
    for value in outputs:
        if not hasattr(value, "op"):
            makers.append(functools.partial(_plain, value))
        elif value.name in names:
            makers.append(functools.partial(_argument, names.index(value.name)))
        else:
            place = places.setdefault(value, len(places))
            makers.append(functools.partial(_result, place, _restrider(value)))
    with graph.inserting_before(output):
        output.args = (tuple(_in_memory_order(graph, value) for value in places),)
    return lambda results, args: tuple([make(results, args) for make in makers])


def _result_strides(graph: torch.fx.Graph) -> list[tuple[int, ...] | None]:
    """The strides of the tensors that a part of this graph returns: those of
    tensors that it makes, with static shapes."""
    torch = require("torch")
    output = next(node for node in graph.nodes if node.op == "output")
    outputs = output.args[0]
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    strides: list[tuple[int, ...] | None] = []
    for node in outputs:
        value: Any = getattr(node, "meta", {}).get("val")
        known = (
            getattr(node, "op", None) == "call_function"
            and isinstance(value, torch.Tensor)
            and all(isinstance(size, int) for size in value.shape)
            and all(isinstance(stride, int) for stride in value.stride())
        )
        strides.append(tuple(value.stride()) if known else None)
    return strides


def _plain(value: Any, results: Sequence[Any], args: Sequence[Any]) -> Any:
    return value


def _argument(number: int, results: Sequence[Any], args: Sequence[Any]) -> Any:
    return args[number]


def _result(
    place: int,
    restride: Callable[[Any], Any] | None,
    results: Sequence[Any],
    args: Sequence[Any],
) -> Any:
    return restride(results[place]) if restride else results[place]


def _hint(size: Any) -> int:
    """A size as a number, with no promise to torch that it stays so."""
    if isinstance(size, int):
        return size
    hint = getattr(size.node, "hint", None)
    return int(hint) if hint is not None else 1 << 13


def _memory_order(value: Any) -> list[int]:
    """The axes of a tensor from the outermost in memory to the innermost."""
    sizes = [_hint(size) for size in value.shape]
    strides = [_hint(stride) for stride in value.stride()]
    wide = [axis for axis, size in enumerate(sizes) if size != 1]
    ordered = iter(sorted(wide, key=lambda axis: -strides[axis]))
    return [next(ordered) if size != 1 else axis for axis, size in enumerate(sizes)]


def _is_dense(value: Any) -> bool:
    expected = 1
    for axis in reversed(_memory_order(value)):
        size = _hint(value.shape[axis])
        if size != 1 and _hint(value.stride()[axis]) != expected:
            return size == 0
        expected *= size
    return True


def _in_memory_order(graph: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.Node:
    value = node.meta["val"]
    if not isinstance(value, require("torch").Tensor):
        return node
    order = _memory_order(value)
    if order == sorted(order):
        return node
    permute = require("torch").ops.aten.permute.default
    permuted = graph.call_function(permute, (node, order))
    permuted.meta = {k: v for k, v in node.meta.items() if k != "tensor_meta"}
    permuted.meta["val"] = value.permute(order)
    return permuted


def _restrider(node: torch.fx.Node) -> Callable[[Any], Any] | None:
    """What gives a result, which is in memory order, its promised strides."""
    value = node.meta["val"]
    if not isinstance(value, require("torch").Tensor):
        return None
    order = _memory_order(value)
    inverse = sorted(range(len(order)), key=order.__getitem__)
    if _is_dense(value):
        return None if order == inverse == sorted(order) else _permuter(inverse)
    strides = value.stride()
    if not all(isinstance(stride, int) for stride in strides):
        raise UnsupportedError("the strides of a result are not known")

    def spread(result: Any) -> Any:
        result = result.permute(inverse)
        return _with_strides(result, strides)

    return spread


def _permuter(order: Sequence[int]) -> Callable[[Any], Any]:
    return lambda result: result.permute(order)


def _with_strides(result: Any, strides: Sequence[int]) -> Any:
    """A copy with gaps, or with axes that repeat one element."""
    torch = require("torch")
    shape = list(result.shape)
    for axis, stride in enumerate(strides):
        if stride == 0 and shape[axis] > 1:
            result = result.narrow(axis, 0, 1)
    spread = torch.empty_strided(result.shape, strides, dtype=result.dtype)
    return spread.copy_(result).expand(shape)
