//===- BufferizableOpInterfaceImpl.cpp - Micro kernels to memrefs ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro kernels are the only operations of the dialect that meet one-shot
// bufferization. They are destination-style: the result is the output's buffer.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace chimera;

namespace {
struct MicroKernelOpInterface
    : public DstBufferizableOpInterfaceExternalModel<MicroKernelOpInterface,
                                                     MicroKernelOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto kernel = cast<MicroKernelOp>(op);
    unsigned number = operand.getOperandNumber();
    unsigned inputs = kernel.getInputs().size();
    return number < inputs || kernel.readsOutput(number - inputs);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto kernel = cast<MicroKernelOp>(op);
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        buffers.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    unsigned numResults = kernel.getNumResults();
    if (numResults == 0)
      return success();
    OperationState newState(op->getLoc(), op->getName(), buffers,
                            /*types=*/TypeRange(), op->getAttrs());
    Region *body = newState.addRegion();
    body->takeBody(kernel.getBody());
    newState.propertiesAttr = op->getPropertiesAsAttribute();
    rewriter.create(newState);
    replaceOpWithBufferizedValues(rewriter, op,
                                  ArrayRef(buffers).take_back(numResults));
    return success();
  }
};

/// A hint neither reads nor writes: it never asks for a copy.
struct PrefetchOpInterface
    : public BufferizableOpInterface::ExternalModel<PrefetchOpInterface,
                                                    PrefetchOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto prefetch = cast<PrefetchOp>(op);
    FailureOr<Value> buffer =
        getBuffer(rewriter, prefetch.getSource(), options, state);
    if (failed(buffer))
      return failure();
    rewriter.replaceOpWithNewOp<PrefetchOp>(op, *buffer, prefetch.getBounds());
    return success();
  }
};
} // namespace

void chimera::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    MicroKernelOp::attachInterface<MicroKernelOpInterface>(*context);
    PrefetchOp::attachInterface<PrefetchOpInterface>(*context);
  });
}
