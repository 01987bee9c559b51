"""Programs in MLIR, called on arrays."""

import threading

import chimera
import numpy as np
import pytest
from chimera import _runtime
from conftest import ROOT
from programs import ROWS, SCALED, elementwise


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(scope="module")
def weights():
    return random(48, 32)


@pytest.fixture(scope="module")
def rows(weights):
    return chimera.compile(ROWS, constants={1: weights}, sizes=[(16,)], threads=2)


@pytest.mark.parametrize("count", [0, 1, 16, 37, 100])
def test_any_number_of_rows(rows, weights, count):
    x = random(count, 32, seed=count)
    y = rows(x)
    assert y.shape == (count, 48)
    assert y.size == 0 or y.ctypes.data % 64 == 0
    np.testing.assert_allclose(y, x @ weights.T, atol=1e-4)


def test_by_name_and_in_place(rows, weights):
    x, y = random(7, 32), np.empty((7, 48), np.float32)
    assert rows(x=x, out=y) is y
    np.testing.assert_allclose(y, x @ weights.T, atol=1e-4)


def test_strided_and_read_only_arguments(rows, weights):
    x = random(32, 7).T
    np.testing.assert_allclose(rows(x), x @ weights.T, atol=1e-4)
    x = np.ascontiguousarray(x)
    x.flags.writeable = False
    np.testing.assert_allclose(rows(x), x @ weights.T, atol=1e-4)


def test_lists_are_arrays():
    program = chimera.compile(elementwise("f32"))
    np.testing.assert_array_equal(program([1.0] * 37), np.full(37, 2, np.float32))


def test_a_failed_assertion_is_an_exception(rows):
    with pytest.raises(RuntimeError, match="more than 100 rows"):
        rows(random(101, 32))
    assert rows(random(3, 32)).shape == (3, 48)


def test_two_results_and_a_number():
    x = random(3, 5)
    scaled, flags = chimera.compile(SCALED)(x, -2)
    np.testing.assert_array_equal(scaled, x * np.float32(-2))
    assert flags.dtype == bool
    np.testing.assert_array_equal(flags, x < 0)


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "i64", "i32", "i8"])
def test_elements(element):
    kind = element.replace("f", "float").replace("i", "int")
    x = np.arange(37).astype(kind)
    y = chimera.compile(elementwise(element))(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x + x)


