#!/usr/bin/env python3
"""Chooses the set of precompiled headers that files are compiled after.

Files that include Chimera's dialect, by themselves or by what they include, take the set
of all that its users have in common. Others take the largest set of which they include
all anyway, and so do all where they are to be seen to include what they use
(scripts/check-sources).

usage: includes.py --folders=FOLDER;... FILE...
           writes the name of a set, or `-`, for these files together
       includes.py --set=NAME
           writes the headers of that set as a list of CMake's
"""

import argparse
import functools
import os
import pathlib
import re

# What the users of the dialect include, its own headers with it.
DIALECT = "Chimera/IR/Chimera.h"
DIALECT_SET = [
    DIALECT,
    "mlir/Dialect/Affine/IR/AffineOps.h",
    "mlir/Dialect/Bufferization/IR/Bufferization.h",
    "mlir/Dialect/Func/IR/FuncOps.h",
    "mlir/Dialect/LLVMIR/LLVMDialect.h",
    "mlir/Dialect/Linalg/IR/Linalg.h",
    "mlir/Dialect/Math/IR/Math.h",
    "mlir/Dialect/MemRef/IR/MemRef.h",
    "mlir/Dialect/SCF/IR/SCF.h",
    "mlir/Dialect/Tensor/IR/Tensor.h",
    "mlir/Dialect/Vector/IR/VectorOps.h",
    "mlir/IR/PatternMatch.h",
    "mlir/IR/Remarks.h",
    "mlir/Pass/Pass.h",
    "mlir/Transforms/DialectConversion.h",
]

# From the most to the least. A set pays off if some ten files take it.
SETS = {
    "kernel": ["mlir/Dialect/LLVMIR/LLVMDialect.h", "mlir/Dialect/Linalg/IR/Linalg.h",
               "mlir/Dialect/MemRef/IR/MemRef.h", "mlir/Dialect/SCF/IR/SCF.h",
               "mlir/Dialect/Vector/IR/VectorOps.h"],
    "tile": ["mlir/Dialect/Linalg/IR/Linalg.h", "mlir/Dialect/MemRef/IR/MemRef.h",
             "mlir/Dialect/SCF/IR/SCF.h", "mlir/Dialect/Vector/IR/VectorOps.h"],
    "linalg": ["mlir/Dialect/Linalg/IR/Linalg.h"],
    "machine": ["mlir/Dialect/LLVMIR/LLVMDialect.h"],
    "chimera": [DIALECT],
    "loops": ["mlir/Dialect/Arith/IR/Arith.h", "mlir/Dialect/SCF/IR/SCF.h"],
    "memory": ["mlir/Dialect/MemRef/IR/MemRef.h"],
    "functions": ["mlir/Dialect/Func/IR/FuncOps.h", "mlir/Pass/Pass.h"],
    "ir": ["mlir/IR/PatternMatch.h"],
    "llvm": ["llvm/ADT/SmallVector.h", "llvm/ADT/STLExtras.h"],
}

ALL_SETS = {"dialect": DIALECT_SET, **SETS}

DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(if|endif|include[ \t]*["<]([^">]+))', re.M)
GUARD = re.compile(r"[^#]*#ifndef (\w+)\s+#define \1\b")


@functools.cache
def read_includes(path: str) -> list[str]:
    """What the file at `path` includes unconditionally, but for the guard around it."""
    text, names = pathlib.Path(path).read_text(errors="replace"), []
    conditions = -1 if GUARD.match(text) else 0
    for word, name in DIRECTIVE.findall(text):
        if name and conditions == 0:
            names.append(name)
        conditions += {"if": 1, "endif": -1}.get(word, 0)
    return names


@functools.cache
def find_header(name: str, folders: tuple[str, ...]) -> str | None:
    """The first header of that name in `folders`, the compiler's own apart."""
    paths = (os.path.join(folder, name) for folder in folders)
    return next((os.path.realpath(path) for path in paths if os.path.isfile(path)),
                None)


def find_includes(path: str, folders: tuple[str, ...]) -> frozenset[str]:
    """The file at `path` and the headers it includes for sure."""
    found: set[str] = set()
    waiting = [os.path.realpath(path)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            around = (os.path.dirname(path), *folders)
            headers = (find_header(name, around) for name in read_includes(path))
            waiting += filter(None, headers)
    return frozenset(found)


def find_all_includes(paths: list[str], folders: tuple[str, ...]) -> frozenset[str]:
    """The files at `paths` and the headers they include for sure."""
    return frozenset().union(*(find_includes(path, folders) for path in paths))


def find_set(paths: list[str], folders: tuple[str, ...]) -> str | None:
    """The name of the largest set of which the files at `paths` include all."""
    includes = find_all_includes(paths, folders)
    return next((name for name, headers in SETS.items()
                 if all(find_header(header, folders) in includes for header in headers)),
                None)


def choose_set(paths: list[str], folders: tuple[str, ...]) -> str | None:
    """The name of the set after which the files at `paths` are compiled."""
    # LLVM's headers include none of ours.
    own = tuple(folder for folder in folders
                if not os.path.isdir(os.path.join(folder, "mlir")))
    if find_header(DIALECT, own) in find_all_includes(paths, own):
        return "dialect"
    return find_set(paths, folders)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--folders", default="",
                        help="where headers are, as a list of CMake's")
    parser.add_argument("--set", choices=ALL_SETS)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if options.set:
        print(";".join(f"<{header}>" for header in ALL_SETS[options.set]))
    if options.files:
        print(choose_set(options.files, tuple(options.folders.split(";"))) or "-")


if __name__ == "__main__":
    main()
