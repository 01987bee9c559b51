//===- ChimeraAttributes.cpp - Schedules, plans, targets ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How attributes are written. What is verified of targets and parts is in
// VerifyAttributes.cpp.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// A loop name stands without quotes where it is an identifier.
static ParseResult parseLoopName(AsmParser &parser, std::string &name) {
  return parser.parseKeywordOrString(&name);
}

static void printLoopName(AsmPrinter &printer, StringRef name) {
  printer.printKeywordOrString(name);
}

/// `l = 64, m = 32 around [0]`
static ParseResult parseLoopOrder(AsmParser &parser,
                                  SmallVector<TiledLoopAttr> &order) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    std::string name;
    int64_t tile = 0;
    if (parseLoopName(parser, name) || parser.parseEqual() ||
        parser.parseInteger(tile))
      return failure();
    SmallVector<int64_t> operators;
    auto parseOperator = [&] {
      return parser.parseInteger(operators.emplace_back());
    };
    if (succeeded(parser.parseOptionalKeyword("around")) &&
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       parseOperator))
      return failure();
    auto loop =
        TiledLoopAttr::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(), name, tile, operators);
    if (!loop)
      return failure();
    order.push_back(loop);
    return success();
  });
}

static void printLoopOrder(AsmPrinter &printer, ArrayRef<TiledLoopAttr> order) {
  llvm::interleaveComma(order, printer, [&](TiledLoopAttr loop) {
    printLoopName(printer, loop.getName());
    printer << " = " << loop.getTile();
    if (loop.getOperators().empty())
      return;
    printer << " around [";
    llvm::interleaveComma(loop.getOperators(), printer);
    printer << "]";
  });
}

/// `m = 512`
static ParseResult parseLoopExtent(AsmParser &parser,
                                   SmallVector<LoopExtentAttr> &extents) {
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  int64_t extent = 0;
  if (parseLoopName(parser, name) || parser.parseEqual() ||
      parser.parseInteger(extent))
    return failure();
  auto attr = LoopExtentAttr::getChecked([&] { return parser.emitError(loc); },
                                         parser.getContext(), name, extent);
  if (!attr)
    return failure();
  extents.push_back(attr);
  return success();
}

/// `rows <line = 64, apart = 4> ahead [0] repeated [0] base2 [0]
/// prefetch <part = 65536> clip fold`, any of them.
static ParseResult parseBlockEntries(AsmParser &parser, RowLayoutAttr &rows,
                                     SmallVector<int64_t> &ahead,
                                     SmallVector<int64_t> &repeated,
                                     SmallVector<int64_t> &base2,
                                     PrefetchAttr &prefetch, bool &clip,
                                     bool &fold) {
  auto parseOperators = [&](StringRef name, SmallVector<int64_t> &operators) {
    if (failed(parser.parseOptionalKeyword(name)))
      return ParseResult(success());
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(operators.emplace_back());
    });
  };
  if (succeeded(parser.parseOptionalKeyword("rows")) &&
      parser.parseCustomAttributeWithFallback(rows))
    return failure();
  if (parseOperators("ahead", ahead) || parseOperators("repeated", repeated) ||
      parseOperators("base2", base2))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("prefetch")) &&
      parser.parseCustomAttributeWithFallback(prefetch))
    return failure();
  clip = succeeded(parser.parseOptionalKeyword("clip"));
  fold = succeeded(parser.parseOptionalKeyword("fold"));
  return success();
}

