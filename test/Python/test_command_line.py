"""`python -m chimera`."""

import subprocess
import sys

import chimera
import numpy as np
from programs import ROWS, SCALED


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "chimera", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_compile_and_run(tmp_path):
    source, program = tmp_path / "scaled.mlir", tmp_path / "scaled.chimera"
    source.write_text(SCALED)
    assert run("compile", source, "-o", program).returncode == 0
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "s.npy", np.float32(3))
    result = run(
        "run",
        program,
        "--input",
        tmp_path / "x.npy",
        "--input",
        tmp_path / "s.npy",
        "--output",
        tmp_path / "y.npy",
    )
    assert result.returncode == 0, result.stderr
    assert "results 3x5, 3x5; best of 10 runs" in result.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), 3 * x)


def test_random_arguments(examples):
    result = run("run", examples / "mlp_relu.mlir", "--threads", 1)
    assert result.returncode == 0, result.stderr
    assert "results 512x512" in result.stdout


def test_report(examples, tmp_path):
    result = run("report", examples / "mlp_relu.mlir")
    assert "gemm0 > gemm1" in result.stdout
    page = tmp_path / "report.html"
    assert run("report", examples / "mlp_relu.mlir", "-o", page).returncode == 0
    assert "<html" in page.read_text()


def test_import_of_mlir(tmp_path):
    source = tmp_path / "rows.mlir"
    source.write_text(ROWS)
    assert run("import", source, "-o", tmp_path / "copy.mlir").returncode == 0
    assert (tmp_path / "copy.mlir").read_text() == ROWS
    assert (tmp_path / "copy.safetensors").exists()


def test_errors_are_one_line(tmp_path):
    source = tmp_path / "rows.mlir"
    source.write_text(ROWS)
    for arguments, message in (
        (["run", tmp_path / "none.mlir"], "no such file"),
        (["run", source], "have to be given by --input"),
        (["run", source, "--target", "none"], "none"),
        (["run", tmp_path / "none.chimera"], "No such file"),
    ):
        result = run(*arguments)
        assert result.returncode == 1
        assert result.stderr.startswith("chimera: error: ")
        assert message in result.stderr and result.stderr.count("\n") == 1


def test_cache():
    assert "programs" in run("cache").stdout
    assert run("--version").stdout.strip() == chimera.__version__
