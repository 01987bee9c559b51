//===- BlockBuilder.h - What runs inside the loop tree ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The leaves of the loop tree are blocks: operations of the chain on the tiles
// that the loops around them leave. What a block computes does not depend on
// how the loops are built, only on where in the tree it is.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_TILE_BLOCKBUILDER_H
#define CHIMERA_LIB_TRANSFORMS_TILE_BLOCKBUILDER_H

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/Model/Schedule.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace chimera {

/// Adds to `values` the extents that tiles of `tile` iterations have in a loop
/// from `first` on whose extent is one of `possible`.
void addTileExtents(llvm::ArrayRef<int64_t> possible, int64_t tile,
                    int64_t first, llvm::SmallSetVector<int64_t, 4> &values);

/// Where we are in the loop tree: how far each loop extends here, and the part
/// of each tensor that lies inside.
struct TreePosition {
  /// Per loop of the problem: its extent here, and the values it can take.
  llvm::SmallVector<mlir::OpFoldResult> extents;
  llvm::SmallVector<llvm::SmallVector<int64_t>> possible;
  /// Per loop: where in the whole loop we are.
  llvm::SmallVector<mlir::OpFoldResult> offsets;
  /// Per loop: the offsets and extents it can have here, if the range of
  /// another loop follows from its; see Halo.h.
  struct Place {
    int64_t offset, extent;
  };
  llvm::SmallVector<llvm::SmallVector<Place>> places;
  /// The number of loops around.
  unsigned depth = 0;
  /// Per tensor of the problem; null for intermediates not yet computed.
  llvm::SmallVector<mlir::Value> tensors;
  /// Inputs that are copies already; see Staging.h.
  llvm::SmallDenseSet<model::TensorId, 4> staged;
  /// Those of them that lie in panels, and the columns of one.
  llvm::SmallDenseMap<model::TensorId, int64_t, 4> panels;

  /// The size along `loop` of the part of a tensor that lies inside: all of an
  /// open loop is its placeholder, so that the part has the type of the whole.
  mlir::OpFoldResult getSliceSize(model::LoopId loop) const;
};

/// A loop, and how far into its range a slice begins.
struct LoopOffset {
  model::LoopId loop;
  mlir::OpFoldResult offset;
};

/// What a buffer is for.
enum class BufferKind {
  /// A tile, all of which is computed.
  Tile,
  /// A tile with a border around it.
  Frame,
  /// A state of each row, one beside the other.
  State
};

class BlockBuilder {
public:
  /// Blocks go where `builder` stands.
  BlockBuilder(mlir::OpBuilder &builder, ChainOp chain,
               const ChainAnalysis &analysis, const model::Schedule &schedule);

  mlir::OpBuilder &getBuilder() { return builder; }
  /// How the blocks are to be made.
  const model::BlockForms &getForms() const { return forms; }
  /// In which operators add up, and which the numbers of a softmax's rows have.
  mlir::Type getSumType() const { return sumType; }
  /// The loop of each dimension of `tensor` as it is read. What is read through
  /// windows has a dimension for each loop of a window.
  llvm::ArrayRef<model::LoopId> dimsOf(model::TensorId tensor) const {
    return dims[tensor];
  }
  /// The same as it is made, for what operators make.
  llvm::ArrayRef<model::LoopId> madeDimsOf(model::TensorId tensor) const {
    return madeDims[tensor].empty() ? dims[tensor] : madeDims[tensor];
  }
  /// The slice, with the extents of `position`, of a tensor with dimensions
  /// along the loops `dims` that begins at the offsets in `moved`.
  void describeSlice(llvm::ArrayRef<model::LoopId> dims,
                     llvm::ArrayRef<LoopOffset> moved,
                     const TreePosition &position,
                     llvm::SmallVectorImpl<mlir::OpFoldResult> &offsets,
                     llvm::SmallVectorImpl<mlir::OpFoldResult> &sizes,
                     llvm::SmallVectorImpl<mlir::OpFoldResult> &strides) const;
  /// `source`, a tile of the tensor that `access` reads through windows, with a
  /// dimension for each of its loops: as large as it can be at `position`.
  mlir::Value buildWindows(const model::Access &access, mlir::Value source,
                           const TreePosition &position);
  /// The buffer of a tile: created once for all iterations, cut down to the
  /// extents of this one. For what is added up, unless another type is given.
  mlir::Value buildBuffer(model::TensorId tensor, const TreePosition &position,
                          mlir::Type elementType = {});

  /// A buffer that is created once for all iterations, cut down to `sizes`,
  /// which are at `most` these.
  mlir::Value createBuffer(llvm::ArrayRef<int64_t> most,
                           llvm::ArrayRef<mlir::OpFoldResult> sizes,
                           mlir::Type elementType, BufferKind kind);

  /// Fills a tile of `tensor`, for operator `op`.
  mlir::Value buildFill(unsigned op, model::TensorId tensor, double value,
                        const TreePosition &position, mlir::Value destination);
  /// Fills `destination`, whose shape is static, with zeros.
  mlir::Value buildZeros(unsigned op, mlir::Value destination);

  /// `destination`, of a static shape, with `source` transposed in it.
  mlir::Value buildTranspose(unsigned op, mlir::Value source,
                             llvm::ArrayRef<int64_t> permutation,
                             mlir::Value destination);
  /// Copies the tile of `tensor` for operator `op`.
  mlir::Value buildCopy(unsigned op, model::TensorId tensor,
                        const TreePosition &position, mlir::Value destination);
  /// The contraction of an operator; not `initialised`, it fills its output
  /// first.
  mlir::Value buildContraction(unsigned op, const TreePosition &position,
                               mlir::Value destination, bool initialised);
  /// The elementwise operation after an operator, on the `sums` it has come to.
  /// In place if the result has their type, else into `destination`, or into a
  /// new buffer if there is none.
  mlir::Value buildEpilogue(unsigned op, const TreePosition &position,
                            mlir::Value sums, mlir::Value destination);

  using BlockBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange)>;
  /// A tile that a generic operation reads or updates.
  struct Operand {
    mlir::Value value;
    mlir::AffineMap map;
  };
  /// `value`, a tile of `tensor`, as part of an operation over `loops`.
  Operand atLoops(mlir::Value value, model::TensorId tensor,
                  llvm::ArrayRef<model::LoopId> loops) const;
  /// A block with one generic operation over `loops`, which reduces along those
  /// that do not index all outputs.
  llvm::SmallVector<mlir::Value>
  buildGeneric(unsigned op, llvm::ArrayRef<model::LoopId> loops,
               const TreePosition &position, llvm::ArrayRef<Operand> inputs,
               llvm::ArrayRef<Operand> outputs, BlockBody body);

  /// What an elementwise operation needs from outside its body.
  struct Epilogue {
    mlir::linalg::GenericOp op;
    mlir::Value finished;
    /// What is read, and the value in the body that it stands for.
    llvm::SmallVector<Operand> inputs;
    llvm::SmallVector<mlir::Value> sources;
    llvm::SmallVector<mlir::Operation *> constants;
    /// The dimensions whose first index is an input, after the others.
    llvm::SmallVector<unsigned> shifted;
  };
  Epilogue readEpilogue(unsigned op, const TreePosition &position);
  /// Copies the body of `epilogue`, which works on `element`. Scalars from
  /// outside are inputs, constants move inside, and indices count from where we
  /// are.
  mlir::Value cloneEpilogue(const Epilogue &epilogue, mlir::OpBuilder &body,
                            mlir::ValueRange scalars, mlir::Value element);

private:
  llvm::SmallVector<mlir::Value> buildBlock(unsigned op,
                                            mlir::ValueRange destinations,
                                            mlir::ValueRange inputs,
                                            mlir::ArrayAttr extents,
                                            bool isContraction, BlockBody body);
  TapsAttr tapsOf(unsigned op) const;
  RegisterTileAttr registersOf(unsigned op) const;
  mlir::ArrayAttr extentsOf(llvm::ArrayRef<model::LoopId> loops,
                            const TreePosition &position) const;
  mlir::Value getTile(mlir::Value value, const TreePosition &position) const;
  mlir::Location loc() { return chain.getLoc(); }

  mlir::OpBuilder &builder;
  ChainOp chain;
  const ChainAnalysis &analysis;
  const model::ChainProblem &problem;
  const model::Schedule &schedule;
  /// Plain ones, if nobody has decided.
  model::BlockForms forms;
  mlir::Type sumType;
  /// Per tensor: the loops of its dimensions as it is read, and as it is made.
  std::vector<llvm::SmallVector<model::LoopId, 4>> dims, madeDims;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_BLOCKBUILDER_H
