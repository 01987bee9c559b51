"""Weights in files: good and broken ones, and a stand-in for the importer.

usage: weights.py FOLDER        runs chimera-run on files that it makes there
       weights.py -m chimera import SOURCE -o PROGRAM
                                as the Python package would: copies the program
                                beside SOURCE, with its weights
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy as np

PROGRAM = """
func.func @main(%w: tensor<16x8xf32>, %x: tensor<4x16xf32>, %b: tensor<8xf64>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""


def write(path, header, elements=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + elements)


def describe(array, start=0, **changes):
    return {"dtype": "F32", "shape": list(array.shape),
            "data_offsets": [start, start + array.nbytes], **changes}


def run(*arguments):
    return subprocess.run(["chimera-run", *map(str, arguments)], text=True,
                          capture_output=True, check=False)


def check(folder):
    rng = np.random.default_rng(0)
    w = rng.standard_normal((16, 8)).astype(np.float32)
    x = rng.standard_normal((4, 16)).astype(np.float32)
    program, weights = folder / "program.mlir", folder / "program.safetensors"
    program.write_text(PROGRAM)
    np.save(folder / "x.npy", x)
    result = folder / "y.npy"

    def check_result(*arguments):
        result.unlink(missing_ok=True)
        done = run(*arguments, f"--input={folder / 'x.npy'}", f"--output={result}",
                   "--no-time")
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(np.load(result), x @ w, atol=1e-4)

    # The input is the first argument without a weight.
    good = {"__metadata__": {"0": "w"}, "0": describe(w)}
    write(weights, good, w.tobytes())
    check_result(program, f"--weights={weights}")

    # Models of other formats go through the importer.
    model = folder / "model.onnx"
    model.write_text("a model")
    os.environ["CHIMERA_PYTHON"] = str(folder / "python")
    importer = pathlib.Path(os.environ["CHIMERA_PYTHON"])
    importer.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} "$@"\n')
    importer.chmod(0o755)
    check_result(model)

    def refuse(message, *arguments):
        done = run(*arguments)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        assert message in done.stderr, done.stderr

    refuse("none.onnx could not be imported: no such file", folder / "none.onnx")
    importer.write_text("#!/bin/sh\necho python: No module named chimera >&2\nexit 1\n")
    refuse("is imported by the Python package, which", model)
    os.environ["CHIMERA_PYTHON"] = "no-such-python"
    refuse("'no-such-python' is not in PATH", model)

    for message, header in (
        ("the file ends in its header", None),
        ("the header is no JSON", b"{"),
        ("the header names no tensors", b"[]"),
        ("'0' has no description", {"0": 1}),
        ("'0' has elements of the unsupported type 'F8'", {"0": describe(w, dtype="F8")}),
        ("'0' has no valid shape or offsets", {"0": describe(w, shape=[-1])}),
        ("'0' has no valid shape or offsets", {"0": describe(w, data_offsets=[0])}),
        ("'0' does not fit its offsets", {"0": describe(w, shape=[3])}),
        ("'0' does not fit its offsets", {"0": describe(w, 4)}),
        ("'0' does not fit its offsets", {"0": describe(w, shape=[2**40, 2**40])}),
        ("'w' is not the number of an argument", {"w": describe(w)}),
        ("argument 7 is to be constant, but 'main' has 3 arguments", {"7": describe(w)}),
        ("holds 16x8xf32, but argument 1 of 'main' is 4x16xf32", {"1": describe(w)}),
    ):
        if header is None:
            weights.write_bytes(struct.pack("<Q", 1000) + b"{}")
        else:
            write(weights, header, w.tobytes())
        refuse(message, program, f"--weights={weights}", "--no-time")


def imitate(source, target):
    source = pathlib.Path(source)
    if not source.exists():
        sys.exit(f"a warning\nchimera: error: no such file: {source}")
    target = pathlib.Path(target)
    for suffix in (".mlir", ".safetensors"):
        shutil.copy(source.with_name("program" + suffix), target.with_suffix(suffix))


if sys.argv[1] == "-m":
    assert sys.argv[2:4] == ["chimera", "import"] and sys.argv[5] == "-o"
    imitate(sys.argv[4], sys.argv[6])
else:
    check(pathlib.Path(sys.argv[1]))
