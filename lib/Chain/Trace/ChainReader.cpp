//===- ChainReader.cpp - Chains that can be planned -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works on operators as they were found. Every elementwise operation and row
// reduction belongs to an operator: the last of those it depends on. Together
// they are its epilogue, and one value leaves it.
//
//===----------------------------------------------------------------------===//

#include "Softmax/MaskBands.h"
#include "Softmax/OnlineCorrection.h"
#include "Trace/ChainReaders.h"
#include "Trace/ChainTrace.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/Chain/Surroundings.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/IR/ProductBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;
using namespace chimera;

namespace {

class ChainReader {
public:
  ChainReader(ChainOp chain, const ChainTrace &trace, Complaint &complaint)
      : chain(chain), trace(trace), complaint(complaint), open(chain) {}

  FailureOr<ChainAnalysis> read();

private:
  // Epilogues.
  LogicalResult findExports();
  LogicalResult noteExport(Value root, const Step *reader);
  void collectLive(unsigned owner);
  SmallVector<const Step *> getEpilogue(unsigned owner) const;
  RowKind getKind(Value root, unsigned owner);
  void classify(unsigned owner);

  // Description.
  LogicalResult describe(unsigned index);
  LogicalResult describeLoops(unsigned index, model::Operator &op);
  LogicalResult addAccess(const Use &use, SmallVectorImpl<model::Access> &to);
  LogicalResult addResult(unsigned index, model::Operator &op);
  void describeDecoding(unsigned index, model::Operator &op);
  LogicalResult addEpilogue(unsigned index, model::Operator &op);
  LogicalResult addEpilogueStep(const Step &step, model::Operator &op);
  LogicalResult describeRows(unsigned index);
  bool keepStates(unsigned producer, model::LoopId row);
  std::string nameState(Value value);
  bool hasState(unsigned op, Value value) const;
  LogicalResult checkRowReadings();
  void addBands(unsigned index, model::LoopId row);
  void orderTensors();
  std::optional<unsigned> findOnlyReader(unsigned producer) const;
  void nameLoops();
  std::string getLoopRole(model::LoopId loop) const;
  bool isReadOtherwise(const model::Access &output, model::LoopId loop) const;
  model::LoopId getLoop(const DimPart &part);
  model::TensorId addInput(const Use &use, model::Tensor tensor);
  SmallVector<model::LoopId> getLoops(ArrayRef<DimId> dims);
  SmallVector<model::LoopId> getLoops(const Positions &positions);

  ChainOp chain;
  const ChainTrace &trace;
  Complaint &complaint;
  OpenSizes open;
  ChainAnalysis result;
  /// The value that leaves each operator with its epilogue.
  SmallVector<Value> exports;
  /// The values that the chain yields.
  llvm::SetVector<Value> yields;
  /// Values of rows that another operator's epilogue reads, and which step
  /// does.
  SmallVector<std::pair<Value, const Step *>> rowReadings;
  /// The steps of epilogues that what leaves them depends on.
  std::set<unsigned> live;
  llvm::DenseMap<Value, RowKind> kinds;
  /// The loop of the problem for each part of a dimension.
  llvm::DenseMap<unsigned, model::LoopId> loops;
  /// The tensor that each operator makes.
  SmallVector<model::TensorId> results;
  llvm::StringMap<unsigned> numStates;
};

} // namespace

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// True if `value` is what a reduction leaves of each row.
static bool isReducedValue(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || isParallel(op) || isComputeIntensive(op))
    return false;
  AffineMap map = op.getIndexingMapMatchingResult(cast<OpResult>(value));
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  return llvm::none_of(reduced,
                       [&](unsigned dim) { return map.isFunctionOfDim(dim); });
}

/// Notes that `reader`, or what comes after the chain, reads `root`.
LogicalResult ChainReader::noteExport(Value root, const Step *reader) {
  const Step *producer = trace.getStep(root);
  if (!producer)
    return success();
  if (reader && !reader->isOperator && isReducedValue(root)) {
    rowReadings.push_back({root, reader});
    return success();
  }
  Value &known = exports[producer->owner];
  if (known && known != root)
    return complaint.raise(producer->op,
                           "its result is needed before and after an "
                           "elementwise operation");
  known = root;
  return success();
}

