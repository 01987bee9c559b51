//===- GirText.cpp - A Gir as text ----------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line for a loop, a tensor, a stage or a node:
//
//   gir units = 2 per block = 1
//   loop i = 8192 by 4
//   tensor x : 16777216 x 4 bytes input
//   stage [i]
//     %0 = move x[8192 i] : <4 by i> x <2048> stride 2048 -> level 4 ...
//
// Whatever a graph holds is in its text, and the text says it once.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Gir.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace chimera::model;

namespace {

class Printer {
public:
  Printer(const Gir &gir, raw_ostream &out) : gir(gir), out(out) {}

  void print();

private:
  void printExtent(const GirExtent &extent) {
    out << extent.size;
    if (extent.loop)
      out << " by " << gir.loops[*extent.loop].name;
  }
  /// `x[8 + 4 i] <2 by i x 16, stride 32>` or `%3 <2 x 16, level 3>`.
  void printSlice(SliceId id) {
    const GirSlice &slice = gir.slices[id];
    if (slice.tensor) {
      out << gir.tensors[*slice.tensor].name << "[" << slice.offset;
      for (const Term &term : slice.terms)
        out << " + " << term.factor << " " << gir.loops[term.loop].name;
      out << "]";
    } else {
      out << "%" << id;
    }
    out << " <";
    printExtent(slice.num);
    out << " x ";
    printExtent(slice.width);
    if (slice.tensor)
      out << ", stride " << slice.stride;
    else
      out << ", " << slice.elementBytes << " bytes, level " << slice.level;
    out << ">";
  }
  void printNode(const GirNode &node);

  const Gir &gir;
  raw_ostream &out;
};

void Printer::printNode(const GirNode &node) {
  out << "  " << node.depth << "." << node.pass << " " << describe(node.kind);
  switch (node.kind) {
  case GirKind::Move:
    out << (node.bypasses ? " bypassing" : "");
    break;
  case GirKind::Elementwise:
    out << " f" << node.function << " costs " << node.instructions << " and "
        << node.exponentials << (node.isMonotone ? " monotone" : "");
    break;
  case GirKind::Reduce:
    out << " " << describe(node.reduction);
    [[fallthrough]];
  case GirKind::Broadcast:
    out << (node.axis == GirAxis::Num ? " num" : " width");
    break;
  case GirKind::Sync:
    out << " " << describe(node.scope);
    break;
  }
  out << " ";
  interleave(
      node.inputs, [&](SliceId input) { printSlice(input); },
      [&] { out << ", "; });
  out << " -> ";
  printSlice(node.output);
  out << "\n";
}

void Printer::print() {
  out << "gir " << gir.units << " units, " << gir.unitsPerBlock
      << " in a block\n";
  for (const GirLoop &loop : gir.loops)
    out << "loop " << loop.name << " = " << loop.extent << " by " << loop.tile
        << "\n";
  for (const GirTensor &tensor : gir.tensors) {
    out << "tensor " << tensor.name << " = " << tensor.elements << " x "
        << tensor.elementBytes << " bytes";
    if (tensor.isInput)
      out << " input";
    if (tensor.isResult)
      out << " result";
    if (tensor.level)
      out << " level " << tensor.level;
    out << "\n";
  }
  for (const GirStage &stage : gir.stages) {
    out << "stage";
    for (LoopId loop : stage.tasks)
      out << " " << gir.loops[loop].name;
    out << "\n";
    for (const GirNode &node : stage.nodes)
      printNode(node);
  }
}

} // namespace

std::string chimera::model::printGir(const Gir &gir) {
  std::string text;
  raw_string_ostream out(text);
  Printer(gir, out).print();
  return text;
}
