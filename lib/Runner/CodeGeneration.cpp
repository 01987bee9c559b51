//===- CodeGeneration.cpp - From the LLVM dialect to machine code ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM takes most of the time of a compilation, and uses one thread for each of
// its contexts. So a program becomes several modules, each with a context, a
// code generator and an object file of its own. How it is split does not depend
// on the number of threads, and so neither does the code.
//
//===----------------------------------------------------------------------===//

#include "CodeGeneration.h"

#include "DiagnosticCollector.h"
#include "JobPool.h"
#include "ProcessorCheck.h"
#include "ShareLoops.h"
#include "SharePrepared.h"
#include "SplitModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Transforms/IPO/CalledValuePropagation.h"

#include <mutex>
#include <optional>

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

/// For every function `f`, `_mlir_packed_f(ptr arguments)` calls the C
/// interface with what the elements of `arguments` point to.
static Error addPackedWrapper(llvm::Module &module, StringRef name) {
  llvm::Function *callee = module.getFunction(("_mlir_ciface_" + name).str());
  if (!callee || !callee->getReturnType()->isVoidTy())
    return createStringError("lowering left '" + name +
                             "' without a C interface");
  llvm::IRBuilder<> builder(module.getContext());
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
  auto *wrapper = llvm::Function::Create(
      type, llvm::GlobalValue::ExternalLinkage, "_mlir_packed_" + name, module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "", wrapper));
  SmallVector<llvm::Value *> values;
  for (llvm::Argument &argument : callee->args()) {
    llvm::Value *slot = builder.CreateConstGEP1_64(
        builder.getPtrTy(), wrapper->getArg(0), argument.getArgNo());
    llvm::Value *address = builder.CreateLoad(builder.getPtrTy(), slot);
    values.push_back(builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(callee, values);
  builder.CreateRetVoid();
  return Error::success();
}

/// Whether more is done with `value` than to make it a part of what nobody
/// reads.
static bool isRead(const llvm::Value &value) {
  return llvm::any_of(value.users(), [](const llvm::User *user) {
    return !isa<llvm::InsertValueInst>(user) || isRead(*user);
  });
}

/// The constants of `function` that its body in `module` reads.
static SmallVector<unsigned> findConstantsRead(const llvm::Module &module,
                                               const Function &function) {
  const llvm::Function *body = module.getFunction(function.name);
  SmallVector<unsigned> read;
  unsigned next = 0;
  for (const auto &[index, type] : llvm::enumerate(function.arguments)) {
    // A tensor is two pointers, an offset, sizes and strides.
    unsigned first = next;
    next += type.isScalar ? 1 : 3 + 2 * type.shape.size();
    assert(next <= body->arg_size() && "expanded as the type says");
    if (llvm::is_contained(function.constants, index) &&
        llvm::any_of(llvm::seq(first, next), [&](unsigned part) {
          return isRead(*body->getArg(part));
        }))
      read.push_back(index);
  }
  return read;
}

/// Leaves the C interface of `name` as the way to call it. The function itself
/// takes each pointer, size and stride of its tensors as an argument, thousands
/// for a network with its weights, which nobody passes by hand; and it may have
/// the name of a C program's own `main`.
static void hideExpanded(llvm::Module &module, StringRef name) {
  if (llvm::Function *function = module.getFunction(name))
    if (!function->isDeclaration())
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
}

/// Wrappers for all `functions` and for what prepares them.
static Error addPackedWrappers(llvm::Module &module,
                               MutableArrayRef<Function> functions) {
  for (Function &function : functions) {
    std::string preparation = function.name + "_prepare";
    function.isPrepared = module.getFunction("_mlir_ciface_" + preparation) &&
                          llvm::none_of(functions, [&](const Function &known) {
                            return known.name == preparation;
                          });
    function.constantsRead = findConstantsRead(module, function);
    if (Error error = addPackedWrapper(module, function.name))
      return error;
    hideExpanded(module, function.name);
    if (function.isPrepared) {
      if (Error error = addPackedWrapper(module, preparation))
        return error;
      hideExpanded(module, preparation);
    }
  }
  return Error::success();
}

/// A function that says `text` and ends the process, unless the host has a
/// `chimera_fail` (runtime/chimera_runtime.h), which ends the call alone.
static llvm::Function *addFailure(llvm::Module &module, llvm::Function *printer,
                                  llvm::Function *ender) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
  auto *host = llvm::Function::Create(
      type, llvm::GlobalValue::ExternalWeakLinkage, "chimera_fail", module);
  auto *failure = llvm::Function::Create(
      type, llvm::GlobalValue::InternalLinkage, "chimera_failure", module);
  failure->addFnAttr(llvm::Attribute::NoReturn);
  failure->addFnAttr(llvm::Attribute::Cold);
  failure->addFnAttr(llvm::Attribute::NoInline);
  // The processor may be what is wrong.
  setBaseline(*failure);
  llvm::Argument *text = failure->getArg(0);
  auto *entry = llvm::BasicBlock::Create(context, "", failure);
  auto *hosted = llvm::BasicBlock::Create(context, "", failure);
  auto *alone = llvm::BasicBlock::Create(context, "", failure);
  builder.SetInsertPoint(entry);
  builder.CreateCondBr(builder.CreateIsNotNull(host), hosted, alone);
  builder.SetInsertPoint(hosted);
  builder.CreateCall(host, {text});
  builder.CreateUnreachable();
  builder.SetInsertPoint(alone);
  builder.CreateCall(printer, {text});
  // The end of the process would lose what is buffered.
  builder.CreateCall(module.getOrInsertFunction("fflush", builder.getInt32Ty(),
                                                builder.getPtrTy()),
                     {llvm::ConstantPointerNull::get(builder.getPtrTy())});
  builder.CreateCall(ender);
  builder.CreateUnreachable();
  return failure;
}

