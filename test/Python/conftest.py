"""What the tests of the Python package share."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A cache of the tests' own, for those that do not choose another."""
    if "CHIMERA_CACHE_DIR" not in os.environ:
        os.environ["CHIMERA_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def examples():
    return ROOT / "examples"
