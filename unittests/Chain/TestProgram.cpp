//===- TestProgram.cpp - Programs from text, and their values -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an operation makes of numbers is written down once, for both
// evaluations; what they differ in is how they come to the operation.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ProgramTest::ProgramTest() {
  context
      .loadDialect<arith::ArithDialect, ChimeraDialect, cf::ControlFlowDialect,
                   func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                   tensor::TensorDialect>();
}

func::FuncOp ProgramTest::parse(StringRef text) {
  program = parseSourceString<ModuleOp>(text, &context);
  if (!program)
    llvm::report_fatal_error("the program of a test is invalid");
  return function = *program->getOps<func::FuncOp>().begin();
}

Value ProgramTest::getReturned(unsigned index) {
  return function.getBody().back().getTerminator()->getOperand(index);
}

Operation *ProgramTest::findMarked(StringRef name) {
  Operation *found = nullptr;
  program->walk([&](Operation *op) {
    if (op->hasAttr(name))
      found = op;
  });
  if (!found)
    llvm::report_fatal_error("no operation has the mark");
  return found;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static unsigned getBits(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// The integer as its type holds it: with a sign, but for truth values.
static double wrap(uint64_t value, Type type) {
  unsigned bits = getBits(type);
  if (bits == 1)
    return value & 1;
  return llvm::SignExtend64(value, bits);
}

/// The integer without a sign.
static uint64_t asUnsigned(double value, Type type) {
  auto bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  return bits & llvm::maskTrailingOnes<uint64_t>(getBits(type));
}

static double getNumber(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  auto number = cast<IntegerAttr>(value);
  return wrap(number.getValue().getZExtValue(), number.getType());
}

static bool compareFloats(arith::CmpFPredicate predicate, double lhs,
                          double rhs) {
  using Predicate = arith::CmpFPredicate;
  bool isUnordered = std::isnan(lhs) || std::isnan(rhs);
  switch (predicate) {
  case Predicate::OEQ:
    return lhs == rhs;
  case Predicate::UNE:
    return lhs != rhs;
  case Predicate::ONE:
    return !isUnordered && lhs != rhs;
  case Predicate::OLT:
    return lhs < rhs;
  case Predicate::OLE:
    return lhs <= rhs;
  case Predicate::OGT:
    return lhs > rhs;
  case Predicate::OGE:
    return lhs >= rhs;
  default:
    llvm::report_fatal_error("a comparison that no test has");
  }
}

static bool compareIntegers(arith::CmpIPredicate predicate, double lhs,
                            double rhs, Type type) {
  uint64_t left = asUnsigned(lhs, type), right = asUnsigned(rhs, type);
  unsigned bits = getBits(type);
  return arith::applyCmpPredicate(predicate, APInt(bits, left),
                                  APInt(bits, right));
}

/// The larger or the smaller number; negative zero is less than zero.
static double choose(double lhs, double rhs, bool isLarger) {
  bool isLeftLess = lhs < rhs || (lhs == rhs && std::signbit(lhs));
  return isLeftLess == isLarger ? rhs : lhs;
}

static double applyToFloats(StringRef name, ArrayRef<double> operands) {
  double lhs = operands[0], rhs = operands.back();
  bool isNaN = std::isnan(lhs) || std::isnan(rhs);
  if (name == "arith.addf")
    return lhs + rhs;
  if (name == "arith.subf")
    return lhs - rhs;
  if (name == "arith.mulf")
    return lhs * rhs;
  if (name == "arith.divf")
    return lhs / rhs;
  if (name == "arith.maximumf")
    return isNaN ? NAN : choose(lhs, rhs, /*isLarger=*/true);
  if (name == "arith.minimumf")
    return isNaN ? NAN : choose(lhs, rhs, /*isLarger=*/false);
  if (name == "arith.maxnumf")
    return isNaN ? std::fmax(lhs, rhs) : choose(lhs, rhs, /*isLarger=*/true);
  if (name == "arith.negf")
    return -lhs;
  if (name == "arith.extf" || name == "arith.truncf")
    return lhs;
  if (name == "math.exp")
    return std::exp(lhs);
  if (name == "math.exp2")
    return std::exp2(lhs);
  if (name == "math.log")
    return std::log(lhs);
  if (name == "math.absf")
    return std::fabs(lhs);
  llvm::report_fatal_error("an operation that no test has: " + Twine(name));
}

static double applyToIntegers(StringRef name, Type operandType, Type type,
                              ArrayRef<double> operands) {
  uint64_t lhs = static_cast<int64_t>(operands[0]),
           rhs = static_cast<int64_t>(operands.back());
  if (name == "arith.addi")
    return wrap(lhs + rhs, type);
  if (name == "arith.subi")
    return wrap(lhs - rhs, type);
  if (name == "arith.muli")
    return wrap(lhs * rhs, type);
  if (name == "arith.andi")
    return wrap(lhs & rhs, type);
  if (name == "arith.ori")
    return wrap(lhs | rhs, type);
  if (name == "arith.xori")
    return wrap(lhs ^ rhs, type);
  if (name == "arith.index_cast" || name == "arith.extsi" ||
      name == "arith.trunci")
    return wrap(lhs, type);
  if (name == "arith.index_castui" || name == "arith.extui")
    return wrap(asUnsigned(operands[0], operandType), type);
  llvm::report_fatal_error("an operation that no test has: " + Twine(name));
}

/// What the operation `name` makes of `operands`, of which the first is of
/// `operandType`.
static double apply(StringRef name, DictionaryAttr attributes, Type operandType,
                    Type type, ArrayRef<double> operands) {
  auto getPredicate = [&] {
    return cast<IntegerAttr>(attributes.get("predicate")).getInt();
  };
  if (name == "arith.select")
    return operands[0] != 0 ? operands[1] : operands[2];
  if (name == "arith.cmpf")
    return compareFloats(static_cast<arith::CmpFPredicate>(getPredicate()),
                         operands[0], operands[1]);
  if (name == "arith.cmpi")
    return compareIntegers(static_cast<arith::CmpIPredicate>(getPredicate()),
                           operands[0], operands[1], operandType);
  if (name == "arith.sitofp")
    return operands[0];
  return isa<FloatType>(type)
             ? applyToFloats(name, operands)
             : applyToIntegers(name, operandType, type, operands);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

double ProgramEvaluator::evaluate(Value tensor, const Point &point) {
  Attribute constant;
  if (matchPattern(tensor, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant))
      constant = elements.getSplatValue<Attribute>();
    return getNumber(constant);
  }
  Operation *definition = tensor.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(definition))
    return evaluate(fill.getInputs()[0], {});
  auto generic = dyn_cast_or_null<linalg::GenericOp>(definition);
  if (!generic)
    return inputs(tensor, point);
  std::pair<const void *, Point> key(tensor.getAsOpaquePointer(), point);
  if (auto it = known.find(key); it != known.end())
    return it->second;
  double value =
      compute(generic, cast<OpResult>(tensor).getResultNumber(), point);
  known[key] = value;
  return value;
}

double ProgramEvaluator::compute(linalg::GenericOp op, unsigned result,
                                 const Point &point) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Point loops(extents.size());
  for (auto [index, value] : llvm::enumerate(point))
    loops[map.getDimPosition(index)] = value;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  if (reduced.empty())
    return runBody(op, loops, {})[result];
  std::vector<double> sums;
  for (Value init : op.getDpsInits())
    sums.push_back(evaluate(init, point));
  for (int64_t value = 0; value < extents[reduced[0]]; ++value) {
    loops[reduced[0]] = value;
    sums = runBody(op, loops, sums);
  }
  return sums[result];
}

