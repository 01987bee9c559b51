//===- MicroKernels.cpp - Which micro kernels there are -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/MicroKernels.h"

#include "Chimera/IR/NumberTypes.h"
#include "Chimera/IR/ProductBody.h"
#include "Chimera/Model/Layouts.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace chimera;

MicroKernelRegistry &MicroKernelRegistry::get(MLIRContext *context) {
  auto *dialect = context->getOrLoadDialect<ChimeraDialect>();
  return *dialect->getRegisteredInterface<MicroKernelRegistry>();
}

void MicroKernelRegistry::add(Offer offer, Precedence precedence) {
  bool isUsers = precedence == Precedence::User;
  (isUsers ? ofUsers : ofBackEnds).push_back(std::move(offer));
}

SmallVector<MicroKernelAttrInterface>
MicroKernelRegistry::getOffers(TargetAttrInterface target,
                               RegisterTileAttr registers) const {
  SmallVector<MicroKernelAttrInterface> kernels;
  for (const std::vector<Offer> *offers : {&ofUsers, &ofBackEnds})
    for (const Offer &offer : *offers)
      if (MicroKernelAttrInterface kernel = offer(target, registers))
        kernels.push_back(kernel);
  return kernels;
}

SmallVector<MicroKernelAttrInterface>
chimera::getMicroKernels(Operation *op, TargetAttrInterface target,
                         RegisterTileAttr registers) {
  SmallVector<MicroKernelAttrInterface> kernels;
  StringRef name = ChimeraDialect::getMicroKernelsAttrName();
  for (Operation *scope = op; scope; scope = scope->getParentOp())
    if (auto list = scope->getAttrOfType<ArrayAttr>(name))
      llvm::append_range(kernels, list.getAsRange<MicroKernelAttrInterface>());
  llvm::append_range(
      kernels,
      MicroKernelRegistry::get(op->getContext()).getOffers(target, registers));
  return kernels;
}

SmallVector<MatrixProgramAttr>
chimera::getMatrixPrograms(Operation *op, TargetAttrInterface target) {
  SmallVector<MatrixProgramAttr> programs;
  for (MicroKernelAttrInterface kernel : getMicroKernels(op, target))
    if (auto program = dyn_cast<MatrixProgramAttr>(kernel))
      programs.push_back(program);
  return programs;
}

/// The micro kernels for contractions of `factor`, in order.
static SmallVector<MicroKernelAttrInterface>
getContractionKernels(Operation *op, TargetAttrInterface target, Type factor) {
  SmallVector<MicroKernelAttrInterface> kernels = getMicroKernels(op, target);
  llvm::erase_if(kernels, [&](MicroKernelAttrInterface kernel) {
    return !kernel.supports(MicroKernelKind::Contraction,
                            {factor, factor, getSumType(factor)});
  });
  return kernels;
}

static bool isProgram(MicroKernelAttrInterface kernel) {
  return kernel.getGranularity() == KernelGranularity::Program;
}

bool OperatorSupport::multiplies(Type lhs, Type rhs) const {
  return llvm::is_contained(factors, lhs) && llvm::is_contained(factors, rhs) &&
         (lhs == rhs || mixesFactors);
}

bool OperatorSupport::computes(Block &body) const {
  std::optional<ProductBody> product = matchProductBody(body);
  if (!product)
    return false;
  if (product->isInteger())
    return multipliesIntegers;
  if (!product->isQuantized())
    return multiplies(body.getArgument(0).getType(),
                      body.getArgument(1).getType());
  return decodes && llvm::is_contained(factors, product->factor.getType());
}

