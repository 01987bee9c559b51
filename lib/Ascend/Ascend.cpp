//===- Ascend.cpp - Instructions of an Ascend core ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Ascend/Ascend.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

#include "Chimera/Ascend/AscendDialect.cpp.inc"
#include "Chimera/Ascend/AscendEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "Chimera/Ascend/AscendTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Chimera/Ascend/AscendAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "Chimera/Ascend/AscendOps.cpp.inc"

void AscendDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Chimera/Ascend/AscendTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Chimera/Ascend/AscendAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Chimera/Ascend/AscendOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Fails unless `value` is an address in `memory`.
static LogicalResult verifyMemory(Operation *op, StringRef name, Value value,
                                  Memory memory) {
  Memory actual = cast<PtrType>(value.getType()).getMemory();
  if (actual == memory)
    return success();
  return op->emitOpError() << name << " must be in " << stringifyMemory(memory)
                           << ", got " << stringifyMemory(actual);
}

/// Where an instruction that copies leads from and to.
static std::pair<Memory, Memory> getEnds(CopyKind kind) {
  switch (kind) {
  case CopyKind::GmToCbuf:
  case CopyKind::GmToCbufNd2Nz:
  case CopyKind::GmToCbufNd2NzB8:
    return {Memory::GM, Memory::L1};
  case CopyKind::GmToUbuf:
  case CopyKind::GmToUbufPad:
    return {Memory::GM, Memory::UB};
  case CopyKind::UbufToGm:
  case CopyKind::UbufToGmPad:
    return {Memory::UB, Memory::GM};
  case CopyKind::UbufToCbuf:
    return {Memory::UB, Memory::L1};
  case CopyKind::MatrixCcToUbuf:
    return {Memory::L0C, Memory::UB};
  case CopyKind::MatrixCcToCbuf:
    return {Memory::L0C, Memory::L1};
  case CopyKind::MatrixCcToGm:
  case CopyKind::MatrixCcToGmNz:
    return {Memory::L0C, Memory::GM};
  }
  llvm_unreachable("unknown instruction");
}

LogicalResult CopyOp::verify() {
  auto [from, to] = getEnds(getKind());
  if (failed(verifyMemory(*this, "source", getSource(), from)) ||
      failed(verifyMemory(*this, "destination", getDestination(), to)))
    return failure();
  Type source = cast<PtrType>(getSource().getType()).getElementType();
  Type destination = cast<PtrType>(getDestination().getType()).getElementType();
  bool narrows = from == Memory::L0C && source.isF32() && destination.isF16();
  if (source != destination && !narrows)
    return emitOpError() << "cannot turn " << source << " into " << destination;
  if (getRelu() && (from != Memory::L0C || to == Memory::UB))
    return emitOpError()
           << "has no relu; sums have, on their way from l0c to l1 or gm";
  return success();
}

LogicalResult ClearOp::verify() {
  return verifyMemory(*this, "destination", getDestination(), Memory::L1);
}

static Type getElement(Value pointer) {
  return cast<PtrType>(pointer.getType()).getElementType();
}

/// Fails unless `op` loads from L1 to where the cube unit takes an operand.
template <typename OpTy>
static LogicalResult verifyLoad(OpTy op) {
  Memory memory = cast<PtrType>(op.getDestination().getType()).getMemory();
  if (memory != Memory::L0A && memory != Memory::L0B)
    return op.emitOpError() << "destination must be in l0a or l0b, got "
                            << stringifyMemory(memory);
  return verifyMemory(op, "source", op.getSource(), Memory::L1);
}

LogicalResult LoadOp::verify() {
  if (getTranspose() && getElement(getSource()).getIntOrFloatBitWidth() != 16)
    return emitOpError() << "transposes elements of 16 bits, got "
                         << getElement(getSource());
  return verifyLoad(*this);
}

LogicalResult LoadTransposedOp::verify() {
  Type type = getElement(getSource());
  if (!type.isSignedInteger(8) || type != getElement(getDestination()))
    return emitOpError() << "loads si8, got " << type << " to "
                         << getElement(getDestination());
  return verifyLoad(*this);
}

LogicalResult MadOp::verify() {
  if (failed(verifyMemory(*this, "c", getC(), Memory::L0C)) ||
      failed(verifyMemory(*this, "a", getA(), Memory::L0A)) ||
      failed(verifyMemory(*this, "b", getB(), Memory::L0B)))
    return failure();
  Type sum = getElement(getC()), lhs = getElement(getA()),
       rhs = getElement(getB());
  bool areBytes = lhs.isSignedInteger(8);
  if (lhs != rhs || (areBytes ? !sum.isInteger(32) : !sum.isF32()))
    return emitOpError() << "cannot add products of " << lhs << " and " << rhs
                         << " up in " << sum;
  return success();
}

/// Sources of an instruction of the vector unit.
static unsigned getNumSources(VectorKind kind) {
  if (kind == VectorKind::Dup)
    return 0;
  return kind <= VectorKind::Min ? 2 : 1;
}

static bool takesScalar(VectorKind kind) {
  return kind >= VectorKind::Adds && kind <= VectorKind::Dup;
}

/// Fails unless the operands of a vector instruction are in UB.
static LogicalResult verifyVectors(Operation *op, Value destination,
                                   ValueRange sources) {
  if (failed(verifyMemory(op, "destination", destination, Memory::UB)))
    return failure();
  return success(llvm::all_of(sources, [&](Value source) {
    return succeeded(verifyMemory(op, "source", source, Memory::UB));
  }));
}

