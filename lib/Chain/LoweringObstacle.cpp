//===- LoweringObstacle.cpp - Chains that code is generated from ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model plans more than the back ends compile. Here the operations of a
// chain are given their part in the form that code is generated from, in
// program order; the first one without a part is the obstacle.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/Softmax.h"
#include "Trace/ChainReaders.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace chimera;

StringRef chimera::getText(LoweringObstacle obstacle) {
  switch (obstacle) {
  case LoweringObstacle::None:
    return "";
  case LoweringObstacle::Operator:
    return "an operator is no contraction or convolution of f32, or of "
           "narrower floats with sums in f32";
  case LoweringObstacle::Windows:
    return "an operator reads through windows, which the target has no micro "
           "kernels for";
  case LoweringObstacle::Stride:
    return "an operator reads every second or third element of an intermediate "
           "along the dimension that its vectors run along";
  case LoweringObstacle::ElementType:
    return "the target has no micro kernels for the types of its numbers";
  case LoweringObstacle::UnitDimension:
    return "a dimension has one element";
  case LoweringObstacle::Movement:
    return "a tensor is reshaped, transposed or padded between operators";
  case LoweringObstacle::Operation:
    return "an operation is not one of linalg, or reads what is neither an "
           "input of the chain nor a result of its operators";
  case LoweringObstacle::Accumulator:
    return "a contraction does not start from a zero fill";
  case LoweringObstacle::Epilogue:
    return "what follows a contraction is not one elementwise operation on its "
           "result that makes floats, i8 or i32";
  case LoweringObstacle::Rows:
    return "rows are reduced otherwise than by a softmax that one contraction "
           "reads";
  case LoweringObstacle::Loops:
    return "an operator reads an intermediate by other loops than it is made "
           "in, or a tensor is read through different windows";
  case LoweringObstacle::Padding:
    return "a window on an intermediate lies in padding altogether";
  case LoweringObstacle::Results:
    return "the chain yields something else than the result of its last "
           "operator";
  }
  llvm_unreachable("unknown obstacle");
}

std::string chimera::getText(LoweringObstacle obstacle,
                             const OperatorSupport &support) {
  std::string text = getText(obstacle).str();
  if (obstacle != LoweringObstacle::ElementType)
    return text;
  llvm::raw_string_ostream os(text);
  os << "; products can be of ";
  llvm::interleaveComma(support.factors, os);
  return text;
}

namespace {

class FormMatcher {
public:
  FormMatcher(ChainOp chain, ChainAnalysis &analysis)
      : chain(chain), analysis(analysis) {}

  LoweringObstacle run();
  /// The operation at which `run` stopped.
  Operation *getCause() const { return cause; }

private:
  LoweringObstacle match(linalg::LinalgOp op);
  LoweringObstacle matchContraction(ChainOperator &op);
  LoweringObstacle matchEpilogue(linalg::GenericOp op);
  LoweringObstacle matchSoftmaxOf(linalg::GenericOp maximum);
  LoweringObstacle checkLoops() const;
  ChainOperator *findOwner(linalg::GenericOp op);
  bool isPartOfSoftmax(Operation *op) const;
  bool isReadable(Value value) const;
  bool isBorder(Operation *op) const;
  bool isReadAlike(const model::Operator &producer) const;
  bool isReadAlike(model::TensorId input) const;

