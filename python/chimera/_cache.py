"""The cache of compiled programs in the user's cache folder.

Entries are packages named by a digest of all that decides the code: the text, the
options, the compiler and, for programs compiled for this machine, its processor.
They are written whole or not at all, so that processes may share the folder; the
oldest go when they take more than the limit. A cache that cannot be used is
no error: programs are compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from . import _package, _paths
from .errors import ChimeraError, warn_once

_SUFFIX = ".chimera"


def folder() -> Path:
    """CHIMERA_CACHE_DIR, else `chimera` in the user's cache folder."""
    chosen = os.environ.get("CHIMERA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "chimera"


def limit() -> int:
    """The most bytes that entries take: CHIMERA_CACHE_BYTES, else 2 GiB."""
    return int(os.environ.get("CHIMERA_CACHE_BYTES", 2 << 30))


@functools.cache
def _processor() -> str:
    """What this machine's processor is and can do."""
    lines = set()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith(("model name", "flags", "processor", "cpu family")):
                    lines.add(line)
    except OSError:
        pass
    return "".join(sorted(lines))


@functools.cache
def _compiler_version(path: str, _size: int, _time: int) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def key(text: str, options: dict[str, Any]) -> str:
    """The name of the entry for `text` compiled with `options`."""
    path = _paths.compiler()
    stat = os.stat(path)
    parts = {
        "options": options,
        "compiler": _compiler_version(path, stat.st_size, stat.st_mtime_ns),
        "processor": _processor(),
        "threads": len(os.sched_getaffinity(0)),
    }
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    target = options.get("target", "")
    if os.path.isfile(target):
        digest.update(Path(target).read_bytes())
    digest.update(text.encode())
    return digest.hexdigest()


def find(name: str) -> _package.Package | None:
    """The entry of that name; None if there is none that can be read."""
    path = folder() / (name + _SUFFIX)
    try:
        package = _package.read(path)
    except FileNotFoundError:
        return None
    except (OSError, ChimeraError) as error:
        warn_once(f"the cached program is compiled again: {error}")
        return None
    # The time of last use, where the folder can be written.
    with contextlib.suppress(OSError):
        os.utime(path)
    return package


def add(name: str, package: _package.Package) -> None:
    """Keeps `package` as the entry of that name, if the folder can be written."""
    try:
        _package.write(folder() / (name + _SUFFIX), package)
        _evict()
    except OSError as error:
        warn_once(f"compiled programs are not kept: {error}")


def _evict() -> None:
    """Removes the entries that were not used for longest, beyond the limit."""
    entries = []
    for path in folder().glob("*" + _SUFFIX):
        try:
            stat = path.stat()
            entries.append((stat.st_mtime, stat.st_size, path))
        except FileNotFoundError:
            continue
    left = limit()
    for _, size, path in sorted(entries, reverse=True):
        left -= size
        if left < 0:
            path.unlink(missing_ok=True)


def clear() -> int:
    """Removes all entries; returns how many there were."""
    paths = list(folder().glob("*" + _SUFFIX))
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)
