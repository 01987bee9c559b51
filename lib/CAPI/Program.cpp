//===- Program.cpp - Programs and functions of the C interface ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include "Chimera/Runner/CHeader.h"
#include "Chimera/Support/OutputFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace chimera;
using namespace chimera::capi;
using llvm::Error;
using llvm::Expected;

void chimeraProgramDestroy(ChimeraProgram program) { delete unwrap(program); }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Expected<size_t> capi::findFunction(const capi::Program &program,
                                    const runner::Function *function) {
  const std::vector<runner::Function> &all = program.interface.functions;
  for (size_t index = 0; index < all.size(); ++index)
    if (&all[index] == function)
      return index;
  return llvm::createStringError("the function is of another program");
}

intptr_t chimeraProgramGetNumFunctions(ChimeraProgram program) {
  const capi::Program *self = unwrap(program);
  return self ? self->interface.functions.size() : 0;
}

ChimeraFunction chimeraProgramGetFunction(ChimeraProgram program,
                                          intptr_t index) {
  if (index < 0 || index >= chimeraProgramGetNumFunctions(program))
    return {nullptr};
  return {&unwrap(program)->interface.functions[index]};
}

ChimeraFunction chimeraProgramFindFunction(ChimeraProgram program,
                                           ChimeraStringRef name) {
  capi::Program *self = unwrap(program);
  if (!self)
    return {nullptr};
  Expected<const runner::Function &> function =
      runner::findFunction(self->interface, unwrap(name));
  if (function)
    return {&*function};
  self->context.report(function.takeError());
  return {nullptr};
}

ChimeraStringRef chimeraFunctionGetName(ChimeraFunction function) {
  const runner::Function *self = unwrap(function);
  return wrap(self ? llvm::StringRef(self->name) : llvm::StringRef());
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static_assert(CHIMERA_DYNAMIC == mlir::ShapedType::kDynamic,
              "extents are handed out as they are");

static ChimeraElement wrap(runner::ElementKind kind) {
  switch (kind) {
  case runner::ElementKind::F32:
    return CHIMERA_ELEMENT_F32;
  case runner::ElementKind::F64:
    return CHIMERA_ELEMENT_F64;
  case runner::ElementKind::F16:
    return CHIMERA_ELEMENT_F16;
  case runner::ElementKind::BF16:
    return CHIMERA_ELEMENT_BF16;
  case runner::ElementKind::I1:
    return CHIMERA_ELEMENT_I1;
  case runner::ElementKind::I4:
    return CHIMERA_ELEMENT_I4;
  case runner::ElementKind::I8:
    return CHIMERA_ELEMENT_I8;
  case runner::ElementKind::I32:
    return CHIMERA_ELEMENT_I32;
  case runner::ElementKind::I64:
    return CHIMERA_ELEMENT_I64;
  }
  llvm_unreachable("all kinds are covered");
}

size_t chimeraElementGetNumBytes(ChimeraElement element) {
  switch (element) {
  case CHIMERA_ELEMENT_NONE:
    return 0;
  case CHIMERA_ELEMENT_I1:
  case CHIMERA_ELEMENT_I4:
  case CHIMERA_ELEMENT_I8:
    return 1;
  case CHIMERA_ELEMENT_F16:
  case CHIMERA_ELEMENT_BF16:
    return 2;
  case CHIMERA_ELEMENT_F32:
  case CHIMERA_ELEMENT_I32:
    return 4;
  case CHIMERA_ELEMENT_F64:
  case CHIMERA_ELEMENT_I64:
    return 8;
  }
  return 0;
}

static ChimeraType getType(llvm::ArrayRef<runner::ValueType> types,
                           intptr_t index) {
  if (index < 0 || index >= static_cast<intptr_t>(types.size()))
    return {CHIMERA_ELEMENT_NONE, false, 0, nullptr};
  const runner::ValueType &type = types[index];
  return {wrap(type.element), type.isScalar,
          static_cast<intptr_t>(type.shape.size()), type.shape.data()};
}

intptr_t chimeraFunctionGetNumArguments(ChimeraFunction function) {
  const runner::Function *self = unwrap(function);
  return self ? self->arguments.size() : 0;
}

intptr_t chimeraFunctionGetNumResults(ChimeraFunction function) {
  const runner::Function *self = unwrap(function);
  return self ? self->results.size() : 0;
}

ChimeraType chimeraFunctionGetArgumentType(ChimeraFunction function,
                                           intptr_t index) {
  const runner::Function *self = unwrap(function);
  return self ? getType(self->arguments, index) : getType({}, index);
}

ChimeraType chimeraFunctionGetResultType(ChimeraFunction function,
                                         intptr_t index) {
  const runner::Function *self = unwrap(function);
  return self ? getType(self->results, index) : getType({}, index);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static Error writeObject(const capi::Program &program, llvm::StringRef path) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> whole =
      runner::mergeObjects(program.copyObjects());
  if (!whole)
    return whole.takeError();
  return writeText(path, (*whole)->getBuffer());
}

ChimeraLogicalResult chimeraProgramWriteObject(ChimeraProgram program,
                                               ChimeraStringRef path) {
  capi::Program *self = unwrap(program);
  if (!self)
    return {false};
  return self->context.conclude(writeObject(*self, unwrap(path)));
}

ChimeraLogicalResult chimeraProgramWriteSharedLibrary(ChimeraProgram program,
                                                      ChimeraStringRef path) {
  capi::Program *self = unwrap(program);
  if (!self)
    return {false};
  return self->context.conclude(
      runner::linkSharedLibrary(self->objects, unwrap(path)));
}

ChimeraLogicalResult chimeraProgramWriteHeader(ChimeraProgram program,
                                               ChimeraStringRef path) {
  capi::Program *self = unwrap(program);
  if (!self)
    return {false};
  return self->context.conclude(writeText(
      unwrap(path), runner::writeCHeader(self->interface,
                                         llvm::sys::path::stem(self->name))));
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

ChimeraLogicalResult chimeraProgramPrintReport(ChimeraProgram program,
                                               ChimeraFunction function,
                                               ChimeraReportFormat format,
                                               ChimeraStringCallback callback,
                                               void *userData) {
  capi::Program *self = unwrap(program);
  if (!self || !function.ptr || !callback)
    return {false};
  Expected<size_t> index = findFunction(*self, unwrap(function));
  if (!index)
    return self->context.conclude(index.takeError());
  const runner::Report &report = self->reports[*index];
  std::string text;
  llvm::raw_string_ostream os(text);
  if (format == CHIMERA_REPORT_JSON)
    os << llvm::formatv("{0:2}", llvm::json::Value(report.toJSON())) << '\n';
  else
    report.print(os);
  callback(wrap(text), userData);
  return {true};
}

void chimeraProgramForEachRemark(ChimeraProgram program,
                                 ChimeraRemarkCallback callback,
                                 void *userData) {
  const capi::Program *self = unwrap(program);
  if (!self || !callback)
    return;
  for (const runner::Remark &remark : self->remarks) {
    ChimeraRemark handedOut = {wrap(remark.kind), wrap(remark.name),
                               wrap(remark.text), wrap(remark.place)};
    callback(&handedOut, userData);
  }
}
