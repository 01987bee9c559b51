//===- BlockGraph.cpp - The operators of a block for the model ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator whose shapes or accesses the model cannot express is opaque. A
// chain, or the loops that have been made of it, is an operator of which what
// was planned is known.
//
//===----------------------------------------------------------------------===//

#include "Graph/BlockGraph.h"

#include "MemoryBound/MemoryBoundOps.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/Model/MappingType.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace chimera;

namespace {

/// Builds the graph operation by operation.
class BlockReader {
public:
  BlockGraph read(Block &block);

private:
  void readOperation(Operation &op);
  std::optional<model::GraphOperator> readLinalg(linalg::LinalgOp op);
  std::optional<model::GraphOperator> readMove(Operation &op);
  model::GraphOperator readElementwise(Operation &op);
  model::GraphOperator readOpaque(Operation &op);
  std::optional<model::GraphAccess> getAccess(Value tensor, AffineMap map,
                                              ArrayRef<int64_t> extents);
  model::GraphAccess getWhole(Value tensor);
  model::TensorId getTensor(Value value);
  void markResults(Block &block);

  BlockGraph result;
  llvm::DenseMap<Value, model::TensorId> tensors;
};

} // namespace

static bool isTensor(Value value) { return isa<TensorType>(value.getType()); }

/// True if nothing runs for `op`: it is a number repeated, or no tensor yet.
static bool isNothing(Operation &op) {
  return op.hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op);
}

/// True if `body` passes on what it reads.
static bool onlyMoves(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &nested) {
    return nested.hasTrait<OpTrait::ConstantLike>();
  });
}

/// True if `op` only starts accumulators, with a constant: what adds up does
/// that itself.
static bool onlyStarts(Operation &op) {
  auto fill = dyn_cast<linalg::FillOp>(op);
  return fill && matchPattern(fill.getInputs()[0], m_Constant()) &&
         llvm::all_of(op.getUses(), [](OpOperand &use) {
           auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
           return user && user.isDpsInit(&use);
         });
}

/// The id of `value`. Sizes that are not known count as one.
model::TensorId BlockReader::getTensor(Value value) {
  auto [known, isNew] = tensors.try_emplace(value, result.values.size());
  if (!isNew)
    return known->second;
  model::GraphTensor tensor;
  tensor.name = llvm::formatv("t{0}", result.values.size());
  auto type = cast<TensorType>(value.getType());
  if (type.getElementType().isIntOrIndexOrFloat())
    tensor.elementBytes = std::max<int64_t>(1, bytesOf(type.getElementType()));
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    for (int64_t extent : ranked.getShape())
      tensor.shape.push_back(extent > 0 ? extent : 1);
  Operation *definition = value.getDefiningOp();
  tensor.isConstant =
      definition && definition->hasTrait<OpTrait::ConstantLike>();
  result.graph.tensors.push_back(std::move(tensor));
  result.values.push_back(value);
  return known->second;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The access through `map`; none if an index is no sum of loops.
std::optional<model::GraphAccess>
BlockReader::getAccess(Value tensor, AffineMap map, ArrayRef<int64_t> extents) {
  model::GraphAccess access;
  access.tensor = getTensor(tensor);
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      access.indices.push_back(model::Index(dim.getPosition()));
      continue;
    }
    std::optional<AffineIndex> index = linearize(expr, extents);
    if (!index)
      return std::nullopt;
    model::Index sum;
    sum.offset = index->offset;
    for (auto [loop, factor] : index->terms)
      sum.terms.push_back({loop, factor});
    access.indices.push_back(std::move(sum));
  }
  return access;
}

