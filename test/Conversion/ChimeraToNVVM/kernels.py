"""Makes kernels of chains, for the tests of this directory.

    kernels.py compile TARGET   with ptxas: no spills, no warnings, registers within
                                what the model says threads have, shared memory and
                                instructions exactly as planned, and in what time
    kernels.py planned TARGET   the same, for plans of the planner
    kernels.py attend TARGET    and for attention
    kernels.py run TARGET       on the CPU, by ptx.py, against an f64 reference; the
                                bytes moved are those that the model predicts
    kernels.py attention TARGET the same for attention
    kernels.py split TARGET     and for attention whose keys are split among blocks
    kernels.py share TARGET     and for attention whose keys are shared by warps
    kernels.py stages TARGET    and for chains, attention and a convolution with more
                                copies of tiles than the planner would take
    kernels.py convolve TARGET  and for convolutions
    kernels.py planned-convolve TARGET
                                convolutions by ptxas, as planned
    kernels.py compile-tf32 TARGET, planned-tf32, run-tf32, attention-tf32
                                the same of f32, multiplied as tf32; what is planned
                                is chains and attention

All print a line per kernel and end with an error if something is wrong.
"""

import contextlib
import io
import json
import math
import re
import resource
import sys
import tempfile
from pathlib import Path

import convolutions
from assembly import OPCODES, assemble, chip_of, find_disassembler, run
from expected import compare, expect, paths_of, sharers_of
from programs import Attention, Chain, write

COMPILED = [
    Chain("f16", 0, 512, 64, 512, 64, tiles="m = 64, l = 64"),
    Chain("f16", 0, 512, 64, 512, 64, tiles="m = 64, l = 32"),
    Chain("bf16", 0, 512, 64, 512, 64, tiles="m = 64, l = 64"),
    Chain("f16", 0, 512, 64, 256, 64, tiles="m = 128, l = 64"),
    Chain("f16", 0, 512, 128, 512, 128, tiles="m = 64, l = 32"),
    Chain("f16", 0, 512, 512, 256, 64, tiles="m = 64, l = 64, k = 64"),
    Chain("f16", 0, 208, 80, 208, 80, tiles="m = 16, l = 48"),
    Chain("bf16", 0, 208, 80, 208, 80, tiles="m = 64, l = 48, k = 32"),
    Chain("f16", 0, 100, 33, 77, 50, tiles="m = 32, l = 32"),
    Chain("f16", 0, 100, 34, 78, 50, tiles="m = 32, l = 24"),
    Chain("f16", 0, 512, 64, 512, 64, tiles="m = 64, l = 64", stages=3),
    Chain("f16", 0, 512, 64, 512, 64, tiles="m = 64, l = 32", stages=4),
    Chain("bf16", 0, 208, 80, 208, 80, tiles="m = 64, l = 48", stages=3),
    Chain("f16", 0, 32, 160, 64, 32, tiles="m = 16, l = 32, k = 32", stages=3),
    Chain("f16", 0, 32, 64, 32, 32, tiles="m = 16, l = 16", stages=4),
]
# As the planner has them: the chains of table IV of the Chimera paper, G1 to G12,
# and perceptrons.
PLANNED = [
    Chain("f16", batch, m, k, l, n, "none") for batch, m, n, k, l in (
        (8, 512, 64, 64, 512), (12, 512, 64, 64, 512), (16, 512, 64, 64, 512),
        (12, 256, 64, 64, 256), (16, 256, 64, 64, 256), (16, 256, 80, 80, 256),
        (12, 208, 64, 64, 208), (16, 208, 64, 64, 208), (16, 208, 80, 80, 208),
        (0, 512, 64, 64, 256), (0, 768, 64, 64, 384), (0, 1024, 64, 64, 512),
        # G1, G6 and G9 alone.
        (0, 512, 64, 64, 512), (0, 256, 80, 80, 256), (0, 208, 80, 80, 208))
] + [
    Chain("f16", 0, 128, 768, 3072, 768, "gelu"),
    Chain("f16", 0, 512, 512, 2048, 512, "gelu"),
    Chain("f16", 0, 32, 768, 3072, 768, "gelu"),
]
RUN = [
    Chain("f16", 0, 64, 64, 64, 64, tiles="m = 32, l = 32"),
    Chain("bf16", 0, 64, 32, 64, 32, tiles="m = 32, l = 16"),
    Chain("f16", 0, 64, 160, 64, 32, tiles="m = 32, l = 32, k = 32"),
    Chain("f16", 0, 64, 160, 32, 32, tiles="m = 16"),
    Chain("f16", 0, 64, 48, 80, 32, tiles="m = 16, l = 40"),
    Chain("f16", 0, 50, 96, 64, 56, tiles="m = 32, n = 24, k = 40"),
    Chain("f16", 0, 40, 96, 64, 56, tiles="m = 16, k = 16, l = 32"),
    Chain("bf16", 0, 45, 33, 37, 25, tiles="m = 32, l = 16"),
    Chain("f16", 0, 45, 34, 38, 26, tiles="m = 16, l = 24"),
    Chain("f16", 0, 32, 32, 48, 24, "gelu", "m = 16, l = 16"),
    Chain("f16", 0, 32, 48, 32, 24, tiles="m = 16, l = 16", transposed="xwv"),
    Chain("f16", 0, 70, 48, 80, 40, tiles="m = 64, l = 32", rows=2),
    # One tile: one block, with loops and without.
    Chain("f16", 0, 16, 64, 48, 16, tiles="; l = 16"),
    Chain("f16", 0, 16, 64, 16, 16, tiles=";"),
    Chain("bf16", 0, 30, 64, 64, 40, tiles="; n = 24, k = 32"),
    # A vector by matrices.
    Chain("f16", 0, 1, 64, 96, 48, tiles="; l = 32"),
    Chain("bf16", 0, 1, 33, 37, 25, "gelu", ";", transposed="v"),
]
# In tf32: as above, with any order of the factors, and extents of which rows have
# an odd number of 8, of 4 and of 2 words, or are odd.
RUN_TF32 = [
    Chain("f32", 0, 64, 64, 64, 64, tiles="m = 32, l = 32"),
    Chain("f32", 0, 64, 64, 64, 64, tiles="m = 32, l = 32", transposed="w"),
    Chain("f32", 0, 64, 64, 64, 48, tiles="m = 32, l = 32", transposed="v"),
    Chain("f32", 0, 32, 48, 64, 40, tiles="m = 16, l = 16", transposed="xwv"),
    Chain("f32", 0, 64, 32, 64, 32, tiles="m = 32, l = 64", transposed="x"),
    Chain("f32", 0, 64, 160, 64, 32, tiles="m = 32, l = 32, k = 32"),
    Chain("f32", 0, 32, 160, 32, 32, tiles="m = 16"),
    Chain("f32", 0, 32, 40, 56, 24, tiles="m = 16, l = 24"),
    Chain("f32", 0, 50, 88, 64, 56, tiles="m = 32, n = 24, k = 40"),
    Chain("f32", 0, 45, 33, 37, 25, tiles="m = 32, l = 16"),
    Chain("f32", 0, 45, 33, 37, 25, tiles="m = 32, l = 16", transposed="xwv"),
    Chain("f32", 0, 45, 34, 38, 26, "tanh", "m = 16, l = 24"),
    Chain("f32", 0, 32, 32, 48, 24, "gelu", "m = 16, l = 16"),
]

