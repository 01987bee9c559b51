"""The cache of compiled programs: what may go wrong with it goes unpunished."""

import os
import subprocess
import sys
import warnings

import chimera
import numpy as np
import pytest
from chimera import _cache, _compiler
from chimera.errors import warn_once
from programs import elementwise

SOURCE = elementwise("f32")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache; each thing is said anew."""
    monkeypatch.setenv("CHIMERA_CACHE_DIR", str(tmp_path / "cache"))
    warn_once.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows with each run of the compiler."""
    runs = []
    compile_ = _compiler._compile

    def count(*arguments):
        runs.append(arguments)
        return compile_(*arguments)

    monkeypatch.setattr(_compiler, "_compile", count)
    return runs


def check(program):
    x = np.arange(37, dtype=np.float32)
    np.testing.assert_array_equal(program(x), x + x)


def test_programs_are_compiled_once(folder, compilations):
    for _ in range(3):
        check(chimera.compile(SOURCE))
    assert len(compilations) == 1
    assert len(list(folder.iterdir())) == 1
    chimera.compile(SOURCE, threads=1)
    chimera.compile(SOURCE + "\n")
    assert len(compilations) == 3
    assert _cache.clear() == 3 and not list(folder.iterdir())


def test_without_a_cache(folder, compilations):
    for _ in range(2):
        check(chimera.compile(SOURCE, cache=False))
    assert len(compilations) == 2 and not folder.exists()


def test_a_target_in_a_file_is_part_of_the_key(tmp_path):
    target = tmp_path / "machine.mlir"
    for comment in ("// one", "// another"):
        key = _cache.key(SOURCE, {"target": str(target)})
        target.write_text(comment)
        assert key != _cache.key(SOURCE, {"target": str(target)})


def test_a_damaged_entry_is_compiled_again(folder, compilations):
    chimera.compile(SOURCE)
    (entry,) = folder.iterdir()
    for damage in (
        lambda data: data[:-50],
        lambda data: b"",
        lambda data: b"PK" + data[2:50],
    ):
        entry.write_bytes(damage(entry.read_bytes()))
        warn_once.cache_clear()
        with pytest.warns(RuntimeWarning, match="compiled again"):
            check(chimera.compile(SOURCE))
    assert len(compilations) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(chimera.compile(SOURCE))
    assert len(compilations) == 4


def test_a_changed_byte_is_noticed(folder, compilations):
    chimera.compile(SOURCE)
    (entry,) = folder.iterdir()
    data = bytearray(entry.read_bytes())
    data[200] ^= 1
    entry.write_bytes(data)
    with pytest.warns(RuntimeWarning, match="compiled again"):
        check(chimera.compile(SOURCE))


def test_a_folder_that_cannot_be_made(folder, compilations):
    folder.write_text("a file is in its place")
    with pytest.warns(RuntimeWarning):
        check(chimera.compile(SOURCE))
    assert folder.read_text() == "a file is in its place"


def test_a_full_disk(folder, monkeypatch):
    from chimera import _package

    def fill(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_package, "_write", fill)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        check(chimera.compile(SOURCE))
    assert not list(folder.iterdir())


def test_the_oldest_go_first(folder, monkeypatch):
    sources = [SOURCE + "\n" * count for count in range(4)]
    keys = []
    for age, source in enumerate(sources):
        chimera.compile(source)
        (new,) = set(folder.iterdir()) - set(keys)
        keys.append(new)
        os.utime(new, (1000 + age, 1000 + age))
    size = max(key.stat().st_size for key in keys)
    monkeypatch.setenv("CHIMERA_CACHE_BYTES", str(3 * size + size // 2))
    chimera.compile(sources[0])  # used, and so the youngest
    chimera.compile(SOURCE + "\n" * 4)
    left = set(folder.iterdir())
    assert keys[0] in left and keys[1] not in left and keys[2] not in left
    assert len(left) == 3


def test_two_processes_at_once(folder):
    program = (
        "import chimera, numpy, sys; sys.path.insert(0, sys.argv[1]);"
        "from programs import elementwise;"
        "x = numpy.ones(37, numpy.float32);"
        "assert (chimera.compile(elementwise('f32'))(x) == 2).all()"
    )
    command = [sys.executable, "-W", "error", "-c", program, os.path.dirname(__file__)]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert len(list(folder.iterdir())) == 1
