//===- Chimera.h - The Chimera dialect --------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations, attributes and interfaces of the dialect, in one header.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERA_H
#define CHIMERA_IR_CHIMERA_H

#include "Chimera/Model/Schedule.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "Chimera/IR/ChimeraEnums.h.inc"

namespace mlir::linalg {
class LinalgOp;
} // namespace mlir::linalg

namespace chimera {
class MicroKernelAttrInterface;
class PrefetchOp;

/// What vector code suits a core, in figures that no manual lists. The defaults
/// were measured on Cascade Lake and Granite Rapids.
struct VectorTuning {
  /// Combinations of a reduction that are to be under way at a time: two start
  /// in a cycle and take four.
  int64_t chains = 8;
  /// Of a product along the reduction: half of 32 registers hold sums, a
  /// quarter vectors of the rows.
  int64_t accumulators = 16, rowVectors = 8;
  /// If a kernel is limited by reading a matrix for more than one row, so many
  /// operations wait for each vector that a processor does not see far enough
  /// ahead; it asks for what it needs later. How many vectors: in time for the
  /// next level but one, little enough for the first.
  int64_t ahead = 32;
  /// If a matrix is read for one row, its way from memory is all that counts.
  /// Some cores have more of it under way if they read two parts by turns
  /// (Granite Rapids), others have less (Zen 4). All ask for what comes a
  /// little later; more or less ahead makes little difference in the first
  /// level, and some in the second.
  int64_t streams = 2, streamAhead = 16;
  /// The cache, counted from the core, that prefetches of what comes from
  /// memory fill. The lines that a core of Zen 4 has under way into its first
  /// level are few; into its second it has twice as many.
  int64_t fetchLevel = 1;
  /// Of all caches.
  int64_t lineBytes = 64;
  /// As many bodies with exponentials and the like take turns: enough to hide
  /// the latency of each, few enough to fit the registers.
  int64_t interleaved = 4;
  /// Rows that are reduced together, so that their lanes are combined at once:
  /// no more than lanes.
  int64_t reducedRows = 4;
};

/// What a machine takes beside arithmetic and transfers, as
/// `#chimera.overheads` has it; `model::Overheads` says more of each.
struct OverheadFigures {
  /// Cycles.
  int64_t block = 20;
  /// Per cent of a copy.
  int64_t transpose = 300;
  /// Bytes, and per cent beyond the share of the bandwidth. Measured on Cascade
  /// Lake by copying tiles of matrices of 1 to 12 KB a row, larger than all
  /// caches; from a cache there was no difference.
  int64_t run = 512, runCost = 120;
  /// Rows: on Zen 4, pieces of 16 rows come as fast as whole rows, those of 32
  /// at half the rate and less.
  int64_t followed = 16;
  /// Bytes that could come in while the next run is found in the outermost
  /// cache: as measured on Zen 5.
  int64_t reach = 170;
  /// Cycles: 16 on Zen 4, 18 on Zen 5.
  int64_t collision = 17;
  /// Per cent that streams beside take longer: as measured on Zen 5.
  int64_t beside = 87;
  /// Nanoseconds.
  int64_t region = 0;
  /// Nanoseconds: between the 6 and 27 of Zen 4.
  int64_t handover = 12;
  /// Bytes per second; 0: no time.
  int64_t fresh = 0;
  /// Bytes: glibc's limit, DEFAULT_MMAP_THRESHOLD_MAX on 64-bit machines.
  int64_t reused = 32 << 20;
};

/// What is emitted beside a micro kernel.
struct KernelContext {
  /// What may be fetched while it computes.
  llvm::ArrayRef<PrefetchOp> prefetches;
  /// The elementwise kernel behind it, if it has been asked whether it finishes
  /// that, and does.
  mlir::Operation *finish = nullptr;
};

/// How an operand of a micro kernel lies in memory; see `#chimera.layout`.
struct OperandLayout {
  LayoutKind kind = LayoutKind::Any;
  /// A dimension of the iteration space, for what is contiguous or interleaved.
  unsigned along = 0;
  llvm::SmallVector<int64_t, 2> sizes = {};
  /// Of what is interleaved: true if the kernel takes the operation with
  /// `along` cut into two dimensions, the last of which are the neighbours.
  bool isCut = false;
  /// What the extent along `along` has to be a multiple of: operands are padded
  /// with zeros where it is not.
  int64_t multiple = 1;

  /// True if neighbours along `dim` have to be neighbours in memory.
  bool isContiguousAlong(unsigned dim) const {
    return kind == LayoutKind::Contiguous && along == dim;
  }
  /// True for layouts that operands have or can be copied into.
  bool isProduced() const {
    return kind == LayoutKind::Any || kind == LayoutKind::Contiguous ||
           (kind == LayoutKind::Interleaved && isCut);
  }
  static OperandLayout contiguousAlong(unsigned dim) {
    return {LayoutKind::Contiguous, dim};
  }
  /// `count` neighbours along `dim`, which is cut, in the place of one element.
  static OperandLayout cutAlong(unsigned dim, int64_t count) {
    return {LayoutKind::Interleaved, dim, {count}, /*isCut=*/true};
  }
};
} // namespace chimera

#include "Chimera/IR/ChimeraAttrInterfaces.h.inc"
#include "Chimera/IR/ChimeraDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Chimera/IR/ChimeraAttributes.h.inc"

#define GET_OP_CLASSES
#include "Chimera/IR/ChimeraOps.h.inc"

namespace chimera {

/// True if `body` takes two factors and an accumulator and ends with
/// accumulator + factor * factor in f32 arithmetic, in any order of operands.
/// Narrower factors are widened first.
bool multipliesAndAdds(mlir::Block &body);

/// Attaches the bufferization of `chimera.micro_kernel` to the dialect.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace chimera

#endif // CHIMERA_IR_CHIMERA_H
