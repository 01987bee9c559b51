//===- chimera_npu_arch.h - The AI cores that are modelled ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memories, pipes, routes and rates of the core that a program is compiled for.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_ARCH_H
#define CHIMERA_NPU_ARCH_H

#include "chimera_npu_table.h"

#include <cstdint>

/// 910, 310 for the 310P, or 9102 for the 910B.
#ifndef CHIMERA_NPU_ARCH
#define CHIMERA_NPU_ARCH 310
#endif

// Vendor documents and configurations give the capacities. Of the 256 KiB of UB
// that a 910 and a 310P have, 8 are reserved: broadcasts and selections need
// them.
#if CHIMERA_NPU_ARCH == 910 || CHIMERA_NPU_ARCH == 310
#if CHIMERA_NPU_ARCH == 910
#define CHIMERA_NPU_NAME "ascend910"
#define CHIMERA_NPU_DEFAULT_VARIANT ascend910
#else
#define CHIMERA_NPU_NAME "ascend310p"
#define CHIMERA_NPU_DEFAULT_VARIANT ascend310p
#endif
#ifndef CHIMERA_NPU_L0C_BYTES
#define CHIMERA_NPU_L0C_BYTES 262144
#endif
#ifndef CHIMERA_NPU_L1_BYTES
#define CHIMERA_NPU_L1_BYTES 1048576
#endif
#ifndef CHIMERA_NPU_UB_BYTES
#define CHIMERA_NPU_UB_BYTES 253952
#endif
#elif CHIMERA_NPU_ARCH == 9102
#define CHIMERA_NPU_NAME "ascend910b"
#define CHIMERA_NPU_DEFAULT_VARIANT ascend910b
#ifndef CHIMERA_NPU_L0C_BYTES
#define CHIMERA_NPU_L0C_BYTES 131072
#endif
#ifndef CHIMERA_NPU_L1_BYTES
#define CHIMERA_NPU_L1_BYTES 524288
#endif
#ifndef CHIMERA_NPU_UB_BYTES
#define CHIMERA_NPU_UB_BYTES 196608
#endif
#else
#error "CHIMERA_NPU_ARCH is 910, 310 or 9102"
#endif
#ifndef CHIMERA_NPU_L0A_BYTES
#define CHIMERA_NPU_L0A_BYTES 65536
#endif
#ifndef CHIMERA_NPU_L0B_BYTES
#define CHIMERA_NPU_L0B_BYTES 65536
#endif

