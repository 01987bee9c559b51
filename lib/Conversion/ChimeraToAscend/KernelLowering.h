//===- KernelLowering.h - Micro kernels to instructions ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a kernel, one task of the parallel loops, is a nest of loops with
// micro kernels on tiles. A tile has a place in each memory in which somebody
// works on it:
//
//   factors of contractions     in L1; a fractal column of it in L0A or L0B
//   sums of contractions        in L0C
//   what is done element by
//   element                     in UB, one column group after the other; to
//   cores
//                               of their own through main memory, or, if it is
//                               no more than to narrow them, on the way out of
//                               L0C
//   what several kernels do
//   element by element          in UB, where sums are moved, or added up, block
//                               by block
//   one number for each row     in UB, a block each
//
// What a kernel reads where it is not yet comes by the routes of the hardware,
// outside of all loops over which it stays the same: as the model counts it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_KERNELLOWERING_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_KERNELLOWERING_H

#include "Place.h"
#include "Tile.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Routes.h"
#include "Chimera/Model/VectorProgram.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace chimera::ascend {

/// A matrix that a micro kernel reads or writes: the columns are next to each
/// other in memory.
struct Matrix {
  TileRef tile;
  unsigned rowDim = 0, columnDim = 0;
  /// Of the kernel's iteration space. One row alone has no loop.
  std::optional<unsigned> rowLoop;
  unsigned columnLoop = 0;
  /// The largest extents, rounded up to fractals.
  int64_t maxRows = 0, maxColumns = 0;

  /// The same with rows for columns, if it is of no single row.
  Matrix transposed() const {
    Matrix other = *this;
    std::swap(other.rowDim, other.columnDim);
    other.rowLoop = columnLoop;
    other.columnLoop = *rowLoop;
    std::swap(other.maxRows, other.maxColumns);
    return other;
  }

  mlir::OpFoldResult rows() const { return tile.sizes[rowDim]; }
  mlir::OpFoldResult columns() const { return tile.sizes[columnDim]; }
  /// Rows from one column group of the whole buffer to the next, on chip.
  int64_t pitch() const {
    return llvm::alignTo(tile.shape[rowDim],
                         sideOf(tile.getRootType().getElementType()));
  }
};

/// The loops of a contraction over the taps of its windows, and how many there
/// are of each; one where there is no loop.
struct Taps {
  std::optional<unsigned> rowLoop, columnLoop;
  int64_t rows = 1, columns = 1;

  bool areLoop(unsigned loop) const {
    return loop == rowLoop || loop == columnLoop;
  }
  int64_t count() const { return rows * columns; }
};

/// The image that a root shows windows of, where they reach beyond it.
struct Image {
  /// For each dimension of the root the one of the image that it moves along,
  /// and by how many elements.
  llvm::SmallVector<std::pair<unsigned, int64_t>> steps;
  /// For each dimension of the image where the first window begins, how many
  /// elements there are, and those from one to the next in memory.
  llvm::SmallVector<int64_t> first, shape, strides;
  /// Whether windows reach beyond it along each dimension.
  llvm::SmallVector<bool> isPadded;
};

/// The innermost block that holds all of `ops`.
mlir::Block *findCommonBlock(llvm::ArrayRef<MicroKernelOp> ops);
/// Rows in L1 before part `part` of a line with room for `pixels`.
int64_t startOfPart(const model::LineOfPixels &line, int64_t pixels,
                    int64_t part);
/// The dimension of `tile`, which `map` indexes, that `loop` runs along.
std::optional<unsigned> findDim(const TileRef &tile, mlir::AffineMap map,
                                std::optional<unsigned> loop);

/// Where a factor lies in L1, and the rows from one of its column groups to
/// the next.
struct Factor {
  mlir::Value address;
  int64_t pitch = 0;
  bool rowsAreDepth = false;
  Matrix matrix;
  /// Of the pixels under windows.
  std::optional<model::LineOfPixels> line;
  /// Of a line: the pixels of the result that there is room for, where it
  /// begins, and its columns; of what is read of it the first pixel of the
  /// result and the first column.
  int64_t pixels = 0, width = 0;
  mlir::Value start, firstPixel, firstColumn;
};

/// How an image that is made in the kernel lies in L1, for windows over it: its
/// rows one behind the other, each in the parts of a line.
struct Frame {
  model::LineOfPixels line;
  /// Of the result, that there is room for in a row.
  int64_t pixels = 0;
  int64_t rows = 0, width = 0;

