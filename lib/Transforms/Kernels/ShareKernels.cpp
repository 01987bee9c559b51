//===- ShareKernels.cpp - Compile kernels that are alike once -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layers of a network differ in the weights they read, not in what they do
// with them. Once buffers are assigned, a kernel is a loop nest that works on
// buffers: nests that differ in the buffers alone become calls of one function.
// That comes after everything that depends on what is around a kernel, and
// before what takes most of the time: the lowering of micro kernels to vectors,
// and of these to machine code. The latter takes more than twice the time for a
// function of twice the size, so a function of many kernels hands on those that
// are like no other one, too.
//
//===----------------------------------------------------------------------===//

#include "NamedRemarks.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace chimera {
#define GEN_PASS_DEF_SHAREKERNELSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static bool isOutside(Value value, Operation *kernel) {
  return !kernel->isAncestor(value.getParentRegion()->getParentOp());
}

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

/// `type` with an offset that is known when the program runs; null if it has
/// strides that are not known before.
static MemRefType openOffset(Type type) {
  auto buffer = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!buffer || !buffer.hasStaticShape() ||
      failed(buffer.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamicShape(strides))
    return {};
  return MemRefType::get(
      buffer.getShape(), buffer.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides),
      buffer.getMemorySpace());
}

/// True if one call can pass `right` where another one passes `left`: parts at
/// different places of a buffer, too. (What a kernel takes of them by offsets
/// that are known has other types then, so that kernels are not alike.)
/// Constants are not passed.
static bool areExchangeable(Value left, Value right) {
  if (!isConstant(left) && !isConstant(right))
    return left.getType() == right.getType() ||
           (openOffset(left.getType()) &&
            openOffset(left.getType()) == openOffset(right.getType()));
  Operation *one = left.getDefiningOp(), *other = right.getDefiningOp();
  return one && other &&
         OperationEquivalence::isEquivalentTo(
             one, other, OperationEquivalence::IgnoreLocations);
}

static SmallVector<Operation *> listOperations(Operation *kernel) {
  SmallVector<Operation *> operations;
  kernel->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { operations.push_back(op); });
  return operations;
}

/// Maps what `left` defines to what `right`, an operation like it, defines.
static void mapDefinitions(Operation *left, Operation *right,
                           IRMapping &counterparts) {
  counterparts.map(left->getResults(), right->getResults());
  for (auto [one, other] :
       llvm::zip_equal(left->getRegions(), right->getRegions()))
    for (auto [block, counterpart] : llvm::zip_equal(one, other))
      counterparts.map(block.getArguments(), counterpart.getArguments());
}

/// True if both have the same blocks, whatever is in them.
static bool areBlocksAlike(Region &left, Region &right) {
  return llvm::equal(left, right, [](Block &one, Block &other) {
    return one.getOperations().size() == other.getOperations().size() &&
           llvm::equal(one.getArgumentTypes(), other.getArgumentTypes());
  });
}

/// True if `left` and `right` differ at most in their operands and in what is
/// in their regions. (Upstream's comparison asks for operands of the same
/// type.)
static bool areAlike(Operation *left, Operation *right) {
  return left->getName() == right->getName() &&
         left->getDiscardableAttrDictionary() ==
             right->getDiscardableAttrDictionary() &&
         left->getName().compareOpProperties(left->getPropertiesStorage(),
                                             right->getPropertiesStorage()) &&
         left->getResultTypes() == right->getResultTypes() &&
         left->getNumOperands() == right->getNumOperands() &&
         llvm::equal(left->getRegions(), right->getRegions(), areBlocksAlike);
}

/// What `right` uses in the place of each value that `left` uses; nothing if
/// they differ in more than the values from outside.
static std::optional<IRMapping> match(Operation *left, Operation *right) {
  SmallVector<Operation *> lefts = listOperations(left),
                           rights = listOperations(right);
  if (!llvm::equal(lefts, rights, areAlike))
    return std::nullopt;
  IRMapping counterparts;
  for (auto [one, other] : llvm::zip_equal(lefts, rights))
    mapDefinitions(one, other, counterparts);
  auto areCounterparts = [&](Value one, Value other) {
    if (Value known = counterparts.lookupOrNull(one))
      return known == other;
    if (!isOutside(other, right) || !areExchangeable(one, other))
      return false;
    counterparts.map(one, other);
    return true;
  };
  for (auto [one, other] : llvm::zip_equal(lefts, rights))
    if (!llvm::all_of_zip(one->getOperands(), other->getOperands(),
                          areCounterparts))
      return std::nullopt;
  return counterparts;
}

/// Of everything in `kernel` but the values from outside.
static llvm::hash_code hashKernel(Operation *kernel) {
  llvm::hash_code hash = 0;
  kernel->walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// Kernels that are alike.
struct Family {
  Operation *first = nullptr;
  /// The others, with what they use in the place of what the first uses.
  SmallVector<std::pair<Operation *, IRMapping>> others;
};

struct ShareKernelsPass
    : chimera::impl::ShareKernelsPassBase<ShareKernelsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void add(Operation *kernel);
  void collect();
  void outline(const Family &family, SymbolTable &symbols);

  llvm::MapVector<size_t, SmallVector<Family, 1>> families;
};

} // namespace

/// True for what works on buffers alone and is worth a call.
static bool isKernel(Operation *op) {
  return op->getNumResults() == 0 &&
         isa<scf::ForallOp, scf::ForOp, scf::ParallelOp, MicroKernelOp>(op);
}

