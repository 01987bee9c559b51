"""Prints the programs of benchmarks/peers, after a look at their arguments."""

import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True

from peer_suite import cases

programs = []
for element in cases.TYPES:
    for case in cases.load(None, element):
        shapes = [argument.shape for argument in case.arguments]
        if cases.signature(case.program) != shapes:
            sys.exit(f"{case.key}: {cases.signature(case.program)} is not {shapes}")
        programs.append(case.program)
print("// -----\n".join(programs))
