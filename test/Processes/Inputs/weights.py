"""Weights in files, of which each process reads its part: what it reads and takes.

usage: weights.py FOLDER

One perceptron has the columns of its first weights cut and the rows of its second;
another one is written by heads, with reshapes of the weights in between. Numbers are
small integers, so that all sums are exact.
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
#x = affine_map<(t, h, k, d) -> (t, d)>
#q = affine_map<(t, h, k, d) -> (d, h, k)>
#y = affine_map<(t, h, k, d) -> (t, h, k)>
#p = affine_map<(t, d, h, k) -> (t, h, k)>
#o = affine_map<(t, d, h, k) -> (h, k, d)>
#z = affine_map<(t, d, h, k) -> (t, d)>
#all = affine_map<(t, d) -> (t, d)>
func.func @main(%x: tensor<8x{D}xf32>, %v: tensor<{D}x{H}xf32> {{chimera.constant}}, %w: tensor<{H}x{D}xf32> {{chimera.constant}},
                %q: tensor<{D}x{H2}xf32> {{chimera.constant}}, %o: tensor<{H2}x{D}xf32> {{chimera.constant}}) -> tensor<8x{D}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x{H}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x{H}xf32>) -> tensor<8x{H}xf32>
  %h = linalg.matmul ins(%x, %v : tensor<8x{D}xf32>, tensor<{D}x{H}xf32>) outs(%f : tensor<8x{H}xf32>) -> tensor<8x{H}xf32>
  %e1 = tensor.empty() : tensor<8x{D}xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x{D}xf32>) -> tensor<8x{D}xf32>
  %first = linalg.matmul ins(%h, %w : tensor<8x{H}xf32>, tensor<{H}x{D}xf32>) outs(%f1 : tensor<8x{D}xf32>) -> tensor<8x{D}xf32>
  %q3 = tensor.expand_shape %q [[0], [1, 2]] output_shape [{D}, {N}, {K}] : tensor<{D}x{H2}xf32> into tensor<{D}x{N}x{K}xf32>
  %o3 = tensor.expand_shape %o [[0, 1], [2]] output_shape [{N}, {K}, {D}] : tensor<{H2}x{D}xf32> into tensor<{N}x{K}x{D}xf32>
  %e2 = tensor.empty() : tensor<8x{N}x{K}xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x{N}x{K}xf32>) -> tensor<8x{N}x{K}xf32>
  %heads = linalg.generic {{indexing_maps = [#x, #q, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%x, %q3 : tensor<8x{D}xf32>, tensor<{D}x{N}x{K}xf32>) outs(%f2 : tensor<8x{N}x{K}xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  }} -> tensor<8x{N}x{K}xf32>
  %second = linalg.generic {{indexing_maps = [#p, #o, #z], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%heads, %o3 : tensor<8x{N}x{K}xf32>, tensor<{N}x{K}x{D}xf32>) outs(%f1 : tensor<8x{D}xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  }} -> tensor<8x{D}xf32>
  %sum = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%first, %second : tensor<8x{D}xf32>, tensor<8x{D}xf32>) outs(%e1 : tensor<8x{D}xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }} -> tensor<8x{D}xf32>
  return %sum : tensor<8x{D}xf32>
}}
"""


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            array.tofile(file)


class Case:
    """A program with its files; its hidden sizes are `scale` times those of a small one."""

    def __init__(self, folder, scale):
        d, h, n = 64 * scale, 256 * scale, 2 * scale
        sizes = {"D": d, "H": h, "H2": n * 64, "N": n, "K": 64}
        rng = np.random.default_rng(0)
        shapes = [(8, d), (d, h), (h, d), (d, n * 64), (n * 64, d)]
        x, *weights = (
            rng.integers(-2, 3, shape).astype(np.float32) for shape in shapes
        )
        self.program, self.result = folder / "program.mlir", folder / "y.npy"
        self.files = [
            folder / "x.npy",
            folder / "v.npy",
            folder / "weights.safetensors",
        ]
        self.program.write_text(PROGRAM.format(**sizes))
        # The first weights are an input, as other constants may be.
        np.save(self.files[0], x)
        np.save(self.files[1], weights[0])
        write_safetensors(
            self.files[2], {str(i + 2): w for i, w in enumerate(weights[1:])}
        )
        self.input_bytes = x.nbytes
        self.weight_bytes = sum(w.nbytes for w in weights)
        v, w, q, o = weights
        self.expected = x @ v @ w + x @ q @ o

    def run(self, *options):
        self.result.unlink(missing_ok=True)
        command = [
            "chimera-run",
            self.program,
            f"--input={self.files[0]}",
            f"--input={self.files[1]}",
            f"--weights={self.files[2]}",
            f"--output={self.result}",
            "--processes=2",
            "--split=always",
            "--threads=1",
            "--no-time",
            "--json=-",
            *options,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert np.array_equal(np.load(self.result), self.expected)
        return json.loads(done.stdout)


def check_import(case):
    """A model of another format is imported once, for all processes."""
    folder = case.program.parent
    model, importer, log = folder / "model.onnx", folder / "python", folder / "log"
    model.write_text("a model")
    (folder / "tmp").mkdir()
    importer.write_text(
        f"#!/bin/sh\necho imported >> {log}\ncp {case.program} $6\n"
        f"cp {case.files[2]} ${{6%.mlir}}.safetensors\n"
    )
    importer.chmod(0o755)
    os.environ["CHIMERA_PYTHON"] = str(importer)
    os.environ["TMPDIR"] = str(folder / "tmp")
    case.program = model
    case.run("--no-check")
    del os.environ["TMPDIR"]
    assert log.read_text() == "imported\n"
    assert not list((folder / "tmp").glob("*.safetensors"))
    case.program = folder / "program.mlir"


def check(folder):
    cases = []
    for scale in (2, 16):
        own = folder / str(scale)
        own.mkdir(parents=True)
        cases.append(Case(own, scale))
    small, large = cases
    # The first process compares with the whole program, in the end.
    report = small.run()
    assert report["max_rel_error"] == 0
    check_import(small)
    few, many = small.run("--no-check"), large.run("--no-check")
    assert many["max_rel_error"] is None
    # Rows of the small weights are shorter than a page, so they come whole.
    assert many["bytes_in_files"] == large.weight_bytes + large.input_bytes
    assert many["bytes_read"] == large.weight_bytes // 2 + large.input_bytes, many
    # A process has its part twice at most: as it is read, and packed.
    more = many["peak_bytes"] - few["peak_bytes"]
    assert more < 1.5 * (large.weight_bytes - small.weight_bytes), (many, few)
    shutil.rmtree(folder)


check(pathlib.Path(sys.argv[1]))
