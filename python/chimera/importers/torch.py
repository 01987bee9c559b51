"""The door for torch: exported programs, modules, and graphs of torch.compile.

torch-mlir owns the road from ATen to linalg. Here weights stay beside the program
as arguments, locations become the user's lines and layers, and failures are traced
to the operators that caused them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chimera.errors import UnsupportedError
from chimera.importers import ImportedProgram, _mlir, require
from chimera.importers._decompositions import table
from chimera.importers._reshapes import divide_reshapes

if TYPE_CHECKING:
    import torch

__all__ = [
    "LoweringError",
    "deny_reason",
    "import_exported",
    "import_module",
    "lower_graph",
    "table",
]

_TO_TORCH = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{"
    "backend-legal-ops=aten.flatten.using_ints,aten.unflatten.int extra-library=})"
)
_TO_LINALG = (
    "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline"
    "{allow-non-finites=true})"
)
_RANDOM = re.compile(
    r"^(rand|randn|randint|randperm|bernoulli|dropout|native_dropout|normal"
    r"|uniform|multinomial|exponential|cauchy|geometric|log_normal|poisson|rrelu)"
    r"(_like|_functional|_with_noise_functional)?_?$"
)
_NODE = re.compile(r'"node:([\w.$-]+)"')
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


class LoweringError(UnsupportedError):
    """A graph holds operators that cannot be lowered; says where they come from.

    Attributes:
        reason: what is not supported, in one line.
        nodes: the names of the nodes of the graph at fault, as far as known.
    """

    def __init__(self, reason: str, nodes: Sequence[str], place: str = "") -> None:
        super().__init__(reason + place)
        self.reason = reason
        self.nodes = tuple(nodes)


def import_module(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any = None,
) -> ImportedProgram:
    """Trace a module or a function with example arguments and import it.

    Raises:
        MissingPackageError: torch or torch-mlir is not installed.
        UnsupportedError: an operator cannot be lowered, or tracing failed.
    """
    torch = require("torch")
    module = model if isinstance(model, torch.nn.Module) else _as_module(model)
    if module.training and isinstance(model, torch.nn.Module):
        raise UnsupportedError("the module is in training mode: call .eval() first")
    try:
        program = torch.export.export(
            module, args, dict(kwargs), dynamic_shapes=dynamic_shapes, strict=False
        )
    except Exception as error:
        raise UnsupportedError(f"torch.export failed: {error}") from error
    return import_exported(program)


def _as_module(function: Callable[..., Any]) -> Any:
    module: Any = require("torch").nn.Module

    class Function(module):  # type: ignore[misc]
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    return Function().eval()


def import_exported(program: torch.export.ExportedProgram) -> ImportedProgram:
    """Import a program of torch.export.

    Raises:
        MissingPackageError: torch-mlir is not installed.
        UnsupportedError: an operator cannot be lowered.
    """
    program = program.run_decompositions(table())
    graph = program.graph
    for node in graph.nodes:
        reason = deny_reason(node)
        if reason:
            raise LoweringError(reason, [node.name], _place(node))
    constants: dict[int, Any] = {}
    signature = _Signature(program, constants)
    text = lower_graph(graph)
    return ImportedProgram(
        text=text,
        constants=constants,
        names=signature.names,
        flatten=signature.flatten,
        unflatten=signature.unflatten,
        ties=signature.ties,
    )


class _Signature:
    """What torch.export says of the arguments and results of a program.

    Placeholders and outputs that are no values (None, numbers) leave the graph.
    Weights are put into `constants` and are not kept here: who has them may let
    go of them.
    """

    def __init__(
        self, program: torch.export.ExportedProgram, constants: dict[int, Any]
    ) -> None:
        self._in_spec = program.call_spec.in_spec
        self._out_spec = program.call_spec.out_spec
        self.names: list[str] = []
        self.ties: dict[int, int] = {}
        self._sources: list[tuple[str, Any]] = []
        self._outputs: list[tuple[str, Any]] = []
        numbers = self._read_inputs(program, constants)
        self._read_outputs(program, numbers)

    def _read_inputs(
        self, program: torch.export.ExportedProgram, constants: dict[int, Any]
    ) -> dict[str, int]:
        """Fill in the arguments; return their numbers by what they hold."""
        signature = program.graph_signature
        placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
        changed = set(signature.buffers_to_mutate.values())
        numbers: dict[str, int] = {}
        position = 0
        for node, spec in zip(placeholders, signature.input_specs):
            is_input = spec.kind.name == "USER_INPUT"
            if is_input and type(spec.arg).__name__ == "ConstantArgument":
                position += 1
                program.graph.erase_node(node)
                continue
            number = len(self.names)
            numbers[node.name] = number
            self.names.append(spec.target or node.name)
            if is_input:
                self._sources.append(("input", position))
                position += 1
                continue
            value = program.state_dict.get(spec.target)
            if value is None:
                value = program.constants[spec.target]
            numbers[spec.target] = number
            if spec.target in changed:
                self._sources.append(("buffer", value))
            else:
                constants[number] = value.detach()
        return numbers

    def _read_outputs(
        self, program: torch.export.ExportedProgram, numbers: Mapping[str, int]
    ) -> None:
        output = next(n for n in program.graph.nodes if n.op == "output")
        kept: list[Any] = []
        for value, spec in zip(output.args[0], program.graph_signature.output_specs):
            kind = spec.kind.name
            if kind.endswith("MUTATION"):
                self.ties[len(kept)] = numbers[spec.target]
            elif not hasattr(value, "op"):
                self._outputs.append(("value", value))
                continue
            else:
                self._outputs.append(("result", len(kept)))
            kept.append(value)
        output.args = (tuple(kept),)

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments of @main that are no constants, from a user's call."""
        pytree = require("torch").utils._pytree
        leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
        if spec != self._in_spec:
            raise TypeError(
                "the arguments have another structure than the example's:"
                f" {spec} instead of {self._in_spec}"
            )
        return [
            leaves[value] if kind == "input" else value for kind, value in self._sources
        ]

    def unflatten(self, results: Sequence[Any]) -> Any:
        """What the user's function returns, from the results of @main."""
        pytree = require("torch").utils._pytree
        leaves = [
            results[value] if kind == "result" else value
            for kind, value in self._outputs
        ]
        return pytree.tree_unflatten(leaves, self._out_spec)