OperatorSupport chimera::getOperatorSupport(Operation *op,
                                            TargetAttrInterface target) {
  OperatorSupport support;
  support.factors = getFactorTypes(op->getContext());
  llvm::erase_if(support.factors, [&](Type factor) {
    return !canBeSum(factor) &&
           getContractionKernels(op, target, factor).empty();
  });
  SmallVector<Type> multiplied(support.factors);
  multiplied.push_back(IntegerType::get(op->getContext(), 8));
  llvm::copy_if(multiplied, std::back_inserter(support.inTiles),
                [&](Type factor) {
                  return llvm::any_of(getContractionKernels(op, target, factor),
                                      llvm::IsaPred<TileProductAttr>);
                });
  llvm::copy_if(support.factors, std::back_inserter(support.inPairs),
                [&](Type factor) {
                  FailureOr<model::Machine> machine = target.getMachine(factor);
                  return succeeded(machine) && machine->unit.depth > 1;
                });
  support.needsRows = target.getCommonFigures().groups.has_value();
  Type wide = getWideType(op->getContext());
  support.mixesFactors =
      llvm::any_of(getMicroKernels(op, target), [&](auto kernel) {
        return llvm::all_of(support.factors, [&](Type factor) {
          return kernel.supports(MicroKernelKind::Contraction,
                                 {wide, factor, getSumType(factor)});
        });
      });
  support.decodes = llvm::any_of(getMicroKernels(op, target), [&](auto kernel) {
    return kernel.supports(MicroKernelKind::Contraction,
                           {wide, IntegerType::get(op->getContext(), 8), wide});
  });
  Type byte = IntegerType::get(op->getContext(), 8);
  support.multipliesIntegers = !getContractionKernels(op, target, byte).empty();
  support.keepsSigns =
      llvm::any_of(getContractionKernels(op, target, byte),
                   [&](MicroKernelAttrInterface kernel) {
                     return isProgram(kernel) || isa<TileProductAttr>(kernel) ||
                            kernel.getMultipliedType(byte) != byte;
                   });
  model::Machine common = target.getCommonFigures();
  bool hasCache = common.levels.back().ways > 0;
  support.hasWindows = hasCache || common.groups || !common.routes.empty();
  FailureOr<model::Machine> machine =
      target.getMachine(Float32Type::get(op->getContext()));
  if (hasCache && succeeded(machine) && !machine->matrix) {
    support.lanes = machine->unit.lanes;
    support.unit = machine->unit;
    support.usesWorthTransposing = model::usesWorthTransposing(*machine);
  }
  return support;
}

/// The tiles that `kernel` offers and that make sense.
static std::vector<model::KernelShape>
getUsableShapes(MicroKernelAttrInterface kernel) {
  std::vector<model::KernelShape> shapes;
  for (model::KernelShape &shape : kernel.getShapes())
    if (!shape.name.empty() && shape.rows > 0 && shape.columns > 0 &&
        shape.depth >= 0 && shape.cyclesPerStep > 0)
      shapes.push_back(std::move(shape));
  return shapes;
}

std::vector<model::KernelShape>
chimera::getKernelShapes(Operation *op, TargetAttrInterface target,
                         Type factor) {
  std::vector<model::KernelShape> shapes;
  for (MicroKernelAttrInterface kernel :
       getContractionKernels(op, target, factor))
    if (!isProgram(kernel))
      llvm::append_range(shapes, getUsableShapes(kernel));
  return shapes;
}

/// Lets `unit` work by the instruction `shape`.
static void setInstruction(model::MatrixUnit &unit,
                           const model::KernelShape &shape) {
  unit.rows = shape.rows;
  unit.columns = shape.columns;
  unit.depth = shape.depth;
  unit.multiplyAddsPerCycle =
      static_cast<double>(shape.rows * shape.columns) / shape.cyclesPerStep;
}

FailureOr<model::Machine>
chimera::getMachine(Operation *op, TargetAttrInterface target, Type factor) {
  SmallVector<MicroKernelAttrInterface> kernels =
      getContractionKernels(op, target, factor);
  auto *general = llvm::find_if(kernels, [](MicroKernelAttrInterface kernel) {
    return kernel.getShapes().empty();
  });
  Type multiplied =
      general == kernels.end() ? factor : general->getMultipliedType(factor);
  FailureOr<model::Machine> machine = target.getMachine(multiplied);
  std::vector<model::KernelShape> shapes = getKernelShapes(op, target, factor);
  bool haveTiles = llvm::all_of(kernels, [](MicroKernelAttrInterface kernel) {
    return !isProgram(kernel) && !kernel.getShapes().empty();
  });
  if (haveTiles && !shapes.empty()) {
    machine = target.getCommonFigures();
    machine->hasRegisterTiles = false;
  }
  if (failed(machine))
    return failure();
  machine->kernels = std::move(shapes);
  if (machine->matrix && !kernels.empty() && isProgram(kernels.front()))
    for (const model::KernelShape &shape : getUsableShapes(kernels.front()))
      setInstruction(*machine->matrix, shape);
  return machine;
}

