//===- CheckMicroKernels.cpp - Kernels against their meaning --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckMicroKernels.h"

#include "Check.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

/// Largest deviation, relative to the result's size: sums of a few dozen
/// products in f32 stay far below it.
static constexpr double tolerance = 1e-5;

namespace {

/// A kernel on rows, columns and steps of a reduction.
struct Case {
  FunctionKernelAttr kernel;
  std::string function;
  int64_t extents[3];

  StringRef name() const { return kernel.getFunction().getLeafReference(); }
  /// The dimensions of argument `argument` in the order of memory: that along
  /// which it has to be contiguous is the last.
  SmallVector<unsigned, 2> dimsOf(unsigned argument) const {
    auto dims = llvm::to_vector<2>(KernelAttr::getDimsOf(argument));
    OperandLayout layout =
        kernel.getKernel().getLayouts()[argument].getLayout();
    if (layout.isContiguousAlong(dims.front()))
      std::swap(dims[0], dims[1]);
    return dims;
  }
  /// The place of element (row, column) of argument `argument`.
  int64_t placeOf(unsigned argument, int64_t row, int64_t column) const {
    SmallVector<unsigned, 2> dims = dimsOf(argument);
    bool isSwapped = dims != KernelAttr::getDimsOf(argument);
    return isSwapped ? column * extents[dims[1]] + row
                     : row * extents[dims[1]] + column;
  }
};

} // namespace

/// Whole tiles, one and several; and extents that leave a part of a tile along
/// every dimension, or are less than one.
static void addCases(FunctionKernelAttr kernel, std::vector<Case> &cases) {
  constexpr int64_t anySteps = 9;
  ArrayRef<int64_t> shape = kernel.getKernel().getShape();
  int64_t rows = shape[0], columns = shape[1];
  int64_t steps = ShapedType::isDynamic(shape[2]) ? anySteps : shape[2];
  const int64_t extents[][3] = {{rows, columns, steps},
                                {2 * rows, 3 * columns, 2 * steps},
                                {2 * rows + 1, 2 * columns + 1, steps + 1},
                                {rows, columns + 1, 1},
                                {rows + 1, columns, 3 * steps}};
  for (const auto &[m, n, k] : extents)
    cases.push_back(
        {kernel, formatv("check{0}", cases.size()).str(), {m, n, k}});
}

