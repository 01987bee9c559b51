//===- ChimeraAttributes.cpp - Schedules, plans, targets ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is verified here needs no chain: signs, ranges, names that occur twice.
// Whether a schedule suits a chain on a machine is the model's `verify`.
//
//===----------------------------------------------------------------------===//

#include "VerifyFigures.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/ElementBytes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
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

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult MemoryLevelAttr::verify(EmitError emitError, StringRef name,
                                      int64_t capacity, int64_t usable,
                                      int64_t coreBandwidth,
                                      int64_t chipBandwidth, int64_t sharers,
                                      int64_t line, int64_t ways,
                                      int64_t buffers, int64_t burst,
                                      int64_t mostBuffers, int64_t latency) {
  if (name.empty())
    return emitError() << "a level needs a name";
  if (usable > 100)
    return emitError() << "'usable' is a percentage, got " << usable;
  if (ways < 0)
    return emitError() << "'ways' must not be negative, got " << ways;
  if (mostBuffers != 0 && mostBuffers < buffers)
    return emitError() << "'most_buffers' must not be below 'buffers', "
                       << buffers << ", got " << mostBuffers;
  if (latency < 0)
    return emitError() << "'latency' must not be negative, got " << latency;
  return verifyPositive(emitError, {{"capacity", capacity},
                                    {"usable", usable},
                                    {"core_bandwidth", coreBandwidth},
                                    {"chip_bandwidth", chipBandwidth},
                                    {"sharers", sharers},
                                    {"line", line},
                                    {"buffers", buffers},
                                    {"burst", burst}});
}

LogicalResult VectorTuningAttr::verify(EmitError emitError, int64_t chains,
                                       int64_t accumulators, int64_t rowVectors,
                                       int64_t ahead, int64_t streams,
                                       int64_t streamAhead, int64_t fetchLevel,
                                       int64_t line, int64_t interleaved,
                                       int64_t reducedRows) {
  if (fetchLevel > 2)
    return emitError() << "'fetch_level' must be 1 or 2, got " << fetchLevel;
  return verifyPositive(emitError, {{"chains", chains},
                                    {"accumulators", accumulators},
                                    {"row_vectors", rowVectors},
                                    {"ahead", ahead},
                                    {"streams", streams},
                                    {"stream_ahead", streamAhead},
                                    {"fetch_level", fetchLevel},
                                    {"line", line},
                                    {"interleaved", interleaved},
                                    {"reduced_rows", reducedRows}});
}

LogicalResult VectorUnitAttr::verify(EmitError emitError, int64_t bits,
                                     int64_t registers, int64_t fma,
                                     int64_t load, int64_t store,
                                     int64_t latency, int64_t clock,
                                     int64_t exponential, VectorTuningAttr) {
  if (bits % 32 != 0)
    return emitError() << "'bits' must be a multiple of 32, got " << bits;
  return verifyPositive(emitError, {{"bits", bits},
                                    {"registers", registers},
                                    {"fma", fma},
                                    {"load", load},
                                    {"store", store},
                                    {"latency", latency},
                                    {"clock", clock},
                                    {"exponential", exponential}});
}

static LogicalResult verifyElementType(EmitError emitError, Type type) {
  if (type.isIntOrFloat())
    return success();
  return emitError() << "'type' must be an integer or float type, got " << type;
}

LogicalResult DotProductAttr::verify(EmitError emitError, Type type,
                                     int64_t depth, int64_t fma,
                                     int64_t latency) {
  if (failed(verifyElementType(emitError, type)))
    return failure();
  return verifyPositive(emitError,
                        {{"depth", depth}, {"fma", fma}, {"latency", latency}});
}

LogicalResult MatrixUnitAttr::verify(EmitError emitError, Type type,
                                     int64_t rows, int64_t columns,
                                     int64_t depth, int64_t macs,
                                     int64_t latency, int64_t accumulators,
                                     int64_t lhs, int64_t rhs, int64_t load,
                                     int64_t store, int64_t clock,
                                     int64_t interleave) {
  if (failed(verifyElementType(emitError, type)) ||
      failed(verifyPositive(emitError, {{"rows", rows},
                                        {"columns", columns},
                                        {"depth", depth},
                                        {"macs", macs},
                                        {"latency", latency},
                                        {"accumulators", accumulators},
                                        {"lhs", lhs},
                                        {"rhs", rhs},
                                        {"load", load},
                                        {"store", store},
                                        {"clock", clock},
                                        {"interleave", interleave}})))
    return failure();
  constexpr int64_t accumulatorBytes = 4;
  int64_t elementBytes = bytesOf(type);
  struct Operand {
    StringRef name;
    int64_t bytes, needed;
  };
  for (Operand operand : {Operand{"accumulators", accumulators,
                                  rows * columns * accumulatorBytes},
                          Operand{"lhs", lhs, rows * depth * elementBytes},
                          Operand{"rhs", rhs, depth * columns * elementBytes}})
    if (operand.bytes < operand.needed)
      return emitError() << "one instruction needs " << operand.needed
                         << " bytes of '" << operand.name << "', got "
                         << operand.bytes;
  return success();
}

