//===- BufferizableOpInterfaceImpl.cpp - Micro kernels to memrefs ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro kernels, hints, moved rows and views are the operations of the dialect
// that meet one-shot bufferization. Kernels are destination-style: the result
// is the output's buffer.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/Collectives.h"
#include "Chimera/IR/SteppedType.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

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

/// What neither reads nor writes never asks for a copy.
template <typename ConcreteT, typename OpTy>
struct WithoutAccess
    : public BufferizableOpInterface::ExternalModel<ConcreteT, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
};

/// A hint.
struct PrefetchOpInterface
    : public WithoutAccess<PrefetchOpInterface, PrefetchOp> {
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

/// Rows that move inside a buffer.
struct ShiftOpInterface
    : public BufferizableOpInterface::ExternalModel<ShiftOpInterface, ShiftOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return true;
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto shift = cast<ShiftOp>(op);
    FailureOr<Value> buffer =
        getBuffer(rewriter, shift.getSource(), options, state);
    if (failed(buffer))
      return failure();
    Location loc = op->getLoc();
    {
      OpBuilder::InsertionGuard guard(rewriter);
      Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
      Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
      auto loop =
          scf::ForOp::create(rewriter, loc, zero, shift.getCount(), one);
      rewriter.setInsertionPointToStart(loop.getBody());
      auto row = [&](Value first) -> Value {
        SmallVector<OpFoldResult> sizes =
            memref::getMixedSizes(rewriter, loc, *buffer);
        SmallVector<OpFoldResult> offsets(sizes.size(),
                                          rewriter.getIndexAttr(0)),
            ones(sizes.size(), rewriter.getIndexAttr(1));
        offsets[shift.getDim()] =
            arith::AddIOp::create(rewriter, loc, first, loop.getInductionVar())
                .getResult();
        sizes[shift.getDim()] = rewriter.getIndexAttr(1);
        return memref::SubViewOp::create(rewriter, loc, *buffer, offsets, sizes,
                                         ones);
      };
      Value from = row(shift.getFrom());
      memref::CopyOp::create(rewriter, loc, from, row(shift.getTo()));
    }
    replaceOpWithBufferizedValues(rewriter, op, *buffer);
    return success();
  }
};

/// A view: the elements of the source at other strides.
struct WindowsOpInterface
    : public WithoutAccess<WindowsOpInterface, WindowsOp> {
  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    return {{op->getResult(0), BufferRelation::Unknown}};
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    FailureOr<BufferLikeType> source = bufferization::getBufferType(
        cast<WindowsOp>(op).getSource(), options, state, invocationStack);
    if (failed(source))
      return failure();
    return cast<BufferLikeType>(
        getViewType(cast<WindowsOp>(op), cast<MemRefType>(*source)));
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto windows = cast<WindowsOp>(op);
    FailureOr<Value> source =
        getBuffer(rewriter, windows.getSource(), options, state);
    if (failed(source))
      return failure();
    Location loc = op->getLoc();
    MemRefType type = getViewType(windows, cast<MemRefType>(source->getType()));
    auto whole =
        memref::ExtractStridedMetadataOp::create(rewriter, loc, *source);
    SmallVector<OpFoldResult> apart = whole.getConstifiedMixedStrides(),
                              all = whole.getConstifiedMixedSizes(), strides,
                              sizes;
    for (auto [size, steps] :
         llvm::zip_equal(type.getShape(), windows.getSteps())) {
      auto [position, step] = steps;
      strides.push_back(multiply(rewriter, loc, apart[position], step));
      sizes.push_back(ShapedType::isDynamic(size)
                          ? all[position]
                          : OpFoldResult(rewriter.getIndexAttr(size)));
    }
    replaceOpWithNewBufferizedOp<memref::ReinterpretCastOp>(
        rewriter, op, type, *source, whole.getConstifiedMixedOffset(), sizes,
        strides);
    return success();
  }

private:
  static MemRefType getViewType(WindowsOp windows, MemRefType source) {
    return getSteppedType(source, windows.getType().getShape(),
                          windows.getSteps());
  }

  static OpFoldResult multiply(OpBuilder &builder, Location loc,
                               OpFoldResult stride, int64_t step) {
    if (std::optional<int64_t> constant = getConstantIntValue(stride))
      return builder.getIndexAttr(*constant * step);
    Value factor = arith::ConstantIndexOp::create(builder, loc, step);
    return arith::MulIOp::create(builder, loc, cast<Value>(stride), factor)
        .getResult();
  }
};
} // namespace

void chimera::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registerCollectivesBufferization(registry);
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    MicroKernelOp::attachInterface<MicroKernelOpInterface>(*context);
    PrefetchOp::attachInterface<PrefetchOpInterface>(*context);
    ShiftOp::attachInterface<ShiftOpInterface>(*context);
    WindowsOp::attachInterface<WindowsOpInterface>(*context);
  });
}
