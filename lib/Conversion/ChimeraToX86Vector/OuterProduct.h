//===- OuterProduct.h - Contractions on vector registers --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What emits an outer product: OuterProduct.cpp says how, QuantizedProduct.cpp
// what differs where a factor is decoded, and DotProduct.cpp where several
// steps of the reduction are multiplied at once.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_OUTERPRODUCT_H
#define CHIMERA_LIB_CONVERSION_OUTERPRODUCT_H

#include "FactorDecoder.h"
#include "FinishEmitter.h"

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/WordPanels.h"

#include "llvm/ADT/bit.h"

#include <array>

namespace chimera {

class OuterProductEmitter : public MicroKernelEmitter {
public:
  OuterProductEmitter(mlir::OpBuilder &builder, MicroKernelOp op,
                      const VectorFigures &figures,
                      const model::RegisterTile &tile,
                      llvm::ArrayRef<int64_t> extents,
                      const KernelContext &context)
      : MicroKernelEmitter(builder, op, figures, extents), tile(tile),
        tileRows(tile.rows), panelVectors(tile.vectors),
        prefetches(context.prefetches) {
    if (context.finish)
      finish.emplace(builder, mlir::cast<MicroKernelOp>(context.finish), op,
                     figures);
    if (!isQuantized(op))
      return;
    ProductBody product = *matchProductBody(op.getBody().front());
    factors = {product.factor.getArgNumber(), product.code.getArgNumber()};
    decoder.emplace(builder, op, figures, extents);
  }

  llvm::LogicalResult emit();

private:
  /// Fewer rows are no stream.
  static constexpr int64_t leastStream = 64;

