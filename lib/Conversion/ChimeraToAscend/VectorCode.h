//===- VectorCode.h - Code for the vector unit ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An elementwise kernel, or a reduction of rows, runs over the column groups of
// its tile. Of each group it brings what it reads into UB, sums as well as what
// comes from memory, runs the operations of its body one after the other on the
// whole group, and hands the result on: into L1, to memory, or to a tile that
// stays in UB.
//
// In a column group a row is 16 numbers, two blocks if they are f32. What is
// the same for all rows (a bias) is read again and again with a distance of
// zero. What is one number for each row (the state of a softmax) fills a block
// for each, so that eight rows are one repeat beside a column of blocks. What
// depends on rows alone is computed once, before the groups.
//
// A reduction first combines groups, element by element; what is left of a row,
// two blocks, becomes one, that one number, and that one a block again.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORCODE_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORCODE_H

#include "KernelLowering.h"

#include <limits>

namespace chimera {
struct OddRational;
} // namespace chimera

namespace chimera::ascend {

class VectorCode {
public:
  VectorCode(KernelLowering &lowering, MicroKernelOp kernel)
      : lowering(lowering), code(lowering.code), builder(lowering.builder),
        kernel(kernel) {}

  mlir::LogicalResult emit();

private:
  /// Which of the two dimensions a value depends on.
  enum class Shape { Number, Columns, Rows, Group };

  /// What stands for a value of the body: a number, or where its elements are.
  /// Numbers that count something are f32, too; truth values are bits.
  struct Operand {
    Shape shape = Shape::Number;
    mlir::Value value;
    bool isMask = false;
  };

  /// Where an operand of the kernel is, and what has to be done for it.
  struct Access {
    enum class Kind {
      /// A number.
      Scalar,
      /// In UB: columns alone, rows alone, a whole tile, one of truth values.
      Columns,
      Rows,
      Tile,
      Bytes,
      /// Brought group by group, from L0C or from memory.
      Sums,
      Memory,
      /// Handed on group by group, to L1 or to memory.
      Result
    };
    Kind kind = Kind::Columns;
    Matrix matrix;
    std::optional<Place> place;
    /// The first element, of what is in UB.
    mlir::Value address;
    /// Of rows from memory, or for it, the first of them there, and how many
    /// blocks it is from one to the next.
    mlir::Value inMemory;
    int64_t rowsApart = 1;
    /// Of sums from another core, and of what goes back there, where they are
    /// in memory.
    std::optional<Exchange> exchange;
    /// Of bytes that are made, two column groups beside each other as halves.
    std::optional<Place> halves;
  };

  /// An output that combines the elements of each row.
  struct Reduction {
    mlir::Operation *combiner = nullptr;
    mlir::Value element;
    bool isMaximum = false;
    mlir::Value group, state;
  };

  /// What `reduction` starts from.
  double getStart(const Reduction &reduction) const {
    return reduction.isMaximum
               ? lowering.getNumber(-std::numeric_limits<double>::infinity())
               : 0;
  }
  mlir::LogicalResult prepare();
  mlir::LogicalResult findSides();
  mlir::LogicalResult prepareOperand(unsigned number);
  mlir::LogicalResult prepareMoved(unsigned number, Access &access);
  mlir::LogicalResult prepareReductions();
  mlir::LogicalResult bringColumns(unsigned number, Access &access);
  // VectorBytes.cpp: truth values.
  mlir::LogicalResult checkBytes(unsigned number);
  mlir::LogicalResult bringBytes(unsigned number, Access &access);
  mlir::Value widenBytes(mlir::Value bytes, int64_t elements);
  int64_t blocksOfRow() const {
    return llvm::divideCeil(maxColumns, blockBytes);
  }
  void copyBytes(const Matrix &matrix, mlir::Value to);
  void copyShare(Matrix &matrix, mlir::Value to);
  Operand readBytes(const Access &access, mlir::Value column);
  // VectorIntegers.cpp: sums of bytes, and bytes that are made of them.
  mlir::LogicalResult checkSums(unsigned number);
  mlir::LogicalResult prepareByteResult(unsigned number, Access &access);
  Operand widenSums(Operand sums);
  mlir::FailureOr<Operand> emitToInteger(mlir::arith::FPToSIOp op);
  bool makesBytes() const;
  void addToBytes(const Access &access, Operand value, mlir::Value column);
  void writeBytes(mlir::Value column);
  const KernelLowering::Buffer *getBuffer(mlir::Value operand);
  bool isOutput(unsigned number) const {
    return number >= kernel->getNumOperands() - numOutputs;
  }