  /// Rows in L1 of the parts before `part`, and the elements of a line.
  int64_t startOf(int64_t part) const {
    return startOfPart(line, pixels, part);
  }
  int64_t elements() const { return startOf(line.numParts()) * width; }
};

/// Memory that a kernel needs for itself: what each of its blocks has, and how
/// many elements these are.
struct Workspace {
  mlir::Type type;
  mlir::Value start, size;
  int64_t elements = 0;
};

/// What happens to sums on their way out of L0C, where no vector unit has to
/// touch them, besides that they may be narrowed.
struct Drain {
  bool hasRelu = false;
};

/// Why there is no kernel, and where what stands in the way is.
struct Refusal {
  mlir::Location loc;
  std::string reason;
};

/// The cube unit as one type of factors finds it, and its instruction.
struct Cube {
  model::MatrixUnit unit;
  MatrixProgramAttr instruction;
};

/// What a kernel runs on.
struct Cores {
  Architecture architecture = Architecture::Ascend910;
  int64_t count = 1;
  Capacities capacities = {};
  llvm::SmallVector<Cube, 2> cubes;
  /// The vector unit and its buffer.
  model::VectorCore vector;
};

class KernelLowering {
public:
  /// `tasks` is the loop over the `numTasks` tasks of a kernel, in steps of
  /// `cores`, the number of those that run it; `machine` has more or fewer.
  KernelLowering(mlir::scf::ForOp tasks, mlir::Value cores, int64_t numTasks,
                 const Cores &machine, const EventSharing &sharing)
      : builder(tasks), code(builder, tasks.getLoc()), tasks(tasks),
        cores(cores), numTasks(numTasks),
        numBlocks(std::min(numTasks, machine.count)),
        isRepeated(numTasks > machine.count),
        architecture(machine.architecture),
        places(machine.capacities, getNumEvents(machine.architecture), sharing),
        cubes(machine.cubes) {}

  /// Notes that `root` shows windows of an image that reach beyond it.
  void addImage(mlir::Value root, ImageOp op);

  /// Notes that `root` has a block for each number of a row.
  void addMemoryOfRows(mlir::Value root) { memoryOfRows.insert(root); }

  /// Replaces the micro kernels. Fails if some are not covered; the refusal
  /// says which and why, and the body is of no use any more.
  mlir::LogicalResult run(Refusal &refusal);

  /// Events that it lacked; another attempt may share as many.
  const OfPipes &getLackingEvents() const { return places.getExcess(); }

  /// The bytes that the kernel takes of each memory on chip.
  llvm::SmallVector<std::pair<Memory, int64_t>> getRoom() const;

  /// The memory that it needs for itself, as the types of its last arguments.
  llvm::SmallVector<mlir::MemRefType> getWorkspaces();

private:
  friend class VectorCode;

  /// Where a buffer is: sums in L0C, factors of contractions in L1, tiles that
  /// several kernels work on and numbers for rows in UB.
  enum class BufferKind { Sums, Factor, Tile, Rows };

  /// A buffer of the schedule, with the kernels that work on it.
  struct Buffer {
    llvm::SmallVector<MicroKernelOp> writers, readers;
    MicroKernelOp fill;
    BufferKind kind = BufferKind::Sums;
    Place place;
    /// Of an image under windows: how it lies, who makes its border of zeros,
    /// and the events for that.
    std::optional<Frame> frame;
    llvm::SmallVector<MicroKernelOp> borders;
    std::optional<Place> border;
  };

  /// A place for one column group of f32, for whoever needs one.
  struct Scratch {
    Place place;
    bool isTaken = false;
  };
  void addScratch();
  void fillLanes(mlir::Value to, int64_t lanes, double number);
  /// Lets those elements of a repeat take part that have a bit, 64 in each.
  void setLanes(int64_t high, int64_t low);
  void setFirstLanes(mlir::Value count);
  void resetLanes() { setLanes(-1, -1); }
  /// The address of a free one and its number.
  std::pair<mlir::Value, unsigned> takeScratch(mlir::Type type = {});
  mlir::Value getNumbers();
  /// Where the numbers 0, 1, ... are: of the columns of a group, one after the
  /// other, or of rows, a block for each; in lanes the other way round.
  mlir::Value getColumnNumbers();
  mlir::Value getRowNumbers();
  void numberLanes(mlir::Value to);
  void numberBlocks(mlir::Value to);
  void countOn(mlir::Value to, int64_t count, int64_t last);
  // KernelLanes.cpp: rows along the lanes of vectors.
  bool canRunInLanes();
  void moveSumsInLanes(const Matrix &sums, mlir::Value to, mlir::Value from,
                       bool isAdded);
  /// Bytes that one number for each of `count` rows takes in UB.
  int64_t bytesOfRows(int64_t count) const {
    return inLanes ? padToFractal(count) * model::laneRowBytes
                   : rowsInUb(count) * blockBytes;
  }
  void releaseScratch(unsigned number) { scratch[number].isTaken = false; }

