//===- AscendToEmitC.cpp - Instructions to C++ ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One instruction, one call, with the vendor's word for it in a pragma on the
// line before. The functions are those of chimera_npu.h.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/Conversion/Passes.h"

#include "mlir/Conversion/ArithToEmitC/ArithToEmitC.h"
#include "mlir/Conversion/FuncToEmitC/FuncToEmitC.h"
#include "mlir/Conversion/SCFToEmitC/SCFToEmitC.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/EmitC/Transforms/TypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

namespace chimera {
#define GEN_PASS_DEF_CONVERTASCENDTOEMITCPASS
#include "Chimera/Conversion/AscendPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

static std::string spellType(Type type) {
  if (type.isF16())
    return "half";
  if (type.isInteger(32))
    return "int32_t";
  if (type.isSignedInteger(8))
    return "int8_t";
  return type.isF32() ? "float" : "uint8_t";
}

static std::string spellPointer(PtrType type) {
  std::string memory = type.getMemory() == Memory::GM
                           ? "Gm"
                           : stringifyMemory(type.getMemory()).upper();
  return memory + "<" + spellType(type.getElementType()) + ">";
}

static std::string spellPipe(Pipe pipe) {
  return "PIPE_" + stringifyPipe(pipe).upper();
}

/// The vendor's word for what an instruction does.
static StringRef getWord(CopyKind kind) {
  switch (kind) {
  case CopyKind::GmToCbuf:
  case CopyKind::GmToUbuf:
  case CopyKind::UbufToGm:
  case CopyKind::UbufToCbuf:
  case CopyKind::MatrixCcToUbuf:
  case CopyKind::GmToCbufNd2Nz:
  case CopyKind::GmToCbufNd2NzB8:
  case CopyKind::GmToUbufPad:
  case CopyKind::UbufToGmPad:
    return "dma_copy";
  case CopyKind::MatrixCcToCbuf:
  case CopyKind::MatrixCcToGm:
  case CopyKind::MatrixCcToGmNz:
    return "fixpipe_op";
  }
  llvm_unreachable("unknown instruction");
}

static StringRef getWord(VectorKind kind) {
  switch (kind) {
  case VectorKind::Add:
    return "vector_add";
  case VectorKind::Sub:
    return "vector_sub";
  case VectorKind::Mul:
    return "vector_mul";
  case VectorKind::Div:
    return "vector_div";
  case VectorKind::Max:
    return "vector_max";
  case VectorKind::Min:
    return "vector_min";
  case VectorKind::Exp:
    return "vector_exp";
  case VectorKind::Ln:
    return "vector_ln";
  case VectorKind::Rec:
    return "vector_rec";
  case VectorKind::Sqrt:
    return "vector_sqrt";
  case VectorKind::Abs:
    return "vector_abs";
  case VectorKind::Adds:
    return "vector_adds";
  case VectorKind::Muls:
    return "vector_muls";
  case VectorKind::Maxs:
    return "vector_maxs";
  case VectorKind::Mins:
    return "vector_mins";
  case VectorKind::Dup:
    return "vector_dup";
  case VectorKind::Narrow:
  case VectorKind::Widen:
  case VectorKind::WidenByte:
  case VectorKind::RoundEven:
  case VectorKind::Truncate:
  case VectorKind::WidenInteger:
  case VectorKind::NarrowToByte:
    return "vector_conv";
  }
  llvm_unreachable("unknown instruction");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {

/// A call with operands and literals in the order of the parameters.
class Call {
public:
  Call(ConversionPatternRewriter &rewriter, Location loc)
      : rewriter(rewriter), loc(loc) {}

  Call &with(ValueRange values) {
    for (Value value : values) {
      arguments.push_back(rewriter.getIndexAttr(operands.size()));
      operands.push_back(value);
    }
    return *this;
  }
  Call &withLiteral(const Twine &text) {
    arguments.push_back(
        emitc::OpaqueAttr::get(rewriter.getContext(), text.str()));
    return *this;
  }
  Call &withLiterals(ArrayRef<int64_t> numbers) {
    for (int64_t number : numbers)
      withLiteral(Twine(number));
    return *this;
  }
  /// A template argument.
  Call &on(StringRef text) {
    templateArguments.push_back(
        emitc::OpaqueAttr::get(rewriter.getContext(), text));
    return *this;
  }
  void emit(StringRef callee, StringRef word = "") {
    if (!word.empty())
      emitc::VerbatimOp::create(rewriter, loc,
                                ("#pragma emit_insn " + word).str());
    emitc::CallOpaqueOp::create(
        rewriter, loc, TypeRange(), rewriter.getStringAttr(callee),
        rewriter.getArrayAttr(arguments),
        templateArguments.empty() ? ArrayAttr()
                                  : rewriter.getArrayAttr(templateArguments),
        operands);
  }

private:
  ConversionPatternRewriter &rewriter;
  Location loc;
  SmallVector<Value> operands;
  SmallVector<Attribute> arguments, templateArguments;
};

template <typename OpTy>
struct Pattern : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  using Adaptor = typename OpTy::Adaptor;

  LogicalResult
  matchAndRewrite(OpTy op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    convert(op, adaptor, rewriter);
    return success();
  }
  void convert(OpTy op, Adaptor adaptor,
               ConversionPatternRewriter &rewriter) const;
};

template <>
void Pattern<CopyOp>::convert(CopyOp op, Adaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  Call call(rewriter, op.getLoc());
  call.with(adaptor.getOperands());
  if (cast<PtrType>(op.getSource().getType()).getMemory() == Memory::L0C) {
    auto type = cast<PtrType>(op.getDestination().getType());
    bool narrows = type.getElementType().isF16();
    call.withLiteral(op.getRelu()
                         ? narrows ? "CRMODE_F32toF16_RELU" : "CRMODE_RELU"
                     : narrows ? "CRMODE_F32toF16_NONE"
                               : "CRMODE_NONE");
  }
  call.emit(stringifyCopyKind(op.getKind()), getWord(op.getKind()));
  rewriter.eraseOp(op);
}

template <>
void Pattern<ClearOp>::convert(ClearOp op, Adaptor adaptor,
                               ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .withLiteral("half(0)")
      .emit("create_cbuf_matrix", "dma_padding");
  rewriter.eraseOp(op);
}

template <>
void Pattern<LoadOp>::convert(LoadOp op, Adaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  auto type = cast<PtrType>(op.getDestination().getType());
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .withLiteral(op.getTranspose() ? "true" : "false")
      .emit(type.getMemory() == Memory::L0A ? "load_cbuf_to_ca"
                                            : "load_cbuf_to_cb",
            "dma_copy");
  rewriter.eraseOp(op);
}

template <>
void Pattern<LoadTransposedOp>::convert(
    LoadTransposedOp op, Adaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  auto type = cast<PtrType>(op.getDestination().getType());
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .emit(type.getMemory() == Memory::L0A ? "load_cbuf_to_ca_transpose"
                                            : "load_cbuf_to_cb_transpose",
            "dma_copy");
  rewriter.eraseOp(op);
}

template <>
void Pattern<MadOp>::convert(MadOp op, Adaptor adaptor,
                             ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .emit("mad", "mad mad_pattern(0)");
  rewriter.eraseOp(op);
}

/// The loops that `mad` stands for, outermost first, as the paper has them.
struct MadNestPattern : OpConversionPattern<MadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto write = [&](const Twine &text, ValueRange values = {}) {
      emitc::VerbatimOp::create(rewriter, loc,
                                rewriter.getStringAttr(text.str()), values);
    };
    write("#pragma emit_insn mad mad_pattern(0)");
    write("{{ MadNest nest({}, {}, {}, {}, {}, {}, {});",
          adaptor.getOperands());
    auto loop = [&](StringRef name, const Twine &bound) {
      write("for (int64_t " + name + " = 0; " + name + " < " + bound + "; ++" +
            name + ")");
    };
    loop("n1", "nest.fractals(nest.n)");
    loop("m1", "nest.fractals(nest.m)");
    loop("m2", "nest.left(nest.m, m1)");
    loop("n2", "nest.left(nest.n, n1)");
    loop("k1", "nest.depths(nest.k)");
    loop("k2", "nest.leftOfDepth(nest.k, k1)");
    write("nest.c(n1, m1, m2, n2) += nest.a(m1, k1, m2, k2) * "
          "nest.b(k1, n1, n2, k2); }");
    rewriter.eraseOp(op);
    return success();
  }
};