/// Every operator with its epilogue has one value that others read, but for the
/// values of its rows that its reader may keep.
LogicalResult ChainReader::findExports() {
  exports.resize(trace.operators.size());
  for (const Step &step : trace.steps)
    for (const Use &use : step.uses) {
      const Step *producer = trace.getStep(use.root);
      bool isInside = producer && producer->owner == step.owner;
      if (!isInside && failed(noteExport(use.root, &step)))
        return failure();
    }
  for (Value value : chain.getBody().front().getTerminator()->getOperands()) {
    if (!trace.getStep(value))
      return complaint.raise(chain, "it yields what no operator computes");
    yields.insert(value);
    if (failed(noteExport(value, /*reader=*/nullptr)))
      return failure();
  }
  for (unsigned owner = 0; owner < trace.operators.size(); ++owner) {
    if (!exports[owner])
      return complaint.raise(trace.getOperator(owner).op,
                             "nobody reads its result");
    collectLive(owner);
  }
  return success();
}

void ChainReader::collectLive(unsigned owner) {
  SmallVector<Value> pending = {exports[owner]};
  for (const auto &[value, reader] : rowReadings)
    pending.push_back(value);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    const Step *step = trace.getStep(value);
    if (!step || step->owner != owner ||
        !live.insert(trace.stepOf.lookup(value)).second)
      continue;
    if (!step->isOperator)
      for (const Use &use : step->uses)
        pending.push_back(use.root);
  }
}

/// What follows operator `owner`, as far as what leaves it depends on it.
SmallVector<const Step *> ChainReader::getEpilogue(unsigned owner) const {
  SmallVector<const Step *> steps;
  for (unsigned id : live)
    if (const Step &step = trace.steps[id];
        step.owner == owner && !step.isOperator)
      steps.push_back(&step);
  return steps;
}

/// The kind of a tensor for the epilogue of `owner`. Others' results are not
/// part of its row.
RowKind ChainReader::getKind(Value root, unsigned owner) {
  if (auto it = kinds.find(root);
      it != kinds.end() && trace.getStep(root)->owner == owner)
    return it->second;
  Operation *start = root.getDefiningOp();
  if (!start || !isStart(start))
    return RowKind::Element;
  Value number = root;
  if (auto fill = dyn_cast<linalg::FillOp>(start))
    number = fill.getInputs()[0];
  return matchPattern(number, m_AnyZeroFloat()) ||
                 matchPattern(number, m_Zero())
             ? RowKind::Zero
             : RowKind::Constant;
}

