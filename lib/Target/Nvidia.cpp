//===- Nvidia.cpp - Graphics processors -----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A core is a streaming multiprocessor (SM), a vector a warp of 32 threads, and
// a vector register one register of each of them. The levels are the L2, which
// all SMs share, and the shared memory of an SM, into which tiles are copied
// asynchronously: hence two buffers, the tile in use and the one on its way.
// Both are charged in sectors of 32 bytes (CUDA C++ Programming Guide, Device
// Memory Accesses).
//
// The sources of the figures:
//  - [A100], [H100]: NVIDIA's architecture white papers for these GPUs; [H200]:
//    the data sheet, for what differs from an H100 SXM;
//  - [CUDA]: the CUDA C++ Programming Guide, Compute Capabilities;
//  - [PTX]: the PTX ISA, shapes of mma and wgmma.
// Memory bandwidths are nine tenths of the data sheets', as copies reach them
// (4.3 of 4.8 TB/s on an H200). L2 bandwidths are two thirds of 5120 bytes per
// cycle for the chip [A100] and of 64 per SM; the two thirds are an estimate.
//
// What is [measured] comes from an H200: 200 kernels, chains and attention with
// tiles of all sizes, as nodes of a graph; with these figures the model is
// within 8 per cent of their times, in the root of the mean square
// (docs/nvidia.md). A node takes 1.1 us if it does nothing, and 2 with the
// first loads and the last stores; 70 cycles are what a block waits for its
// tile and the other groups.
//
// Matrix units are described by the instruction that kernels are made of,
// mma.sync of a warp, whose operands and sums are registers of its threads,
// with the peak of the chip; how much of it the instruction reaches is a figure
// of the groups. On Hopper only wgmma reaches all of it.
//
// Left out: the L1 cache beside the shared memory, clusters and distributed
// shared memory, and sparse products.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace mlir;
using namespace chimera;

static constexpr StringLiteral kA100 = R"(#chimera.target<"a100",
  // [A100]: 108 SMs, 64 FMAs per cycle (two warps), 1.41 GHz; [CUDA]: 255
  // registers per thread, shared memory of 32 banks of 4 bytes.
  cores = 108,
  unit = <bits = 1024, registers = 255, fma = 2, load = 1, store = 1,
          latency = 4, clock = 1410000000, exponential = 2>,
  levels = [
    // [A100]: 40 MB; 1555 GB/s from 40 GB of HBM2.
    <"L2", capacity = 41943040, usable = 80, core_bandwidth = 60000000000,
     chip_bandwidth = 1400000000000, sharers = 108, line = 128, ways = 16,
     burst = 32>,
    // [CUDA]: 163 KB for a thread block, some of it for barriers. Latency: of
    // the L2 (Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU
    // Architecture, 2024).
    <"SMEM", capacity = 166912, usable = 98, core_bandwidth = 60000000000,
     chip_bandwidth = 4800000000000, sharers = 1, line = 128, ways = 0,
     buffers = 2, burst = 32, most_buffers = 4, latency = 262>],
  // [A100]: 1024 multiply-adds of f16 per cycle and SM, half of that for tf32,
  // twice for int8. [PTX]: mma.sync.m16n8kK. Latency: about 33 cycles (Sun et
  // al., Dissecting Tensor Cores via Microbenchmarks, 2022). Of 256 KiB of
  // registers one half is for accumulators, an eighth for each operand.
  matrix = [
    <type = f16, rows = 16, columns = 8, depth = 16, macs = 1024, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1410000000>,
    <type = bf16, rows = 16, columns = 8, depth = 16, macs = 1024, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1410000000>,
    <type = tf32, rows = 16, columns = 8, depth = 8, macs = 512, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1410000000>,
    <type = i8, rows = 16, columns = 8, depth = 32, macs = 2048, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1410000000>],
  // [CUDA]: 65536 registers of an SM, 255 of a thread. [A100]: an SM has four
  // tensor cores, one for each quarter of its warps. More warps than 16 leave
  // each thread fewer than 128 registers. The reserve holds addresses and
  // operands on their way: ptxas 13.0 takes up to 88 where it can have them,
  // and spills little with 79.
  groups = <threads = 32, most = 16, units = 4, registers = 255, file = 65536,
            reserved = 79>,
  overheads = <block = 70>, launch = 2000, triple = "nvptx64-nvidia-cuda", cpu = "sm_80">)";