/// What the body yields; reductions have come to `sums`.
std::vector<double> ProgramEvaluator::runBody(linalg::GenericOp op,
                                              const Point &loops,
                                              ArrayRef<double> sums) {
  llvm::DenseMap<Value, double> values;
  auto get = [&](Value value) {
    auto it = values.find(value);
    return it == values.end() ? evaluate(value, {}) : it->second;
  };
  for (OpOperand *input : op.getDpsInputOperands()) {
    Point point;
    AffineMap map = op.getMatchingIndexingMap(input);
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      point.push_back(loops[map.getDimPosition(i)]);
    values[op.getMatchingBlockArgument(input)] = evaluate(input->get(), point);
  }
  for (auto [argument, sum] : llvm::zip(op.getRegionOutputArgs(), sums))
    values[argument] = sum;
  for (Operation &nested : op.getBlock()->without_terminator()) {
    double &value = values[nested.getResult(0)];
    Attribute constant;
    if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
      value = loops[index.getDim()];
      continue;
    }
    if (matchPattern(&nested, m_Constant(&constant))) {
      value = getNumber(constant);
      continue;
    }
    SmallVector<double> operands =
        llvm::map_to_vector(nested.getOperands(), get);
    values[nested.getResult(0)] =
        apply(nested.getName().getStringRef(), nested.getAttrDictionary(),
              nested.getOperand(0).getType(), nested.getResult(0).getType(),
              operands);
  }
  std::vector<double> yielded;
  for (Value value : op.getBlock()->getTerminator()->getOperands())
    yielded.push_back(get(value));
  return yielded;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {

class ExprEvaluator {
public:
  ExprEvaluator(const ExprPool &pool, PointDim rowDim,
                ArrayRef<int64_t> extents, const Elements &inputs)
      : pool(pool), rowDim(rowDim), extents(extents), inputs(inputs) {}

  double evaluate(ExprId id, const Point &point) {
    auto [it, isNew] = known.insert({{id, point}, 0});
    if (isNew)
      it->second = compute(pool[id], point);
    return it->second;
  }

private:
  double compute(const Expr &expr, const Point &point);
  double reduce(const Expr &expr, Point point);

  const ExprPool &pool;
  PointDim rowDim;
  ArrayRef<int64_t> extents;
  const Elements &inputs;
  std::map<std::pair<ExprId, Point>, double> known;
};

} // namespace

