//===- ProcessorCheck.cpp - Programs that know their processor ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that was compiled for one machine may be loaded on another, where
// an instruction that is not there would end the process without a word. So
// what is called from outside asks the processor first, at the first call, and
// fails like an assertion. All of that is code for any x86-64: LLVM does not
// inline code for more features into code for fewer.
//
//===----------------------------------------------------------------------===//

#include "ProcessorCheck.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::StringLiteral;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

namespace {
enum Register : unsigned { EAX, EBX, ECX, EDX };

struct Feature {
  /// As LLVM spells it.
  StringLiteral name;
  /// Where `cpuid` says that it is there.
  uint32_t leaf, subleaf;
  Register where;
  unsigned bit;
  /// What of its state the system has to save (XCR0).
  uint32_t state = 0;
  /// What only these intrinsics are made into; of others LLVM may make use
  /// anywhere.
  StringLiteral intrinsic = "";
};
} // namespace

static constexpr uint32_t kExtended = 0x80000001;
static constexpr uint32_t kYmm = 0x6, kZmm = 0xe6, kGpr = 0x80000;

/// What LLVM makes of IR that names no instructions, and what kernels name.
/// Intel 325383, CPUID, and 319433; AMD 24594, appendix E. Of several that are
/// not there, the first is the one to tell.
static constexpr Feature kFeatures[] = {
    {"avx", 1, 0, ECX, 28, kYmm},
    {"avx2", 7, 0, EBX, 5, kYmm},
    {"fma", 1, 0, ECX, 12, kYmm},
    {"f16c", 1, 0, ECX, 29, kYmm},
    {"avx512f", 7, 0, EBX, 16, kZmm},
    {"avx512bw", 7, 0, EBX, 30, kZmm},
    {"avx512dq", 7, 0, EBX, 17, kZmm},
    {"avx512vl", 7, 0, EBX, 31, kZmm},
    {"avx512cd", 7, 0, EBX, 28, kZmm},
    {"avx512vnni", 7, 0, ECX, 11, kZmm},
    {"avx512bf16", 7, 1, EAX, 5, kZmm},
    {"avx512fp16", 7, 0, EDX, 23, kZmm},
    {"amx-tile", 7, 0, EDX, 24, 0, "llvm.x86.ldtilecfg"},
    {"amx-bf16", 7, 0, EDX, 22, 0, "llvm.x86.tdpbf16ps"},
    {"amx-fp16", 7, 1, EAX, 21, 0, "llvm.x86.tdpfp16ps"},
    {"amx-int8", 7, 0, EDX, 25, 0, "llvm.x86.tdpbs"},
    {"amx-int8", 7, 0, EDX, 25, 0, "llvm.x86.tdpbu"},
    {"avx512ifma", 7, 0, EBX, 21, kZmm},
    {"avx512vbmi", 7, 0, ECX, 1, kZmm},
    {"avx512vbmi2", 7, 0, ECX, 6, kZmm},
    {"avx512bitalg", 7, 0, ECX, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, kZmm},
    {"avx10.1", 7, 1, EDX, 19, kZmm},
    {"avxvnni", 7, 1, EAX, 4, kYmm},
    {"avxifma", 7, 1, EAX, 23, kYmm},
    {"avxneconvert", 7, 1, EDX, 5, kYmm},
    {"avxvnniint8", 7, 1, EDX, 4, kYmm},
    {"avxvnniint16", 7, 1, EDX, 10, kYmm},
    {"egpr", 7, 1, EDX, 21, kGpr},
    {"gfni", 7, 0, ECX, 8},
    {"bmi", 7, 0, EBX, 3},
    {"bmi2", 7, 0, EBX, 8},
    {"lzcnt", kExtended, 0, ECX, 5},
    {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},
    {"sse3", 1, 0, ECX, 0},
    {"ssse3", 1, 0, ECX, 9},
    {"sse4.1", 1, 0, ECX, 19},
    {"sse4.2", 1, 0, ECX, 20},
    {"tbm", kExtended, 0, ECX, 21},
};

/// The system lets programs read XCR0.
static constexpr Feature kReadsState = {"osxsave", 1, 0, ECX, 27};

static bool has(const llvm::MCSubtargetInfo &subtarget, StringRef feature) {
  return subtarget.checkFeatures(("+" + feature).str());
}

StringRef
chimera::runner::findLackingFeature(const llvm::MCSubtargetInfo &wanted,
                                    const llvm::MCSubtargetInfo &here,
                                    bool usesTiles) {
  for (const Feature &feature : kFeatures)
    if ((usesTiles || feature.intrinsic.empty()) && has(wanted, feature.name) &&
        !has(here, feature.name))
      return feature.name;
  return {};
}

/// Whether code of `module` for `machine` may use `feature`.
static bool mayUse(const Feature &feature, const llvm::Module &module,
                   const llvm::TargetMachine &machine) {
  if (feature.intrinsic.empty())
    return has(*machine.getMCSubtargetInfo(), feature.name);
  return llvm::any_of(module, [&](const llvm::Function &function) {
    return function.getName().starts_with(feature.intrinsic);
  });
}

