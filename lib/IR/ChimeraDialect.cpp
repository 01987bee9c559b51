//===- ChimeraDialect.cpp - Dialect registration --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace chimera;

#include "Chimera/IR/ChimeraAttrInterfaces.cpp.inc"
#include "Chimera/IR/ChimeraDialect.cpp.inc"

void ChimeraDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "Chimera/IR/ChimeraOps.cpp.inc"
      >();
  declarePromisedInterfaces<bufferization::BufferizableOpInterface,
                            MicroKernelOp, PrefetchOp, ShiftOp, WindowsOp,
                            AllReduceOp, ProcessBroadcastOp, AllGatherOp,
                            ReduceScatterOp, AllToAllOp>();
  declarePromisedInterfaces<MicroKernelAttrInterface, FunctionKernelAttr,
                            OuterProductAttr>();
  addInterface<MicroKernelRegistry>();
}

/// Sizes are lists of numbers, one list for each case.
static LogicalResult verifySizes(Operation *op, Attribute value) {
  auto cases = dyn_cast<ArrayAttr>(value);
  if (cases && llvm::all_of(cases, [](Attribute sizes) {
        auto numbers = dyn_cast<DenseI64ArrayAttr>(sizes);
        return numbers && llvm::all_of(numbers.asArrayRef(),
                                       [](int64_t size) { return size >= 0; });
      }))
    return success();
  return op->emitError("'")
         << ChimeraDialect::getSizesAttrName()
         << "' must list sizes such as [array<i64: 1, 128>], which are not "
            "negative, got "
         << value;
}

/// Placeholders are larger than sizes that programs spell, and each has a size
/// that is planned for.
static LogicalResult verifyOpenSizes(Operation *op, NamedAttribute attribute) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  auto open = op->getAttrOfType<DenseI64ArrayAttr>(
      ChimeraDialect::getOpenSizesAttrName());
  int64_t least = attribute.getName() == ChimeraDialect::getOpenSizesAttrName()
                      ? ChimeraDialect::getLeastPlaceholder()
                      : 1;
  if (numbers && open && open.size() == numbers.size() &&
      llvm::all_of(numbers.asArrayRef(),
                   [&](int64_t number) { return number >= least; }))
    return success();
  return op->emitError("'")
         << attribute.getName().getValue()
         << "' must be an array of numbers from " << least
         << " on, one for each open size, got " << attribute.getValue();
}

/// True if `terms` add up to the open size at `place`, and none is a multiple
/// of it or of one behind it.
static bool addUp(ArrayRef<int64_t> terms, ArrayRef<int64_t> open,
                  int64_t place) {
  return std::accumulate(terms.begin(), terms.end(), int64_t(0)) ==
             open[place] &&
         llvm::all_of(terms, [&](int64_t term) {
           return term > 0 &&
                  llvm::none_of(open.drop_front(place), [&](int64_t other) {
                    return other > 0 && term % other == 0;
                  });
         });
}

/// Sums are the last open sizes, behind those of arguments.
static LogicalResult verifyOpenSums(Operation *op, Attribute value) {
  auto open = op->getAttrOfType<DenseI64ArrayAttr>(
      ChimeraDialect::getOpenSizesAttrName());
  auto sums = dyn_cast<ArrayAttr>(value);
  int64_t numSums = sums ? sums.size() : 0;
  bool isList = open && sums && numSums < open.size();
  for (int64_t index = 0; isList && index < numSums; ++index) {
    auto terms = dyn_cast<DenseI64ArrayAttr>(sums[index]);
    isList = terms && addUp(terms.asArrayRef(), open.asArrayRef(),
                            open.size() - numSums + index);
  }
  if (isList)
    return success();
  return op->emitError("'") << ChimeraDialect::getOpenSumsAttrName()
                            << "' must list the terms of the last open sizes, "
                               "such as [array<i64: 1048583, 1>], got "
                            << value;
}

