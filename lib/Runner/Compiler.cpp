//===- Compiler.cpp - From a module to machine code -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Compiler.h"

#include "Chimera/IR/Parts.h"
#include "Chimera/InitAll.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/PlanChainAction.h"
#include "CodeGeneration.h"
#include "DiagnosticCollector.h"
#include "JobPool.h"
#include "LoopOrder.h"
#include "Machines.h"
#include "Panels.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Threading.h"

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

Expected<OwningOpRef<ModuleOp>>
chimera::runner::parseText(StringRef text, StringRef name,
                           MLIRContext *context) {
  DiagnosticCollector diagnostics(context);
  ParserConfig config(context);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, config, name);
  if (!module)
    return diagnostics.takeError(("could not parse " + name).str());
  return module;
}

Error chimera::runner::verifyModule(ModuleOp module) {
  DiagnosticCollector diagnostics(module.getContext());
  if (failed(verify(module)))
    return diagnostics.takeError("the module is not valid");
  return Error::success();
}

Error chimera::runner::markConstants(func::FuncOp function,
                                     ArrayRef<unsigned> arguments) {
  for (unsigned index : arguments) {
    if (index >= function.getNumArguments())
      return createStringError(
          "argument %u is to be constant, but '%s' has %u arguments, counted "
          "from 0",
          index, function.getName().str().c_str(), function.getNumArguments());
    function.setArgAttr(index, ChimeraDialect::getConstantAttrName(),
                        UnitAttr::get(function.getContext()));
  }
  return Error::success();
}

Error chimera::runner::markPanels(func::FuncOp function,
                                  ArrayRef<Panels> panels) {
  for (auto [argument, columns, isOnly] : panels) {
    if (argument >= function.getNumArguments() ||
        !function.getArgAttr(argument, ChimeraDialect::getConstantAttrName()))
      return createStringError("panels of argument %u of '%s', which is no "
                               "constant",
                               argument, function.getName().str().c_str());
    if (columns <= 0)
      return createStringError("panels have at least one column");
    function.setArgAttr(
        argument, ChimeraDialect::getPanelsAttrName(),
        IntegerAttr::get(IntegerType::get(function.getContext(), 64), columns));
    if (isOnly)
      function.setArgAttr(argument, ChimeraDialect::getOnlyInPanelsAttrName(),
                          UnitAttr::get(function.getContext()));
  }
  return Error::success();
}