# Attention as the planner has it, of eight to sixteen heads; the last is grouped. Of
# few queries keys are split among blocks.
ATTEND = [
    Attention("f16", 16, 0, 1024, 1024, d, mask)
    for d in (64, 80, 128) for mask in ("", "causal")
] + [Attention("bf16", 8, 0, 2048, 2048, 128, "causal"),
     Attention("f16", 4, 4, 1024, 1024, 128, "causal"),
     Attention("f16", 32, 0, 1, 8192, 128), Attention("bf16", 8, 4, 1, 8192, 128),
     Attention("f16", 32, 0, 4, 2048, 128)]
# And at sizes that an interpreter can do.
ATTENTION = [
    Attention("f16", 2, 0, 32, 64, 64, "", "b = 1, m = 16, l = 32"),
    Attention("f16", 2, 0, 64, 64, 64, "causal", "b = 1, m = 32, l = 16"),
    Attention("f16", 2, 0, 48, 80, 80, "causal", "b = 1, m = 16, l = 32"),
    Attention("bf16", 2, 0, 33, 50, 80, "", "b = 1, m = 16, l = 32"),
    Attention("f16", 2, 0, 32, 48, 128, "added", "b = 1, m = 16, l = 16"),
    Attention("f16", 2, 0, 40, 40, 128, "causal", "b = 1, m = 16, l = 24"),
    Attention("f16", 2, 0, 32, 32, 64, "none", "b = 1, m = 16, l = 16"),
    Attention("f16", 2, 2, 32, 48, 64, "causal", "b = 1, m = 1, m1 = 16, l = 16"),
    # Edges in both directions, more keys than rows and fewer, tiles within tiles.
    Attention("f16", 2, 0, 37, 53, 64, "causal", "b = 1, m = 16, l = 16"),
    Attention("bf16", 2, 0, 70, 41, 64, "causal", "b = 1, m = 32, l = 8"),
    Attention("f16", 2, 0, 33, 75, 64, "last", "b = 1, m = 16, l = 24"),
    Attention("f16", 2, 3, 20, 45, 64, "last", "b = 1, m = 1, m1 = 16, l = 16"),
    Attention("f16", 2, 0, 64, 64, 64, "window", "b = 1, m = 16, l = 8"),
    Attention("f16", 2, 0, 48, 64, 64, "causal", "b = 1, m = 16, l = 32, k = 32"),
    Attention("f16", 2, 0, 48, 64, 64, "causal", "b = 1, m = 16, l = 32, n = 32"),
    Attention("f16", 2, 0, 64, 96, 64, "", None),
    Attention("f16", 2, 0, 70, 80, 64, "causal", "b = 1, m = 64, l = 16", 2),
    # One head of few queries: one block.
    Attention("f16", 1, 0, 9, 45, 64, "causal", "; l = 16"),
    # One query, and one for each head of a group.
    Attention("f16", 3, 0, 1, 45, 64, "", "b = 1, l = 16"),
    Attention("f16", 2, 3, 1, 64, 64, "", None),
    Attention("f16", 1, 0, 1, 45, 64, "", None),
]
# Keys split among blocks: what is before the semicolon of the tiles makes the blocks.
SPLIT = [
    Attention("f16", 3, 0, 1, 75, 64, "", "b = 1, l = 32; l = 16"),
    Attention("bf16", 2, 0, 1, 64, 128, "", "b = 1, l = 16; l = 16"),
    # A few queries, all parts alike, rows of tiles inside and outside of the parts.
    Attention("f16", 2, 0, 4, 96, 64, "", "b = 1, l = 32; l = 8"),
    Attention("f16", 2, 0, 20, 80, 64, "", "b = 1, m = 16, l = 48; l = 16"),
    Attention("f16", 2, 0, 40, 64, 64, "", "b = 1, l = 48, m = 32; l = 16", 2),
    # One head alone: no loop but that of the parts.
    Attention("f16", 1, 0, 3, 75, 64, "", "l = 32; l = 16"),
    Attention("f16", 1, 4, 1, 75, 64, "", "l = 32; l = 16"),
    # Loops over parts and over rows that look the same.
    Attention("f16", 2, 0, 32, 32, 64, "", "b = 1, l = 16, m = 16; l = 16"),
    # Tiles within the tiles of a part.
    Attention("f16", 2, 0, 20, 64, 64, "", "b = 1, m = 16, l = 32; l = 16, n = 32"),
    Attention("f16", 2, 0, 4, 64, 64, "", "b = 1, l = 32; n = 32, l = 16"),
    Attention("f16", 2, 0, 4, 64, 64, "causal", "b = 1, l = 32; l = 16, k = 32"),
    # Heads that share keys.
    Attention("f16", 2, 3, 1, 90, 64, "", "b = 1, l = 64; l = 16"),
    Attention("f16", 2, 2, 5, 70, 64, "last", "b = 1, m = 1, l = 32; l = 16"),
    # Masks that leave nothing of some parts, or of all.
    Attention("f16", 2, 0, 16, 64, 64, "causal", "b = 1, l = 32; l = 16"),
    Attention("f16", 2, 0, 37, 75, 64, "causal", "b = 1, m = 16, l = 32; l = 16"),
    Attention("f16", 2, 0, 33, 75, 64, "last", "b = 1, m = 16, l = 40; l = 8"),
    Attention("f16", 2, 0, 64, 64, 64, "window", "b = 1, m = 16, l = 32; l = 8"),
    Attention("f16", 2, 0, 20, 48, 64, "none", "b = 1, m = 16, l = 32; l = 16"),
    # A mask from memory, a part without a loop, one for each of the keys' tiles.
    Attention("f16", 2, 0, 4, 48, 64, "added", "b = 1, l = 16; l = 16"),
    Attention("f32", 2, 0, 3, 75, 64, "", "b = 1, l = 32; l = 16"),
]
# Keys of a tile shared by the warps of a block, whose rows are the same: edges, masks,
# some from memory, two times 16 rows, one tile without a loop, parts by blocks as well.
SHARED = [
    Attention("f16", 2, 0, 1, 128, 64, "", "b = 1; l = 64", sharers=4),
    Attention("f16", 2, 0, 4, 96, 64, "", "b = 1; l = 32", sharers=2),
    Attention("bf16", 2, 0, 16, 75, 64, "", "b = 1; l = 32", sharers=2),
    Attention("f16", 2, 0, 13, 90, 80, "causal", "b = 1; l = 64", sharers=4),
    Attention("f16", 2, 0, 9, 70, 64, "last", "b = 1; l = 32", sharers=2),
    Attention("f16", 2, 0, 16, 70, 64, "window", "b = 1; l = 32", sharers=2),
    Attention("f16", 2, 0, 8, 48, 64, "none", "b = 1; l = 32", sharers=2),
    Attention("f16", 2, 0, 4, 64, 64, "added", "b = 1; l = 32", sharers=2),
    Attention("f16", 2, 0, 30, 96, 64, "causal", "b = 1; l = 32", 2, 2),
    Attention("f16", 2, 3, 1, 90, 64, "", "b = 1; l = 32", sharers=2),
    Attention("f16", 2, 0, 1, 64, 128, "", "b = 1;", sharers=4),
    Attention("f16", 2, 0, 1, 200, 64, "", "b = 1, l = 128; l = 64", sharers=4),
    Attention("bf16", 2, 0, 5, 256, 64, "last", "b = 1, l = 96; l = 32", sharers=2),
    Attention("f32", 2, 0, 3, 75, 64, "", "b = 1; l = 32", sharers=4),
    Attention("f32", 1, 0, 7, 64, 64, "causal", "l = 32; l = 16", sharers=2),
]
# Three and four copies of the tiles that loops choose: with an edge, with a loop for
# each product, with as many copies as iterations, and with more.
STAGED = [
    Chain("f16", 0, 64, 64, 96, 64, tiles="m = 32, l = 16", stages=3),
    Chain("f16", 0, 32, 64, 96, 48, tiles="m = 16, l = 16", stages=4),
    Chain("bf16", 0, 45, 160, 75, 25, tiles="m = 32, l = 16, k = 32", stages=4),
    Chain("f16", 0, 32, 160, 64, 32, tiles="m = 16, l = 32, k = 32", stages=3),
    Chain("f16", 0, 70, 48, 80, 40, tiles="m = 64, l = 32", rows=2, stages=3),
    Chain("f16", 0, 32, 64, 32, 32, tiles="m = 16, l = 16", stages=4),
    Chain("f16", 0, 16, 64, 64, 16, tiles="; l = 16", stages=4),
    Chain("f32", 0, 32, 40, 56, 24, tiles="m = 16, l = 8", stages=3),
    Attention("f16", 2, 0, 33, 90, 64, "", "b = 1, m = 16, l = 16", stages=3),
    Attention("f16", 2, 0, 64, 64, 64, "causal", "b = 1, m = 32, l = 16", stages=4),
    Attention("f16", 2, 0, 64, 64, 64, "window", "b = 1, m = 16, l = 8", stages=4),
    Attention("f16", 2, 0, 37, 75, 64, "causal", "b = 1, m = 16, l = 32; l = 8",
              stages=3),
    Attention("f16", 2, 0, 13, 130, 80, "last", "b = 1; l = 32", sharers=2, stages=3),
]

