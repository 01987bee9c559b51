"""Chimera at the command line: `python -m chimera --help`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

import chimera

from . import _cache, safetensors
from .importers import import_program

_SOURCE = "an ONNX model, a program of torch.export (.pt2), StableHLO or MLIR text"


def _parse_sizes(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, case.split("x"))) for case in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chimera", description=chimera.__doc__
    )
    parser.add_argument("--version", action="version", version=chimera.__version__)
    commands = parser.add_subparsers(dest="command", required=True)

    compiled = argparse.ArgumentParser(add_help=False)
    compiled.add_argument("source", help=f"{_SOURCE}, or a compiled program (.chimera)")
    compiled.add_argument("--target", default="host", help="the machine to compile for")
    compiled.add_argument("--threads", type=int, help="threads that run the program")
    compiled.add_argument(
        "--sizes", type=_parse_sizes, help="dynamic sizes to plan for, as 1x128,1x512"
    )
    compiled.add_argument("--fuse", default="auto", choices=["auto", "never", "always"])
    compiled.add_argument("--no-cache", action="store_true", help="compile in any case")

    command = commands.add_parser(
        "compile", parents=[compiled], help="compile a model to one file"
    )
    command.add_argument(
        "-o", "--output", required=True, help="where to, as in x.chimera"
    )

    command = commands.add_parser("run", parents=[compiled], help="run a model")
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="X.npy",
        help="an argument; repeat in order; the rest is random",
    )
    command.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="Y.npy",
        help="write a result; repeat in order",
    )

    command = commands.add_parser(
        "report", parents=[compiled], help="say how a model was planned, and why"
    )
    command.add_argument("-o", "--output", help="a page (.html), data (.json) or text")

    command = commands.add_parser(
        "import", help="write a model as MLIR, with its weights beside it"
    )
    command.add_argument("source", help=_SOURCE)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="X.mlir",
        help="where to; weights go to X.safetensors",
    )

    command = commands.add_parser("cache", help="show the cache of compiled programs")
    command.add_argument("--clear", action="store_true", help="remove all of them")
    return parser


def _compile(options: argparse.Namespace) -> chimera.Program:
    if options.source.endswith(".chimera"):
        return chimera.load(options.source)
    return chimera.compile(
        Path(options.source),
        target=options.target,
        threads=options.threads,
        sizes=options.sizes,
        fuse=options.fuse,
        cache=not options.no_cache,
    )


def _make_random(type_: dict[str, Any], rng: numpy.random.Generator) -> Any:
    if None in type_["shape"]:
        raise chimera.ChimeraError(
            "arguments of dynamic sizes have to be given by --input"
        )
    kind = {"f": numpy.float32, "b": numpy.float32, "i": numpy.int64}[
        type_["element"][0]
    ]
    if type_["element"] in ("i1", "i8", "i4"):
        return rng.integers(0, 2, type_["shape"]).astype(
            bool if type_["element"] == "i1" else numpy.int8
        )
    if kind is numpy.int64:
        return rng.integers(0, 8, type_["shape"]).astype(f"int{type_['element'][1:]}")
    values = rng.standard_normal(type_["shape"])
    if type_["element"] == "bf16":
        return (values.astype(numpy.float32).view(numpy.uint32) >> 16).astype(
            numpy.uint16
        )
    return values.astype(f"float{type_['element'][1:]}")


def _run(options: argparse.Namespace) -> None:
    program = _compile(options)
    signature = program.signature
    constants = set(signature["constants"])
    free = [t for i, t in enumerate(signature["arguments"]) if i not in constants]
    arguments = [numpy.load(path) for path in options.input]
    rng = numpy.random.default_rng(0)
    arguments += [_make_random(type_, rng) for type_ in free[len(arguments) :]]
    results = program.run(arguments)
    best = min(_time(program, arguments) for _ in range(10))
    for path, result in zip(options.output, results):
        numpy.save(path, result)
    shapes = ", ".join("x".join(map(str, r.shape)) or "a number" for r in results)
    print(f"results {shapes}; best of 10 runs {1e3 * best:.3f} ms")


def _time(program: chimera.Program, arguments: Sequence[Any]) -> float:
    begin = time.perf_counter()
    program.run(arguments)
    return time.perf_counter() - begin


def _report(options: argparse.Namespace) -> None:
    report = _compile(options).report()
    if options.output:
        report.save(options.output)
    else:
        print(report)


def _import(options: argparse.Namespace) -> None:
    imported = import_program(Path(options.source))
    output = Path(options.output)
    output.write_text(imported.text)
    # By number: chimera-run reads them as arguments.
    weights = {str(index): value for index, value in imported.constants.items()}
    notes = {str(index): name for index, name in enumerate(imported.names)}
    safetensors.write(output.with_suffix(".safetensors"), weights, notes)


def _show_cache(options: argparse.Namespace) -> None:
    if options.clear:
        print(f"{_cache.clear()} programs removed")
        return
    entries = list(_cache.folder().glob("*.chimera"))
    size = sum(path.stat().st_size for path in entries)
    print(
        f"{_cache.folder()}: {len(entries)} programs, {size / 2**20:.1f} MiB "
        f"of {_cache.limit() / 2**20:.0f} MiB"
    )


def main() -> int:
    options = _parser().parse_args()
    try:
        if options.command == "compile":
            _compile(options).save(options.output)
        elif options.command == "run":
            _run(options)
        elif options.command == "report":
            _report(options)
        elif options.command == "import":
            _import(options)
        else:
            _show_cache(options)
    except (chimera.ChimeraError, OSError, TypeError, RuntimeError) as error:
        print(f"chimera: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
