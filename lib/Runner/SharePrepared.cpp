//===- SharePrepared.cpp - Prepared values in a host's memory -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharePrepared.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace chimera;
using namespace chimera::runner;
using llvm::Constant;
using llvm::GlobalVariable;
using llvm::SmallVector;

void chimera::runner::readPrepared(mlir::ModuleOp module,
                                   llvm::MutableArrayRef<Function> functions) {
  for (Function &function : functions) {
    auto preparation =
        module.lookupSymbol<mlir::LLVM::LLVMFuncOp>(function.name + "_prepare");
    if (!preparation)
      continue;
    auto values = preparation->getAttrOfType<mlir::ArrayAttr>(
        ChimeraDialect::getPreparedAttrName());
    if (!values)
      continue;
    for (auto value : values.getAsRange<PreparedAttr>())
      function.prepared.push_back({value.getMemory().getValue().str(),
                                   value.getRecipe().str(),
                                   llvm::to_vector(value.getConstants())});
  }
}

/// Reads the address in the element `number` of `table` where each function
/// begins that uses `memory`. It stays the same while the function runs.
static void readAddress(GlobalVariable &memory, GlobalVariable &table,
                        size_t number) {
  llvm::convertUsersOfConstantsToInstructions({&memory});
  llvm::MapVector<llvm::Function *, SmallVector<llvm::Use *>> uses;
  for (llvm::Use &use : memory.uses())
    if (auto *user = llvm::dyn_cast<llvm::Instruction>(use.getUser()))
      uses[user->getFunction()].push_back(&use);
  llvm::LLVMContext &context = memory.getContext();
  for (auto &[function, inFunction] : uses) {
    llvm::IRBuilder<> builder(&*function->getEntryBlock().begin());
    llvm::Value *slot =
        builder.CreateConstGEP1_64(builder.getPtrTy(), &table, number);
    llvm::LoadInst *address = builder.CreateLoad(builder.getPtrTy(), slot);
    llvm::MDNode *nothing = llvm::MDNode::get(context, {});
    address->setMetadata(llvm::LLVMContext::MD_invariant_load, nothing);
    address->setMetadata(llvm::LLVMContext::MD_nonnull, nothing);
    auto *alignment = llvm::ConstantAsMetadata::get(
        builder.getInt64(memory.getAlign().valueOrOne().value()));
    address->setMetadata(llvm::LLVMContext::MD_align,
                         llvm::MDNode::get(context, alignment));
    for (llvm::Use *use : inFunction)
      use->set(address);
  }
}

llvm::Error chimera::runner::movePrepared(llvm::Module &module,
                                          Function &function) {
  if (function.prepared.empty())
    return llvm::Error::success();
  auto *address = llvm::PointerType::getUnqual(module.getContext());
  SmallVector<GlobalVariable *> memories;
  SmallVector<Constant *> own;
  for (PreparedValue &value : function.prepared) {
    GlobalVariable *memory =
        module.getGlobalVariable(value.memory, /*AllowInternal=*/true);
    if (!memory)
      return llvm::createStringError("'" + function.name + "_prepare' lists '" +
                                     value.memory +
                                     "', which is no global of the program");
    value.bytes =
        module.getDataLayout().getTypeAllocSize(memory->getValueType());
    memories.push_back(memory);
    own.push_back(memory);
  }
  auto *type = llvm::ArrayType::get(address, own.size());
  auto *table = new GlobalVariable(
      module, type, /*isConstant=*/false, GlobalVariable::ExternalLinkage,
      llvm::ConstantArray::get(type, own), function.name + "_prepared_memory");
  for (const auto &[number, memory] : llvm::enumerate(memories))
    readAddress(*memory, *table, number);
  return llvm::Error::success();
}
