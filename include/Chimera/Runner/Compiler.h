//===- Compiler.h - From a module to a running program ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles linalg on tensors in process and makes its functions callable:
//
//   auto program = compile(module, options);           // MLIR to machine code
//   auto call = (*program)->bind("main", args, results);
//   (*call)();                                         // one indirect call
//
// The caller owns arguments and results; programs never write their arguments.
// Everything that goes wrong is an llvm::Error with a message of one line.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_COMPILER_H
#define CHIMERA_RUNNER_COMPILER_H

#include "Chimera/Conversion/Pipelines.h"
#include "Chimera/Runner/CompileListener.h"
#include "Chimera/Runner/Tensor.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <functional>
#include <optional>

namespace chimera::runner {

enum class Lowering {
  /// Chimera's planning and lowering.
  Chimera,
  /// Upstream passes and plain loops, for the machine we run on.
  Reference,
  /// The same with loops and sums in any order, so that they vectorise. For
  /// arithmetic much more exact than what is compared with it.
  FastReference
};

struct CompileOptions {
  Lowering lowering = Lowering::Chimera;
  /// Used unless the module carries a `chimera.target`.
  std::string target = "host";
  /// Threads that run the program's parallel loops; 0 means one per core of
  /// the target.
  int64_t threads = 0;
  FuseMode fuse = FuseMode::Auto;
  TileMode tiles = TileMode::Exact;
  /// Runner-up to take instead of the best plan of each chain; 0 is the best.
  unsigned rank = 0;
  /// How operators outside chains become groups, and the partition to take
  /// instead of the cheapest; 0 is the cheapest.
  PartitionSearchKind groups = PartitionSearchKind::Exact;
  unsigned groupRank = 0;
  /// Compute tiles of AMX on vectors, on machines without it.
  bool emulateTiles = false;
  /// Let preparations tell the runtime in a host which constants nobody will
  /// read again, and let the host say which prepared values are there already
  /// (runtime/chimera_runtime.h).
  bool isHosted = false;
  /// A file with micro kernels of the user's; empty for none.
  std::string microKernels;
  /// LLVM's optimisation level, 0 to 3; others are an error.
  unsigned optimizationLevel = 3;
  /// Called with the planned module and the seconds that planning took, if
  /// set; not for references.
  std::function<void(mlir::ModuleOp, double seconds)> onPlanned;
  /// Threads that plan chains and make machine code of the program's kernels,
  /// the former unless the context has threads of its own. Plans and code do
  /// not depend on it.
  unsigned jobs = 1;
  /// Hears how far the compilation is, if set. Takes the place of the context's
  /// handler of actions while chains are planned.
  CompileListener *listener = nullptr;
};

/// Which slice of a tensor each of several processes has.
struct Part {
  /// Of the whole tensor.
  llvm::SmallVector<int64_t> shape;
  /// For each dimension, by how many elements the slice of a process begins
  /// later for each step along each axis of the grid.
  llvm::SmallVector<llvm::SmallVector<int64_t>> steps;
};

/// Where the values of an argument are kept.
struct StoredWeight {
  unsigned argument;
  std::string file, tensor;
};

/// In panels of how many columns a constant argument is packed, and whether it
/// is kept nowhere else.
struct Panels {
  unsigned argument;
  int64_t columns;
  bool isOnly = false;
};

/// What a preparation computes, and leaves in the global `memory` unless the
/// host has another place.
struct PreparedValue {
  std::string memory;
  /// Values of one recipe and the same constants are the same; empty for one
  /// that is like no other.
  std::string recipe;
  /// Arguments, by number, in the order in which the recipe has them.
  llvm::SmallVector<int64_t> constants;
  uint64_t bytes = 0;
};

/// A function that can be called from outside.
struct Function {
  std::string name;
  llvm::SmallVector<ValueType> arguments;
  /// Tensors only.
  llvm::SmallVector<ValueType> results;
  /// Arguments that are the same in every call, by number.
  llvm::SmallVector<unsigned> constants;
  /// True if `<name>_sizes` tells the dynamic sizes of results.
  bool hasSizes = false;
  /// True if `<name>_prepare` is to be called first, with the same arguments;
  /// see `chimera-prepare-constants`.
  bool isPrepared = false;
  /// What that computes, and of which constants it makes panels, if the program
  /// is compiled for hosts.
  std::vector<PreparedValue> prepared;
  std::vector<Panels> panels;
  /// Those of `constants` that calls read themselves, once all is prepared.
  llvm::SmallVector<unsigned> constantsRead;
  /// Of one that runs as several processes: how many along each axis, and the
  /// parts of arguments and results. Nothing is whole in all processes.
  llvm::SmallVector<int64_t> grid;
  std::vector<std::optional<Part>> argumentParts, resultParts;
  /// Of constants, as far as somebody has said so.
  std::vector<StoredWeight> weights;
};

/// Registers what `compile` needs: Chimera's and upstream's dialects, and the
/// translations to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Parses a file ("-" is standard input).
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseFile(llvm::StringRef path, mlir::MLIRContext *context);

/// Parses `text`, which messages call `name`.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseText(llvm::StringRef text, llvm::StringRef name,
          mlir::MLIRContext *context);

