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
//   gir units 2 block 1
//   loop i 8192 by 4
//   tensor x 16777216 x 4 input
//   stage i
//     1.0 move x [ 0 + 8192 i ] < 4 by i x 2048 stride 2048 > to %0 < ... >
//     1.0 reduce add width %0 to %1 < 4 by i x 1 bytes 4 level 3 >
//
// A node begins with its depth and its pass. Whatever a graph holds is in its
// text. Words are parted by blanks, so that a reader has only words to look at.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Gir.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace chimera::model;

namespace {

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

class Printer {
public:
  Printer(const Gir &gir, raw_ostream &out)
      : gir(gir), out(out), numbers(gir.slices.size(), 0) {
    unsigned next = 0;
    for (const GirStage &stage : gir.stages)
      for (const GirNode &node : stage.nodes)
        if (gir.isValue(node.output))
          numbers[node.output] = next++;
  }

  void print();

private:
  void printExtent(const GirExtent &extent) {
    out << extent.size;
    if (extent.loop)
      out << " by " << gir.loops[*extent.loop].name;
  }
  void printSlice(SliceId id, bool isWritten);
  void printNode(const GirNode &node);

  const Gir &gir;
  raw_ostream &out;
  /// By slice, what a value is called.
  SmallVector<unsigned, 0> numbers;
};

/// What a value is like is said where it is written.
void Printer::printSlice(SliceId id, bool isWritten) {
  const GirSlice &slice = gir.slices[id];
  if (slice.tensor) {
    out << gir.tensors[*slice.tensor].name << " [ " << slice.offset;
    for (const Term &term : slice.terms)
      out << " + " << term.factor << " " << gir.loops[term.loop].name;
    out << " ]";
  } else {
    out << "%" << numbers[id];
    if (!isWritten)
      return;
  }
  out << " < ";
  printExtent(slice.num);
  out << " x ";
  printExtent(slice.width);
  if (slice.tensor)
    out << " stride " << slice.stride;
  else
    out << " bytes " << slice.elementBytes << " level " << slice.level;
  out << " >";
}

void Printer::printNode(const GirNode &node) {
  out << "  " << node.depth << "." << node.pass << " " << describe(node.kind);
  switch (node.kind) {
  case GirKind::Move:
    out << (node.bypasses ? " bypassing" : "");
    break;
  case GirKind::Elementwise:
    out << " f " << node.function << " instructions "
        << format("%g", node.instructions) << " exponentials "
        << format("%g", node.exponentials)
        << (node.isMonotone ? " monotone" : "");
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
  for (SliceId input : node.inputs) {
    out << " ";
    printSlice(input, /*isWritten=*/false);
  }
  out << " to ";
  printSlice(node.output, /*isWritten=*/true);
  out << "\n";
}

void Printer::print() {
  out << "gir units " << gir.units << " block " << gir.unitsPerBlock << "\n";
  for (const GirLoop &loop : gir.loops)
    out << "loop " << loop.name << " " << loop.extent << " by " << loop.tile
        << "\n";
  for (const GirTensor &tensor : gir.tensors) {
    out << "tensor " << tensor.name << " " << tensor.elements << " x "
        << tensor.elementBytes;
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

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Reads one line after the other. The first thing that is wrong is kept, and
/// nothing is read after it.
class Parser {
public:
  Expected<Gir> parse(StringRef text);

private:
  void parseLine();
  void parseHead();
  void parseLoop();
  void parseTensor();
  void parseStage();
  void parseNode();
  void parseSliceEnd(GirSlice &slice);
  /// What a node does with a slice: it reads or writes it, or, if it is a sync
  /// between stages, passes on what was stored to a load that comes later.
  enum class Use { Loaded, Written, Stored, Awaited };
  SliceId parseSlice(Use use) {
    return peek().starts_with("%") ? parseValue(use) : parsePart(use);
  }
  SliceId parseValue(Use use);
  SliceId parsePart(Use use);
  GirExtent parseExtent();

  // Words of the line at hand.
  StringRef peek() const { return words.empty() ? StringRef() : words.front(); }
  StringRef next() {
    StringRef word = peek();
    if (word.empty())
      fail("the line ends too early");
    else
      words = words.drop_front();
    return word;
  }
  bool accept(StringRef word) {
    if (peek() != word)
      return false;
    words = words.drop_front();
    return true;
  }
  void expect(StringRef word) {
    if (!accept(word))
      fail("expected '" + word + "' before '" + peek() + "'");
  }
  template <typename Number>
  Number number() {
    Number value = 0;
    StringRef word = next();
    if (!to_number(word, value))
      fail("'" + word + "' is no number");
    return value;
  }
  static bool to_number(StringRef word, double &value) {
    return !word.getAsDouble(value);
  }
  template <typename Integer>
  static bool to_number(StringRef word, Integer &value) {
    return !word.getAsInteger(10, value);
  }
  /// Which of `all` has a name; 0 if none has.
  template <typename Named>
  unsigned named(StringRef what, const std::vector<Named> &all) {
    StringRef name = next();
    auto found =
        find_if(all, [&](const Named &each) { return each.name == name; });
    if (found == all.end()) {
      fail("there is no " + what + " '" + name + "'");
      return 0;
    }
    return found - all.begin();
  }
  void fail(const Twine &message) {
    if (wrong.empty())
      wrong = ("line " + Twine(line) + ": " + message).str();
  }

  Gir gir;
  unsigned line = 0;
  ArrayRef<StringRef> words;
  std::string wrong;
  using Slices = std::vector<std::pair<std::string, SliceId>>;
  static std::optional<SliceId> find(const Slices &slices, StringRef text);
  /// By their text, slices that nodes have written, and parts of tensors that
  /// syncs pass on to loads that are yet to come.
  Slices written, awaited;
};

void Parser::parseHead() {
  expect("units");
  gir.units = number<int64_t>();
  expect("block");
  gir.unitsPerBlock = number<int64_t>();
}

void Parser::parseLoop() {
  GirLoop loop;
  loop.name = next().str();
  loop.extent = number<int64_t>();
  expect("by");
  loop.tile = number<int64_t>();
  if (loop.tile < 1)
    fail("a tile has no iterations");
  gir.loops.push_back(loop);
}

void Parser::parseTensor() {
  GirTensor tensor;
  tensor.name = next().str();
  tensor.elements = number<int64_t>();
  expect("x");
  tensor.elementBytes = number<int64_t>();
  tensor.isInput = accept("input");
  tensor.isResult = accept("result");
  if (accept("level"))
    tensor.level = number<unsigned>();
  gir.tensors.push_back(tensor);
}

void Parser::parseStage() {
  GirStage &stage = gir.stages.emplace_back();
  while (!words.empty() && wrong.empty())
    stage.tasks.push_back(named("loop", gir.loops));
}

GirExtent Parser::parseExtent() {
  GirExtent extent;
  extent.size = number<int64_t>();
  if (accept("by"))
    extent.loop = named("loop", gir.loops);
  return extent;
}

void Parser::parseSliceEnd(GirSlice &slice) {
  expect("<");
  slice.num = parseExtent();
  expect("x");
  slice.width = parseExtent();
  if (slice.tensor) {
    expect("stride");
    slice.stride = number<int64_t>();
  } else {
    expect("bytes");
    slice.elementBytes = number<int64_t>();
    expect("level");
    slice.level = number<unsigned>();
    slice.stride = slice.width.size;
  }
  expect(">");
}

/// What was remembered under `text`, the last one first.
std::optional<SliceId> Parser::find(const Slices &slices, StringRef text) {
  for (const auto &[known, id] : reverse(slices))
    if (known == text)
      return id;
  return std::nullopt;
}

SliceId Parser::parseValue(Use use) {
  StringRef name = next();
  if (use != Use::Written) {
    std::optional<SliceId> known = find(written, name);
    if (!known)
      fail("nothing has written '" + name + "'");
    return known.value_or(0);
  }
  GirSlice slice;
  parseSliceEnd(slice);
  gir.slices.push_back(slice);
  written.push_back({name.str(), static_cast<SliceId>(gir.slices.size() - 1)});
  return written.back().second;
}

/// A sync speaks of the part that was stored, and of the one that a later load
/// reads; all other parts are new.
SliceId Parser::parsePart(Use use) {
  const StringRef *begin = words.begin();
  GirSlice slice;
  slice.tensor = named("tensor", gir.tensors);
  if (!wrong.empty())
    return 0;
  slice.elementBytes = gir.tensors[*slice.tensor].elementBytes;
  expect("[");
  slice.offset = number<int64_t>();
  while (accept("+")) {
    auto factor = number<int64_t>();
    slice.terms.push_back({named("loop", gir.loops), factor});
  }
  expect("]");
  parseSliceEnd(slice);
  std::string text = join(ArrayRef<StringRef>(begin, words.begin()), " ");
  if (use == Use::Stored) {
    std::optional<SliceId> known = find(written, text);
    if (!known)
      fail("nothing has stored '" + Twine(text) + "'");
    return known.value_or(0);
  }
  if (use == Use::Loaded)
    if (std::optional<SliceId> known = find(awaited, text)) {
      erase_if(awaited, [&](const auto &each) { return each.second == known; });
      return *known;
    }
  gir.slices.push_back(slice);
  auto id = static_cast<SliceId>(gir.slices.size() - 1);
  if (use == Use::Written)
    written.push_back({text, id});
  if (use == Use::Awaited)
    awaited.push_back({text, id});
  return id;
}

void Parser::parseNode() {
  if (gir.stages.empty())
    return fail("a node stands before the first stage");
  GirNode node;
  auto [depth, pass] = next().split('.');
  if (depth.getAsInteger(10, node.depth) || pass.getAsInteger(10, node.pass))
    return fail("a node begins with its depth and its pass");
  StringRef kind = next();
  auto kinds = seq_inclusive(0, static_cast<int>(GirKind::Sync));
  auto known = find_if(kinds, [&](int id) {
    return describe(static_cast<GirKind>(id)) == kind;
  });
  if (known == kinds.end())
    return fail("there is no node '" + kind + "'");
  node.kind = static_cast<GirKind>(*known);
  auto axis = [&] {
    if (accept("num"))
      node.axis = GirAxis::Num;
    else
      expect("width");
  };
  switch (node.kind) {
  case GirKind::Move:
    node.bypasses = accept("bypassing");
    break;
  case GirKind::Elementwise:
    expect("f");
    node.function = number<int64_t>();
    expect("instructions");
    node.instructions = number<double>();
    expect("exponentials");
    node.exponentials = number<double>();
    node.isMonotone = accept("monotone");
    break;
  case GirKind::Reduce:
    if (accept("max"))
      node.reduction = GirReduction::Max;
    else
      expect("add");
    axis();
    break;
  case GirKind::Broadcast:
    axis();
    break;
  case GirKind::Sync: {
    StringRef scope = next();
    auto scopes = seq_inclusive(0, static_cast<int>(GirScope::Device));
    auto wanted = find_if(scopes, [&](int id) {
      return describe(static_cast<GirScope>(id)) == scope;
    });
    if (wanted == scopes.end())
      return fail("there is no scope '" + scope + "'");
    node.scope = static_cast<GirScope>(*wanted);
    break;
  }
  }
  bool isBoundary = node.kind == GirKind::Sync && !peek().starts_with("%");
  while (wrong.empty() && peek() != "to")
    node.inputs.push_back(parseSlice(isBoundary ? Use::Stored : Use::Loaded));
  expect("to");
  if (wrong.empty())
    node.output = parseSlice(isBoundary ? Use::Awaited : Use::Written);
  gir.stages.back().nodes.push_back(node);
}

void Parser::parseLine() {
  if (accept("gir"))
    return parseHead();
  if (accept("loop"))
    return parseLoop();
  if (accept("tensor"))
    return parseTensor();
  if (accept("stage"))
    return parseStage();
  parseNode();
}

Expected<Gir> Parser::parse(StringRef text) {
  while (!text.empty() && wrong.empty()) {
    auto [now, rest] = text.split('\n');
    text = rest;
    ++line;
    SmallVector<StringRef, 32> all;
    SplitString(now, all, " \t\r");
    if (all.empty())
      continue;
    words = all;
    parseLine();
    if (!words.empty())
      fail("'" + peek() + "' is too much");
  }
  if (!wrong.empty())
    return createStringError(inconvertibleErrorCode(), wrong);
  return std::move(gir);
}

} // namespace

std::string chimera::model::printGir(const Gir &gir) {
  std::string text;
  raw_string_ostream out(text);
  Printer(gir, out).print();
  return text;
}

Expected<Gir> chimera::model::parseGir(StringRef text) {
  return Parser().parse(text);
}
