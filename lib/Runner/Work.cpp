//===- Work.cpp - How much a program computes -----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Work.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera::runner;

/// Contractions and convolutions; pooling looks like a convolution but
/// multiplies nothing.
static bool isMultiplyAdd(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op) &&
      !linalg::isaConvolutionOpInterface(op))
    return false;
  return op->getRegion(0)
      .walk([](Operation *inner) {
        return isa<arith::MulFOp, arith::MulIOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Iterations of `op`; nothing if they are not known.
static std::optional<double> countIterations(linalg::LinalgOp op) {
  if (op->getParentOfType<LoopLikeOpInterface>())
    return std::nullopt;
  double count = 1;
  for (int64_t extent : op.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    count *= extent;
  }
  return count;
}

static void addWork(Work &work, std::optional<double> multiplyAdds,
                    int64_t contractions) {
  work.contractions += contractions;
  if (work.multiplyAdds && multiplyAdds)
    *work.multiplyAdds += *multiplyAdds;
  else
    work.multiplyAdds.reset();
}

/// `depth` bounds the calls followed: a program that recurses has no static
/// amount of work.
static Work countWork(func::FuncOp function, unsigned depth) {
  Work work;
  function.walk([&](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      if (!callee || depth == 0)
        return;
      Work inner = countWork(callee, depth - 1);
      addWork(work, inner.multiplyAdds, inner.contractions);
      return;
    }
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp && isMultiplyAdd(linalgOp))
      addWork(work, countIterations(linalgOp), 1);
  });
  return work;
}

Work chimera::runner::countWork(func::FuncOp function) {
  return ::countWork(function, /*depth=*/16);
}

static double getBytes(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!shaped || !shaped.hasStaticShape() ||
      !shaped.getElementType().isIntOrIndexOrFloat())
    return 0;
  // In floating point: the sizes of malformed programs overflow integers.
  double bytes = shaped.getElementType().isIndex()
                     ? 8
                     : llvm::divideCeil(shaped.getElementTypeBitWidth(), 8);
  for (int64_t extent : shaped.getShape())
    bytes *= extent;
  return bytes;
}

double chimera::runner::estimateBytes(func::FuncOp function) {
  double sum = 0, largest = 0;
  for (Type type : function.getArgumentTypes())
    sum += getBytes(type);
  for (Type type : function.getResultTypes())
    sum += getBytes(type);
  function.walk([&](Operation *op) {
    // Constants are in the file already, splats stay splats.
    for (Type type : op->getResultTypes())
      largest = std::max(largest, getBytes(type));
  });
  return sum + largest;
}
