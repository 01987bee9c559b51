//===- Call.cpp - Calls of the C interface ------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

using namespace chimera;
using namespace chimera::capi;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

using TensorRefs = llvm::SmallVector<runner::TensorRef>;

//===----------------------------------------------------------------------===//
// Memory of the caller
//===----------------------------------------------------------------------===//

/// `type` with the extents that `tensor` gives, if it gives any. Whether they
/// are those of `type` is tested by whoever binds the tensor.
static Expected<runner::ValueType> getType(const runner::ValueType &type,
                                           const ChimeraTensor &tensor) {
  if (!tensor.shape && tensor.rank == 0) {
    if (type.hasStaticShape())
      return type;
    return createStringError("needs its extents, which are not all known");
  }
  if (tensor.rank < 0 || !tensor.shape)
    return createStringError("has a rank, but no extents");
  runner::ValueType given = type;
  given.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  if (llvm::any_of(given.shape, [](int64_t extent) { return extent < 0; }))
    return createStringError("has a negative extent");
  return given;
}

static Expected<runner::TensorRef> getTensor(const runner::ValueType &type,
                                             const ChimeraTensor &tensor) {
  Expected<runner::ValueType> given = getType(type, tensor);
  if (!given)
    return given.takeError();
  if (type.takes(*given) &&
      tensor.numBytes != static_cast<size_t>(given->getBytes()))
    return createStringError("takes %lld bytes, got %zu",
                             static_cast<long long>(given->getBytes()),
                             tensor.numBytes);
  return runner::TensorRef{std::move(*given), tensor.data};
}

/// `what` is "argument" or "result".
static Expected<TensorRefs> getTensors(llvm::StringRef function,
                                       llvm::StringRef what,
                                       llvm::ArrayRef<runner::ValueType> types,
                                       intptr_t count,
                                       const ChimeraTensor *tensors) {
  if (count != static_cast<intptr_t>(types.size()))
    return createStringError("'" + function + "' has " +
                             llvm::Twine(types.size()) + " " + what +
                             "s, got " + llvm::Twine(count));
  if (count > 0 && !tensors)
    return createStringError("no " + what + "s of '" + function +
                             "' are given");
  TensorRefs result;
  for (auto [index, type] : llvm::enumerate(types)) {
    Expected<runner::TensorRef> tensor = getTensor(type, tensors[index]);
    if (!tensor)
      return createStringError(what + " " + llvm::Twine(index) + " of '" +
                               function + "', " + type.str() + ", " +
                               llvm::toString(tensor.takeError()));
    result.push_back(std::move(*tensor));
  }
  return result;
}

static Expected<runner::Call>
bind(runner::Program &program, const runner::Function &function,
     intptr_t numArguments, const ChimeraTensor *arguments, intptr_t numResults,
     const ChimeraTensor *results, bool prepare) {
  Expected<TensorRefs> inputs = getTensors(
      function.name, "argument", function.arguments, numArguments, arguments);
  if (!inputs)
    return inputs.takeError();
  Expected<TensorRefs> outputs = getTensors(
      function.name, "result", function.results, numResults, results);
  if (!outputs)
    return outputs.takeError();
  return program.bindMemory(function.name, *inputs, *outputs, prepare);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Loads the code, unless that has been done.
static Error load(capi::Program &program) {
  if (program.loaded)
    return Error::success();
  if (Error error = runner::checkRunsHere(program.target))
    return error;
  Expected<std::unique_ptr<runner::Program>> loaded =
      runner::Program::load(program.copyObjects(), program.interface);
  if (!loaded)
    return loaded.takeError();
  program.loaded = std::move(*loaded);
  return Error::success();
}

static Expected<std::unique_ptr<capi::Call>>
createCall(capi::Program &program, const runner::Function *function,
           intptr_t numArguments, const ChimeraTensor *arguments,
           intptr_t numResults, const ChimeraTensor *results) {
  if (Error error = findFunction(program, function).takeError())
    return std::move(error);
  if (Error error = load(program))
    return std::move(error);
  Expected<runner::Call> call =
      bind(*program.loaded, *function, numArguments, arguments, numResults,
           results, /*prepare=*/true);
  if (!call)
    return call.takeError();
  return std::unique_ptr<capi::Call>(new capi::Call{
      program.context, program.loaded, function->name, std::move(*call)});
}

ChimeraCall chimeraCallCreate(ChimeraProgram program, ChimeraFunction function,
                              intptr_t numArguments,
                              const ChimeraTensor *arguments,
                              intptr_t numResults,
                              const ChimeraTensor *results) {
  capi::Program *self = unwrap(program);
  if (!self || !function.ptr)
    return {nullptr};
  Expected<std::unique_ptr<capi::Call>> call = createCall(
      *self, unwrap(function), numArguments, arguments, numResults, results);
  if (call)
    return {call->release()};
  self->context.report(call.takeError());
  return {nullptr};
}

void chimeraCallDestroy(ChimeraCall call) { delete unwrap(call); }

static Error setTensors(capi::Call &call, intptr_t numArguments,
                        const ChimeraTensor *arguments, intptr_t numResults,
                        const ChimeraTensor *results) {
  Expected<const runner::Function &> function =
      call.program->getFunction(call.function);
  if (!function)
    return function.takeError();
  return bind(*call.program, *function, numArguments, arguments, numResults,
              results, /*prepare=*/false)
      .moveInto(call.call);
}

ChimeraLogicalResult chimeraCallSetTensors(ChimeraCall call,
                                           intptr_t numArguments,
                                           const ChimeraTensor *arguments,
                                           intptr_t numResults,
                                           const ChimeraTensor *results) {
  capi::Call *self = unwrap(call);
  if (!self)
    return {false};
  return self->context.conclude(
      setTensors(*self, numArguments, arguments, numResults, results));
}

void chimeraCallRun(ChimeraCall call) {
  if (const capi::Call *self = unwrap(call))
    self->call();
}