  // VectorRows.cpp: numbers of rows in memory.
  bool isInMemoryOfRows(mlir::Value operand);
  mlir::LogicalResult prepareRowsInMemory(unsigned number, Access &access);
  mlir::LogicalResult bringNumbers(unsigned number, Access &access);
  void copyLine(mlir::Value to, mlir::Value root, mlir::Value offset,
                mlir::Value count);
  void spreadNumbers(mlir::Value to, mlir::Value from, mlir::Value count);
  mlir::Value rowsInMemory() const { return numRows ? numRows : exactRows; }
  void loadRows();
  void storeRows();

  // VectorExchange.cpp: vector units in cores of their own.
  mlir::Value padShare(mlir::Value count);
  void takeShare(mlir::Value all);
  void shareRows(Matrix &matrix);
  void openExchanges();
  Operand takeOver(const Access &access, mlir::Value column, mlir::Value slot);
  void closeExchanges();
  bool mayHaveNoRows();

  // VectorLanes.cpp: rows along lanes.
  mlir::Value locateInLanes(const Access &access);
  Operand readInLanes(const Access &access);
  mlir::LogicalResult writeInLanes(const Access &access, mlir::Value yielded,
                                   Operand value, mlir::Value slot);
  /// True of a result that goes to memory, where rows are rows.
  bool leavesInRows(const Access &access) const {
    return access.kind == Access::Kind::Result &&
           !access.matrix.tile.isOnChip();
  }
  /// Of the two places for rows that leave, the one for this group.
  mlir::Value slotInLanes() { return code.rem(code.div(current, fractal), 2); }
  void storeInLanes(const Access &access);
  void accumulateInLanes(const Reduction &reduction);
  void finishInLanes(const Reduction &reduction);
  mlir::LogicalResult emitInLanes();
  Operand emitIndexInLanes(IndexOp op);
  Operand asRepeats(Operand operand, Shape shape);
  mlir::Value locateRepeat(Operand operand, mlir::Value first, Shape shape);
  void emitBinaryInLanes(VectorKind kind, mlir::Value to, Operand a, Operand b);

  mlir::LogicalResult emitRows();
  mlir::LogicalResult emitGroups();
  mlir::LogicalResult emitGroup(mlir::Value column, bool isEdge);
  Operand readGroup(const Access &access, mlir::Value column, mlir::Value slot);
  mlir::LogicalResult writeGroup(unsigned output, mlir::Value column,
                                 mlir::Value slot);
  void writeFrame(const Matrix &output, const KernelLowering::Buffer &buffer,
                  mlir::Value from, mlir::Value column);
  void write(const Access &access, mlir::Value column, mlir::Value slot);
  void accumulate(const Reduction &reduction, mlir::Value column, bool isEdge);
  void finish(const Reduction &reduction);
  void reduceBlocks(bool isMaximum, mlir::Value to, mlir::Value from);

