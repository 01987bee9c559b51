//===- CollectivesToCalls.cpp - Let a library exchange data ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface is that of runtime/chimera_collectives.h: pointers, numbers of
// elements and small codes, so that one object links with any transport.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/Collectives.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

namespace chimera {
#define GEN_PASS_DEF_CONVERTCOLLECTIVESTOCALLSPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// ChimeraElementType of the runtime.
static int32_t getTypeCode(Type type) {
  return llvm::TypeSwitch<Type, int32_t>(type)
      .Case([](Float32Type) { return 0; })
      .Case([](Float64Type) { return 1; })
      .Case([](Float16Type) { return 2; })
      .Case([](BFloat16Type) { return 3; })
      .Case([](IntegerType type) {
        return type.getWidth() == 8 ? 4 : type.getWidth() == 32 ? 5 : 6;
      });
}

/// The axes as bits.
static int32_t getMask(ArrayRef<int64_t> axes) {
  uint32_t mask = 0;
  for (int64_t axis : axes)
    mask |= 1U << axis;
  return static_cast<int32_t>(mask);
}

namespace {
/// Makes the call that an operation is replaced by.
class CallBuilder {
public:
  CallBuilder(ModuleOp module, Operation *op)
      : module(module), op(op), builder(op) {}

  /// Fails, with an error, if the elements of `buffer` are not in one run.
  LogicalResult addPointer(Value buffer);
  void addNumber(int64_t value) { add(makeNumber(64, value)); }
  void addCode(int32_t value) { add(makeNumber(32, value)); }
  void addRequest(Value request);
  /// The address of a table of `numbers` in the program.
  void addTable(ArrayRef<int64_t> numbers);
  Value call(StringRef function, Type result = {});

  OpBuilder &getBuilder() { return builder; }

private:
  void add(Value argument) { arguments.push_back(argument); }
  Value makeNumber(unsigned bits, int64_t value) {
    return arith::ConstantIntOp::create(builder, op->getLoc(), value, bits);
  }
  LLVM::LLVMFuncOp declare(StringRef function, Type result);

  ModuleOp module;
  Operation *op;
  OpBuilder builder;
  SmallVector<Value> arguments;
};
} // namespace

LogicalResult CallBuilder::addPointer(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!memref::isStaticShapeAndContiguousRowMajor(type))
    return op->emitOpError("exchanges what lies in one run of memory, not ")
           << type << "; copy it before";
  Location loc = op->getLoc();
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  auto [strides, offset] = type.getStridesAndOffset();
  if (offset != 0) {
    auto whole = memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    Value bytes = arith::ConstantIndexOp::create(
        builder, loc, type.getElementTypeBitWidth() / 8);
    address = arith::AddIOp::create(
        builder, loc, address,
        arith::MulIOp::create(builder, loc, whole.getOffset(), bytes));
  }
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  add(LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), number));
  return success();
}

void CallBuilder::addRequest(Value request) {
  add(LLVM::IntToPtrOp::create(builder, op->getLoc(),
                               LLVM::LLVMPointerType::get(builder.getContext()),
                               request));
}

void CallBuilder::addTable(ArrayRef<int64_t> numbers) {
  std::string name = "chimera_grid";
  for (int64_t number : numbers)
    name += "_" + std::to_string(number);
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), numbers.size());
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(builder, op->getLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           builder.getI64TensorAttr(numbers));
  }
  add(LLVM::AddressOfOp::create(
      builder, op->getLoc(), LLVM::LLVMPointerType::get(builder.getContext()),
      name));
}

LLVM::LLVMFuncOp CallBuilder::declare(StringRef function, Type result) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(function))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  Type type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(builder.getContext()),
      llvm::to_vector(ValueRange(arguments).getTypes()));
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), function, type);
}

