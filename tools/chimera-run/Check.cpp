//===- Check.cpp - Comparison with the reference --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "RunningProgram.h"

#include "Chimera/Runner/Float64.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// TensorList
//===----------------------------------------------------------------------===//

Expected<TensorList> TensorList::allocate(llvm::ArrayRef<ValueType> types) {
  TensorList list;
  for (const ValueType &type : types) {
    Expected<Tensor> tensor = Tensor::allocate(type);
    if (!tensor)
      return tensor.takeError();
    list.tensors.push_back(std::move(*tensor));
  }
  return list;
}

void TensorList::fillRandom(uint64_t seed) {
  for (auto [index, tensor] : llvm::enumerate(tensors))
    tensor.fillRandom(seed, index);
}

llvm::SmallVector<Tensor *> TensorList::getPointers() {
  return llvm::map_to_vector(tensors, [](Tensor &tensor) { return &tensor; });
}

int64_t TensorList::getBytes() const {
  int64_t bytes = 0;
  for (const Tensor &tensor : tensors) {
    const ValueType &type = tensor.getType();
    bool isHalf = type.element == ElementKind::I4;
    bytes += isHalf ? llvm::divideCeilSigned(type.getNumElements(), 2)
                    : type.getBytes();
  }
  return bytes;
}

std::string TensorList::getHash() const {
  std::string hashes;
  for (const Tensor &tensor : tensors) {
    llvm::ArrayRef bytes(static_cast<const uint8_t *>(tensor.data()),
                         tensor.getType().getBytes());
    hashes += llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true,
                              /*Width=*/16);
  }
  return hashes;
}

Error chimera::run::runOnce(Program &program, StringRef function,
                            TensorList &arguments, TensorList &results,
                            const char *what) {
  RunningProgram running(what);
  Expected<Call> call =
      program.bind(function, arguments.getPointers(), results.getPointers());
  if (!call)
    return call.takeError();
  (*call)();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

/// `function` and what it calls, directly or not.
static SetVector<Operation *> findCallees(func::FuncOp function) {
  SetVector<Operation *> found;
  found.insert(function);
  for (size_t next = 0; next < found.size(); ++next) {
    auto uses = SymbolTable::getSymbolUses(found[next]);
    if (!uses)
      continue;
    for (const SymbolTable::SymbolUse &use : *uses)
      if (Operation *symbol = SymbolTable::lookupNearestSymbolFrom(
              use.getUser(), use.getSymbolRef()))
        found.insert(symbol);
  }
  return found;
}

/// Rounding to the narrowest type of a function decides how exact it can be.
static Tolerance getTolerance(func::FuncOp function) {
  SetVector<Operation *> callees = findCallees(function);
  Builder builder(function.getContext());
  auto uses = [&](Type type) {
    return llvm::any_of(callees,
                        [&](Operation *op) { return usesType(op, type); });
  };
  if (uses(builder.getBF16Type()) || uses(builder.getF16Type()))
    return {2e-2, 1, 1e-1};
  if (uses(builder.getF32Type()))
    return {1e-5, 8, 1e-3};
  if (uses(builder.getF64Type()))
    return {1e-12};
  return {};
}

Expected<Reference> Reference::create(ModuleOp module,
                                      unsigned optimizationLevel) {
  Reference reference;
  reference.optimizationLevel = optimizationLevel;
  CompileOptions options;
  options.lowering = Lowering::Reference;
  options.optimizationLevel = optimizationLevel;
  OwningOpRef<ModuleOp> linalg = module.clone();
  if (needsFrontEnd(*linalg))
    if (Error error = runFrontEnd(*linalg))
      return error;
  reference.description = "plain loops";
  for (auto function : linalg->getOps<func::FuncOp>())
    if (function.isPublic())
      reference.tolerances[function.getName()] = getTolerance(function);
  MLIRContext *context = module.getContext();
  if (usesType(*linalg, Float32Type::get(context)) ||
      usesType(*linalg, Float16Type::get(context)) ||
      usesType(*linalg, BFloat16Type::get(context)))
    if (OwningOpRef<ModuleOp> wide = convertToFloat64(*linalg)) {
      reference.isWider = true;
      reference.module = std::move(linalg);
      linalg = std::move(wide);
      options.lowering = Lowering::FastReference;
      reference.description += " in f64";
    }
  Expected<std::unique_ptr<Program>> program = compile(*linalg, options);
  if (!program)
    return program.takeError();
  reference.program = std::move(*program);
  return reference;
}

static Deviation compareAll(TensorList &actual, TensorList &expected) {
  Deviation deviation;
  for (auto [a, e] : llvm::zip(actual.tensors, expected.tensors))
    deviation.merge(compare(a, e));
  return deviation;
}

/// Runs `function` of `program` on `arguments` and returns its results.
static Expected<TensorList> runProgram(Program &program, StringRef function,
                                       TensorList &arguments) {
  Expected<const runner::Function &> signature = program.getFunction(function);
  if (!signature)
    return signature.takeError();
  TensorList converted;
  for (auto [type, tensor] :
       llvm::zip(signature->arguments, arguments.tensors)) {
    Expected<Tensor> argument = tensor.convertTo(type.element);
    if (!argument)
      return argument.takeError();
    converted.tensors.push_back(std::move(*argument));
  }
  Expected<TensorList> results = TensorList::allocate(signature->results);
  if (!results)
    return results;
  if (Error error = runOnce(program, function, converted, *results,
                            "running the reference"))
    return std::move(error);
  return results;
}

Expected<Deviation> Reference::measurePlain(StringRef function,
                                            TensorList &arguments,
                                            TensorList &expected) {
  if (!plain) {
    CompileOptions options;
    options.lowering = Lowering::Reference;
    options.optimizationLevel = optimizationLevel;
    Expected<std::unique_ptr<Program>> compiled = compile(*module, options);
    if (!compiled)
      return compiled.takeError();
    plain = std::move(*compiled);
  }
  Expected<TensorList> results = runProgram(*plain, function, arguments);
  if (!results)
    return results.takeError();
  return compareAll(*results, expected);
}

Expected<CheckResult> Reference::check(StringRef function,
                                       TensorList &arguments,
                                       TensorList &results) {
  Expected<TensorList> expected = runProgram(*program, function, arguments);
  if (!expected)
    return expected.takeError();
  Tolerance tolerance = tolerances.lookup(function);
  CheckResult result{compareAll(results, *expected), tolerance.base};
  if (result.passed() || !isWider || std::isinf(result.deviation.maxRel))
    return result;
  Expected<Deviation> own = measurePlain(function, arguments, *expected);
  if (!own)
    return own.takeError();
  if (std::isfinite(own->maxRel))
    result.allowed =
        std::max(tolerance.base, std::min(tolerance.amplification * own->maxRel,
                                          tolerance.most));
  return result;
}
