//===- SplitModuleTest.cpp - Tests of splitting LLVM modules --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitModule.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

using namespace chimera::runner;
using llvm::GlobalValue;
using llvm::Module;

namespace {

/// The text of a function whose body is `count` multiplications after `first`.
std::string makeFunction(llvm::StringRef head, llvm::StringRef first,
                         unsigned count = 2000) {
  std::string text = ("define " + head + " {\n" + first).str();
  for (unsigned i = 0; i < count; ++i)
    text += "  %x" + std::to_string(i + 1) + " = mul i32 %x" +
            std::to_string(i) + ", %x" + std::to_string(i) + "\n";
  return text + "  ret i32 %x" + std::to_string(count) + "\n}\n";
}

struct SplitModuleTest : testing::Test {
  std::unique_ptr<Module> parse(llvm::StringRef text) {
    llvm::SMDiagnostic error;
    std::unique_ptr<Module> module =
        llvm::parseAssemblyString(text, error, context);
    EXPECT_TRUE(module) << error.getMessage().str();
    return module;
  }

  /// The part with the body of `name`.
  static Module *find(llvm::ArrayRef<Module *> parts, llvm::StringRef name) {
    for (Module *part : parts)
      if (GlobalValue *value = part->getNamedValue(name))
        if (!value->isDeclaration())
          return part;
    return nullptr;
  }

  llvm::LLVMContext context;
};

TEST_F(SplitModuleTest, SmallModulesStayWhole) {
  auto module = parse(makeFunction("i32 @a(i32 %x0)", "", 10) +
                      makeFunction("i32 @b(i32 %x0)", "", 10));
  EXPECT_TRUE(splitModule(*module).empty());
  EXPECT_EQ(module->size(), 2u);
}

TEST_F(SplitModuleTest, WhatMayBeInlinedStaysTogether) {
  auto module = parse(makeFunction("i32 @caller(i32 %x)",
                                   "  %x0 = call i32 @callee(i32 %x)\n") +
                      makeFunction("internal i32 @callee(i32 %x0)", "") +
                      makeFunction("i32 @other(i32 %x0)", ""));
  std::vector<std::unique_ptr<Module>> others = splitModule(*module);
  ASSERT_EQ(others.size(), 1u);
  llvm::SmallVector<Module *> parts = {module.get(), others[0].get()};
  EXPECT_EQ(find(parts, "caller"), find(parts, "callee"));
  EXPECT_NE(find(parts, "caller"), find(parts, "other"));
  // Nobody else needs it.
  EXPECT_TRUE(
      find(parts, "callee")->getFunction("callee")->hasInternalLinkage());
}

TEST_F(SplitModuleTest, PartsReferToOneAnother) {
  auto module = parse(
      "@0 = private unnamed_addr constant [2 x i32] [i32 1, i32 2]\n"
      "@1 = internal thread_local global i32 7\n"
      "@table = constant [1 x ptr] [ptr @body]\n"
      "declare void @fork(ptr, ptr)\n"
      "declare float @llvm.sqrt.f32(float)\n" +
      makeFunction("i32 @main()", "  call void @fork(ptr @body, ptr @0)\n"
                                  "  %x0 = call i32 @kernel(ptr @1)\n") +
      makeFunction("internal i32 @kernel(ptr %p) noinline",
                   "  %x0 = load i32, ptr getelementptr (i32, ptr @0, i64 1)\n"
                   "  %r = call float @llvm.sqrt.f32(float 2.0)\n") +
      makeFunction("internal i32 @body(ptr %p)",
                   "  %x0 = load i32, ptr @1\n"
                   "  call void @fork(ptr @body, ptr @0)\n"));
  std::vector<std::unique_ptr<Module>> others = splitModule(*module);
  ASSERT_EQ(others.size(), 2u);
  llvm::SmallVector<Module *> parts = {module.get(), others[0].get(),
                                       others[1].get()};
  for (Module *part : parts) {
    EXPECT_FALSE(llvm::verifyModule(*part, &llvm::errs()));
    for (llvm::GlobalObject &global : part->global_objects())
      EXPECT_FALSE(global.hasLocalLinkage()) << global.getName().str();
  }
  for (llvm::StringRef name : {"kernel", "body"}) {
    Module *home = find(parts, name);
    ASSERT_TRUE(home);
    EXPECT_TRUE(home->getNamedValue(name)->hasHiddenVisibility());
  }
  // Constants are still known to be, and threads have what is theirs.
  auto count = [](Module *part, auto isSuch) {
    return llvm::count_if(part->globals(), isSuch);
  };
  EXPECT_EQ(count(find(parts, "kernel"),
                  [](auto &variable) {
                    return variable.isConstant() &&
                           variable.getName() != "table";
                  }),
            1);
  EXPECT_EQ(count(find(parts, "body"),
                  [](auto &variable) { return variable.isThreadLocal(); }),
            1);

  // Together they are the program.
  for (size_t index : {0, 1})
    EXPECT_FALSE(llvm::Linker::linkModules(*module, std::move(others[index])));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  for (llvm::StringRef name : {"main", "kernel", "body"})
    EXPECT_EQ(module->getFunction(name)->getInstructionCount(), 2003u)
        << name.str();
}

TEST_F(SplitModuleTest, WhatNeedNotBeThereStaysSo) {
  std::string use = "  %there = icmp ne ptr @host, null\n"
                    "  %x0 = zext i1 %there to i32\n";
  auto module = parse("declare extern_weak void @host()\n" +
                      makeFunction("i32 @first()", use) +
                      makeFunction("i32 @second()", use));
  std::vector<std::unique_ptr<Module>> others = splitModule(*module);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_TRUE(module->getFunction("host")->hasExternalWeakLinkage());
  EXPECT_TRUE(others[0]->getFunction("host")->hasExternalWeakLinkage());
}

TEST_F(SplitModuleTest, TheSameModuleIsSplitTheSame) {
  std::string text;
  for (unsigned i = 0; i < 40; ++i)
    text += makeFunction("i32 @f" + std::to_string(i) + "(i32 %x0)", "",
                         600 + 37 * i % 500);
  auto split = [&] {
    auto module = parse(text);
    std::string names;
    auto list = [&](const Module &part) {
      for (const llvm::Function &function : part)
        names += function.getName().str() + " ";
      names += "| ";
    };
    std::vector<std::unique_ptr<Module>> others = splitModule(*module);
    EXPECT_EQ(others.size(), 15u);
    list(*module);
    for (const std::unique_ptr<Module> &part : others)
      list(*part);
    return names;
  };
  std::string first = split();
  EXPECT_EQ(first, split());
}

} // namespace
