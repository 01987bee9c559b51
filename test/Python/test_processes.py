"""Programs of several processes: each packs its part of the weights."""

import pathlib
import subprocess
import sys

import chimera
import numpy as np
import process_worker
import pytest
from chimera import _processes


def test_each_process_has_its_part(tmp_path):
    worker = pathlib.Path(process_worker.__file__)
    for process in range(2):
        subprocess.run([sys.executable, worker, str(process), tmp_path], check=True)
    x, v, w = process_worker.make_arrays()
    for process in range(2):
        own = slice(16 * process, 16 * (process + 1))
        np.testing.assert_array_equal(
            np.load(tmp_path / f"{process}.npy"), x @ v[:, own] @ w[own]
        )
    # Weights are in the file as a whole.
    for process in (None, 2):
        with pytest.raises(chimera.ChimeraError, match="runs as 2 processes"):
            chimera.load(tmp_path / "perceptron.chimera", process=process)


def test_parts_on_a_grid():
    part = {"shape": [4, 6], "sizes": [2, 2], "steps": [[2, 0], [0, 2]]}
    function = {"grid": [2, 3], "argument_parts": [part, None]}
    whole = np.arange(24).reshape(4, 6)
    # The last axis of the grid is the fastest.
    own = _processes.take(function, 0, whole, process=4)
    np.testing.assert_array_equal(own, whole[2:4, 2:4])
    assert _processes.take(function, 1, whole, process=4) is whole
    with pytest.raises(TypeError, match="the shape .4, 6. as a whole, not .6, 4."):
        _processes.take(function, 0, whole.T, process=4)
