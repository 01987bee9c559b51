//===- Handles.h - What handles of the C interface point to -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handles are pointers in a struct each, so that the C compiler tells them
// apart. Null goes in and out of every function: the first that fails has said
// why.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CAPI_HANDLES_H
#define CHIMERA_LIB_CAPI_HANDLES_H

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Runner/Report.h"
#include "Chimera/Runner/Sizes.h"
#include "chimera-c/Chimera.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace chimera::capi {

struct Context {
  /// Null for a context of someone else's.
  std::unique_ptr<mlir::MLIRContext> owned;
  mlir::MLIRContext *mlir = nullptr;
  ChimeraDiagnosticHandler handler = nullptr;
  void *userData = nullptr;

  /// Tells the handler of each error in `error`.
  void report(llvm::Error error,
              ChimeraSeverity severity = CHIMERA_SEVERITY_ERROR);
  /// The same for what a function returns: success if there was no error.
  ChimeraLogicalResult conclude(llvm::Error error);
};

struct Module {
  Context &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name;
};

struct Options {
  Options() { compile.jobs = 0; }

  /// 0 jobs mean one per core of this machine.
  runner::CompileOptions compile;
  /// Of each function that is named.
  std::map<std::string, std::vector<unsigned>> constants;
  std::map<std::string, std::vector<runner::Sizes>> sizes;
};

struct Program {
  Context &context;
  std::string name;
  TargetAttrInterface target;
  runner::ModuleInterface interface;
  runner::ObjectFiles objects;
  /// One for each function of the interface.
  std::vector<runner::Report> reports;
  std::vector<runner::Remark> remarks;
  /// Null until there is a call.
  std::shared_ptr<runner::Program> loaded;

  /// For those who take them over.
  runner::ObjectFiles copyObjects() const {
    runner::ObjectFiles copies;
    for (const std::unique_ptr<llvm::MemoryBuffer> &object : objects)
      copies.push_back(
          llvm::MemoryBuffer::getMemBufferCopy(object->getBuffer()));
    return copies;
  }
};

struct Call {
  Context &context;
  std::shared_ptr<runner::Program> program;
  std::string function;
  runner::Call call;
};

/// What a handle points to.
inline Context *unwrap(ChimeraContext handle) {
  return static_cast<Context *>(handle.ptr);
}
inline Module *unwrap(ChimeraModule handle) {
  return static_cast<Module *>(handle.ptr);
}
inline Options *unwrap(ChimeraOptions handle) {
  return static_cast<Options *>(handle.ptr);
}
inline Program *unwrap(ChimeraProgram handle) {
  return static_cast<Program *>(handle.ptr);
}
inline const runner::Function *unwrap(ChimeraFunction handle) {
  return static_cast<const runner::Function *>(handle.ptr);
}
inline Call *unwrap(ChimeraCall handle) {
  return static_cast<Call *>(handle.ptr);
}

inline llvm::StringRef unwrap(ChimeraStringRef string) {
  return llvm::StringRef(string.data, string.length);
}
inline ChimeraStringRef wrap(llvm::StringRef string) {
  return {string.data(), string.size()};
}

/// The position of `function` in `program`, or an error if it is of another.
llvm::Expected<size_t> findFunction(const Program &program,
                                    const runner::Function *function);

} // namespace chimera::capi

#endif // CHIMERA_LIB_CAPI_HANDLES_H