static void printBlockEntries(AsmPrinter &printer, RowLayoutAttr rows,
                              ArrayRef<int64_t> ahead,
                              ArrayRef<int64_t> repeated,
                              ArrayRef<int64_t> base2, PrefetchAttr prefetch,
                              bool clip, bool fold) {
  llvm::ListSeparator separator(" ");
  if (rows) {
    printer << StringRef(separator) << "rows ";
    printer.printStrippedAttrOrType(rows);
  }
  for (auto [name, operators] :
       {std::pair<StringRef, ArrayRef<int64_t>>("ahead", ahead),
        {"repeated", repeated},
        {"base2", base2}}) {
    if (operators.empty())
      continue;
    printer << StringRef(separator) << name << " [";
    llvm::interleaveComma(operators, printer);
    printer << "]";
  }
  if (prefetch) {
    printer << StringRef(separator) << "prefetch ";
    printer.printStrippedAttrOrType(prefetch);
  }
  if (clip)
    printer << StringRef(separator) << "clip";
  if (fold)
    printer << StringRef(separator) << "fold";
}

/// `, packed = [0, 1], staged = [2], prepacked = [3], rolling = ["x"],
/// held = [0], extents = [m = 512], blocks = <clip>`, each only if it is not
/// empty.
static ParseResult
parseScheduleLists(AsmParser &parser, SmallVector<int64_t> &packed,
                   SmallVector<int64_t> &staged,
                   SmallVector<int64_t> &prepacked,
                   SmallVector<StringAttr> &rolling, SmallVector<int64_t> &held,
                   SmallVector<LoopExtentAttr> &extents, BlocksAttr &blocks) {
  auto parseInput = [&](SmallVector<int64_t> &inputs) {
    return parser.parseInteger(inputs.emplace_back());
  };
  llvm::StringSet<> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return failure();
    bool isKnown = key == "packed" || key == "staged" || key == "prepacked" ||
                   key == "rolling" || key == "held" || key == "extents" ||
                   key == "blocks";
    if (!isKnown || !seen.insert(key).second)
      return parser.emitError(
          loc, "expected 'packed', 'staged', 'prepacked', 'rolling', 'held', "
               "'extents' or 'blocks', each once");
    if (key == "blocks") {
      if (parser.parseEqual() ||
          parser.parseCustomAttributeWithFallback(blocks))
        return failure();
      continue;
    }
    auto parseItem = [&]() -> ParseResult {
      if (key == "rolling")
        return parser.parseAttribute(rolling.emplace_back());
      if (key == "extents")
        return parseLoopExtent(parser, extents);
      return parseInput(key == "packed"   ? packed
                        : key == "staged" ? staged
                        : key == "held"   ? held
                                          : prepacked);
    };
    if (parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseItem))
      return failure();
  }
  return success();
}

static void
printScheduleLists(AsmPrinter &printer, ArrayRef<int64_t> packed,
                   ArrayRef<int64_t> staged, ArrayRef<int64_t> prepacked,
                   ArrayRef<StringAttr> rolling, ArrayRef<int64_t> held,
                   ArrayRef<LoopExtentAttr> extents, BlocksAttr blocks) {
  auto print = [&](StringRef name, auto list) {
    if (list.empty())
      return;
    printer << ", " << name << " = [";
    llvm::interleaveComma(list, printer);
    printer << "]";
  };
  print("packed", packed);
  print("staged", staged);
  print("prepacked", prepacked);
  print("rolling", rolling);
  print("held", held);
  if (!extents.empty()) {
    printer << ", extents = [";
    llvm::interleaveComma(extents, printer, [&](LoopExtentAttr loop) {
      printLoopName(printer, loop.getName());
      printer << " = " << loop.getExtent();
    });
    printer << "]";
  }
  if (blocks) {
    printer << ", blocks = ";
    printer.printStrippedAttrOrType(blocks);
  }
}

/// `[<...>, <...>]`
template <typename AttrT>
static ParseResult parseList(AsmParser &parser, SmallVector<AttrT> &list) {
  if (parser.parseLSquare())
    return failure();
  FailureOr<SmallVector<AttrT>> parsed =
      FieldParser<SmallVector<AttrT>>::parse(parser);
  if (failed(parsed) || parser.parseRSquare())
    return failure();
  list = std::move(*parsed);
  return success();
}