template <>
void Pattern<VectorOp>::convert(VectorOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Call call(rewriter, op.getLoc());
  call.with(adaptor.getDestination()).with(adaptor.getSources());
  if (adaptor.getScalar())
    call.with(adaptor.getScalar());
  call.with(adaptor.getRepeat())
      .withLiterals(op.getBlocks())
      .withLiterals(op.getRepeats())
      .emit(stringifyVectorKind(op.getKind()), getWord(op.getKind()));
  rewriter.eraseOp(op);
}

template <>
void Pattern<ReduceOp>::convert(ReduceOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  auto resultDistance = static_cast<int64_t>(op.getDistance().value_or(1));
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .withLiterals({resultDistance, static_cast<int64_t>(op.getBlocks()),
                     static_cast<int64_t>(op.getRepeats())})
      .emit(stringifyReduceKind(op.getKind()), op.getKind() == ReduceKind::Max
                                                   ? "vector_reduce_max"
                                                   : "vector_reduce_sum");
  rewriter.eraseOp(op);
}

template <>
void Pattern<BroadcastOp>::convert(BroadcastOp op, Adaptor adaptor,
                                   ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .emit("vbrcb", "vector_broadcast");
  rewriter.eraseOp(op);
}

template <>
void Pattern<TransposeOp>::convert(TransposeOp op, Adaptor adaptor,
                                   ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .withLiterals(op.getRepeats())
      .withLiterals(op.getRows())
      .emit("vnchwconv", "vector_transpose");
  rewriter.eraseOp(op);
}

