//===- Bufferization.cpp - Images in memory -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The border of an image is in no memory: the operation that shows it stays, as
// a view of the image.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/IR/SteppedType.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace chimera::ascend;

namespace {
struct ImageOpInterface
    : BufferizableOpInterface::ExternalModel<ImageOpInterface, ImageOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  /// Pixels are in several windows.
  bool isWritable(Operation *, Value, const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    return {{op->getResult(0), BufferRelation::Unknown}};
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    auto image = cast<ImageOp>(op);
    FailureOr<BufferLikeType> source = bufferization::getBufferType(
        image.getSource(), options, state, invocationStack);
    if (failed(source))
      return failure();
    return cast<BufferLikeType>(getViewType(image, cast<MemRefType>(*source)));
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto image = cast<ImageOp>(op);
    FailureOr<Value> source =
        getBuffer(rewriter, image.getSource(), options, state);
    if (failed(source))
      return failure();
    replaceOpWithNewBufferizedOp<ImageOp>(
        rewriter, op, getViewType(image, cast<MemRefType>(source->getType())),
        *source, image.getMap());
    return success();
  }

private:
  static MemRefType getViewType(ImageOp image, MemRefType source) {
    return chimera::getSteppedType(
        source, cast<ShapedType>(image.getType()).getShape(), image.getSteps());
  }
};
} // namespace

void chimera::ascend::registerBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AscendDialect *) {
    ImageOp::attachInterface<ImageOpInterface>(*context);
  });
}
