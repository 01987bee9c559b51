//===- ChainAnalysis.cpp - A chain as the model's problem -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ChainAnalysis.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/Chain/Softmax.h"
#include "Softmax/MaskBands.h"
#include "Trace/ChainReaders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace chimera;

/// Vector instructions per vector for the maximum and the sum of rows.
static constexpr int64_t softmaxReductions = 2;

//===----------------------------------------------------------------------===//
// The form of operators
//===----------------------------------------------------------------------===//

/// The position of the dimension that result `index` of a projected permutation
/// is.
static unsigned getDim(AffineMap map, unsigned index) {
  return map.getDimPosition(index);
}

//===----------------------------------------------------------------------===//
// Collection of the operators
//===----------------------------------------------------------------------===//

namespace {

/// A dimension of one operator's iteration space.
using OperatorDim = std::pair<unsigned, unsigned>;

class ChainReader {
public:
  ChainReader(ChainOp chain, Complaint &complaint)
      : chain(chain), complaint(complaint) {}

  FailureOr<ChainAnalysis> read();

private:
  LogicalResult collectOperators();
  LogicalResult addContraction(linalg::LinalgOp op);
  LogicalResult addEpilogue(linalg::GenericOp op);
  LogicalResult addSoftmax(Softmax softmax);
  void addBands(ChainOperator op);
  LogicalResult addStates(unsigned index, model::Operator &op);
  bool isPartOfSoftmax(Operation *op) const;
  void unifyLoops();
  void unify(unsigned consumer, AffineMap consumerMap, Value value);
  void numberLoops();
  void nameLoops();
  StringRef roleOf(model::LoopId loop) const;
  LogicalResult describeOperators();
  model::TensorId addTensor(unsigned op, Value value);
  SmallVector<model::Index, 4> indicesOf(unsigned op, AffineMap map) const;
  /// The operator whose result `value` is.
  std::optional<unsigned> producerOf(Value value) const;
  /// The loops of the dimensions of operator `op`'s output.
  SmallVector<model::LoopId> outputLoops(unsigned op) const;

  LogicalResult error(Operation *op, const Twine &message) {
    complaint = {op, message.str()};
    return failure();
  }

  ChainOp chain;
  Complaint &complaint;
  ChainAnalysis result;
  llvm::EquivalenceClasses<OperatorDim> classes;
};

} // namespace

std::optional<unsigned> ChainReader::producerOf(Value value) const {
  for (auto [index, op] : llvm::enumerate(result.operators))
    if (op.result == value)
      return index;
  return std::nullopt;
}

LogicalResult ChainReader::addContraction(linalg::LinalgOp op) {
  if (!isSupportedContraction(op))
    return error(op, "a reduction in a chain must be a contraction of static "
                     "tensors, f32 or narrower with sums in f32, with "
                     "projected permutation maps");
  if (!isZeroFill(op.getDpsInits()[0]))
    return error(op, "a contraction in a chain must start from a zero fill");
  for (Value input : op.getDpsInputs())
    if (!isa<BlockArgument>(input) && !producerOf(input))
      return error(op, "a contraction in a chain must read inputs of the chain "
                       "or results of its operators");
  ChainOperator &added = result.operators.emplace_back();
  added.contraction = op;
  added.result = op->getResult(0);
  return success();
}

LogicalResult ChainReader::addEpilogue(linalg::GenericOp op) {
  if (result.operators.empty() || result.operators.back().epilogue)
    return error(op, "an elementwise operation in a chain must follow a "
                     "contraction, and only one may");
  ChainOperator &owner = result.operators.back();
  Value finished = owner.contraction->getResult(0);
  auto linalgOp = cast<linalg::LinalgOp>(op.getOperation());
  if (!isSupportedElementwise(linalgOp) ||
      !op.getIndexingMapsArray().back().isIdentity())
    return error(op, "an elementwise operation in a chain must be parallel, "
                     "static and of floats, with the identity as output map");
  bool readsFinished = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value = input->get();
    if (value == finished) {
      if (!op.getMatchingIndexingMap(input).isIdentity())
        return error(op, "an elementwise operation must read the contraction "
                         "before it with the identity map");
      readsFinished = true;
    } else if (!isa<BlockArgument>(value) && !producerOf(value) &&
               !isPartOfSoftmax(value.getDefiningOp())) {
      return error(op, "an elementwise operation in a chain must read inputs "
                       "of the chain or results of its operators");
    }
  }
  if (!readsFinished)
    return error(op, "an elementwise operation in a chain must read the "
                     "contraction before it");
  if (op.getRegionOutputArgs()[0].hasNUses(0) == false)
    return error(op, "an elementwise operation in a chain must not read its "
                     "output");
  if (!llvm::all_of(finished.getUsers(),
                    [&](Operation *user) { return user == op; }))
    return error(op, "the contraction before an elementwise operation has "
                     "another use");
  owner.epilogue = op;
  owner.result = op->getResult(0);
  return success();
}