  void chooseDims();
  bool mayDecode();
  int64_t countRowsOfVectors() const;
  void prepareRows();
  void emitPanels();
  void emitOpenPanels();
  void readTaps();
  std::pair<int64_t, int64_t> rowsOf(int64_t tap, int64_t first,
                                     int64_t rows) const;
  bool hasPadding(int64_t first, int64_t rows) const;
  bool decodesPanels() const;
  void emitRows(mlir::Value column, int64_t vectors, LaneCount columns);
  void emitRowsOf(mlir::Value column, int64_t vectors, LaneCount columns);
  void emitOpenRows(mlir::Value column, int64_t vectors, LaneCount columns);
  void emitTiles(int64_t begin, int64_t end, int64_t rows, mlir::Value column,
                 int64_t vectors, LaneCount columns);
  void emitTile(mlir::Value row, int64_t rows, mlir::Value column,
                int64_t vectors, LaneCount columns);
  void fetchShared(int64_t vectors);
  void emitGroup(int64_t rows, int64_t vectors, LaneCount columns);
  mlir::Value decode(mlir::Value codes, int64_t vector,
                     llvm::ArrayRef<mlir::Value> here, LaneCount count);
  llvm::SmallVector<mlir::Value> emitSums(llvm::SmallVector<mlir::Value> sums,
                                          int64_t rows, int64_t vectors,
                                          LaneCount columns);
  llvm::SmallVector<mlir::Value>
  emitFields(llvm::SmallVector<mlir::Value> carried, int64_t rows,
             int64_t vectors, LaneCount columns);
  llvm::SmallVector<mlir::Value>
  emitDigits(llvm::SmallVector<mlir::Value> carried,
             llvm::ArrayRef<mlir::Value> words);
  /// True if what is done once for each row costs less than what is done once
  /// for each vector of numbers.
  static bool areFew(int64_t rows, int64_t vectors) { return rows < vectors; }
  /// True if fields of words are multiplied where they are.
  bool decodesInPlace() const { return prepared.elements && !panel; }
  /// True if factors are added up in the loop, for the zero of their products.
  bool sumsFactors(int64_t rows, int64_t vectors) const {
    return decoder && !panel && decoder->hasZero() && areFew(rows, vectors) &&
           !decodesInPlace();
  }
  void chooseDots();
  std::optional<unsigned> findWords();
  /// How many of the vectors of sums from `first` on, of `vectors`, exchange
  /// lanes.
  int64_t countMixed(int64_t first, int64_t vectors) const {
    if (wordDim || (isIntegerProduct(op) && figures.widensBytes()))
      return 1;
    return llvm::bit_floor<uint64_t>(std::min(stepSize, vectors - first));
  }
  mlir::Value loadElements(unsigned operand, llvm::ArrayRef<mlir::Value> here,
                           int64_t steps);
  mlir::Value unpack(mlir::Value first, mlir::Value second, bool isUpper);
  llvm::SmallVector<mlir::Value> mix(llvm::ArrayRef<mlir::Value> rows,
                                     int64_t vectors);
  llvm::SmallVector<mlir::Value> loadMixed(unsigned operand,
                                           llvm::ArrayRef<mlir::Value> here,
                                           int64_t vectors, LaneCount count,
                                           int64_t steps);
  mlir::Value widenBytes(unsigned operand, mlir::Value numbers);
  mlir::Value extendBytes(unsigned operand, mlir::Value numbers,
                          mlir::Type type);
  mlir::Value asStep(unsigned operand, mlir::Value numbers);
  mlir::Value addProduct(mlir::Value sums, mlir::Value lhs, mlir::Value rhs);
  llvm::SmallVector<mlir::Value> exchangeLanes(llvm::ArrayRef<mlir::Value> sums,
                                               int64_t vectors, bool isBack);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> vectors);
  mlir::Value emitDot(mlir::Value sums, mlir::Value single, mlir::Value vector);
  bool isUnsigned(unsigned operand);
  /// True if single elements get a sign, or lose theirs, which their products
  /// must not.
  bool isShifted() {
    return isIntegerProduct(op) && !figures.widensBytes() &&
           isUnsigned(factors[0]) == isUnsigned(factors[1]);
  }
  bool sharesShifts();
  /// True if `shifts` hold for the current tile: it leaves out no taps.
  bool hasShifts() const { return !shifts.empty() && !firstRow; }
  void addUpColumns(mlir::Value column, int64_t vectors, LaneCount columns);
  void subtractShifts(llvm::MutableArrayRef<mlir::Value> sums, int64_t vectors);
  llvm::SmallVector<mlir::Value>
  emitDots(mlir::Value first, int64_t steps,
           llvm::SmallVector<mlir::Value> carried, int64_t rows,
           int64_t vectors, LaneCount columns);
  void fetchForFinish(int64_t rows, int64_t vectors);
  void storeTile(llvm::ArrayRef<mlir::Value> sums, int64_t rows,
                 int64_t vectors, LaneCount columns);
  /// True if what the innermost loop adds up is added up again outside.
  bool hasOuterReduction() const { return reductionDims.size() > 1; }
  llvm::SmallVector<mlir::Value>
  emitParts(llvm::SmallVector<mlir::Value> carried, int64_t rows,
            int64_t vectors, LaneCount columns);
  llvm::SmallVector<mlir::Value>
  emitReduction(unsigned depth, llvm::SmallVector<mlir::Value> carried,
                int64_t rows, int64_t vectors, LaneCount columns);
  llvm::SmallVector<mlir::Value>
  emitTaps(unsigned depth, llvm::SmallVector<mlir::Value> carried, int64_t rows,
           int64_t vectors, LaneCount columns);
  llvm::SmallVector<mlir::Value>
  emitInnermost(llvm::SmallVector<mlir::Value> carried, int64_t rows,
                int64_t vectors, LaneCount columns);
  llvm::SmallVector<mlir::Value>
  emitOpenInnermost(llvm::SmallVector<mlir::Value> carried, int64_t rows,
                    int64_t vectors, LaneCount columns);
  llvm::SmallVector<mlir::Value>
  emitSteps(mlir::Value first, int64_t steps,
            llvm::SmallVector<mlir::Value> carried, int64_t rows,
            int64_t vectors, LaneCount columns);
  void fetchShare(mlir::Value first, int64_t step, int64_t iterations);
  void fetchAhead(unsigned operand, llvm::SmallVector<mlir::Value> here,
                  int64_t vectors);
  /// The innermost loop in which operand `operand` changes.
  unsigned dimToFetch(unsigned operand) const {
    for (unsigned dim : llvm::reverse(reductionDims))
      if (indexes(operand, dim))
        return dim;
    return reductionDims.back();
  }
  /// True if each row of a factor has vectors of its own.
  bool haveVectorsInRows() const {
    return llvm::any_of(factors, [&](unsigned operand) {
      return indexes(operand, *rowDim) && indexes(operand, vectorDim);
    });
  }
  int64_t rowsInAll() const { return rowDim ? extents[*rowDim] : 1; }
  /// True if many rows of the streamed operand are read one after the other,
  /// each of them at once, once.
  bool isStream() const {
    return rowsInAll() == 1 && !hasOuterReduction() &&
           extents[reductionDims.back()] > leastStream && !isOpen(vectorDim) &&
           extents[vectorDim] <= tile.vectors * lanes;
  }
  /// Lanes of vector `index` of a panel `columns` elements wide.
  LaneCount lanesOf(int64_t index, LaneCount columns) {
    return after(columns, index);
  }
  /// The point of accumulator (row, vector) of the current register tile.
  llvm::SmallVector<mlir::Value> pointOf(int64_t row, int64_t vector);