template <typename AttrT>
static void printList(AsmPrinter &printer, StringRef name,
                      ArrayRef<AttrT> list) {
  if (list.empty())
    return;
  printer << ", " << name << " = [";
  llvm::interleaveComma(list, printer, [&](AttrT attr) {
    printer.printStrippedAttrOrType(attr);
  });
  printer << "]";
}

/// What the parameter `stack` of a target is if it is not given.
static constexpr int64_t defaultStack = 524288;

/// `, matrix = [...], launch = 2000, cpu = "sm_80"`: any of them, once each.
static ParseResult
parseTargetDetails(AsmParser &parser, SmallVector<DotProductAttr> &dots,
                   SmallVector<MatrixUnitAttr> &matrix,
                   SmallVector<BufferAttr> &buffers,
                   SmallVector<RouteAttr> &routes, ThreadGroupsAttr &groups,
                   OverheadsAttr &overheads, int64_t &launch, int64_t &stack,
                   NetworkAttr &network, StringAttr &triple, StringAttr &cpu,
                   StringAttr &features) {
  stack = defaultStack;
  llvm::StringSet<> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return failure();
    StringAttr *text = llvm::StringSwitch<StringAttr *>(key)
                           .Case("triple", &triple)
                           .Case("cpu", &cpu)
                           .Case("features", &features)
                           .Default(nullptr);
    bool isKnown = text || key == "dots" || key == "matrix" ||
                   key == "buffers" || key == "routes" || key == "groups" ||
                   key == "overheads" || key == "network" || key == "launch" ||
                   key == "stack";
    if (!isKnown || !seen.insert(key).second)
      return parser.emitError(
          loc, "expected 'dots', 'matrix', 'buffers', 'routes', 'groups', "
               "'overheads', 'network', 'launch', 'stack', 'triple', 'cpu' or "
               "'features', each once");
    if (parser.parseEqual())
      return failure();
    ParseResult result =
        text               ? parser.parseAttribute(*text)
        : key == "dots"    ? parseList(parser, dots)
        : key == "matrix"  ? parseList(parser, matrix)
        : key == "buffers" ? parseList(parser, buffers)
        : key == "routes"  ? parseList(parser, routes)
        : key == "groups"  ? parser.parseCustomAttributeWithFallback(groups)
        : key == "overheads"
            ? parser.parseCustomAttributeWithFallback(overheads)
        : key == "network"
            ? parser.parseCustomAttributeWithFallback(network)
            : parser.parseInteger(key == "launch" ? launch : stack);
    if (result)
      return failure();
  }
  return success();
}

static void
printTargetDetails(AsmPrinter &printer, ArrayRef<DotProductAttr> dots,
                   ArrayRef<MatrixUnitAttr> matrix,
                   ArrayRef<BufferAttr> buffers, ArrayRef<RouteAttr> routes,
                   ThreadGroupsAttr groups, OverheadsAttr overheads,
                   int64_t launch, int64_t stack, NetworkAttr network,
                   StringAttr triple, StringAttr cpu, StringAttr features) {
  printList(printer, "dots", dots);
  printList(printer, "matrix", matrix);
  printList(printer, "buffers", buffers);
  printList(printer, "routes", routes);
  if (groups) {
    printer << ", groups = ";
    printer.printStrippedAttrOrType(groups);
  }
  if (overheads) {
    printer << ", overheads = ";
    printer.printStrippedAttrOrType(overheads);
  }
  if (network) {
    printer << ", network = ";
    printer.printStrippedAttrOrType(network);
  }
  if (launch != 0)
    printer << ", launch = " << launch;
  if (stack != defaultStack)
    printer << ", stack = " << stack;
  for (auto [name, text] :
       std::initializer_list<std::pair<StringRef, StringAttr>>{
           {"triple", triple}, {"cpu", cpu}, {"features", features}})
    if (text)
      printer << ", " << name << " = " << text;
}

