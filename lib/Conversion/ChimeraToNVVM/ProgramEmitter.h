//===- ProgramEmitter.h - The code of one thread block ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a program and generates the body of a kernel. Tiles that a loop chooses
// are copied to shared memory some iterations ahead: the loop starts the copies
// for the first iterations before it begins, and each iteration waits for its
// own, then starts those of a later one in the place that all threads have
// left. Waiting for a group of copies waits for all groups before it, so tiles
// of the loops around are there as well.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_PROGRAMEMITTER_H
#define CHIMERA_LIB_CONVERSION_PROGRAMEMITTER_H

#include "Elementwise.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace chimera {

class ProgramEmitter {
public:
  /// `memrefs` are the tensors from outside, the arguments that the program
  /// updates and what parts leave, as they are in the kernel; `indices` has
  /// what else comes from outside. If the program combines parts, `counters`
  /// has for each tile how many blocks have made theirs.
  ProgramEmitter(KernelBuilder &kernel, Program &program,
                 const llvm::DenseMap<mlir::Value, mlir::Value> &memrefs,
                 const ProgramIndices &indices, mlir::Value counters)
      : kernel(kernel), program(program), shared(kernel, program),
        fragments(kernel, shared), memrefs(memrefs), indices(indices),
        counters(counters) {}

  /// Generates code where the builder is. Fails with a reason if the program is
  /// not covered; what was generated then has to be thrown away.
  llvm::LogicalResult emit(Refusal &refusal);

private:
  llvm::LogicalResult fail(const llvm::Twine &why);
  mlir::Location loc() { return kernel.loc; }

  bool growsWith(mlir::Value place);
  void chooseTile();
  mlir::Value getTileNumber();
  llvm::LogicalResult emitTile(mlir::scf::ForallOp forall);
  llvm::LogicalResult emitCombination();
  llvm::LogicalResult emitBody(mlir::Block &body);
  llvm::LogicalResult emitOperation(mlir::Operation &op);
  llvm::LogicalResult emitSlice(mlir::tensor::ExtractSliceOp op);
  llvm::LogicalResult emitInsert(mlir::tensor::InsertSliceOp op);
  llvm::LogicalResult emitResult(mlir::tensor::ParallelInsertSliceOp op);
  llvm::LogicalResult emitBlock(BlockOp block);
  llvm::LogicalResult emitContraction(const Contraction &contraction);
  llvm::LogicalResult emitFill(BlockOp block, mlir::linalg::FillOp fill);
  llvm::LogicalResult emitElementwise(BlockOp block,
                                      mlir::linalg::GenericOp op);
  mlir::OpFoldResult getColumns(mlir::Value tensor);
  llvm::FailureOr<ColumnRange>
  readColumns(BlockOp block, mlir::linalg::GenericOp op,
              llvm::ArrayRef<ElementwiseOperand> operands);
  llvm::LogicalResult checkRows(mlir::OffsetSizeAndStrideOpInterface op);
  llvm::LogicalResult
  readOperands(BlockOp block, mlir::linalg::GenericOp op,
               llvm::SmallVectorImpl<ElementwiseOperand> &operands);

  /// A loop that is being generated, with the tiles it chooses.
  struct StreamingLoop {
    mlir::scf::ForOp op;
    mlir::Value lower, upper;
    int64_t step = 1, stages = 1;
    llvm::SmallVector<const SharedTile *> tiles;
    int64_t ahead() const { return stages - 1; }
  };
  static bool runsForSure(mlir::scf::ForOp loop);
  llvm::LogicalResult emitLoop(mlir::scf::ForOp op);
  llvm::LogicalResult unroll(StreamingLoop &loop);
  bool combines(mlir::scf::ForOp op);
  llvm::LogicalResult emitRolled(StreamingLoop &loop);
  void startStreaming(StreamingLoop &loop);
  void advance(StreamingLoop &loop, mlir::Value index);
  void fillAt(StreamingLoop &loop, mlir::Value index, mlir::Value stage);
  void bindArguments(mlir::scf::ForOp op, mlir::ValueRange values);
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  takeYielded(mlir::scf::ForOp op);

  void fillStatic();
  void ensureFilled(const SharedTile &tile);
  llvm::LogicalResult enter(GlobalTile &tile,
                            mlir::OffsetSizeAndStrideOpInterface slice,
                            const llvm::SmallBitVector &dropped,
                            const ProgramIndices &at);
  llvm::FailureOr<GlobalTile> locate(mlir::Value tensor,
                                     const ProgramIndices &at);
  llvm::FailureOr<Fragment> getFragment(mlir::Value tensor);
  llvm::FailureOr<std::pair<int64_t, int64_t>>
  getColumnTiles(mlir::OffsetSizeAndStrideOpInterface op,
                 const Fragment &whole);
  llvm::LogicalResult checkRegisters(int64_t registers);
  llvm::LogicalResult addSharers(Fragment &sums);
  llvm::LogicalResult addSharersBehind(mlir::scf::ForOp loop);

  KernelBuilder &kernel;
  Program &program;
  SharedMemory shared;
  FragmentBuilder fragments;
  llvm::DenseMap<mlir::Value, mlir::Value> memrefs;
  ProgramIndices indices;
  mlir::Value counters;
  llvm::DenseMap<mlir::Value, Fragment> values;
  /// Registers of what the loops around carry.
  int64_t carriedRegisters = 0;
  unsigned depth = 0;
  /// True if copies were started that are the same for the whole program and
  /// nothing has waited for them.
  bool isStaticPending = false;
  /// What is being generated, where a reason belongs to.
  mlir::Operation *current = nullptr;
  Refusal refused;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_PROGRAMEMITTER_H