LogicalResult BufferAttr::verify(EmitError emitError, StringRef name,
                                 BufferRole holds, int64_t capacity,
                                 bool lanes) {
  if (name.empty())
    return emitError() << "a buffer needs a name";
  if (lanes && holds != BufferRole::Vectors)
    return emitError() << "'" << name << "' has lanes, but holds no vectors";
  return verifyPositive(emitError, {{"capacity", capacity}});
}

LogicalResult RouteAttr::verify(EmitError emitError, StringRef source,
                                StringRef destination, int64_t bandwidth, bool,
                                bool) {
  if (source == destination)
    return emitError() << "a route must lead from one memory to another, got '"
                       << source << "' twice";
  return verifyPositive(emitError, {{"bandwidth", bandwidth}});
}

LogicalResult ThreadGroupsAttr::verify(EmitError emitError, int64_t threads,
                                       int64_t most, int64_t units,
                                       int64_t rate, int64_t registers,
                                       int64_t file, int64_t reserved) {
  if (failed(verifyPositive(emitError, {{"threads", threads},
                                        {"most", most},
                                        {"units", units},
                                        {"rate", rate},
                                        {"registers", registers},
                                        {"file", file},
                                        {"reserved", reserved}})))
    return failure();
  if (rate > 100)
    return emitError() << "'rate' is a percentage, got " << rate;
  if (reserved >= registers)
    return emitError() << "'reserved' leaves none of " << registers
                       << " registers";
  return success();
}

LogicalResult OverheadsAttr::verify(EmitError emitError, int64_t block,
                                    int64_t transpose, int64_t run,
                                    int64_t runCost, int64_t followed,
                                    int64_t reach, int64_t collision,
                                    int64_t beside, int64_t region,
                                    int64_t handover, int64_t fresh,
                                    int64_t reused) {
  for (auto [name, figure] :
       std::initializer_list<std::pair<StringRef, int64_t>>{
           {"block", block},
           {"transpose", transpose},
           {"run", run},
           {"run_cost", runCost},
           {"followed", followed},
           {"reach", reach},
           {"collision", collision},
           {"beside", beside},
           {"region", region},
           {"handover", handover},
           {"fresh", fresh},
           {"reused", reused}})
    if (figure < 0)
      return emitError() << "'" << name << "' must not be negative, got "
                         << figure;
  return success();
}

LogicalResult TransferAttr::verify(EmitError emitError, int64_t bytes,
                                   int64_t time) {
  if (bytes < 0 || time < 1)
    return emitError() << "bytes must not be negative and take time, got "
                       << bytes << " in " << time << " ns";
  return success();
}

static LogicalResult verifyTransfers(EmitError emitError,
                                     ArrayRef<TransferAttr> transfers) {
  if (transfers.empty())
    return emitError() << "a table needs at least one transfer";
  for (auto [before, after] : llvm::zip(transfers, transfers.drop_front()))
    if (before.getBytes() >= after.getBytes() ||
        before.getTime() > after.getTime())
      return emitError() << "transfers go from small to large, and larger ones "
                            "take no less time; "
                         << after.getBytes() << " bytes come after "
                         << before.getBytes();
  return success();
}

LogicalResult ExchangeAttr::verify(EmitError emitError, CollectiveKind /*kind*/,
                                   int64_t processes,
                                   ArrayRef<TransferAttr> transfers) {
  if (processes < 2)
    return emitError() << "a group has at least two processes, got "
                       << processes;
  return verifyTransfers(emitError, transfers);
}

LogicalResult NetworkAttr::verify(EmitError emitError, StringRef /*source*/,
                                  ArrayRef<TransferAttr> transfers,
                                  ArrayRef<ExchangeAttr> measured,
                                  int64_t processor) {
  if (processor < 0 || processor > 100)
    return emitError() << "a transfer keeps the processor for 0 to 100 percent "
                          "of its time, got "
                       << processor;
  // All-reduces of two are what `transfers` has.
  llvm::SmallDenseSet<std::pair<int64_t, int64_t>> seen = {
      {static_cast<int64_t>(CollectiveKind::AllReduce), 2}};
  for (ExchangeAttr table : measured)
    if (!seen.insert(
                 {static_cast<int64_t>(table.getKind()), table.getProcesses()})
             .second)
      return emitError() << "a network has two tables of "
                         << stringifyCollectiveKind(table.getKind())
                         << " in groups of " << table.getProcesses();
  return verifyTransfers(emitError, transfers);
}