/// True if `op` is the maximum or the sum of a softmax that was read.
bool ChainReader::isPartOfSoftmax(Operation *op) const {
  return op && llvm::any_of(result.operators, [&](const ChainOperator &owner) {
           return op == owner.maximum || op == owner.sum ||
                  op == owner.exponential || op == owner.narrowed;
         });
}

/// The softmax belongs to the operator whose result is the score.
LogicalResult ChainReader::addSoftmax(Softmax softmax) {
  ChainOperator &owner = result.operators.back();
  owner.maximum = softmax.maximum;
  owner.exponential = softmax.exponential;
  owner.sum = softmax.sum;
  owner.narrowed = softmax.narrowed;
  Value exponential = softmax.exponential.getResult(0);
  owner.result = softmax.narrowed ? softmax.narrowed.getResult(0) : exponential;
  SmallVector<Operation *> users(exponential.getUsers());
  if (softmax.narrowed)
    llvm::append_range(users, owner.result.getUsers());
  unsigned numReaders = 0;
  for (Operation *user : users) {
    if (user == owner.sum || user == owner.narrowed)
      continue;
    auto reader = dyn_cast<linalg::LinalgOp>(user);
    bool isContraction = reader && isSupportedContraction(reader) &&
                         reader.getNumReductionLoops() == 1;
    if (!isContraction || ++numReaders > 1)
      return error(user,
                   "only one contraction with one reduction may read what "
                   "a softmax makes");
  }
  return success();
}

LogicalResult ChainReader::collectOperators() {
  for (Operation &op : chain.getBody().front().without_terminator()) {
    if (isa<linalg::FillOp, tensor::EmptyOp>(op) ||
        matchPattern(&op, m_Constant()))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      return error(&op, "a chain to be scheduled holds linalg operations only");
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (isPartOfSoftmax(&op))
      continue;
    if (generic && !result.operators.empty() && isRowReduction(linalgOp))
      if (std::optional<Softmax> softmax =
              matchSoftmax(result.operators.back().result);
          softmax && softmax->maximum == generic) {
        if (failed(addSoftmax(*softmax)))
          return failure();
        continue;
      }
    LogicalResult added = generic && linalgOp.getNumReductionLoops() == 0
                              ? addEpilogue(generic)
                              : addContraction(linalgOp);
    if (failed(added))
      return failure();
  }
  if (result.operators.empty())
    return error(chain, "a chain needs a contraction");

  Operation *yield = chain.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1 ||
      yield->getOperand(0) != result.operators.back().result)
    return error(chain, "a chain must yield the result of its last operator "
                        "and nothing else");
  for (const ChainOperator &op : ArrayRef(result.operators).drop_back())
    if (op.result.use_empty())
      return error(chain, "an operator of a chain has no consumer in it");
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Unites the dimensions with which operator `consumer` reads `value` with
/// those with which its producer writes it. `consumerMap` maps into the
/// consumer's iteration space.
void ChainReader::unify(unsigned consumer, AffineMap consumerMap, Value value) {
  std::optional<unsigned> producer = producerOf(value);
  if (!producer)
    return;
  linalg::LinalgOp op = result.operators[*producer].contraction;
  AffineMap producerMap = op.getIndexingMapsArray().back();
  for (unsigned i = 0; i < producerMap.getNumResults(); ++i)
    classes.unionSets({*producer, getDim(producerMap, i)},
                      {consumer, getDim(consumerMap, i)});
}