/// Files of one program that choose different capacities are different models
/// and have to name them differently.
#ifndef CHIMERA_NPU_VARIANT
#define CHIMERA_NPU_VARIANT CHIMERA_NPU_DEFAULT_VARIANT
#endif

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {

#if CHIMERA_NPU_ARCH == 910
inline constexpr Architecture kArchitecture = A910;
#elif CHIMERA_NPU_ARCH == 310
inline constexpr Architecture kArchitecture = A310P;
#else
inline constexpr Architecture kArchitecture = A910B;
#endif

enum class Mem : uint8_t { GM, L1, L0A, L0B, L0C, UB };
inline constexpr int kNumMems = 6;

#ifdef CHIMERA_NPU_ASCENDC
// Ascend C names the pipes.
using Pipe = pipe_t;
#else
enum Pipe : uint8_t {
  PIPE_S,
  PIPE_V,
  PIPE_M,
  PIPE_MTE1,
  PIPE_MTE2,
  PIPE_MTE3,
  PIPE_FIX,
  PIPE_ALL
};
enum Event : uint8_t {
  EVENT_ID0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7
};
#endif
inline constexpr int kNumPipes = PIPE_ALL;
inline constexpr int kNumEvents = numEvents(kArchitecture);

constexpr int index(Mem mem) { return static_cast<int>(mem); }

inline const char *name(Mem mem) {
  static const char *const names[] = {"GM", "L1", "L0A", "L0B", "L0C", "UB"};
  return names[index(mem)];
}

inline const char *name(Pipe pipe) {
  static const char *const names[] = {"PIPE_S",    "PIPE_V",    "PIPE_M",
                                      "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3",
                                      "PIPE_FIX",  "PIPE_ALL"};
  return names[pipe];
}

/// True if flags can order `target` after `source`. Of the pipe that empties
/// L0C there are few: the page of SetFlag lists those to and from M, from and
/// to MTE2, to MTE3 and to S.
constexpr bool hasFlags(Pipe source, Pipe target) {
  if (source >= PIPE_ALL || target >= PIPE_ALL || source == target)
    return false;
  if (source == PIPE_FIX)
    return target == PIPE_M || target == PIPE_MTE2 || target == PIPE_MTE3 ||
           target == PIPE_S;
  return target != PIPE_FIX || source == PIPE_M || source == PIPE_MTE2;
}

/// A core; sizes are in bytes, rates in bytes per cycle.
struct Arch {
  const char *name = nullptr;
  int64_t cores = 0;
  int64_t capacity[kNumMems] = {};
  int64_t alignment[kNumMems] = {};
  /// What a copy from the first to the second moves in a cycle; zero where the
  /// core has no such route.
  int64_t rate[kNumMems][kNumMems] = {};
  /// Main memory is read and written in pieces of so many bytes: a shorter
  /// burst takes as long as one. The vendor's page on hardware constraints says
  /// so of the 910B, no page of the others.
  int64_t piece = 128;
  /// Cycles of a product beside those of its fractals, from msKPP's tables for
  /// the 910B1.
  int64_t productStart = 3;

  constexpr bool hasRoute(Mem from, Mem to) const {
    return rate[index(from)][index(to)] != 0;
  }
};

constexpr Arch makeArch() {
  constexpr int gm = index(Mem::GM), l1 = index(Mem::L1), l0a = index(Mem::L0A),
                l0b = index(Mem::L0B), l0c = index(Mem::L0C),
                ub = index(Mem::UB);
  Arch arch;
  arch.name = CHIMERA_NPU_NAME;
  arch.capacity[l1] = CHIMERA_NPU_L1_BYTES;
  arch.capacity[l0a] = CHIMERA_NPU_L0A_BYTES;
  arch.capacity[l0b] = CHIMERA_NPU_L0B_BYTES;
  arch.capacity[l0c] = CHIMERA_NPU_L0C_BYTES;
  arch.capacity[ub] = CHIMERA_NPU_UB_BYTES;
  arch.alignment[gm] = 1;
  arch.alignment[l1] = arch.alignment[ub] = 32;
  arch.alignment[l0a] = arch.alignment[l0b] = 512;
  arch.alignment[l0c] = 1024;
#if CHIMERA_NPU_ARCH == 9102
  // CANN's platform configurations, as open source projects quote them for the
  // 910B2: 110 bytes per cycle and core from the L2, vectors of 128 bytes in
  // each of two vector cores. Between memories on chip, msKPP's tables.
  arch.cores = 24;
  arch.rate[gm][l1] = arch.rate[gm][ub] = 110;
  arch.rate[ub][gm] = 64;
  arch.rate[ub][ub] = 256;
  arch.rate[l1][l0a] = 256;
  arch.rate[l1][l0b] = 128;
  arch.rate[l0c][l1] = 256;
  arch.rate[l0c][gm] = 128;
#else
  // The same configurations for the 310P; between memories on chip nobody
  // quotes them for the 910, which is taken to have the 310's.
  arch.rate[l1][l0a] = 512;
  arch.rate[l1][l0b] = 256;
  arch.rate[ub][ub] = 256;
  arch.rate[l0c][ub] = 256;
#if CHIMERA_NPU_ARCH == 910
  // Liao et al., Hot Chips 31, 2019: 32 cores, 128 bytes per cycle and core
  // from the mesh, vectors of 256 bytes.
  arch.cores = 32;
  arch.rate[gm][l1] = arch.rate[gm][ub] = 128;
  arch.rate[ub][gm] = 64;
  arch.rate[ub][l1] = 128;
#else
  arch.cores = 8;
  arch.rate[gm][l1] = arch.rate[gm][ub] = arch.rate[ub][gm] = 114;
  arch.rate[ub][l1] = 256;
#endif
#endif
  return arch;
}

// Not `inline`, which would make libraries in one process share it.
static constexpr Arch kArch = makeArch();

} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_NPU_ARCH_H