/// `6x16x?`
static ParseResult parseDimensionList(AsmParser &parser,
                                      SmallVector<int64_t> &list) {
  return parser.parseDimensionList(list, /*allowDynamic=*/true,
                                   /*withTrailingX=*/false);
}

static void printDimensionList(AsmPrinter &printer, ArrayRef<int64_t> list) {
  printer.printDimensionList(list);
}

/// `[16, 64]`, or `[]`
static ParseResult parseNumberList(AsmParser &parser,
                                   SmallVector<int64_t> &list) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(list.emplace_back());
  });
}

static void printNumberList(AsmPrinter &printer, ArrayRef<int64_t> list) {
  printer << "[";
  llvm::interleaveComma(list, printer);
  printer << "]";
}

/// `[0 by 1]`, each pair two numbers of the list
static ParseResult parsePairList(AsmParser &parser,
                                 SmallVector<int64_t> &list) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return failure(parser.parseInteger(list.emplace_back()) ||
                   parser.parseKeyword("by") ||
                   parser.parseInteger(list.emplace_back()));
  });
}

static void printPairList(AsmPrinter &printer, ArrayRef<int64_t> list) {
  printer << "[";
  for (size_t i = 0; i + 1 < list.size(); i += 2)
    printer << (i > 0 ? ", " : "") << list[i] << " by " << list[i + 1];
  printer << "]";
}

/// `, dims = [1], parallel = true`: what is left out is empty or false.
static ParseResult
parseRowOptions(AsmParser &parser, SmallVector<int64_t> &dims, bool &parallel,
                SmallVector<int64_t> &streamed, SmallVector<int64_t> &late,
                SmallVector<int64_t> &ahead, SmallVector<int64_t> &rowwise) {
  auto parseBool = [&](bool &value) -> ParseResult {
    StringRef word;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    value = word == "true";
    if (!value && word != "false")
      return parser.emitError(at, "expected 'true' or 'false'");
    return success();
  };
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    ParseResult value = name == "dims"       ? parseNumberList(parser, dims)
                        : name == "parallel" ? parseBool(parallel)
                        : name == "streamed" ? parseNumberList(parser, streamed)
                        : name == "late"     ? parsePairList(parser, late)
                        : name == "ahead"    ? parseNumberList(parser, ahead)
                        : name == "rowwise"  ? parsePairList(parser, rowwise)
                                             : failure();
    if (failed(value))
      return parser.emitError(at, "expected 'dims', 'parallel', 'streamed', "
                                  "'late', 'ahead' or 'rowwise' and its value");
  }
  return success();
}

static void printRowOptions(AsmPrinter &printer, ArrayRef<int64_t> dims,
                            bool parallel, ArrayRef<int64_t> streamed,
                            ArrayRef<int64_t> late, ArrayRef<int64_t> ahead,
                            ArrayRef<int64_t> rowwise) {
  auto printList = [&](StringRef name, ArrayRef<int64_t> list) {
    if (list.empty())
      return;
    printer << ", " << name << " = ";
    printNumberList(printer, list);
  };
  printList("dims", dims);
  if (parallel)
    printer << ", parallel = true";
  printList("streamed", streamed);
  auto printPairs = [&](StringRef name, ArrayRef<int64_t> pairs) {
    if (pairs.empty())
      return;
    printer << ", " << name << " = ";
    printPairList(printer, pairs);
  };
  printPairs("late", late);
  printList("ahead", ahead);
  printPairs("rowwise", rowwise);
}

#include "Chimera/IR/ChimeraEnums.cpp.inc"

// GCC 12 takes the default of an optional parameter for a value that was never
// set.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define GET_ATTRDEF_CLASSES
#include "Chimera/IR/ChimeraAttributes.cpp.inc"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

void ChimeraDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Chimera/IR/ChimeraAttributes.cpp.inc"
      >();
}
