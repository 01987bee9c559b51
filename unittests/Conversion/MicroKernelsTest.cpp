//===- MicroKernelsTest.cpp - Which micro kernels there are ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/MicroKernels.h"

#include "Chimera/InitAll.h"
#include "Chimera/Target/Target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace chimera;

namespace {

class MicroKernelsTest : public ::testing::Test {
protected:
  MicroKernelsTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.getOrLoadDialect<ChimeraDialect>();
  }

  SmallVector<MicroKernelAttrInterface> offersFor(StringRef target) {
    return MicroKernelRegistry::get(&context).getOffers(
        getTarget(&context, target), RegisterTileAttr());
  }
  /// True if a back end has kernels of `kind` for `types`, emitted in parts of
  /// `granularity`.
  bool hasKernel(StringRef target, MicroKernelKind kind, ArrayRef<Type> types,
                 KernelGranularity granularity) {
    return llvm::any_of(offersFor(target), [&](auto kernel) {
      return kernel.supports(kind, types) &&
             kernel.getGranularity() == granularity;
    });
  }
  MicroKernelAttrInterface parseKernel(StringRef name, StringRef cycles,
                                       StringRef factor = "f32") {
    return cast<MicroKernelAttrInterface>(
        parseAttribute(("#chimera.function_kernel<@" + name +
                        ", <contraction, types = [" + factor + ", " + factor +
                        ", f32], shape = 4x16x?, layouts = "
                        "[<any>, <contiguous along 1>, <any>], cycles = " +
                        cycles + " : f64>>")
                           .str(),
                       &context));
  }

  MLIRContext context;
};

TEST_F(MicroKernelsTest, BackEndsOfferWhatTheyEmit) {
  auto contraction = MicroKernelKind::Contraction;
  auto block = KernelGranularity::Block, program = KernelGranularity::Program;
  Type f32 = Float32Type::get(&context), f16 = Float16Type::get(&context),
       bf16 = BFloat16Type::get(&context), tf32 = FloatTF32Type::get(&context);
  for (StringRef name : {"zen5", "avx2", "host"}) {
    EXPECT_TRUE(hasKernel(name, contraction, {f32, f32, f32}, block));
    EXPECT_TRUE(hasKernel(name, contraction, {bf16, bf16, f32}, block));
    EXPECT_TRUE(hasKernel(name, contraction, {f32, f16, f32}, block));
    EXPECT_FALSE(hasKernel(name, contraction, {f16, f16, f16}, block));
    EXPECT_FALSE(hasKernel(name, contraction, {f16, f16, f32}, program));
    EXPECT_TRUE(
        hasKernel(name, MicroKernelKind::Elementwise, {bf16, bf16}, block));
  }
  for (StringRef name : {"a100", "h200", "ascend910"}) {
    EXPECT_TRUE(hasKernel(name, contraction, {f16, f16, f32}, program));
    EXPECT_FALSE(hasKernel(name, contraction, {f32, f32, f32}, program));
    EXPECT_FALSE(hasKernel(name, contraction, {f32, f32, f32}, block));
  }
  EXPECT_TRUE(hasKernel("h200", contraction, {bf16, bf16, f32}, program));
  EXPECT_TRUE(hasKernel("h200", contraction, {tf32, tf32, f32}, program));
  EXPECT_FALSE(hasKernel("ascend910", contraction, {bf16, bf16, f32}, program));
}

TEST_F(MicroKernelsTest, FactorsWithCodeAreSumsAndThoseOfAnyKernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Type f32 = Float32Type::get(&context), f16 = Float16Type::get(&context),
       bf16 = BFloat16Type::get(&context);
  auto factorsOn = [&](StringRef target) {
    return getOperatorSupport(*module, getTarget(&context, target)).factors;
  };
  for (StringRef name : {"zen5", "granite-rapids", "h200"})
    EXPECT_EQ(factorsOn(name), (SmallVector<Type>{f32, f16, bf16}));
  EXPECT_EQ(factorsOn("ascend910"), (SmallVector<Type>{f32, f16}));
  (*module)->setAttr(
      ChimeraDialect::getMicroKernelsAttrName(),
      ArrayAttr::get(&context, {parseKernel("own", "8.0", "bf16")}));
  EXPECT_EQ(factorsOn("ascend910"), (SmallVector<Type>{f32, f16, bf16}));
}