//===----------------------------------------------------------------------===//
// Asking the processor
//===----------------------------------------------------------------------===//

void chimera::runner::setBaseline(llvm::Function &function) {
  function.addFnAttr("target-cpu", "x86-64");
  function.addFnAttr("tune-cpu", "generic");
  function.addFnAttr("target-features", "");
}

namespace {
/// Code at the end of a block, which asks the processor for features.
class Questions {
public:
  explicit Questions(llvm::IRBuilder<> &builder)
      : builder(builder), word(builder.getInt32Ty()),
        lastLeaf(builder.CreateExtractValue(askLeaf(0, 0), EAX)) {}

  /// Whether `feature` is there.
  llvm::Value *ask(const Feature &feature) {
    llvm::Value *bits = builder.CreateAnd(getWord(feature), 1u << feature.bit);
    llvm::Value *isThere = builder.CreateICmpNE(bits, number(0));
    if (feature.state == 0)
      return isThere;
    llvm::Value *saved = builder.CreateAnd(getState(), feature.state);
    return builder.CreateAnd(
        isThere, builder.CreateICmpEQ(saved, number(feature.state)));
  }

private:
  llvm::Value *number(uint32_t value) { return builder.getInt32(value); }

  /// The registers that `instruction` leaves.
  llvm::Value *call(StringRef instruction, StringRef constraints,
                    ArrayRef<llvm::Value *> operands, unsigned results) {
    auto *registers = llvm::StructType::get(
        builder.getContext(), llvm::SmallVector<llvm::Type *>(results, word));
    llvm::SmallVector<llvm::Type *> types(operands.size(), word);
    auto *type = llvm::FunctionType::get(registers, types, /*isVarArg=*/false);
    return builder.CreateCall(type,
                              llvm::InlineAsm::get(type, instruction,
                                                   constraints,
                                                   /*hasSideEffects=*/true),
                              operands);
  }

  llvm::Value *askLeaf(uint32_t leaf, uint32_t subleaf) {
    return call("cpuid",
                "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}",
                {number(leaf), number(subleaf)}, 4);
  }

  /// The register that has the bit of `feature`; none of its bits are set if
  /// the processor does not know the leaf.
  llvm::Value *getWord(const Feature &feature) {
    llvm::Value *&known = leaves[{feature.leaf, feature.subleaf}];
    if (!known)
      known = askLeaf(feature.leaf, feature.subleaf);
    llvm::Value *result = builder.CreateExtractValue(known, feature.where);
    // Any x86-64 has the leaves 1 and 0x80000001.
    if (feature.leaf == 1 || feature.leaf == kExtended)
      return result;
    llvm::Value *isKnown =
        builder.CreateICmpUGE(lastLeaf, number(feature.leaf));
    return builder.CreateSelect(isKnown, result, number(0));
  }

  /// The states that the system saves.
  llvm::Value *getState() {
    if (state)
      return state;
    llvm::Value *isReadable = ask(kReadsState);
    llvm::BasicBlock *before = builder.GetInsertBlock();
    llvm::Function *function = before->getParent();
    auto *read = llvm::BasicBlock::Create(builder.getContext(), "", function);
    auto *after = llvm::BasicBlock::Create(builder.getContext(), "", function);
    builder.CreateCondBr(isReadable, read, after);
    builder.SetInsertPoint(read);
    llvm::Value *saved = builder.CreateExtractValue(
        call("xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}",
             {number(0)}, 2),
        0);
    builder.CreateBr(after);
    builder.SetInsertPoint(after);
    llvm::PHINode *either = builder.CreatePHI(word, 2);
    either->addIncoming(number(0), before);
    either->addIncoming(saved, read);
    return state = either;
  }

  llvm::IRBuilder<> &builder;
  llvm::Type *word;
  llvm::Value *lastLeaf;
  llvm::Value *state = nullptr;
  llvm::MapVector<std::pair<uint32_t, uint32_t>, llvm::Value *> leaves;
};
} // namespace

/// Code that ends the call with `text`, as a failed assertion does.
static void createFailure(llvm::IRBuilder<> &builder, llvm::Module &module,
                          llvm::Value *text) {
  builder.CreateCall(module.getOrInsertFunction("puts", builder.getVoidTy(),
                                                builder.getPtrTy()),
                     {text});
  builder.CreateCall(module.getOrInsertFunction("abort", builder.getVoidTy()));
  builder.CreateUnreachable();
}

static llvm::Function *createFunction(llvm::Module &module, StringRef name,
                                      ArrayRef<llvm::Type *> arguments = {}) {
  auto *type = llvm::FunctionType::get(
      llvm::Type::getVoidTy(module.getContext()), arguments, false);
  auto *function = llvm::Function::Create(
      type, llvm::GlobalValue::InternalLinkage, name, module);
  setBaseline(*function);
  llvm::BasicBlock::Create(module.getContext(), "", function);
  return function;
}

