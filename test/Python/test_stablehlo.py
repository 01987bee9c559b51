"""The door for jax functions and StableHLO."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402

from chimera._compiler import compile_text  # noqa: E402
from chimera.errors import UnsupportedError  # noqa: E402
from chimera.importers import ImportedProgram, import_program  # noqa: E402


def call(program: ImportedProgram, *args: Any, **kwargs: Any) -> Any:
    library = compile_text(program.text, constants=tuple(program.constants))
    instance = library.instantiate(program.constants)
    inputs = [numpy.asarray(value) for value in program.flatten(args, kwargs)]
    return program.unflatten(instance(*inputs))


def check(function: Callable[..., Any], *args: Any) -> ImportedProgram:
    program = import_program(jax.jit(function), args)
    expected = jax.tree_util.tree_leaves(function(*args))
    actual = jax.tree_util.tree_leaves(call(program, *args))
    assert len(expected) == len(actual) > 0
    for one, other in zip(expected, actual):
        assert numpy.abs(one).max() > 1e-3
        numpy.testing.assert_allclose(other, one, atol=1e-4)
    return program


def random(*shape: int) -> Any:
    return jax.random.normal(jax.random.PRNGKey(sum(shape)), shape)


WEIGHTS = {
    "scale": random(64),
    "shift": random(64) * 0.1,
    **{name: random(64, 64) * 0.1 for name in ("q", "k", "v", "o")},
    "up": random(64, 128) * 0.1,
    "down": random(128, 64) * 0.1,
}


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift


def transformer_block(x: Any, weights: Any) -> Any:
    hidden = layer_norm(x, weights["scale"], weights["shift"])
    q, k, v = (
        (hidden @ weights[name]).reshape(2, 16, 4, 16).transpose(0, 2, 1, 3)
        for name in "qkv"
    )
    attended = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / 4) @ v
    x = x + attended.transpose(0, 2, 1, 3).reshape(2, 16, 64) @ weights["o"]
    return x + jax.nn.gelu(x @ weights["up"], approximate=False) @ weights["down"]


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def pooled_convolution(x: Any, weight: Any) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(
        x, weight, (1, 1), "SAME", dimension_numbers=layout
    )
    window = (1, 2, 2, 1)
    return jax.lax.reduce_window(
        jax.nn.relu(y), -jnp.inf, jax.lax.max, window, window, "VALID"
    )


def recurrent_step(state: Any, x: Any, weight: Any) -> Any:
    gates = jax.nn.sigmoid(jnp.concatenate([state, x], -1) @ weight)
    kept, added = jnp.split(gates, 2, -1)
    state = state * kept + jnp.tanh(x) * added
    return state, state.sum()


CASES = {
    "block": (transformer_block, random(2, 16, 64), WEIGHTS),
    "attention": (causal_attention, *[random(2, 16, 4, 16)] * 3),
    "convolution": (pooled_convolution, random(1, 8, 8, 4), random(3, 3, 4, 8) * 0.2),
    "recurrence": (recurrent_step, random(4, 8), random(4, 8), random(16, 16)),
    "embedding": (lambda rows, i: rows[i] * 2, random(30, 16), jnp.arange(5)),
    "normalised": (layer_norm, random(4, 64), random(64), random(64)),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_agree(name: str) -> None:
    check(*CASES[name])


def test_arrays_of_closures_become_constants() -> None:
    weight = WEIGHTS["up"]
    program = check(lambda x: jax.nn.gelu(x @ weight), random(4, 64))
    assert list(program.constants) == [1]
    assert len(program.text) < 20_000


def test_unused_arguments_and_structures() -> None:
    def function(pair: Any, unused: Any, *, factor: Any) -> Any:
        return {"sum": pair[0] + pair[1], "scaled": pair[0] * factor}

    x, y = random(4), random(4) + 1
    lowered = jax.jit(function).lower((x, y), x, factor=2.0)
    program = import_program(lowered)
    result = call(program, (x, y), x, factor=3.0)
    numpy.testing.assert_allclose(result["sum"], x + y, atol=1e-6)
    numpy.testing.assert_allclose(result["scaled"], x * 3, atol=1e-6)
    with pytest.raises(TypeError, match="another structure"):
        program.flatten((x, y, x), {})


def test_text_and_files(tmp_path: Path) -> None:
    weight, x = WEIGHTS["up"], random(4, 64)
    text = (
        jax.jit(lambda x: jax.nn.gelu(x @ weight, approximate=False)).lower(x).as_text()
    )
    path = tmp_path / "model.stablehlo.mlir"
    path.write_text(text)
    expected = jax.nn.gelu(x @ weight, approximate=False)
    for source in (text, path):
        numpy.testing.assert_allclose(
            call(import_program(source), x), expected, atol=1e-4
        )


def test_what_cannot_be_imported_is_named() -> None:
    def loop(x: Any) -> Any:
        return jax.lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i], 0.0)

    with pytest.raises(UnsupportedError, match="stablehlo.while"):
        import_program(jax.jit(loop), (random(4),))
    with pytest.raises(UnsupportedError, match="stablehlo.sort"):
        import_program(jax.jit(jnp.sort), (random(4),))
    with pytest.raises(UnsupportedError, match="does not parse"):
        import_program("func.func @main() { stablehlo.nothing }")
