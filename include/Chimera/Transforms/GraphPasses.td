//===- GraphPasses.td - Groups of whole programs -----------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_GRAPHPASSES
#define CHIMERA_TRANSFORMS_GRAPHPASSES

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"chimera-partition", "::mlir::func::FuncOp"> {
  let summary = "Choose which operators of a function run as one group";
  let description = [{
    Covers the operators of each block of a function by groups: chains around
    products and convolutions, groups of operators that wait for memory alone,
    single operators. Each operator gets an attribute `chimera.group`. The model
    chooses the partition: it is the one that takes the least time, and said to be
    so (`optimal`) only where that is proved; else the remark names the least time
    that any partition can take. Changes nothing else.

    What may be a group: operators that dependences or a common large input
    connect, none of which depends on another one through an operator outside;
    operators that can share loops, if none is a product; products that can be one
    chain, with the operators element by element, and the rows of a softmax,
    between and around them. Reshapes and slices of whole rows move nothing.

    Operators that have the attribute keep it: those with one id are one group,
    and no others join them. If they cannot be one, that is an error that names
    the operator. `search` selects a baseline instead: `greedy` joins operators by
    the rules of TVM, `separate` none. With `rank=N` the exact search takes the
    Nth-best partition after the cheapest, to compare predictions with times
    (`chimera-run --compare-groups`). Where there are fewer, the cheapest is kept,
    with a missed remark `rank`.

    A chain, or the loops that `chimera-tile` made of it (their attribute
    `chimera.plan` says so), is a group by itself and takes what it was planned to
    take.

    Remarks (category `chimera-graph`): `partition` with the time of the function,
    the number of groups and what the search looked at; `group` for each group;
    `boundary` for each tensor that is stored between two groups, with the reason
    and the rule of Table 1 (Gao et al.) for the types of both operators. With
    `print-graph` the graph is printed, with the type of each operator and the
    bytes of each tensor; with `print-gir`, each group that waits for memory as the
    cheapest graph of moves between memories (docs/gir.md).

    Example: see `test/Transforms/Graph/partition.mlir`. In

    ```mlir
    %1 = linalg.exp ins(%x : tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.transpose ins(%1 : tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) permutation = [1, 0]
    ```

    both get `chimera.group = #chimera.group<id = 0, kind = memory, ...>`, with the
    mappings `one_to_one` and `shuffle`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine to plan for: a name, host, dlti, or a file (machine.mlir)">,
    Option<"threads", "threads", "int64_t", "0",
           "Threads that will run the code; 0 means one per core of the target">,
    Option<"search", "search", "::chimera::PartitionSearchKind",
           "::chimera::PartitionSearchKind::Exact",
           "How groups are chosen",
           [{::llvm::cl::values(
               clEnumValN(::chimera::PartitionSearchKind::Exact, "exact",
                          "The cheapest partition"),
               clEnumValN(::chimera::PartitionSearchKind::Greedy, "greedy",
                          "By rules, as TVM does"),
               clEnumValN(::chimera::PartitionSearchKind::Separate, "separate",
                          "Each operator by itself"))}]>,
    Option<"rank", "rank", "unsigned", "0",
           "Take this one of the next best partitions instead of the cheapest">,
    Option<"printGraph", "print-graph", "bool", "false",
           "Print the graph of operators to standard error">,
    Option<"printGir", "print-gir", "bool", "false",
           "Print each memory group as a graph of moves to standard error">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect"];
}

#endif // CHIMERA_TRANSFORMS_GRAPHPASSES
