//===- Compiler.cpp - From a module to machine code -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Compiler.h"

#include "Chimera/InitAll.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/PlanChainAction.h"
#include "DiagnosticCollector.h"
#include "LoopOrder.h"
#include "Machines.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Pass.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <chrono>

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

void chimera::runner::registerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllToLLVMIRTranslations(registry);
}

Expected<OwningOpRef<ModuleOp>>
chimera::runner::parseFile(StringRef path, MLIRContext *context) {
  DiagnosticCollector diagnostics(context);
  ParserConfig config(context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, config);
  if (!module)
    return diagnostics.takeError("could not parse " + path.str());
  return module;
}

static std::optional<ElementKind> getElementKind(Type type) {
  if (type.isF32())
    return ElementKind::F32;
  if (type.isF64())
    return ElementKind::F64;
  if (type.isBF16())
    return ElementKind::BF16;
  if (type.isIndex())
    return ElementKind::I64;
  if (!type.isSignlessInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementKind::I1;
  case 8:
    return ElementKind::I8;
  case 32:
    return ElementKind::I32;
  case 64:
    return ElementKind::I64;
  default:
    return std::nullopt;
  }
}

static std::optional<ValueType> getValueType(Type type) {
  ValueType result;
  std::optional<ElementKind> kind;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (!tensor.hasStaticShape() || tensor.getEncoding())
      return std::nullopt;
    kind = getElementKind(tensor.getElementType());
    result.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  } else {
    kind = getElementKind(type);
    result.isScalar = true;
  }
  if (!kind)
    return std::nullopt;
  result.element = *kind;
  return result;
}

static Error makeTypeError(func::FuncOp function, StringRef what, Type type,
                           StringRef expected) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "'" << function.getName() << "' has " << what << " of type " << type;
  auto shaped = dyn_cast<ShapedType>(type);
  if (shaped && shaped.hasRank() && !shaped.hasStaticShape())
    os << "; programs with dynamic shapes in their signature cannot be run";
  else
    os << "; supported are " << expected;
  return createStringError(llvm::Twine(text));
}

