//===- TargetFile.cpp - Machines in files ---------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine that has no name here is described once, in a file, and not in
// every program that is compiled for it. The file holds the attribute as a
// program would carry it.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Target/Target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace chimera;

/// `text` from the first character that is neither space nor comment.
static StringRef skipBlanks(StringRef text) {
  while (true) {
    text = text.ltrim();
    if (!text.starts_with("//"))
      return text;
    text = text.drop_until([](char c) { return c == '\n'; });
  }
}

/// Parses the attribute at the start of `text`, and sets `length` to that of
/// the attribute and the blanks after it. Errors are emitted as being at the
/// place in `path`.
static Attribute parseText(MLIRContext *context, StringRef path, StringRef text,
                           size_t &length) {
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
    // What other threads report, and what we pass on below, is not ours.
    if (!place || place.getFilename() == path || thread != llvm::get_threadid())
      return failure();
    emitError(
        FileLineColLoc::get(context, path, place.getLine(), place.getColumn()))
        << diagnostic.str();
    return success();
  });
  return parseAttribute(text, context, Type(), &length);
}

FailureOr<TargetAttrInterface> chimera::readTarget(Location loc,
                                                   StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return emitError(loc, "cannot read target file '")
           << path << "': " << buffer.getError().message();
  MLIRContext *context = loc.getContext();
  context->getOrLoadDialect<ChimeraDialect>();
  StringRef text = (*buffer)->getBuffer();
  auto lineOf = [&](StringRef rest) -> unsigned {
    return text.drop_back(rest.size()).count('\n') + 1;
  };
  auto fail = [&](StringRef rest) {
    return emitError(FileLineColLoc::get(context, path, lineOf(rest), 1));
  };

  StringRef start = skipBlanks(text);
  if (start.empty())
    return fail(start) << "expected a target such as #chimera.target<...>";
  // Blanks are parsed too, so that errors are at the right line.
  size_t length = 0;
  Attribute attribute = parseText(context, path, text, length);
  if (!attribute)
    return emitError(loc, "no target in file '") << path << "'";
  StringRef rest = start.drop_front(length);
  if (!rest.empty())
    return fail(rest) << "a target file holds one attribute, but there is more";
  if (auto target = dyn_cast<TargetAttrInterface>(attribute))
    return target;
  return fail(start) << "expected a target such as #chimera.target<...>, got "
                     << attribute;
}
