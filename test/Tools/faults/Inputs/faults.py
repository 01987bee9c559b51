"""Runs the tools where something is missing, and says what has to come of it."""

import os
import subprocess


def product(n):
    return f"""
  %e{n} = tensor.empty() : tensor<{n}x{n}xf32>
  %f{n} = linalg.fill ins(%z : f32) outs(%e{n} : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %g{n} = linalg.matmul ins(%a{n}, %a{n} : tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>)
      outs(%f{n} : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>"""


def products(sizes):
    """Products of several sizes, each of which has a kernel of its own."""
    types = [f"tensor<{n}x{n}xf32>" for n in sizes]
    arguments = ", ".join(f"%a{n}: {type}" for n, type in zip(sizes, types))
    results = ", ".join(f"%g{n}" for n in sizes)
    return f"""func.func @main({arguments}) -> ({", ".join(types)}) {{
  %z = arith.constant 0.0 : f32{"".join(map(product, sizes))}
  return {results} : {", ".join(types)}
}}
"""


# What writes a file, named OUT.
WRITERS = [
    "chimera-run PROGRAM --emit=mlir -o OUT",
    "chimera-run PROGRAM --emit=asm -o OUT",
    "chimera-run PROGRAM --emit=obj -o OUT",
    "chimera-run PROGRAM --emit=so -o OUT",
    "chimera-run PROGRAM --no-time --output=OUT",
    "chimera-run PROGRAM --no-time --json=OUT",
    "chimera-opt PROGRAM --chimera-pipeline -o OUT",
    "chimera-opt PROGRAM --chimera-planning-pipeline -o /dev/null --chimera-report=OUT",
]


def write_program(folder, sizes=(64,)):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "program.mlir")
    with open(path, "w") as file:
        file.write(products(sizes))
    return path


def expect_error(command, said, status=1, **settings):
    """One line that says `said`, and the exit status."""
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **settings
    )
    lines = done.stderr.splitlines()
    assert done.returncode == status, (command, done)
    assert len(lines) == 1 and said in lines[0], (command, done)
