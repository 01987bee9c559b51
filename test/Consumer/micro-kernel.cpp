//===- micro-kernel.cpp - A micro kernel of another program ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a compiler that embeds Chimera does to bring a micro kernel: an
// attribute of its own dialect that implements Chimera's interface, and an
// offer to the registry. The kernel computes two rows of eight columns; its
// cost is declared so low that the plan uses it. The result is compared with a
// plain loop.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/MicroKernels.h"
#include "Chimera/Runner/Compiler.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Parser/Parser.h"

#include <cmath>

using namespace mlir;
using chimera::MicroKernelKind;
using chimera::MicroKernelOp;

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t numRows = 2, numColumns = 8;

class KernelAttr
    : public Attribute::AttrBase<KernelAttr, Attribute, AttributeStorage,
                                 chimera::MicroKernelAttrInterface::Trait> {
public:
  using Base::Base;
  static constexpr StringLiteral name = "consumer.kernel";

  bool supports(MicroKernelKind kind, ArrayRef<Type> types) const {
    return kind == MicroKernelKind::Contraction &&
           llvm::all_of(types, [](Type type) { return type.isF32(); });
  }
  SmallVector<chimera::model::KernelShape> getShapes() const {
    return {{"consumer", numRows, numColumns, /*depth=*/0,
             /*cyclesPerStep=*/0.1, /*cyclesPerCall=*/1}};
  }
  bool isLegal(Operation *op) const;
  chimera::OperandLayout getLayout(Operation *op, unsigned operand) const;
  SmallVector<int64_t> getTile(Operation *op) const;
  LogicalResult emit(OpBuilder &builder, Operation *op,
                     ArrayRef<int64_t> extents,
                     const chimera::KernelContext &context) const;

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelAttr)
};

class ConsumerDialect : public Dialect {
public:
  explicit ConsumerDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                TypeID::get<ConsumerDialect>()) {
    addAttributes<KernelAttr>();
  }
  static StringRef getDialectNamespace() { return "consumer"; }
  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    if (parser.parseKeyword("kernel"))
      return {};
    return KernelAttr::get(getContext());
  }
  void printAttribute(Attribute, DialectAsmPrinter &printer) const override {
    printer << "kernel";
  }

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConsumerDialect)
};

} // namespace

/// The dimension of columns, along which vectors run.
static unsigned getColumns(MicroKernelOp op) {
  AffineMap output = op.getMaps().back();
  return output.getDimPosition(output.getNumResults() - 1);
}

/// Rows, columns, one reduction: what the code below is for.
bool KernelAttr::isLegal(Operation *op) const {
  auto kernel = cast<MicroKernelOp>(op);
  return chimera::multipliesAndAdds(kernel.getBody().front()) &&
         kernel.getNumDims() == 3 &&
         kernel.getMaps().back().getNumResults() == 2 &&
         kernel.getMaps()[1].isFunctionOfDim(getColumns(kernel)) &&
         !kernel.getMaps()[0].isFunctionOfDim(getColumns(kernel));
}

chimera::OperandLayout KernelAttr::getLayout(Operation *op,
                                             unsigned operand) const {
  auto kernel = cast<MicroKernelOp>(op);
  unsigned columns = getColumns(kernel);
  return kernel.getMaps()[operand].isFunctionOfDim(columns)
             ? chimera::OperandLayout::contiguousAlong(columns)
             : chimera::OperandLayout();
}

SmallVector<int64_t> KernelAttr::getTile(Operation *op) const {
  auto kernel = cast<MicroKernelOp>(op);
  SmallVector<int64_t> tile(3, numRows);
  tile[getColumns(kernel)] = numColumns;
  for (unsigned dim = 0; dim < 3; ++dim)
    if (kernel.isReduction(dim))
      tile[dim] = ShapedType::kDynamic;
  return tile;
}

