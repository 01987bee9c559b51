//===- Instructions.cpp - Instructions of a GPU's threads -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is one instruction of PTX. The dialect of all of these is large, so that
// nothing else should need its header.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace chimera;

static Value createWord(OpBuilder &builder, Location loc, int32_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                  builder.getI32IntegerAttr(value));
}

/// All lanes of a warp.
static constexpr int32_t allLanes = -1;

Value KernelBuilder::exchange(Value word, int64_t distance) {
  return NVVM::ShflOp::create(
      builder, loc, word.getType(), createWord(builder, loc, allLanes), word,
      createWord(builder, loc, distance),
      createWord(builder, loc, warpSize - 1), NVVM::ShflKind::bfly, UnitAttr());
}

Value KernelBuilder::takeFrom(Value word, Value lane) {
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), lane);
  return NVVM::ShflOp::create(builder, loc, word.getType(),
                              createWord(builder, loc, allLanes), word, number,
                              createWord(builder, loc, warpSize - 1),
                              NVVM::ShflKind::idx, UnitAttr());
}

void KernelBuilder::synchronizeWarp() {
  NVVM::SyncWarpOp::create(builder, loc, createWord(builder, loc, allLanes));
}

void KernelBuilder::synchronize() {
  gpu::BarrierOp::create(builder, loc);
  reads = Reads();
}

void KernelBuilder::commitCopies() {
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}

void KernelBuilder::awaitCopies(int64_t groups) {
  NVVM::CpAsyncWaitGroupOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(groups)));
}

Value KernelBuilder::roundToTF32(Value word) {
  auto mode = NVVM::FPRoundingModeAttr::get(builder.getContext(),
                                            NVVM::FPRoundingMode::RNA);
  return NVVM::ConvertFloatToTF32Op::create(builder, loc, builder.getI32Type(),
                                            word, mode);
}

/// Where the element at `place` of `memref`, which is contiguous, is.
static Value getPointer(KernelBuilder &kernel, Value memref, Value place) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Type word = builder.getI64Type(),
       pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto asWord = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, loc, word, index);
  };
  Value base = LLVM::IntToPtrOp::create(
      builder, loc, pointer,
      asWord(memref::ExtractAlignedPointerAsIndexOp::create(builder, loc,
                                                            memref)));
  return LLVM::GEPOp::create(builder, loc, pointer,
                             getElementTypeOrSelf(memref.getType()), base,
                             ArrayRef<LLVM::GEPArg>{asWord(place)});
}

/// One thread stands for the block: the barrier before puts what the others
/// have written before its fence, the one behind lets them read after the
/// second fence. The counter wraps around to zero.
Value KernelBuilder::arrive(Value counters, Value place, int64_t count) {
  static constexpr StringLiteral device = "device";
  auto fence = [&] {
    LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel, device);
  };
  synchronize();
  auto ofFirst = scf::IfOp::create(builder, loc, builder.getI32Type(),
                                   isLess(thread, constant(1)),
                                   /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ofFirst.thenBlock());
    Value most = createWord(builder, loc, count - 1);
    fence();
    Value before =
        LLVM::AtomicRMWOp::create(builder, loc, LLVM::AtomicBinOp::uinc_wrap,
                                  getPointer(*this, counters, place), most,
                                  LLVM::AtomicOrdering::monotonic, device);
    fence();
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         before, most);
    scf::YieldOp::create(builder, loc,
                         Value(arith::ExtUIOp::create(
                             builder, loc, builder.getI32Type(), isLast)));
    builder.setInsertionPointToStart(ofFirst.elseBlock());
    scf::YieldOp::create(builder, loc, createWord(builder, loc, 0));
  }
  auto any = NVVM::BarrierReductionAttr::get(builder.getContext(),
                                             NVVM::BarrierReduction::OR);
  auto barrier = NVVM::BarrierOp::create(
      builder, loc, builder.getI32Type(), /*barrierId=*/Value(),
      /*numberOfThreads=*/Value(), any, ofFirst.getResult(0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                               barrier.getRes(), createWord(builder, loc, 0));
}

static NVVM::MMATypes getFactorType(Type type, bool isUnsigned) {
  if (type.isInteger())
    return isUnsigned ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  if (type.isTF32())
    return NVVM::MMATypes::tf32;
  return type.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
}

/// nvgpu.mma.sync has none for bf16, and none that takes one factor without a
/// sign.
Value KernelBuilder::multiplyMatrices(const Contraction &contraction,
                                      ValueRange left, ValueRange right,
                                      ValueRange sums) {
  Type type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(4, contraction.sumType));
  MatrixProgramAttr instruction = contraction.instruction;
  Type factor = contraction.factorType;
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (factor.isInteger())
    overflow = NVVM::MMAIntOverflow::wrapped;
  return NVVM::MmaOp::create(
      builder, loc, type, left, right, sums,
      ArrayRef<int64_t>{instruction.getRows(), instruction.getColumns(),
                        instruction.getDepth()},
      /*b1Op=*/std::nullopt, overflow,
      std::array<NVVM::MMATypes, 2>{
          getFactorType(factor, contraction.isLhsUnsigned),
          getFactorType(factor, contraction.isRhsUnsigned)},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
}
