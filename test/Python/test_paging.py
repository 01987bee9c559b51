"""Weights that lie in files once they are packed: for all who have them, as before."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import mmap
import os
import resource
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chimera
import chimera._runtime as _runtime
import numpy as np
import pytest
from chimera._weights import folder
from chimera.errors import warn_once

SIZE = 8 << 20


def in_memory_alone() -> int:
    """Bytes of memory of this process that no file has."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    raise AssertionError("the system does not say")


class Block:
    """A block of the C library's heap, with numbers in it."""

    def __init__(self, size: int = SIZE) -> None:
        self._library = ctypes.CDLL(None)
        self._library.aligned_alloc.restype = ctypes.c_void_p
        self.size = size
        self.address = self._library.aligned_alloc(64, size)
        self.bytes = np.ctypeslib.as_array(
            (ctypes.c_uint8 * size).from_address(self.address)
        )
        self.expected = np.random.default_rng(0).integers(0, 256, size, np.uint8)
        self.bytes[:] = self.expected

    def page_out(self, writes: bool = True, where: str | None = None) -> bool:
        return _runtime.page_out(self.address, self.size, where or folder(), writes)

    def free(self) -> None:
        self._library.free(ctypes.c_void_p(self.address))

    def is_as_before(self) -> bool:
        addresses = (
            ctypes.c_void_p(a) for a in (self.address, self.expected.ctypes.data)
        )
        size = ctypes.c_size_t(self.size)
        return self._library.memcmp(*addresses, size) == 0


@pytest.fixture
def block() -> Iterator[Block]:
    made = Block()
    yield made
    made.free()


@pytest.fixture
def on_disk() -> None:
    """Skips a test where no file of the folder lies on a disk with room."""
    made = Block()
    try:
        works = made.page_out()
    except OSError:
        works = False
    made.free()
    if not works:
        pytest.skip(f"{folder()} is not on a disk, or it is full")


