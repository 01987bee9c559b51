//===- Walk.cpp - Executes a schedule block by block ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a cache simulator watches to check the model: two convolutions in a row,
// the first of which may be depthwise, or two matrix products, computed in the
// blocks of a given schedule with AVX2. Apart from the operands it touches a
// few lines of stack. It links nothing of Chimera or LLVM, so that a run under
// valgrind starts at once, and the loops it is told are all it knows of the
// model.
//
//   chimera-cache-walk SIZES LOOPS compute   prints a checksum of the result
//   chimera-cache-walk SIZES LOOPS measure   computes and prints nothing
//   chimera-cache-walk SIZES LOOPS prepare   does all but the computation
//   chimera-cache-walk SIZES plain           the checksum by plain loops
//
// SIZES are nine numbers with commas between them: rows and columns of the
// image, channels before, between and after the layers, the windows' edge in
// both layers, and the rows of zeros around the input of either layer that is
// not pointwise, and 1 if the first layer is depthwise, else 0. A matrix
// product is a pointwise layer on an image of one row.
//
// LOOPS is three lists with bars between them, of loops around both operators,
// around the first and around the second: "m:64,l:32|k:16|n:64".
//
// Matrices hold small integers, so every order of summation gives the same
// bits.
//
//===----------------------------------------------------------------------===//

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

//===----------------------------------------------------------------------===//
// Micro kernels
//===----------------------------------------------------------------------===//

constexpr int lanes = 8;
constexpr int lineElements = 16;
constexpr int registerRows = 6, registerVectors = 2;

struct Matrix {
  float *data;
  int64_t rowStride;

  float *at(int64_t row, int64_t column) const {
    return data + row * rowStride + column;
  }
};

/// c += a * b, or c = a * b, for `Rows` rows and `Vectors` vectors of columns.
/// Multiplies and adds apart: valgrind takes FMAs lane by lane.
template <int Rows, int Vectors>
void multiplyTile(Matrix a, Matrix b, Matrix c, int depth, bool accumulate) {
  __m256 sums[Rows][Vectors];
  for (int row = 0; row < Rows; ++row)
    for (int vector = 0; vector < Vectors; ++vector)
      sums[row][vector] = accumulate
                              ? _mm256_loadu_ps(c.at(row, vector * lanes))
                              : _mm256_setzero_ps();
  for (int step = 0; step < depth; ++step) {
    __m256 right[Vectors];
    for (int vector = 0; vector < Vectors; ++vector)
      right[vector] = _mm256_loadu_ps(b.at(step, vector * lanes));
    for (int row = 0; row < Rows; ++row) {
      __m256 left = _mm256_broadcast_ss(a.at(row, step));
      for (int vector = 0; vector < Vectors; ++vector)
        sums[row][vector] = _mm256_add_ps(sums[row][vector],
                                          _mm256_mul_ps(left, right[vector]));
    }
  }
  for (int row = 0; row < Rows; ++row)
    for (int vector = 0; vector < Vectors; ++vector)
      _mm256_storeu_ps(c.at(row, vector * lanes), sums[row][vector]);
}

/// The same for a single column.
void multiplyColumn(Matrix a, Matrix b, Matrix c, int rows, int depth,
                    bool accumulate) {
  for (int row = 0; row < rows; ++row) {
    float sum = accumulate ? *c.at(row, 0) : 0;
    for (int step = 0; step < depth; ++step)
      sum += *a.at(row, step) * *b.at(step, 0);
    *c.at(row, 0) = sum;
  }
}

template <int Vectors>
void multiplyPanel(Matrix a, Matrix b, Matrix c, int rows, int depth,
                   bool accumulate) {
  int row = 0;
  auto rest = [&](int row) { return Matrix{a.at(row, 0), a.rowStride}; };
  auto into = [&](int row) { return Matrix{c.at(row, 0), c.rowStride}; };
  for (; row + registerRows <= rows; row += registerRows)
    multiplyTile<registerRows, Vectors>(rest(row), b, into(row), depth,
                                        accumulate);
  for (; row + 2 <= rows; row += 2)
    multiplyTile<2, Vectors>(rest(row), b, into(row), depth, accumulate);
  for (; row < rows; ++row)
    multiplyTile<1, Vectors>(rest(row), b, into(row), depth, accumulate);
}