void ShareKernelsPass::add(Operation *kernel) {
  SmallVector<Family, 1> &candidates = families[hashKernel(kernel)];
  for (Family &family : candidates)
    if (std::optional<IRMapping> counterparts = match(family.first, kernel)) {
      family.others.push_back({kernel, std::move(*counterparts)});
      return;
    }
  candidates.push_back({kernel, {}});
}

/// Values from outside that `kernel` uses, constants apart.
static void collectOutside(Operation *kernel, SetVector<Value> &passed,
                           SetVector<Value> &constants) {
  kernel->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isOutside(operand, kernel))
        (isConstant(operand) ? constants : passed).insert(operand);
  });
}

/// Moves the buffers on the stack that nothing but `kernel` uses from those
/// that are `passed` to what is `made` where it runs: LLVM then knows that
/// nothing else points to them.
static void keepBuffers(Operation *kernel, SetVector<Value> &passed,
                        SetVector<Value> &made) {
  for (Value value : llvm::to_vector(passed)) {
    auto buffer = value.getDefiningOp<memref::AllocaOp>();
    if (!buffer || buffer->getNumOperands() > 0 ||
        !llvm::all_of(value.getUsers(), [&](Operation *user) {
          return kernel->isAncestor(user);
        }))
      continue;
    passed.remove(value);
    made.insert(value);
  }
}

/// True if a pointer says all there is to know of a buffer of `type`.
static bool isPointer(Type type) {
  auto buffer = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  return buffer && buffer.hasStaticShape() &&
         succeeded(buffer.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) && !ShapedType::isDynamicShape(strides);
}

/// The function that does what the kernels of the family do, with `passed`, of
/// `types`, and with what else is `made` again there.
static func::FuncOp createFunction(Operation *kernel, ValueRange passed,
                                   TypeRange types, ValueRange made,
                                   SymbolTable &symbols) {
  Location loc = kernel->getLoc();
  OpBuilder builder(kernel->getContext());
  auto type = builder.getFunctionType(types, {});
  auto function = func::FuncOp::create(loc, "chimera_kernel", type);
  function.setPrivate();
  // Names of programs' symbols are not ours to take.
  function->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(kernel->getContext(), LLVM::Linkage::Internal));
  // LLVM would copy it to each call: it counts operations, of which a parallel
  // loop has few.
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  // Calls would otherwise pass, and the program's code build, the sizes and
  // strides of each buffer.
  if (llvm::all_of(types, [](Type type) {
        return isPointer(type) || type.isIntOrIndexOrFloat();
      }))
    function->setAttr("llvm.bareptr", builder.getUnitAttr());
  symbols.insert(function);
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(passed, body->getArguments());
  for (Value value : made)
    builder.clone(*value.getDefiningOp(), mapping);
  builder.clone(*kernel, mapping);
  func::ReturnOp::create(builder, loc);
  return function;
}

static void replaceByCall(Operation *kernel, func::FuncOp function,
                          ValueRange passed) {
  OpBuilder builder(kernel);
  SmallVector<Value> values;
  for (auto [value, type] :
       llvm::zip_equal(passed, function.getArgumentTypes()))
    values.push_back(
        value.getType() == type
            ? value
            : memref::CastOp::create(builder, kernel->getLoc(), type, value));
  func::CallOp::create(builder, kernel->getLoc(), function, values);
  kernel->erase();
}

/// What all kernels of `family` can pass for `value`, which the first passes.
static Type getPassedType(const Family &family, Value value) {
  bool isSame = llvm::all_of(family.others, [&](const auto &other) {
    return other.second.lookup(value).getType() == value.getType();
  });
  return isSame ? value.getType() : openOffset(value.getType());
}

void ShareKernelsPass::outline(const Family &family, SymbolTable &symbols) {
  SetVector<Value> passed, made;
  collectOutside(family.first, passed, made);
  if (family.others.empty())
    keepBuffers(family.first, passed, made);
  SmallVector<Type> types;
  for (Value value : passed)
    types.push_back(getPassedType(family, value));
  func::FuncOp function = createFunction(family.first, passed.getArrayRef(),
                                         types, made.getArrayRef(), symbols);
  if (!family.others.empty())
    remark::passed(family.first->getLoc(), named("shared"))
        << llvm::formatv("{0} kernels that are alike become calls of @{1}",
                         family.others.size() + 1, function.getName())
               .str();
  for (const auto &[kernel, counterparts] : family.others) {
    SmallVector<Value> values;
    for (Value value : passed)
      values.push_back(counterparts.lookup(value));
    replaceByCall(kernel, function, values);
  }
  replaceByCall(family.first, function, passed.getArrayRef());
  for (Value value : made)
    if (value.use_empty())
      value.getDefiningOp()->erase();
}

void ShareKernelsPass::collect() {
  families.clear();
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (Operation &op : block)
        if (isKernel(&op))
          add(&op);
}

void ShareKernelsPass::runOnOperation() {
  collect();
  // Kernels of each function that are like no other one.
  llvm::DenseMap<Operation *, int64_t> singles;
  for (auto &[hash, candidates] : families)
    for (const Family &family : candidates)
      if (family.others.empty())
        ++singles[family.first->getParentOp()];
  SymbolTable symbols(getOperation());
  for (auto &[hash, candidates] : families)
    for (const Family &family : candidates)
      if (!family.others.empty() ||
          singles.lookup(family.first->getParentOp()) > mostSingles)
        outline(family, symbols);
}
