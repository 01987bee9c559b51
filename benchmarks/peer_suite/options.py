"""What the programs that run cases are told alike."""

import argparse
import pathlib
import re

from .cases import GROUPS, TYPES, Case, load

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def names(allowed):
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := set(chosen) - set(allowed):
            raise argparse.ArgumentTypeError(
                f"no {', '.join(sorted(unknown))} among {', '.join(allowed)}")
        return [name for name in allowed if name in chosen]
    return parse


def add_selection(parser: argparse.ArgumentParser, threads: list[int]) -> None:
    """Options for what to run, where Chimera is, and where the report goes."""
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE",
                        help="where the report goes (default: standard output)")
    parser.add_argument("--groups", type=names(GROUPS), default=list(GROUPS),
                        help=f"some of {','.join(GROUPS)}")
    parser.add_argument("--threads", default=threads,
                        type=lambda text: [int(x) for x in text.split(",")],
                        help="thread counts "
                        f"(default: {','.join(map(str, threads))})")
    parser.add_argument("--cases", type=re.compile, default=re.compile(""),
                        metavar="REGEX", help="cases, by GROUP-NAME")
    parser.add_argument("--type", choices=TYPES, default="f32",
                        help="what arguments and results are (default: f32)")
    parser.add_argument("--models", type=pathlib.Path, metavar="DIR",
                        help="exported programs; without it the group is left out")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        help="where bin/chimera-run is (default: build/release)")


def chosen_cases(options: argparse.Namespace, element="f32") -> list[Case]:
    return [case for case in load(options.models, element)
            if case.group in options.groups and options.cases.search(case.key)]
