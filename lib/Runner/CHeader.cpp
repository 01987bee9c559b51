//===- CHeader.cpp - How C calls what was compiled ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/CHeader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace chimera::runner;
using llvm::StringRef;

static constexpr StringRef kDescription = R"(
 * A tensor is passed by the address of a descriptor, which the chimera_make_
 * functions fill in:
 *   allocated  not read
 *   aligned    the first element; the others follow row by row, without gaps.
 *              Any address that suits an element will do, multiples of 64 are
 *              fastest
 *   offset     0
 *   sizes      elements along each dimension, outermost first
 *   strides    elements from one to the next along each dimension: the product
 *              of the sizes behind it
 * The caller owns all memory. Arguments are read only. Results are written
 * whole; they must not overlap arguments or each other. f16 and bf16 are passed
 * as their bits; i1 and i4 take a byte each, whose other bits are zero. A size
 * that is ? below is free, within what the program says of it.
 */
)";

/// The C type of an element in memory.
static StringRef getCType(ElementKind kind) {
  switch (kind) {
  case ElementKind::F32:
    return "float";
  case ElementKind::F64:
    return "double";
  case ElementKind::F16:
  case ElementKind::BF16:
    return "uint16_t";
  case ElementKind::I1:
  case ElementKind::I4:
    return "uint8_t";
  case ElementKind::I8:
    return "int8_t";
  case ElementKind::I32:
    return "int32_t";
  case ElementKind::I64:
    return "int64_t";
  }
  llvm_unreachable("all kinds are covered");
}

/// `text` with `_` for what cannot be in an identifier.
static std::string toIdentifier(StringRef text) {
  std::string result = text.str();
  for (char &c : result)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  return result;
}

namespace {
class HeaderWriter {
public:
  explicit HeaderWriter(const ModuleInterface &interface)
      : interface(interface) {}

  std::string write(StringRef name);

private:
  void writeScalarTypes();
  void writeDescriptors();
  void writeDescriptor(const ValueType &type);
  void writeMaker(StringRef name, StringRef element, size_t rank);
  void writeFunction(const Function &function);
  void writeOffsets(StringRef function, StringRef what, const Part &part,
                    llvm::ArrayRef<int64_t> grid);
  void declare(StringRef symbol, const Function &function, bool hasResults);
  std::string getTypeName(const ValueType &type) const;

  const ModuleInterface &interface;
  llvm::StringSet<> names;
  std::string text;
  llvm::raw_string_ostream os{text};
};
} // namespace

/// Scalars are passed in registers, so that those of 16 bits need types of
/// their own; that of bf16 needs clang or gcc 13.
void HeaderWriter::writeScalarTypes() {
  auto write = [&](ElementKind kind, StringRef type) {
    auto isScalar = [&](const ValueType &value) {
      return value.isScalar && value.element == kind;
    };
    if (llvm::any_of(interface.functions, [&](const Function &function) {
          return llvm::any_of(function.arguments, isScalar);
        }))
      os << "__extension__ typedef " << type << " chimera_"
         << getElementName(kind) << ";\n\n";
  };
  write(ElementKind::F16, "_Float16");
  write(ElementKind::BF16, "__bf16");
}

std::string HeaderWriter::getTypeName(const ValueType &type) const {
  bool isHalf =
      type.element == ElementKind::F16 || type.element == ElementKind::BF16;
  if (type.isScalar && !isHalf)
    return getCType(type.element).str();
  std::string name = ("chimera_" + getElementName(type.element)).str();
  return type.isScalar ? name
                       : name + "_" + std::to_string(type.shape.size()) + "d";
}

/// Several headers may be included together, so each descriptor has a guard.
void HeaderWriter::writeDescriptor(const ValueType &type) {
  std::string name = getTypeName(type);
  std::string guard = StringRef(name).upper();
  StringRef element = getCType(type.element);
  size_t rank = type.shape.size();
  os << "#ifndef " << guard << "\n#define " << guard << "\ntypedef struct {\n  "
     << element << " *allocated, *aligned;\n  int64_t offset;\n";
  if (rank > 0)
    os << "  int64_t sizes[" << rank << "], strides[" << rank << "];\n";
  os << "} " << name << ";\n\n";
  writeMaker(name, element, rank);
  os << "#endif\n\n";
}

/// A function that fills in a descriptor of type `name`.
void HeaderWriter::writeMaker(StringRef name, StringRef element, size_t rank) {
  auto sizes = [&](size_t from, StringRef separator) {
    llvm::interleave(
        llvm::seq(from, rank), os, [&](size_t dim) { os << "size" << dim; },
        separator);
  };
  os << "static inline " << name << " chimera_make_"
     << name.drop_front(StringRef("chimera_").size()) << "(\n    " << element
     << " *data";
  for (size_t dim = 0; dim < rank; ++dim)
    os << ", int64_t size" << dim;
  os << ") {\n  " << name << " tensor = {data, data, 0";
  if (rank > 0) {
    os << ", {";
    sizes(0, ", ");
    os << "}, {";
    for (size_t dim = 1; dim < rank; ++dim) {
      sizes(dim, " * ");
      os << ", ";
    }
    os << "1}";
  }
  os << "};\n  return tensor;\n}\n";
}