/// A block: panels of columns one after the other.
void multiplyBlock(Matrix a, Matrix b, Matrix c, int rows, int columns,
                   int depth, bool accumulate) {
  auto panel = [&](Matrix matrix, int column) {
    return Matrix{matrix.at(0, column), matrix.rowStride};
  };
  int column = 0;
  for (; column + registerVectors * lanes <= columns;
       column += registerVectors * lanes)
    multiplyPanel<registerVectors>(a, panel(b, column), panel(c, column), rows,
                                   depth, accumulate);
  for (; column + lanes <= columns; column += lanes)
    multiplyPanel<1>(a, panel(b, column), panel(c, column), rows, depth,
                     accumulate);
  for (; column < columns; ++column)
    multiplyColumn(a, panel(b, column), panel(c, column), rows, depth,
                   accumulate);
}

/// c += a * factors, channel by channel.
void scaleRow(Matrix a, const float *factors, Matrix c, int rows,
              int channels) {
  for (int row = 0; row < rows; ++row) {
    int channel = 0;
    for (; channel + lanes <= channels; channel += lanes) {
      __m256 product = _mm256_mul_ps(_mm256_loadu_ps(a.at(row, channel)),
                                     _mm256_loadu_ps(factors + channel));
      _mm256_storeu_ps(
          c.at(row, channel),
          _mm256_add_ps(_mm256_loadu_ps(c.at(row, channel)), product));
    }
    for (; channel < channels; ++channel)
      *c.at(row, channel) += *a.at(row, channel) * factors[channel];
  }
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

enum LoopName { Y1, X1, C1, C0, R1, S1, Y2, X2, C2, R2, S2, numLoops };

struct NameOfLoop {
  const char *name;
  LoopName loop;
};
constexpr NameOfLoop names[] = {{"y1", Y1}, {"x1", X1}, {"c1", C1}, {"c0", C0},
                                {"r1", R1}, {"s1", S1}, {"y2", Y2}, {"x2", X2},
                                {"c2", C2}, {"r2", R2}, {"s2", S2}, {"m", X1},
                                {"l", C1},  {"k", C0},  {"n", C2}};

struct Range {
  int begin = 0, end = 1;

  int size() const { return end - begin; }
};

/// An image with the channels of a pixel side by side, or the weights of a
/// window with the output channels side by side.
struct Image {
  float *data = nullptr;
  int rows = 0, columns = 0, channels = 0;
  int64_t rowStride = 0, columnStride = 0;
  /// The pixel and the channel that `data` points to.
  int firstRow = 0, firstColumn = 0, firstChannel = 0;

  float *at(int row, int column, int channel) const {
    return data + (row - firstRow) * rowStride +
           (column - firstColumn) * columnStride + (channel - firstChannel);
  }
};

/// The weights of each window position are a matrix.
struct Weights {
  float *data = nullptr;
  int edge = 0, inputs = 0, outputs = 0;
  int64_t inputStride = 0;

  float *at(int row, int column, int input, int output) const {
    return data + ((row * edge + column) * inputs + input) * inputStride +
           output;
  }
};

struct Layer {
  /// A depthwise layer has one loop over channels, which is `input` as well.
  LoopName row, column, output, input, windowRow, windowColumn;
  int edge = 1, padding = 0;
  Image *from = nullptr, *to = nullptr;
  Weights weights;

  bool isDepthwise() const { return output == input; }
};

struct TiledLoop {
  LoopName loop;
  int tile;
};

struct LoopList {
  TiledLoop loops[numLoops * 2];
  int size = 0;
};

class Chain {
public:
  Chain(const int *sizes, const char *loops);

  void prepare();
  void compute() { walkShared(0); }
  void computePlainly();
  uint64_t checksum() const;

private:
  void parseLoops(const char *text);
  void sizeIntermediate();
  Image makeImage(int rows, int columns, int channels);
  Weights makeWeights(int edge, int inputs, int outputs);
  void fillWithIntegers(float *data, int64_t size);

  void walkShared(int depth);
  void walkOwn(const LoopList &list, const Layer &layer, int depth);
  void deriveImage();
  void runBlock(const Layer &layer);
  void runRow(const Layer &layer, int row, bool isFresh);
  void runPlainly(const Layer &layer);

  Range ranges[numLoops];
  LoopList shared, own[2];
  Layer first, second;
  Image input, intermediate, output;
  float *arena = nullptr;
  int64_t used = 0;
  uint32_t state = 1;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

constexpr int64_t arenaBytes = int64_t(1) << 28;
constexpr int64_t largestCacheBytes = int64_t(1) << 20;

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "chimera-cache-walk: error: %s\n", what);
  std::exit(1);
}