void ChainReader::unifyLoops() {
  for (auto [index, op] : llvm::enumerate(result.operators)) {
    linalg::LinalgOp contraction = op.contraction;
    for (unsigned dim = 0; dim < contraction.getNumLoops(); ++dim)
      classes.insert({index, dim});
    for (OpOperand *input : contraction.getDpsInputOperands())
      unify(index, contraction.getMatchingIndexingMap(input), input->get());
    if (!op.epilogue)
      continue;
    // The epilogue's dimensions are those of the contraction's output, so its
    // maps compose with the output map.
    AffineMap outputMap = contraction.getIndexingMapsArray().back();
    for (OpOperand *input : op.epilogue.getDpsInputOperands())
      if (input->get() != contraction->getResult(0))
        unify(index,
              op.epilogue.getMatchingIndexingMap(input).compose(outputMap),
              input->get());
  }
}

void ChainReader::numberLoops() {
  llvm::MapVector<OperatorDim, model::LoopId> ids;
  for (auto [index, op] : llvm::enumerate(result.operators)) {
    SmallVector<int64_t> extents = op.contraction.getStaticLoopRanges();
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      OperatorDim leader = classes.getLeaderValue({index, dim});
      auto [it, isNew] = ids.insert({leader, result.problem.loops.size()});
      if (isNew)
        result.problem.loops.push_back({"", extent});
      op.loops.push_back(it->second);
    }
    if (op.epilogue)
      op.epilogueLoops = outputLoops(index);
  }
}

SmallVector<model::LoopId> ChainReader::outputLoops(unsigned op) const {
  linalg::LinalgOp contraction = result.operators[op].contraction;
  AffineMap map = contraction.getIndexingMapsArray().back();
  SmallVector<model::LoopId> loops;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    loops.push_back(result.operators[op].loops[getDim(map, i)]);
  return loops;
}

/// The letter the literature uses for a loop: b batch, m and n the dimensions
/// of the result, k the reduction of a first operator, l what one operator
/// produces and another reduces.
StringRef ChainReader::roleOf(model::LoopId loop) const {
  bool isReduced = false, isProduced = false, isBatch = true, readByLhs = false;
  for (const ChainOperator &op : result.operators) {
    linalg::LinalgOp contraction = op.contraction;
    auto it = llvm::find(op.loops, loop);
    if (it == op.loops.end())
      continue;
    unsigned dim = std::distance(op.loops.begin(), it);
    SmallVector<AffineMap> maps = contraction.getIndexingMapsArray();
    auto uses = [&](unsigned i) { return maps[i].isFunctionOfDim(dim); };
    (uses(2) ? isProduced : isReduced) = true;
    isBatch &= uses(0) && uses(1) && uses(2);
    readByLhs |= uses(0) && uses(2);
  }
  if (isBatch)
    return "b";
  if (isReduced)
    return isProduced ? "l" : "k";
  return readByLhs ? "m" : "n";
}

void ChainReader::nameLoops() {
  llvm::StringMap<unsigned> count;
  for (auto [id, loop] : llvm::enumerate(result.problem.loops)) {
    StringRef role = roleOf(id);
    unsigned number = count[role]++;
    loop.name = number ? (role + Twine(number)).str() : role.str();
  }
}

//===----------------------------------------------------------------------===//
// Tensors and operators of the problem
//===----------------------------------------------------------------------===//

SmallVector<model::Index, 4> ChainReader::indicesOf(unsigned op,
                                                    AffineMap map) const {
  SmallVector<model::Index, 4> indices;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    indices.push_back(result.operators[op].loops[getDim(map, i)]);
  return indices;
}

model::TensorId ChainReader::addTensor(unsigned op, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  model::Tensor tensor;
  tensor.elementBytes = type.getElementTypeBitWidth() / 8;
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    tensor.name = "in" + std::to_string(argument.getArgNumber());
    tensor.role = model::Role::Input;
    tensor.isConstant =
        isSameInEveryCall(chain.getInputs()[argument.getArgNumber()]);
  } else {
    constexpr int64_t sumBytes = 4;
    if (tensor.elementBytes != sumBytes)
      tensor.accumulatorBytes = sumBytes;
    bool isLast = op + 1 == result.operators.size();
    tensor.name = isLast ? "out" : "mid" + std::to_string(op);
    tensor.role = isLast ? model::Role::Output : model::Role::Intermediate;
  }
  if (tensor.role != model::Role::Intermediate)
    tensor.strides.append(getRowMajorStrides(type));
  result.problem.tensors.push_back(tensor);
  result.tensors.push_back(value);
  return result.problem.tensors.size() - 1;
}

