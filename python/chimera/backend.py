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
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chimera._parts import Options, fallbacks, note_fallback, refresh
from chimera._split import compile_graph
from chimera.errors import ChimeraError
from chimera.importers import require

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
        options: `target`, `threads` and `sizes` as `chimera.compile` takes them.
        mode: must be None or "default"; torch's other modes mean nothing here.
        more: options, given by name.

    Raises:
        ValueError: an unknown option or mode.
        MissingPackageError: torch-mlir is not installed.
    """
    if mode not in (None, "default"):
        raise ValueError(f"the backend chimera has no mode {mode!r}")
    chosen = Options.read({**(options or {}), **more})
    require("torch_mlir.extras.fx_importer")
    from chimera.importers._decompositions import attention, table

    _replace_attention(module, attention)
    compile_part = functools.partial(_compile, options=chosen)
    autograd = require("torch._dynamo.backends.common").aot_autograd(
        fw_compiler=functools.partial(_compile_forward, options=chosen),
        bw_compiler=_refuse_backward,
        inference_compiler=compile_part,
        decompositions=table(),
        keep_inference_input_mutations=True,
    )
    return autograd(module, example_inputs)


def _replace_attention(
    module: torch.fx.GraphModule, attention: Callable[..., Any]
) -> None:
    """Spell attention out before torch picks a kernel for it that no one can read."""
    torch = require("torch")
    theirs = torch.nn.functional.scaled_dot_product_attention
    for part in module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in part.graph.nodes:
            dropout = node.kwargs.get("dropout_p", (*node.args, *[0.0] * 5)[4])
            if node.op == "call_function" and node.target is theirs and not dropout:
                node.target = attention
        part.recompile()


def _compile(
    module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options
) -> Callable[..., Any]:
    """Compile a graph of ATen operators, as AOT autograd asks for it."""
    torch = require("torch")
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    static = set(metadata.static_input_indices or ()) if metadata else set()
    call = compile_graph(module, static, options)
    return require("functorch.compile").make_boxed_func(call)


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

    return refuse
