"""The door for ONNX: models that torch's exporter wrote, and models made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("torch_mlir")

from chimera._compiler import compile_text, run_compiler  # noqa: E402
from chimera.errors import UnsupportedError  # noqa: E402
from chimera.importers import ImportedProgram, import_program  # noqa: E402


def call(program: ImportedProgram, *args: Any, **kwargs: Any) -> Any:
    library = compile_text(program.text, constants=tuple(program.constants))
    instance = library.instantiate(program.constants)
    return program.unflatten(instance(*program.flatten(args, kwargs)))


def make_model(nodes: list[Any], weights: dict[str, Any], **shapes: Any) -> Any:
    """A model with the inputs x and y as far as shapes has them, and the output z."""
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
        if name != "z"
    ]
    output = onnx.helper.make_tensor_value_info(
        "z", onnx.TensorProto.FLOAT, shapes["z"]
    )
    initializers = [
        onnx.numpy_helper.from_array(value, name) for name, value in weights.items()
    ]
    graph = onnx.helper.make_graph(nodes, "some graph", inputs, [output], initializers)
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 18)]
    )


def product_model() -> tuple[Any, Any, Any]:
    weight = numpy.random.default_rng(0).standard_normal((32, 16), numpy.float32)
    bias = numpy.arange(16, dtype=numpy.float32)
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["p"]),
        onnx.helper.make_node("Add", ["p", "b"], ["s"]),
        onnx.helper.make_node("Mul", ["s", "y"], ["z"]),
    ]
    model = make_model(nodes, {"w": weight, "b": bias}, x=[4, 32], y=[16], z=[4, 16])
    return model, weight, bias


def sample() -> tuple[Any, Any]:
    dice = numpy.random.default_rng(1)
    x = dice.standard_normal((4, 32), numpy.float32)
    return x, dice.standard_normal(16, numpy.float32)


def test_weights_become_constants_and_the_model_stays_as_it_is() -> None:
    model, weight, bias = product_model()
    before = model.SerializeToString()
    program = import_program(model)
    assert model.SerializeToString() == before
    assert program.names == ["x", "y", "w"]
    assert list(program.constants) == [2]
    x, y = sample()
    expected = (x @ weight + bias) * y
    numpy.testing.assert_allclose(call(program, x, y), expected, atol=1e-4)
    numpy.testing.assert_allclose(call(program, x, y=y), expected, atol=1e-4)
    with pytest.raises(TypeError, match="inputs are x, y"):
        program.flatten((x,), {"q": y})


def test_quantized_layers_multiply_integers() -> None:
    random = numpy.random.default_rng(3)
    codes = random.integers(-127, 128, (24, 1040), dtype=numpy.int8)
    scales = 2.0 ** random.integers(-9, -5, 1040).astype(numpy.float32)
    constants = {
        "w": codes,
        "scales": scales,
        "zeros": numpy.zeros(1040, numpy.int8),
        "step": numpy.float32(0.125),
        "middle": numpy.uint8(131),
    }
    nodes = [
        onnx.helper.make_node("QuantizeLinear", ["x", "step", "middle"], ["q"]),
        onnx.helper.make_node("DequantizeLinear", ["q", "step", "middle"], ["d"]),
        onnx.helper.make_node(
            "DequantizeLinear", ["w", "scales", "zeros"], ["f"], axis=1
        ),
        onnx.helper.make_node("MatMul", ["d", "f"], ["z"]),
    ]
    program = import_program(make_model(nodes, constants, x=[7, 24], z=[7, 1040]))
    assert program.names == ["x", "w", "scales"]
    x = random.standard_normal((7, 24)).astype(numpy.float32) * 4
    steps = numpy.clip(numpy.round(x / 0.125) + 131, 0, 255) - 131
    expected = (steps * 0.125) @ (codes * scales)
    numpy.testing.assert_allclose(call(program, x), expected, rtol=1e-6, atol=1e-5)
    assert "arith.muli" in run_compiler(program.text, ["--emit=mlir"]).stdout


def test_weights_beside_the_model_are_mapped(tmp_path: Path) -> None:
    model, weight, bias = product_model()
    path = tmp_path / "model.onnx"
    onnx.save(
        model,
        str(path),
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=16,
    )
    program = import_program(path)
    assert isinstance(program.constants[2], numpy.memmap)
    x, y = sample()
    expected = (x @ weight + bias) * y
    numpy.testing.assert_allclose(call(program, x, y), expected, atol=1e-4)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(UnsupportedError, match="weights cannot be read"):
        import_program(path)


def test_dynamic_batch() -> None:
    node = onnx.helper.make_node("Softmax", ["x"], ["z"])
    program = import_program(make_model([node], {}, x=["n", 8], z=["n", 8]))
    for rows in (2, 5):
        x = numpy.random.default_rng(rows).standard_normal((rows, 8), numpy.float32)
        powers = numpy.exp(x)
        expected = powers / powers.sum(-1, keepdims=True)
        numpy.testing.assert_allclose(call(program, x), expected, atol=1e-5)


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    for operator in ("StringNormalizer", "RandomNormalLike"):
        node = onnx.helper.make_node(operator, ["x"], ["z"])
        with pytest.raises(UnsupportedError, match=f"ONNX's {operator}"):
            import_program(make_model([node], {}, x=[3, 3], z=[3, 3]))
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"this is no model")
    with pytest.raises(UnsupportedError, match="no ONNX model"):
        import_program(path)
    with pytest.raises(FileNotFoundError):
        import_program(tmp_path / "missing.onnx")


EXPORTED = ("bert", "convnext", "dlrm", "gpt2", "llama", "mixer", "mobilenet")
EXPORTED += ("resnet", "t5", "unet", "vit")


@pytest.mark.parametrize("name", EXPORTED)
def test_files_of_torch_s_exporter_agree(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    import models

    model, inputs = models.make(name)

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *args: Any) -> Any:
            return models.outputs(self.model(*args))[0]

    path = tmp_path / f"{name}.onnx"
    plain = Plain().eval()
    with torch.no_grad():
        expected = plain(*inputs)
        torch.onnx.export(plain, inputs, str(path), dynamo=True, verbose=False)
    actual = call(import_program(path), *(value.numpy() for value in inputs))
    models.assert_equal(expected, torch.from_numpy(actual))