LogicalResult
ChimeraDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  if (attribute.getName() == getRowTilingAttrName()) {
    if (auto tiling = dyn_cast<RowTilingAttr>(attribute.getValue()))
      return tiling.verifyOn(op);
    return op->emitError("'") << getRowTilingAttrName()
                              << "' must be a #chimera.row_tiling<...>, got "
                              << attribute.getValue();
  }
  if (attribute.getName() == getThreadTilingAttrName()) {
    if (auto tiling = dyn_cast<ThreadTilingAttr>(attribute.getValue()))
      return tiling.verifyOn(op);
    return op->emitError("'") << getThreadTilingAttrName()
                              << "' must be a #chimera.thread_tiling<...>, got "
                              << attribute.getValue();
  }
  if (attribute.getName() == getGroupAttrName()) {
    if (auto group = dyn_cast<GroupAttr>(attribute.getValue()))
      return group.verifyOn(op);
    return op->emitError("'")
           << getGroupAttrName() << "' must be a #chimera.group<...>, got "
           << attribute.getValue();
  }
  if (attribute.getName() == getPlanAttrName()) {
    if (isa<PlanAttr>(attribute.getValue()))
      return success();
    return op->emitError("'")
           << getPlanAttrName() << "' must be a #chimera.plan<...>, got "
           << attribute.getValue();
  }
  if (attribute.getName() == getLayoutAttrName()) {
    auto layout = dyn_cast<StringAttr>(attribute.getValue());
    if (layout && (layout.getValue() == getAsGivenName() ||
                   layout.getValue() == getChannelsLastName()))
      return success();
    return op->emitError("'")
           << getLayoutAttrName() << "' must be \"" << getAsGivenName()
           << "\" or \"" << getChannelsLastName() << "\", got "
           << attribute.getValue();
  }
  if (attribute.getName() == getRecipeAttrName()) {
    if (isa<StringAttr>(attribute.getValue()))
      return success();
    return op->emitError("'")
           << getRecipeAttrName() << "' must be a string, got "
           << attribute.getValue();
  }
  if (attribute.getName() == getPreparedAttrName()) {
    auto values = dyn_cast<ArrayAttr>(attribute.getValue());
    if (values && llvm::all_of(values, llvm::IsaPred<PreparedAttr>))
      return success();
    return op->emitError("'")
           << getPreparedAttrName()
           << "' must list values such as #chimera.prepared<...>, got "
           << attribute.getValue();
  }
  if (attribute.getName() == getSizesAttrName())
    return verifySizes(op, attribute.getValue());
  if (attribute.getName() == getOpenSizesAttrName() ||
      attribute.getName() == getPlannedSizesAttrName())
    return verifyOpenSizes(op, attribute);
  if (attribute.getName() == getOpenSumsAttrName())
    return verifyOpenSums(op, attribute.getValue());
  if (attribute.getName() != getMicroKernelsAttrName())
    return success();
  auto kernels = dyn_cast<ArrayAttr>(attribute.getValue());
  if (kernels && llvm::all_of(kernels, llvm::IsaPred<MicroKernelAttrInterface>))
    return success();
  return op->emitError("'") << getMicroKernelsAttrName()
                            << "' must list micro kernels such as "
                               "#chimera.function_kernel<...>, got "
                            << attribute.getValue();
}

LogicalResult ChimeraDialect::verifyRegionArgAttribute(
    Operation *op, unsigned /*regionIndex*/, unsigned argIndex,
    NamedAttribute attribute) {
  if (attribute.getName() == getPartAttrName()) {
    if (isa<PartAttr>(attribute.getValue()))
      return success();
    return op->emitError("'")
           << getPartAttrName() << "' on argument " << argIndex
           << " must be a #chimera.part<...>, got " << attribute.getValue();
  }
  if (attribute.getName() == getPanelsAttrName()) {
    auto columns = dyn_cast<IntegerAttr>(attribute.getValue());
    if (columns && columns.getType().isSignlessInteger(64) &&
        columns.getInt() > 0)
      return success();
    return op->emitError("'")
           << getPanelsAttrName() << "' on argument " << argIndex
           << " must be a number of columns above 0 (i64), got "
           << attribute.getValue();
  }
  if (attribute.getName() != getConstantAttrName() &&
      attribute.getName() != getOnlyInPanelsAttrName())
    return op->emitError("'")
           << attribute.getName().getValue()
           << "' is no attribute of arguments; known are '"
           << getConstantAttrName() << "', '" << getPanelsAttrName() << "', '"
           << getOnlyInPanelsAttrName() << "' and '" << getPartAttrName()
           << "'";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitError("'")
           << attribute.getName().getValue() << "' on argument " << argIndex
           << " takes no value";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (attribute.getName() == getOnlyInPanelsAttrName() && function &&
      !function.getArgAttr(argIndex, getPanelsAttrName()))
    return op->emitError("'")
           << getOnlyInPanelsAttrName() << "' on argument " << argIndex
           << " needs '" << getPanelsAttrName() << "' beside it";
  return success();
}