COMPILED_TF32 = [
    Chain("f32", 0, 512, 64, 512, 64, tiles="m = 64, l = 64"),
    Chain("f32", 0, 512, 64, 512, 64, tiles="m = 64, l = 32", transposed="wv"),
    Chain("f32", 0, 512, 64, 256, 64, tiles="m = 128, l = 32"),
    Chain("f32", 0, 512, 128, 512, 128, tiles="m = 64, l = 32"),
    Chain("f32", 0, 512, 512, 256, 64, tiles="m = 64, l = 64, k = 32"),
    Chain("f32", 0, 208, 80, 208, 80, tiles="m = 16, l = 48"),
    Chain("f32", 0, 100, 33, 77, 50, tiles="m = 32, l = 32"),
    Chain("f32", 0, 100, 34, 78, 50, tiles="m = 32, l = 24", transposed="w"),
]
PLANNED_TF32 = [
    Chain("f32", 16, 256, 80, 256, 80, "none"),
    Chain("f32", 0, 512, 64, 512, 64, "none"),
    Chain("f32", 0, 128, 768, 3072, 768, "gelu"),
    Chain("f32", 0, 512, 512, 2048, 512, "gelu"),
    Chain("f32", 0, 32, 768, 3072, 768, "gelu"),
    Attention("f32", 16, 0, 1024, 1024, 64, ""),
    Attention("f32", 16, 0, 1024, 1024, 64, "causal"),
    Attention("f32", 16, 0, 1024, 1024, 80, "causal"),
    Attention("f32", 16, 0, 1024, 1024, 128, ""),
    Attention("f32", 16, 0, 1024, 1024, 128, "causal"),
    Attention("f32", 4, 4, 1024, 1024, 128, "causal"),
]
# Of this, a plan has a loop over parts of what registers hold: what it becomes is
# not derived.
STRAIGHT = [Attention("f32", 16, 0, 1024, 1024, 128, "causal")]
ATTENTION_TF32 = [
    Attention("f32", 2, 0, 32, 64, 64, "", "b = 1, m = 16, l = 32"),
    Attention("f32", 2, 0, 48, 80, 80, "causal", "b = 1, m = 16, l = 32"),
    Attention("f32", 2, 0, 33, 50, 80, "", "b = 1, m = 16, l = 32"),
    Attention("f32", 2, 0, 32, 48, 128, "added", "b = 1, m = 16, l = 16"),
    Attention("f32", 2, 0, 40, 40, 72, "causal", "b = 1, m = 16, l = 24"),
    Attention("f32", 2, 0, 32, 32, 64, "none", "b = 1, m = 16, l = 16"),
    Attention("f32", 2, 2, 32, 48, 64, "causal", "b = 1, m = 1, m1 = 16, l = 16"),
    Attention("f32", 2, 0, 64, 96, 64, "", None),
]

