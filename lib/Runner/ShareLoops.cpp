//===- ShareLoops.cpp - What each thread has of a parallel loop -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads ask OpenMP's runtime for their share of a loop. As Debian builds it,
// that formats a message for debugging each time, which takes a microsecond or
// more: longer than many loops. The number of a thread and of all threads are
// cheap to get, and the static schedule is a division.
//
//===----------------------------------------------------------------------===//

#include "ShareLoops.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// What LLVM calls for the share of a loop over numbers of 64 bits without
/// sign.
static constexpr const char *share = "__kmpc_for_static_init_8u";
/// Its arguments: where bounds are, both of which belong to the loop, and the
/// distance between iterations. `stride` gets that of a thread's shares, of
/// which each has but one.
enum Argument { Schedule = 2, IsLast, Lower, Upper, Stride, Increment };
/// kmp_sch_static: neighbouring iterations, as many for each thread.
static constexpr int64_t staticSchedule = 34;

static Function *declareWeakly(Module &module, StringRef name, Type *result) {
  if (Function *known = module.getFunction(name))
    return known;
  return Function::Create(FunctionType::get(result, /*isVarArg=*/false),
                          GlobalValue::ExternalWeakLinkage, name, module);
}

/// Stores the share of the thread: after those of threads before it, and an
/// iteration more for each of the first threads while any are left over.
static void storeShare(IRBuilder<> &builder, Function &function) {
  Module &module = *function.getParent();
  Type *number = builder.getInt32Ty(), *index = builder.getInt64Ty();
  auto get = [&](StringRef name) {
    Value *value = builder.CreateCall(declareWeakly(module, name, number));
    return builder.CreateZExt(value, index);
  };
  Value *thread = get("omp_get_thread_num"), *size = get("omp_get_num_threads");
  Value *first = builder.CreateLoad(index, function.getArg(Lower));
  Value *last = builder.CreateLoad(index, function.getArg(Upper));
  Value *step = function.getArg(Increment), *one = builder.getInt64(1);
  // The last iteration is one step before the first if there is none.
  Value *end = builder.CreateAdd(last, step);
  Value *trips = builder.CreateUDiv(builder.CreateSub(end, first), step);
  Value *each = builder.CreateUDiv(trips, size);
  Value *left = builder.CreateURem(trips, size);
  Value *isFirst = builder.CreateICmpULT(thread, left);
  Value *own = builder.CreateAdd(each, builder.CreateZExt(isFirst, index));
  Value *before =
      builder.CreateAdd(builder.CreateMul(thread, each),
                        builder.CreateSelect(isFirst, thread, left));
  Value *lower = builder.CreateAdd(first, builder.CreateMul(before, step));
  Value *steps = builder.CreateMul(builder.CreateSub(own, one), step);
  builder.CreateStore(lower, function.getArg(Lower));
  builder.CreateStore(builder.CreateAdd(lower, steps), function.getArg(Upper));
  builder.CreateStore(builder.CreateMul(trips, step), function.getArg(Stride));
  Value *hasLast = builder.CreateAnd(
      builder.CreateICmpNE(own, builder.getInt64(0)),
      builder.CreateICmpEQ(builder.CreateAdd(before, own), trips));
  builder.CreateStore(builder.CreateZExt(hasLast, number),
                      function.getArg(IsLast));
  builder.CreateRetVoid();
}

/// A function in place of `runtime`, which it calls where a runtime of ours is.
static Function *buildShare(Module &module, Function &runtime) {
  LLVMContext &context = module.getContext();
  auto *function =
      Function::Create(runtime.getFunctionType(), GlobalValue::InternalLinkage,
                       "chimera_share", module);
  // All parallel loops call it: a copy in each would have LLVM compile them
  // together, on one thread.
  function->addFnAttr(llvm::Attribute::NoInline);
  Function *ours =
      declareWeakly(module, "chimera_pool", PointerType::getUnqual(context));
  auto *entry = BasicBlock::Create(context, "", function);
  auto *hosted = BasicBlock::Create(context, "", function);
  auto *alone = BasicBlock::Create(context, "", function);
  IRBuilder<> builder(entry);
  builder.CreateCondBr(builder.CreateIsNotNull(ours), hosted, alone);
  builder.SetInsertPoint(hosted);
  SmallVector<Value *> arguments;
  for (llvm::Argument &argument : function->args())
    arguments.push_back(&argument);
  builder.CreateCall(&runtime, arguments);
  builder.CreateRetVoid();
  builder.SetInsertPoint(alone);
  storeShare(builder, *function);
  return function;
}

void chimera::runner::shareLoops(Module &module) {
  Function *runtime = module.getFunction(share);
  if (!runtime)
    return;
  SmallVector<CallInst *> calls;
  for (User *user : runtime->users())
    if (auto *call = dyn_cast<CallInst>(user))
      if (auto *schedule = dyn_cast<ConstantInt>(call->getArgOperand(Schedule));
          schedule && schedule->getSExtValue() == staticSchedule)
        calls.push_back(call);
  if (calls.empty())
    return;
  Function *function = buildShare(module, *runtime);
  for (CallInst *call : calls)
    call->setCalledFunction(function);
}