/// What the masks on a score leave of its rows.
void ChainReader::addBands(ChainOperator op) {
  SmallVector<unsigned> reduced;
  op.maximum.getReductionDims(reduced);
  for (const model::Band &band : findBands(op.epilogue, op.epilogueLoops))
    if (band.column == op.epilogueLoops[reduced[0]])
      result.problem.bands.push_back(band);
}

/// The reader of a softmax keeps maximum and sum of the rows, and rescales its
/// output by them.
LogicalResult ChainReader::addStates(unsigned index, model::Operator &op) {
  for (const ChainOperator &producer :
       ArrayRef(result.operators).take_front(index)) {
    auto isFactor = [&](OpOperand *input) {
      return input->get() == producer.result;
    };
    linalg::LinalgOp contraction = result.operators[index].contraction;
    SmallVector<OpOperand *> inputs = contraction.getDpsInputOperands();
    auto factor = llvm::find_if(inputs, isFactor);
    if (!producer.exponential || factor == inputs.end())
      continue;
    linalg::LinalgOp maximum = producer.maximum;
    AffineMap rows = maximum.getIndexingMapsArray().back().compose(
        contraction.getMatchingIndexingMap(*factor));
    for (linalg::GenericOp reduction : {producer.maximum, producer.sum}) {
      model::Tensor tensor;
      auto type = cast<RankedTensorType>(reduction.getResult(0).getType());
      tensor.name = reduction == producer.sum ? "sum" : "maximum";
      tensor.role = model::Role::State;
      tensor.elementBytes = type.getElementTypeBitWidth() / 8;
      tensor.shape.assign(type.getShape().begin(), type.getShape().end());
      model::Access access = {
          static_cast<model::TensorId>(result.problem.tensors.size()),
          indicesOf(index, rows)};
      if (llvm::any_of(access.indices, [&](const model::Index &row) {
            return !op.output.hasLoop(row.terms[0].loop);
          }))
        return error(contraction, "a contraction must keep the rows of the "
                                  "softmax it reads");
      op.states.push_back(access);
      result.problem.tensors.push_back(std::move(tensor));
      result.tensors.push_back(reduction.getResult(0));
    }
    for (model::LoopId loop : op.loops)
      if (op.isReduction(loop))
        op.rescaledBy = loop;
  }
  return success();
}

LogicalResult ChainReader::describeOperators() {
  llvm::DenseMap<Value, model::TensorId> intermediates;
  for (unsigned index = 0; index < result.operators.size(); ++index) {
    ChainOperator &op = result.operators[index];
    linalg::LinalgOp contraction = op.contraction;
    AffineMap outputMap = contraction.getIndexingMapsArray().back();
    model::Operator description;
    description.name = "gemm" + std::to_string(index);
    for (model::LoopId loop : op.loops) {
      // Two dimensions of one operator may be one loop of the chain, as in a
      // product with its own transpose; tiles would then be diagonal.
      if (description.hasLoop(loop))
        return error(contraction, "two dimensions of an operator are the same "
                                  "loop of the chain");
      description.loops.push_back(loop);
    }

    auto use = [&](AffineMap map, Value value) {
      auto it = intermediates.find(value);
      model::TensorId tensor =
          it != intermediates.end() ? it->second : addTensor(index, value);
      return model::Access{tensor, indicesOf(index, map)};
    };
    for (OpOperand *input : contraction.getDpsInputOperands())
      description.inputs.push_back(
          use(contraction.getMatchingIndexingMap(input), input->get()));
    if (op.epilogue) {
      description.hasEpilogue = true;
      addInstructions(op.epilogue, description);
      for (OpOperand *input : op.epilogue.getDpsInputOperands())
        if (input->get() != contraction->getResult(0) &&
            !isPartOfSoftmax(input->get().getDefiningOp()) &&
            isa<RankedTensorType>(input->get().getType()))
          description.epilogue.push_back(
              use(op.epilogue.getMatchingIndexingMap(input).compose(outputMap),
                  input->get()));
    }
    if (op.exponential && op.epilogue)
      addBands(op);
    if (op.exponential) {
      description.hasEpilogue = true;
      addInstructions(op.exponential, description);
      description.epilogueCost += softmaxReductions;
    }
    description.output = {addTensor(index, op.result),
                          indicesOf(index, outputMap)};
    if (failed(addStates(index, description)))
      return failure();
    intermediates[op.result] = description.output;
    chooseKernelLoops(result.problem, description);
    result.problem.operators.push_back(description);
  }
  return success();
}