  const model::RegisterTile &tile;
  /// The factor whose vectors are decoded, if one is quantized, and the
  /// dimensions along which groups of codes follow each other.
  std::optional<FactorDecoder> decoder;
  llvm::SmallVector<unsigned> groupDims;
  /// How many vectors of sums an element has.
  int64_t sets = 1;
  /// Rows prepared for fields of words, and the panels for them.
  model::WordPanel wordPanel;
  FactorDecoder::PreparedRows prepared;
  /// The factors of a panel, if they have been decoded.
  mlir::Value panel;
  /// The zeros of a group, if they are subtracted from each number.
  llvm::SmallVector<mlir::Value> zeros;
  /// Panels that are alike: the number of the first and of all panels, where
  /// the first begins, and their width.
  struct Panels {
    int64_t first = 0, all = 1, begin = 0, width = 1;
  };
  Panels panels;
  /// The operands that are multiplied.
  std::array<unsigned, 2> factors = {0, 1};
  /// Numbers that are multiplied at once: more than one if that is done by dot
  /// products. Then the first factor is the one of single elements.
  int64_t dotSize = 1;
  /// The dimension of the numbers of a word, if vectors are interleaved in
  /// memory: a dot product multiplies words of both factors.
  std::optional<unsigned> wordDim;
  /// Steps of the innermost reduction that a dot product takes.
  int64_t stepSize = 1;
  /// What shifted elements add to each vector of sums of a panel, if that is
  /// known before its rows are multiplied.
  llvm::SmallVector<mlir::Value> shifts;
  /// True while `shifts` are added up.
  bool addsUpColumns = false;
  /// Rows of a tile of this kernel.
  int64_t tileRows;
  /// The most vectors of a panel.
  int64_t panelVectors;
  llvm::ArrayRef<PrefetchOp> prefetches;
  /// What becomes of sums before they are stored.
  std::optional<FinishEmitter> finish;
  std::optional<unsigned> rowDim;
  /// Which taps lie on padding, if they are left out, and the first row of a
  /// tile that has some.
  TapsAttr padded;
  std::optional<int64_t> firstRow;
  llvm::SmallVector<unsigned> reductionDims, outerDims;
  /// The current register tile's origin, and the current reduction step.
  llvm::SmallVector<mlir::Value> point;
  /// The part of the innermost reduction loop that is summed up.
  mlir::Value partBegin;
  int64_t partSteps = 0;
  /// Steps are taken by turns from so many parts of the reduction, `distance`
  /// apart.
  int64_t parts = 1, distance = 0;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_OUTERPRODUCT_H
