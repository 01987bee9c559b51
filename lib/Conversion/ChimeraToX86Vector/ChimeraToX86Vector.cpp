//===- ChimeraToX86Vector.cpp - Micro kernels for x86 ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What x86 offers: kernels of every kind on vector registers, contractions of
// f32 among them on register tiles of any size.
//
//===----------------------------------------------------------------------===//

#include "Features.h"
#include "MicroKernelEmitter.h"
#include "OfferTiles.h"
#include "X86Intrinsics.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/Model/Algorithms.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/X86Vector/Transforms.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

/// Emits `op`, which is no contraction, for known extents.
static LogicalResult emitSimple(OpBuilder &builder, MicroKernelOp op,
                                const VectorFigures &figures,
                                ArrayRef<int64_t> extents) {
  if (op.getKind() == MicroKernelKind::Reduction)
    return emitReduction(builder, op, figures, extents);
  if (succeeded(emitInterleavedCopy(builder, op, figures, extents)) ||
      succeeded(emitElementwise(builder, op, figures, extents)))
    return success();
  return success(op.getKind() == MicroKernelKind::Pack &&
                 succeeded(emitTransposedCopy(builder, op, figures, extents)));
}

/// The same past the caches where that is wanted and possible. What was stored
/// so is seen by other threads before anything that comes later is.
static LogicalResult emitStreamed(OpBuilder &builder, MicroKernelOp op,
                                  const VectorFigures &figures,
                                  ArrayRef<int64_t> extents) {
  Value mayStream = emitMayStream(builder, op, figures);
  if (!mayStream)
    return emitSimple(builder, op, figures, extents);
  auto choice = scf::IfOp::create(builder, op.getLoc(), mayStream,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  VectorFigures streaming = figures;
  streaming.streams = true;
  if (failed(emitSimple(builder, op, streaming, extents)))
    return failure();
  fenceStores(builder, op.getLoc());
  builder.setInsertionPointToStart(choice.elseBlock());
  return emitSimple(builder, op, figures, extents);
}

/// Emits `op` for known extents.
static LogicalResult emitFor(OpBuilder &builder, MicroKernelOp op,
                             const VectorFigures &figures,
                             const model::RegisterTile &tile,
                             ArrayRef<int64_t> extents,
                             const KernelContext &context) {
  if (op.getKind() != MicroKernelKind::Contraction)
    return emitStreamed(builder, op, figures, extents);
  if (isInnerProduct(op))
    return emitInnerProduct(builder, op, figures, extents);
  if (succeeded(emitOuterProduct(builder, op, figures, tile, extents, context)))
    return success();
  return success(mayBeInnerProduct(op) &&
                 succeeded(emitInnerProduct(builder, op, figures, extents)));
}

/// The dimension along which elements of `operand`, which no vectors run along,
/// have to be copied side by side to be multiplied at once: the only one that
/// is summed up. Windows would be copied several times, and few columns of
/// floats are multiplied sooner in f32.
static std::optional<unsigned> findCopiedPairs(MicroKernelOp op,
                                               unsigned operand,
                                               unsigned vectorDim,
                                               const VectorFigures &figures) {
  if (!mayBeDotProduct(op, figures))
    return std::nullopt;
  SmallVector<int64_t> columns = op.getExtentsOf(vectorDim);
  if (!isIntegerProduct(op) &&
      (columns.empty() ||
       *llvm::max_element(columns) < model::leastColumnsOfPairs(figures.lanes)))
    return std::nullopt;
  AffineMap map = op.getMaps()[operand];
  std::optional<unsigned> along;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (!op.isReduction(dim))
      continue;
    if (along || !map.isFunctionOfDim(dim))
      return std::nullopt;
    along = dim;
  }
  return along;
}

