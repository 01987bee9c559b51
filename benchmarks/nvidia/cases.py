"""What is compiled for a GPU, checked there and timed: chains and attention by name."""

import csv
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "test/Conversion/ChimeraToNVVM"
sys.path[:0] = [str(TESTS), str(ROOT / "scripts")]

import kernels  # noqa: E402
from convolutions import Convolution, RUN as CONVOLVE  # noqa: E402
from programs import Attention, Chain  # noqa: E402


def read_chains():
    """G1 to G12, as chains and with a softmax between the products."""
    with open(ROOT / "benchmarks/shapes/gemm_chains.csv") as file:
        lines = [line for line in file if not line.startswith("#")]
    for row in csv.DictReader(lines):
        batch, m, n, k, l = (int(row[name]) for name in ("batch", "M", "N", "K", "L"))
        yield row["name"], Chain("f16", batch, m, k, l, n, "none")
        yield row["name"] + "-softmax", Attention("f16", batch, 0, m, l, k, "")


def read_convolutions():
    """C1 to C8, channels last, with ReLUs: as the planner has them, in each type, and
    as a kernel for each layer."""
    with open(ROOT / "benchmarks/shapes/conv_chains.csv") as file:
        lines = [line for line in file if not line.startswith("#")]
    for row in csv.DictReader(lines):
        number = {name: int(value) for name, value in row.items() if name != "name"}
        layers = ((number["OC1"], number["k1"], number["st1"]),
                  (number["OC2"], number["k2"], number["st2"]))
        case = Convolution("f16", "nhwc", number["IC"], number["H"], number["W"],
                           layers, "relu")
        yield row["name"], case
        yield row["name"] + "-separate", case._replace(fuse="never")
        yield row["name"] + "-bf16", case._replace(type="bf16")
        yield row["name"] + "-tf32", case._replace(type="f32")


# Heads x (keys and values each shared by a group of query heads) x rows x keys x d.
LARGE = {
    f"attention-{heads}x{length}x{d}{'-' + mask if mask else ''}":
    Attention("f16", heads, 0, length, length, d, mask)
    for heads, length, d in ((64, 4096, 128), (32, 8192, 128), (16, 16384, 128),
                             (128, 4096, 64), (32, 512, 64), (192, 197, 64))
    for mask in ("", "causal")
}
DECODE = {
    f"decode-{heads}x{group or 1}x{keys}"
    + (f"-{queries}-queries" if queries > 1 else ""):
    Attention("f16", heads, group, queries, keys, 128)
    for heads, group, queries, keys in (
        (32, 0, 1, 8192), (32, 0, 1, 2048), (8, 4, 1, 8192), (32, 0, 4, 8192),
        # Eight sequences.
        (256, 0, 1, 8192), (64, 4, 1, 8192),
        (512, 0, 1, 4096), (64, 8, 1, 8192), (8, 8, 1, 32768))
}
PERCEPTRONS = {
    f"mlp-{m}x{k}x{l}": Chain("f16", 0, m, k, l, k, "gelu")
    for m, k, l in ((128, 768, 3072), (512, 512, 2048), (32, 768, 3072))
}


def timed():
    """Cases to time, by name."""
    return (dict(read_chains()) | LARGE | DECODE | PERCEPTRONS
            | dict(read_convolutions()))


def checked():
    """Cases to check alone: those that the tests assemble or interpret."""
    lists = (kernels.COMPILED, kernels.PLANNED, kernels.RUN, kernels.ATTEND,
             kernels.ATTENTION, kernels.SPLIT, kernels.RUN_TF32, kernels.ATTENTION_TF32,
             kernels.COMPILED_TF32, kernels.PLANNED_TF32, CONVOLVE)
    cases = list(dict.fromkeys(case for cases in lists for case in cases))
    return {f"check-{number}": case for number, case in enumerate(cases)}