ELEMENT_BYTES = {"f16": 2, "bf16": 2, "f32": 4}
# Of the largest result: f16 and tf32 have 11 bits, bf16 has 8.
TOLERANCE = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-3}
# And of the magnitudes of an element's own terms, so many times as much: softmaxes
# grow what their scores are off by.
ELEMENT_SLACK = 2

# Chips that run the code of others, too.
LATER_CHIPS = {"sm_80": ("sm_100", "sm_120")}
# Seconds of a processor that ptxas may take for a case. Words are twice the
# instructions.
MOST_SECONDS = {"f16": 2, "bf16": 2, "f32": 4}
# What chimera-opt may take, from linalg to PTX, is counted in times of ptxas: how fast
# the machine is cancels out.
MOST_TIMES_PTXAS = 12


def read_ptx(module):
    """The text in each gpu.binary of a module, by its name."""
    binaries = re.findall(
        r'gpu\.binary @(\w+) .*assembly = "((?:[^"\\]|\\.)*)"', module)
    return {name: re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text)
            for name, text in binaries}


def make(case, target, burst=None):
    """The case's kernels: PTX, manifest and what the planner's report says, which is
    nothing of those that bring tensors into another order."""
    text = (convolutions.write_convolution(case)
            if isinstance(case, convolutions.Convolution) else write(case))
    return make_from(text, case, target, burst, "tf32" if case.type == "f32" else "")


