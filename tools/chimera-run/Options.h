//===- Options.h - Command line of chimera-run ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_OPTIONS_H
#define CHIMERA_TOOLS_CHIMERA_RUN_OPTIONS_H

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Transforms/Passes.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace chimera::run {

enum class Emit { Nothing, MLIR, LLVM, Assembly, Object, SharedLibrary };

struct Options {
  std::string file;
  /// The file with the program's text: `file`, or what that was imported to.
  std::string program;
  /// A file with the values of constants, by the number of the argument; empty
  /// for none.
  std::string weights;
  /// Empty: `main`, or the only public function. "*": check all of them.
  std::string entry;
  std::string target = "host";
  /// 0: one per core of the target.
  int64_t threads = 0;
  std::vector<std::string> inputs, outputs;
  /// Arguments of the entry that are the same in every call.
  std::vector<unsigned> constants;
  /// In which panels other programs keep some of them.
  std::vector<runner::Panels> panels;
  /// The sizes that programs with dynamic ones are planned for, and run at, one
  /// list of numbers for each case.
  std::vector<std::vector<int64_t>> sizes, at;
  uint64_t seed = 0;
  /// Processes that run the program together.
  int64_t processes = 1;
  SplitMode split = SplitMode::Auto;
  OverlapMode overlap = OverlapMode::Auto;
  FuseMode fuse = FuseMode::Auto;
  TileMode tiles = TileMode::Exact;
  /// Time chains as one kernel beside the plan that is chosen, and so many
  /// runners-up; nothing if absent.
  std::optional<unsigned> comparedPlans;
  /// How operators outside chains become groups. Time other groups beside, and
  /// so many of the next best; nothing if absent.
  PartitionSearchKind groups = PartitionSearchKind::Exact;
  std::optional<unsigned> comparedGroups;
  /// A file with micro kernels of the user's; empty for none.
  std::string microKernels;
  bool emulateTiles = false;
  /// Check these instead of running a program.
  bool checkMicroKernels = false;
  /// Libraries with what kernels call.
  std::vector<std::string> sharedLibraries;
  /// Empty: no JSON. "-": standard output, in place of the table.
  std::string json;
  /// All remarks; else only those on what was not taken.
  bool remarks = false;
  /// Threads that compile; 0 means one per core.
  unsigned jobs = 0;
  /// Say what each stage took.
  bool verbose = false;
  bool check = true;
  bool time = true;
  /// Time nothing else in turns with the program.
  bool alone = false;
  Emit emit = Emit::Nothing;
  /// Where `emit` writes; empty for its default.
  std::string outputFile;
  /// What shared libraries call in place of LLVM's and MLIR's runtimes, if set.
  std::string hostRuntime;
  /// Where a report of all plans goes; empty for nowhere.
  std::string report;
  /// Where the declarations for C go; empty for nowhere.
  std::string header;
  bool help = false;
};

/// What `--help` prints.
extern const char *const kUsage;

llvm::Expected<Options> parseOptions(llvm::ArrayRef<const char *> arguments);

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_OPTIONS_H