/// Plans for programs are made by the instruction that is offered, which is the
/// one that the target's unit has.
TEST_F(MicroKernelsTest, ProgramsOfferTheirInstruction) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Type f16 = Float16Type::get(&context), tf32 = FloatTF32Type::get(&context);
  for (auto [name, factor, columns, depth, cyclesPerStep] :
       {std::tuple<StringRef, Type, int64_t, int64_t, double>{"h200", f16, 8,
                                                              16, 0.0625},
        {"h200", tf32, 8, 8, 0.125},
        {"a100", f16, 8, 16, 0.125},
        {"ascend910", f16, 16, 16, 0.0625}}) {
    TargetAttrInterface target = getTarget(&context, name);
    SmallVector<model::KernelShape> shapes;
    for (MicroKernelAttrInterface kernel : offersFor(name)) {
      if (kernel.supports(MicroKernelKind::Contraction,
                          {factor, factor, Float32Type::get(&context)})) {
        llvm::append_range(shapes, kernel.getShapes());
      }
    }
    ASSERT_EQ(shapes.size(), 1u);
    EXPECT_EQ(shapes[0].rows, 16);
    EXPECT_EQ(shapes[0].columns, columns);
    EXPECT_EQ(shapes[0].depth, depth);
    EXPECT_EQ(shapes[0].cyclesPerStep, cyclesPerStep);
    EXPECT_EQ(shapes[0].cyclesPerCall, 0);
    // Blocks have no choice between programs.
    EXPECT_TRUE(getKernelShapes(*module, target, factor).empty());
    FailureOr<model::Machine> offered = getMachine(*module, target, factor),
                              own = target.getMachine(factor);
    ASSERT_TRUE(succeeded(offered) && succeeded(own));
    EXPECT_EQ(offered->matrix->rows, own->matrix->rows);
    EXPECT_EQ(offered->matrix->columns, own->matrix->columns);
    EXPECT_EQ(offered->matrix->depth, own->matrix->depth);
    EXPECT_EQ(offered->matrix->multiplyAddsPerCycle,
              own->matrix->multiplyAddsPerCycle);
  }
}

/// The parser asks for a type by itself.
TEST_F(MicroKernelsTest, ProgramsMultiplySomething) {
  std::string text;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { text = diagnostic.str(); });
  EXPECT_TRUE(failed(MatrixProgramAttr::verify(
      [&] { return emitError(UnknownLoc::get(&context)); }, 16, 8, 16,
      ArrayRef<Type>(), FloatAttr())));
  EXPECT_EQ(text, "'factors' must name a type");
}

/// Where all kernels have tiles of their own, nothing else is planned with.
TEST_F(MicroKernelsTest, PlansAreForTheTypeThatIsMultiplied) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Type f32 = Float32Type::get(&context), bf16 = BFloat16Type::get(&context);
  auto machineOn = [&](StringRef target, Type factor) {
    return getMachine(*module, getTarget(&context, target), factor);
  };
  // Kernels of x86 multiply bf16 on tiles, by dot products or in f32.
  auto depthOf = [](StringRef target) { return target == "zen5" ? 2 : 1; };
  auto hasTiles = [](StringRef target) { return target == "granite-rapids"; };
  auto vectorsOn = [&](StringRef target) {
    return getVectorMachine(*module, getTarget(&context, target), bf16);
  };
  for (StringRef name : {"avx2", "zen5", "granite-rapids"}) {
    EXPECT_EQ(machineOn(name, bf16)->matrix.has_value(), hasTiles(name));
    EXPECT_EQ(machineOn(name, bf16)->unit.depth, depthOf(name));
    // What tiles are no gain for has vectors as well.
    EXPECT_EQ(succeeded(vectorsOn(name)), hasTiles(name));
  }
  EXPECT_FALSE(vectorsOn("granite-rapids")->matrix);
  (*module)->setAttr(
      ChimeraDialect::getMicroKernelsAttrName(),
      ArrayAttr::get(&context, {parseKernel("own", "8.0", "bf16"),
                                parseKernel("beside", "8.0")}));
  for (StringRef name : {"avx2", "zen5", "granite-rapids"}) {
    FailureOr<model::Machine> machine = machineOn(name, bf16);
    ASSERT_TRUE(succeeded(machine));
    EXPECT_TRUE(machine->hasRegisterTiles);
    EXPECT_EQ(machine->matrix.has_value(), hasTiles(name));
    EXPECT_EQ(machine->unit.depth, depthOf(name));
    ASSERT_EQ(machine->kernels.size(), 1u);
    EXPECT_EQ(machine->kernels[0].name, "own");
    EXPECT_TRUE(machineOn(name, f32)->hasRegisterTiles);
    EXPECT_EQ(machineOn(name, f32)->kernels.size(), 1u);
  }
  // Where all kernels have tiles of their own, these are all there is.
  FailureOr<model::Machine> machine = machineOn("ascend910", bf16);
  ASSERT_TRUE(succeeded(machine));
  EXPECT_FALSE(machine->hasRegisterTiles);
  EXPECT_FALSE(machine->matrix);
  ASSERT_EQ(machine->kernels.size(), 1u);
  EXPECT_EQ(machine->kernels[0].name, "own");
}

TEST_F(MicroKernelsTest, UsersComeFirst) {
  MicroKernelAttrInterface own = parseKernel("own", "4.0");
  MicroKernelRegistry::get(&context).add(
      [own](TargetAttrInterface target, RegisterTileAttr) {
        return target.getTriple().empty() ? own : MicroKernelAttrInterface();
      });
  SmallVector<MicroKernelAttrInterface> kernels = offersFor("zen5");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels.front(), own);
  // It has declined.
  EXPECT_FALSE(llvm::is_contained(offersFor("h200"), own));
}