LogicalResult PartAttr::verify(EmitError emitError, ArrayRef<int64_t> shape,
                               ArrayRef<DenseI64ArrayAttr> axes,
                               ArrayRef<int64_t> grid) {
  if (axes.size() != shape.size())
    return emitError() << "a tensor of " << shape.size()
                       << " dimensions needs as many lists of axes, got "
                       << axes.size();
  if (llvm::any_of(grid, [](int64_t size) { return size < 1; }))
    return emitError() << "the axes of a grid have at least one process each";
  llvm::SmallDenseSet<int64_t> seen;
  for (auto [size, split] : llvm::zip_equal(shape, axes)) {
    int64_t count = 1;
    for (int64_t axis : split.asArrayRef()) {
      if (axis < 0 || axis >= static_cast<int64_t>(grid.size()) ||
          !seen.insert(axis).second)
        return emitError() << "axis " << axis
                           << " is not one of the grid, or cuts twice";
      count *= grid[axis];
    }
    if (size < 0 || size % count != 0)
      return emitError() << "a dimension of " << size << " has no " << count
                         << " equal parts";
  }
  return success();
}

int64_t PartAttr::getCount(unsigned dim) const {
  int64_t count = 1;
  for (int64_t axis : getAxes()[dim].asArrayRef())
    count *= getGrid()[axis];
  return count;
}

/// Fails if two of the units are for the same element type.
template <typename AttrT>
static LogicalResult verifyOnePerType(EmitError emitError, StringRef kind,
                                      ArrayRef<AttrT> units) {
  llvm::SmallPtrSet<Type, 4> seen;
  for (AttrT unit : units)
    if (!seen.insert(unit.getType()).second)
      return emitError() << "'" << kind << "' has more than one unit for "
                         << unit.getType();
  return success();
}

LogicalResult TargetAttr::verify(
    EmitError emitError, StringRef name, int64_t cores, VectorUnitAttr,
    ArrayRef<MemoryLevelAttr> levels, ArrayRef<DotProductAttr> dots,
    ArrayRef<MatrixUnitAttr> matrix, ArrayRef<BufferAttr> buffers,
    ArrayRef<RouteAttr> routes, ThreadGroupsAttr, OverheadsAttr, int64_t launch,
    int64_t stack, NetworkAttr, StringAttr, StringAttr, StringAttr) {
  if (name.empty())
    return emitError() << "a target needs a name";
  if (cores < 1)
    return emitError() << "'cores' must be positive, got " << cores;
  if (launch < 0)
    return emitError() << "'launch' must not be negative, got " << launch;
  if (stack < 0)
    return emitError() << "'stack' must not be negative, got " << stack;
  if (levels.empty())
    return emitError() << "a target needs at least one memory level";
  llvm::StringSet<> seen;
  for (MemoryLevelAttr level : levels)
    if (!seen.insert(level.getName()).second)
      return emitError() << "level '" << level.getName() << "' occurs twice";
  for (size_t i = 1; i < levels.size(); ++i)
    if (levels[i].getCapacity() > levels[i - 1].getCapacity())
      return emitError() << "levels go from slow to fast, but '"
                         << levels[i].getName() << "' is larger than '"
                         << levels[i - 1].getName() << "'";
  if (failed(verifyOnePerType(emitError, "dots", dots)) ||
      failed(verifyOnePerType(emitError, "matrix", matrix)))
    return failure();
  llvm::SmallDenseSet<unsigned> roles;
  for (BufferAttr buffer : buffers) {
    if (!seen.insert(buffer.getName()).second)
      return emitError() << "memory '" << buffer.getName() << "' occurs twice";
    if (!roles.insert(static_cast<unsigned>(buffer.getHolds())).second)
      return emitError() << "two buffers hold "
                         << stringifyBufferRole(buffer.getHolds());
  }
  seen.insert(model::Machine::mainMemory);
  for (RouteAttr route : routes)
    for (StringRef end : {route.getSource(), route.getDestination()})
      if (!seen.contains(end))
        return emitError() << "a route leads to or from '" << end
                           << "', which is no level, no buffer and not '"
                           << model::Machine::mainMemory << "'";
  return success();
}