def make_from(text, case, target, burst=None, options=""):
    """Those of a program."""
    if case.tiles:
        text = run(["chimera-opt", f"--chimera-form-chains=target={target}"], text).stdout
        # What is before a semicolon makes the blocks, with parts of a reduction.
        outer, cut, inner = case.tiles.rpartition(";")
        parallel = outer.count("=") if cut else (
            (case.heads > 1) + bool(case.group) + (case.m > 1)
            if isinstance(case, Attention) else 1 + bool(getattr(case, "batch", 0)))
        around, inside = (" : " + loops if loops.strip() else ""
                          for loops in (outer, inner))
        stages = getattr(case, "stages", 0)
        schedule = (f' schedule(<levels = [<"L2"{around}>, <"SMEM"{inside}>],'
                    f" parallel = {parallel}, registers ="
                    f" <rows = {case.rows}, vectors = 20, broadcasts = 0,"
                    f" depth = {getattr(case, 'sharers', 1)}"
                    + (f", stages = {stages}" if stages else "") + ">>) {")
        text = re.sub(r"(chimera\.chain ins\(.*\)) \{", lambda m: m[1] + schedule,
                      text)
    with tempfile.TemporaryDirectory() as folder:
        if burst:
            machine = re.sub(r"burst = \d+", f"burst = {burst}", machine_of(target))
            target = f"{folder}/machine.mlir"
            Path(target).write_text(machine)
        manifest = Path(folder, "manifest.json")
        pipeline = (f"--chimera-nvidia-pipeline=target={target} format=isa"
                    f" manifest={manifest} {options}"
                    f" fuse={getattr(case, 'fuse', 'auto')}")
        report = Path(folder, "report.json")
        result = run(["chimera-opt", pipeline, f"--chimera-report={report}"], text)
        kernels = json.loads(manifest.read_text())["kernels"]
        chain, = json.loads(report.read_text())["chains"]
    ptx = read_ptx(result.stdout)
    # Those of chains are made first.
    planned = sorted(kernels, key=lambda kernel: (len(kernel["module"]),
                                                  kernel["module"]))
    plans = {kernel["module"]: plan for kernel, plan in zip(planned, chain["kernels"])}
    assert len(plans) == len(chain["kernels"])
    return [(ptx[kernel["module"]], kernel, plans.get(kernel["module"]))
            for kernel in kernels]


def key_of(argument):
    """What an argument of a kernel is, in words of the manifest."""
    kind = "argument" if "argument" in argument else "buffer"
    return kind, argument[kind]


def machine_of(target):
    """What the target says, as an attribute."""
    attached = run(["chimera-opt", f"--chimera-attach-target=target={target}"],
                   "module {}").stdout
    return re.search(r"chimera\.target = (#chimera\.target<.*>)\}", attached)[1]


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def build_case(case, target):
    """The kernels, what ptxas says of them, and the seconds of both."""
    start = spent()
    kernels = make(case, target)
    made = spent()
    assembled = [assemble(ptx, chip_of(ptx)) for ptx, _, _ in kernels]
    return kernels, assembled, (made - start, spent() - made)


def check_later_chips(case, kernels):
    """The same PTX for chips that came later: nothing is spilled, in the same time."""
    problems = []
    for chip in LATER_CHIPS.get(chip_of(kernels[0][0]), ()):
        for ptx, _, _ in kernels:
            start = spent()
            _, report, opcodes = assemble(ptx, chip)
            took = spent() - start
            print(" ", chip, "registers", re.search(r"Used (\d+)", report)[1],
                  *(f"{name} {opcodes[name]}" for name in ("LDL", "STL")))
            if "warning" in report or opcodes["LDL"] or opcodes["STL"]:
                problems.append(f"{chip}: {report}")
            if took > MOST_SECONDS[case.type]:
                problems.append(f"ptxas takes {took:.1f} s for {chip}")
    return problems