/// A function that fails if the processor lacks one of `features`, and
/// remembers in `isKnown` if it does not.
static llvm::Function *buildTest(llvm::Module &module,
                                 ArrayRef<Feature> features,
                                 llvm::GlobalVariable *isKnown) {
  llvm::Function *function = createFunction(module, "chimera_ask_processor");
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  llvm::IRBuilder<> builder(&function->getEntryBlock());
  Questions questions(builder);
  llvm::Value *none = llvm::ConstantPointerNull::get(builder.getPtrTy());
  llvm::Value *problem = none;
  for (const Feature &feature : llvm::reverse(features)) {
    llvm::Value *text = builder.CreateGlobalString(
        ("this code is for a processor with " + feature.name +
         ", which this machine lacks; compile it for this machine")
            .str());
    problem = builder.CreateSelect(questions.ask(feature), problem, text);
  }
  auto *done = llvm::BasicBlock::Create(module.getContext(), "", function);
  auto *failed = llvm::BasicBlock::Create(module.getContext(), "", function);
  builder.CreateCondBr(builder.CreateICmpEQ(problem, none), done, failed);
  builder.SetInsertPoint(failed);
  createFailure(builder, module, problem);
  builder.SetInsertPoint(done);
  builder.CreateStore(builder.getInt8(1), isKnown);
  builder.CreateRetVoid();
  return function;
}

/// A function that asks the processor unless that has been done.
static llvm::Function *buildCheck(llvm::Module &module,
                                  ArrayRef<Feature> features) {
  llvm::Type *flag = llvm::Type::getInt8Ty(module.getContext());
  auto *isKnown = new llvm::GlobalVariable(
      module, flag, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantInt::get(flag, 0), "chimera_processor_is_known");
  llvm::Function *test = buildTest(module, features, isKnown);
  llvm::Function *check = createFunction(module, "chimera_check_processor");
  llvm::IRBuilder<> builder(&check->getEntryBlock());
  llvm::Value *known = builder.CreateLoad(flag, isKnown);
  auto *ask = llvm::BasicBlock::Create(module.getContext(), "", check);
  auto *done = llvm::BasicBlock::Create(module.getContext(), "", check);
  builder.CreateCondBr(builder.CreateICmpEQ(known, builder.getInt8(0)), ask,
                       done);
  builder.SetInsertPoint(ask);
  builder.CreateCall(test);
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
  return check;
}

//===----------------------------------------------------------------------===//
// Functions that are called from outside
//===----------------------------------------------------------------------===//

/// Puts a function of the same name before `function`, which checks first.
static void putCheckBefore(llvm::Function &function, llvm::Function *check) {
  llvm::Module &module = *function.getParent();
  auto *outer = llvm::Function::Create(function.getFunctionType(),
                                       function.getLinkage(), "", module);
  outer->takeName(&function);
  function.replaceAllUsesWith(outer);
  function.setName(outer->getName() + "_unchecked");
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  setBaseline(*outer);
  llvm::IRBuilder<> builder(
      llvm::BasicBlock::Create(module.getContext(), "", outer));
  builder.CreateCall(check);
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : outer->args())
    arguments.push_back(&argument);
  builder.CreateCall(&function, arguments);
  builder.CreateRetVoid();
}

/// Makes the check alone a function to be called from outside.
static void exportCheck(llvm::Module &module, StringRef name,
                        llvm::Function *check) {
  std::string exported = ("_mlir_packed_" + name + "_check").str();
  // A function of the program may be called that.
  if (module.getFunction(exported))
    return;
  llvm::Function *function = createFunction(
      module, exported, {llvm::PointerType::get(module.getContext(), 0)});
  function->setLinkage(llvm::GlobalValue::ExternalLinkage);
  llvm::IRBuilder<> builder(&function->getEntryBlock());
  builder.CreateCall(check);
  builder.CreateRetVoid();
}

void chimera::runner::addProcessorCheck(llvm::Module &module,
                                        const llvm::TargetMachine &machine,
                                        ArrayRef<Function> functions) {
  if (!machine.getTargetTriple().isX86())
    return;
  llvm::SmallVector<Feature> features;
  llvm::copy_if(
      kFeatures, std::back_inserter(features),
      [&](const Feature &feature) { return mayUse(feature, module, machine); });
  llvm::SmallVector<llvm::Function *> interfaces;
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !function.hasLocalLinkage()) {
      if (function.getName().starts_with("_mlir_ciface_") &&
          function.getReturnType()->isVoidTy())
        interfaces.push_back(&function);
      else if (function.getName().starts_with("_mlir_packed_"))
        setBaseline(function);
    }
  llvm::Function *check = buildCheck(module, features);
  for (llvm::Function *function : interfaces)
    putCheckBefore(*function, check);
  for (const Function &function : functions)
    exportCheck(module, function.name, check);
}
