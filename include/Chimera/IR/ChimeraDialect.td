//===- ChimeraDialect.td - The Chimera dialect -------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERADIALECT
#define CHIMERA_IR_CHIMERADIALECT

include "mlir/IR/DialectBase.td"

def Chimera_Dialect : Dialect {
  let name = "chimera";
  let cppNamespace = "::chimera";
  let summary = "Chains of compute-intensive operators, planned and fused";
  let description = [{
    Three operations mark how far a chain has come on its way to a kernel:

    ```
      linalg on tensors
            |  chimera-form-chains
      chimera.chain          operators that may run as one kernel
            |  chimera-schedule      #chimera.schedule: order, tiles, registers
            |  chimera-tile
      chimera.block          one operator on one tile of every loop
            |  chimera-map-micro-kernels
      chimera.micro_kernel   what the innermost block computes, and how
            |  one-shot-bufferize, convert-chimera-to-...
      target dialects
    ```

    The decision is an attribute, `#chimera.schedule`, made by one pass and
    applied by the others. It can be written by hand at any stage: it is
    verified where it is used. Hardware is described by `#chimera.target`. What
    lies outside chains has its decision, `#chimera.row_tiling`, in the attribute
    `chimera.row_tiling` of operations.

    Operations on images, with the batch, channels and space as dimensions, may
    have their channels last instead, which `chimera.layout` says: it is
    `"channels_last"` or `"as_given"`. See `chimera-choose-layouts`.

    Arguments of a function that are the same in every call, such as the weights
    of a model, may be marked `chimera.constant`. What is computed from them
    alone and worth it is then computed once, by a function beside the first: see
    `chimera-prepare-constants`. What that computes, and how, is said in
    `chimera.prepared` and `chimera.recipe`: see `chimera-let-hosts-keep-prepared`.
    Where another program of the host has packed a constant already, in panels of 48
    columns, say, `chimera.panels = 48 : i64` on the argument asks for panels that the
    two can share; plans that would be slower by more than 5 percent have their own,
    unless `chimera.only_in_panels` beside it says that the constant is kept nowhere
    else.

    Of a program that runs as several processes, arguments and results of
    functions say in `chimera.part` which part of the whole tensor each process
    has. See `chimera-shard`.

    Functions with arguments of dynamic sizes are planned for those that their
    attribute `chimera.sizes` lists, case by case: `[array<i64: 1, 128>, array<i64:
    1, 512>]` are two cases of a function with two sizes that are not known. See
    `chimera-version-sizes`.

    In code for any sizes, types have *placeholders* as long as chains are formed
    and planned: large primes, which nothing else divides, so that products of
    sizes stay what they are. The function lists them in `chimera.open_sizes`, and
    in `chimera.planned_sizes` the sizes that plans are made for. Sums of sizes,
    as of tensors side by side, are placeholders, too: those at the end of the
    list, for whose terms `chimera.open_sums` has an array each. With
    `chimera.open_sizes = array<i64: 1048583, 1048584>` and `chimera.open_sums =
    [array<i64: 1048583, 1>]`, 1048584 is one more than what 1048583 stands for.

    Micro kernels come from a registry of the context, and from the program: a
    list of them as its attribute `chimera.micro_kernels` comes first. See
    `chimera-load-micro-kernels`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::DLTIDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    /// Marks arguments of functions that are the same in every call.
    static constexpr ::llvm::StringLiteral getConstantAttrName() {
      return ::llvm::StringLiteral("chimera.constant");
    }
    /// Says of a constant argument in panels of how many columns another program
    /// keeps what it prepares of it.
    static constexpr ::llvm::StringLiteral getPanelsAttrName() {
      return ::llvm::StringLiteral("chimera.panels");
    }
    /// Says of a constant argument with panels that it is kept nowhere else.
    static constexpr ::llvm::StringLiteral getOnlyInPanelsAttrName() {
      return ::llvm::StringLiteral("chimera.only_in_panels");
    }
    /// Says of a function that prepares a value of constants how it does so:
    /// functions with the same recipe make the same of the same.
    static constexpr ::llvm::StringLiteral getRecipeAttrName() {
      return ::llvm::StringLiteral("chimera.recipe");
    }
    /// Lists what a preparation computes.
    static constexpr ::llvm::StringLiteral getPreparedAttrName() {
      return ::llvm::StringLiteral("chimera.prepared");
    }
    /// Says which part of an argument or a result a process has.
    static constexpr ::llvm::StringLiteral getPartAttrName() {
      return ::llvm::StringLiteral("chimera.part");
    }
    /// The micro kernels that a program brings, as an attribute of its module.
    static constexpr ::llvm::StringLiteral getMicroKernelsAttrName() {
      return ::llvm::StringLiteral("chimera.micro_kernels");
    }
    /// Says how an operation outside chains runs, and what it reads.
    static constexpr ::llvm::StringLiteral getRowTilingAttrName() {
      return ::llvm::StringLiteral("chimera.row_tiling");
    }
    /// Says how threads of a GPU share the group whose last operation has it.
    static constexpr ::llvm::StringLiteral getThreadTilingAttrName() {
      return ::llvm::StringLiteral("chimera.thread_tiling");
    }
    /// Says which group an operator runs in.
    static constexpr ::llvm::StringLiteral getGroupAttrName() {
      return ::llvm::StringLiteral("chimera.group");
    }
    /// On the loops of a chain, what the chain was planned to take.
    static constexpr ::llvm::StringLiteral getPlanAttrName() {
      return ::llvm::StringLiteral("chimera.plan");
    }
    /// Says in which order an operation on images has their dimensions.
    static constexpr ::llvm::StringLiteral getLayoutAttrName() {
      return ::llvm::StringLiteral("chimera.layout");
    }
    /// The values of that attribute.
    static constexpr ::llvm::StringLiteral getAsGivenName() {
      return ::llvm::StringLiteral("as_given");
    }
    static constexpr ::llvm::StringLiteral getChannelsLastName() {
      return ::llvm::StringLiteral("channels_last");
    }
    /// Lists the sizes that a function with dynamic ones is planned for.
    static constexpr ::llvm::StringLiteral getSizesAttrName() {
      return ::llvm::StringLiteral("chimera.sizes");
    }
    /// Lists the placeholders of a function with open sizes.
    static constexpr ::llvm::StringLiteral getOpenSizesAttrName() {
      return ::llvm::StringLiteral("chimera.open_sizes");
    }
    /// What placeholders are larger than.
    static constexpr int64_t getLeastPlaceholder() { return 1 << 20; }
    /// Lists, for each placeholder, the size that plans are made for.
    static constexpr ::llvm::StringLiteral getPlannedSizesAttrName() {
      return ::llvm::StringLiteral("chimera.planned_sizes");
    }
    /// Lists the terms of each placeholder, among the last, that is a sum.
    static constexpr ::llvm::StringLiteral getOpenSumsAttrName() {
      return ::llvm::StringLiteral("chimera.open_sums");
    }
    /// Lists the dimensions of arguments that a version takes to be equal: of
    /// each size the arguments and dimensions, in turn.
    static constexpr ::llvm::StringLiteral getEqualSizesAttrName() {
      return ::llvm::StringLiteral("chimera.equal_sizes");
    }
    /// Says of a function which one it is a version of.
    static constexpr ::llvm::StringLiteral getVersionAttrName() {
      return ::llvm::StringLiteral("chimera.version_of");
    }
    /// Says of a function what micro kernel it is.
    static constexpr ::llvm::StringLiteral getKernelAttrName() {
      return ::llvm::StringLiteral("chimera.kernel");
    }
  }];
}

#endif // CHIMERA_IR_CHIMERADIALECT