/// The access to a tensor by one loop for each dimension.
model::GraphAccess BlockReader::getWhole(Value tensor) {
  model::GraphAccess access;
  access.tensor = getTensor(tensor);
  size_t rank = result.graph.tensors[access.tensor].shape.size();
  for (size_t dim = 0; dim < rank; ++dim)
    access.indices.push_back(model::Index(dim));
  return access;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

std::optional<model::GraphOperator>
BlockReader::readLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || !hasScalarBody(op) ||
      !llvm::all_of(op->getOperandTypes(), isStaticAndNotEmpty))
    return std::nullopt;
  model::GraphOperator made;
  for (int64_t extent : op.getStaticLoopRanges())
    made.extents.push_back(extent);
  bool fails = false;
  auto add = [&](auto &accesses, Value tensor, OpOperand &operand) {
    auto access =
        getAccess(tensor, op.getMatchingIndexingMap(&operand), made.extents);
    fails |= !access;
    if (access)
      accesses.push_back(std::move(*access));
  };
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *definition = operand.get().getDefiningOp();
    bool isStart = definition && op.isDpsInit(&operand) &&
                   (isNothing(*definition) || onlyStarts(*definition));
    bool isRead = op.isDpsInput(&operand) ||
                  (op.payloadUsesValueFromOperand(&operand) && !isStart);
    if (isRead && isTensor(operand.get()))
      add(made.inputs, operand.get(), operand);
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    add(made.outputs, op.getTiedOpResult(&init), init);
  if (fails)
    return std::nullopt;
  ElementWork work = countWork(op);
  made.instructions = work.instructions;
  made.exponentials = work.functions;
  if (multipliesTensors(op)) {
    // A multiply-add is one instruction.
    made.body = model::BodyKind::Product;
    made.instructions = 1;
  } else if (onlyMoves(*op.getBlock())) {
    // It copies, so it is no view.
    made.body = model::BodyKind::Move;
    made.instructions = 1;
  }
  return made;
}

/// What the operation that makes `value` starts from and writes over; null if
/// it makes a new tensor.
static Value getWrittenOver(Value value) {
  auto result = dyn_cast<OpResult>(value);
  Operation *op = value.getDefiningOp();
  if (auto inPlace = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return inPlace.getTiedOpOperand(result)->get();
  if (auto loop = dyn_cast_or_null<LoopLikeOpInterface>(op))
    if (OpOperand *start = loop.getTiedLoopInit(result))
      return start->get();
  return nullptr;
}

/// True if `insert` puts a slice back where it was taken and written over: it
/// has never left its place.
static bool putsBack(tensor::InsertSliceOp insert) {
  Value slice = insert.getSource();
  while (Value before = getWrittenOver(slice))
    slice = before;
  auto extract = slice.getDefiningOp<tensor::ExtractSliceOp>();
  return extract && extract.getSource() == insert.getDest() &&
         extract.isSameAs(insert, isEqualConstantIntOrValue);
}

/// Operations of the tensor dialect on static shapes: reshapes and slices look
/// at a tensor under other indices; the rest copies, unless it changes nothing.
std::optional<model::GraphOperator> BlockReader::readMove(Operation &op) {
  bool isView = isReshape(&op) || isa<tensor::ExtractSliceOp>(op);
  bool copies = isa<tensor::PadOp, tensor::ConcatOp, tensor::InsertSliceOp>(op);
  if ((!isView && !copies) ||
      !llvm::all_of(op.getResultTypes(), isStaticAndNotEmpty) ||
      !llvm::all_of(op.getOperandTypes(), isStaticAndNotEmpty))
    return std::nullopt;
  model::GraphOperator made;
  made.body = model::BodyKind::Move;
  auto insert = dyn_cast<tensor::InsertSliceOp>(op);
  made.instructions = isView || (insert && putsBack(insert)) ? 0 : 1;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  for (int64_t extent : type.getShape())
    made.extents.push_back(extent);
  for (Value operand : op.getOperands())
    if (isTensor(operand)) {
      model::GraphAccess access;
      access.tensor = getTensor(operand);
      access.isReshaped = true;
      made.inputs.push_back(std::move(access));
    }
  made.outputs.push_back(getWhole(op.getResult(0)));
  if (insert) {
    // The rest of the tensor stays where it is.
    made.extents.assign(insert.getSourceType().getShape().begin(),
                        insert.getSourceType().getShape().end());
    made.outputs.back().isReshaped = true;
    made.outputs.back().indices.clear();
  }
  return made;
}

/// Arithmetic on tensors, element by element.
model::GraphOperator BlockReader::readElementwise(Operation &op) {
  model::GraphOperator made;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  for (int64_t extent : type.getShape())
    made.extents.push_back(extent);
  for (Value operand : op.getOperands())
    if (isTensor(operand))
      made.inputs.push_back(getWhole(operand));
  made.outputs.push_back(getWhole(op.getResult(0)));
  made.instructions = isFunction(op) ? 0 : 1;
  made.exponentials = isFunction(op) ? 1 : 0;
  return made;
}

/// What a chain, or the loops made of it, were planned to take; null for others
/// and without a plan.
static PlanAttr getPlan(Operation &op) {
  if (auto chain = dyn_cast<ChainOp>(op))
    return chain.getPlanAttr();
  return op.getAttrOfType<PlanAttr>(ChimeraDialect::getPlanAttrName());
}

/// Notes what has been planned already.
static void readPlan(PlanAttr plan, model::GraphOperator &op) {
  op.plannedSeconds = 1e-9 * static_cast<double>(plan.getNanoseconds());
  if (!plan.getLevels().empty())
    op.plannedBytes =
        static_cast<double>(plan.getLevels().front().getPredicted());
}

model::GraphOperator BlockReader::readOpaque(Operation &op) {
  model::GraphOperator made;
  PlanAttr plan = getPlan(op);
  made.body = plan || isa<ChainOp>(op) ? model::BodyKind::Product
                                       : model::BodyKind::Opaque;
  if (plan)
    readPlan(plan, made);
  llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), read);
  for (Value value : read)
    if (isTensor(value) && !value.getDefiningOp<tensor::EmptyOp>()) {
      model::GraphAccess access;
      access.tensor = getTensor(value);
      access.isReshaped = true;
      made.inputs.push_back(std::move(access));
    }
  for (Value value : op.getResults())
    if (isTensor(value)) {
      model::GraphAccess access;
      access.tensor = getTensor(value);
      access.isReshaped = true;
      made.outputs.push_back(std::move(access));
    }
  return made;
}

