//===- SplitModule.cpp - Modules that are compiled at the same time -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's llvm::SplitModule clones the whole module for each part, which
// takes time by the number of parts, and does not ask which functions could be
// inlined. Here functions move, so that all parts together take the time of
// one.
//
//===----------------------------------------------------------------------===//

#include "SplitModule.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using llvm::ArrayRef;
using llvm::Function;
using llvm::GlobalValue;
using llvm::GlobalVariable;
using llvm::Module;
using llvm::SmallVector;

/// A module with fewer instructions is not worth a thread.
static constexpr size_t minInstructions = 1000;
/// Each has a context and a code generator of its own.
static constexpr size_t maxParts = 16;

//===----------------------------------------------------------------------===//
// Which functions go together
//===----------------------------------------------------------------------===//

namespace {
/// Functions that are compiled together.
struct Group {
  SmallVector<Function *> functions;
  size_t instructions = 0;

  void add(const Group &other) {
    llvm::append_range(functions, other.functions);
    instructions += other.instructions;
  }
};
} // namespace

/// The functions of `module` with those that LLVM may copy into them, in the
/// module's order.
static std::vector<Group> groupByCalls(Module &module) {
  llvm::EquivalenceClasses<Function *> together;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    together.insert(&function);
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (Function *callee = call->getCalledFunction())
          if (!callee->isDeclaration() &&
              !callee->hasFnAttribute(llvm::Attribute::NoInline))
            together.unionSets(&function, callee);
  }
  llvm::MapVector<Function *, Group> groups;
  for (Function &function : module)
    if (!function.isDeclaration())
      groups[together.getLeaderValue(&function)].add(
          {{&function}, function.getInstructionCount()});
  std::vector<Group> result;
  for (auto &[leader, group] : groups)
    result.push_back(std::move(group));
  return result;
}

/// The functions of each part, all about equally many instructions.
static std::vector<Group> balance(std::vector<Group> groups) {
  size_t instructions = 0;
  for (const Group &group : groups)
    instructions += group.instructions;
  size_t count =
      std::min({instructions / minInstructions, groups.size(), maxParts});
  std::vector<Group> parts(std::max<size_t>(count, 1));
  llvm::sort(groups, [](const Group &left, const Group &right) {
    if (left.instructions != right.instructions)
      return left.instructions > right.instructions;
    return left.functions.front()->getName() <
           right.functions.front()->getName();
  });
  for (const Group &group : groups)
    std::min_element(parts.begin(), parts.end(),
                     [](const Group &left, const Group &right) {
                       return left.instructions < right.instructions;
                     })
        ->add(group);
  return parts;
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

namespace {
/// Declares in one module what it uses of others.
class Declarations final : public llvm::ValueMaterializer {
public:
  explicit Declarations(Module &module) : module(module) {}

  llvm::Value *materialize(llvm::Value *value) override {
    auto *global = llvm::dyn_cast<GlobalValue>(value);
    if (!global || global->getParent() == &module)
      return nullptr;
    if (global->hasLocalLinkage()) {
      global->setLinkage(GlobalValue::ExternalLinkage);
      global->setVisibility(GlobalValue::HiddenVisibility);
    }
    if (auto *function = llvm::dyn_cast<Function>(global))
      return declare(*function);
    return declare(*llvm::cast<GlobalVariable>(global));
  }

private:
  Function *declare(Function &function) {
    // What a host may have stays a symbol that need not be there.
    GlobalValue::LinkageTypes linkage = function.hasExternalWeakLinkage()
                                            ? GlobalValue::ExternalWeakLinkage
                                            : GlobalValue::ExternalLinkage;
    Function *declaration = Function::Create(
        function.getFunctionType(), linkage, function.getAddressSpace(),
        function.getName(), &module);
    declaration->copyAttributesFrom(&function);
    declaration->copyMetadata(&function, /*Offset=*/0);
    return declaration;
  }

  GlobalVariable *declare(GlobalVariable &variable) {
    auto *declaration = new GlobalVariable(
        module, variable.getValueType(), variable.isConstant(),
        GlobalValue::ExternalLinkage, /*Initializer=*/nullptr,
        variable.getName(), /*InsertBefore=*/nullptr,
        variable.getThreadLocalMode(), variable.getAddressSpace());
    declaration->copyAttributesFrom(&variable);
    return declaration;
  }

  Module &module;
};
} // namespace

static std::unique_ptr<Module> createPart(const Module &module) {
  auto part = std::make_unique<Module>(module.getModuleIdentifier(),
                                       module.getContext());
  part->setTargetTriple(module.getTargetTriple());
  part->setDataLayout(module.getDataLayout());
  if (llvm::NamedMDNode *flags = module.getModuleFlagsMetadata())
    for (llvm::MDNode *flag : flags->operands())
      part->getOrInsertModuleFlagsMetadata()->addOperand(flag);
  return part;
}

/// Lets what is in `module` refer to declarations of what no longer is.
static void declareOthers(Module &module) {
  llvm::ValueToValueMapTy known;
  Declarations declarations(module);
  const llvm::RemapFlags flags =
      llvm::RF_IgnoreMissingLocals | llvm::RF_ReuseAndMutateDistinctMDs;
  for (GlobalVariable &variable : module.globals())
    if (variable.hasInitializer())
      variable.setInitializer(llvm::MapValue(variable.getInitializer(), known,
                                             flags, nullptr, &declarations));
  for (Function &function : module)
    if (!function.isDeclaration())
      llvm::RemapFunction(function, known, flags, nullptr, &declarations);
}

/// A symbol of several modules needs a name.
static void nameGlobals(Module &module) {
  for (GlobalVariable &variable : module.globals())
    if (!variable.hasName())
      variable.setName("chimera_global");
}

std::vector<std::unique_ptr<Module>>
chimera::runner::splitModule(Module &module) {
  std::vector<Group> groups = balance(groupByCalls(module));
  if (groups.size() == 1)
    return {};
  nameGlobals(module);
  std::vector<std::unique_ptr<Module>> parts;
  for (const Group &group : llvm::drop_begin(groups)) {
    parts.push_back(createPart(module));
    for (Function *function : group.functions) {
      function->removeFromParent();
      parts.back()->getFunctionList().push_back(function);
    }
  }
  declareOthers(module);
  for (std::unique_ptr<Module> &part : parts)
    declareOthers(*part);
  return parts;
}
