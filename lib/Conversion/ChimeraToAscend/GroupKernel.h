//===- GroupKernel.h - Kernels of the vector unit ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group that waits for memory, as a kernel: a task brings a tile of every
// tensor into UB, computes what depends on it, and hands results on. Copies of
// one tile run beside the arithmetic of another, in two places each.
//
// In a tile, rows follow each other in whole blocks. What is the same for all
// rows is read again with a distance of zero from row to row. What has no
// columns is a block for each row, of which all elements are alike. So every
// operand of an instruction is a base, a distance between blocks and one
// between repeats.
//
// Where main memory moves in whole blocks, rows that end within one are stored
// in two parts: the whole blocks, and the last elements once more, as one block
// that ends where the row does.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_GROUPKERNEL_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_GROUPKERNEL_H

#include "GroupProgram.h"

namespace chimera {
struct OddRational;
} // namespace chimera

namespace chimera::ascend {

class GroupKernel {
public:
  GroupKernel(mlir::OpBuilder &builder, mlir::Location loc,
              const GroupProgram &group, const model::VectorTiling &tiling,
              const model::VectorCore &core,
              const model::VectorSchedule &schedule, Places &places,
              Architecture architecture)
      : builder(builder), code(builder, loc), group(group),
        program(group.model), tiling(tiling), core(core), schedule(schedule),
        places(places), architecture(architecture) {}

  /// Writes the kernel at the builder's place.
  void emit();

private:
  using Home = model::VectorHome;
  /// Elements of f32 in UB.
  struct Ref {
    mlir::Value address;
    Home home = Home::Block;
  };
  /// Where a result goes through.
  struct Outlet {
    Place place;
    std::optional<Place> tail, tailNumbers, packed;
  };

  // GroupKernel.cpp: tasks, passes, copies.
  void allocate();
  void emitConstants(mlir::Value firstTask);
  void emitTask(mlir::Value task, mlir::Value cores);
  void emitPass(const model::VectorPass &pass, mlir::Value slot);
  void emitPieces(const model::VectorPass &pass);
  void emitSteps(llvm::ArrayRef<model::VectorStep> steps, mlir::Value slot,
                 bool isLoop);
  void emitStep(const model::VectorStep &step, mlir::Value slot);
  void setTile(unsigned axis, mlir::Value start);
  int64_t tileOf(unsigned axis) const;
  bool isPieceLoad(model::VectorValueId id) const;
  mlir::Value getMemory(unsigned tensor);
  void load(model::VectorValueId id, mlir::Value slot);
  void store(const model::VectorStep &step, mlir::Value slot);
  void store(unsigned number, const model::VectorStep &step, mlir::Value slot);
  void buildTail(unsigned number, Ref value, mlir::Value slot);
  void copyOut(unsigned number, mlir::Value slot);
  void copyRows(bool isLoad, mlir::Value memory, mlir::Value buffer,
                int64_t elementBytes, mlir::Value rows, mlir::Value run,
                int64_t rowStride, int64_t pitch);

  // GroupCode.cpp: instructions.
  void compute(const model::VectorStep &step, Ref to);
  void computeBinary(VectorKind kind, const model::VectorStep &step, Ref to);
  void computeOddRational(const model::VectorStep &step, Ref to, Ref x,
                          const OddRational &function);
  void computeCompare(const model::VectorStep &step, Ref to);
  void computeSelect(const model::VectorStep &step, Ref to);
  void bring(const model::VectorStep &step, Ref to, mlir::Value slot);
  Ref spread(model::VectorValueId id, Ref to);
  void emitVector(VectorKind kind, Ref to, llvm::ArrayRef<Ref> sources,
                  mlir::Value scalar = {});
  void emitExtremum(VectorKind kind, const model::VectorStep &step, Ref to,
                    Ref from, double number);
  void emitMixed(VectorKind kind, Ref to, llvm::ArrayRef<Ref> sources);
  void convert(bool isNarrow, mlir::Value to, mlir::Value from,
               mlir::Value elements, int64_t most);
  void dup(Ref to, double number);
  mlir::Value asNumber(double number);
  double getNumber(model::VectorValueId id) const {
    return saturate(architecture, group.values[id].number);
  }
  bool isNumber(model::VectorValueId id) const {
    return group.values[id].code == GroupCode::Number;
  }

  void startReduction(const model::VectorStep &step);
  void accumulate(const model::VectorStep &step);
  void accumulateRows(VectorKind kind, Ref sums, Ref from, bool keepsRows);
  void accumulateColumns(VectorKind kind, Ref sums, Ref from);
  void finishReduction(const model::VectorStep &step);
  void combineLanes(VectorKind kind, mlir::Value sums, mlir::Value temporary,
                    mlir::Value rows);
  void moveLane(mlir::Value to, mlir::Value from, int64_t lane,
                mlir::Value repeats, int64_t most, int64_t results,
                int64_t distance);
  bool isPartial(const model::VectorStep &step) const {
    return !step.partial.empty();
  }

  void forRepeats(mlir::Value count, int64_t most, int64_t atOnce,
                  llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  void withLanes(int64_t lanes, llvm::function_ref<void()> body);
  void withMask(mlir::Value bits, llvm::function_ref<void()> body);
  mlir::Value repeatsOf(Home home);
  int64_t mostRepeats(Home home) const;
  mlir::Value homeAddress(Home home, unsigned number, mlir::Type type = {});
  Ref homeOf(model::VectorValueId id) const;
  Ref temporary(const model::VectorStep &step, unsigned number);
  mlir::Value partialOf(const model::VectorStep &step);
  mlir::Value rowsOf(Home home) {
    return home == Home::Tile || home == Home::Rows ? rowsHere : code.number(1);
  }
  int64_t mostRowsOf(Home home) const {
    return home == Home::Tile || home == Home::Rows ? tiling.rows : 1;
  }
  VectorKind combinerOf(const model::VectorStep &step) const;
  double identityOf(VectorKind kind) const;

  mlir::OpBuilder &builder;
  Code code;
  const GroupProgram &group;
  const model::VectorProgram &program;
  const model::VectorTiling &tiling;
  const model::VectorCore &core;
  const model::VectorSchedule &schedule;
  Places &places;
  Architecture architecture;

  /// By value, by store, and by kind and number of homes.
  llvm::DenseMap<unsigned, Place> loaded;
  llvm::SmallVector<Outlet, 2> outlets;
  std::array<llvm::SmallVector<Place>, model::kNumVectorHomes> homes;
  /// The flags of what is loaded together; the places are others.
  std::optional<Place> pieceStage, taskStage, constantStage;

  /// The tile at hand: where it starts along each axis, and how much it has.
  llvm::SmallVector<mlir::Value> starts;
  mlir::Value rowsHere, columnsHere;
  llvm::DenseMap<unsigned, Ref> refs;
  llvm::SmallDenseSet<unsigned> stored;
};

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_GROUPKERNEL_H
