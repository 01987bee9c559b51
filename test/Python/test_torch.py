"""The door for torch modules, functions and exported programs."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch import nn  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

import chimera  # noqa: E402
import models  # noqa: E402
from chimera._compiler import compile_text  # noqa: E402
from chimera.errors import ChimeraError, UnsupportedError  # noqa: E402
from chimera.importers import ImportedProgram, import_program  # noqa: E402


def call(
    program: ImportedProgram, args: Sequence[Any], kwargs: Mapping[str, Any] = {}
) -> Any:
    """Compile an imported program and call it as its source was."""
    library = compile_text(program.text, constants=tuple(program.constants))
    instance = library.instantiate(program.constants)
    inputs = program.flatten(args, kwargs)
    results = instance(*inputs)
    free = [i for i in range(len(program.names)) if i not in program.constants]
    for result, argument in program.ties.items():
        inputs[free.index(argument)].copy_(results[result])
    return program.unflatten(results)


def check(model: Any, *args: Any, **kwargs: Any) -> ImportedProgram:
    program = import_program(model, args, kwargs)
    with torch.no_grad():
        models.assert_equal(model(*args, **kwargs), call(program, args, kwargs))
    return program


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> Any:
        y = self.norm(torch.relu(self.hidden(x)))
        return {"scaled": y * scale, "parts": [y.sum(-1), None]}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("name", ["bert", "vit", "dlrm"])
def test_networks_agree_with_eager(name: str) -> None:
    model, inputs = models.make(name)
    check(model, *inputs)


def test_structures_names_and_constants() -> None:
    net = Net().eval()
    x, scale = torch.randn(3, 8), torch.rand(16)
    program = import_program(net, (x,), {"scale": scale})
    assert program.names[:4] == [
        "hidden.weight",
        "hidden.bias",
        "norm.weight",
        "norm.bias",
    ]
    assert sorted(program.constants) == [0, 1, 2, 3]
    assert program.constants[0].data_ptr() == net.hidden.weight.data_ptr()
    result = call(program, (x,), {"scale": scale})
    expected = net(x, scale=scale)
    torch.testing.assert_close(result["scaled"], expected["scaled"])
    torch.testing.assert_close(result["parts"][0], expected["parts"][0])
    assert result["parts"][1] is None


def test_other_structures_are_refused() -> None:
    program = import_program(
        Net().eval(), (torch.randn(3, 8),), {"scale": torch.rand(16)}
    )
    with pytest.raises(TypeError, match="another structure"):
        program.flatten((torch.randn(3, 8),), {})


def test_functions() -> None:
    check(lambda x, y: (x @ y).softmax(-1), torch.randn(4, 5), torch.randn(5, 6))


def test_exported_programs_and_their_files(tmp_path: Any) -> None:
    model, inputs = models.make("dlrm")
    exported = torch.export.export(model, inputs)
    path = tmp_path / "model.pt2"
    torch.export.save(exported, path)
    for source in (exported, path):
        models.assert_equal(model(*inputs), call(import_program(source), inputs))


def test_buffers_that_change_are_tied() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x.sum(0))
            return x * self.total

    model = Counter().eval()
    x = torch.rand(2, 3)
    program = import_program(model, (x,))
    assert program.ties == {0: program.names.index("total")}
    for times in (1, 2):
        torch.testing.assert_close(call(program, (x,)), x * x.sum(0) * times)


def test_masks_are_constants_of_bits() -> None:
    mask = torch.rand(5, 7) > 0.5

    def masked(x: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, x, 0.0)

    check(masked, torch.randn(5, 7))


def test_padding_that_cuts() -> None:
    check(lambda x: nn.functional.pad(x, (-1, 2, 1, -2)), torch.randn(2, 5, 6))


def test_dynamic_sizes() -> None:
    model, _ = models.make("bert")
    batch, length = torch.export.Dim("batch", max=64), torch.export.Dim(
        "length", max=64
    )
    sizes = ({0: batch, 1: length},)
    program = import_program(
        model, (torch.randint(0, 200, (2, 16)),), dynamic_shapes=sizes
    )
    for shape in ((2, 16), (3, 9)):
        ids = torch.randint(0, 200, shape)
        with torch.no_grad():
            models.assert_equal(model(ids), call(program, (ids,)))


def test_locations_are_the_user_s() -> None:
    program = import_program(
        Net().eval(), (torch.randn(3, 8),), {"scale": torch.rand(16)}
    )
    assert 'loc("hidden"' in program.text
    assert "test_torch.py" in program.text


def test_errors_name_the_operator_and_the_line() -> None:
    class Unusual(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.lgamma(x.abs() + 1)

    with pytest.raises(UnsupportedError, match=r"aten.lgamma.*test_torch.py:\d+"):
        import_program(Unusual().eval(), (torch.randn(3),))
    with pytest.raises(UnsupportedError, match="a sort"):
        import_program(lambda x: x.sort()[0], (torch.randn(3),))
    with pytest.raises(UnsupportedError, match="draws random numbers"):
        import_program(lambda x: x + torch.rand(3), (torch.randn(3),))
    with pytest.raises(UnsupportedError, match="training mode"):
        import_program(Net(), (torch.randn(3, 8),), {"scale": torch.rand(16)})
    with pytest.raises(UnsupportedError, match="torch.export failed"):
        import_program(lambda x: x if x.sum() > 0 else -x, (torch.randn(3),))
    with pytest.raises(TypeError, match="cannot import a program from int"):
        import_program(3)


def test_missing_packages_are_named(tmp_path: Any) -> None:
    script = (
        "import sys; sys.modules['torch'] = None; sys.modules['onnx'] = None\n"
        "sys.modules['jaxlib'] = None; sys.modules['jax'] = None\n"
        "import chimera\n"
        "from chimera.importers import import_program\n"
        "for source in (print, 'model.onnx', 'stablehlo.add {}'):\n"
        "    try: import_program(source)\n"
        "    except chimera.MissingPackageError as error: print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", f"open('model.onnx', 'w').close()\n{script}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout
    for package in ("torch", "onnx", "jax"):
        assert f"pip install {package}" in said


def test_linalg_text_passes_through() -> None:
    text = """
    func.func @main(%x: tensor<4xf32> {some.attribute = "a(b"}, %y: tensor<4xf32>)
        -> tensor<4xf32> {
      %0 = linalg.add ins(%x, %y : tensor<4xf32>, tensor<4xf32>)
          outs(%x : tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    program = import_program(text)
    assert program.names == ["x", "y"] and not program.constants
    assert program.flatten((1, 2), {}) == [1, 2]
    with pytest.raises(TypeError, match="takes 2 arguments"):
        program.flatten((1,), {})


def test_discarded_weights_leave_the_module(tmp_path: Path) -> None:
    model, inputs = models.make("bert")
    with torch.no_grad():
        expected = model(*inputs)
        program = chimera.compile(model, inputs, discard_weights=True)
    weight = model.encoder.layer[0].output.dense.weight
    table = model.embeddings.word_embeddings.weight
    assert weight.untyped_storage().nbytes() == 0
    assert table.untyped_storage().nbytes() > 0
    held = [value.data_ptr() for value in program._instance.constants.values()]
    assert table.data_ptr() in held
    models.assert_equal(expected, program(*inputs))
    for use in (program.refresh, lambda: program.save(tmp_path / "bert.chimera")):
        with pytest.raises(ChimeraError, match="without discard_weights"):
            use()


def test_weights_are_discarded_one_by_one() -> None:
    layers = [torch.nn.Linear(2048, 2048, bias=False) for _ in range(8)]
    model = torch.nn.Sequential(*layers).eval()
    size = sum(parameter.nbytes for parameter in model.parameters())
    x = torch.randn(16, 2048)
    with torch.no_grad():
        chimera.compile(model, (x,))  # What importing takes is there from now on.
        expected = model(x)
        Path("/proc/self/clear_refs").write_text("5")
        before = _memory("VmHWM")
        program = chimera.compile(model, (x,), discard_weights=True)
    assert _memory("VmHWM") - before < size / 2
    models.assert_equal(expected, program(x))


def _memory(name: str) -> int:
    """Bytes as this process's status has them."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) << 10
