"""The virtual environment that holds the peers."""

import hashlib
import os
import pathlib
import subprocess
import sys
import venv

# Each line is installed by itself, so that what is missing is one peer's loss.
PACKAGES = (
    "numpy==2.4.6 scipy==1.17.1",
    "onnx==1.23.2 onnxruntime==1.31.1",
    "openvino==2026.4.1",
    "jax==0.10.2 jaxlib==0.10.2",
    "iree-base-compiler==3.13.0 iree-base-runtime==3.13.0",
    "torch==2.15.0 onnxscript==0.7.2",
    "torchvision==0.29.2",
)


def enter(folder: pathlib.Path) -> None:
    """Runs this program again in the environment, made first if need be."""
    if pathlib.Path(sys.prefix) == folder.resolve():
        return
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    wanted = hashlib.sha256("\n".join(PACKAGES).encode()).hexdigest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        install(folder, python)
        stamp.write_text(wanted, encoding="utf-8")
    os.execv(python, [str(python), *sys.argv])


def install(folder: pathlib.Path, python: pathlib.Path) -> None:
    venv.create(folder, with_pip=True)
    for packages in PACKAGES:
        print(f"installing {packages}", flush=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet",
                               *packages.split()], check=False)
        if done.returncode:
            print(f"skipped: {packages}", file=sys.stderr)