FailureOr<ChainAnalysis> ChainReader::read() {
  if (failed(collectOperators()))
    return failure();
  unifyLoops();
  numberLoops();
  nameLoops();
  if (failed(describeOperators()))
    return failure();
  if (llvm::Error problem = result.problem.check()) {
    std::string message = llvm::toString(std::move(problem));
    return error(chain, "the chain is not one the model takes: " + message);
  }
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// What all readers need
//===----------------------------------------------------------------------===//

SmallVector<int64_t> chimera::getRowMajorStrides(RankedTensorType type) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t i = type.getRank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * type.getDimSize(i + 1);
  return strides;
}

void chimera::chooseKernelLoops(const model::ChainProblem &problem,
                                model::Operator &op) {
  auto findStreamed = [&](model::LoopId loop) {
    return llvm::find_if(op.inputs, [&](const model::Access &input) {
      return input.hasLoop(loop);
    });
  };
  SmallVector<model::LoopId> loops;
  for (const model::Index &index : op.output.indices)
    loops.push_back(index.terms[0].loop);
  while (loops.size() > 1 && findStreamed(loops.back()) == op.inputs.end())
    loops.pop_back();
  op.vectorLoop = op.rowLoop = loops.pop_back_val();
  auto streamed = findStreamed(op.vectorLoop);
  int64_t longest = 1;
  for (model::LoopId loop : llvm::reverse(loops)) {
    bool isStreamed = streamed != op.inputs.end() && streamed->hasLoop(loop);
    if (isStreamed || findStreamed(loop) == op.inputs.end())
      continue;
    if (int64_t extent = problem.loops[loop].extent; extent > longest) {
      longest = extent;
      op.rowLoop = loop;
    }
  }
}

void chimera::addInstructions(linalg::LinalgOp op, model::Operator &to) {
  constexpr int64_t functionCost = 20;
  for (Operation &nested : op.getBlock()->without_terminator()) {
    bool isFunction = isa<math::MathDialect>(nested.getDialect()) &&
                      !isa<math::AbsFOp, math::FmaOp>(nested);
    if (isa<math::ExpOp, math::Exp2Op>(nested))
      ++to.epilogueExponentials;
    else
      to.epilogueCost += isFunction ? functionCost : 1;
  }
}

/// Reads `chain` in the one way or the other.
static FailureOr<ChainAnalysis> readChain(ChainOp chain, Complaint &complaint) {
  FailureOr<ChainAnalysis> analysis = ChainReader(chain, complaint).read();
  if (succeeded(analysis))
    return analysis;
  std::string obstacle = std::move(complaint.text);
  analysis = readGeneralChain(chain, complaint);
  if (succeeded(analysis))
    analysis->obstacle = std::move(obstacle);
  return analysis;
}

FailureOr<ChainAnalysis> chimera::analyzeChain(ChainOp chain, bool emitErrors) {
  Complaint complaint;
  FailureOr<ChainAnalysis> analysis = readChain(chain, complaint);
  if (failed(analysis) && emitErrors) {
    InFlightDiagnostic diagnostic = chain.emitError("cannot plan the chain: ")
                                    << complaint.text;
    if (complaint.op != chain)
      diagnostic.attachNote(complaint.op->getLoc())
          << "see '" << complaint.op->getName() << "'";
  }
  return analysis;
}

FailureOr<ChainAnalysis> chimera::analyzeChain(ChainOp chain,
                                               std::string &reason) {
  Complaint complaint;
  FailureOr<ChainAnalysis> analysis = readChain(chain, complaint);
  if (failed(analysis))
    reason = "'" + complaint.op->getName().getStringRef().str() +
             "': " + complaint.text;
  return analysis;
}

bool chimera::isLowerable(const ChainAnalysis &analysis) {
  return analysis.obstacle.empty();
}

bool chimera::isNarrow(const ChainAnalysis &analysis) {
  return llvm::any_of(analysis.tensors, [](Value value) {
    Type type = getElementTypeOrSelf(value);
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  });
}
