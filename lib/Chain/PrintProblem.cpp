//===- PrintProblem.cpp - The model's problem in words --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ChainAnalysis.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace chimera;
using namespace chimera::model;

namespace {

class ProblemPrinter {
public:
  ProblemPrinter(llvm::raw_ostream &os, const ChainProblem &problem)
      : os(os), problem(problem) {}

  void print();

private:
  void print(const Tensor &tensor);
  void print(const Operator &op);
  void print(const Band &band);
  void print(const Access &access);
  void printList(llvm::StringRef title, llvm::ArrayRef<Access> accesses);

  llvm::raw_ostream &os;
  const ChainProblem &problem;
};

} // namespace

void ProblemPrinter::print(const Tensor &tensor) {
  os << "  " << describe(tensor.role) << " " << tensor.name << " [";
  llvm::interleave(tensor.shape, os, " x ");
  os << "] of " << tensor.elementBytes << " bytes";
  if (tensor.accumulatorBytes)
    os << ", summed in " << tensor.accumulatorBytes;
  if (tensor.isStored)
    os << ", stored";
  os << "\n";
}

void ProblemPrinter::print(const Access &access) {
  os << describe(problem, access, " * ");
}

void ProblemPrinter::printList(llvm::StringRef title,
                               llvm::ArrayRef<Access> accesses) {
  if (accesses.empty())
    return;
  os << "\n    " << title << " ";
  llvm::interleaveComma(accesses, os,
                        [&](const Access &access) { print(access); });
}

void ProblemPrinter::print(const Operator &op) {
  auto nameOf = [&](LoopId loop) { return problem.loops[loop].name; };
  os << "  " << op.name << ": ";
  print(op.output);
  os << " += ";
  llvm::interleave(
      op.inputs, os, [&](const Access &access) { print(access); }, " * ");
  os << "\n    vectors along " << nameOf(op.vectorLoop);
  if (op.rowLoop != op.vectorLoop)
    os << ", rows along " << nameOf(op.rowLoop);
  if (op.hasEpilogue) {
    os << "\n    then " << op.epilogueCost << " instructions";
    if (op.epilogueExponentials)
      os << " and exponentials: " << op.epilogueExponentials;
    printList("reading", op.epilogue);
  }
  for (LoopId loop : op.completes)
    os << "\n    completes " << nameOf(loop);
  printList("keeping", op.states);
  if (op.rescaledBy)
    os << "\n    rescaled by " << nameOf(*op.rescaledBy);
  os << "\n";
}

void ProblemPrinter::print(const Band &band) {
  llvm::StringRef row = problem.loops[band.row].name;
  os << "  band ";
  if (band.least)
    os << row << " + " << *band.least << " <= ";
  os << problem.loops[band.column].name;
  if (band.most)
    os << " < " << row << " + " << *band.most;
  os << "\n";
}

void ProblemPrinter::print() {
  os << "problem\n  loops ";
  llvm::interleaveComma(problem.loops, os, [&](const Loop &loop) {
    os << loop.name << " = " << loop.extent;
  });
  os << "\n";
  for (const Tensor &tensor : problem.tensors)
    print(tensor);
  for (const Operator &op : problem.operators)
    print(op);
  for (const Band &band : problem.bands)
    print(band);
}

void chimera::printProblem(llvm::raw_ostream &os, const ChainProblem &problem) {
  ProblemPrinter(os, problem).print();
}
