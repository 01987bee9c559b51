//===- MemoryEmitter.h - Code of a group that waits for memory --*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread computes what the group makes at its places: some vectors of a
// row. What a pass over the row needs is evaluated when it is needed, from what
// was loaded or computed before if that has a home. Narrow floats are f32
// inside.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_MEMORYEMITTER_H
#define CHIMERA_LIB_CONVERSION_MEMORYEMITTER_H

#include "FloatFunctions.h"
#include "KernelBuilder.h"
#include "MemoryProgram.h"

#include "mlir/IR/IRMapping.h"

namespace chimera {

class MemoryEmitter {
public:
  /// `arguments` are those of the kernel, by what they are outside.
  MemoryEmitter(KernelBuilder &kernel, const MemoryProgram &program,
                const model::ThreadTiling &tiling, mlir::IRMapping arguments)
      : kernel(kernel), builder(kernel.builder), loc(kernel.loc),
        program(program), group(program.getFigures()), tiling(tiling),
        arguments(std::move(arguments)), functions(kernel.builder, kernel.loc) {
  }

  llvm::LogicalResult emit(Refusal &refusal);

private:
  /// Where a thread is: the index of its first element along each axis, whether
  /// that exists, how many elements it has, and what was evaluated there.
  struct Place {
    llvm::SmallVector<mlir::Value> indices;
    /// Null if it always does.
    mlir::Value exists;
    int64_t width = 1;
    bool isOfRow = false;
    /// The vector of the row, and what it is in tiles that are turned.
    mlir::Value step;
    llvm::DenseMap<unsigned, mlir::Value> loaded;
    llvm::DenseMap<mlir::Value, mlir::Value> made;
  };
  /// A result of a reduction.
  struct Accumulator {
    const MemoryMember *member;
    mlir::OpResult result;
    mlir::Operation *combiner;
    mlir::Value sum;
  };
  using Values = llvm::SmallVector<mlir::Value>;

  // Places.
  void createRow();
  Place createPlace(mlir::Value step, std::optional<int64_t> number);
  Place createTurnedPlace(mlir::Value step);
  Place createEnd();
  void split(mlir::Value linear, unsigned first, unsigned end,
             llvm::MutableArrayRef<mlir::Value> indices);
  mlir::Value bothOrNull(mlir::Value left, mlir::Value right);

  // Memory.
  mlir::Value getFlat(const MemoryAccess &access);
  mlir::Value getOffset(const MemoryAccess &access, const Place &place);
  mlir::Value load(unsigned index, Place &place);
  mlir::Value loadPlain(const MemoryAccess &access, const Place &place);
  void store(const MemoryAccess &access, mlir::Value value, const Place &place);
  mlir::Value createShared(int64_t elements, mlir::Type type);
  void fillTiles();
  bool isKept(unsigned load) const;
  mlir::Value getKeptPlace(const Place &place);

  // Values.
  mlir::Type widen(mlir::Type type);
  mlir::VectorType vectorOf(mlir::Type element, int64_t width);
  mlir::Value widenVector(mlir::Value value);
  mlir::Value narrowVector(mlir::Value value, mlir::Type element);
  mlir::Value splat(mlir::Value scalar, int64_t width);
  mlir::Value fit(mlir::Value value, int64_t width);
  mlir::Value valueOf(const MemoryOperand &operand, Place &place);
  mlir::Value getMade(mlir::OpResult result, Place &place);
  Values runBody(const MemoryMember &member, Place &place);
  bool mapOperation(mlir::Operation &op, mlir::IRMapping &mapping,
                    int64_t width);
  mlir::Value getIndexVector(unsigned axis, const Place &place);

  // Reductions.
  void startPass(unsigned pass);
  void runPass(unsigned pass);
  void runStep(unsigned pass, Place &place);
  void runLoop(unsigned pass, int64_t steps);
  void finishPass();
  mlir::Value getNeutral(const Accumulator &accumulator, int64_t width);
  mlir::Value combine(mlir::Operation *combiner, mlir::Value left,
                      mlir::Value right);
  mlir::Value reduceTeam(const Accumulator &accumulator);
  mlir::Value shuffle(mlir::Value vector, int64_t distance);
  mlir::Value combineWarps(const Accumulator &accumulator, mlir::Value value);
  void storeRows();

  KernelBuilder &kernel;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const MemoryProgram &program;
  const model::ThreadGroup &group;
  model::ThreadTiling tiling;
  mlir::IRMapping arguments;
  FloatFunctions functions;
  Refusal refused;

  mlir::Value block, inTeam, inRows, sharedMemory;
  int64_t sharedBytes = 0;
  Place row;
  /// Of each step of the row, if registers hold them.
  llvm::SmallVector<Place, 0> steps;
  llvm::SmallVector<Accumulator> accumulators;
  llvm::DenseMap<unsigned, mlir::Value> tiles, kept;
  /// Kept loads that are in shared memory already.
  llvm::DenseSet<unsigned> filled;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_MEMORYEMITTER_H
