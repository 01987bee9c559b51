//===- PlanCases.cpp - The chains and machines that are planned -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanCases.h"

#include "TestProblems.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace chimera;
using namespace chimera::model;
using namespace chimera::plans;

//===----------------------------------------------------------------------===//
// Shape tables
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  std::string name;
  SmallVector<int64_t, 9> numbers;
};
} // namespace

[[noreturn]] static void fail(const Twine &message) {
  errs() << "error: " << message << "\n";
  exit(1);
}

/// The rows of a table with `columns` numbers behind each name.
static std::vector<Row> readTable(StringRef name, unsigned columns) {
  std::string path = (CHIMERA_SHAPES_DIR "/" + name).str();
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    fail("cannot read " + path);
  std::vector<Row> rows;
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    if (line.starts_with("#") || line.starts_with("name,"))
      continue;
    SmallVector<StringRef> fields;
    line.split(fields, ',');
    Row row;
    row.name = fields[0].str();
    row.numbers.resize(columns);
    for (unsigned column = 0; column < columns; ++column)
      if (fields.size() <= column + 1 ||
          fields[column + 1].getAsInteger(10, row.numbers[column]))
        fail(path + ": cannot read '" + line + "'");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Case> chimera::plans::readGemmChains() {
  std::vector<Case> cases;
  for (const Row &row : readTable("gemm_chains.csv", 5)) {
    ArrayRef<int64_t> n = row.numbers;
    Case entry;
    entry.name = row.name;
    entry.problem = makeChain({n[0], n[1], n[2], n[3], n[4]});
    entry.m = {loopNamed(entry.problem, "m")};
    entry.l = loopNamed(entry.problem, "l");
    entry.k = loopNamed(entry.problem, "k");
    entry.n = loopNamed(entry.problem, "n");
    cases.push_back(std::move(entry));
  }
  return cases;
}

/// Weights lie with the output channels of a window position side by side, as
/// images have the channels of a pixel: so vectors can be loaded.
static void layOutWeights(ChainProblem &problem) {
  for (const Operator &op : problem.operators) {
    Tensor &weights = problem.tensors[op.inputs[1]];
    ArrayRef<int64_t> shape = weights.shape;
    weights.strides.assign(shape.size(), 0);
    int64_t stride = 1;
    for (unsigned dim = 0; dim < 2; stride *= shape[dim++])
      weights.strides[dim] = stride;
    for (unsigned dim = shape.size(); dim-- > 2; stride *= shape[dim])
      weights.strides[dim] = stride;
  }
}

std::vector<Case> chimera::plans::readConvChains() {
  std::vector<Case> cases;
  for (const Row &row : readTable("conv_chains.csv", 9)) {
    ArrayRef<int64_t> n = row.numbers;
    auto layer = [&](unsigned index) {
      ConvLayer layer;
      layer.channels = n[3 + index];
      layer.stride = n[5 + index];
      layer.kernel = n[7 + index];
      layer.padding = layer.kernel / 2;
      return layer;
    };
    ConvSizes sizes;
    sizes.channels = n[0];
    sizes.image = {n[1], n[2]};
    sizes.layers = {layer(0), layer(1)};
    sizes.channelsLast = true;
    Case entry;
    entry.name = row.name;
    entry.problem = makeConvChain(sizes);
    layOutWeights(entry.problem);
    if (sizes.layers[1].kernel == 1 && sizes.layers[1].stride == 1)
      entry.m = {loopNamed(entry.problem, "y1"),
                 loopNamed(entry.problem, "x1")};
    entry.l = loopNamed(entry.problem, "c1");
    entry.k = loopNamed(entry.problem, "c0");
    entry.n = loopNamed(entry.problem, "c2");
    cases.push_back(std::move(entry));
  }
  return cases;
}

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

NamedMachine chimera::plans::getMachine(mlir::MLIRContext &context,
                                        StringRef name) {
  TargetAttr target = getTarget(&context, name);
  if (!target)
    fail("unknown target '" + name + "'");
  mlir::Builder builder(&context);
  // Without a triple it is one for code that we run.
  StringRef triple = target.getTriple();
  bool isProcessor = triple.empty() || Triple(triple).isX86();
  auto machine = target.getMachine(isProcessor ? builder.getF32Type()
                                               : builder.getF16Type());
  if (failed(machine))
    fail("target '" + name + "' has no unit for the type");
  return {name.str(), isProcessor ? "f32" : "f16", *machine};
}

ChainProblem chimera::plans::inTypeOf(const NamedMachine &machine,
                                      ChainProblem problem) {
  if (machine.type != "f16")
    return problem;
  for (Tensor &tensor : problem.tensors) {
    if (tensor.role == Role::State)
      continue;
    tensor.elementBytes = 2;
    if (tensor.role != Role::Input)
      tensor.accumulatorBytes = 4;
  }
  return problem;
}