void HeaderWriter::writeDescriptors() {
  std::map<std::string, ValueType> used;
  for (const Function &function : interface.functions)
    for (const auto *types : {&function.arguments, &function.results})
      for (const ValueType &type : *types)
        if (!type.isScalar)
          used[getTypeName(type)] = type;
  for (const auto &[name, type] : used)
    writeDescriptor(type);
}

/// `symbol` as C writes it in a string.
static std::string quote(StringRef symbol) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '"';
  for (unsigned char c : symbol)
    if (llvm::isAlnum(c) || c == '_' || c == '.')
      os << c;
    else
      os << llvm::format("\\%03o", c);
  os << '"';
  return text;
}

/// Symbols that are no identifiers get another name in C.
void HeaderWriter::declare(StringRef symbol, const Function &function,
                           bool hasResults) {
  std::string name = toIdentifier(symbol);
  while (!names.insert(name).second)
    name += '_';
  os << "void " << name << "(";
  llvm::ListSeparator comma(",");
  auto list = [&](llvm::ArrayRef<ValueType> types, StringRef what) {
    for (auto [index, type] : llvm::enumerate(types))
      os << comma << "\n    " << (type.isScalar ? "" : "const ")
         << getTypeName(type) << (type.isScalar ? " " : " *") << what << index
         << " /* " << type.str() << " */";
  };
  size_t before = text.size();
  list(function.arguments, "argument");
  if (hasResults)
    list(function.results, "result");
  os << (text.size() == before ? "void)" : ")");
  if (name != symbol)
    os << " __asm__(" << quote(symbol) << ")";
  os << ";\n\n";
}

/// A function that tells where the part of a process begins.
void HeaderWriter::writeOffsets(StringRef function, StringRef what,
                                const Part &part,
                                llvm::ArrayRef<int64_t> grid) {
  std::string name = toIdentifier(function) + "_" + what.str() + "_offsets";
  while (!names.insert(name).second)
    name += '_';
  os << "/* Process number `process` has a part of " << what << ", which is ";
  llvm::interleave(part.shape, os, "x");
  os << " as a whole:\n * where that begins along each dimension. */\n"
     << "static inline void " << name << "(int64_t process, int64_t offsets["
     << part.shape.size() << "]) {\n";
  for (auto [dim, steps] : llvm::enumerate(part.steps)) {
    os << "  offsets[" << dim << "] = ";
    llvm::ListSeparator plus(" + ");
    int64_t inner = 1;
    for (size_t axis = grid.size(); axis-- > 0; inner *= grid[axis]) {
      if (steps[axis] == 0)
        continue;
      os << plus << "process";
      if (inner > 1)
        os << " / " << inner;
      os << " % " << grid[axis] << " * " << steps[axis];
    }
    if (llvm::none_of(steps, [](int64_t step) { return step != 0; }))
      os << 0;
    os << ";\n";
  }
  os << "}\n\n";
}

void HeaderWriter::writeFunction(const Function &function) {
  auto writeParts = [&](StringRef what, const auto &parts) {
    for (auto [index, part] : llvm::enumerate(parts))
      if (part)
        writeOffsets(function.name, (what + llvm::Twine(index)).str(), *part,
                     function.grid);
  };
  writeParts("argument", function.argumentParts);
  writeParts("result", function.resultParts);
  std::string symbol = "_mlir_ciface_" + function.name;
  if (function.isPrepared) {
    os << "/* Computes what depends on constant arguments alone: to be called "
          "before the\n * function after it, and again when they change. */\n";
    declare(symbol + "_prepare", function, /*hasResults=*/false);
  }
  declare(symbol, function, /*hasResults=*/true);
}

std::string HeaderWriter::write(StringRef name) {
  std::string guard =
      "CHIMERA_PROGRAM_" + StringRef(toIdentifier(name)).upper();
  os << "/* The functions that Chimera compiled from " << toIdentifier(name)
     << ".\n *" << kDescription << "\n#ifndef " << guard << "\n#define "
     << guard
     << "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n"
     << "#endif\n\n";
  writeScalarTypes();
  writeDescriptors();
  for (const Function &function : interface.functions)
    writeFunction(function);
  os << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}

std::string chimera::runner::writeCHeader(const ModuleInterface &interface,
                                          StringRef name) {
  return HeaderWriter(interface).write(name);
}