namespace {
struct OuterProductModel
    : MicroKernelAttrInterface::ExternalModel<OuterProductModel,
                                              OuterProductAttr> {
  bool supports(Attribute attribute, MicroKernelKind kind,
                ArrayRef<Type> types) const {
    // Integers are added up by dot products alone.
    if (kind == MicroKernelKind::Contraction && types.size() == 3 &&
        llvm::all_of(types.drop_back(), canBeIntegerFactor))
      return types[0] == types[1] && types[2] == getSumType(types[0]) &&
             getMultipliedType(attribute, types[0]) != types[2];
    auto isRead = [](Type type) {
      return canBeFactor(type) || canBeCode(type);
    };
    return kind != MicroKernelKind::Contraction ||
           (llvm::all_of(types.drop_back(), isRead) &&
            llvm::any_of(types.drop_back(), canBeFactor) &&
            canBeSum(types.back()));
  }

  /// Narrow factors are widened when they are loaded, unless there are dot
  /// products of them.
  Type getMultipliedType(Attribute attribute, Type factor) const {
    Type dots =
        VectorFigures(cast<OuterProductAttr>(attribute)).findDots(factor);
    return dots ? dots : getSumType(factor);
  }

  OperandLayout getLayout(Attribute attribute, Operation *op,
                          unsigned operand) const {
    auto kernel = cast<MicroKernelOp>(op);
    AffineMap output = kernel.getMaps().back();
    if (kernel.getKind() != MicroKernelKind::Contraction ||
        output.getNumResults() == 0 || isInnerProduct(kernel))
      return OperandLayout();
    VectorFigures figures(cast<OuterProductAttr>(attribute));
    if (auto number = findWordDim(kernel, figures);
        number && kernel.getMaps()[operand].isFunctionOfDim(*number))
      return OperandLayout::contiguousAlong(*number);
    unsigned vectorDim = output.getDimPosition(output.getNumResults() - 1);
    if (kernel.getMaps()[operand].isFunctionOfDim(vectorDim))
      return OperandLayout::contiguousAlong(vectorDim);
    if (auto pairs = findCopiedPairs(kernel, operand, vectorDim, figures))
      return OperandLayout::contiguousAlong(*pairs);
    return OperandLayout();
  }

  bool takesAnyExtent(Attribute, Operation *op, unsigned dim) const {
    auto kernel = cast<MicroKernelOp>(op);
    return kernel.getKind() == MicroKernelKind::Contraction &&
           !isInnerProduct(kernel) && isOuterReduction(kernel, dim);
  }

  bool takesOpenExtents(Attribute, Operation *) const { return true; }

  bool finishes(Attribute attribute, Operation *op, Operation *finish) const {
    return isFinishedByOuterProduct(
        cast<MicroKernelOp>(op), cast<MicroKernelOp>(finish),
        VectorFigures(cast<OuterProductAttr>(attribute)));
  }

  LogicalResult emit(Attribute attribute, OpBuilder &builder, Operation *op,
                     ArrayRef<int64_t> extents,
                     const KernelContext &context) const {
    auto implementation = cast<OuterProductAttr>(attribute);
    RegisterTileAttr registers = implementation.getRegisters();
    model::RegisterTile tile = {registers.getRows(), registers.getVectors(),
                                registers.getBroadcasts(),
                                registers.getDepth()};
    tile.part = registers.getPart();
    return emitFor(builder, cast<MicroKernelOp>(op),
                   VectorFigures(implementation), tile, extents, context);
  }

  /// Functions become polynomials, transposes of squares become shuffles.
  void populatePatterns(Attribute, RewritePatternSet &patterns) const {
    populateMathAlgebraicSimplificationPatterns(patterns);
    MathPolynomialApproximationOptions approximation;
    approximation.enableAvx2 = false;
    populateMathPolynomialApproximationPatterns(patterns, approximation);
    // Few processors round to bf16, and those flush denormal numbers.
    arith::populateExpandBFloat16Patterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::Shuffle16x16);
    x86vector::avx2::LoweringOptions squares;
    squares.setTransposeOptions(
        x86vector::avx2::TransposeLoweringOptions().lower8x8xf32());
    x86vector::avx2::populateSpecializedTransposeLoweringPatterns(patterns,
                                                                  squares);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The offer
//===----------------------------------------------------------------------===//

/// The types that `target` has dot products of, as far as they are emitted.
/// Null if there are none.
static ArrayAttr getDots(TargetAttr target, int64_t lanes) {
  struct Form {
    Type type;
    int64_t depth, lanes;
    StringRef feature;
  };
  Builder builder(target.getContext());
  const Form forms[] = {{builder.getBF16Type(), 2, 16, "avx512bf16"},
                        {builder.getI8Type(), 4, 16, "avx512vnni"},
                        {builder.getI16Type(), 2, 16, "avx512bw"},
                        {builder.getI16Type(), 2, 8, "avx2"}};
  SmallVector<Attribute> types;
  for (DotProductAttr dot : target.getDots())
    if (llvm::any_of(forms, [&](const Form &form) {
          return form.type == dot.getType() && form.depth == dot.getDepth() &&
                 form.lanes == lanes && hasFeatures(target, {form.feature});
        }))
      types.push_back(TypeAttr::get(dot.getType()));
  return types.empty() ? ArrayAttr()
                       : ArrayAttr::get(target.getContext(), types);
}

/// The types that `target` has an instruction to round vectors to, likewise.
static ArrayAttr getNarrowed(TargetAttr target, int64_t lanes) {
  if (lanes != 16 || !hasFeatures(target, {"avx512bf16"}))
    return {};
  Builder builder(target.getContext());
  return builder.getTypeArrayAttr(builder.getBF16Type());
}

/// The tile that `registers` is, or what the register file holds of it if it is
/// the tile of another kernel, whose edges are left, or of a matrix unit, whose
/// instructions take many rows.
static RegisterTileAttr getTile(const model::Machine &machine,
                                RegisterTileAttr registers,
                                MLIRContext *context) {
  bool isForMatrix = registers && registers.getBroadcasts() == 0;
  if (registers && !registers.getKernel() && !isForMatrix)
    return registers;
  model::RegisterTile tile = {1, 1, 1, 1};
  if (registers) {
    tile.rows =
        registers.getKernel() ? registers.getRows() : machine.unit.registers;
    tile.vectors = registers.getVectors();
    tile = model::edgeTile(machine.unit, tile);
  }
  return RegisterTileAttr::get(context, tile.rows, tile.vectors,
                               tile.broadcasts, tile.depth, StringAttr(),
                               tile.part, tile.stages);
}

static MicroKernelAttrInterface offerOuterProduct(TargetAttrInterface target,
                                                  RegisterTileAttr registers) {
  if (!target.getTriple().empty() && !llvm::Triple(target.getTriple()).isX86())
    return {};
  MLIRContext *context = target.getContext();
  FailureOr<model::Machine> machine =
      target.getMachine(Float32Type::get(context));
  if (failed(machine))
    return {};
  auto described = dyn_cast<TargetAttr>(target);
  int64_t lanes = machine->unit.lanes;
  bool isLong = lanes * 32 == 512;
  bool hasAvx512 = isLong && hasFeatures(target, {"avx512f", "avx512dq"});
  return cast<MicroKernelAttrInterface>(OuterProductAttr::get(
      context, lanes, getTile(*machine, registers, context),
      !isLong || hasAvx512,
      described ? described.getUnit().getTuning() : VectorTuningAttr(),
      described ? getDots(described, lanes) : ArrayAttr(),
      described ? getNarrowed(described, lanes) : ArrayAttr()));
}

void chimera::registerX86VectorMicroKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    OuterProductAttr::attachInterface<OuterProductModel>(*context);
    context->loadDialect<LLVM::LLVMDialect, scf::SCFDialect,
                         memref::MemRefDialect, vector::VectorDialect>();
    // Tiles first: they decline what has no unit for them, or was not planned
    // for it.
    offerTileProducts(context);
    MicroKernelRegistry::get(context).add(
        offerOuterProduct, MicroKernelRegistry::Precedence::BackEnd);
  });
}