/// Fails if `module`, which someone else has built, is not valid.
llvm::Error verifyModule(mlir::ModuleOp module);

/// Says that these arguments of `function`, counted from 0, are the same in
/// every call.
llvm::Error markConstants(mlir::func::FuncOp function,
                          llvm::ArrayRef<unsigned> arguments);

/// Says in which panels other programs keep what they prepare of these constant
/// arguments of `function`, so that plans may share them (`chimera.panels`), or
/// have to (`chimera.only_in_panels`).
llvm::Error markPanels(mlir::func::FuncOp function,
                       llvm::ArrayRef<Panels> panels);

/// The signature of `function`. Fails if it cannot be called from outside.
llvm::Expected<Function> getSignature(mlir::func::FuncOp function);

/// True if `module` holds operations that the front end has to lower before
/// either lowering.
bool needsFrontEnd(mlir::ModuleOp module);

/// Brings `module` to linalg, in place.
llvm::Error runFrontEnd(mlir::ModuleOp module);

/// Adds functions that tell the sizes of dynamic results, `<name>_sizes`, as
/// far as these are known before a call; see `chimera-add-result-sizes`.
llvm::Error addResultSizes(mlir::ModuleOp module);

/// Takes the micro kernels in the file `path` into `module`.
llvm::Error loadMicroKernels(mlir::ModuleOp module, llvm::StringRef path);

/// Forms and schedules chains in `module`, in place, front end and micro
/// kernels included.
llvm::Error plan(mlir::ModuleOp module, const CompileOptions &options);

/// The target that `options` name for `module`.
llvm::Expected<TargetAttrInterface> getTargetOf(mlir::ModuleOp module,
                                                llvm::StringRef name);

/// The target's cores, or `threads` if that is positive.
int64_t resolveThreads(TargetAttrInterface target, int64_t threads);

/// Says so if this machine lacks instructions that the target has. It need not
/// have tiles if these are emulated.
llvm::Error checkRunsHere(TargetAttrInterface target,
                          bool emulatesTiles = false);

/// What can be called in a compiled module, and how.
struct ModuleInterface {
  /// The public functions that can be called from outside.
  std::vector<Function> functions;
  /// Of each other function, why it cannot be called: in a sentence that names
  /// it.
  llvm::StringMap<std::string> obstacles;
  /// Threads that run parallel loops.
  int64_t threads = 1;
};

/// The function of that name; an error says why it cannot be called.
llvm::Expected<const Function &> findFunction(const ModuleInterface &interface,
                                              llvm::StringRef name);

