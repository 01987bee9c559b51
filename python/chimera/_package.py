"""Compiled programs as files: one file has everything that it takes to run.

A package is a zip file with the shared library, its manifest, the text that it
was compiled from, and the weights, if they go with it. Nothing of LLVM is needed
to load one. Weights are stored as they are in memory, so that loading maps them.
"""

from __future__ import annotations

import io
import json
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ChimeraError

LIBRARY, MANIFEST, SOURCE = "program.so", "manifest.json", "program.mlir"
_WEIGHTS = "weights/"
# What zipfile raises for a damaged file, depending on where the damage is.
_DAMAGES = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    KeyError,
    RuntimeError,  # NotImplementedError, too: flags that were never set.
    ValueError,
)
# Weights start at multiples of a cache line.
_ALIGNMENT = 64
# The extra field of files that may be large, in front of others.
_ZIP64_BYTES = 20


@dataclass(frozen=True)
class Package:
    """What a file has, weights apart."""

    library: bytes
    manifest: dict[str, Any]
    source: str


def write(
    path: Path, package: Package, weights: Mapping[int, Any] | None = None
) -> None:
    """Writes a package, whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file, name = tempfile.mkstemp(dir=path.parent, prefix=".chimera-")
    try:
        with os.fdopen(file, "wb") as stream:
            _write(stream, package, weights or {})
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _write(stream: Any, package: Package, weights: Mapping[int, Any]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(LIBRARY, package.library)
        archive.writestr(MANIFEST, json.dumps(package.manifest))
        archive.writestr(SOURCE, package.source)
        for index, weight in weights.items():
            _write_weight(archive, index, weight)


def _write_weight(archive: zipfile.ZipFile, index: int, weight: Any) -> None:
    import numpy

    header = io.BytesIO()
    array = numpy.ascontiguousarray(weight)
    numpy.lib.format.write_array_header_2_0(
        header, numpy.lib.format.header_data_from_array_1_0(array)
    )
    info = zipfile.ZipInfo(f"{_WEIGHTS}{index}.npy")
    start = archive.fp.tell() + 30 + len(info.filename) + len(header.getvalue())
    padding = -(start + 4 + _ZIP64_BYTES) % _ALIGNMENT
    # An extra field of no meaning moves the elements to their place.
    info.extra = struct.pack("<HH", 0xFFFF, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=True) as stream:
        stream.write(header.getvalue())
        stream.write(array.reshape(-1).view(numpy.uint8).data)


def read(path: Path) -> Package:
    """Reads a package. Raises OSError, or ChimeraError if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return Package(
                archive.read(LIBRARY),
                json.loads(archive.read(MANIFEST)),
                archive.read(SOURCE).decode(),
            )
    except _DAMAGES as error:
        raise ChimeraError(
            f"{path} is damaged or no compiled program: {error}"
        ) from None


def read_weights(path: Path) -> dict[int, Any]:
    """The weights of a package by argument, mapped from the file."""
    weights = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.startswith(_WEIGHTS):
                index = int(info.filename[len(_WEIGHTS) : -len(".npy")])
                weights[index] = _map_weight(path, info)
    return weights


def _map_weight(path: Path, info: zipfile.ZipInfo) -> Any:
    import numpy

    with open(path, "rb") as stream:
        stream.seek(info.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", stream.read(4))
        stream.seek(name_length + extra_length, os.SEEK_CUR)
        numpy.lib.format.read_magic(stream)
        shape, _, dtype = numpy.lib.format.read_array_header_2_0(stream)
        offset = stream.tell()
    if 0 in shape:
        return numpy.empty(shape, dtype)
    return numpy.memmap(path, dtype, "r", offset, shape)