void BlockReader::readOperation(Operation &op) {
  if (isNothing(op) || onlyStarts(op) ||
      !llvm::any_of(op.getResults(), isTensor))
    return;
  std::optional<model::GraphOperator> made;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    made = readLinalg(linalgOp);
  else if (OpTrait::hasElementwiseMappableTraits(&op) &&
           op.getNumResults() == 1 &&
           isStaticAndNotEmpty(op.getResult(0).getType()))
    made = readElementwise(op);
  else
    made = readMove(op);
  if (!made)
    made = readOpaque(op);
  made->name = getPlan(op) ? "chain" : op.getName().stripDialect().str();
  result.graph.operators.push_back(std::move(*made));
  result.operations.push_back(&op);
}

/// Marks what others than the operators read.
void BlockReader::markResults(Block &block) {
  llvm::DenseSet<Operation *> known(result.operations.begin(),
                                    result.operations.end());
  for (auto [value, tensor] :
       llvm::zip_equal(result.values, result.graph.tensors))
    tensor.isResult = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !known.contains(block.findAncestorOpInBlock(*user));
    });
}

BlockGraph BlockReader::read(Block &block) {
  for (Operation &op : block)
    readOperation(op);
  markResults(block);
  return std::move(result);
}

BlockGraph chimera::readBlock(Block &block) {
  return BlockReader().read(block);
}

void chimera::print(llvm::raw_ostream &os, const model::OperatorGraph &graph) {
  auto list = [&](ArrayRef<model::GraphAccess> accesses) {
    llvm::interleaveComma(accesses, os, [&](const model::GraphAccess &access) {
      os << graph.tensors[access.tensor].name;
    });
  };
  for (auto [id, op] : llvm::enumerate(graph.operators)) {
    os << id << ": " << op.name << " (" << describe(classify(op).mapping)
       << ") ";
    list(op.inputs);
    os << " -> ";
    list(op.outputs);
    os << "\n";
  }
  for (const model::GraphTensor &tensor : graph.tensors)
    os << tensor.name << ": " << tensor.bytes() << " bytes"
       << (tensor.isResult ? ", result" : "")
       << (tensor.isConstant ? ", constant" : "") << "\n";
}