def test_bf16():
    values = np.arange(37, dtype=np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    y = chimera.compile(elementwise("bf16"))(bits)
    result = (y.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(result, values * 2)


def test_what_does_not_fit_is_refused(rows):
    with pytest.raises(
        TypeError, match="has to be a tensor of .x32xf32, but is one of 7x31xf32"
    ):
        rows(random(7, 31))
    with pytest.raises(TypeError, match="but is one of 7x32xf64"):
        rows(random(7, 32).astype(np.float64))
    with pytest.raises(TypeError, match="1 arguments expected, got 2"):
        rows(random(7, 32), random(7, 32))
    with pytest.raises(TypeError, match="no argument named y"):
        rows(y=random(7, 32))
    with pytest.raises(ValueError, match="1 results expected, got 2"):
        rows(random(7, 32), out=[random(7, 48), random(7, 48)])
    with pytest.raises(TypeError, match="result 0 has to be a tensor"):
        rows(random(7, 32), out=random(7, 47))


def test_results_share_no_memory_with_arguments():
    program = chimera.compile(elementwise("f32"))
    memory = random(60)
    with pytest.raises(ValueError, match="shares memory"):
        program(memory[:37], out=memory[20:57])
    np.testing.assert_array_equal(
        program(memory[:17].repeat(3)[:37], out=memory[23:]),
        2 * memory[:17].repeat(3)[:37],
    )


def test_constants_without_values_are_refused():
    with pytest.raises(TypeError, match="has to be a tensor of 48x32xf32"):
        chimera.compile(ROWS, constants={1: random(48, 31)})


def test_refusals_of_the_compiler_have_a_place():
    with pytest.raises(chimera.CompileError, match="no_such_op") as caught:
        chimera.compile("func.func @main() {\n  no_such_op\n}")
    assert caught.value.location.endswith(":2:3")
    with pytest.raises(chimera.CompileError, match="tensor<37xi16>"):
        chimera.compile(elementwise("i16"))
    with pytest.raises(chimera.CompileError, match="no_such_machine"):
        chimera.compile(ROWS, target="no_such_machine")
    with pytest.raises(FileNotFoundError):
        chimera.compile("no_such_file.mlir")


def test_instances_have_weights_of_their_own(weights):
    x, other = random(5, 32), random(48, 32, seed=1)
    first = chimera.compile(ROWS, constants={1: weights})
    second = chimera.compile(ROWS, constants={1: other})
    np.testing.assert_allclose(first(x), x @ weights.T, atol=1e-4)
    np.testing.assert_allclose(second(x), x @ other.T, atol=1e-4)


def test_refresh_packs_changed_weights():
    weights, x = random(48, 32), random(5, 32)
    program = chimera.compile(ROWS, constants={1: weights})
    weights *= 2
    program.refresh()
    np.testing.assert_allclose(program(x), x @ weights.T, atol=1e-4)


def test_calls_from_several_threads(rows):
    inputs = [random(count, 32, seed=count) for count in (1, 16, 33, 70)]
    expected = [rows(x) for x in inputs]
    failures = []

    def call(index):
        for _ in range(100):
            if not np.array_equal(rows(inputs[index]), expected[index]):
                failures.append(index)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(len(inputs))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures


def test_save_and_load(rows, tmp_path, monkeypatch):
    x = random(33, 32)
    path = tmp_path / "rows.chimera"
    rows.save(path)
    # Loading takes no compiler.
    monkeypatch.setattr("chimera._paths.compiler", lambda: pytest.fail("compiles"))
    loaded = chimera.load(path)
    assert repr(loaded) == "<chimera.Program main(x)>"
    np.testing.assert_array_equal(loaded(x), rows(x))
    np.testing.assert_array_equal(loaded(x=x), rows(x))
    assert loaded.plan == rows.plan and loaded.mlir() == ROWS


def test_program_for_another_processor(weights, tmp_path):
    target = ROOT / "test/Tools/chimera-run/Inputs/no-processor.mlir"
    program = chimera.compile(ROWS, constants={1: weights}, target=str(target))
    path = tmp_path / "rows.chimera"
    with pytest.raises(chimera.ChimeraError, match="with tbm, which this machine"):
        program(random(3, 32))
    program.save(path)
    with pytest.raises(chimera.ChimeraError, match="with tbm, which this machine"):
        chimera.load(path)


def test_loaded_weights_are_mapped_at_cache_lines(tmp_path):
    from chimera import _package

    weights = {
        i: random(*shape) for i, shape in enumerate([(3,), (48, 32), (), (0, 4)])
    }
    path = tmp_path / "weights.chimera"
    _package.write(path, _package.Package(b"", {}, ""), weights)
    mapped = _package.read_weights(path)
    assert mapped.keys() == weights.keys()
    for index, weight in weights.items():
        np.testing.assert_array_equal(mapped[index], weight)
        assert weight.size == 0 or mapped[index].ctypes.data % 64 == 0


def test_files_that_are_no_programs(tmp_path, rows):
    path = tmp_path / "x.chimera"
    with pytest.raises(FileNotFoundError):
        chimera.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(chimera.ChimeraError, match="damaged or no compiled program"):
        chimera.load(path)
    rows.save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(chimera.ChimeraError, match="damaged or no compiled program"):
        chimera.load(path)


def test_looking(rows, tmp_path):
    (chain,) = rows.plan[:1]
    assert chain["operators"] == 1 and chain["verdict"] == "unfused"
    assert rows.signature["names"] == ["x", "w"]
    assert "# Plans" in str(rows.report())
    assert rows.report()._repr_html_().startswith("<iframe")
    rows.report().save(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text().startswith("{")
    assert "func.func @main" in rows.mlir("planned")
    assert "define" in rows.mlir("llvm")
    with pytest.raises(ValueError, match="source, planned, llvm, asm"):
        rows.mlir("c")


def test_parallel_loops_run_on_a_pool_of_the_host():
    assert "omp" in _runtime.pool()


def test_the_compiler_is_of_the_package_s_version(rows):
    assert rows._instance.library.manifest["version"] == chimera.__version__


def test_constants_that_no_recipe_covers_are_read() -> None:
    rng = np.random.default_rng(0)
    factors, w, v, x = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((128, 64), (128, 64), (64, 256), (8, 128))
    )
    text = """
    func.func @main(%x: tensor<8x128xf32>, %w: tensor<128x64xf32>, %v: tensor<64x256xf32>)
        -> tensor<8x256xf32> {
      %factors = arith.constant dense<"0xFACTORS"> : tensor<128x64xf32>
      %zero = arith.constant 0.0 : f32
      %0 = tensor.empty() : tensor<128x64xf32>
      %1 = linalg.mul ins(%w, %factors : tensor<128x64xf32>, tensor<128x64xf32>)
          outs(%0 : tensor<128x64xf32>) -> tensor<128x64xf32>
      %2 = chimera.prepare %1 : tensor<128x64xf32>
      %3 = tensor.empty() : tensor<8x64xf32>
      %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<8x64xf32>) -> tensor<8x64xf32>
      %5 = linalg.matmul ins(%x, %2 : tensor<8x128xf32>, tensor<128x64xf32>)
          outs(%4 : tensor<8x64xf32>) -> tensor<8x64xf32>
      %6 = tensor.empty() : tensor<8x256xf32>
      %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<8x256xf32>) -> tensor<8x256xf32>
      %8 = linalg.matmul ins(%5, %v : tensor<8x64xf32>, tensor<64x256xf32>)
          outs(%7 : tensor<8x256xf32>) -> tensor<8x256xf32>
      return %8 : tensor<8x256xf32>
    }
    """.replace("FACTORS", factors.tobytes().hex().upper())
    program = chimera.compile(text, constants={1: w, 2: v})
    values = program.signature["prepared_values"]
    assert ["" == value["recipe"] for value in values].count(True) == 1
    expected = x @ (w * factors) @ v
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(program(x), expected, atol=1e-3)