// H100 SXM and H200 are the same chip with different memories.

/// Up to the figures of the L2: capacity and bandwidth from memory.
static constexpr StringLiteral kHopperUnit = R"(
  // [H100]: 132 SMs, 128 FMAs per cycle (four warps); 66.9 TFLOP/s, which makes
  // 1.98 GHz.
  cores = 132,
  unit = <bits = 1024, registers = 255, fma = 4, load = 1, store = 1,
          latency = 4, clock = 1980000000, exponential = 2>,
  levels = [
    <"L2", usable = 80, core_bandwidth = 78000000000, sharers = 132, line = 128,
     ways = 16, burst = 32, )";

static constexpr StringLiteral kHopperRest = R"(>,
    // [CUDA]: 227 KB for a thread block, some of it for barriers. [measured]: four
    // fifths of 64 bytes per cycle and SM. Latency: of the L2 (Luo et al., 2024).
    <"SMEM", capacity = 232448, usable = 98, core_bandwidth = 90000000000,
     chip_bandwidth = 12000000000000, sharers = 1, line = 128, ways = 0,
     buffers = 2, burst = 32, most_buffers = 4, latency = 263>],
  // [H100]: 2048 multiply-adds of f16 per cycle and SM, half of that for tf32,
  // twice for int8 and f8; 989.4 TFLOP/s in f16, which makes 1.83 GHz. [PTX]:
  // mma.sync.m16n8kK. Latency: as on the A100, 32 to 33 cycles (Luo et al.,
  // Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, 2024).
  matrix = [
    <type = f16, rows = 16, columns = 8, depth = 16, macs = 2048, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1830000000>,
    <type = bf16, rows = 16, columns = 8, depth = 16, macs = 2048, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1830000000>,
    <type = tf32, rows = 16, columns = 8, depth = 8, macs = 1024, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1830000000>,
    <type = f8E4M3FN, rows = 16, columns = 8, depth = 32, macs = 4096,
     latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128,
     store = 128, clock = 1830000000>,
    <type = i8, rows = 16, columns = 8, depth = 32, macs = 4096, latency = 33,
     accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128,
     clock = 1830000000>],
  // As the A100; mma.sync reaches 63 per cent of the peak (Luo et al., the mean
  // over types and shapes), 57 in kernels [measured].
  groups = <threads = 32, most = 16, units = 4, rate = 57, registers = 255,
            file = 65536, reserved = 79>,
  overheads = <block = 70>, launch = 2000, triple = "nvptx64-nvidia-cuda", cpu = "sm_90a">)";

static TargetAttr makeHopper(MLIRContext *context, StringRef name,
                             StringRef memory) {
  std::string text = "#chimera.target<\"" + name.str() + "\"," +
                     kHopperUnit.str() + memory.str() + kHopperRest.str();
  return parseKnownTarget(context, text);
}

SmallVector<StringRef> chimera::getNvidiaTargetNames() {
  return {"a100", "h100", "h200"};
}

TargetAttr chimera::getNvidiaTarget(MLIRContext *context, StringRef name) {
  if (name == "a100")
    return parseKnownTarget(context, kA100);
  // [H100]: 50 MB, five stacks of HBM3 with 3350 GB/s.
  if (name == "h100")
    return makeHopper(context, name,
                      "capacity = 52428800, chip_bandwidth = 3000000000000");
  // [H200]: six stacks of HBM3e with 4800 GB/s; with all six, the chip has its
  // full L2 of 60 MB [H100].
  if (name == "h200")
    return makeHopper(context, name,
                      "capacity = 62914560, chip_bandwidth = 4300000000000");
  return {};
}