TEST_F(MicroKernelsTest, ProgramsComeBeforeUsers) {
  MicroKernelAttrInterface own = parseKernel("own", "4.0"),
                           program = parseKernel("program", "5.0");
  MicroKernelRegistry::get(&context).add(
      [own](TargetAttrInterface, RegisterTileAttr) { return own; });
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  (*module)->setAttr(ChimeraDialect::getMicroKernelsAttrName(),
                     ArrayAttr::get(&context, {program}));
  TargetAttrInterface target = getTarget(&context, "zen5");
  SmallVector<MicroKernelAttrInterface> kernels =
      getMicroKernels(*module, target);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0], program);
  EXPECT_EQ(kernels[1], own);

  std::vector<model::KernelShape> shapes =
      getKernelShapes(*module, target, Float32Type::get(&context));
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].name, "program");
  EXPECT_EQ(shapes[0].rows, 4);
  EXPECT_EQ(shapes[0].columns, 16);
  EXPECT_EQ(shapes[0].depth, 0);
  EXPECT_EQ(shapes[0].cyclesPerStep, 5);
  EXPECT_TRUE(
      getKernelShapes(*module, target, BFloat16Type::get(&context)).empty());
}

/// Kernels without tiles of their own are taken in order; those that have some,
/// only where they are named.
TEST_F(MicroKernelsTest, ChoosesByNameElseInOrder) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      R"mlir(
func.func @f(%a: memref<4x8xf32>, %b: memref<8x16xf32>, %c: memref<4x16xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<4x8xf32>, memref<8x16xf32>) outs(%c : memref<4x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}
)mlir",
      &context);
  MicroKernelOp op;
  module->walk([&](MicroKernelOp found) { op = found; });
  TargetAttrInterface target = getTarget(&context, "zen5");
  auto registersOf = [&](StringAttr name) {
    return RegisterTileAttr::get(&context, 4, 1, 0, 1, name, /*part=*/0,
                                 /*stages=*/0);
  };
  auto own = StringAttr::get(&context, "own");
  MicroKernelChoice choice =
      chooseMicroKernel(op, target, registersOf(StringAttr()));
  MicroKernelAttrInterface ofBackEnd = choice.implementation;
  EXPECT_TRUE(ofBackEnd);
  EXPECT_FALSE(choice.otherwise);

  MicroKernelRegistry &registry = MicroKernelRegistry::get(&context);
  MicroKernelAttrInterface named = parseKernel("own", "4.0");
  registry.add(
      [named](TargetAttrInterface, RegisterTileAttr) { return named; });
  EXPECT_EQ(
      chooseMicroKernel(op, target, registersOf(StringAttr())).implementation,
      ofBackEnd);
  choice = chooseMicroKernel(op, target, registersOf(own));
  EXPECT_EQ(choice.implementation, named);
  EXPECT_TRUE(isa<OuterProductAttr>(choice.otherwise));
  EXPECT_EQ(choice.declined, "");

  auto plain = cast<MicroKernelAttrInterface>(
      parseAttribute("#chimera.outer_product<lanes = 4, registers = <rows = 1, "
                     "vectors = 1, broadcasts = 1, depth = 1>>",
                     &context));
  registry.add(
      [plain](TargetAttrInterface, RegisterTileAttr) { return plain; });
  EXPECT_EQ(
      chooseMicroKernel(op, target, registersOf(StringAttr())).implementation,
      plain);
  EXPECT_EQ(chooseMicroKernel(op, target, registersOf(own)).otherwise, plain);
}

/// Vectors of 512 bits do not imply AVX-512.
TEST_F(MicroKernelsTest, InstructionsFollowTheProcessor) {
  auto kernelOf = [&](StringRef cpu, StringRef features) {
    std::string text =
        ("#chimera.target<\"t\", cores = 1, unit = <bits = 512, registers = "
         "32, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>, "
         "levels = [<\"L1\", capacity = 32768, usable = 80, core_bandwidth = "
         "1, chip_bandwidth = 1, sharers = 1, line = 64, ways = 8>], cpu = \"" +
         cpu + "\", features = \"" + features + "\">")
            .str();
    auto target = cast<TargetAttrInterface>(parseAttribute(text, &context));
    return cast<OuterProductAttr>(MicroKernelRegistry::get(&context)
                                      .getOffers(target, RegisterTileAttr())
                                      .front());
  };
  EXPECT_TRUE(kernelOf("skylake-avx512", "").getAvx512());
  EXPECT_FALSE(kernelOf("haswell", "").getAvx512());
  EXPECT_TRUE(kernelOf("haswell", "+avx512f,+avx512dq").getAvx512());
  EXPECT_FALSE(kernelOf("skylake-avx512", "-avx512dq").getAvx512());
}

} // namespace