template <>
void Pattern<CompareOp>::convert(CompareOp op, Adaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .withLiterals({1, 1, 8, 8})
      .emit(stringifyCompareKind(op.getKind()), "vector_select_cmp");
  rewriter.eraseOp(op);
}

template <>
void Pattern<SelectOp>::convert(SelectOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .withLiterals({1, 1, 1, 8, 8, 8})
      .on(op.getSame() ? "VSEL_CMPMASK_SPR" : "VSEL_TENSOR_TENSOR_MODE")
      .emit("vsel", "vector_select");
  rewriter.eraseOp(op);
}

template <>
void Pattern<SetVectorMaskOp>::convert(
    SetVectorMaskOp op, Adaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .with(adaptor.getOperands())
      .emit("set_vector_mask");
  rewriter.eraseOp(op);
}

template <>
void Pattern<SetFlagOp>::convert(SetFlagOp op, Adaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .withLiteral(spellPipe(op.getFrom()))
      .withLiteral(spellPipe(op.getTo()))
      .with(adaptor.getEvent())
      .emit("set_flag");
  rewriter.eraseOp(op);
}

template <>
void Pattern<WaitFlagOp>::convert(WaitFlagOp op, Adaptor adaptor,
                                  ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .withLiteral(spellPipe(op.getFrom()))
      .withLiteral(spellPipe(op.getTo()))
      .with(adaptor.getEvent())
      .emit("wait_flag");
  rewriter.eraseOp(op);
}

template <>
void Pattern<PipeBarrierOp>::convert(
    PipeBarrierOp op, Adaptor, ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .withLiteral(spellPipe(op.getPipe()))
      .emit("pipe_barrier");
  rewriter.eraseOp(op);
}

template <>
void Pattern<SetCrossFlagOp>::convert(
    SetCrossFlagOp op, Adaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc())
      .withLiteral(spellPipe(op.getFrom()))
      .with(adaptor.getFlag())
      .emit("set_cross_flag");
  rewriter.eraseOp(op);
}

template <>
void Pattern<WaitCrossFlagOp>::convert(
    WaitCrossFlagOp op, Adaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  Call(rewriter, op.getLoc()).with(adaptor.getFlag()).emit("wait_cross_flag");
  rewriter.eraseOp(op);
}

/// Operations with a result that are calls without an effect.
template <typename OpTy>
struct ValuePattern : OpConversionPattern<OpTy> {
  ValuePattern(const TypeConverter &converter, MLIRContext *context,
               std::string callee = "")
      : OpConversionPattern<OpTy>(converter, context),
        callee(std::move(callee)) {}

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = this->getTypeConverter()->convertType(op.getType());
    std::string name = callee;
    if (auto pointer = dyn_cast<PtrType>(op.getType()))
      name = spellPointer(pointer);
    rewriter.replaceOpWithNewOp<emitc::CallOpaqueOp>(
        op, TypeRange(type), rewriter.getStringAttr(name), ArrayAttr(),
        ArrayAttr(), adaptor.getOperands());
    return success();
  }

  std::string callee;
};

struct OffsetPattern : OpConversionPattern<OffsetOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OffsetOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<emitc::AddOp>(op, adaptor.getBase().getType(),
                                              adaptor.getBase(),
                                              adaptor.getElements());
    return success();
  }
};