  ChainOp chain;
  ChainAnalysis &analysis;
  Operation *cause = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// What operations read
//===----------------------------------------------------------------------===//

bool FormMatcher::isPartOfSoftmax(Operation *op) const {
  return op &&
         llvm::any_of(analysis.operators, [&](const ChainOperator &owner) {
           return op == owner.maximum || op == owner.sum ||
                  op == owner.exponential || op == owner.narrowed;
         });
}

bool FormMatcher::isReadable(Value value) const {
  auto makes = [&](const ChainOperator &op) { return op.result == value; };
  return isa<BlockArgument>(value) || llvm::any_of(analysis.operators, makes) ||
         isPartOfSoftmax(value.getDefiningOp());
}

/// What `value` is with a border of zeros, which windows reach into; else
/// itself.
static Value getPadded(Value value) {
  auto pad = value.getDefiningOp<tensor::PadOp>();
  return pad && isZeroPad(pad) ? pad.getSource() : value;
}

/// True if `op` puts a border around an image, for operators that read it
/// through windows.
bool FormMatcher::isBorder(Operation *op) const {
  auto pad = dyn_cast<tensor::PadOp>(op);
  return pad && isZeroPad(pad) &&
         llvm::all_of(pad->getUsers(), [&](Operation *user) {
           return llvm::any_of(analysis.operators, [&](ChainOperator &known) {
             return known.contraction == user;
           });
         });
}

//===----------------------------------------------------------------------===//
// The parts of the form
//===----------------------------------------------------------------------===//

LoweringObstacle FormMatcher::matchContraction(ChainOperator &op) {
  linalg::LinalgOp contraction = op.contraction;
  if (!isSupportedOperator(contraction))
    return LoweringObstacle::Operator;
  if (op.loops.size() != contraction.getNumLoops())
    return LoweringObstacle::UnitDimension;
  if (!isZeroFill(contraction.getDpsInits()[0]))
    return LoweringObstacle::Accumulator;
  for (Value input : contraction.getDpsInputs())
    if (!isReadable(getPadded(input)))
      return LoweringObstacle::Operation;
  op.epilogueLoops = applyPermutationMap<model::LoopId>(
      contraction.getIndexingMapsArray().back(), op.loops);
  return LoweringObstacle::None;
}

/// The last of the operators whose contractions `op` reads.
ChainOperator *FormMatcher::findOwner(linalg::GenericOp op) {
  for (ChainOperator &owner : llvm::reverse(analysis.operators))
    if (llvm::is_contained(op.getDpsInputs(), owner.contraction->getResult(0)))
      return &owner;
  return nullptr;
}

LoweringObstacle FormMatcher::matchEpilogue(linalg::GenericOp op) {
  ChainOperator *owner = findOwner(op);
  auto linalgOp = cast<linalg::LinalgOp>(op.getOperation());
  if (!owner || owner->epilogue || !isSupportedElementwise(linalgOp) ||
      !op.getIndexingMapsArray().back().isIdentity() ||
      !op.getRegionOutputArgs()[0].use_empty())
    return LoweringObstacle::Epilogue;
  Value finished = owner->contraction->getResult(0);
  for (Operation *user : finished.getUsers())
    if (user != op)
      return LoweringObstacle::Epilogue;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (input->get() == finished) {
      if (!op.getMatchingIndexingMap(input).isIdentity())
        return LoweringObstacle::Epilogue;
    } else if (!isReadable(input->get()) &&
               isa<RankedTensorType>(input->get().getType())) {
      return LoweringObstacle::Operation;
    }
  }
  owner->epilogue = op;
  return LoweringObstacle::None;
}

/// What it takes to make a score of a product, if it can be done whenever the
/// score is read.
static std::optional<int64_t> countScoreInstructions(const ChainOperator &op) {
  if (!op.epilogue || linalg::GenericOp(op.epilogue).getNumDpsInputs() != 1)
    return std::nullopt;
  // Of other operations it is not known that they are one instruction.
  auto body = linalg::GenericOp(op.epilogue).getBlock()->without_terminator();
  if (!llvm::all_of(body,
                    llvm::IsaPred<arith::MulFOp, arith::AddFOp, arith::SubFOp>))
    return std::nullopt;
  return llvm::range_size(body);
}

/// The softmax that begins with `maximum`. Whoever reads it keeps the maximum
/// and the sum.
LoweringObstacle FormMatcher::matchSoftmaxOf(linalg::GenericOp maximum) {
  Value score = maximum.getDpsInputs()[0];
  auto owner = llvm::find_if(analysis.operators, [&](ChainOperator &op) {
    Operation *scored = op.epilogue ? op.epilogue : op.contraction;
    return scored == score.getDefiningOp();
  });
  std::optional<Softmax> softmax;
  if (owner != analysis.operators.end())
    softmax = matchSoftmax(score);
  unsigned index = std::distance(analysis.operators.begin(), owner);
  if (!softmax || softmax->maximum != maximum ||
      !analysis.problem.operators[index].completes.empty())
    return LoweringObstacle::Rows;
  owner->maximum = softmax->maximum;
  owner->exponential = softmax->exponential;
  owner->sum = softmax->sum;
  owner->narrowed = softmax->narrowed;
  analysis.problem.operators[index].scoreInstructions =
      countScoreInstructions(*owner);
  linalg::GenericOp last =
      owner->narrowed ? owner->narrowed : owner->exponential;
  return owner->result == last.getResult(0) ? LoweringObstacle::None
                                            : LoweringObstacle::Rows;
}

LoweringObstacle FormMatcher::match(linalg::LinalgOp op) {
  for (ChainOperator &known : analysis.operators)
    if (known.contraction == op)
      return matchContraction(known);
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic)
    return isParallel(op) ? LoweringObstacle::Epilogue : LoweringObstacle::Rows;
  if (isParallel(op))
    return matchEpilogue(generic);
  return isRowReduction(op) ? matchSoftmaxOf(generic) : LoweringObstacle::Rows;
}