  // VectorBody.cpp: the operations of the body.
  mlir::FailureOr<Operand> emitOperation(mlir::Operation &op);
  Operand getOperand(mlir::Value value);
  mlir::FailureOr<Operand> emitNumbers(mlir::Operation &op);
  Operand emitIndex(IndexOp op);
  mlir::FailureOr<Operand> emitCompare(mlir::Operation &op, Operand a,
                                       Operand b);
  void emitLogical(bool isAnd, Operand to, Operand a, Operand b);
  Operand emitSelect(Operand condition, Operand a, Operand b, mlir::Value to);
  /// Gives back what `operand` was brought to, if that is another place.
  void drop(Operand brought, Operand operand) {
    if (brought.value != operand.value)
      release(brought.value);
  }
  Operand asGroup(Operand operand) { return asShape(operand, Shape::Group); }
  Operand asShape(Operand operand, Shape shape);
  Operand asNumbers(Operand mask);
  mlir::Value asScalar(mlir::Value value);
  void emitBinary(VectorKind kind, mlir::Value to, Operand a, Operand b);
  void emitOddRational(mlir::Value to, Operand x, const OddRational &function);
  void emitUnary(VectorKind kind, mlir::Value to, mlir::Value from,
                 Shape shape = Shape::Group);
  void emitScalar(VectorKind kind, mlir::Value to, mlir::Value from,
                  mlir::Value number, Shape shape = Shape::Group);
  void emitScalar(VectorKind kind, mlir::Value to, mlir::Value from,
                  double number, Shape shape = Shape::Group) {
    emitScalar(kind, to, from, asNumber(number), shape);
  }
  void compare(CompareKind kind, mlir::Value bits, Operand a, Operand b,
               Shape shape);
  void select(mlir::Value to, mlir::Value a, mlir::Value b, mlir::Value bits,
              Shape shape);
  void emitPlain(VectorKind kind, mlir::Value to, mlir::Value a, mlir::Value b,
                 Shape shape = Shape::Group);
  void dup(mlir::Value to, mlir::Value number, Shape shape = Shape::Group);
  void dup(mlir::Value to, double number, Shape shape = Shape::Group) {
    dup(to, asNumber(number), shape);
  }
  mlir::Value getDestination(mlir::Operation &op);

  mlir::Value temporary(mlir::Type type = {}) {
    auto [address, number] = lowering.takeScratch(type);
    taken[address] = number;
    return address;
  }
  void release(mlir::Value address);
  void releaseUnused(mlir::Operation &op);
  void releaseDone(mlir::Operation &op);
  mlir::Value asNumber(double number);
  /// One group moves while another is worked on, if there are several.
  int64_t groupPlaces() const { return maxColumns > fractal ? 2 : 1; }
  /// Rows of what is worked on at once, in UB.
  int64_t groupRows() const {
    return lowering.inLanes ? model::laneGroupRows(maxRows) : maxRows;
  }
  mlir::Value repeats(Shape shape) {
    if (lowering.inLanes && shape == Shape::Rows)
      return code.div(rows, fractal);
    bool isBlock = shape == (lowering.inLanes ? Shape::Columns : Shape::Rows);
    return code.div(lowering.inLanes ? part.rows : rows,
                    isBlock ? blockElements : groupRowsPerRepeat);
  }

  /// Elements of f32 in a block and in a repeat.
  static constexpr int64_t blockElements = 8, repeatElements = 64;
  /// Rows of a group of f32 that one repeat covers.
  static constexpr int64_t groupRowsPerRepeat = 4;

  KernelLowering &lowering;
  Code &code;
  mlir::OpBuilder &builder;
  MicroKernelOp kernel;
  unsigned numOutputs = 0;

  /// The loops of the kernel that are rows and columns; without columns, all
  /// operands are rows. One row alone has no loop.
  std::optional<unsigned> rowLoop;
  std::optional<unsigned> columnLoop;
  /// Rows of a group, rounded up, and columns.
  mlir::Value rows, columns;
  /// Without columns, how many rows there are.
  mlir::Value exactRows;
  int64_t maxRows = 0, maxColumns = 0;
  /// Of the tile, the first row of this core and how many it has, if several
  /// cores share it.
  mlir::Value firstRow, numRows;

  llvm::SmallVector<Access, 0> accesses;
  llvm::SmallVector<Reduction, 1> reductions;
  llvm::DenseMap<mlir::Value, Operand> operands;
  /// What has been computed before the groups.
  llvm::SmallPtrSet<mlir::Operation *, 8> done;
  /// Column of the group that is written now; in lanes the first row of it.
  mlir::Value current;
  /// In lanes, of the columns the part that is worked on now: where it begins,
  /// how many there are, and these rounded up.
  struct Part {
    mlir::Value first, count, rows;
  };
  Part part;
  /// Places of groups that are read where they are, until the group is done.
  llvm::SmallVector<std::pair<Place, mlir::Value>> inUse;
  /// Operations whose results are where the tile with that number is.
  llvm::SmallDenseMap<mlir::Operation *, unsigned> inPlace;
  /// The scratch places that are given back after a group, and after all.
  llvm::DenseMap<mlir::Value, unsigned> taken, kept;
};

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORCODE_H