FailureOr<model::Machine> chimera::getVectorMachine(Operation *op,
                                                    TargetAttrInterface target,
                                                    Type factor) {
  SmallVector<MicroKernelAttrInterface> kernels =
      getContractionKernels(op, target, factor);
  llvm::erase_if(kernels, [](MicroKernelAttrInterface kernel) {
    return isProgram(kernel) || !kernel.getShapes().empty();
  });
  FailureOr<model::Machine> first = getMachine(op, target, factor);
  if (kernels.size() < 2 || failed(first) || !first->matrix)
    return failure();
  FailureOr<model::Machine> machine =
      target.getMachine(kernels[1].getMultipliedType(factor));
  if (failed(machine))
    return failure();
  machine->matrix.reset();
  machine->kernels = first->kernels;
  return machine;
}

bool chimera::areAllMultipliedInSumType(Operation *op,
                                        TargetAttrInterface target,
                                        Type factor) {
  SmallVector<MicroKernelAttrInterface> kernels =
      getContractionKernels(op, target, factor);
  return !kernels.empty() &&
         llvm::all_of(kernels, [&](MicroKernelAttrInterface kernel) {
           return kernel.getMultipliedType(factor) == getSumType(factor);
         });
}

bool chimera::areMultipliedByBlocks(Operation *op, TargetAttrInterface target,
                                    Type factor) {
  SmallVector<MicroKernelAttrInterface> kernels =
      getContractionKernels(op, target, factor);
  return !kernels.empty() && llvm::none_of(kernels, isProgram);
}

bool chimera::computes(MicroKernelAttrInterface kernel, MicroKernelOp op) {
  SmallVector<Type> types;
  for (Value operand : op->getOperands())
    types.push_back(getElementTypeOrSelf(operand));
  return kernel.supports(op.getKind(), types) && kernel.isLegal(op);
}

/// Why `kernel` is not used for `op`; empty if it can be.
static std::string findObstacle(MicroKernelAttrInterface kernel,
                                MicroKernelOp op) {
  if (!computes(kernel, op))
    return "it does not cover the operation";
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    if (OperandLayout layout = kernel.getLayout(op, operand);
        !layout.isProduced())
      return llvm::formatv("operand #{0} would have to be laid out as '{1}', "
                           "which no pass does",
                           operand, stringifyLayoutKind(layout.kind));
  return "";
}

MicroKernelChoice chimera::chooseMicroKernel(MicroKernelOp op,
                                             TargetAttrInterface target,
                                             RegisterTileAttr registers) {
  bool isContraction = op.getKind() == MicroKernelKind::Contraction;
  StringAttr name =
      registers && isContraction ? registers.getKernel() : StringAttr();
  MicroKernelChoice choice;
  if (name)
    choice.declined = "there is none of that name";
  MicroKernelAttrInterface first;
  for (MicroKernelAttrInterface kernel :
       getMicroKernels(op, target, registers)) {
    if (kernel.getGranularity() != KernelGranularity::Block)
      continue;
    SmallVector<model::KernelShape> shapes = kernel.getShapes();
    bool isNamed = name && llvm::any_of(shapes, [&](const auto &shape) {
                     return shape.name == name.getValue();
                   });
    bool mayBeFirst = !first && (shapes.empty() || !isContraction);
    if (!isNamed && !mayBeFirst)
      continue;
    std::string obstacle = findObstacle(kernel, op);
    if (isNamed && !choice.implementation)
      choice.declined = obstacle;
    if (!obstacle.empty())
      continue;
    if (isNamed && !choice.implementation)
      choice.implementation = kernel;
    else if (mayBeFirst)
      first = kernel;
  }
  (choice.implementation ? choice.otherwise : choice.implementation) = first;
  return choice;
}
