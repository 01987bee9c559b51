//===- RequestTiles.cpp - Permission to use the tiles of AMX --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux gives a process the room for tile registers when it asks for it, before
// its first instruction on tiles. So each public function whose code has tiles
// asks at its beginning, the first of them the system. Where there are no tiles
// to be had, the call fails with a message instead of an illegal instruction.
//
//===----------------------------------------------------------------------===//

#include "Tiles.h"

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace chimera {
#define GEN_PASS_DEF_REQUESTTILESPASS
#include "Chimera/Conversion/X86Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static constexpr StringLiteral kRequest = "chimera_request_tiles";
static constexpr StringLiteral kIsGranted = "chimera_has_tiles";

/// Linux, arch/x86/include/uapi/asm/prctl.h and Documentation/arch/x86/xstate:
/// the numbers of arch_prctl, of ARCH_REQ_XCOMP_PERM and of the tiles' state.
static constexpr int64_t kSystemCall[] = {158, 0x1023, 18};

static LLVM::LLVMFuncOp declareSystemCall(OpBuilder &builder, ModuleOp module) {
  constexpr StringLiteral name = "syscall";
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  Type number = builder.getI64Type();
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(number, number, /*isVarArg=*/true));
}

/// A function that asks the system, unless it has been asked, and fails if
/// there are no tiles.
static func::FuncOp buildRequest(ModuleOp module) {
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  LLVM::LLVMFuncOp systemCall = declareSystemCall(builder, module);
  Type flag = builder.getI8Type(), number = builder.getI64Type();
  auto isGranted = LLVM::GlobalOp::create(
      builder, loc, flag, /*isConstant=*/false, LLVM::Linkage::Internal,
      kIsGranted, builder.getIntegerAttr(flag, 0));
  auto request = func::FuncOp::create(builder, loc, kRequest,
                                      builder.getFunctionType({}, {}));
  request.setPrivate();
  Block *entry = request.addEntryBlock();
  Block *ask = request.addBlock(), *done = request.addBlock();

  builder.setInsertionPointToEnd(entry);
  Value address = LLVM::AddressOfOp::create(builder, loc, isGranted);
  auto createNumber = [&](Type type, int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, type,
                                    builder.getIntegerAttr(type, value));
  };
  Value known = LLVM::LoadOp::create(builder, loc, flag, address);
  Value isKnown = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                       known, createNumber(flag, 0));
  cf::CondBranchOp::create(builder, loc, isKnown, done, ask);

  builder.setInsertionPointToEnd(ask);
  SmallVector<Value> arguments;
  for (int64_t argument : kSystemCall)
    arguments.push_back(createNumber(number, argument));
  Value status =
      LLVM::CallOp::create(builder, loc, systemCall, arguments).getResult();
  Value isThere = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                       status, createNumber(number, 0));
  cf::AssertOp::create(
      builder, loc, isThere,
      "this code is for a processor with AMX, and the system does not let it "
      "use that here; compile it for this machine");
  LLVM::StoreOp::create(builder, loc, createNumber(flag, 1), address);
  cf::BranchOp::create(builder, loc, done);

  builder.setInsertionPointToEnd(done);
  func::ReturnOp::create(builder, loc);
  return request;
}

/// True if `function` has tiles, or calls a function that has.
static bool usesTiles(func::FuncOp function,
                      llvm::DenseMap<Operation *, bool> &known) {
  auto [entry, isNew] = known.try_emplace(function, false);
  if (!isNew)
    return entry->second;
  bool uses = false;
  function.walk([&](Operation *op) {
    if (auto instruction = dyn_cast<LLVM::CallIntrinsicOp>(op))
      uses |= instruction.getIntrin() == kTileConfiguration;
    if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
              call, call.getCalleeAttr()))
        uses |= usesTiles(callee, known);
  });
  return known[function] = uses;
}

namespace {
struct RequestTilesPass
    : chimera::impl::RequestTilesPassBase<RequestTilesPass> {
  void runOnOperation() override {
    llvm::DenseMap<Operation *, bool> known;
    SmallVector<func::FuncOp> users;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() && function.isPublic() &&
          usesTiles(function, known))
        users.push_back(function);
    if (users.empty())
      return;
    func::FuncOp request = buildRequest(getOperation());
    for (func::FuncOp user : users) {
      OpBuilder builder = OpBuilder::atBlockBegin(&user.front());
      func::CallOp::create(builder, user.getLoc(), request);
    }
  }
};
} // namespace