/// Upstream leaves minima and maxima of indices.
template <typename OpTy, emitc::CmpPredicate isLeft>
struct ExtremumPattern : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // Indices have signs, what they become has none.
    auto asSigned = [&](Value value) -> Value {
      if (!op.getType().isIndex())
        return value;
      auto type = emitc::PtrDiffTType::get(rewriter.getContext());
      return emitc::CastOp::create(rewriter, op.getLoc(), type, value);
    };
    Value takesLeft = emitc::CmpOp::create(
        rewriter, op.getLoc(), rewriter.getI1Type(), isLeft,
        asSigned(adaptor.getLhs()), asSigned(adaptor.getRhs()));
    rewriter.replaceOpWithNewOp<emitc::ConditionalOp>(
        op, adaptor.getLhs().getType(), takesLeft, adaptor.getLhs(),
        adaptor.getRhs());
    return success();
  }
};

/// `number` as a literal of float.
static std::string spellNumber(double number) {
  if (std::isnan(number))
    return "NAN";
  if (std::isinf(number))
    return number > 0 ? "INFINITY" : "-INFINITY";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9gf", number);
  if (text.find_first_of(".e") == std::string::npos)
    text.insert(text.size() - 1, ".0");
  return text;
}

/// Numbers are written where they are used.
struct ConstantPattern : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    std::string text;
    if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
      text = spellNumber(number.getValueAsDouble());
    } else if (auto number = dyn_cast<IntegerAttr>(op.getValue());
               number && !op.getType().isInteger(1)) {
      text = std::to_string(number.getInt());
    } else {
      return failure();
    }
    rewriter.replaceOpWithNewOp<emitc::LiteralOp>(op, type, text);
    return success();
  }
};

/// Indices are not below zero, so that comparing them needs no cast.
struct ComparisonPattern : OpConversionPattern<arith::CmpIOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::CmpIOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getLhs().getType().isIndex() ||
        op.getPredicate() != arith::CmpIPredicate::eq)
      return failure();
    rewriter.replaceOpWithNewOp<emitc::CmpOp>(
        op, op.getType(), emitc::CmpPredicate::eq, adaptor.getLhs(),
        adaptor.getRhs());
    return success();
  }
};

/// Of conditions, where C++ compilers would warn of `&`.
struct AndPattern : OpConversionPattern<arith::AndIOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::AndIOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isInteger(1))
      return failure();
    rewriter.replaceOpWithNewOp<emitc::LogicalAndOp>(
        op, op.getType(), adaptor.getLhs(), adaptor.getRhs());
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void populateTypes(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  populateEmitCSizeTTypeConversions(converter);
  converter.addConversion([](PtrType type) -> Type {
    return emitc::OpaqueType::get(type.getContext(), spellPointer(type));
  });
  auto cast = [](OpBuilder &builder, Type type, ValueRange inputs,
                 Location loc) -> Value {
    return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
        .getResult(0);
  };
  converter.addSourceMaterialization(cast);
  converter.addTargetMaterialization(cast);
}

/// The architecture that the program is for, as the functional model numbers
/// them.
static void emitArchitecture(OpBuilder &builder, Location loc,
                             func::FuncOp kernel) {
  auto name = kernel->getAttrOfType<StringAttr>(kArchAttrName);
  if (!name)
    return;
  auto getNumber = [](Architecture architecture) {
    switch (architecture) {
    case Architecture::Ascend910:
      return "910";
    case Architecture::Ascend310P:
      return "310";
    case Architecture::Ascend910B:
      return "9102";
    }
    llvm_unreachable("unknown architecture");
  };
  emitc::VerbatimOp::create(
      builder, loc,
      ("#define CHIMERA_NPU_ARCH " +
       Twine(getNumber(*symbolizeArchitecture(name.getValue()))))
          .str());
}