Expected<Function> chimera::runner::getSignature(func::FuncOp function) {
  constexpr StringRef tensors =
      "tensors of f32, f64, bf16, i1, i8, i32, i64 and index";
  if (function.isDeclaration())
    return createStringError("'" + function.getName() + "' has no body");
  Function result;
  result.name = function.getName().str();
  for (Type type : function.getArgumentTypes()) {
    std::optional<ValueType> valueType = getValueType(type);
    if (!valueType)
      return makeTypeError(function, "an argument", type,
                           (tensors + ", and scalars").str());
    result.arguments.push_back(std::move(*valueType));
  }
  for (Type type : function.getResultTypes()) {
    std::optional<ValueType> valueType = getValueType(type);
    if (!valueType || valueType->isScalar)
      return makeTypeError(function, "a result", type, tensors);
    result.results.push_back(std::move(*valueType));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// The IR is verified after the last pass: after each, as `chimera-opt` does,
/// takes a quarter of the time.
static Error runPasses(ModuleOp module, StringRef what,
                       llvm::function_ref<void(OpPassManager &)> build) {
  DiagnosticCollector diagnostics(module.getContext());
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  build(pm);
  if (failed(pm.run(module)) || failed(verify(module)))
    return diagnostics.takeError((what + " failed").str());
  return Error::success();
}

bool chimera::runner::needsFrontEnd(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isa_and_present<tosa::TosaDialect>(op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

Error chimera::runner::runFrontEnd(ModuleOp module) {
  return runPasses(module, "the front end",
                   [](OpPassManager &pm) { buildFrontEndPipeline(pm); });
}

Error chimera::runner::loadMicroKernels(ModuleOp module, StringRef path) {
  LoadMicroKernelsPassOptions load;
  load.file = path.str();
  return runPasses(module, "loading micro kernels", [&](OpPassManager &pm) {
    pm.addPass(createLoadMicroKernelsPass(load));
  });
}

/// Counts what functions consist of, constants apart.
static size_t countOperators(ModuleOp module) {
  size_t count = 0;
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      count += llvm::count_if(block, [](Operation &op) {
        return !op.hasTrait<OpTrait::ConstantLike>() &&
               !op.hasTrait<OpTrait::IsTerminator>();
      });
  return count;
}

/// Tells `listener` of each chain that is planned in `context`.
static void watchChains(MLIRContext *context, CompileListener *listener) {
  context->registerActionHandler([listener](llvm::function_ref<void()> run,
                                            const tracing::Action &action) {
    run();
    if (isa<PlanChainAction>(action))
      listener->planned();
  });
}

Error chimera::runner::plan(ModuleOp module, const CompileOptions &options) {
  Stage stage(options.listener, "plan");
  llvm::scope_exit stopWatching([&] {
    if (options.listener)
      module->getContext()->registerActionHandler(nullptr);
  });
  if (options.listener) {
    options.listener->counted(countOperators(module));
    watchChains(module->getContext(), options.listener);
  }
  if (!options.microKernels.empty())
    if (Error error = loadMicroKernels(module, options.microKernels))
      return error;
  PlanningOptions planning;
  planning.target = options.target;
  planning.threads = options.threads;
  planning.fuse = options.fuse;
  planning.tiles = options.tiles;
  planning.rank = options.rank;
  return runPasses(module, "planning", [&](OpPassManager &pm) {
    buildFrontEndPipeline(pm);
    buildPlanningPipeline(pm, planning);
  });
}

/// Makes the public functions callable: a C interface for each, and arguments
/// that must not be written.
static ModuleInterface prepareFunctions(ModuleOp module) {
  ModuleInterface interface;
  Builder builder(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    StringRef name = function.getName();
    if (!function.isPublic()) {
      interface.obstacles[name] =
          ("'" + name + "' is private; only public functions can be called")
              .str();
      continue;
    }
    Expected<Function> signature = getSignature(function);
    if (!signature) {
      interface.obstacles[name] = llvm::toString(signature.takeError());
      continue;
    }
    interface.functions.push_back(std::move(*signature));
    function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                      builder.getUnitAttr());
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isa<TensorType>(type))
        function.setArgAttr(
            index, bufferization::BufferizationDialect::kWritableAttrName,
            builder.getBoolAttr(false));
  }
  return interface;
}

/// Leaves parts without elements out of concatenations. Upstream would make
/// views of them, which are invalid where they start at the end of the whole.
static void dropEmptyParts(ModuleOp module) {
  SmallVector<tensor::ConcatOp> concats;
  module.walk([&](tensor::ConcatOp op) { concats.push_back(op); });
  for (tensor::ConcatOp op : concats) {
    SmallVector<Value> parts;
    for (Value part : op.getInputs())
      if (!llvm::is_contained(cast<ShapedType>(part.getType()).getShape(), 0))
        parts.push_back(part);
    OpBuilder builder(op);
    RankedTensorType type = op.getResultType();
    if (!parts.empty())
      op.getInputsMutable().assign(parts);
    else if (type.hasStaticShape())
      op.replaceAllUsesWith(
          tensor::EmptyOp::create(builder, op.getLoc(), type, ValueRange())
              .getOperation());
  }
}

static Error lowerToLLVMDialect(ModuleOp module,
                                const CompileOptions &options) {
  if (options.lowering != Lowering::Chimera) {
    // Chains of the input, with schedules written by hand, are what is checked.
    if (Error error =
            runPasses(module, "taking chains apart", [](OpPassManager &pm) {
              TilePassOptions apart;
              apart.dissolve = true;
              pm.addPass(createTilePass(apart));
            }))
      return error;
    if (needsFrontEnd(module))
      if (Error error = runFrontEnd(module))
        return error;
    if (options.lowering == Lowering::FastReference)
      orderLoops(module);
    dropEmptyParts(module);
    return runPasses(module, "the reference lowering", [](OpPassManager &pm) {
      buildReferencePipeline(pm, /*outParams=*/true);
    });
  }
  auto begin = std::chrono::steady_clock::now();
  if (Error error = plan(module, options))
    return error;
  std::chrono::duration<double> planning =
      std::chrono::steady_clock::now() - begin;
  if (options.onPlanned)
    options.onPlanned(module, planning.count());
  LoweringOptions lowering;
  lowering.target = options.target;
  lowering.threads = options.threads;
  lowering.outParams = true;
  Stage stage(options.listener, "lower");
  return runPasses(module, "lowering", [&](OpPassManager &pm) {
    buildLoweringPipeline(pm, lowering);
  });
}

//===----------------------------------------------------------------------===//
// LLVM IR
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

/// Chimera's code comes in the order and as far unrolled as it is to run, or
/// says which loops are to be unrolled: LLVM's quick pipeline, with its loop
/// vectoriser, makes code as fast as the thorough one does, in less than three
/// quarters of the time.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned level, Lowering lowering) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = level > 1 && lowering != Lowering::Chimera;
  tuning.LoopInterleaving = level > 1;
  tuning.LoopVectorization = level > 1;
  // Micro kernels are vectors already; looking for more in their straight-line
  // code takes a fifth of the time to compile and finds nothing.
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
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
  passes.run(module, modules);
}

/// Without a handler LLVM ends the process on errors. The IR is verified and
/// its target is ours, so that what is left to report are remarks.
static void ignoreDiagnostic(const llvm::DiagnosticInfo *, void *) {}

static Expected<LoweredModule> translate(ModuleOp module) {
  LoweredModule lowered;
  lowered.context = std::make_unique<llvm::LLVMContext>();
  lowered.context->setDiagnosticHandlerCallBack(ignoreDiagnostic);
  DiagnosticCollector diagnostics(module.getContext());
  lowered.module = translateModuleToLLVMIR(module, *lowered.context);
  if (!lowered.module)
    return diagnostics.takeError("translation to LLVM IR failed");
  return lowered;
}

/// The threads that a module compiled with `options` runs on. Plain loops run
/// on one.
static Expected<int64_t> getNumThreads(ModuleOp module,
                                       const CompileOptions &options) {
  if (options.lowering != Lowering::Chimera)
    return 1;
  Expected<TargetAttrInterface> target = getTargetOf(module, options.target);
  if (!target)
    return target.takeError();
  return resolveThreads(*target, options.threads);
}

Expected<LoweredModule> chimera::runner::lower(ModuleOp module,
                                               const CompileOptions &options) {
  if (options.optimizationLevel > 3)
    return createStringError("LLVM has the optimisation levels 0 to 3, got %u",
                             options.optimizationLevel);
  OwningOpRef<ModuleOp> clone = module.clone();
  ModuleInterface interface = prepareFunctions(*clone);
  if (Error error = getNumThreads(*clone, options).moveInto(interface.threads))
    return std::move(error);
  Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createTargetMachine(*clone, options);
  if (!machine)
    return machine.takeError();
  if (Error error = lowerToLLVMDialect(*clone, options))
    return error;

  Stage stage(options.listener, "optimize");
  Expected<LoweredModule> lowered = translate(*clone);
  if (!lowered)
    return lowered;
  lowered->interface = std::move(interface);
  lowered->machine = std::move(*machine);
  llvm::Module &llvmModule = *lowered->module;
  llvmModule.setTargetTriple(lowered->machine->getTargetTriple());
  llvmModule.setDataLayout(lowered->machine->createDataLayout());
  if (Error error = addPackedWrappers(llvmModule, lowered->interface.functions))
    return std::move(error);
  std::string problems;
  llvm::raw_string_ostream os(problems);
  if (llvm::verifyModule(llvmModule, &os))
    return createStringError("lowering made invalid LLVM IR: " +
                             StringRef(problems).split('\n').first);
  if (options.lowering == Lowering::FastReference)
    relax(llvmModule);
  optimize(llvmModule, *lowered->machine, options.optimizationLevel,
           options.lowering);
  return lowered;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

namespace {
/// Tells a listener of each function that comes to the end of the passes.
class FunctionCounter : public llvm::FunctionPass {
public:
  FunctionCounter(CompileListener *listener, size_t all)
      : FunctionPass(id), listener(listener), all(all) {}

  bool runOnFunction(llvm::Function &) override {
    listener->emitted(all);
    return false;
  }

private:
  static char id;

  CompileListener *listener;
  size_t all;
};
} // namespace

char FunctionCounter::id = 0;

static size_t countDefinitions(const llvm::Module &module) {
  return llvm::count_if(module, [](const llvm::Function &function) {
    return !function.isDeclaration();
  });
}

Expected<std::unique_ptr<llvm::MemoryBuffer>>
chimera::runner::emitCode(LoweredModule &lowered, llvm::CodeGenFileType type,
                          CompileListener *listener) {
  Stage stage(listener, "emit code");
  SmallVector<char, 0> code;
  llvm::raw_svector_ostream os(code);
  llvm::legacy::PassManager passes;
  if (lowered.machine->addPassesToEmitFile(passes, os, nullptr, type))
    return createStringError("the target cannot emit this kind of file");
  if (listener)
    passes.add(
        new FunctionCounter(listener, countDefinitions(*lowered.module)));
  passes.run(*lowered.module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(code), /*RequiresNullTerminator=*/false);
}

Error chimera::runner::linkSharedLibrary(StringRef objectPath,
                                         StringRef libraryPath) {
  for (StringRef name : {"clang-22", "clang", "cc", "gcc"}) {
    llvm::ErrorOr<std::string> driver = llvm::sys::findProgramByName(name);
    if (!driver)
      continue;
    SmallVector<StringRef> arguments = {*driver,
                                        "-shared",
                                        "-o",
                                        libraryPath,
                                        objectPath,
                                        "-Wl,--as-needed",
                                        CHIMERA_RUNTIME_LIBRARIES,
                                        "-Wl,-rpath," CHIMERA_RUNTIME_DIR,
                                        "-lm"};
    std::string message;
    if (llvm::sys::ExecuteAndWait(*driver, arguments, std::nullopt, {}, 0, 0,
                                  &message) == 0)
      return Error::success();
    return createStringError(*driver + " could not link " + libraryPath +
                             (message.empty() ? "" : ": " + message));
  }
  return createStringError("no linker: --emit=so needs clang or cc in PATH");
}

Expected<std::unique_ptr<Program>>
chimera::runner::compile(ModuleOp module, const CompileOptions &options) {
  Expected<LoweredModule> lowered = lower(module, options);
  if (!lowered)
    return lowered.takeError();
  Expected<std::unique_ptr<llvm::MemoryBuffer>> object =
      emitCode(*lowered, llvm::CodeGenFileType::ObjectFile, options.listener);
  if (!object)
    return object.takeError();
  return Program::load(std::move(*object), std::move(lowered->interface));
}
