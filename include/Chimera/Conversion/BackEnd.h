//===- BackEnd.h - What a target's programs are compiled by -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A back end is the way from linalg on tensors to what the machines of a family
// run. `chimera-pipeline` asks those that are registered for the triple of the
// target. Back ends know nothing of each other, and a program that embeds
// Chimera registers its own like those of Chimera (docs/targets.md).
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_BACKEND_H
#define CHIMERA_CONVERSION_BACKEND_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/TargetParser/Triple.h"

namespace chimera {

class BackEnd {
public:
  virtual ~BackEnd();

  /// What messages call it, such as "x86". Its pipeline is called
  /// `chimera-<name>-pipeline`.
  virtual llvm::StringRef getName() const = 0;
  /// What its pipeline makes, in one line.
  virtual llvm::StringRef getDescription() const = 0;
  /// True if it generates code for `triple`, which is empty for this machine.
  virtual bool takes(const llvm::Triple &triple) const = 0;
  /// True if it lowers kernels one by one, so that a program may bring its own.
  virtual bool takesMicroKernels() const { return false; }
  /// True if its programs can run as several processes that exchange data.
  virtual bool exchangesData() const { return false; }

  /// Adds all passes, from linalg on tensors on. `options` are written as on
  /// the command line of its pipeline. Fails, with a message, if they are not
  /// what it takes.
  virtual llvm::LogicalResult addPasses(mlir::OpPassManager &pm,
                                        llvm::StringRef options,
                                        llvm::raw_ostream &errors) const = 0;
  /// Registers its pipeline under its own name.
  virtual void registerPipeline() const = 0;
  /// Registers dialects, interfaces and micro kernels beside those of upstream
  /// and of Chimera.
  virtual void registerDialects(mlir::DialectRegistry &registry) const {}
};

/// A back end whose options are an `OptionsT`, a struct of pass pipeline
/// options. `chimera-pipeline` sets `target`, and `threads` and `fuse` where
/// they are given.
template <typename OptionsT>
class BackEndWithOptions : public BackEnd {
public:
  virtual void addPasses(mlir::OpPassManager &pm,
                         const OptionsT &options) const = 0;

  llvm::LogicalResult addPasses(mlir::OpPassManager &pm,
                                llvm::StringRef options,
                                llvm::raw_ostream &errors) const final {
    OptionsT parsed;
    if (failed(parsed.parseFromString(options, errors)))
      return llvm::failure();
    addPasses(pm, parsed);
    return llvm::success();
  }

  void registerPipeline() const final {
    mlir::PassPipelineRegistration<OptionsT>(
        ("chimera-" + getName() + "-pipeline").str(), getDescription(),
        [this](mlir::OpPassManager &pm, const OptionsT &options) {
          addPasses(pm, options);
        });
  }
};

enum class BackEndPrecedence { User, Chimera };

/// Registers `backEnd` and its pipeline, unless there is one of its name. Of
/// several that take a triple, the one that was registered first compiles;
/// those of users come before those of Chimera. Registered back ends stay until
/// the program ends. Not while passes run.
void registerBackEnd(std::unique_ptr<BackEnd> backEnd,
                     BackEndPrecedence precedence = BackEndPrecedence::User);

/// Those that are registered, in the order in which they are asked.
llvm::SmallVector<const BackEnd *> getBackEnds();

/// Those of Chimera.
std::unique_ptr<BackEnd> createX86BackEnd();
std::unique_ptr<BackEnd> createNvidiaBackEnd();
std::unique_ptr<BackEnd> createAscendBackEnd();

} // namespace chimera

#endif // CHIMERA_CONVERSION_BACKEND_H
