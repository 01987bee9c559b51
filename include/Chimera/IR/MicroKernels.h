//===- MicroKernels.h - Which micro kernels there are -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever has micro kernels, a back end or a program that embeds Chimera,
// offers them to the registry of the context:
//
//   registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
//     MicroKernelRegistry::get(context).add(
//         [](TargetAttrInterface target, RegisterTileAttr) {
//           return isMine(target) ? cast<MicroKernelAttrInterface>(mine)
//                                 : MicroKernelAttrInterface();
//         });
//   });
//
// The passes ask in order: first the kernels that the program brings, then
// those of users, then those of back ends. An offer may decline a target, a
// kernel a kind, types or an operation; then the next one is asked.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_MICROKERNELS_H
#define CHIMERA_IR_MICROKERNELS_H

#include "Chimera/IR/Chimera.h"

#include <functional>
#include <vector>

namespace chimera {

/// Parts of a row that kernels take at once: what each of them is made of stays
/// in registers until all are stored.
constexpr int64_t mostPartsOfRow = 4;

class MicroKernelRegistry
    : public mlir::DialectInterface::Base<MicroKernelRegistry> {
public:
  explicit MicroKernelRegistry(mlir::Dialect *dialect) : Base(dialect) {}

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MicroKernelRegistry)

  static MicroKernelRegistry &get(mlir::MLIRContext *context);

  /// The micro kernel for `target` whose register tile is `registers` (null if
  /// that is not known yet, or the kernel has none); null to decline.
  using Offer = std::function<MicroKernelAttrInterface(
      TargetAttrInterface target, RegisterTileAttr registers)>;

  enum class Precedence { User, BackEnd };

  /// Adds `offer` behind the others of its precedence. Not while passes run.
  void add(Offer offer, Precedence precedence = Precedence::User);

  /// What is offered for `target`, in order.
  llvm::SmallVector<MicroKernelAttrInterface>
  getOffers(TargetAttrInterface target, RegisterTileAttr registers) const;

private:
  std::vector<Offer> ofUsers, ofBackEnds;
};

/// The micro kernels for `target` in the program around `op` and in the
/// registry, in order.
llvm::SmallVector<MicroKernelAttrInterface>
getMicroKernels(mlir::Operation *op, TargetAttrInterface target,
                RegisterTileAttr registers = {});

/// Those of them that are instructions, which whole programs are made of.
llvm::SmallVector<MatrixProgramAttr>
getMatrixPrograms(mlir::Operation *op, TargetAttrInterface target);

/// Which operators become code.
struct OperatorSupport {
  /// The types of what they multiply.
  llvm::SmallVector<mlir::Type> factors;
  /// True if one factor may be of another type than the other.
  bool mixesFactors = false;
  /// True if one factor may be quantized.
  bool decodes = false;
  /// True if both may be integers.
  bool multipliesIntegers = false;
  /// True if it costs nothing that both have signs.
  bool keepsSigns = false;
  /// True if they may read operands through windows, as convolutions do.
  bool hasWindows = false;
  /// True if what they make has to have rows: instructions multiply matrices in
  /// registers of threads.
  bool needsRows = false;
  /// The types that are multiplied in whole tiles: none of the taps of a window
  /// is left out where it lies on padding, so images are padded before.
  llvm::SmallVector<mlir::Type> inTiles;
  /// The types of which neighbours along what is summed up are multiplied at
  /// once. Where they do not lie side by side, each block brings them together.
  llvm::SmallVector<mlir::Type> inPairs;
  /// Elements of the vectors that sums lie in, where kernels multiply them by
  /// single elements of rows in a cache. 0 where they do not.
  int64_t lanes = 0;
  /// The vector unit that has them.
  model::VectorUnit unit;
  /// By how many of these vectors a kernel has to multiply each element of rows
  /// that lie next to each other, for a copy that has them apart to take less
  /// time.
  double usesWorthTransposing = 0;

  /// True if products of `lhs` and `rhs` do.
  bool multiplies(mlir::Type lhs, mlir::Type rhs) const;
  /// True if a contraction with `body` does.
  bool computes(mlir::Block &body) const;
};

/// Which operators in the program around `op` become code for `target`. Factors
/// are of the types that kernels take, and of that of sums, in which every
/// target computes without a kernel, too. Devices that run kernels alone refuse
/// the latter where they have none, when it is clear what may be rounded.
/// Windows overlap, so they need an innermost level that is a cache, or
/// programs that copy what lies under each tap.
OperatorSupport getOperatorSupport(mlir::Operation *op,
                                   TargetAttrInterface target);

/// The tiles that contractions of `factor` are offered on, block by block, in
/// the program around `op`, for the model to choose from; those that make no
/// sense are left out.
std::vector<model::KernelShape> getKernelShapes(mlir::Operation *op,
                                                TargetAttrInterface target,
                                                mlir::Type factor);

/// The machine that contractions of `factor` in the program around `op` run on:
/// `target`, as far as the kernels for it make use of it: its unit for the type
/// that the first kernel without tiles multiplies in. Where a program is
/// made of instructions, these have the shape and cost that are offered. Where
/// all kernels have tiles of their own, no unit of the target counts, nor need
/// it have one for the type. Fails if there is neither a unit nor a kernel.
llvm::FailureOr<model::Machine>
getMachine(mlir::Operation *op, TargetAttrInterface target, mlir::Type factor);

/// The same without a matrix unit whose kernels are emitted block by block, if
/// that has one and other kernels do without: these take what it does not, or
/// what it would be no gain for. Fails if there is no such choice.
llvm::FailureOr<model::Machine> getVectorMachine(mlir::Operation *op,
                                                 TargetAttrInterface target,
                                                 mlir::Type factor);

/// True if there are kernels for contractions of `factor` in the program around
/// `op`, and all of them multiply in the type of sums.
bool areAllMultipliedInSumType(mlir::Operation *op, TargetAttrInterface target,
                               mlir::Type factor);

/// True if there are kernels for contractions of `factor` in the program around
/// `op`, and all of them are emitted block by block.
bool areMultipliedByBlocks(mlir::Operation *op, TargetAttrInterface target,
                           mlir::Type factor);

/// True if `kernel` computes `op`, if only operands are laid out as it wants.
bool computes(MicroKernelAttrInterface kernel, MicroKernelOp op);

struct MicroKernelChoice {
  /// Null if no kernel takes the operation.
  MicroKernelAttrInterface implementation;
  /// What computes the parts that `implementation` does not cover, if that has
  /// tiles of one size only.
  MicroKernelAttrInterface otherwise;
  /// Why a kernel that the schedule names was not chosen; empty if it was.
  std::string declined;
};

/// The micro kernel for `kernel` on `target`: the one whose tile `registers`
/// is, if it names one, else the first of those without tiles of their own.
MicroKernelChoice chooseMicroKernel(MicroKernelOp kernel,
                                    TargetAttrInterface target,
                                    RegisterTileAttr registers);

} // namespace chimera

#endif // CHIMERA_IR_MICROKERNELS_H