/// Lets hosts survive assertions (`cf.assert`): upstream prints their text and
/// ends the process.
static void reportFailures(llvm::Module &module) {
  llvm::Function *printer = module.getFunction("puts");
  llvm::Function *ender = module.getFunction("abort");
  if (!printer || !ender)
    return;
  SmallVector<std::pair<llvm::CallInst *, llvm::CallInst *>> failures;
  for (llvm::User *user : ender->users()) {
    auto *end = dyn_cast<llvm::CallInst>(user);
    auto *print =
        end ? dyn_cast_if_present<llvm::CallInst>(end->getPrevNode()) : nullptr;
    if (print && print->getCalledFunction() == printer)
      failures.emplace_back(print, end);
  }
  if (failures.empty())
    return;
  llvm::Function *failure = addFailure(module, printer, ender);
  for (auto [print, end] : failures) {
    print->setCalledFunction(failure);
    end->eraseFromParent();
  }
}

/// Leaves what LLVM does not know out of arguments' attributes. The translation
/// would warn of each, and print the whole function to do so, which takes time
/// by the square of a network with its weights.
static void dropForeignAttributes(FunctionOpInterface function) {
  SmallVector<DictionaryAttr> all;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    SmallVector<NamedAttribute> known;
    llvm::copy_if(function.getArgAttrs(index), std::back_inserter(known),
                  [](NamedAttribute attribute) {
                    return isa_and_present<LLVM::LLVMDialect>(
                        attribute.getNameDialect());
                  });
    all.push_back(DictionaryAttr::get(function->getContext(), known));
  }
  function.setAllArgAttrs(all);
}

/// Lets sums be reordered and says that arguments do not overlap, so that plain
/// loops over memory vectorise.
static void relax(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    for (llvm::Argument &argument : function.args())
      if (argument.getType()->isPointerTy())
        argument.addAttr(llvm::Attribute::NoAlias);
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isa<llvm::FPMathOperator>(instruction)) {
        instruction.setHasAllowReassoc(true);
        instruction.setHasAllowContract(true);
      }
  }
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Without a handler LLVM ends the process on errors. The IR is verified and
/// its target is ours, so that what is left to report are remarks.
static void ignoreDiagnostic(const llvm::DiagnosticInfo *, void *) {}

static std::unique_ptr<llvm::LLVMContext> createContext() {
  auto context = std::make_unique<llvm::LLVMContext>();
  context->setDiagnosticHandlerCallBack(ignoreDiagnostic);
  return context;
}