  bool has(llvm::StringRef instruction, mlir::Type type) const {
    return hasInstruction(architecture, instruction, type);
  }
  /// `number`, or for an infinite one, where there are none, the largest that
  /// there is. A maximum starts below all scores, and masks put scores there:
  /// both only have to vanish beside any score that counts.
  double getNumber(double number) const;
  /// True if the vector unit is where the matrix unit is.
  bool isCoupled() const {
    return has("copy_matrix_cc_to_ubuf",
               mlir::Float32Type::get(tasks->getContext()));
  }
  /// True if vector units take part.
  bool hasVectors() const { return isCoupled() || isMixed || !hasProducts; }
  /// How sums leave if what `kernel` does to them happens on the way.
  std::optional<Drain> findDrain(MicroKernelOp kernel) const;
  /// True if only vector units do what `kernel` does.
  bool needsVectors(MicroKernelOp kernel) const;
  int64_t rowsInUb(int64_t rows) const;
  /// Rows in UB from one column group of a whole tile to the next.
  int64_t pitchInUb(const Matrix &matrix) const {
    return rowsInUb(matrix.tile.shape[matrix.rowDim]);
  }
  // KernelExchange.cpp: from core to core.
  int64_t takeCrossFlags(int64_t count);
  mlir::Value getWorkspace(mlir::Type type);
  /// A place for `elements` that `producer` fills and the other core reads at
  /// `position`.
  Exchange makeExchange(mlir::Operation *position, mlir::Type type,
                        int64_t elements, CoreKind producer, Pipe producerPipe,
                        Pipe consumerPipe);
  mlir::Value locate(const Exchange &exchange);
  void finishExchanges();
  std::pair<mlir::Value, mlir::Value> shareRows(mlir::Value rows);
  Exchange handOver(const Matrix &matrix, MicroKernelOp kernel);
  Exchange handOver(const Matrix &matrix, mlir::Value sums,
                    MicroKernelOp kernel);
  void addSums(const Matrix &sums, const Place &block, bool isAdded,
               MicroKernelOp kernel);
  mlir::Value bringRows(const Exchange &exchange, const Matrix &matrix,
                        const Place &place, mlir::Value slot,
                        mlir::Value column, mlir::Value first,
                        mlir::Value count);
  void takeBack(const Exchange &exchange, const Matrix &matrix);
  mlir::LogicalResult fail(const llvm::Twine &text) {
    reason = text.str();
    return mlir::failure();
  }
  mlir::LogicalResult checkForm(MicroKernelOp kernel);
  // KernelBytes.cpp: factors of 8 bits.
  mlir::LogicalResult chooseFactors(MicroKernelOp kernel);
  mlir::LogicalResult checkProduct(MicroKernelOp kernel);
  bool multipliesBytes() const { return factorType && factorType.isInteger(8); }
  mlir::Type asElement(mlir::Type type) const;
  /// What both sides of a factor are multiples of in L1, and columns of sums.
  int64_t side() const { return sideOf(factorType); }
  void loadSquares(const Factor &factor, mlir::Value to, mlir::Value first,
                   mlir::Value extent, mlir::Value firstDepth,
                   mlir::Value depth, bool isLhs);
  mlir::LogicalResult checkWindows(MicroKernelOp kernel, unsigned input);
  mlir::LogicalResult collect();
  bool isMatrix(mlir::Value root, const Buffer &buffer);
  mlir::LogicalResult chooseKind(mlir::Value root, Buffer &buffer);
  mlir::LogicalResult placeBuffer(mlir::Value root, Buffer &buffer);
  mlir::LogicalResult checkRows(mlir::Value operand);
  mlir::LogicalResult checkCopies(const Matrix &matrix);
  mlir::LogicalResult checkStore(MicroKernelOp kernel, const Matrix &matrix);
  mlir::LogicalResult checkInstructions();
  void separate(const Buffer &buffer);
  mlir::LogicalResult lower(MicroKernelOp kernel);
  mlir::LogicalResult lowerContraction(MicroKernelOp kernel);
  mlir::LogicalResult lowerFill(MicroKernelOp kernel);
  mlir::LogicalResult noteFrame(MicroKernelOp kernel, unsigned input);
  mlir::LogicalResult lowerBorder(MicroKernelOp kernel, const TileRef &tile,
                                  const Buffer &buffer);
  void separateBorder(const Buffer &buffer);
  mlir::Value getLine(const TileRef &tile, unsigned rowDim,
                      std::optional<unsigned> except = std::nullopt);
  mlir::Value getLineStart(const Matrix &matrix);
  Factor readFrame(const Buffer &buffer, Factor factor, const Taps &taps,
                   mlir::AffineMap map);
  void forEachPart(const Matrix &matrix, const Buffer &buffer,
                   llvm::function_ref<void(mlir::Value first, mlir::Value count,
                                           mlir::Value to, int64_t pitch)>
                       write);
  void drainToFrame(const Matrix &result, const Buffer &buffer,
                    mlir::Value source, const Drain &how);
  mlir::LogicalResult lowerDrain(MicroKernelOp kernel);
  void finish();

