//===- TargetTest.cpp - Tests of the machines that have a name ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Target/Target.h"

#include "mlir/IR/Builders.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace chimera;

namespace {

struct TargetTest : testing::Test {
  TargetTest() { context.loadDialect<ChimeraDialect>(); }

  /// The machine; it must have a unit for `type`.
  model::Machine getMachine(StringRef name, Type type) {
    FailureOr<model::Machine> machine =
        getTarget(&context, name).getMachine(type);
    EXPECT_TRUE(succeeded(machine)) << name.str();
    return succeeded(machine) ? *machine : model::Machine();
  }
  /// FLOP per second of all cores, on the unit that does contractions.
  double getPeak(StringRef name, Type type) {
    model::Machine machine = getMachine(name, type);
    return machine.cores * (machine.matrix ? machine.matrix->peakFlops()
                                           : machine.unit.peakFlops());
  }
  bool hasUnit(StringRef name, Type type) {
    return succeeded(getTarget(&context, name).getMachine(type));
  }

  MLIRContext context;
  Builder builder{&context};
  Type f32 = builder.getF32Type(), f16 = builder.getF16Type(),
       bf16 = builder.getBF16Type(), i8 = builder.getI8Type(),
       tf32 = builder.getTF32Type();
};

TEST_F(TargetTest, EveryNameHasATarget) {
  for (StringRef name : getTargetNames()) {
    TargetAttr target = getTarget(&context, name);
    ASSERT_TRUE(target) << name.str();
    EXPECT_EQ(target.getName(), name);
    EXPECT_TRUE(hasUnit(name, f32)) << name.str();
  }
  EXPECT_FALSE(getTarget(&context, "pentium"));
  EXPECT_FALSE(getTarget(&context, ""));
}

TEST_F(TargetTest, PeaksAreThoseOfTheDataSheets) {
  EXPECT_NEAR(getPeak("a100", f16), 312e12, 1e12);
  EXPECT_NEAR(getPeak("a100", tf32), 156e12, 1e12);
  EXPECT_NEAR(getPeak("a100", i8), 624e12, 1e12);
  EXPECT_NEAR(getPeak("a100", f32), 19.5e12, 0.1e12);
  EXPECT_NEAR(getPeak("h100", bf16), 989e12, 1e12);
  EXPECT_NEAR(getPeak("h200", f16), 989e12, 1e12);
  EXPECT_NEAR(getPeak("h200", Float8E4M3FNType::get(&context)), 1979e12, 1e12);
  EXPECT_NEAR(getPeak("h200", f32), 66.9e12, 0.1e12);
  EXPECT_NEAR(getPeak("ascend910", f16), 256e12, 8e12);
  EXPECT_NEAR(getPeak("ascend910", i8), 512e12, 16e12);
}

TEST_F(TargetTest, TypesWithoutAUnitAreRefused) {
  EXPECT_FALSE(hasUnit("avx2", bf16));
  EXPECT_FALSE(hasUnit("xeon-gold-6240", bf16));
  EXPECT_FALSE(hasUnit("zen5", f16));
  EXPECT_FALSE(hasUnit("sapphire-rapids", f16));
  EXPECT_TRUE(hasUnit("granite-rapids", f16));
  EXPECT_FALSE(hasUnit("a100", Float8E4M3FNType::get(&context)));
  EXPECT_FALSE(hasUnit("ascend910", bf16));
  EXPECT_TRUE(hasUnit("ascend910b", bf16));
  EXPECT_FALSE(hasUnit("h200", builder.getF64Type()));
}

TEST_F(TargetTest, DotProductsDoubleTheVectorRate) {
  for (StringRef name : {"zen4", "zen5"}) {
    model::Machine machine = getMachine(name, bf16);
    EXPECT_FALSE(machine.matrix);
    EXPECT_EQ(machine.unit.depth, 2);
    EXPECT_EQ(machine.unit.lanes, 16);
    EXPECT_EQ(machine.unit.peakFlops(),
              2 * getMachine(name, f32).unit.peakFlops());
  }
}

TEST_F(TargetTest, TilesOfAMX) {
  model::Machine machine = getMachine("granite-rapids", bf16);
  ASSERT_TRUE(machine.matrix);
  EXPECT_EQ(machine.matrix->rows, 16);
  EXPECT_EQ(machine.matrix->columns, 16);
  EXPECT_EQ(machine.matrix->depth, 32);
  EXPECT_EQ(machine.matrix->latency, 52);
  EXPECT_EQ(machine.matrix->accumulatorBytes + machine.matrix->lhsBytes +
                machine.matrix->rhsBytes,
            8 * 1024);
  // Vectors do what is left in f32, and tiles run slower than vectors.
  EXPECT_EQ(machine.unit.depth, 1);
  EXPECT_LT(machine.matrix->cyclesPerSecond, machine.unit.cyclesPerSecond);
  EXPECT_EQ(getMachine("granite-rapids", i8).matrix->depth, 64);
  EXPECT_FALSE(getMachine("granite-rapids", f32).matrix);
}

TEST_F(TargetTest, ManagedMemoriesAreFilledAhead) {
  for (StringRef name :
       {"a100", "h100", "h200", "ascend910", "ascend310p", "ascend910b"}) {
    model::Machine machine = getMachine(name, f16);
    ASSERT_EQ(machine.levels.size(), 2u);
    EXPECT_EQ(machine.levels[0].sharers, machine.cores);
    EXPECT_EQ(machine.levels[0].buffers, 1);
    EXPECT_EQ(machine.levels[1].sharers, 1);
    EXPECT_EQ(machine.levels[1].ways, 0);
    EXPECT_EQ(machine.levels[1].buffers, 2);
    // One instruction of the 910B brings rows of any length.
    EXPECT_EQ(machine.levels[1].burstBytes, name == "ascend910b" ? 1 : 32);
  }
  EXPECT_DOUBLE_EQ(getMachine("h200", f16).launchSeconds, 2e-6);
  for (const model::MemoryLevel &level : getMachine("zen5", f32).levels) {
    EXPECT_EQ(level.buffers, 1);
    EXPECT_EQ(level.burstBytes, 1);
  }
}

TEST_F(TargetTest, Triples) {
  EXPECT_EQ(getTarget(&context, "h200").getTriple(), "nvptx64-nvidia-cuda");
  EXPECT_EQ(getTarget(&context, "zen5").getTriple(), "");
}

/// What LLVM says a processor has, but for what is hidden.
llvm::StringMap<bool> getFeatures(StringRef cpu, ArrayRef<StringRef> hidden) {
  SmallVector<StringRef> names;
  llvm::X86::getFeaturesForCPU(cpu, names);
  llvm::StringMap<bool> features;
  for (StringRef name : names)
    features[name] = !llvm::is_contained(hidden, name);
  return features;
}

TEST_F(TargetTest, UnknownProcessorsAreTakenForTheMostAlike) {
  EXPECT_EQ(findX86Target("znver5", {}), "avx2");
  EXPECT_EQ(findX86Target("znver5", getFeatures("znver5", {})), "zen5");
  // A processor of another name, as virtual machines report them.
  for (StringRef cpu : {"znver4", "cascadelake", "sapphirerapids"})
    EXPECT_EQ(findX86Target("rocketlake", getFeatures(cpu, {})),
              findX86Target(cpu, getFeatures(cpu, {})));
  EXPECT_EQ(
      findX86Target("rocketlake", getFeatures("graniterapids", {"amx-fp16"})),
      "granite-rapids");
  // Neighbours that have no entry.
  EXPECT_EQ(findX86Target("emeraldrapids", getFeatures("emeraldrapids", {})),
            "sapphire-rapids");
  EXPECT_EQ(findX86Target("cooperlake", getFeatures("cooperlake", {})),
            "xeon-gold-6240");
  // Most of whose features Zen 4 has, too.
  EXPECT_EQ(findX86Target("rocketlake", getFeatures("icelake-server", {})),
            "icelake-server");
  EXPECT_EQ(findX86Target("tigerlake", getFeatures("tigerlake", {})),
            "icelake-server");
  EXPECT_EQ(findX86Target("skylake-avx512", getFeatures("skylake-avx512", {})),
            "xeon-gold-6240");
  EXPECT_EQ(findX86Target("alderlake", getFeatures("alderlake", {})), "avx2");
  EXPECT_EQ(findX86Target("znver6", getFeatures("znver5", {})), "zen5");
  EXPECT_EQ(findX86Target("skylake", getFeatures("skylake", {})), "avx2");
  EXPECT_EQ(findX86Target("znver2", getFeatures("znver2", {})), "zen3");
}

} // namespace
