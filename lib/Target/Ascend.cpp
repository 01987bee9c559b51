//===- Ascend.cpp - Neural processors -------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A core is an AI core. The levels are the L2, which all cores share, and the
// L1 buffer of a core, from which the cube unit is fed through the buffers L0A
// and L0B and leaves its sums in L0C. Copies run beside the arithmetic, hence
// two buffers of each tile, and move blocks of 32 bytes.
//
// The sources of the figures:
//  - [HC31]: Liao et al., DaVinci: A Scalable Architecture for Neural Network
//    Computing, Hot Chips 31, 2019; and by the same, Ascend, HPCA 2021;
//  - [Ascend C]: Huawei's Ascend C operator development guide, hardware
//    architecture: sizes of buffers and blocks, data paths;
//  - [CANN]: the platform configurations that come with CANN, as open source
//    projects quote them. Rates between buffers are known for the 310, the 310P
//    and the 910B; those of the 310 are taken for the 910's;
//  - [msKPP]: the tables of MindStudio msKPP (Mulan PSL v2), measured on a
//  910B1,
//    and its rates between buffers;
//  - [HW]: Ascend C guide, hardware constraints of the 910B: main memory moves
//  in
//    pieces of 128 bytes or more, so that a burst of 32 bytes takes as long as
//    one of 128. Nothing is published for the others, which are taken to do the
//    same.
//
// Operands of a 910 and a 310P come into L1 in bursts of 32 bytes, 16 columns
// of a row: their L1 fills at a quarter of the rate that longer bursts have. A
// 910B has an instruction for whole matrices.
//
// The unified buffer (UB) lies beside the L1 and not between it and the cube:
// all vector operations work on it, and on the 910 an intermediate goes through
// it on its way from L0C to L1. The 910B has its vector units in cores of their
// own, so that sums go from L0C to L1, or to memory and from there to a UB.
//
// The vector unit has no registers: those below stand for a quarter of the UB,
// 256 vectors of 256 bytes. Ascend C reserves 8 KiB of the UB of a 910 and a
// 310P. The associativity of the L2 and the latency of its units are not
// published; nothing depends on the first, and the second is left at one. Nor
// is the cost of starting a kernel: none is charged.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace mlir;
using namespace chimera;

static constexpr StringLiteral kAscend910 = R"(#chimera.target<"ascend910",
  // [HC31]: 32 cores at 1 GHz, vectors of 256 bytes per cycle, of which vexp is
  // one instruction.
  cores = 32,
  unit = <bits = 2048, registers = 256, fma = 1, load = 1, store = 1,
          latency = 1, clock = 1000000000, exponential = 1>,
  levels = [
    // [HC31]: 32 MB; 1.2 TB/s from four stacks of HBM2, of which nine tenths
    // are charged; 128 bytes per cycle and core through the mesh.
    <"L2", capacity = 33554432, usable = 80, core_bandwidth = 125000000000,
     chip_bandwidth = 1080000000000, sharers = 32, line = 32, ways = 16,
     burst = 32>,
    // [HC31]: 1 MB; the L2 delivers 4 TB/s. [HW]: a quarter of 125 GB/s.
    <"L1", capacity = 1048576, usable = 100, core_bandwidth = 31250000000,
     chip_bandwidth = 4000000000000, sharers = 1, line = 32, ways = 0,
     buffers = 2, burst = 32>],
  // [HC31]: 4096 multiply-adds of f16 per cycle, 8192 of int8. [Ascend C]: L0C
  // of 256 KiB, L0A and L0B of 64 KiB, one half of which is filled while the
  // other is in use. [CANN]: 512 bytes per cycle into L0A, half of that into
  // L0B at the same time, which is as good as 512 for both with square tiles;
  // 256 out of L0C.
  matrix = [
    <type = f16, rows = 16, columns = 16, depth = 16, macs = 4096,
     accumulators = 262144, lhs = 32768, rhs = 32768, load = 512, store = 256,
     clock = 1000000000>,
    <type = i8, rows = 16, columns = 16, depth = 32, macs = 8192,
     accumulators = 262144, lhs = 32768, rhs = 32768, load = 512, store = 256,
     clock = 1000000000>],
  // [Ascend C]. The rates are the 310's in bytes per cycle [CANN]: 512 into L0A,
  // 256 into L0B and out of L0C, 128 from the UB to the L1; from memory as into
  // the L1. Blocks of f32 are neither reduced nor spread.
  buffers = [<"L0A", holds = lhs, capacity = 65536>,
             <"L0B", holds = rhs, capacity = 65536>,
             <"L0C", holds = sums, capacity = 262144>,
             <"UB", holds = vectors, capacity = 253952, lanes = true>],
  routes = [<"memory", "L1", bandwidth = 31250000000>,
            <"memory", "UB", bandwidth = 31250000000>,
            <"L1", "L0A", bandwidth = 512000000000>,
            <"L1", "L0B", bandwidth = 256000000000>,
            <"L0C", "UB", bandwidth = 256000000000, converts = true>,
            <"UB", "L1", bandwidth = 128000000000>,
            <"UB", "memory", bandwidth = 16000000000, blocks = true>],
  triple = "davinci-huawei-cann", cpu = "Ascend910A">)";