def deny_reason(node: torch.fx.Node) -> str:
    """Why a node must not be compiled although it would lower, else "".

    Random numbers would be others than torch's; complex and quantised numbers and
    other devices than the CPU have no arrays here.
    """
    torch = require("torch")
    if node.op != "call_function":
        return ""
    overload = node.target
    if isinstance(overload, torch._ops.OpOverload):
        name = overload._schema.name.split("::")[1]
        if _RANDOM.match(name) or torch.Tag.nondeterministic_seeded in overload.tags:
            return f"{overload} draws random numbers"
    elif isinstance(overload, torch._ops.HigherOrderOperator):
        return f"{overload} is control flow"
    arguments = [a for a in node.all_input_nodes] + [node]
    for value in (argument.meta.get("val") for argument in arguments):
        if not isinstance(value, torch.Tensor):
            continue
        if value.device.type != "cpu":
            return f"{overload} runs on {value.device.type}"
        if value.dtype not in _dtypes():
            return f"{overload} works on {value.dtype}"
        if value.layout != torch.strided:
            return f"{overload} works on {value.layout}"
    return ""


def _dtypes() -> set[Any]:
    torch = require("torch")
    floats = {torch.float32, torch.float64, torch.float16, torch.bfloat16}
    return floats | {torch.bool, torch.int64, torch.int32}


def _place(node: torch.fx.Node) -> str:
    layer, frame = _layer(node), _frame(node)
    where = ", ".join(
        x for x in (layer, f"{frame[0]}:{frame[1]}" if frame else "") if x
    )
    return f" ({where})" if where else ""


def _layer(node: torch.fx.Node) -> str:
    """The user's name of the innermost layer that a node comes from."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    path = re.sub(r"\._modules\['(\w+)'\]", r".\1", path)
    path = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", path.removeprefix("L['self']"))
    return path.removeprefix("getattr").strip(".")


def _frame(node: torch.fx.Node) -> tuple[str, int] | None:
    """The innermost line outside torch itself that a node comes from."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    users = [f for f in frames if "/torch/" not in f[0] and f[0] != __file__]
    chosen = (users or frames)[-1:]
    return (chosen[0][0], int(chosen[0][1])) if chosen else None