/// What lets programs launch `kernel`, behind it; what its arguments are,
/// before it. Of a kernel in two parts that for vector cores comes last.
static void frame(func::FuncOp kernel) {
  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  StringRef wholeName = kernel.getName();
  std::string entry = "CHIMERA_NPU_ENTRY(";
  bool isFirst = true, isLast = true;
  if (auto core = kernel->getAttrOfType<StringAttr>(kCoreAttrName)) {
    wholeName.consume_back(core.getValue());
    wholeName.consume_back("_");
    isLast = core.getValue() == stringifyCoreKind(CoreKind::Vector);
    isFirst = !isLast;
    entry = "CHIMERA_NPU_MIXED_ENTRY(";
    kernel->removeAttr(kCoreAttrName);
  }
  std::string name = wholeName.str(), types;
  for (Type type : kernel.getArgumentTypes())
    types += ", " + spellType(cast<PtrType>(type).getElementType());
  kernel->removeAttr(kArchAttrName);
  std::string list;
  auto arguments = cast<ArrayAttr>(kernel->removeAttr(kKernelAttrName));
  for (auto text : arguments.getAsRange<StringAttr>())
    list += (list.empty() ? "" : ", ") + text.getValue().str();
  auto room = cast<DictionaryAttr>(kernel->removeAttr(kRoomAttrName));
  if (isFirst)
    emitc::VerbatimOp::create(builder, loc, "// " + name + "(" + list + ")");
  for (NamedAttribute memory : room) {
    if (!isFirst)
      break;
    std::string bytes =
        std::to_string(cast<IntegerAttr>(memory.getValue()).getInt());
    std::string place = memory.getName().getValue().upper();
    emitc::VerbatimOp::create(
        builder, loc,
        "static_assert(kArch.capacity[index(Mem::" + place + ")] >= " + bytes +
            ", \"" + name + " needs more " + place + "\");");
  }
  builder.setInsertionPointAfter(kernel);
  if (isLast)
    emitc::VerbatimOp::create(builder, loc, entry + name + types + ")");
}

namespace {
struct ConvertAscendToEmitCPass
    : chimera::impl::ConvertAscendToEmitCPassBase<ConvertAscendToEmitCPass> {
  using Base::Base;

  void runOnOperation() override {
    MLIRContext &context = getContext();
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kKernelAttrName))
        kernels.push_back(function);
    if (kernels.empty())
      return;
    OpBuilder builder(kernels.front());
    Location loc = getOperation()->getLoc();
    emitArchitecture(builder, loc, kernels.front());
    emitc::IncludeOp::create(builder, loc, "chimera_npu.h",
                             /*is_standard_include=*/false);
    emitc::VerbatimOp::create(builder, loc, "using namespace chimera_npu;");
    for (func::FuncOp kernel : kernels) {
      frame(kernel);
      kernel->setAttr("specifiers",
                      builder.getStrArrayAttr({"CHIMERA_NPU_GLOBAL"}));
    }

    TypeConverter converter;
    populateTypes(converter);
    RewritePatternSet patterns(&context);
    populateArithToEmitCPatterns(converter, patterns);
    populateSCFToEmitCConversionPatterns(patterns, converter);
    populateFuncToEmitCPatterns(converter, patterns);
    patterns.add<
        Pattern<CopyOp>, Pattern<ClearOp>, Pattern<LoadOp>,
        Pattern<LoadTransposedOp>, Pattern<VectorOp>, Pattern<ReduceOp>,
        Pattern<BroadcastOp>, Pattern<TransposeOp>, Pattern<CompareOp>,
        Pattern<SelectOp>, Pattern<SetVectorMaskOp>, Pattern<SetFlagOp>,
        Pattern<WaitFlagOp>, Pattern<PipeBarrierOp>, Pattern<SetCrossFlagOp>,
        Pattern<WaitCrossFlagOp>, ValuePattern<AddressOp>, OffsetPattern,
        ExtremumPattern<arith::MinSIOp, emitc::CmpPredicate::lt>,
        ExtremumPattern<arith::MaxSIOp, emitc::CmpPredicate::gt>>(converter,
                                                                  &context);
    if (emit == AscendEmission::Nest)
      patterns.add<MadNestPattern>(converter, &context);
    else
      patterns.add<Pattern<MadOp>>(converter, &context);
    patterns.add<AndPattern, ConstantPattern, ComparisonPattern>(
        converter, &context, /*benefit=*/2);
    patterns.add<ValuePattern<BlockIdxOp>>(converter, &context, "block_idx");
    patterns.add<ValuePattern<BlockNumOp>>(converter, &context, "block_num");
    patterns.add<ValuePattern<SubBlockIdxOp>>(converter, &context,
                                              "sub_block_idx");
    ConversionTarget target(context);
    target.addLegalDialect<emitc::EmitCDialect>();
    target.addLegalOp<ModuleOp>();
    target.markUnknownOpDynamicallyLegal([&](Operation *op) {
      // Functions that are no kernels stay as they are.
      auto function = dyn_cast<func::FuncOp>(op);
      if (!function)
        function = op->getParentOfType<func::FuncOp>();
      return function && !function->hasAttr("specifiers");
    });
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