/// Calls `work` with each number below `count`, on `jobs` threads.
static void runJobs(size_t count, size_t jobs,
                    llvm::function_ref<void(size_t)> work) {
  JobPool pool(std::min(jobs, count));
  for (size_t index = 0; index < count; ++index)
    pool.async([=] { work(index); });
  pool.wait();
}

/// A code generator like `machine`, which serves one thread.
static std::unique_ptr<llvm::TargetMachine>
copyMachine(const llvm::TargetMachine &machine) {
  return std::unique_ptr<llvm::TargetMachine>(
      machine.getTarget().createTargetMachine(
          machine.getTargetTriple(), machine.getTargetCPU(),
          machine.getTargetFeatureString(), machine.Options,
          machine.getRelocationModel(), std::nullopt, machine.getOptLevel()));
}

namespace {
/// A module as bytes, on its way from one context into another.
using Bitcode = SmallVector<char, 0>;
} // namespace

static Bitcode writeBitcode(const llvm::Module &module) {
  Bitcode bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::WriteBitcodeToFile(module, os);
  return bytes;
}

static std::unique_ptr<llvm::Module> readBitcode(const Bitcode &bytes,
                                                 llvm::LLVMContext &context) {
  // What was written a moment ago can be read.
  return llvm::cantFail(llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(StringRef(bytes.data(), bytes.size()), "part"),
      context));
}

/// False for a pass that does nothing but mark indirect calls with what they
/// may call, and takes most of LLVM's time where one function prepares the
/// weights of a network with many normalisations.
static bool mayPay(StringRef pass, llvm::Any) {
  return pass != llvm::CalledValuePropagationPass::name();
}

/// Chimera's code comes in the order and as far unrolled as it is to run, or
/// says which loops are to be unrolled: LLVM's quick pipeline, with its loop
/// vectoriser, makes code as fast as the thorough one does, in less than three
/// quarters of the time.
static void optimize(CodePart &part, unsigned level, Lowering lowering) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = level > 1 && lowering != Lowering::Chimera;
  tuning.LoopInterleaving = level > 1;
  tuning.LoopVectorization = level > 1;
  // Micro kernels are vectors already; looking for more in their straight-line
  // code takes a fifth of the time to compile and finds nothing.
  tuning.SLPVectorization = false;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(mayPay);
  llvm::PassBuilder builder(part.machine.get(), tuning, /*PGOOpt=*/std::nullopt,
                            &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(levels[0])
                 : builder.buildPerModuleDefaultPipeline(
                       levels[lowering == Lowering::Chimera ? 1 : level]);
  passes.run(*part.module, modules);
}

/// Optimises `module` in as many parts as it is worth.
static std::vector<CodePart> optimizeInParts(CodePart whole,
                                             const CompileOptions &options) {
  std::vector<Bitcode> moved;
  for (const std::unique_ptr<llvm::Module> &part : splitModule(*whole.module))
    moved.push_back(writeBitcode(*part));
  std::vector<CodePart> parts(1 + moved.size());
  for (CodePart &part : llvm::drop_begin(parts)) {
    part.context = createContext();
    part.machine = copyMachine(*whole.machine);
  }
  parts.front() = std::move(whole);
  runJobs(parts.size(), options.jobs, [&](size_t index) {
    CodePart &part = parts[index];
    if (index > 0)
      part.module = readBitcode(moved[index - 1], *part.context);
    optimize(part, options.optimizationLevel, options.lowering);
  });
  return parts;
}