LogicalResult KernelAttr::emit(OpBuilder &builder, Operation *op,
                               ArrayRef<int64_t> extents,
                               const chimera::KernelContext &) const {
  auto kernel = cast<MicroKernelOp>(op);
  Location loc = op->getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Value> point(3, constant(0));
  auto indices = [&](unsigned operand) {
    SmallVector<Value> result;
    for (AffineExpr dim : kernel.getMaps()[operand].getResults())
      result.push_back(point[cast<AffineDimExpr>(dim).getPosition()]);
    return result;
  };
  auto type = VectorType::get({numColumns}, builder.getF32Type());
  Value lhs = op->getOperand(0), rhs = op->getOperand(1),
        out = op->getOperand(2);
  unsigned row = 0, step = 0;
  for (unsigned dim = 0; dim < 3; ++dim) {
    if (kernel.isReduction(dim))
      step = dim;
    else if (dim != getColumns(kernel))
      row = dim;
  }
  for (int64_t i = 0; i < numRows; ++i) {
    point[row] = constant(i);
    point[step] = constant(0);
    Value sum;
    if (kernel.getOverwrite())
      sum = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    else
      sum = vector::LoadOp::create(builder, loc, type, out, indices(2));
    auto loop = scf::ForOp::create(builder, loc, constant(0),
                                   constant(extents[step]), constant(1), sum);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      point[step] = loop.getInductionVar();
      Value scalar = memref::LoadOp::create(builder, loc, lhs, indices(0));
      Value factor = vector::BroadcastOp::create(builder, loc, type, scalar);
      Value vector =
          vector::LoadOp::create(builder, loc, type, rhs, indices(1));
      sum = vector::FMAOp::create(builder, loc, factor, vector,
                                  loop.getRegionIterArg(0));
      scf::YieldOp::create(builder, loc, sum);
    }
    vector::StoreOp::create(builder, loc, loop.getResult(0), out, indices(2));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static constexpr int64_t rows = 131, columns = 203, depth = 57;

static constexpr llvm::StringLiteral source = R"mlir(
func.func @main(%a: tensor<131x57xf32>, %b: tensor<57x203xf32>)
    -> tensor<131x203xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<131x203xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<131x203xf32>)
      -> tensor<131x203xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<131x57xf32>, tensor<57x203xf32>)
      outs(%1 : tensor<131x203xf32>) -> tensor<131x203xf32>
  return %2 : tensor<131x203xf32>
}
)mlir";

static int fail(const llvm::Twine &what) {
  llvm::errs() << "consumer: " << what << "\n";
  return 1;
}

/// Runs `program` and returns the largest error.
static llvm::Expected<double> run(chimera::runner::Program &program) {
  const chimera::runner::Function &main = program.getFunctions().front();
  std::vector<chimera::runner::Tensor> tensors;
  SmallVector<chimera::runner::Tensor *> pointers;
  for (const auto &type :
       {main.arguments[0], main.arguments[1], main.results[0]}) {
    auto tensor = chimera::runner::Tensor::allocate(type);
    if (!tensor)
      return tensor.takeError();
    tensor->fillRandom(/*seed=*/0, /*stream=*/tensors.size());
    tensors.push_back(std::move(*tensor));
  }
  for (chimera::runner::Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  auto call = program.bind("main", ArrayRef(pointers).take_front(2),
                           ArrayRef(pointers).take_back(1));
  if (!call)
    return call.takeError();
  (*call)();
  double worst = 0;
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += tensors[0].get(m * depth + k) * tensors[1].get(k * columns + n);
      worst = std::max(worst, std::abs(sum - tensors[2].get(m * columns + n)));
    }
  return worst;
}

int main() {
  DialectRegistry registry;
  chimera::runner::registerDialects(registry);
  registry.insert<ConsumerDialect>();
  registry.addExtension(+[](MLIRContext *context, chimera::ChimeraDialect *) {
    context->getOrLoadDialect<ConsumerDialect>();
    chimera::MicroKernelRegistry::get(context).add(
        [](chimera::TargetAttrInterface target, chimera::RegisterTileAttr) {
          // For machines that LLVM compiles for here.
          return target.getTriple().empty()
                     ? cast<chimera::MicroKernelAttrInterface>(
                           Attribute(KernelAttr::get(target.getContext())))
                     : chimera::MicroKernelAttrInterface();
        });
  });
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
  if (!module)
    return fail("the module does not parse");

  int64_t numChosen = 0;
  chimera::runner::CompileOptions options;
  options.threads = 1;
  options.onPlanned = [&](ModuleOp planned, double) {
    planned.walk([&](chimera::ChainOp chain) {
      if (chimera::ScheduleAttr schedule = chain.getScheduleAttr())
        if (StringAttr kernel = schedule.getRegisters().getKernel())
          numChosen += kernel.getValue() == "consumer";
    });
  };
  auto program = chimera::runner::compile(*module, options);
  if (!program)
    return fail(llvm::toString(program.takeError()));
  llvm::Expected<double> error = run(**program);
  if (!error)
    return fail(llvm::toString(error.takeError()));
  if (!(*error < 1e-4))
    return fail("the result is wrong");
  llvm::outs() << "ok: " << numChosen << " chain on the consumer's kernel\n";
  return 0;
}