/// Memory whose place in every cache is always the same.
float *mapArena() {
  void *memory =
      mmap(nullptr, arenaBytes + largestCacheBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("no memory");
  uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  address = (address + largestCacheBytes - 1) & ~(largestCacheBytes - 1);
  return reinterpret_cast<float *>(address);
}

int64_t wholeLines(int64_t elements) {
  return (elements + lineElements - 1) / lineElements * lineElements;
}

/// The stride in elements of rows of `elements`: an odd number of lines, which
/// spreads a column over all sets of a cache.
int64_t paddedStride(int64_t elements) {
  int64_t stride = wholeLines(elements);
  return stride / lineElements % 2 ? stride : stride + lineElements;
}

void Chain::fillWithIntegers(float *data, int64_t size) {
  for (int64_t index = 0; index < size; ++index) {
    state = state * 1664525u + 1013904223u;
    data[index] = static_cast<float>(static_cast<int>(state >> 24) % 5 - 2);
  }
}

Image Chain::makeImage(int rows, int columns, int channels) {
  Image image;
  image.data = arena + used;
  image.rows = rows;
  image.columns = columns;
  image.channels = channels;
  image.columnStride = paddedStride(channels);
  image.rowStride = paddedStride(columns * image.columnStride);
  used += rows * image.rowStride;
  return image;
}

Weights Chain::makeWeights(int edge, int inputs, int outputs) {
  Weights weights{arena + used, edge, inputs, outputs, paddedStride(outputs)};
  used += int64_t(edge) * edge * inputs * weights.inputStride;
  return weights;
}

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

Chain::Chain(const int *sizes, const char *loops) : arena(mapArena()) {
  const int rows = sizes[0], columns = sizes[1];
  const int channels[] = {sizes[2], sizes[3], sizes[4]};
  const int edges[] = {sizes[5], sizes[6]};
  const int padding = sizes[7];
  const bool isDepthwise = sizes[8] != 0;
  auto extentAfter = [&](int extent, int edge) {
    return edge == 1 ? extent : extent + 2 * padding - edge + 1;
  };
  const int middleRows = extentAfter(rows, edges[0]),
            middleColumns = extentAfter(columns, edges[0]),
            lastRows = extentAfter(middleRows, edges[1]),
            lastColumns = extentAfter(middleColumns, edges[1]);
  input = makeImage(rows, columns, channels[0]);
  output = makeImage(lastRows, lastColumns, channels[2]);
  intermediate.rows = middleRows;
  intermediate.columns = middleColumns;
  intermediate.channels = channels[1];

  bool sharesImage = edges[1] == 1;
  first = {Y1,
           X1,
           C1,
           isDepthwise ? C1 : C0,
           R1,
           S1,
           edges[0],
           edges[0] == 1 ? 0 : padding,
           &input,
           &intermediate,
           makeWeights(edges[0], isDepthwise ? 1 : channels[0], channels[1])};
  second = {sharesImage ? Y1 : Y2,
            sharesImage ? X1 : X2,
            C2,
            C1,
            R2,
            S2,
            edges[1],
            sharesImage ? 0 : padding,
            &intermediate,
            &output,
            makeWeights(edges[1], channels[1], channels[2])};
  const int extents[numLoops] = {
      middleRows, middleColumns, channels[1], channels[0], edges[0], edges[0],
      lastRows,   lastColumns,   channels[2], edges[1],    edges[1]};
  for (int loop = 0; loop < numLoops; ++loop)
    ranges[loop] = {0, extents[loop]};
  parseLoops(loops);
  sizeIntermediate();
}

void Chain::parseLoops(const char *text) {
  LoopList *lists[] = {&shared, &own[0], &own[1]};
  int list = 0;
  while (*text) {
    if (*text == '|') {
      if (++list == 3)
        fail("more than three lists of loops");
      ++text;
      continue;
    }
    const NameOfLoop *found = nullptr;
    for (const NameOfLoop &name : names)
      if (size_t length = std::strlen(name.name);
          !std::strncmp(text, name.name, length) && text[length] == ':')
        found = &name;
    LoopList &loops = *lists[list];
    if (!found || loops.size == numLoops * 2)
      fail("unknown or too many loops");
    char *end;
    long tile = std::strtol(std::strchr(text, ':') + 1, &end, 10);
    if (tile < 1)
      fail("a tile below one");
    loops.loops[loops.size++] = {found->loop, static_cast<int>(tile)};
    text = *end == ',' ? end + 1 : end;
  }
}

/// The buffer is as large as the loops around both operators leave it.
void Chain::sizeIntermediate() {
  int sizes[numLoops];
  for (int loop = 0; loop < numLoops; ++loop)
    sizes[loop] = ranges[loop].size();
  for (int index = 0; index < shared.size; ++index)
    sizes[shared.loops[index].loop] = shared.loops[index].tile;
  if (second.edge > 1) {
    sizes[Y1] = std::min(sizes[Y1], sizes[Y2] + sizes[R2] - 1);
    sizes[X1] = std::min(sizes[X1], sizes[X2] + sizes[S2] - 1);
  }
  intermediate.data = arena + used;
  intermediate.columnStride = wholeLines(sizes[C1]);
  intermediate.rowStride = sizes[X1] * intermediate.columnStride;
  used += sizes[Y1] * intermediate.rowStride;
}

/// Fills the operands, and the cache with something else.
void Chain::prepare() {
  if ((used + 2 * largestCacheBytes) * int64_t(sizeof(float)) > arenaBytes)
    fail("the operands are too large");
  fillWithIntegers(input.data, input.rows * input.rowStride);
  for (const Layer *layer : {&first, &second}) {
    const Weights &weights = layer->weights;
    fillWithIntegers(weights.data, int64_t(weights.edge) * weights.edge *
                                       weights.inputs * weights.inputStride);
  }
  volatile float *other = arena + used;
  for (int64_t index = 0;
       index < 2 * largestCacheBytes / int64_t(sizeof(float));
       index += lineElements)
    (void)other[index];
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Gives the first layer the part of the image that the second reads.
void Chain::deriveImage() {
  if (second.edge == 1)
    return;
  auto demand = [&](LoopName image, LoopName window, int extent) {
    return Range{
        std::max(ranges[image].begin + ranges[window].begin - second.padding,
                 0),
        std::min(ranges[image].end + ranges[window].end - 1 - second.padding,
                 extent)};
  };
  ranges[Y1] = demand(Y2, R2, intermediate.rows);
  ranges[X1] = demand(X2, S2, intermediate.columns);
}

void Chain::walkShared(int depth) {
  if (depth < shared.size) {
    auto [loop, tile] = shared.loops[depth];
    const Range whole = ranges[loop];
    for (int begin = whole.begin; begin < whole.end; begin += tile) {
      ranges[loop] = {begin, std::min(begin + tile, whole.end)};
      walkShared(depth + 1);
    }
    ranges[loop] = whole;
    return;
  }
  deriveImage();
  intermediate.firstRow = ranges[Y1].begin;
  intermediate.firstColumn = ranges[X1].begin;
  intermediate.firstChannel = ranges[C1].begin;
  walkOwn(own[0], first, 0);
  walkOwn(own[1], second, 0);
}

void Chain::walkOwn(const LoopList &list, const Layer &layer, int depth) {
  if (depth == list.size)
    return runBlock(layer);
  auto [loop, tile] = list.loops[depth];
  const Range whole = ranges[loop];
  for (int begin = whole.begin; begin < whole.end; begin += tile) {
    ranges[loop] = {begin, std::min(begin + tile, whole.end)};
    walkOwn(list, layer, depth + 1);
  }
  ranges[loop] = whole;
}

void Chain::runBlock(const Layer &layer) {
  bool isFresh = (layer.isDepthwise() || ranges[layer.input].begin == 0) &&
                 ranges[layer.windowRow].begin == 0 &&
                 ranges[layer.windowColumn].begin == 0;
  for (int row = ranges[layer.row].begin; row < ranges[layer.row].end; ++row)
    runRow(layer, row, isFresh);
}

/// One row of the output, at each position of the window a matrix product.
void Chain::runRow(const Layer &layer, int row, bool isFresh) {
  const Range columns = ranges[layer.column], outputs = ranges[layer.output],
              inputs = ranges[layer.input];
  if (isFresh && layer.edge > 1) {
    for (int column = columns.begin; column < columns.end; ++column)
      std::fill_n(layer.to->at(row, column, outputs.begin), outputs.size(),
                  0.0f);
    isFresh = false;
  }
  const Range rows = ranges[layer.windowRow],
              positions = ranges[layer.windowColumn];
  for (int r = rows.begin; r < rows.end; ++r) {
    int from = row + r - layer.padding;
    if (from < 0 || from >= layer.from->rows)
      continue;
    for (int s = positions.begin; s < positions.end; ++s) {
      int shift = s - layer.padding;
      int begin = std::max(columns.begin, -shift),
          end = std::min(columns.end, layer.from->columns - shift);
      if (begin >= end)
        continue;
      if (layer.isDepthwise()) {
        scaleRow(
            {layer.from->at(from, begin + shift, outputs.begin),
             layer.from->columnStride},
            layer.weights.at(r, s, 0, outputs.begin),
            {layer.to->at(row, begin, outputs.begin), layer.to->columnStride},
            end - begin, outputs.size());
        continue;
      }
      multiplyBlock(
          {layer.from->at(from, begin + shift, inputs.begin),
           layer.from->columnStride},
          {layer.weights.at(r, s, inputs.begin, outputs.begin),
           layer.weights.inputStride},
          {layer.to->at(row, begin, outputs.begin), layer.to->columnStride},
          end - begin, outputs.size(), inputs.size(), !isFresh);
    }
  }
}

//===----------------------------------------------------------------------===//
// Plain loops
//===----------------------------------------------------------------------===//

void Chain::computePlainly() {
  runPlainly(first);
  runPlainly(second);
}

void Chain::runPlainly(const Layer &layer) {
  const Image &from = *layer.from, &to = *layer.to;
  for (int y = 0; y < to.rows; ++y)
    for (int x = 0; x < to.columns; ++x)
      for (int r = 0; r < layer.edge; ++r)
        for (int s = 0; s < layer.edge; ++s) {
          int row = y + r - layer.padding, column = x + s - layer.padding;
          bool isInside = row >= 0 && row < from.rows && column >= 0 &&
                          column < from.columns;
          int inputs = layer.isDepthwise() ? 1 : from.channels;
          for (int i = 0; i < inputs; ++i)
            for (int o = 0; o < to.channels; ++o) {
              float &sum = *to.at(y, x, o);
              if (r == 0 && s == 0 && i == 0)
                sum = 0;
              if (isInside)
                sum += *from.at(row, column, layer.isDepthwise() ? o : i) *
                       *layer.weights.at(r, s, i, o);
            }
        }
}

uint64_t Chain::checksum() const {
  uint64_t hash = 14695981039346656037u;
  for (int y = 0; y < output.rows; ++y)
    for (int x = 0; x < output.columns; ++x)
      for (int o = 0; o < output.channels; ++o) {
        // Adding zero turns a negative zero into a positive one.
        float value = *output.at(y, x, o) + 0.0f;
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
      }
  return hash;
}

bool parseSizes(const char *text, int *sizes, int count) {
  for (int index = 0; index < count; ++index) {
    char *end;
    long value = std::strtol(text, &end, 10);
    bool isLast = index + 1 == count;
    if (end == text || value < 0 || value > 1 << 16 ||
        *end != (isLast ? '\0' : ','))
      return false;
    sizes[index] = static_cast<int>(value);
    text = end + 1;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  const char *mode = argc > 2 ? argv[argc - 1] : "";
  bool isPlain = argc == 3 && !std::strcmp(mode, "plain");
  bool isComputed = argc == 4 && !std::strcmp(mode, "compute"),
       isMeasured = argc == 4 && !std::strcmp(mode, "measure"),
       isPrepared = argc == 4 && !std::strcmp(mode, "prepare");
  int sizes[9];
  if (!(isPlain || isComputed || isMeasured || isPrepared) ||
      !parseSizes(argv[1], sizes, 9))
    fail("usage: chimera-cache-walk SIZES [LOOPS] "
         "compute|measure|prepare|plain");
  Chain chain(sizes, isPlain ? "" : argv[2]);
  chain.prepare();
  if (isPlain)
    chain.computePlainly();
  else if (!isPrepared)
    chain.compute();
  if (isPlain || isComputed)
    std::printf("%016llx\n", static_cast<unsigned long long>(chain.checksum()));
  return 0;
}