/// What was made a symbol of several modules belongs to one again.
static void localizeHidden(llvm::Module &module) {
  for (llvm::GlobalObject &global : module.global_objects())
    if (global.hasHiddenVisibility() && !global.isDeclaration()) {
      global.setVisibility(llvm::GlobalValue::DefaultVisibility);
      global.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
}

Error chimera::runner::joinParts(LoweredModule &lowered) {
  if (lowered.parts.size() == 1)
    return Error::success();
  CodePart &whole = lowered.parts.front();
  llvm::Linker linker(*whole.module);
  for (CodePart &part : llvm::drop_begin(lowered.parts))
    if (linker.linkInModule(
            readBitcode(writeBitcode(*part.module), *whole.context)))
      return createStringError("the parts of the program do not fit together");
  lowered.parts.resize(1);
  localizeHidden(*whole.module);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

Expected<LoweredModule>
chimera::runner::generateLLVM(ModuleOp module, ModuleInterface interface,
                              std::unique_ptr<llvm::TargetMachine> machine,
                              const CompileOptions &options) {
  Stage stage(options.listener, "optimize");
  CodePart whole;
  whole.context = createContext();
  whole.machine = std::move(machine);
  DiagnosticCollector diagnostics(module.getContext());
  readPrepared(module, interface.functions);
  module.walk(dropForeignAttributes);
  whole.module = translateModuleToLLVMIR(module, *whole.context);
  if (!whole.module)
    return diagnostics.takeError("translation to LLVM IR failed");
  whole.module->setTargetTriple(whole.machine->getTargetTriple());
  whole.module->setDataLayout(whole.machine->createDataLayout());
  if (Error error = addPackedWrappers(*whole.module, interface.functions))
    return std::move(error);
  if (options.lowering == Lowering::Chimera)
    addProcessorCheck(*whole.module, *whole.machine, interface.functions);
  for (Function &function : interface.functions)
    if (Error error = movePrepared(*whole.module, function))
      return std::move(error);
  reportFailures(*whole.module);
  shareLoops(*whole.module);
  std::string problems;
  llvm::raw_string_ostream os(problems);
  if (llvm::verifyModule(*whole.module, &os))
    return createStringError("lowering made invalid LLVM IR: " +
                             StringRef(problems).split('\n').first);
  if (options.lowering == Lowering::FastReference)
    relax(*whole.module);
  LoweredModule lowered;
  lowered.parts = optimizeInParts(std::move(whole), options);
  lowered.interface = std::move(interface);
  return lowered;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

namespace {
/// Tells a listener, in one thread at a time, of functions that are there.
class EmissionCounter {
public:
  EmissionCounter(CompileListener &listener, size_t all)
      : listener(listener), all(all) {}

  void count() {
    std::lock_guard<std::mutex> lock(mutex);
    listener.emitted(all);
  }

private:
  std::mutex mutex;
  CompileListener &listener;
  size_t all;
};

/// Counts each function that comes to the end of the passes.
class CountEmitted : public llvm::FunctionPass {
public:
  explicit CountEmitted(EmissionCounter &counter)
      : FunctionPass(id), counter(counter) {}

  bool runOnFunction(llvm::Function &) override {
    counter.count();
    return false;
  }

private:
  static char id;

  EmissionCounter &counter;
};
} // namespace

char CountEmitted::id = 0;

static size_t countDefinitions(const LoweredModule &lowered) {
  size_t count = 0;
  for (const CodePart &part : lowered.parts)
    count += llvm::count_if(*part.module, [](const llvm::Function &function) {
      return !function.isDeclaration();
    });
  return count;
}

/// Null if the target cannot emit this kind of file.
static std::unique_ptr<llvm::MemoryBuffer>
emitPart(CodePart &part, llvm::CodeGenFileType type, EmissionCounter *counter) {
  SmallVector<char, 0> code;
  llvm::raw_svector_ostream os(code);
  llvm::legacy::PassManager passes;
  if (part.machine->addPassesToEmitFile(passes, os, nullptr, type))
    return nullptr;
  if (counter)
    passes.add(new CountEmitted(*counter));
  passes.run(*part.module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(code), /*RequiresNullTerminator=*/false);
}

Expected<ObjectFiles> chimera::runner::emitCode(LoweredModule &lowered,
                                                llvm::CodeGenFileType type,
                                                const CompileOptions &options) {
  Stage stage(options.listener, "emit code");
  std::optional<EmissionCounter> counter;
  if (options.listener)
    counter.emplace(*options.listener, countDefinitions(lowered));
  ObjectFiles files(lowered.parts.size());
  runJobs(files.size(), options.jobs, [&](size_t index) {
    files[index] =
        emitPart(lowered.parts[index], type, counter ? &*counter : nullptr);
  });
  if (llvm::is_contained(files, nullptr))
    return createStringError("the target cannot emit this kind of file");
  return files;
}
