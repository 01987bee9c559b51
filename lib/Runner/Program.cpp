//===- Program.cpp - Machine code in memory -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedTiles.h"

#include "Chimera/Runner/Compiler.h"

#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

#include <dlfcn.h>

// Declared here because the header comes with the compiler, not with the
// library.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

struct chimera::runner::LoadedCode {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

//===----------------------------------------------------------------------===//
// Call
//===----------------------------------------------------------------------===//

/// Calls `entry` with parallel loops on `threads` threads. OpenMP keeps the
/// number for each thread that calls, so it is set in every call, and is what
/// it was afterwards.
static void runOnThreads(int64_t threads, void (*entry)(void **),
                         void **arguments) {
  int before = omp_get_max_threads();
  omp_set_num_threads(static_cast<int>(threads));
  entry(arguments);
  omp_set_num_threads(before);
}

void Call::operator()() const {
  if (entry)
    runOnThreads(threads, entry, packed.data());
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// An assertion of a program failed.
static void endProcess(const char *text) {
  llvm::errs() << "assertion of the program failed: " << text << '\n';
  std::abort();
}

/// Makes the copy of strided memrefs, and what happens where an assertion
/// fails, known to the code. Everything else that it calls is found in the
/// process: libm, libomp, the allocator.
static Error defineRuntime(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("memrefCopy", &memrefCopy);
  define("chimera_fail", &endProcess);
  forEachEmulatedTileFunction(define);
  return jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols)));
}

/// Lets the code find what the library that we are part of depends on, such as
/// libomp: whoever loaded it may have kept its symbols from the process. Where
/// we are part of a program itself, there is no such library.
static void searchOwnLibrary(llvm::orc::LLJIT &jit) {
  Dl_info self;
  llvm::orc::JITDylibSP process = jit.getProcessSymbolsJITDylib();
  if (!process ||
      !dladdr(reinterpret_cast<const void *>(&searchOwnLibrary), &self))
    return;
  auto generator = llvm::orc::DynamicLibrarySearchGenerator::Load(
      self.dli_fname, jit.getDataLayout().getGlobalPrefix());
  if (generator)
    process->addGenerator(std::move(*generator));
  else
    llvm::consumeError(generator.takeError());
}

/// Bytes in memory of what `objects` define, page by page.
static size_t countBytes(const ObjectFiles &objects) {
  constexpr size_t page = 4096;
  size_t bytes = 0;
  for (const std::unique_ptr<llvm::MemoryBuffer> &object : objects) {
    Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
        llvm::object::ObjectFile::createObjectFile(object->getMemBufferRef());
    if (!file) {
      llvm::consumeError(file.takeError());
      continue;
    }
    for (const llvm::object::SectionRef &section : (*file)->sections())
      bytes += llvm::alignTo(section.getSize(), page);
  }
  return bytes;
}

/// Keeps all objects in one range of addresses: code and what is prepared for
/// it have to be within reach of each other, and free addresses near the first
/// object may be far from those for the last.
static Expected<std::unique_ptr<llvm::orc::ObjectLayer>>
makeLinkingLayer(llvm::orc::ExecutionSession &session, size_t bytes) {
  constexpr size_t least = size_t(16) << 20;
  auto memory = llvm::orc::MapperJITLinkMemoryManager::CreateWithMapper<
      llvm::orc::InProcessMemoryMapper>(std::max(2 * bytes, least));
  if (!memory)
    return memory.takeError();
  return std::make_unique<llvm::orc::ObjectLinkingLayer>(session,
                                                         std::move(*memory));
}