/// True if each window of `reading` has a part inside the tensor: none lies in
/// padding altogether.
static bool touchesEverywhere(const model::ChainProblem &problem,
                              const model::Access &reading) {
  for (auto [index, size] : llvm::zip_equal(
           reading.indices, problem.tensors[reading.tensor].shape)) {
    int64_t length = 0, last = index.offset;
    for (const model::Term &term : index.terms) {
      int64_t reach = term.factor * (problem.loops[term.loop].extent - 1);
      (problem.isReduction(term.loop) ? length : last) += reach;
    }
    if (index.offset + length < 0 || last >= size)
      return false;
  }
  return true;
}

/// True if what `producer` makes is read by the loops that make it, or by
/// factors alone, through windows that are alike.
bool FormMatcher::isReadAlike(const model::Operator &producer) const {
  SmallVector<const model::Access *> factors, others;
  for (const model::Operator &op : analysis.problem.operators) {
    for (const model::Access &input : op.inputs)
      if (input.tensor == producer.output.tensor)
        factors.push_back(&input);
    for (const model::Access &operand : op.epilogue)
      if (operand.tensor == producer.output.tensor)
        others.push_back(&operand);
  }
  auto areRead = [](ArrayRef<const model::Access *> readings,
                    const model::Access &like) {
    return llvm::all_of(readings, [&](const model::Access *reading) {
      return reading->indices == like.indices;
    });
  };
  if (areRead(factors, producer.output) && areRead(others, producer.output))
    return true;
  return others.empty() && areRead(factors, *factors.front());
}

/// True if `reading` goes beyond its tensor, into padding.
static bool reachesBeyond(const model::ChainProblem &problem,
                          const model::Access &reading) {
  return llvm::any_of(
      llvm::zip_equal(reading.indices, problem.tensors[reading.tensor].shape),
      [&](auto dim) {
        auto [index, size] = dim;
        int64_t last = index.offset;
        for (const model::Term &term : index.terms)
          last += term.factor * (problem.loops[term.loop].extent - 1);
        return index.offset < 0 || last >= size;
      });
}

/// True if `input` is read through no windows and without padding, or always in
/// the same way.
bool FormMatcher::isReadAlike(model::TensorId input) const {
  const model::ChainProblem &problem = analysis.problem;
  SmallVector<const model::Access *> readings;
  for (const model::Operator &op : problem.operators)
    for (const model::Access &reading :
         llvm::concat<const model::Access>(op.inputs, op.epilogue))
      if (reading.tensor == input)
        readings.push_back(&reading);
  auto isPlain = [&](const model::Access *reading) {
    return !hasWindows(*reading) && !reachesBeyond(problem, *reading);
  };
  return llvm::all_of(readings, isPlain) ||
         llvm::all_of(readings, [&](const model::Access *reading) {
           return reading->indices == readings.front()->indices;
         });
}

/// Tiles are cut along the loops of a tensor's dimensions.
LoweringObstacle FormMatcher::checkLoops() const {
  const model::ChainProblem &problem = analysis.problem;
  for (auto [tensor, value] :
       llvm::zip_equal(problem.tensors, analysis.tensors))
    if (static_cast<int64_t>(tensor.shape.size()) !=
        cast<RankedTensorType>(value.getType()).getRank())
      return LoweringObstacle::UnitDimension;
  for (auto [id, tensor] : llvm::enumerate(problem.tensors))
    if (tensor.role == model::Role::Input && !isReadAlike(id))
      return LoweringObstacle::Loops;
  for (const model::Operator &op : problem.operators) {
    if (!isReadAlike(op))
      return LoweringObstacle::Loops;
    for (const model::Access &input : op.inputs)
      if (problem.tensors[input].role == model::Role::Intermediate &&
          !touchesEverywhere(problem, input))
        return LoweringObstacle::Padding;
  }
  return LoweringObstacle::None;
}

