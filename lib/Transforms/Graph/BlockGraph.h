//===- BlockGraph.h - The operators of a block for the model ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the operators of one block into the model's graph: operations of linalg
// with their indexing maps, chains, moves of the tensor dialect, and everything
// else that takes or makes tensors, of which nothing is known. Changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_GRAPH_BLOCKGRAPH_H
#define CHIMERA_LIB_TRANSFORMS_GRAPH_BLOCKGRAPH_H

#include "Chimera/Model/OperatorGraph.h"

#include "mlir/IR/Block.h"

namespace chimera {

struct BlockGraph {
  model::OperatorGraph graph;
  /// The operation of each operator, and the value of each tensor.
  llvm::SmallVector<mlir::Operation *, 0> operations;
  llvm::SmallVector<mlir::Value, 0> values;
};

/// The operators of `block` itself; not those of loops in it, which are opaque.
BlockGraph readBlock(mlir::Block &block);

/// Writes a line for each operator, with the type of its mapping, and for each
/// tensor, with its bytes.
void print(llvm::raw_ostream &os, const model::OperatorGraph &graph);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_GRAPH_BLOCKGRAPH_H