Expected<std::unique_ptr<Program>> Program::load(ObjectFiles objects,
                                                 ModuleInterface interface) {
  Expected<std::unique_ptr<llvm::orc::LLJIT>> jit =
      llvm::orc::LLJITBuilder()
          .setObjectLinkingLayerCreator(
              [bytes = countBytes(objects)](auto &session) {
                return makeLinkingLayer(session, bytes);
              })
          .create();
  if (!jit)
    return jit.takeError();
  if (Error error = defineRuntime(**jit))
    return error;
  searchOwnLibrary(**jit);
  for (std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    if (Error error = (*jit)->addObjectFile(std::move(object)))
      return error;
  std::unique_ptr<Program> program(new Program());
  program->code = std::make_shared<LoadedCode>(LoadedCode{std::move(*jit)});
  program->interface = std::move(interface);
  return program;
}

Expected<const Function &>
chimera::runner::findFunction(const ModuleInterface &interface,
                              StringRef name) {
  for (const Function &function : interface.functions)
    if (function.name == name)
      return function;
  auto obstacle = interface.obstacles.find(name);
  if (obstacle != interface.obstacles.end())
    return createStringError(llvm::Twine(obstacle->second));
  return createStringError("the program has no function '" + name + "'");
}

static Error checkTensors(StringRef what, ArrayRef<ValueType> types,
                          ArrayRef<TensorRef> tensors) {
  if (types.size() != tensors.size())
    return createStringError("expected %zu %s, got %zu", types.size(),
                             what.str().c_str(), tensors.size());
  for (auto [type, tensor] : llvm::zip(types, tensors)) {
    if (!type.takes(tensor.type))
      return createStringError(what + " of type " + type.str() +
                               " expected, got " + tensor.type.str());
    if (!tensor.data && tensor.type.getBytes() > 0)
      return createStringError(what + " of type " + type.str() +
                               " expected, got no memory");
    if (reinterpret_cast<uintptr_t>(tensor.data) %
        getElementBytes(type.element))
      return createStringError(what + " of type " + type.str() +
                               " expected, got an address that is not aligned "
                               "to its elements");
  }
  return Error::success();
}

/// A memref descriptor: two pointers, the offset, sizes, strides.
static std::unique_ptr<int64_t[]> makeDescriptor(const TensorRef &tensor) {
  ArrayRef<int64_t> shape = tensor.type.shape;
  auto descriptor = std::make_unique<int64_t[]>(3 + 2 * shape.size());
  descriptor[0] = descriptor[1] = reinterpret_cast<int64_t>(tensor.data);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    descriptor[3 + i] = shape[i];
    descriptor[3 + shape.size() + i] = stride;
    stride *= shape[i];
  }
  return descriptor;
}

Expected<Call> Program::bind(StringRef name, ArrayRef<Tensor *> arguments,
                             ArrayRef<Tensor *> results) {
  auto refer = [](Tensor *tensor) {
    return TensorRef{tensor->getType(), tensor->data()};
  };
  return bindMemory(name, llvm::map_to_vector(arguments, refer),
                    llvm::map_to_vector(results, refer));
}

Expected<Call> Program::bindMemory(StringRef name,
                                   ArrayRef<TensorRef> arguments,
                                   ArrayRef<TensorRef> results, bool prepare) {
  Expected<const Function &> function = getFunction(name);
  if (!function)
    return function.takeError();
  if (Error error = checkTensors("arguments", function->arguments, arguments))
    return std::move(error);
  if (Error error = checkTensors("results", function->results, results))
    return std::move(error);
  auto address = code->jit->lookup(("_mlir_packed_" + name).str());
  if (!address)
    return address.takeError();

  Call call;
  call.code = code;
  call.threads = interface.threads;
  call.entry = address->toPtr<void (*)(void **)>();
  // Slots are pointed to: they must not move.
  call.slots.reserve(arguments.size() + results.size());
  auto addTensor = [&](const TensorRef &tensor) {
    call.descriptors.push_back(makeDescriptor(tensor));
    call.slots.push_back(call.descriptors.back().get());
    call.packed.push_back(&call.slots.back());
  };
  for (auto [type, argument] : llvm::zip(function->arguments, arguments)) {
    if (type.isScalar)
      call.packed.push_back(argument.data);
    else
      addTensor(argument);
  }
  llvm::for_each(results, addTensor);
  if (prepare && function->isPrepared) {
    auto preparation =
        code->jit->lookup(("_mlir_packed_" + name + "_prepare").str());
    if (!preparation)
      return preparation.takeError();
    runOnThreads(call.threads, preparation->toPtr<void (*)(void **)>(),
                 call.packed.data());
  }
  return call;
}
