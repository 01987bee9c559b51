"""Runs all functions of a program on several numbers of threads, and compares
their results to the bit: `same_bits.py CHIMERA_RUN FILE THREADS... [-- FLAGS...]`.

Functions whose bits differ are named; the last line says how many are the same.
"""

import json
import subprocess
import sys

command, arguments = sys.argv[1:3], sys.argv[3:]
split = arguments.index("--") if "--" in arguments else len(arguments)
threads, flags = arguments[:split], arguments[split + 1:]
results = {}
for count in threads:
    report = subprocess.run(
        [*command, "--entry=*", "--no-time", "--json=-", f"--threads={count}", *flags],
        stdout=subprocess.PIPE, check=True)
    for function in json.loads(report.stdout)["functions"]:
        results.setdefault(function["entry"], []).append(function["result_hash"])
different = {name: hashes for name, hashes in results.items() if len(set(hashes)) > 1}
for name, hashes in different.items():
    others = [n for n, value in zip(threads, hashes) if value != hashes[0]]
    print(f"{name}: {threads[0]} and {', '.join(others)} threads differ")
print(f"{len(results) - len(different)} of {len(results)} the same")
sys.exit(1 if different else 0)