def expect_functions(case, kernel, plan):
    """The least and most MUFU of a kernel, by its plan: in a softmax an exponential of
    each score and of each row's step, and a reciprocal of each row's sum, of which a
    thread has two of 16. Under a mask some are there twice, in code for tiles that it
    cuts. Of parts of a reduction, rows that do not exist are dropped."""
    if not isinstance(case, Attention):
        isPlain = getattr(case, "activation", "") in ("relu", "none")
        return 0, 0 if isPlain else math.inf
    if any("buffer" in argument for argument in kernel["arguments"]):
        return 1, math.inf
    _, sizes = next(paths_of(plan))
    *_, columns, _ = sizes.values()
    rows = 2 * plan["fragments"]["row_tiles"]
    functions = rows * (2 * -(-columns // 8 // sharers_of(plan, sizes)) + 2)
    return functions, functions * (2 if case.mask else 1)


def too_slow(case, seconds):
    making, assembling = seconds
    return (assembling > MOST_SECONDS[case.type]
            or making > MOST_TIMES_PTXAS * assembling)


def compile_case(case, target):
    kernels, assembled, seconds = build_case(case, target)
    # Other work on the machine makes some runs slow, but not all.
    for _ in range(4):
        if too_slow(case, seconds):
            seconds = build_case(case, target)[2]
    problems = []
    by_columns = [True, False]
    if isinstance(case, Chain):
        by_columns = [name in case.transposed for name in "wv"]
    if isinstance(case, convolutions.Convolution):
        by_columns = [False, False]
    for (ptx, kernel, plan), (chip, report, opcodes) in zip(kernels, assembled):
        if "warning" in report or opcodes["LDL"] or opcodes["STL"]:
            problems.append(report)
        if not plan:
            continue
        threads, fragments = kernel["block"][0], plan["fragments"]
        registers = int(re.search(r"Used (\d+) registers", report)[1])
        print(*case, chip, "registers", registers, "threads", threads, "grid",
              kernel["grid"][0], "shared", kernel["shared"],
              *(f"{name} {opcodes[name]}" for name in OPCODES.values()))
        if (threads != 32 * fragments["groups"]
                or registers > fragments["available_registers"]):
            problems.append(f"{registers} registers are more than threads have")
        if kernel["shared"] != fragments["factor_bytes"]:
            problems.append("shared memory is not what was planned")
        if "warning" in report or not re.search(
                r" 0 bytes spill stores, 0 bytes spill loads", report):
            problems.append(report)
        expected = expect(plan, threads, by_columns, ELEMENT_BYTES[case.type])
        if expected:
            problems += compare(expected, ptx, opcodes)
        elif case not in STRAIGHT or not opcodes["HMMA"]:
            problems.append("no instructions are expected")
        least, most = expect_functions(case, kernel, plan)
        if not least <= opcodes["MUFU"] <= most:
            problems.append(f"{opcodes['MUFU']} MUFU, not {least} to {most}")
        if isinstance(case, Attention) and not opcodes["SHFL"]:
            problems.append("no exchange between threads")
    problems += check_later_chips(case, kernels)
    if isinstance(case, Attention) and (disassembler := find_disassembler()):
        problems += [report for ptx, _, _ in kernels if "nvdisasm" in (
            report := assemble(ptx, chip_of(ptx), disassembler)[1])]
    took = "{:.2f} s, and {:.2f} s of ptxas".format(*seconds)
    print(f"  in {took}")
    if too_slow(case, seconds):
        problems.append(f"takes {took}")
    return problems


class Numbers:
    """Arrays of a type that numpy may not have."""

    def __init__(self, kind):
        import numpy as np
        import ptx
        self.np, self.ptx, self.kind = np, ptx, kind
        self.random = np.random.default_rng(0)

    def narrow(self, values):
        values = self.np.asarray(values, self.np.float32)
        if self.kind == "f32":
            return values
        return (values.astype(self.np.float16) if self.kind == "f16"
                else self.ptx.to_bf16(values))

    def widen(self, values):
        if self.kind == "f32":
            return values.astype(self.np.float64)
        return self.ptx.read_float(values.view(self.np.uint16),
                                   self.kind).astype(self.np.float64)

    def normal(self, *shape):
        return self.narrow(self.random.standard_normal(shape))


def chain_data(case, numbers):
    """Arguments of a kernel, and what it is to compute."""
    np = numbers.np
    batch = (case.batch,) if case.batch else ()
    x, w, b, v = (numbers.normal(*shape) for shape in (
        (*batch, case.m, case.k), (*batch, case.k, case.l), (case.l,),
        (*batch, case.l, case.n)))
    inputs = [x, w, b, v]
    for index, name in ((0, "x"), (1, "w"), (3, "v")):
        if name in case.transposed:
            inputs[index] = np.ascontiguousarray(inputs[index].swapaxes(-1, -2))
    hidden = numbers.widen(x) @ numbers.widen(w)
    terms = np.abs(numbers.widen(x)) @ np.abs(numbers.widen(w))
    if case.activation != "none":
        hidden += numbers.widen(b)
        terms += np.abs(numbers.widen(b))
    if case.activation == "relu":
        hidden = np.maximum(hidden, 0)
    if case.activation == "tanh":
        hidden = np.tanh(hidden)
    if case.activation == "gelu":
        hidden *= 0.5 * (1 + np.vectorize(math.erf)(hidden * 0.5 ** 0.5))
    hidden = numbers.widen(numbers.narrow(hidden))
    return inputs, hidden @ numbers.widen(v), terms @ np.abs(numbers.widen(v))


def is_seen(case, np):
    """Which columns of scores the mask leaves a row."""
    row, column = np.ogrid[:case.m, :case.l]
    seen = {"": True, "added": True, "causal": column <= row, "none": row < column,
            "last": column <= row + case.l - case.m,
            "window": (column <= row) & (column > row - 12)}[case.mask]
    return np.broadcast_to(seen, (case.m, case.l))


# Scores of a query and a key along it differ from others by more than what an
# exponential in f16 can say.
SHARPNESS = 12


def sharpen(case, numbers, keys):
    """Queries along a key each, of those that they see."""
    np = numbers.np
    own = (case.group,) if case.group else ()
    chances = numbers.random.random((case.heads, *own, case.m, case.l))
    chosen = np.where(is_seen(case, np), chances, -1).argmax(-1)
    flat = chosen.reshape(case.heads, -1, 1)
    queries = np.take_along_axis(numbers.widen(keys), flat, axis=1)
    return numbers.narrow(
        SHARPNESS * queries.reshape(case.heads, *own, case.m, case.d))


def attention_data(case, numbers, is_sharp=False):
    np = numbers.np
    own = (case.heads, case.group) if case.group else (case.heads,)
    q, k, v, mask = (numbers.normal(*shape) for shape in (
        (*own, case.m, case.d), (case.heads, case.l, case.d),
        (case.heads, case.l, case.d), (case.m, case.l)))
    if is_sharp:
        q = sharpen(case, numbers, k)
    keys, values = numbers.widen(k), numbers.widen(v)
    if case.group:
        keys, values = keys[:, None], values[:, None]
    score = numbers.widen(q) @ keys.swapaxes(-1, -2) * case.d ** -0.5
    if case.mask == "added":
        score += numbers.widen(mask)
    score = np.where(is_seen(case, np), score, -np.inf)
    most = score.max(-1, keepdims=True)
    power = np.exp(score - np.where(np.isinf(most), 0, most))
    with np.errstate(invalid="ignore"):
        expected = power @ values / power.sum(-1, keepdims=True)
        terms = power @ np.abs(values) / power.sum(-1, keepdims=True)
    return [q, k, v, mask], expected, terms


def find_errors(numbers, result, expected, terms, allowed):
    """The largest error, of the largest result, and what is wrong: each element may be
    off by so much of the sum of its terms' magnitudes, too. What is no number has to
    be none."""
    np = numbers.np
    found = numbers.widen(result).reshape(expected.shape)
    if (np.isnan(found) != np.isnan(expected)).any():
        return np.inf, ["no numbers where there should be some"]
    off = np.abs(found - expected)
    error = np.nanmax(off) / np.nanmax(np.abs(expected))
    problems = [] if error < allowed else [f"off by {error}"]
    apart = np.nan_to_num(off / np.maximum(terms, np.finfo(np.float32).tiny))
    if apart.max() >= ELEMENT_SLACK * allowed:
        problems.append(f"an element is off by {apart.max():.1e} of its terms")
    return error, problems


def silence():
    return contextlib.redirect_stdout(io.StringIO())


def run_case(case, target):
    (text, manifest, plan), = make(case, target, burst=1)
    return check_kernel(case, text, manifest, plan)


def check_kernel(case, text, manifest, plan, is_sharp=False):
    """What is wrong with a kernel, by the interpreter; with sharp scores if the case is
    an attention."""
    numbers = Numbers(case.type)
    np, emulator = numbers.np, numbers.ptx
    is_chain = isinstance(case, Chain)
    inputs, expected, terms = (chain_data(case, numbers) if is_chain
                               else attention_data(case, numbers, is_sharp))
    problems, results = [], []
    arguments = [make_buffer(np, argument) if "buffer" in argument
                 else inputs[argument["argument"]]
                 for argument in manifest["arguments"][:-1]]
    kernel = emulator.Kernel(text)
    # A mask may leave a loop one iteration, which fills nothing again.
    planned = plan["fragments"]["factor_bytes"]
    if manifest["shared"] != planned and not (
            getattr(case, "mask", "") and manifest["shared"] < planned):
        problems.append("shared memory is not what was planned")
    for late, reverse in emulator.ORDERS:
        if problems:
            break
        result = numbers.narrow(np.full(expected.shape, np.nan))
        blocks = np.arange(manifest["grid"][0])
        launch = emulator.Launch(
            kernel, blocks if reverse else numbers.random.permutation(blocks),
            manifest["block"][0], manifest["shared"], [*arguments, result], late=late,
            reverse=reverse)
        results.append(result.tobytes())
        error, wrong = find_errors(numbers, result, expected, terms,
                                   TOLERANCE[case.type])
        problems += wrong
        print(*case, f"error {error:.1e}", end=" ")
        problems += check_bytes(case, launch, manifest, plan)
        if (has_whole_sectors(case)
                and 32 * launch.sectors[-1] != launch.stored[-1]):
            problems.append(f"{launch.sectors} sectors are touched to store")
        print("conflicts", launch.conflicts)
        if launch.conflicts:
            problems.append("banks are in conflict")
        if launch.cut:
            problems.append(f"{launch.cut} factors are not rounded")
        if any(array.any() for array in arguments if array.dtype == np.int32):
            problems.append("counters are left at something else than zero")
    if len(set(results)) > 1:
        problems.append("bits depend on the order of blocks")
    return problems


def make_buffer(np, argument):
    """Memory of a kernel's own, before the first launch."""
    if argument.get("zeroed") == "once":
        return np.zeros(argument["shape"], {"i32": np.int32}[argument["type"]])
    return np.full(argument["shape"], np.nan, {"f32": np.float32}[argument["type"]])


def has_whole_sectors(case):
    """Whether rows of the result, and of its tiles, are whole sectors."""
    columns = case.n if isinstance(case, Chain) else case.d
    tile = re.search(r"\bn = (\d+)", case.tiles or "")
    extents = [columns] + ([int(tile[1])] if tile else [])
    return not any(extent * ELEMENT_BYTES[case.type] % 32 for extent in extents)


def check_bytes(case, launch, manifest, plan):
    """That every tensor moves what the planner predicts. Tiles of factors go to
    shared memory by copies, or, where rows have odd lengths, element by element
    through registers. What elementwise operations read, each thread reads for
    itself: that the planner counts once for each tile."""
    level = plan["levels"][-1]
    predicted = {tensor["name"]: tensor["read_bytes"] + tensor["written_bytes"]
                 for tensor in level["tensors"]}
    # Function arguments in the order in which the chain reads them.
    order = ((0, 1, 2, 3) if isinstance(case, Chain)
             else (0, 1, 3, 2) if case.mask == "added" else (0, 1, 2))
    problems = check_parts(launch, manifest, level)
    for place, argument in enumerate(manifest["arguments"][:-1]):
        if "buffer" in argument:
            continue
        function_argument = argument["argument"]
        expected = predicted[f"in{order.index(function_argument)}"]
        copied, loaded = launch.copied[place], launch.loaded[place]
        if function_argument == (2 if isinstance(case, Chain) else 3):
            tile, read = elementwise_bytes(case, manifest)
            print("read", loaded, "of", expected, end=" ")
            if copied or loaded != read or expected != tile:
                problems.append(f"{read} of {tile} bytes are to be read")
        else:
            print("copied", copied + loaded, end=" ")
            if copied + loaded != expected:
                problems.append(f"{expected} bytes are to be copied")
    stored = sum(launch.stored)
    print("stored", stored, "predicted", level["bytes"], end=" ")
    if stored != level["written_bytes"]:
        problems.append(f"{level['written_bytes']} bytes are to be stored")
    if level["bytes"] != sum(predicted.values()):
        problems.append("tensors do not add up to what is predicted")
    return problems


def check_parts(launch, manifest, level):
    """That parts of a reduction move what the planner predicts: the accumulators and
    states of each are written once, by their block, and read once, by that which
    combines them."""
    places = [place for place, argument in enumerate(manifest["arguments"])
              if "buffer" in argument]
    if not places:
        return []
    *parts, counters = places
    names = ("out", "maximum", "sum")
    predicted = {tensor["name"]: tensor for tensor in level["tensors"]}
    problems, result = [], launch.stored[-1]
    for name, place in zip(names, parts, strict=True):
        read = sum(size for _, _, size in launch.read[place])
        written = launch.stored[place] + (result if name == "out" else 0)
        if (read, written) != (predicted[name]["read_bytes"],
                               predicted[name]["written_bytes"]):
            problems.append(f"of {name} {read} bytes are read, {written} written")
    sizes = [launch.places[place][1].nbytes for place in places]
    stored = sum(launch.stored[:-1])
    if stored != sum(sizes[:-1]) or sum(sizes) != manifest["workspace"]:
        problems.append("the workspace is not what is used of it")
    if launch.stored[counters] or launch.loaded[counters]:
        problems.append("counters are accessed by something else than atomics")
    return problems


def elementwise_bytes(case, manifest):
    """What a bias, or a mask in memory, has in the tiles that are worked on, and
    what threads read of it: of a bias each thread two of eight columns, of a mask
    all rows of each warp; all columns that the accumulators have."""
    outer, _, inner = case.tiles.rpartition(";")
    tiles = dict(re.findall(r"(\w+) = (\d+)", inner))
    part = re.search(r"\bl = (\d+)", outer)
    size = ELEMENT_BYTES[case.type]
    # A loop around the reduction inside leaves all columns to the epilogue.
    names = list(tiles)
    isCut = "l" in names and "k" not in names[:names.index("l")]
    columns = int(part[1]) if part else case.l
    width = min(columns, int(tiles["l"])) if isCut else columns
    padded = -(-columns // width) * (-(-width // 8) * 8)
    warps, grid = manifest["block"][0] // 32, manifest["grid"][0]
    if isinstance(case, Chain):
        return size * grid * case.l, size * grid * warps * 32 * padded // 4
    rows = case.heads * max(case.group, 1) * case.m
    # Warps that share rows read a part of the columns each.
    return size * rows * case.l, size * grid * warps // case.sharers * 16 * padded


def main():
    action, target = sys.argv[1:]
    wrong = False
    cases = {"compile": COMPILED, "planned": PLANNED, "attend": ATTEND, "run": RUN,
             "attention": ATTENTION, "split": SPLIT, "share": SHARED, "stages": STAGED,
             "compile-tf32": COMPILED_TF32, "planned-tf32": PLANNED_TF32,
             "run-tf32": RUN_TF32, "attention-tf32": ATTENTION_TF32, "convolve": convolutions.RUN,
             "planned-convolve": convolutions.PLANNED}[action]
    work = (convolutions.run_convolution if action == "convolve" else
            run_case if action.startswith(
                ("run", "attention", "split", "share", "stages"))
            else compile_case)
    for case in cases:
        for problem in work(case, target):
            print("WRONG:", problem)
            wrong = True
    sys.exit(wrong)


if __name__ == "__main__":
    main()
