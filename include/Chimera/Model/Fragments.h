//===- Fragments.h - Blocks in the registers of threads ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a machine whose matrix unit works on the registers of threads, what a
// block computes is spread over them: each group of threads holds rows of all
// its tiles. Nothing moves from one group to another, and registers have no
// index, which says what schedules a program can follow; how many registers
// there are says how large tiles can be.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_FRAGMENTS_H
#define CHIMERA_MODEL_FRAGMENTS_H

#include "Chimera/Model/Schedule.h"

namespace chimera::model {

/// Tiles of factors in the innermost level start at multiples of this: a row of
/// all banks.
inline constexpr int64_t factorAlignment = 128;

/// How the rows of a block are shared out.
struct RowShares {
  /// Groups of threads, and how many instructions' rows each holds.
  int64_t groups = 0, rowTiles = 0;
};
/// The shares of `rows` rows, `unitRows` in an instruction: `wanted` of these
/// for each group if there are so many, more only if there are too many groups.
RowShares shareRows(int64_t rows, int64_t unitRows, int64_t wanted,
                    const ThreadGroups &groups);

/// Registers of a thread for anything but tiles: the reserve, and left operands
/// of an instruction, the one in use and the next for each tile of rows, of
/// `operandRegisters` each.
int64_t registersBesideTiles(const ThreadGroups &groups, int64_t rowTiles,
                             int64_t operandRegisters);

/// Bytes of the innermost level in which `sharers` groups with the same `rows`
/// tell each other numbers of these: two halves, of which one is written while
/// the other is still read. None if there is one group.
int64_t bytesOfSharers(int64_t sharers, int64_t rows);

struct FragmentPlan {
  /// Groups of threads of a block, and how many instructions' rows each holds.
  int64_t groups = 0, rowTiles = 0;
  /// Groups that hold the same rows.
  int64_t sharers = 1;
  /// Registers that each thread needs, where it needs most, and can have.
  int64_t registers = 0, availableRegisters = 0;
  /// Bytes of factors in the innermost level.
  int64_t factorBytes = 0;
  /// Copies of the tiles that loops fill again, and the most iterations that
  /// such a loop has; 1 and 0 if there is none.
  int64_t stages = 1, trips = 0;
  /// Why no program can follow the schedule, if so.
  std::string obstacle;
};

/// True if every operator of `problem` is a product of two tensors whose
/// results are indexed by loops alone, and so are intermediates where they are
/// read: only what comes from outside may be read through windows.
bool multipliesTiles(const ChainProblem &problem);

/// True if some tensor from outside is read through windows.
bool readsWindows(const ChainProblem &problem);

/// True if `loop` runs over taps: an operator adds up over it, and reads an
/// input at a place that it moves.
bool isTap(const ChainProblem &problem, LoopId loop);

/// True if the matrix unit of `machine` works on registers of threads, and all
/// operators of `problem` are products of two tensors, be they read through
/// windows.
bool hasFragments(const ChainProblem &problem, const Machine &machine);

/// What the blocks of `schedule` take of a core of `machine`, if
/// `hasFragments`. The rules:
///
/// - *Rows.* The rows of a result are its last dimension but one. All operators
///   have the same, cut by loops around all of them; of dimensions before them
///   sums are held for one element at a time. The rows of the register tile say
///   how many instructions' rows a group takes, or a half of that, and so on,
///   if registers do not do.
/// - *Tasks.* Parallel loops make them; without any there is one.
/// - *Windows.* A tile of what is read through windows belongs to one tap: the
///   loops over taps are around the blocks, and each product adds up over what
///   is left. What lies outside the image is zeros, and is not moved.
/// - *Registers.* Sums are held in full size from where, inside the parallel
///   loops, the operator's outermost reduction loop starts; an intermediate's
///   from where its producer and its readers part. While it is read it is
///   narrow. States take one register for each row of a thread. Loops over
///   parts of what is held become straight code, so that their bounds must be
///   known.
/// - *Factors* are in the innermost level with sides rounded up to the shape of
///   the unit; as often as the register tile has stages, without any as the
///   level has buffers, if a loop inside the parallel ones chooses the tile.
/// - *Sharers.* The depth of the register tile says how many groups hold the
///   same rows, each a part of a softmax' columns, if a block has the rows of
///   one group and its only loops inside the parallel ones run over these
///   columns. Groups tell each other what they reduce along rows, and add up
///   their sums where the first tiles were.
/// - *Parts.* A parallel loop may split the reduction of a softmax. Sums and
///   states of parts leave the registers once and come into those of one task.
/// - *Traffic* of the innermost level is, under a mask and through windows,
///   that of the tiles that loops visit.
FragmentPlan planFragments(const ChainProblem &problem, const Machine &machine,
                           const Schedule &schedule);

/// Tasks that a core of `machine` has registers and memory for at a time, if
/// each takes what `plan` says.
int64_t countResidents(const Machine &machine, const FragmentPlan &plan);

} // namespace chimera::model

#endif // CHIMERA_MODEL_FRAGMENTS_H