/// Fails unless a function of `module` can be called in what was compiled of
/// it, or, if `entry` is not empty, that one. The error says why and where.
llvm::Error verifyCallable(mlir::ModuleOp module,
                           const ModuleInterface &interface,
                           llvm::StringRef entry = "");

/// A module of LLVM IR with what it takes to make code of it.
struct CodePart {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// A module lowered and optimised: its kernels are in several parts, at least
/// one. Parts refer to one another by hidden symbols.
struct LoweredModule {
  std::vector<CodePart> parts;
  ModuleInterface interface;
};

/// Everything up to optimised LLVM IR. `module` stays as it is.
llvm::Expected<LoweredModule> lower(mlir::ModuleOp module,
                                    const CompileOptions &options);

/// Makes one part of all.
llvm::Error joinParts(LoweredModule &lowered);

/// The object files, or the assembly, of a program's parts.
using ObjectFiles = std::vector<std::unique_ptr<llvm::MemoryBuffer>>;

/// Object code or assembly of each part of a lowered module. Changes its IR.
llvm::Expected<ObjectFiles> emitCode(LoweredModule &lowered,
                                     llvm::CodeGenFileType type,
                                     const CompileOptions &options);

/// One object file of all, by the linker found in PATH where there are several.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mergeObjects(ObjectFiles objects);

/// Links object files into a shared library, with clang or another compiler
/// driver found in PATH. The file is written whole or not at all. `hostRuntime`
/// is the library with `chimera_call` and what programs call
/// (runtime/chimera_runtime.h), which the host will have loaded; without it
/// they call LLVM's and MLIR's runtimes.
llvm::Error linkSharedLibrary(const ObjectFiles &objects,
                              llvm::StringRef libraryPath,
                              llvm::StringRef hostRuntime = "");

/// Machine code in memory. It stays as long as a program or a call has it.
struct LoadedCode;

/// A function with its arguments and results in place. It may outlive its
/// program, but not its tensors. An empty one does nothing.
class Call {
public:
  /// Runs the function, with the program's number of threads whichever thread
  /// calls; a thread that is itself one of a parallel loop runs it alone.
  void operator()() const;

private:
  friend class Program;

  std::shared_ptr<const LoadedCode> code;
  int64_t threads = 1;
  void (*entry)(void **) = nullptr;
  mutable std::vector<void *> packed;
  /// What `packed` points to: addresses of memref descriptors.
  std::vector<void *> slots;
  std::vector<std::unique_ptr<int64_t[]>> descriptors;
};

/// A compiled module, ready to be called.
class Program {
public:
  static llvm::Expected<std::unique_ptr<Program>>
  load(ObjectFiles objects, ModuleInterface interface);

  llvm::ArrayRef<Function> getFunctions() const { return interface.functions; }
  /// The function of that name; an error says why it cannot be called.
  llvm::Expected<const Function &> getFunction(llvm::StringRef name) const {
    return findFunction(interface, name);
  }

  /// Prepares calls of `function`. Arguments marked `chimera.constant` have to
  /// hold what they are to hold. Sizes of results that are dynamic have to be
  /// those that follow from the arguments: nothing tests them.
  llvm::Expected<Call> bind(llvm::StringRef function,
                            llvm::ArrayRef<Tensor *> arguments,
                            llvm::ArrayRef<Tensor *> results);

  /// The same on memory of the caller's. Without `prepare` the program keeps
  /// what it has computed of constants in an earlier call.
  llvm::Expected<Call> bindMemory(llvm::StringRef function,
                                  llvm::ArrayRef<TensorRef> arguments,
                                  llvm::ArrayRef<TensorRef> results,
                                  bool prepare = true);

private:
  Program() = default;

  std::shared_ptr<const LoadedCode> code;
  ModuleInterface interface;
};

/// `lower`, `emitCode` and `load` in one. `module` stays as it is.
llvm::Expected<std::unique_ptr<Program>> compile(mlir::ModuleOp module,
                                                 const CompileOptions &options);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_COMPILER_H