double ExprEvaluator::compute(const Expr &expr, const Point &point) {
  switch (expr.kind) {
  case Expr::Kind::Number:
    return getNumber(expr.attribute);
  case Expr::Kind::Index:
    return point[expr.dims[0]];
  case Expr::Kind::Tensor: {
    Point place;
    for (PointDim dim : expr.dims)
      place.push_back(point[dim]);
    return inputs(expr.tensor, place);
  }
  case Expr::Kind::Operation: {
    SmallVector<double> operands;
    for (ExprId operand : expr.operands)
      operands.push_back(evaluate(operand, point));
    return apply(expr.name, cast<DictionaryAttr>(expr.attribute),
                 pool[expr.operands[0]].type, expr.type, operands);
  }
  case Expr::Kind::RowReduction:
    return reduce(expr, point);
  }
  llvm_unreachable("unknown kind of expression");
}

double ExprEvaluator::reduce(const Expr &expr, Point point) {
  auto get = [&](int64_t place) {
    point[rowDim] = place;
    return evaluate(expr.operands[0], point);
  };
  // Programs start sums from zero, which is not without effect on negative
  // zero.
  bool isSum = expr.name == "arith.addf";
  double value = isSum ? 0.0 : get(0);
  for (int64_t place = !isSum; place < extents[rowDim]; ++place)
    value = apply(expr.name, {}, expr.type, expr.type, {value, get(place)});
  return value;
}

double chimera::evaluate(const ExprPool &pool, ExprId id, PointDim rowDim,
                         ArrayRef<int64_t> extents, const Point &point,
                         const Elements &inputs) {
  return ExprEvaluator(pool, rowDim, extents, inputs).evaluate(id, point);
}

static std::string getPredicateName(const Expr &expr) {
  auto attributes = cast<DictionaryAttr>(expr.attribute);
  auto predicate = attributes.getAs<IntegerAttr>("predicate");
  if (expr.name == "arith.cmpf")
    return "." + arith::stringifyCmpFPredicate(
                     static_cast<arith::CmpFPredicate>(predicate.getInt()))
                     .str();
  if (expr.name == "arith.cmpi")
    return "." + arith::stringifyCmpIPredicate(
                     static_cast<arith::CmpIPredicate>(predicate.getInt()))
                     .str();
  return "";
}

std::string chimera::print(const ExprPool &pool, ExprId id,
                           const std::map<const void *, std::string> &names) {
  const Expr &expr = pool[id];
  std::string text;
  switch (expr.kind) {
  case Expr::Kind::Number:
    llvm::raw_string_ostream(text)
        << llvm::format("%g", getNumber(expr.attribute));
    return text;
  case Expr::Kind::Index:
    return "i" + std::to_string(expr.dims[0]);
  case Expr::Kind::Tensor:
    return names.at(expr.tensor.getAsOpaquePointer());
  case Expr::Kind::Operation:
  case Expr::Kind::RowReduction: {
    std::string name = expr.name.split('.').second.str();
    if (expr.kind == Expr::Kind::RowReduction)
      name = "row." + name;
    else
      name += getPredicateName(expr);
    SmallVector<std::string> operands;
    for (ExprId operand : expr.operands)
      operands.push_back(print(pool, operand, names));
    return name + "(" + llvm::join(operands, ", ") + ")";
  }
  }
  llvm_unreachable("unknown kind of expression");
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

void chimera::forEachPoint(ArrayRef<int64_t> extents,
                           llvm::function_ref<void(const Point &)> visit) {
  Point point(extents.size());
  while (true) {
    visit(point);
    size_t dim = extents.size();
    while (dim > 0 && ++point[dim - 1] == extents[dim - 1])
      point[--dim] = 0;
    if (dim == 0)
      return;
  }
}

bool chimera::areClose(double left, double right, double tolerance) {
  if (std::isnan(left) || std::isnan(right))
    return std::isnan(left) && std::isnan(right);
  double size = std::max(std::fabs(left), std::fabs(right));
  return left == right || std::fabs(left - right) <= tolerance * size;
}
