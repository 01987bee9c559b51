//===- CollectivesBufferization.cpp - Collectives to memrefs --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives are destination-style, and what they send and receive lies in one
// run of memory. A buffer that does not is exchanged by way of a copy.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Collectives.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace chimera;

namespace {
/// A buffer in one run of memory, and the one that it stands for.
struct Run {
  Value memory, original;
};
} // namespace

/// `buffer`, or room for a copy of it.
static FailureOr<Run> makeRun(RewriterBase &rewriter, Location loc,
                              Value buffer,
                              const BufferizationOptions &options) {
  auto type = cast<MemRefType>(buffer.getType());
  if (memref::isStaticShapeAndContiguousRowMajor(type))
    return Run{buffer, buffer};
  auto plain = MemRefType::get(type.getShape(), type.getElementType());
  FailureOr<Value> copy = options.createAlloc(rewriter, loc, plain, {});
  if (failed(copy))
    return failure();
  return Run{*copy, buffer};
}

namespace {
template <typename OpT>
struct CollectiveOpInterface
    : DstBufferizableOpInterfaceExternalModel<CollectiveOpInterface<OpT>, OpT> {
  /// Those that have no input read what they overwrite.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return op->getNumOperands() == 1 || operand.getOperandNumber() == 0;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    if (op->getNumResults() == 0)
      return success();
    Location loc = op->getLoc();
    SmallVector<Value> runs;
    Run output;
    for (OpOperand &operand : op->getOpOperands()) {
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      FailureOr<Run> run = makeRun(rewriter, loc, *buffer, options);
      if (failed(run))
        return failure();
      bool isRead =
          op->getNumOperands() == 1 || operand.getOperandNumber() == 0;
      if (isRead && run->memory != run->original &&
          failed(
              options.createMemCpy(rewriter, loc, run->original, run->memory)))
        return failure();
      runs.push_back(run->memory);
      output = *run;
    }
    OperationState newState(loc, op->getName(), runs, /*types=*/TypeRange(),
                            llvm::to_vector(op->getDiscardableAttrs()));
    newState.propertiesAttr = op->getPropertiesAsAttribute();
    rewriter.create(newState);
    if (output.memory != output.original &&
        failed(options.createMemCpy(rewriter, loc, output.memory,
                                    output.original)))
      return failure();
    replaceOpWithBufferizedValues(rewriter, op, output.original);
    return success();
  }
};
} // namespace

void chimera::registerCollectivesBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    AllReduceOp::attachInterface<CollectiveOpInterface<AllReduceOp>>(*context);
    ProcessBroadcastOp::attachInterface<
        CollectiveOpInterface<ProcessBroadcastOp>>(*context);
    AllGatherOp::attachInterface<CollectiveOpInterface<AllGatherOp>>(*context);
    ReduceScatterOp::attachInterface<CollectiveOpInterface<ReduceScatterOp>>(
        *context);
    AllToAllOp::attachInterface<CollectiveOpInterface<AllToAllOp>>(*context);
  });
}
