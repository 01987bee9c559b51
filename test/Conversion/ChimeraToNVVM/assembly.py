"""What ptxas makes of PTX: its report, and how many of which instructions, read from the
ELF file and, where there is one, by nvdisasm."""

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

# By the low 12 bits of an instruction.
OPCODES = {0x23C: "HMMA", 0x83B: "LDSM", 0xFAE: "LDGSTS", 0x308: "MUFU",
           0xF89: "SHFL", 0x983: "LDL", 0x387: "STL", 0x237: "IMMA"}
# Of these there is one encoding.
DISASSEMBLED = ("HMMA", "IMMA", "LDSM", "LDGSTS", "MUFU")


def run(command, text=None):
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stderr}")
    return result


def count_opcodes(cubin):
    """Instructions in the .text sections of an ELF file, 16 bytes each."""
    start, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, start + i * size)
                for i in range(count)]
    strings = sections[names][4]
    opcodes = Counter()
    for name, _, _, _, offset, length in sections:
        if cubin[strings + name : strings + name + 6] == b".text.":
            for at in range(offset, offset + length, 16):
                low, = struct.unpack_from("<H", cubin, at)
                opcodes[OPCODES.get(low & 0xFFF)] += 1
    return opcodes


def chip_of(ptx):
    return re.search(r"^\.target (\w+)", ptx, re.M)[1]


def assemble(ptx, chip, disassembler=None):
    """What ptxas says, and the machine code; it has to be what the disassembler reads,
    if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        report = run(["ptxas", f"-arch={chip}", "-O3", "-v", str(source), "-o",
                      str(cubin)]).stderr
        opcodes = count_opcodes(cubin.read_bytes())
        if disassembler:
            text = run([disassembler, "-c", str(cubin)]).stdout
            found = Counter(re.findall(
                r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)", text))
            for name in DISASSEMBLED:
                if found[name] != opcodes[name]:
                    report += f"warning: {found[name]} {name} by nvdisasm\n"
        return chip, report, opcodes


def find_disassembler():
    """nvdisasm, on PATH, beside ptxas, or in a package of Python."""
    beside = Path(os.path.realpath(shutil.which("ptxas") or "")).parent / "nvdisasm"
    package = importlib.util.find_spec("triton")
    inside = (Path(package.origin).parent / "backends/nvidia/bin/nvdisasm"
              if package else beside)
    return shutil.which("nvdisasm") or next(
        (str(path) for path in (beside, inside) if path.exists()), None)
