//===- ProgramTest.cpp - Tests of compiled programs -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Compiler.h"

#include "mlir/Parser/Parser.h"
#include "llvm/IR/Verifier.h"

#include "gtest/gtest.h"

#include <thread>

using namespace chimera;
using namespace chimera::runner;

extern "C" int omp_get_max_threads();

namespace {

/// Asks OpenMP on how many threads its parallel loops would run.
constexpr llvm::StringLiteral kCountThreads = R"mlir(
func.func private @omp_get_max_threads() -> i32
func.func @main() -> tensor<1xi32> {
  %count = call @omp_get_max_threads() : () -> i32
  %result = tensor.from_elements %count : tensor<1xi32>
  return %result : tensor<1xi32>
}
)mlir";

struct ProgramTest : testing::Test {
  ProgramTest() : context(makeRegistry()) {}

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  llvm::Expected<std::unique_ptr<Program>>
  tryCompile(llvm::StringRef source, const CompileOptions &options) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    return compile(*module, options);
  }
  std::unique_ptr<Program> compileFor(int64_t threads) {
    CompileOptions options;
    options.threads = threads;
    options.optimizationLevel = 0;
    return llvm::cantFail(tryCompile(kCountThreads, options));
  }
  Call bindCount(Program &program) {
    return llvm::cantFail(program.bind("main", {}, {&count}));
  }

  mlir::MLIRContext context;
  Tensor count =
      llvm::cantFail(Tensor::allocate({ElementKind::I32, {1}, false}));
};

TEST_F(ProgramTest, ThreadsHoldWhoeverCalls) {
  int before = omp_get_max_threads();
  std::unique_ptr<Program> three = compileFor(3), five = compileFor(5);
  Call callThree = bindCount(*three), callFive = bindCount(*five);
  callThree();
  EXPECT_EQ(count.get(0), 3);
  callFive();
  EXPECT_EQ(count.get(0), 5);
  std::thread([&] { callThree(); }).join();
  EXPECT_EQ(count.get(0), 3);
  // The caller's own loops are its own affair.
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST_F(ProgramTest, ACallKeepsItsCode) {
  std::unique_ptr<Program> program = compileFor(2);
  Call call = bindCount(*program);
  program.reset();
  call();
  EXPECT_EQ(count.get(0), 2);
  call = Call();
  call();
}

/// Kernels are compiled in several modules, whatever the number of threads.
TEST_F(ProgramTest, PartsBecomeOneModuleAgain) {
  std::string source = "func.func @main(";
  std::string body = "  %z = arith.constant 0.0 : f32\n", types, values;
  for (int n : {48, 56, 64}) {
    std::string name = std::to_string(n);
    std::string type = "tensor<" + name + "x" + name + "xf32>";
    llvm::StringRef comma = types.empty() ? "" : ", ";
    source += (comma + "%a" + name + ": " + type).str();
    types += (comma + type).str();
    values += (comma + "%g" + name).str();
    body += "  %e" + name + " = tensor.empty() : " + type + "\n  %f" + name +
            " = linalg.fill ins(%z : f32) outs(%e" + name + " : " + type +
            ") -> " + type + "\n  %g" + name + " = linalg.matmul ins(%a" +
            name + ", %a" + name + " : " + type + ", " + type + ") outs(%f" +
            name + " : " + type + ") -> " + type + "\n";
  }
  source += ") -> (" + types + ") {\n" + body + "  return " + values + " : " +
            types + "\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  CompileOptions options;
  options.target = "avx2";
  options.jobs = 2;
  LoweredModule lowered = llvm::cantFail(lower(*module, options));
  EXPECT_GT(lowered.parts.size(), 1u);
  llvm::cantFail(joinParts(lowered));
  ASSERT_EQ(lowered.parts.size(), 1u);
  EXPECT_FALSE(
      llvm::verifyModule(*lowered.parts.front().module, &llvm::errs()));
  for (const llvm::Function &function : *lowered.parts.front().module)
    EXPECT_FALSE(function.hasHiddenVisibility()) << function.getName().str();
}

TEST_F(ProgramTest, OptimisationLevelsEndAtThree) {
  CompileOptions options;
  options.optimizationLevel = 4;
  EXPECT_EQ(llvm::toString(tryCompile(kCountThreads, options).takeError()),
            "LLVM has the optimisation levels 0 to 3, got 4");
}

TEST_F(ProgramTest, ErrorsSayWhyAFunctionCannotBeCalled) {
  CompileOptions options;
  options.optimizationLevel = 0;
  std::unique_ptr<Program> program = llvm::cantFail(tryCompile(
      R"mlir(
func.func @scalar(%a: f32) -> f32 {
  return %a : f32
}
func.func private @helper(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @helper(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
)mlir",
      options));
  EXPECT_EQ(program->getFunctions().size(), 1u);
  auto getError = [&](llvm::StringRef function) {
    return llvm::toString(program->bind(function, {}, {}).takeError());
  };
  EXPECT_EQ(getError("scalar"),
            "'scalar' has a result of type f32; supported "
            "are tensors of f32, f64, f16, bf16, i1, i4, i8, i32, "
            "i64 and index");
  EXPECT_EQ(getError("helper"),
            "'helper' is private; only public functions can be called");
  EXPECT_EQ(getError("other"), "the program has no function 'other'");
  EXPECT_EQ(getError("main"), "expected 1 arguments, got 0");
}

} // namespace