  llvm::FailureOr<Matrix> getMatrix(mlir::Value value, mlir::AffineMap map,
                                    MicroKernelOp kernel,
                                    const Taps &taps = {});
  mlir::Operation *findPosition(MicroKernelOp kernel, mlir::Value value);
  mlir::Value getSlot(mlir::Operation *position);
  llvm::FailureOr<Factor> bringFactor(MicroKernelOp kernel, unsigned input,
                                      unsigned depthLoop, const Taps &taps);
  void copyTaps(const Factor &factor, const Taps &taps, mlir::AffineMap map);
  Factor getTap(const Factor &factor, const Taps &taps, mlir::Value row,
                int64_t column);
  llvm::FailureOr<unsigned> findReduction(MicroKernelOp kernel,
                                          mlir::Value left, mlir::AffineMap map,
                                          Taps &taps);
  void copyFromMemory(const Matrix &matrix, mlir::Value to, int64_t pitch);
  mlir::Value clipToImage(Matrix &matrix, mlir::Value &first);
  void copyInside(const Matrix &matrix, mlir::Value to, int64_t pitch);
  void clear(mlir::Value to, int64_t elements);
  void copyGroups(const Matrix &matrix, mlir::Value to, mlir::Value from,
                  int64_t pitch);
  void copyRows(const Matrix &matrix, mlir::Value to, mlir::Value from,
                int64_t pitch);
  void copyPadded(const Matrix &matrix, mlir::Value to, mlir::Value from,
                  int64_t pitch);
  void loadFactor(const Factor &factor, mlir::Value to, mlir::Value first,
                  mlir::Value extent, mlir::Value firstDepth, mlir::Value depth,
                  bool isLhs);
  mlir::Value isFirst(MicroKernelOp kernel, mlir::Value firstDepth);
  mlir::Value getSums(const Matrix &matrix, mlir::Value column);
  mlir::Value getTileAddress(const Matrix &matrix);
  void moveSums(const Matrix &sums, const Place &block, bool isAdded);

  mlir::OpBuilder builder;
  Code code;
  mlir::scf::ForOp tasks;
  mlir::Value cores;
  int64_t numTasks, numBlocks;
  /// True if a core has several tasks.
  bool isRepeated;
  Architecture architecture;
  /// True if the cube unit takes part, and if cores of both kinds do.
  bool hasProducts = true, isMixed = false;
  /// True if rows lie along the lanes of vectors: tiles on chip, and what is
  /// done element by element, are transposed.
  bool inLanes = false;
  llvm::SmallVector<Exchange> exchanges;
  llvm::SmallVector<Workspace> workspaces;
  int64_t numCrossFlags = 0;
  Places places;
  llvm::SmallVector<Cube, 2> cubes;
  /// What all contractions multiply, and the unit for that.
  mlir::Type factorType;
  model::MatrixUnit unit;
  llvm::MapVector<mlir::Value, Buffer> buffers;
  llvm::SmallDenseMap<mlir::Value, Image> images;
  llvm::SmallDenseSet<mlir::Value> memoryOfRows;
  llvm::SmallVector<MicroKernelOp> kernels;
  llvm::SmallVector<Scratch> scratch;
  mlir::Value numbers, columnNumbers, rowNumbers;
  /// The most rows of a column group, rounded up; in lanes those of a part of
  /// one, and the most rows that lie in lanes.
  int64_t maxGroupRows = 0, maxLanes = 0;
  /// What the cube unit multiplies, for all contractions.
  Place lhs, rhs;
  int64_t lhsBytes = 0, rhsBytes = 0;
  std::string reason;
};

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_KERNELLOWERING_H
