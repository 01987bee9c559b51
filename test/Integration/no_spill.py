"""Reads assembly and fails if an inner loop of a micro kernel spills.

    no_spill.py FILE.s --isa=avx512|avx2|any
    no_spill.py --self-check

An inner loop runs from a label to a jump back to it and holds no other such
loop. Those with FMAs of vectors must not touch the stack with a vector
register; at least one must have as many FMAs as a register tile worth the name;
and the vectors must be those of the instruction set (`any`: of the one found).
"""

import argparse
import re
import sys

LABEL = re.compile(r"^(\.L\w+|[\w.$]+):")
JUMP = re.compile(r"^\s+j[a-z]+\s+(\.L\w+)\s*$")
FMA = re.compile(r"^\s+vfn?m(?:add|sub)\w+p[sd]\s")
VECTOR = re.compile(r"%([xyz])mm(\d+)")
MASK = re.compile(r"%k[0-7]\b")
# Displacement, base, index. A buffer on the stack is walked with an index; a
# slot that a register is spilled to has none.
MEMORY = re.compile(r"(?:-?\w+)?\((%\w+)(,[^)]*)?\)")
# Functions that align their stack address their slots by another register.
BASE_POINTER = re.compile(r"^\s+movq\s+%rsp, (%\w+)\s*$")

MOST_FMAS = {"avx512": 16, "avx2": 8}


def functions(text):
    """Each function's lines, numbered from 1."""
    body = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].rstrip()
        label = LABEL.match(line)
        if label and not label[1].startswith(".L"):
            yield body
            body = []
        body.append((number, line))
    yield body


def stack_registers(body):
    """%rsp, and what takes its place from before the first label on. %rbp may be
    a register like any other."""
    registers = {"%rsp"}
    for _, line in body[1:]:
        if LABEL.match(line):
            break
        if copy := BASE_POINTER.match(line):
            registers.add(copy[1])
    return registers


def inner_loops(body):
    labels, loops = {}, []
    for position, (_, line) in enumerate(body):
        if label := LABEL.match(line):
            labels[label[1]] = position
        elif (jump := JUMP.match(line)) and jump[1] in labels:
            loops.append((labels[jump[1]], position))
    for first, last in loops:
        if not any((first, last) != (f, l) and first <= f and l <= last
                   for f, l in loops):
            yield body[first:last + 1]


def spills(loop, registers):
    """The lines that move or use a vector register and a slot on the stack."""
    for number, line in loop:
        memory = MEMORY.search(line)
        if (VECTOR.search(line) and memory and memory[1] in registers
                and not memory[2]):
            yield number, line.strip()


def check(text, isa):
    """What is wrong with `text`, and what was found in it."""
    wide = {match[1] for match in VECTOR.finditer(text)}
    if isa == "any":
        isa = "avx512" if "z" in wide else "avx2"
    errors, most, count = [], 0, 0
    for body in functions(text):
        registers = stack_registers(body)
        for loop in inner_loops(body):
            fmas = [line for _, line in loop if FMA.match(line)]
            if not fmas:
                continue
            count += 1
            errors += [f"line {number}: spill in an inner loop: {line}"
                       for number, line in spills(loop, registers)]
            widest = "z" if isa == "avx512" else "y"
            most = max(most, sum(f"%{widest}mm" in line for line in fmas))
    if most < MOST_FMAS[isa]:
        errors.append(f"none of {count} inner loops has {MOST_FMAS[isa]} FMAs of "
                      f"the widest vectors of {isa}; the most is {most}")
    if isa == "avx2":
        if "z" in wide or MASK.search(text) or any(
                int(match[2]) > 15 for match in VECTOR.finditer(text)):
            errors.append("AVX-512 registers in code for AVX2")
    return errors, f"{isa}: {count} inner loops with FMAs, at most {most} in one"


SELF_CHECK = """
f:
\tpushq\t%rbp
\tmovq\t%rsp, %rbp
\tandq\t$-64, %rsp
\tmovq\t%rsp, %rbx
\tvmovaps\t%ymm3, 32(%rbx)
.LBB0_1:
\txorl\t%eax, %eax
.LBB0_2:
\tvmovups\t(%rsi,%rax), %ymm8
FMAS\tPROBE
\taddq\t$32, %rax
\tjb\t.LBB0_2
\tvmovaps\t32(%rbx), %ymm3
\tjne\t.LBB0_1
\tretq
g:
\tmovq\t(%rdi), %rbx
.LBB1_1:
\tvfmadd231ps\t32(%rbx), %ymm1, %ymm0
\tjb\t.LBB1_1
\tretq
"""


def self_check():
    """Without this, a reader that sees nothing would always be content."""
    eight = "".join(f"\tvfmadd231ps\t%ymm8, %ymm9, %ymm{i}\n" for i in range(8))

    def found(probe, fmas=eight, isa="avx2"):
        text = SELF_CHECK.replace("FMAS", fmas).replace("PROBE", probe)
        return "\n".join(check(text, isa)[0])

    assert found("nop") == "", found("nop")
    assert found("vmovaps\t32(%r8), %ymm9") == ""
    assert found("vbroadcastss\t(%rsp,%rax), %ymm9") == ""
    assert found("movq\t8(%rsp), %rcx") == ""
    for spill in ("vmovaps\t%ymm3, 32(%rsp)", "vmovups\t-64(%rbp), %ymm3",
                  "vmovaps\t32(%rbx), %ymm3", "vmovss\t(%rsp), %xmm3",
                  "vfmadd231ps\t32(%rbx), %ymm1, %ymm0"):
        assert f"spill in an inner loop: {spill}" in found(spill), spill
    assert "inner loops has 8 FMAs" in found("nop", fmas="")
    assert "inner loops has 16 FMAs" in found("nop", isa="avx512")
    assert "AVX-512" in found("vmovaps\t%zmm3, (%r8)")
    assert "AVX-512" in found("vmovaps\t%ymm17, %ymm3")
    assert "AVX-512" in found("kmovw\t%eax, %k1")
    print("self-check passed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?")
    parser.add_argument("--isa", choices=["avx512", "avx2", "any"], default="any")
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    if args.self_check:
        return self_check()
    with open(args.file) as file:
        errors, summary = check(file.read(), args.isa)
    print(summary)
    return "\n".join(errors) or None


sys.exit(main())