void ChainReader::classify(unsigned owner) {
  for (const Step *step : getEpilogue(owner)) {
    auto kindOf = [&](OpOperand &operand) {
      for (auto [known, use] : llvm::zip_equal(step->operands, step->uses))
        if (known == &operand)
          return getKind(use.root, owner);
      return RowKind::Constant;
    };
    for (auto [value, kind] : llvm::zip_equal(
             step->op->getResults(), classifyResults(step->getOp(), kindOf)))
      kinds[value] = kind;
  }
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

model::LoopId ChainReader::getLoop(const DimPart &part) {
  auto [it, isNew] = loops.insert({part.id, result.problem.loops.size()});
  if (isNew)
    result.problem.loops.push_back({"", part.extent, open.isOpen(part.extent)});
  return it->second;
}

SmallVector<model::LoopId> ChainReader::getLoops(ArrayRef<DimId> dims) {
  SmallVector<model::LoopId> found;
  for (DimId dim : dims)
    for (const DimPart &part : trace.dimensions.getParts(dim))
      found.push_back(getLoop(part));
  return found;
}

/// The loops of those `positions` that run over whole dimensions.
SmallVector<model::LoopId> ChainReader::getLoops(const Positions &positions) {
  SmallVector<DimId> dims;
  for (const Position &position : positions)
    if (position.isPlain)
      dims.push_back(position.getDim());
  return getLoops(dims);
}

LogicalResult ChainReader::describeLoops(unsigned index, model::Operator &op) {
  for (model::LoopId loop : getLoops(trace.getOperator(index).dims)) {
    // As in a product with its own transpose; tiles would then be diagonal.
    if (op.hasLoop(loop))
      return complaint.raise(
          trace.getOperator(index).op,
          "two of its dimensions are the same loop of the chain");
    op.loops.push_back(loop);
  }
  return success();
}

/// Adds the access behind `use`. Dimensions are cut as their loops are; those
/// with one element are left out.
LogicalResult ChainReader::addAccess(const Use &use,
                                     SmallVectorImpl<model::Access> &to) {
  auto type = cast<RankedTensorType>(use.root.getType());
  SmallVector<int64_t> strides = computeSuffixProduct(type.getShape());
  model::Access &access = to.emplace_back();
  model::Tensor tensor;
  tensor.elementBytes = bytesOf(type.getElementType());
  for (auto [dim, position] : llvm::enumerate(use.positions)) {
    if (position.isUnit() && type.getDimSize(dim) == 1)
      continue;
    if (position.isPlain) {
      for (const DimPart &part : trace.dimensions.getParts(position.getDim())) {
        access.indices.push_back(getLoop(part));
        tensor.shape.push_back(part.extent);
        tensor.strides.push_back(strides[dim] * part.stride);
      }
      continue;
    }
    model::Index &index = access.indices.emplace_back();
    index.offset = position.offset;
    for (auto [term, factor] : position.terms)
      for (const DimPart &part : trace.dimensions.getParts(term))
        index.terms.push_back({getLoop(part), factor * part.stride});
    tensor.shape.push_back(type.getDimSize(dim));
    tensor.strides.push_back(strides[dim]);
  }
  const Step *producer = trace.getStep(use.root);
  if (!producer) {
    access.tensor = addInput(use, std::move(tensor));
    return success();
  }
  access.tensor = results[producer->owner];
  if (tensor.shape != result.problem.tensors[access.tensor].shape)
    return complaint.raise(producer->op,
                           "a dimension of its result is read through a "
                           "window and split by a reshape");
  return success();
}

/// Sets the panels in which `value`, or what it is computed from, is kept for
/// other programs, if it is.
static void findKeptPanels(Value value, model::Tensor &tensor) {
  for (BlockArgument constant : findConstantArguments(value)) {
    auto function = dyn_cast<func::FuncOp>(constant.getOwner()->getParentOp());
    unsigned number = constant.getArgNumber();
    auto columns = function ? function.getArgAttrOfType<IntegerAttr>(
                                  number, ChimeraDialect::getPanelsAttrName())
                            : IntegerAttr();
    if (!columns)
      continue;
    tensor.panelColumns = columns.getInt();
    tensor.isOnlyInPanels = !!function.getArgAttr(
        number, ChimeraDialect::getOnlyInPanelsAttrName());
    return;
  }
}

model::TensorId ChainReader::addInput(const Use &use, model::Tensor tensor) {
  auto argument = dyn_cast<BlockArgument>(use.root);
  tensor.name =
      argument ? "in" + std::to_string(argument.getArgNumber()) : "constant";
  tensor.role = model::Role::Input;
  if (argument) {
    Value input = chain.getInputs()[argument.getArgNumber()];
    tensor.isConstant = isSameInEveryCall(input);
    findKeptPanels(input, tensor);
    tensor.hasRowsApart = liesBetweenKernels(input);
    tensor.isMadeByPass = isMadeByPass(input);
  }
  result.problem.tensors.push_back(std::move(tensor));
  result.tensors.push_back(use.root);
  return result.problem.tensors.size() - 1;
}

/// Adds the tensor that operator `index` makes: what leaves its epilogue.
LogicalResult ChainReader::addResult(unsigned index, model::Operator &op) {
  Value value = exports[index];
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> strides = computeSuffixProduct(type.getShape());
  model::Tensor tensor;
  tensor.elementBytes = bytesOf(type.getElementType());
  int64_t heldBytes =
      bytesOf(getElementTypeOrSelf(trace.getOperator(index).op->getResult(0)));
  if (heldBytes != tensor.elementBytes)
    tensor.accumulatorBytes = heldBytes;

  Positions positions = trace.getResultPositions(*trace.getStep(value), value);
  for (auto [dim, position] : llvm::enumerate(positions)) {
    if (!position.isPlain)
      continue;
    for (const DimPart &part : trace.dimensions.getParts(position.getDim())) {
      op.output.indices.push_back(getLoop(part));
      tensor.shape.push_back(part.extent);
      tensor.strides.push_back(strides[dim] * part.stride);
    }
  }
  bool isRead = llvm::any_of(trace.steps, [&](const Step &step) {
    return step.owner != index && llvm::any_of(step.uses, [&](const Use &use) {
             return use.root == value;
           });
  });
  tensor.role = isRead ? model::Role::Intermediate : model::Role::Output;
  tensor.isStored = isRead && yields.contains(value);
  tensor.hasRowsApart = !isRead && liesBetweenKernels(chain, value);
  tensor.name = isRead ? "mid" + std::to_string(index) : "out";
  if (!isRead && index + 1 != trace.operators.size())
    tensor.name += std::to_string(index);
  if (isRead)
    tensor.strides.clear();

  op.output.tensor = result.problem.tensors.size();
  results.push_back(op.output.tensor);
  result.problem.tensors.push_back(std::move(tensor));
  result.tensors.push_back(value);

  // The epilogue may transpose the result, but has to keep all of it.
  const Step &own = trace.getOperator(index);
  SmallVector<model::LoopId> computed =
      getLoops(trace.getResultPositions(own, own.op->getResult(0)));
  bool keepsAll = llvm::all_of(
      computed, [&](model::LoopId loop) { return op.output.hasLoop(loop); });
  if (!keepsAll || computed.empty() ||
      computed.size() != op.output.indices.size())
    return complaint.raise(trace.getStep(value)->op,
                           "what leaves the operator has not the "
                           "dimensions of what it computed");
  return success();
}

LogicalResult ChainReader::addEpilogueStep(const Step &step,
                                           model::Operator &op) {
  SmallVector<model::LoopId> own = getLoops(step.dims);
  for (model::LoopId loop : own)
    if (!op.output.hasLoop(loop))
      return complaint.raise(step.op,
                             "it has dimensions that the operator before it "
                             "does not write");
  // Operations on one element per row cost next to nothing, and storing in a
  // narrower type costs what storing does.
  if (own.size() == op.output.indices.size() && !isNarrowing(step.op))
    addInstructions(step.op, op);
  op.hasEpilogue = true;
  return success();
}

LogicalResult ChainReader::addEpilogue(unsigned index, model::Operator &op) {
  for (unsigned id : live) {
    const Step &step = trace.steps[id];
    if (step.owner != index)
      continue;
    if (!step.isOperator && failed(addEpilogueStep(step, op)))
      return failure();
    for (auto [use, operand] : llvm::zip_equal(step.uses, step.operands)) {
      bool isInput = step.isOperator && !step.getOp().isDpsInit(operand);
      const Step *producer = trace.getStep(use.root);
      if (isInput || (producer && producer->owner == index))
        continue;
      Operation *start = use.root.getDefiningOp();
      bool isConstant = start && !producer;
      if (step.isOperator &&
          !(isConstant && getKind(use.root, index) == RowKind::Zero)) {
        // An accumulator that does not start at zero is an addition.
        op.hasEpilogue = true;
        op.epilogueCost += 1;
      }
      if (isConstant)
        continue;
      bool isRow =
          llvm::is_contained(rowReadings, std::make_pair(use.root, &step));
      if (!isRow && failed(addAccess(use, op.epilogue)))
        return failure();
    }
  }
  return success();
}

/// What it takes to decode a quantized factor, and which loops kernels do not
/// let go of meanwhile: those over the fields of a word, and over what has one
/// zero and scale, where these change along the sum.
void ChainReader::describeDecoding(unsigned index, model::Operator &op) {
  // A load that widens, or a mask, and the conversion to a float.
  constexpr double perVector = 2;
  // To load, scale, add and store the sum of a group, and to shift it by its
  // zero.
  constexpr double perGroup = 6;
  // Of digits: two masks and a shift, and what combines the sums of places.
  constexpr double perWord = 3, perUnit = 8;
  const Step &step = trace.getOperator(index);
  std::optional<ProductBody> product =
      matchProductBody(*step.getOp().getBlock());
  if (!product || !product->isQuantized())
    return;
  SmallVector<AffineMap> maps = step.getOp().getIndexingMapsArray();
  auto isReading = [&](BlockArgument argument, unsigned dim) {
    return maps[argument.getArgNumber()].isFunctionOfDim(dim);
  };
  auto isShared = [&](unsigned dim) {
    return llvm::any_of(step.getOp().getBlock()->getArguments().drop_back(),
                        [&](BlockArgument argument) {
                          return argument != product->factor &&
                                 argument != product->code &&
                                 isReading(argument, dim);
                        });
  };
  SmallVector<unsigned> sums;
  step.getOp().getReductionDims(sums);
  bool hasGroups = llvm::any_of(sums, isShared);
  int64_t ofGroup = 1;
  for (unsigned dim : sums) {
    bool isField = !isReading(product->code, dim);
    if (!isField && (!hasGroups || isShared(dim)))
      continue;
    for (model::LoopId loop : getLoops(step.dims[dim])) {
      result.problem.loops[loop].isWhole = true;
      ofGroup *= result.problem.loops[loop].extent;
    }
  }
  op.decodeInstructions =
      perVector + (hasGroups ? perGroup / static_cast<double>(ofGroup) : 0);
  std::optional<BitField> field = matchBitField(product->number);
  constexpr unsigned bitsOfField = 4, bitsOfWord = 32;
  if (field && field->bits == bitsOfField &&
      product->code.getType().isInteger(bitsOfWord) &&
      (product->zero || product->scale))
    op.digitInstructions =
        perWord * bitsOfField / bitsOfWord +
        (hasGroups ? (perGroup + perUnit) / static_cast<double>(ofGroup) : 0);
}

LogicalResult ChainReader::describe(unsigned index) {
  const Step &step = trace.getOperator(index);
  model::Operator op;
  bool hasWindow = llvm::any_of(step.uses, [](const Use &use) {
    return llvm::any_of(use.positions, [](const Position &position) {
      return position.terms.size() > 1;
    });
  });
  op.name = (hasWindow ? "conv" : "gemm") + std::to_string(index);
  if (failed(describeLoops(index, op)))
    return failure();
  for (auto [use, operand] : llvm::zip_equal(step.uses, step.operands))
    if (!step.getOp().isDpsInit(operand) && failed(addAccess(use, op.inputs)))
      return failure();
  if (failed(addResult(index, op)) || failed(addEpilogue(index, op)))
    return failure();
  describeDecoding(index, op);
  op.vectorLoop = op.rowLoop = op.output.indices.back().terms[0].loop;
  chooseKernelLoops(result.problem, op);
  result.problem.operators.push_back(std::move(op));
  ChainOperator &known = result.operators.emplace_back();
  known.contraction = step.op;
  known.result = exports[index];
  for (DimId dim : step.dims) {
    SmallVector<model::LoopId> parts = getLoops(dim);
    if (parts.size() == 1)
      known.loops.push_back(parts.front());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Row reductions
//===----------------------------------------------------------------------===//

/// The operator that alone reads what `producer` makes, once and as a factor.
std::optional<unsigned> ChainReader::findOnlyReader(unsigned producer) const {
  model::TensorId tensor = results[producer];
  if (result.problem.tensors[tensor].role != model::Role::Intermediate ||
      result.problem.tensors[tensor].isStored)
    return std::nullopt;
  std::optional<unsigned> reader;
  auto isTensor = [&](const model::Access &access) { return access == tensor; };
  for (auto [index, op] : llvm::enumerate(result.problem.operators)) {
    unsigned asFactor = llvm::count_if(op.inputs, isTensor);
    if (llvm::any_of(op.epilogue, isTensor) || asFactor > 1 ||
        (asFactor && reader))
      return std::nullopt;
    if (asFactor)
      reader = index;
  }
  return reader;
}

/// What a reduction of rows is called: the maximum and the sum of a softmax.
static StringRef getStateName(Value value) {
  auto reduction = value.getDefiningOp<linalg::LinalgOp>();
  Value yielded = reduction.getBlock()->getTerminator()->getOperand(
      cast<OpResult>(value).getResultNumber());
  Operation *combiner = yielded.getDefiningOp();
  if (isa_and_nonnull<arith::AddFOp, arith::AddIOp>(combiner))
    return "sum";
  if (isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(combiner))
    return "maximum";
  return "row";
}

/// That name, with a number if it is taken.
std::string ChainReader::nameState(Value value) {
  StringRef name = getStateName(value);
  unsigned number = numStates[name]++;
  return number ? (name + Twine(number)).str() : name.str();
}

/// Makes the reader of what `producer` computes correct itself whenever more of
/// `row` is seen. False if it cannot.
bool ChainReader::keepStates(unsigned producer, model::LoopId row) {
  std::optional<unsigned> reader = findOnlyReader(producer);
  if (!reader || kinds.lookup(exports[producer]) != RowKind::Scaled)
    return false;
  model::Operator &op = result.problem.operators[*reader];
  if (!op.isReduction(row) || op.rescaledBy ||
      llvm::any_of(op.loops, [&](model::LoopId loop) {
        return loop != row && op.isReduction(loop);
      }))
    return false;

  SmallVector<std::pair<Value, model::Access>> states;
  for (const Step *step : getEpilogue(producer)) {
    if (isParallel(step->getOp()))
      continue;
    for (Value value : step->op->getResults()) {
      if (value.use_empty())
        continue;
      model::Access access;
      llvm::append_range(access.indices,
                         getLoops(trace.getResultPositions(*step, value)));
      if (!isRow(kinds.lookup(value)) ||
          llvm::any_of(access.indices, [&](const model::Index &index) {
            return !op.output.hasLoop(index.terms[0].loop);
          }))
        return false;
      states.push_back({value, access});
    }
  }
  for (auto &[value, access] : states) {
    model::Tensor tensor;
    tensor.name = nameState(value);
    tensor.role = model::Role::State;
    tensor.elementBytes = bytesOf(getElementTypeOrSelf(value));
    for (const model::Index &index : access.indices)
      tensor.shape.push_back(result.problem.loops[index.terms[0].loop].extent);
    access.tensor = result.problem.tensors.size();
    result.problem.tensors.push_back(std::move(tensor));
    result.tensors.push_back(value);
    op.states.push_back(access);
  }
  op.rescaledBy = row;
  return true;
}

/// Says of an epilogue with reductions who has to wait for them.
LogicalResult ChainReader::describeRows(unsigned index) {
  model::Operator &op = result.problem.operators[index];
  llvm::SmallSetVector<model::LoopId, 2> rows;
  for (const Step *step : getEpilogue(index))
    for (auto [dim, iterator] :
         llvm::zip_equal(step->dims, step->getOp().getIteratorTypesArray()))
      if (iterator == utils::IteratorType::reduction)
        rows.insert_range(getLoops(dim));
  if (rows.size() == 1 && keepStates(index, rows[0]))
    addBands(index, rows[0]);
  else
    op.completes.assign(rows.begin(), rows.end());
  return success();
}

bool ChainReader::hasState(unsigned op, Value value) const {
  return llvm::any_of(result.problem.operators[op].states,
                      [&](const model::Access &state) {
                        return result.tensors[state] == value;
                      });
}

/// Rows of another operator are only read by who keeps them up to date.
LogicalResult ChainReader::checkRowReadings() {
  for (const auto &[value, reader] : rowReadings)
    if (!hasState(reader->owner, value))
      return complaint.raise(reader->op,
                             "it reads what another operator reduces along "
                             "rows, and that is not corrected as more of a "
                             "row is seen");
  return success();
}

/// What masks in the epilogue of operator `index` leave of `row`, which its
/// reader may see in parts.
void ChainReader::addBands(unsigned index, model::LoopId row) {
  for (const Step *step : getEpilogue(index)) {
    auto generic = dyn_cast<linalg::GenericOp>(step->getOp().getOperation());
    SmallVector<model::LoopId> own = getLoops(step->dims);
    if (!generic || !isParallel(step->getOp()) ||
        own.size() != step->dims.size())
      continue;
    for (const model::Band &band : findBands(generic, own))
      if (band.column == row)
        result.problem.bands.push_back(band);
  }
}

/// Numbers the tensors as operators use them: factors, operands of the
/// epilogue, result, states.
void ChainReader::orderTensors() {
  llvm::SmallSetVector<model::TensorId, 8> order;
  auto forEachAccess = [&](model::Operator &op, auto visit) {
    llvm::for_each(op.inputs, visit);
    llvm::for_each(op.epilogue, visit);
    visit(op.output);
    llvm::for_each(op.states, visit);
  };
  for (model::Operator &op : result.problem.operators)
    forEachAccess(op, [&](model::Access &access) { order.insert(access); });
  SmallVector<model::TensorId> numbers(order.size());
  decltype(result.problem.tensors) tensors;
  SmallVector<Value> values;
  for (auto [number, tensor] : llvm::enumerate(order)) {
    numbers[tensor] = number;
    tensors.push_back(std::move(result.problem.tensors[tensor]));
    values.push_back(result.tensors[tensor]);
  }
  for (model::Operator &op : result.problem.operators)
    forEachAccess(op, [&](model::Access &access) {
      access.tensor = numbers[access.tensor];
    });
  result.problem.tensors = std::move(tensors);
  result.tensors = std::move(values);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// True if `output` is an intermediate with a dimension along `loop` that
/// nobody reads by that very loop.
bool ChainReader::isReadOtherwise(const model::Access &output,
                                  model::LoopId loop) const {
  auto readsByLoop = [&](const model::Access &access) {
    return access == output.tensor &&
           llvm::any_of(access.indices, [&](const model::Index &index) {
             return index.isLoop() && index.hasLoop(loop);
           });
  };
  return result.problem.tensors[output].role == model::Role::Intermediate &&
         output.hasLoop(loop) &&
         llvm::none_of(result.problem.operators,
                       [&](const model::Operator &op) {
                         return llvm::any_of(op.inputs, readsByLoop) ||
                                llvm::any_of(op.epilogue, readsByLoop);
                       });
}

/// The letter the literature uses for a loop: b batch, m and n the dimensions
/// of the result, k the reduction of a first operator, l what one operator
/// produces and another reduces; r steps through a window, h moves it, and p
/// makes what others read by loops of their own.
std::string ChainReader::getLoopRole(model::LoopId loop) const {
  bool isReduced = false, isProduced = false, isBatch = true, readByLhs = false;
  bool isInWindow = false, isDerived = false;
  for (const model::Operator &op : result.problem.operators) {
    if (!op.hasLoop(loop))
      continue;
    (op.output.hasLoop(loop) ? isProduced : isReduced) = true;
    isBatch &= op.output.hasLoop(loop) &&
               llvm::all_of(op.inputs, [&](const model::Access &input) {
                 return input.hasLoop(loop);
               });
    readByLhs |= op.output.hasLoop(loop) && op.inputs[0].hasLoop(loop);
    for (const model::Access &input : op.inputs)
      for (const model::Index &index : input.indices)
        isInWindow |= index.hasLoop(loop) && !index.isLoop();
    isDerived |= isReadOtherwise(op.output, loop);
  }
  if (isDerived)
    return "p";
  if (isInWindow && !(isReduced && isProduced))
    return isReduced ? "r" : "h";
  if (isBatch)
    return "b";
  if (isReduced)
    return isProduced ? "l" : "k";
  return readByLhs ? "m" : "n";
}

void ChainReader::nameLoops() {
  llvm::StringMap<unsigned> count;
  for (auto [id, loop] : llvm::enumerate(result.problem.loops)) {
    std::string role = getLoopRole(id);
    unsigned number = count[role]++;
    loop.name = number ? role + std::to_string(number) : role;
  }
}

FailureOr<ChainAnalysis> ChainReader::read() {
  if (failed(findExports()))
    return failure();
  for (unsigned index = 0; index < trace.operators.size(); ++index) {
    classify(index);
    if (failed(describe(index)))
      return failure();
  }
  for (unsigned index = 0; index < trace.operators.size(); ++index)
    if (failed(describeRows(index)))
      return failure();
  if (failed(checkRowReadings()))
    return failure();
  orderTensors();
  nameLoops();
  // Placeholders are too large to be counted with.
  model::ChainProblem planned = result.problem;
  planSizes(chain, planned);
  if (llvm::Error error = planned.check())
    return complaint.raise(chain, llvm::toString(std::move(error)));
  return std::move(result);
}

FailureOr<ChainAnalysis> chimera::readChain(ChainOp chain, bool keepsUnits,
                                            Complaint &complaint) {
  FailureOr<ChainTrace> trace = traceChain(chain, keepsUnits, complaint);
  if (failed(trace))
    return failure();
  return ChainReader(chain, *trace, complaint).read();
}