static constexpr StringLiteral kAscend310P = R"(#chimera.target<"ascend310p",
  // [CANN], Ascend310P3: 8 cores, of which nobody quotes the clock: that of the
  // 910.
  cores = 8,
  unit = <bits = 2048, registers = 256, fma = 1, load = 1, store = 1,
          latency = 1, clock = 1000000000, exponential = 1>,
  levels = [
    // [CANN]: 16 MB; 17 bytes per cycle and core from memory.
    <"L2", capacity = 16777216, usable = 80, core_bandwidth = 17000000000,
     chip_bandwidth = 136000000000, sharers = 8, line = 32, ways = 16,
     burst = 32>,
    // [CANN]: 1 MB; 114 bytes per cycle and core from the L2; [HW]: a quarter.
    <"L1", capacity = 1048576, usable = 100, core_bandwidth = 28500000000,
     chip_bandwidth = 912000000000, sharers = 1, line = 32, ways = 0,
     buffers = 2, burst = 32>],
  // As the 910.
  matrix = [
    <type = f16, rows = 16, columns = 16, depth = 16, macs = 4096,
     accumulators = 262144, lhs = 32768, rhs = 32768, load = 512, store = 256,
     clock = 1000000000>,
    <type = i8, rows = 16, columns = 16, depth = 32, macs = 8192,
     accumulators = 262144, lhs = 32768, rhs = 32768, load = 512, store = 256,
     clock = 1000000000>],
  // [CANN], in bytes per cycle: 512 into L0A, 256 into L0B, out of L0C and from
  // the UB to the L1; from memory and to it as into the L1.
  buffers = [<"L0A", holds = lhs, capacity = 65536>,
             <"L0B", holds = rhs, capacity = 65536>,
             <"L0C", holds = sums, capacity = 262144>,
             <"UB", holds = vectors, capacity = 253952>],
  routes = [<"memory", "L1", bandwidth = 28500000000>,
            <"memory", "UB", bandwidth = 28500000000>,
            <"L1", "L0A", bandwidth = 512000000000>,
            <"L1", "L0B", bandwidth = 256000000000>,
            <"L0C", "UB", bandwidth = 256000000000, converts = true>,
            <"UB", "L1", bandwidth = 256000000000>,
            <"UB", "memory", bandwidth = 28500000000, blocks = true>],
  triple = "davinci-huawei-cann", cpu = "Ascend310P3">)";

static constexpr StringLiteral kAscend910B = R"(#chimera.target<"ascend910b",
  // [CANN], Ascend910B2: 24 cube cores at 1.8 GHz, with two vector cores of 128
  // bytes per cycle each.
  cores = 24,
  unit = <bits = 2048, registers = 256, fma = 1, load = 1, store = 1,
          latency = 1, clock = 1800000000, exponential = 1>,
  levels = [
    // [CANN]: 192 MB; 32 bytes per cycle and core from memory.
    <"L2", capacity = 201326592, usable = 80, core_bandwidth = 57600000000,
     chip_bandwidth = 1382400000000, sharers = 24, line = 32, ways = 16,
     burst = 32>,
    // [CANN]: 512 KB; 110 bytes per cycle and core from the L2. Rows have any
    // length.
    <"L1", capacity = 524288, usable = 100, core_bandwidth = 198000000000,
     chip_bandwidth = 4752000000000, sharers = 1, line = 32, ways = 0,
     buffers = 2, burst = 1>],
  // [CANN]: as the 910, but L0C of 128 KiB and 128 bytes per cycle out of it;
  // [msKPP]: 256 bytes per cycle into L0A; [Ascend C]: bf16 as f16.
  matrix = [
    <type = f16, rows = 16, columns = 16, depth = 16, macs = 4096,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 256, store = 128,
     clock = 1800000000>,
    <type = bf16, rows = 16, columns = 16, depth = 16, macs = 4096,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 256, store = 128,
     clock = 1800000000>,
    <type = i8, rows = 16, columns = 16, depth = 32, macs = 8192,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 256, store = 128,
     clock = 1800000000>],
  // [Ascend C]; rates in bytes per cycle [msKPP]: 256 into L0A and from L0C to
  // the L1, 128 into L0B and from L0C to memory.
  buffers = [<"L0A", holds = lhs, capacity = 65536>,
             <"L0B", holds = rhs, capacity = 65536>,
             <"L0C", holds = sums, capacity = 131072>,
             <"UB", holds = vectors, capacity = 196608>],
  routes = [<"memory", "L1", bandwidth = 198000000000>,
            <"memory", "UB", bandwidth = 198000000000>,
            <"L1", "L0A", bandwidth = 460800000000>,
            <"L1", "L0B", bandwidth = 230400000000>,
            <"L0C", "L1", bandwidth = 460800000000, converts = true,
             relu = true>,
            <"L0C", "memory", bandwidth = 230400000000, converts = true,
             relu = true>,
            <"UB", "memory", bandwidth = 115200000000>],
  triple = "davinci-huawei-cann", cpu = "Ascend910B2">)";

SmallVector<StringRef> chimera::getAscendTargetNames() {
  return {"ascend910", "ascend310p", "ascend910b"};
}

TargetAttr chimera::getAscendTarget(MLIRContext *context, StringRef name) {
  if (name == "ascend910")
    return parseKnownTarget(context, kAscend910);
  if (name == "ascend310p")
    return parseKnownTarget(context, kAscend310P);
  if (name == "ascend910b")
    return parseKnownTarget(context, kAscend910B);
  return {};
}