Value CallBuilder::call(StringRef function, Type result) {
  auto made = LLVM::CallOp::create(builder, op->getLoc(),
                                   declare(function, result), arguments);
  return result ? made.getResult() : Value();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// `type`, `axes`, with `code` in between for those that have one.
static void addTail(CallBuilder &call, Value buffer, ArrayRef<int64_t> axes,
                    std::optional<int32_t> code = {}) {
  call.addCode(
      getTypeCode(cast<MemRefType>(buffer.getType()).getElementType()));
  if (code)
    call.addCode(*code);
  call.addCode(getMask(axes));
}

static int64_t countElements(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getNumElements();
}

/// The arguments of an all-reduce, which is in place.
template <typename OpT>
static LogicalResult addAllReduce(CallBuilder &call, OpT op) {
  if (failed(call.addPointer(op.getOutput())) ||
      failed(call.addPointer(op.getOutput())))
    return failure();
  call.addNumber(countElements(op.getOutput()));
  addTail(call, op.getOutput(), op.getAxes(),
          static_cast<int32_t>(op.getReduction()));
  return success();
}

static LogicalResult lower(CallBuilder &call, AllReduceOp op) {
  if (failed(addAllReduce(call, op)))
    return failure();
  call.call("chimera_all_reduce");
  return success();
}

/// Requests are pointers, and numbers in between.
static LogicalResult lower(CallBuilder &call, StartAllReduceOp op) {
  if (failed(addAllReduce(call, op)))
    return failure();
  OpBuilder &builder = call.getBuilder();
  Value request = call.call("chimera_start_all_reduce",
                            LLVM::LLVMPointerType::get(builder.getContext()));
  op.getRequest().replaceAllUsesWith(LLVM::PtrToIntOp::create(
      builder, op.getLoc(), builder.getI64Type(), request));
  return success();
}

static LogicalResult lower(CallBuilder &call, WaitOp op) {
  call.addRequest(op.getRequest());
  call.call("chimera_wait");
  return success();
}

static LogicalResult lower(CallBuilder &call, ProcessBroadcastOp op) {
  if (failed(call.addPointer(op.getOutput())))
    return failure();
  call.addNumber(countElements(op.getOutput()));
  addTail(call, op.getOutput(), op.getAxes(),
          static_cast<int32_t>(op.getRoot()));
  call.call("chimera_broadcast");
  return success();
}

static LogicalResult lower(CallBuilder &call, AllGatherOp op) {
  if (failed(call.addPointer(op.getInput())) ||
      failed(call.addPointer(op.getOutput())))
    return failure();
  call.addNumber(countElements(op.getInput()));
  addTail(call, op.getInput(), op.getAxes());
  call.call("chimera_all_gather");
  return success();
}

static LogicalResult lower(CallBuilder &call, ReduceScatterOp op) {
  if (failed(call.addPointer(op.getInput())) ||
      failed(call.addPointer(op.getOutput())))
    return failure();
  call.addNumber(countElements(op.getOutput()));
  addTail(call, op.getOutput(), op.getAxes(),
          static_cast<int32_t>(op.getReduction()));
  call.call("chimera_reduce_scatter");
  return success();
}

static LogicalResult lower(CallBuilder &call, AllToAllOp op) {
  if (failed(call.addPointer(op.getInput())) ||
      failed(call.addPointer(op.getOutput())))
    return failure();
  call.addNumber(countElements(op.getInput()) /
                 static_cast<int64_t>(op.getProcesses()));
  addTail(call, op.getInput(), op.getAxes());
  call.call("chimera_all_to_all");
  return success();
}

static LogicalResult lower(CallBuilder &call, ProcessIndexOp op) {
  call.addCode(static_cast<int32_t>(op.getAxis()));
  OpBuilder &builder = call.getBuilder();
  Value index = call.call("chimera_process_index", builder.getI64Type());
  op.replaceAllUsesWith(arith::IndexCastOp::create(
                            builder, op.getLoc(), builder.getIndexType(), index)
                            .getResult());
  return success();
}

static LogicalResult lower(CallBuilder &call, CheckGridOp op) {
  call.addCode(static_cast<int32_t>(op.getSizes().size()));
  call.addTable(op.getSizes());
  call.call("chimera_check_grid");
  return success();
}

/// Replaces `op` by a call if it is one of the operations above.
static LogicalResult lowerIfCollective(ModuleOp module, Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AllReduceOp, StartAllReduceOp, WaitOp, ProcessBroadcastOp,
            AllGatherOp, ReduceScatterOp, AllToAllOp, ProcessIndexOp,
            CheckGridOp>([&](auto op) {
        if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
          return LogicalResult(
              op.emitOpError("is called on memrefs; bufferize it before"));
        CallBuilder call(module, op);
        if (failed(lower(call, op)))
          return failure();
        op->erase();
        return success();
      })
      .Default([](Operation *) { return success(); });
}

namespace {
struct ConvertCollectivesToCallsPass
    : chimera::impl::ConvertCollectivesToCallsPassBase<
          ConvertCollectivesToCallsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    WalkResult result = module.walk([&](Operation *op) {
      return failed(lowerIfCollective(module, op)) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // The caller of the program asks for its part before; LLVM knows nothing of
    // it.
    StringRef name = ChimeraDialect::getPartAttrName();
    module.walk([&](FunctionOpInterface function) {
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        function.removeArgAttr(index, name);
      for (unsigned index = 0; index < function.getNumResults(); ++index)
        function.removeResultAttr(index, StringAttr::get(&getContext(), name));
    });
  }
};
} // namespace
