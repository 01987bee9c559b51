"""Runs a program that can find no other, and prints what it says."""

import shutil
import subprocess
import sys

program = shutil.which(sys.argv[1])
process = subprocess.run([program] + sys.argv[2:], env={"PATH": "/nonexistent"},
                         stderr=subprocess.PIPE, text=True)
print(process.stderr, end="")
assert process.returncode == 1