LogicalResult VectorOp::verify() {
  unsigned numSources = getNumSources(getKind());
  if (getSources().size() != numSources)
    return emitOpError() << "takes " << numSources << " sources, got "
                         << getSources().size();
  if (takesScalar(getKind()) != static_cast<bool>(getScalar()))
    return emitOpError() << (getScalar() ? "takes no scalar"
                                         : "needs a scalar");
  for (auto distances : {getBlocks(), getRepeats()})
    if (distances.size() != numSources + 1)
      return emitOpError() << "needs distances for the destination and "
                           << numSources << " sources, got "
                           << distances.size();
  return verifyVectors(*this, getDestination(), getSources());
}

LogicalResult ReduceOp::verify() {
  return verifyVectors(*this, getDestination(), getSource());
}

LogicalResult BroadcastOp::verify() {
  return verifyVectors(*this, getDestination(), getSource());
}

LogicalResult TransposeOp::verify() {
  for (auto distances : {getRows(), getRepeats()})
    if (distances.size() != 2)
      return emitOpError() << "needs distances for the destination and the "
                              "source, got "
                           << distances.size();
  return verifyVectors(*this, getDestination(), getSource());
}

LogicalResult CompareOp::verify() {
  return verifyVectors(*this, getDestination(), {getLhs(), getRhs()});
}

LogicalResult SelectOp::verify() {
  return verifyVectors(*this, getDestination(),
                       {getLhs(), getRhs(), getMask()});
}

Value ImageOp::getViewSource() { return getSource(); }

/// For each result of `map` the factors of its dimensions, and its constant.
static std::vector<SmallVector<int64_t, 8>> getSums(AffineMap map) {
  std::vector<SmallVector<int64_t, 8>> sums;
  if (failed(getFlattenedAffineExprs(map, &sums)))
    sums.clear();
  return sums;
}

SmallVector<std::pair<unsigned, int64_t>> ImageOp::getSteps() {
  SmallVector<std::pair<unsigned, int64_t>> steps(getMap().getNumDims());
  for (auto [position, sum] : llvm::enumerate(getSums(getMap())))
    for (auto [dim, factor] : llvm::enumerate(ArrayRef(sum).drop_back()))
      if (factor != 0)
        steps[dim] = {position, factor};
  return steps;
}

SmallVector<int64_t> ImageOp::getFirst() {
  SmallVector<int64_t> first;
  for (ArrayRef<int64_t> sum : getSums(getMap()))
    first.push_back(sum.back());
  return first;
}

/// True if each result of `map` is a sum with positive factors, and each
/// dimension occurs once.
static bool isOfWindows(AffineMap map) {
  SmallVector<unsigned> uses(map.getNumDims());
  std::vector<SmallVector<int64_t, 8>> sums = getSums(map);
  for (ArrayRef<int64_t> sum : sums) {
    if (sum.size() != map.getNumDims() + 1)
      return false;
    for (auto [dim, factor] : llvm::enumerate(sum.drop_back())) {
      if (factor < 0)
        return false;
      uses[dim] += factor > 0;
    }
  }
  return sums.size() == map.getNumResults() &&
         llvm::all_of(uses, [](unsigned count) { return count == 1; });
}

LogicalResult ImageOp::verify() {
  auto source = cast<ShapedType>(getSource().getType()),
       result = cast<ShapedType>(getType());
  if (isa<MemRefType>(source) != isa<MemRefType>(result) ||
      source.getElementType() != result.getElementType())
    return emitOpError() << "shows " << source << " as " << result;
  AffineMap map = getMap();
  if (map.getNumDims() != result.getRank() || map.getNumSymbols() != 0 ||
      map.getNumResults() != source.getRank())
    return emitOpError("must have a map from the ")
           << result.getRank() << " dimensions of its result to the "
           << source.getRank() << " of its source, got "
           << AffineMapAttr::get(map);
  if (!isOfWindows(map))
    return emitOpError("must be indexed by sums in which each dimension occurs "
                       "once, got ")
           << AffineMapAttr::get(map);
  return success();
}

LogicalResult TilingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t columns) {
  if (rows < 1 || columns < 1)
    return emitError() << "a tile has at least one row and one column, got "
                       << rows << " and " << columns;
  return success();
}

/// Fails unless `attribute` says which core's instructions `op` consists of.
static LogicalResult verifyCore(Operation *op, Attribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute);
  std::optional<CoreKind> core =
      name ? symbolizeCoreKind(name.getValue()) : std::nullopt;
  if (!core)
    return op->emitOpError() << "'" << kCoreAttrName
                             << "' must name a kind of core, got " << attribute;
  WalkResult result = op->walk([&](Operation *inside) {
    std::optional<CoreKind> own = getCore(inside);
    if (!own || *own == *core)
      return WalkResult::advance();
    inside->emitOpError() << "is no instruction of a " << name.getValue()
                          << " core";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult
AscendDialect::verifyOperationAttribute(Operation *op,
                                        NamedAttribute attribute) {
  if (attribute.getName() == kGroupAttrName &&
      !isa<IntegerAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'" << kGroupAttrName << "' must be a number, got "
           << attribute.getValue();
  if (attribute.getName() == kTilingAttrName &&
      !isa<TilingAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'" << kTilingAttrName << "' must be '#ascend.tiling', got "
           << attribute.getValue();
  if (attribute.getName() == kCoreAttrName)
    return verifyCore(op, attribute.getValue());
  if (attribute.getName() != kArchAttrName)
    return success();
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  std::optional<Architecture> architecture =
      name ? symbolizeArchitecture(name.getValue()) : std::nullopt;
  if (!architecture)
    return op->emitOpError()
           << "'" << kArchAttrName << "' must name an architecture, got "
           << attribute.getValue();
  WalkResult result = op->walk([&](Operation *inside) {
    std::string missing = findMissing(*architecture, inside);
    if (missing.empty())
      return WalkResult::advance();
    inside->emitOpError() << missing;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