static std::optional<ElementKind> getElementKind(Type type) {
  if (type.isF32())
    return ElementKind::F32;
  if (type.isF64())
    return ElementKind::F64;
  if (type.isF16())
    return ElementKind::F16;
  if (type.isBF16())
    return ElementKind::BF16;
  if (type.isIndex())
    return ElementKind::I64;
  if (!type.isSignlessInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementKind::I1;
  case 4:
    return ElementKind::I4;
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
    if (tensor.getEncoding())
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
  os << "'" << function.getName() << "' has " << what << " of type " << type
     << "; supported are " << expected;
  return createStringError(llvm::Twine(text));
}

/// None if `part` is all of a tensor.
static std::optional<Part> describePart(PartAttr part) {
  Part result;
  result.shape.assign(part.getShape().begin(), part.getShape().end());
  bool isCut = false;
  for (auto [axes, size] :
       llvm::zip_equal(part.getAxes(), getPartSizes(part))) {
    auto &steps = result.steps.emplace_back(part.getGrid().size());
    int64_t step = size;
    for (int64_t axis : llvm::reverse(axes.asArrayRef())) {
      steps[axis] = step;
      step *= part.getGrid()[axis];
      isCut = true;
    }
  }
  return isCut ? std::optional(std::move(result)) : std::nullopt;
}

/// Adds what `function` says of the processes that it runs as.
static void readParts(func::FuncOp function, Function &result) {
  StringRef name = ChimeraDialect::getPartAttrName();
  auto read = [&](Attribute attribute) -> std::optional<Part> {
    auto part = dyn_cast_or_null<PartAttr>(attribute);
    if (!part)
      return std::nullopt;
    result.grid.assign(part.getGrid().begin(), part.getGrid().end());
    return describePart(part);
  };
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    result.argumentParts.push_back(read(function.getArgAttr(index, name)));
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    result.resultParts.push_back(read(function.getResultAttr(index, name)));
}

Expected<Function> chimera::runner::getSignature(func::FuncOp function) {
  constexpr StringRef tensors =
      "tensors of f32, f64, f16, bf16, i1, i4, i8, i32, i64 and index";
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
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (function.getArgAttr(index, ChimeraDialect::getConstantAttrName()))
      result.constants.push_back(index);
  for (Type type : function.getResultTypes()) {
    std::optional<ValueType> valueType = getValueType(type);
    if (!valueType || valueType->isScalar)
      return makeTypeError(function, "a result", type, tensors);
    result.results.push_back(std::move(*valueType));
  }
  readParts(function, result);
  return result;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {
/// Gives a context without threads `jobs` of them for a while. Those of a
/// context with threads stay as they are.
class ThreadsOfContext {
public:
  ThreadsOfContext(MLIRContext *context, unsigned jobs) {
    if (jobs < 2 || context->isMultithreadingEnabled())
      return;
    owner = context;
    pool.emplace(jobs);
    owner->setThreadPool(*pool);
  }
  ~ThreadsOfContext() {
    if (!owner)
      return;
    owner->disableMultithreading();
    // The context keeps its last pool for when threads are enabled again. This
    // one lives forever and starts threads only then.
    static auto *rest =
        new JobPool(llvm::hardware_concurrency().compute_thread_count());
    owner->setThreadPool(*rest);
    owner->disableMultithreading();
  }
  ThreadsOfContext(const ThreadsOfContext &) = delete;
  ThreadsOfContext &operator=(const ThreadsOfContext &) = delete;

private:
  MLIRContext *owner = nullptr;
  std::optional<JobPool> pool;
};
} // namespace

/// Runs passes on `jobs` threads. The IR is verified after the last pass: after
/// each, as `chimera-opt` does, takes a quarter of the time.
static Error runPasses(ModuleOp module, StringRef what,
                       llvm::function_ref<void(OpPassManager &)> build,
                       unsigned jobs = 1) {
  ThreadsOfContext threads(module.getContext(), jobs);
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

Error chimera::runner::addResultSizes(ModuleOp module) {
  return runPasses(
      module, "finding the sizes of results",
      [](OpPassManager &pm) { pm.addPass(createAddResultSizesPass()); });
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
  auto build = [&](OpPassManager &pm) {
    buildFrontEndPipeline(pm);
    buildPlanningPipeline(pm, planning);
  };
  // Remarks on several functions would come in any order.
  bool hasOneFunction = llvm::hasSingleElement(module.getOps<func::FuncOp>());
  return runPasses(module, "planning", build,
                   hasOneFunction ? options.jobs : 1);
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

Error chimera::runner::verifyCallable(ModuleOp module,
                                      const ModuleInterface &interface,
                                      StringRef entry) {
  if (entry.empty() && !interface.functions.empty())
    return Error::success();
  for (auto function : module.getOps<func::FuncOp>()) {
    StringRef name = function.getName();
    auto obstacle = interface.obstacles.find(name);
    bool isMeant = entry.empty() ? function.isPublic() : name == entry;
    if (isMeant && obstacle != interface.obstacles.end())
      return makeError(function.getLoc(), obstacle->second);
    if (name == entry)
      return Error::success();
  }
  return createStringError(entry.empty()
                               ? "the program has no public function"
                               : "the program has no function '" + entry + "'");
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

static Error lowerToLLVMDialect(ModuleOp module, const CompileOptions &options,
                                MutableArrayRef<Function> functions) {
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
  if (options.isHosted)
    findPanels(module, functions);
  LoweringOptions lowering;
  lowering.target = options.target;
  lowering.threads = options.threads;
  lowering.outParams = true;
  lowering.groups = options.groups;
  lowering.groupRank = options.groupRank;
  lowering.emulateTiles = options.emulateTiles;
  Stage stage(options.listener, "lower");
  auto makeKernels = [&](OpPassManager &pm) {
    buildKernelPipeline(pm, lowering);
    if (options.isHosted) {
      pm.addPass(createLetHostsKeepPreparedPass());
      pm.addPass(createReportConstantsReadPass());
    }
  };
  if (Error error = runPasses(module, "lowering", makeKernels))
    return error;
  auto makeCode = [&](OpPassManager &pm) { buildCodePipeline(pm, lowering); };
  return runPasses(module, "lowering", makeCode, options.jobs);
}

//===----------------------------------------------------------------------===//
// Everything together
//===----------------------------------------------------------------------===//

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
  if (Error error = lowerToLLVMDialect(*clone, options, interface.functions))
    return error;
  return generateLLVM(*clone, std::move(interface), std::move(*machine),
                      options);
}

Expected<std::unique_ptr<Program>>
chimera::runner::compile(ModuleOp module, const CompileOptions &options) {
  Expected<LoweredModule> lowered = lower(module, options);
  if (!lowered)
    return lowered.takeError();
  Expected<ObjectFiles> objects =
      emitCode(*lowered, llvm::CodeGenFileType::ObjectFile, options);
  if (!objects)
    return objects.takeError();
  return Program::load(std::move(*objects), std::move(lowered->interface));
}
