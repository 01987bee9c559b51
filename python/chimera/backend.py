"""The backend of torch.compile: `torch.compile(model, backend="chimera")`.

Dynamo hands over graphs of torch functions. They become graphs of ATen operators;
the largest parts of these that the compiler takes are compiled, and the rest runs in
torch as before, said once with the reason through the logger "chimera". Parameters
and buffers are constants of a part: packed once, and again when they change in place.

Changes that torch does not count stay unseen: writes through `.data`, and writes to
tensors made under `torch.inference_mode`. Call `refresh()` after these.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chimera._parts import PANELS, Options, Part, fallbacks, note_fallback, refresh
from chimera._prepared import known_panels
from chimera._split import compile_graph
from chimera._weights import Originals, trim
from chimera.errors import ChimeraError, MissingPackageError
from chimera.importers import require
from chimera.importers._decompositions import attention, table
from chimera.importers._resampling import adaptive_average_of_images, interpolate

if TYPE_CHECKING:
    import torch

__all__ = ["chimera", "fallbacks", "refresh"]


def chimera(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    **more: Any,
) -> Callable[..., Any]:
    """Compile a graph of dynamo; called by torch.compile, not by users.

    Args:
        module: dynamo's graph.
        example_inputs: its inputs, with symbols where sizes are dynamic.
        options: `target`, `threads`, `sizes`, `fuse`, `cache`, `discard_weights` and
            `page_out_weights`, as `chimera.compile` takes them; `threads` is torch's
            number where not given. Weights that are discarded are empty in the module
            as well, which has to be one graph for one set of shapes then.
        mode: must be None or "default"; torch's other modes mean nothing here.
        more: options, given by name.

    Without torch-mlir everything runs in torch, which is said.

    Raises:
        ValueError: an unknown option or mode.
    """
    if mode not in (None, "default"):
        raise ValueError(f"the backend chimera has no mode {mode!r}")
    torch = require("torch")
    given = {**(options or {}), **more}
    chosen = Options.read({"threads": torch.get_num_threads(), **given})
    try:
        require("torch_mlir.extras.fx_importer")
    except MissingPackageError as error:
        note_fallback(f"everything runs in torch: {error}")
        eager: Callable[..., Any] = module.forward
        return eager
    _spell_out(module)
    whole: list[Part] = []
    panels = [known_panels(value) for value in example_inputs]
    compile_part = functools.partial(
        _compile, options=chosen, whole=whole, panels=panels
    )
    autograd = require("torch._dynamo.backends.common").aot_autograd(
        fw_compiler=functools.partial(_compile_forward, options=chosen),
        bw_compiler=_refuse_backward,
        inference_compiler=compile_part,
        decompositions=table(),
        keep_inference_input_mutations=True,
    )
    promised = _promised_strides(module)
    compiled = autograd(module, example_inputs)
    if not whole or whole[0].arity != len(example_inputs):
        return _keep_promises(compiled, promised)
    if whole[0].keeps(promised):
        return whole[0]
    return _keep_promises(whole[0], promised)


def _promised_strides(module: torch.fx.GraphModule) -> list[tuple[int, ...] | None]:
    """The strides that the results of dynamo's graph have in torch, where fixed.

    The code after the graph relies on them, and operators that are spelled out in
    others may lay out their result otherwise.
    """
    output = next(node for node in module.graph.nodes if node.op == "output")
    promised: list[Any] = []
    for node in output.args[0]:
        value: Any = getattr(node, "meta", {}).get("example_value")
        strides = tuple(value.stride()) if hasattr(value, "stride") else (None,)
        fixed = all(isinstance(stride, int) for stride in strides)
        promised.append(strides if fixed else None)
    return promised


def _keep_promises(
    compiled: Callable[..., Any], promised: Sequence[tuple[int, ...] | None]
) -> Callable[..., Any]:
    torch = require("torch")
    fixed = [(i, strides) for i, strides in enumerate(promised) if strides is not None]

    def run(*args: Any) -> Any:
        results = compiled(*args)
        for number, strides in fixed:
            result = results[number]
            if result.stride() == strides:
                continue
            wide = [axis for axis, size in enumerate(result.shape) if size > 1]
            if any(result.stride(axis) != strides[axis] for axis in wide):
                spread = torch.empty_strided(result.shape, strides, dtype=result.dtype)
                results = [*results]
                results[number] = spread.copy_(result)
        return results

    return run


def _spell_out(module: torch.fx.GraphModule) -> None:
    """Spell out what torch would make into operators that say less than it does.

    It picks a kernel for attention that no one can read, and looks up each pixel of an
    interpolation by a computed index.
    """
    functional = require("torch").nn.functional
    theirs = functional.scaled_dot_product_attention
    for part in module.modules():
        if not isinstance(part, require("torch").fx.GraphModule):
            continue
        for node in part.graph.nodes:
            if node.op != "call_function":
                continue
            dropout = node.kwargs.get("dropout_p", (*node.args, *[0.0] * 5)[4])
            if node.target is theirs and not dropout:
                node.target = attention
            elif node.target is functional.interpolate:
                node.target = interpolate
            elif node.target is functional.adaptive_avg_pool2d:
                node.target = adaptive_average_of_images
        part.recompile()


def _compile(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    whole: list[Part] | None = None,
    panels: Sequence[int | None] = (),
) -> Callable[..., Any]:
    """Compile a graph of ATen operators, as AOT autograd asks for it.

    The inputs are packed in `panels` of so many columns already, where there are any.
    Where the graph becomes one part, and AOT autograd has nothing to do at a call,
    the part is added to `whole`.
    """
    torch = require("torch")
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    static = set(metadata.static_input_indices or ()) if metadata else set()
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(placeholders) == len(panels):
        for node, columns in zip(placeholders, panels):
            node.meta[PANELS] = columns
    call = compile_graph(module, static, options)
    if whole is not None and isinstance(call, Part) and _is_plain(metadata):
        whole.append(call)
    if options.originals is not Originals.KEPT:
        # What tracing and lowering left free would lie beside the weights.
        gc.collect()
        trim()
    return _boxed(call)


def _is_plain(metadata: Any) -> bool:
    """Whether a graph's arguments and results are those of the user's function.

    Then what AOT autograd wraps around a call would cost time only.
    """
    if metadata is None:
        return False
    aot = require("torch._functorch._aot_autograd.schemas")
    return not (
        metadata.tokens
        or metadata.is_rng_op_functionalized
        or metadata.num_intermediate_bases
        or metadata.num_outputs_aliased
        or any(i.mutates_data or i.mutates_metadata for i in metadata.input_info)
        or any(
            o.output_type is not aot.OutputType.non_alias for o in metadata.output_info
        )
        or any(
            not isinstance(m, (int, aot.PlainTensorMeta))
            for m in metadata.subclass_inp_meta
        )
    )


def _compile_forward(
    module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options
) -> Callable[..., Any]:
    """Compile the forward half of a graph for which gradients are on."""
    note_fallback(
        "gradients are on, so values are kept for a backward pass that cannot run:"
        " call the model under torch.no_grad() or torch.inference_mode()"
    )
    return _compile(module, example_inputs, options)


def _refuse_backward(
    module: torch.fx.GraphModule, example_inputs: Sequence[Any]
) -> Callable[..., Any]:
    """What a backward pass gets instead of code: an error when it runs."""

    def refuse(*_: Any) -> Any:
        raise ChimeraError(
            "the backend chimera compiles for inference only and has no backward"
            " pass: train with another backend, or without torch.compile"
        )

    return _boxed(refuse)


def _boxed(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function as AOT autograd wants it: of one list of arguments."""
    boxed: Callable[..., Any] = require("functorch.compile").make_boxed_func(call)
    return boxed