/// A function that adds to its third argument the product of the first two.
static std::string printCase(const Case &test) {
  static constexpr const char *names[] = {"m", "n", "k"};
  SmallVector<std::string, 3> types, maps;
  for (unsigned argument = 0; argument < 3; ++argument) {
    SmallVector<unsigned, 2> dims = test.dimsOf(argument);
    types.push_back(formatv("tensor<{0}x{1}x{2}>", test.extents[dims[0]],
                            test.extents[dims[1]],
                            test.kernel.getKernel().getTypes()[argument]));
    maps.push_back(formatv("affine_map<(m, n, k) -> ({0}, {1})>",
                           names[dims[0]], names[dims[1]]));
  }
  ArrayRef<Type> elements = test.kernel.getKernel().getTypes();
  auto widen = [&](const char *to, const char *from, Type type) -> std::string {
    if (type == elements[2])
      return "";
    return formatv("{0} = arith.extf {1} : {2} to {3}", to, from, type,
                   elements[2]);
  };
  return formatv(
      R"mlir(
func.func @{0}(%a: {1}, %b: {2}, %c: {3}) -> {3} {{
  %0 = chimera.micro_kernel contraction ins(%a, %b : {1}, {2}) outs(%c : {3})
      maps [{4}, {5}, {6}] iterators ["parallel", "parallel", "reduction"]
      implementation {7} {{
  ^bb0(%x: {8}, %y: {9}, %z: {10}):
    {11}
    {12}
    %p = arith.mulf {13}, {14} : {10}
    %s = arith.addf %z, %p : {10}
    chimera.yield %s : {10}
  } -> {3}
  return %0 : {3}
}
)mlir",
      test.function, types[0], types[1], types[2], maps[0], maps[1], maps[2],
      test.kernel, elements[0], elements[1], elements[2],
      widen("%xw", "%x", elements[0]), widen("%yw", "%y", elements[1]),
      elements[0] == elements[2] ? "%x" : "%xw",
      elements[1] == elements[2] ? "%y" : "%yw");
}

/// The kernels in the file `path`.
static Expected<std::vector<Case>> listCases(StringRef path,
                                             MLIRContext &context) {
  OwningOpRef<ModuleOp> empty = ModuleOp::create(UnknownLoc::get(&context));
  if (Error error = loadMicroKernels(*empty, path))
    return std::move(error);
  std::vector<Case> cases;
  auto list = (*empty)->getAttrOfType<ArrayAttr>(
      ChimeraDialect::getMicroKernelsAttrName());
  for (auto kernel : list.getAsRange<FunctionKernelAttr>())
    addCases(kernel, cases);
  return cases;
}

/// Compares `actual` with what `test` is to compute of its arguments.
static Error compareWithMeaning(const Case &test, ArrayRef<Tensor *> arguments,
                                const Tensor &actual) {
  auto get = [&](unsigned argument, int64_t row, int64_t column) {
    return arguments[argument]->get(test.placeOf(argument, row, column));
  };
  for (int64_t row = 0; row < test.extents[0]; ++row)
    for (int64_t column = 0; column < test.extents[1]; ++column) {
      double expected = get(2, row, column), size = std::abs(expected);
      for (int64_t step = 0; step < test.extents[2]; ++step) {
        double product = get(0, row, step) * get(1, step, column);
        expected += product;
        size += std::abs(product);
      }
      double found = actual.get(test.placeOf(2, row, column));
      if (std::abs(found - expected) <= tolerance * size)
        continue;
      return createStringError(
          formatv("micro kernel '{0}' on {1} x {2} x {3}: c[{4}, {5}] is "
                  "{6:F6}, expected {7:F6}; a contraction adds the sum over k "
                  "of a[m, k] * b[k, n] to c[m, n]",
                  test.name(), test.extents[0], test.extents[1],
                  test.extents[2], row, column, found, expected)
              .str());
    }
  return Error::success();
}

static Error runCase(const Case &test, Program &program, uint64_t seed) {
  const runner::Function *function =
      llvm::find_if(program.getFunctions(), [&](const auto &known) {
        return known.name == test.function;
      });
  if (function == program.getFunctions().end())
    return createStringError("micro kernel '" + test.name() +
                             "' has element types that cannot be run here");
  Expected<TensorList> arguments = TensorList::allocate(function->arguments);
  if (!arguments)
    return arguments.takeError();
  arguments->fillRandom(seed);
  Expected<TensorList> results = TensorList::allocate(function->results);
  if (!results)
    return results.takeError();
  Expected<Call> call = program.bind(test.function, arguments->getPointers(),
                                     results->getPointers());
  if (!call)
    return call.takeError();
  (*call)();
  return compareWithMeaning(test, arguments->getPointers(),
                            results->tensors.front());
}

Error chimera::run::checkMicroKernels(StringRef path, CompileOptions options,
                                      uint64_t seed, MLIRContext &context) {
  Expected<std::vector<Case>> cases = listCases(path, context);
  if (!cases)
    return cases.takeError();
  std::string text;
  for (const Case &test : *cases)
    text += printCase(test);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return createStringError("micro kernels of '" + path +
                             "' cannot be called");
  options.microKernels = path.str();
  Expected<std::unique_ptr<Program>> program = compile(*module, options);
  if (!program)
    return program.takeError();
  llvm::MapVector<StringRef, unsigned> passed;
  for (const Case &test : *cases) {
    if (Error error = runCase(test, **program, seed))
      return error;
    ++passed[test.name()];
  }
  for (auto [name, count] : passed)
    llvm::outs() << formatv("passed {0}: {1} sizes\n", name, count);
  return Error::success();
}