def lower_graph(graph: torch.fx.Graph) -> str:
    """Lower a graph of ATen operators to linalg text.

    Placeholders become the arguments of @main, in order; the outputs its results.
    The graph may change, but computes the same.

    Raises:
        MissingPackageError: torch-mlir is not installed.
        LoweringError: with the nodes at fault.
    """
    divide_reshapes(graph)
    try:
        return _Lowering(by_node=False).run(graph)
    except Exception as error:
        reason, nodes = _Lowering(by_node=True).find_fault(graph)
        fault = next((node for node in graph.nodes if node.name in nodes), None)
        place = _place(fault) if fault else ""
        raise LoweringError(reason or _one_line(str(error)), nodes, place) from error


class _Lowering:
    """One run of torch-mlir, with the locations either the user's or the nodes'."""

    def __init__(self, by_node: bool) -> None:
        self._ir = require("torch_mlir.ir")
        self._by_node = by_node
        self._last_node = ""

    def run(self, graph: torch.fx.Graph) -> str:
        module = self._lower(graph)
        text = module.operation.get_asm(enable_debug_info=True)
        if "tm_tensor." in text:
            raise UnsupportedError("an operator needs what linalg has not")
        return _mlir.mend(text)

    def find_fault(self, graph: torch.fx.Graph) -> tuple[str, list[str]]:
        """Why a lowering fails, and the nodes for which it does, as far as known."""
        try:
            module = self._lower(graph)
        except Exception as error:
            nodes = _NODE.findall(str(error)) or [self._last_node]
            return _one_line(str(error)), list(dict.fromkeys(nodes))
        return self._find_left_over(module)

    def _find_left_over(self, module: Any) -> tuple[str, list[str]]:
        names: list[str] = []
        nodes: list[str] = []

        def visit(operation: Any) -> Any:
            dialect, name = operation.name.split(".", 1)
            if dialect == "tm_tensor" and name != "yield":
                names.append(name)
                nodes.extend(_NODE.findall(str(operation.location)))
            return self._ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        if not names:
            return "", []
        return f"an operator needs a {names[0]}, which linalg has not", nodes

    def _lower(self, graph: torch.fx.Graph) -> Any:
        dialect = require("torch_mlir.dialects.torch")
        importer_module = require("torch_mlir.extras.fx_importer")
        context = self._ir.Context()
        dialect.register_dialect(context)
        importer = importer_module.FxImporter(context=context)
        importer._cc = self._locations(importer_module, importer, context)
        function = importer.import_stateless_graph(graph, func_name="main")
        with context:
            function.operation.attributes["torch.assume_strict_symbolic_shapes"] = (
                self._ir.UnitAttr.get()
            )
        passes = require("torch_mlir.passmanager").PassManager
        for pipeline in (_TO_TORCH, _TO_LINALG):
            passes.parse(pipeline, context).run(importer.module.operation)
        return importer.module

    def _locations(self, importer_module: Any, importer: Any, context: Any) -> Any:
        """The importer's cache, with locations that mean something to users."""
        ir, lowering = self._ir, self

        class Locations(importer_module.ContextCache):  # type: ignore[misc]
            def get_node_location(self, node: torch.fx.Node) -> Any:
                lowering._last_node = node.name
                if lowering._by_node:
                    return ir.Location.name(f"node:{node.name}", context=context)
                layer, frame = _layer(node), _frame(node)
                place = ir.Location.unknown(context)
                if frame:
                    place = ir.Location.file(*frame, 0, context=context)
                return ir.Location.name(layer, place, context) if layer else place

        return Locations(context, py_attr_tracker=importer._py_attr_tracker)


def _one_line(message: str) -> str:
    """What a message of torch-mlir says of an operator, as short as it can be."""
    patterns = (
        r'name = "torch\.([\w.]+)"',
        r"failed to legalize operation '(?:torch\.)?(?!operator')([\w.]+)'",
    )
    for pattern in patterns:
        match = re.search(pattern, message)
        if match:
            return f"torch-mlir has no lowering for {match[1]}"
    lines = [line for line in message.splitlines() if "pass pipeline:" not in line]
    line = lines[0] if lines else "torch-mlir refused the program"
    return re.sub(r'^error: (?:"node:[\w.$-]+": )?', "", line)[:200]