LoweringObstacle FormMatcher::run() {
  for (Operation &op : chain.getBody().front().without_terminator()) {
    cause = &op;
    if (isStart(&op) || isPartOfSoftmax(&op) || isBorder(&op))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (isMove(&op))
      return LoweringObstacle::Movement;
    if (!linalgOp)
      return LoweringObstacle::Operation;
    if (LoweringObstacle obstacle = match(linalgOp);
        obstacle != LoweringObstacle::None)
      return obstacle;
  }
  cause = chain;
  Operation *yield = chain.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1 ||
      yield->getOperand(0) != analysis.operators.back().result)
    return LoweringObstacle::Results;
  return checkLoops();
}

void chimera::findLoweringObstacle(ChainOp chain, ChainAnalysis &analysis) {
  FormMatcher matcher(chain, analysis);
  analysis.obstacle = matcher.run();
  if (analysis.obstacle != LoweringObstacle::None)
    analysis.obstacleOp = matcher.getCause();
}

bool chimera::hasWindows(const model::Access &access) {
  return !llvm::all_of(
      access.indices, [](const model::Index &index) { return index.isLoop(); });
}

static bool readsThroughWindows(const model::Operator &op) {
  return llvm::any_of(op.inputs, hasWindows);
}

/// True if vectors of `op` would have to gather what another operator makes.
static bool readsAtStride(const model::ChainProblem &problem,
                          const model::Operator &op) {
  return llvm::any_of(op.inputs, [&](const model::Access &input) {
    return problem.tensors[input].role == model::Role::Intermediate &&
           llvm::any_of(input.indices, [&](const model::Index &index) {
             return llvm::any_of(index.terms, [&](const model::Term &term) {
               return term.loop == op.vectorLoop && term.factor != 1;
             });
           });
  });
}

/// True if `op` reads an intermediate by loops that its kernels want whole: the
/// operator that makes it would have vectors as short as these.
static bool splitsIntermediates(const model::ChainProblem &problem,
                                const model::Operator &op) {
  return llvm::any_of(op.inputs, [&](const model::Access &input) {
    return problem.tensors[input].role == model::Role::Intermediate &&
           llvm::any_of(llvm::seq<model::LoopId>(problem.loops.size()),
                        [&](model::LoopId loop) {
                          return problem.loops[loop].isWhole &&
                                 input.hasLoop(loop);
                        });
  });
}

LoweringObstacle chimera::getObstacle(const ChainAnalysis &analysis,
                                      const OperatorSupport &support) {
  if (!isLowerable(analysis))
    return analysis.obstacle;
  if (!support.hasWindows &&
      llvm::any_of(analysis.problem.operators, readsThroughWindows))
    return LoweringObstacle::Windows;
  if (llvm::any_of(analysis.problem.operators, [&](const model::Operator &op) {
        return readsAtStride(analysis.problem, op);
      }))
    return LoweringObstacle::Stride;
  if (llvm::any_of(analysis.problem.operators, [&](const model::Operator &op) {
        return splitsIntermediates(analysis.problem, op);
      }))
    return LoweringObstacle::Movement;
  Type sum = getNumberTypes(analysis.operators.front()).sum;
  bool areFactors = llvm::all_of(analysis.operators, [&](ChainOperator op) {
    // Buffers of sums are used again, and softmaxes are of floats.
    return support.computes(*op.contraction.getBlock()) &&
           getNumberTypes(op).sum == sum && !(sum.isInteger() && op.maximum);
  });
  bool areTensors = llvm::all_of(analysis.tensors, [&](Value tensor) {
    Type type = getElementTypeOrSelf(tensor);
    return !isNarrowFloat(type) || support.multiplies(type, type);
  });
  return areFactors && areTensors ? LoweringObstacle::None
                                  : LoweringObstacle::ElementType;
}