@pytest.mark.usefixtures("on_disk")
class TestBlocks:
    def test_memory_is_free_and_the_block_is_as_before(self, block: Block) -> None:
        before = in_memory_alone()
        assert block.page_out()
        assert before - in_memory_alone() > 0.9 * SIZE
        assert block.is_as_before()

    def test_a_block_is_read_again_without_being_written(self, block: Block) -> None:
        assert block.page_out()
        before = in_memory_alone()
        for _ in range(2):
            assert block.is_as_before()
            assert block.page_out(writes=False)
        assert in_memory_alone() - before < 0.1 * SIZE

    def test_changes_stay_in_memory_unless_they_are_written(self, block: Block) -> None:
        assert block.page_out()
        block.bytes[SIZE // 2 :] += 1
        block.expected[SIZE // 2 :] += 1
        before = in_memory_alone()
        assert not block.page_out(writes=False)
        assert block.is_as_before()
        assert block.page_out()
        assert before - in_memory_alone() > 0.4 * SIZE
        assert block.is_as_before()

    def test_the_heap_takes_the_block_back(self) -> None:
        # Small enough to be a part of the heap, large enough to have whole pages.
        blocks = [Block(96 << 10) for _ in range(64)]
        assert all(block.page_out() for block in blocks)
        for block in blocks[::2]:
            block.free()
        others = [Block(48 << 10) for _ in range(128)]
        zeros = np.zeros((64, 12 << 10), np.uint64)
        assert all(block.is_as_before() for block in blocks[1::2] + others)
        assert not zeros.any()
        for block in blocks[1::2] + others:
            block.free()

    def test_readers_may_run(self, block: Block) -> None:
        expected = hashlib.sha256(block.bytes).digest()
        wrong: list[bytes] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                if (digest := hashlib.sha256(block.bytes).digest()) != expected:
                    wrong.append(digest)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(20):
            assert block.page_out()
            block.bytes[0] = block.bytes[0]
        done.set()
        for reader in readers:
            reader.join()
        assert not wrong

    def test_a_file_that_cannot_be_written(self, block: Block) -> None:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, limits[1]))
        try:
            with pytest.raises(OSError) as error:
                block.page_out()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert error.value.errno == errno.EFBIG
        assert block.is_as_before()

    def test_a_folder_that_is_not_there(self, block: Block, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            block.page_out(where=str(tmp_path / "nowhere"))
        assert block.is_as_before()

    def test_memory_of_others_is_left_alone(self) -> None:
        pages = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages[:] = b"their" + bytes(SIZE - 5)
        address = ctypes.addressof((ctypes.c_char * SIZE).from_buffer(pages))
        before = in_memory_alone()
        assert not _runtime.page_out(address, SIZE, folder(), True)
        assert not _runtime.page_out(address + 4096, SIZE - 4096, folder(), True)
        assert before - in_memory_alone() < 0.1 * SIZE
        assert pages[:5] == b"their"

    def test_another_heap_is_left_alone(self, tmp_path: Path) -> None:
        if not shutil.which("clang-22"):
            pytest.skip("no compiler")
        library = tmp_path / "heap.so"
        code = (
            "#include <stdlib.h>\n"
            "int posix_memalign(void **p, size_t a, size_t n) {\n"
            "  return (*p = aligned_alloc(a, n)) == 0;\n}\n"
        )
        command = ["clang-22", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
        subprocess.run(command, input=code, text=True, check=True)
        program = "import test_paging as t; print(t.Block().page_out())"
        paths = [str(Path(__file__).parent), *sys.path]
        for preload, works in ((str(library), "False"), ("", "True")):
            environment = {
                **os.environ,
                "LD_PRELOAD": preload,
                "PYTHONPATH": os.pathsep.join(paths),
            }
            command = [sys.executable, "-c", program]
            done = subprocess.run(
                command, env=environment, text=True, capture_output=True, check=True
            )
            assert done.stdout.strip() == works


def test_a_folder_in_memory_is_not_used(block: Block) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no folder in memory")
    before = in_memory_alone()
    assert not block.page_out(where="/dev/shm")
    assert before - in_memory_alone() < 0.1 * SIZE
    assert block.is_as_before()


class TestModules:
    """Weights of modules of PyTorch."""

    @staticmethod
    def make() -> tuple[Any, Any]:
        torch = pytest.importorskip("torch")
        pytest.importorskip("torch_mlir")
        torch.manual_seed(0)
        layers = [torch.nn.Linear(512, 512) for _ in range(32)]
        return torch.nn.Sequential(*layers).eval(), torch.randn(4, 512)

    @staticmethod
    def compile(way: str, model: Any, x: Any, **options: Any) -> Any:
        import torch
        from chimera.backend import chimera as backend

        if way == "compile":
            return chimera.compile(model, (x,), **options)
        torch._dynamo.reset()
        return torch.compile(model, backend=backend, options=options)

    @pytest.mark.usefixtures("on_disk")
    @pytest.mark.parametrize("way", ["compile", "torch.compile"])
    def test_packed_weights_take_memory_once(self, way: str) -> None:
        import torch

        model, x = self.make()
        weights = sum(parameter.nbytes for parameter in model.parameters())
        with torch.no_grad():
            small = torch.nn.Linear(8, 8).eval()
            self.compile(way, small, torch.randn(2, 8))(torch.randn(2, 8))
            expected = model(x)
            before = in_memory_alone()
            call = self.compile(way, model, x)
            torch.testing.assert_close(call(x), expected)
        assert in_memory_alone() - before < 0.6 * weights

    @pytest.mark.parametrize("way", ["compile", "torch.compile"])
    def test_weights_can_be_read_and_changed(self, way: str) -> None:
        import torch

        model, x = self.make()
        view, state = model[0].weight.detach()[1:], model.state_dict()
        copies = {name: value.clone() for name, value in state.items()}
        with torch.no_grad():
            call = self.compile(way, model, x)
            torch.testing.assert_close(call(x), model(x))
            for name, value in model.state_dict().items():
                assert torch.equal(value, copies[name])
            view.add_(0.5)
            assert torch.equal(model[0].weight[1:], copies["0.weight"][1:] + 0.5)
            if way == "compile":
                call.refresh()
            torch.testing.assert_close(call(x), model(x))
            other = torch.randn(1, 512)
            if way == "torch.compile":
                torch.testing.assert_close(call(other), model(other))

    def test_weights_can_stay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []
        monkeypatch.setattr(_runtime, "page_out", lambda *_: calls.append(1))
        model, x = self.make()
        self.compile("compile", model, x, page_out_weights=False)
        assert not calls
        self.compile("compile", model, x)
        assert len(calls) == 32

    def test_weights_of_others_stay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        calls: list[int] = []
        monkeypatch.setattr(_runtime, "page_out", lambda *_: calls.append(1))
        model, x = self.make()
        array = np.ones((512, 512), np.float32)
        model[0].weight = torch.nn.Parameter(torch.from_numpy(array))
        model[1].weight.data.share_memory_()
        self.compile("compile", model, x)
        assert len(calls) == 30

    def test_a_folder_that_cannot_be_written_is_said_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import torch

        model, x = self.make()
        monkeypatch.setenv("TMPDIR", "/nowhere")
        warn_once.cache_clear()
        with pytest.warns(RuntimeWarning, match="stay in memory.*/nowhere") as said:
            call = self.compile("compile", model, x)
        assert len(said) == 1
        with torch.no_grad(), warnings.catch_warnings():
            torch.testing.assert_close(call(x), model(x))
