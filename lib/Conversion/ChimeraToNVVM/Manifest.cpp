//===- Manifest.cpp - How kernels are launched, in JSON -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine with a GPU need not have MLIR: it gets the code of the kernels and
// this list, and can launch them from any language.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/Support/OutputFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace chimera {
#define GEN_PASS_DEF_WRITEMANIFESTPASS
#include "Chimera/Conversion/NvidiaPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static constexpr StringLiteral kManifestAttrName = "chimera.manifest";

/// Kernels access up to so many bytes at once, at multiples of that from where
/// an array starts.
static constexpr int64_t arrayAlignment = 16;

/// The constants `values`; nothing if one is none.
static std::optional<llvm::json::Array> readExtents(gpu::KernelDim3 values) {
  llvm::json::Array extents;
  for (Value value : {values.x, values.y, values.z}) {
    APInt extent;
    if (!matchPattern(value, m_ConstantInt(&extent)))
      return std::nullopt;
    extents.push_back(extent.getSExtValue());
  }
  return extents;
}

/// The memory that `value` shows, perhaps in another shape.
static Value getRoot(Value value) {
  while (isa_and_nonnull<memref::ExpandShapeOp, memref::CollapseShapeOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// True if `op` names memory that is zeros before the first launch, and that
/// launches write to; others are constants, which the host has.
static bool isZeroed(Operation *op) {
  auto get = dyn_cast_if_present<memref::GetGlobalOp>(op);
  auto global = get ? SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
                          get, get.getNameAttr())
                    : memref::GlobalOp();
  if (!global || global.getConstant())
    return false;
  auto start =
      dyn_cast_if_present<DenseIntElementsAttr>(global.getInitialValueAttr());
  return start && start.isSplat() && start.getSplatValue<APInt>().isZero();
}

/// Arguments of the function go by their number; memory that it allocates, or
/// the module has, has one among `buffers`.
static llvm::json::Object describeArgument(Value value,
                                           SetVector<Value> &buffers) {
  llvm::json::Object argument;
  value = getRoot(value);
  argument["type"] =
      llvm::formatv("{0}", getElementTypeOrSelf(value.getType())).str();
  if (auto type = dyn_cast<MemRefType>(value.getType())) {
    llvm::json::Array shape;
    for (int64_t extent : type.getShape())
      shape.push_back(extent);
    argument["shape"] = std::move(shape);
    argument["alignment"] = arrayAlignment;
  }
  auto source = dyn_cast<BlockArgument>(value);
  if (source && isa<FunctionOpInterface>(source.getOwner()->getParentOp())) {
    argument["argument"] = static_cast<int64_t>(source.getArgNumber());
  } else if (isa<MemRefType>(value.getType())) {
    buffers.insert(value);
    argument["buffer"] = llvm::find(buffers, value) - buffers.begin();
    if (isZeroed(value.getDefiningOp()))
      argument["zeroed"] = "once";
  }
  return argument;
}

/// True if nobody but `launch` uses `buffer`.
static bool isOwn(Value buffer, gpu::LaunchFuncOp launch) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    return user == launch || isa<memref::DeallocOp>(user);
  });
}

/// Bytes of the memory that `launch` works in and nobody reads behind it.
static int64_t countWorkspace(gpu::LaunchFuncOp launch) {
  int64_t bytes = 0;
  for (Value operand : launch.getKernelOperands()) {
    Operation *source = operand.getDefiningOp();
    bool isBuffer =
        isa_and_nonnull<memref::AllocOp>(source) || isZeroed(source);
    if (!isBuffer || !isOwn(operand, launch))
      continue;
    auto type = cast<MemRefType>(operand.getType());
    bytes += type.getNumElements() * bytesOf(type.getElementType());
  }
  return bytes;
}

static FailureOr<llvm::json::Object> describe(gpu::LaunchFuncOp launch,
                                              SetVector<Value> &buffers) {
  auto grid = readExtents(launch.getGridSizeOperandValues());
  auto block = readExtents(launch.getBlockSizeOperandValues());
  APInt shared(32, 0);
  Value bytes = launch.getDynamicSharedMemorySize();
  if (!grid || !block ||
      (bytes && !matchPattern(bytes, m_ConstantInt(&shared))))
    return failure();
  llvm::json::Array arguments;
  for (Value operand : launch.getKernelOperands())
    arguments.push_back(describeArgument(operand, buffers));
  llvm::json::Object entry{{"entry", launch.getKernelName().getValue()},
                           {"module", launch.getKernelModuleName().getValue()},
                           {"grid", std::move(*grid)},
                           {"block", std::move(*block)},
                           {"shared", shared.getSExtValue()},
                           {"workspace", countWorkspace(launch)},
                           {"arguments", std::move(arguments)}};
  if (auto function = launch->getParentOfType<FunctionOpInterface>())
    entry["function"] = function.getName();
  return entry;
}

/// True if those who launch the kernels of a function need not do `op`
/// themselves: it is a launch, or memory, or says where memory is.
static bool isCovered(Operation *op) {
  return isa<gpu::LaunchFuncOp, memref::AllocOp, memref::DeallocOp,
             memref::ExpandShapeOp, memref::CollapseShapeOp>(op) ||
         isZeroed(op) || op->hasTrait<OpTrait::ConstantLike>() ||
         op->hasTrait<OpTrait::ReturnLike>();
}

/// What the functions of `module` that launch kernels do beside that.
static llvm::json::Array describeHost(ModuleOp module) {
  llvm::json::Array steps;
  int64_t before = 0;
  module.walk([&](FunctionOpInterface function) {
    auto countLaunches = [](Operation *op) {
      int64_t count = 0;
      op->walk([&](gpu::LaunchFuncOp) { ++count; });
      return count;
    };
    if (isa<gpu::GPUFuncOp>(function) || countLaunches(function) == 0)
      return WalkResult::skip();
    for (Block &block : function.getFunctionBody())
      for (Operation &op : block) {
        if (!isCovered(&op)) {
          op.emitWarning("'")
              << op.getName()
              << "' is left to the host: whoever launches the kernels of '"
              << function.getName() << "' has to do this, too";
          steps.push_back(
              llvm::json::Object{{"function", function.getName()},
                                 {"operation", op.getName().getStringRef()},
                                 {"before", before}});
        }
        before += countLaunches(&op);
      }
    return WalkResult::skip();
  });
  return steps;
}

namespace {
struct WriteManifestPass
    : chimera::impl::WriteManifestPassBase<WriteManifestPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::json::Array kernels;
    SetVector<Value> buffers;
    WalkResult result = getOperation()->walk([&](gpu::LaunchFuncOp launch) {
      FailureOr<llvm::json::Object> entry = describe(launch, buffers);
      if (failed(entry)) {
        launch.emitError("a manifest needs constant extents");
        return WalkResult::interrupt();
      }
      kernels.push_back(std::move(*entry));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    llvm::json::Value manifest =
        llvm::json::Object{{"kernels", std::move(kernels)},
                           {"host", describeHost(getOperation())}};
    std::string text = llvm::formatv("{0}", manifest);
    getOperation()->setAttr(kManifestAttrName,
                            StringAttr::get(&getContext(), text));
    if (!file.empty() && failed(write(manifest)))
      signalPassFailure();
  }

  LogicalResult write(const llvm::json::Value &manifest) {
    llvm::Error error = writeFile(file, [&](llvm::raw_ostream &os) {
      os << llvm::formatv("{0:2}\n", manifest);
    });
    if (error)
      return getOperation()->emitError(llvm::toString(std::move(error)));
    return success();
  }
};
} // namespace
