//===- SizePasses.td - Dynamic sizes -----------------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_SIZEPASSES
#define CHIMERA_TRANSFORMS_SIZEPASSES

include "mlir/Pass/PassBase.td"

def VersionSizesPass : Pass<"chimera-version-sizes", "::mlir::ModuleOp"> {
  let summary = "A version of a function for each case of sizes it is planned for";
  let description = [{
    A function that lists sizes (`chimera.sizes`) gets a private copy for each
    case, in which the dimensions of arguments have these sizes and everything
    that follows from them is static. `chimera-dispatch-versions` makes the
    function call the copies.

    All other sizes are served by a copy with open sizes (`chimera.open_sizes`),
    for which chains are planned as well: for the largest sizes of the cases, or
    for common ones if there are no cases. It takes the place of the function. If
    it was assumed that dimensions are equal, which nothing but the types of
    arguments says, the function stays beside it, for calls in which they are not;
    if the program has sizes that are neither products of its own nor their sums
    in tensors side by side, so that there is no such copy, the function stays
    alone, with a missed remark `sizes` where it does. A number that the program
    asserts to be one of its sizes is that size: the smaller of the number of
    queries and of the length of a cache, say.

    A case has a number for each size that is not known, in the order of the
    arguments. Dimensions that operations need to be equal have one size, and so
    have those at the same place of arguments of one type.

    Example: see `test/Transforms/Sizes/version-sizes.mlir`. From

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32>
        attributes {chimera.sizes = [array<i64: 128>]} { ... }
    ```

    the pass makes a second function,

    ```mlir
    func.func private @f_128(%x: tensor<128x64xf32>) -> tensor<128x64xf32>
        attributes {chimera.version_of = "f"} { ... }
    ```
  }];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AddResultSizesPass
    : Pass<"chimera-add-result-sizes", "::mlir::ModuleOp"> {
  let summary = "A function that tells the sizes of another one's results";
  let description = [{
    Whoever calls a compiled function passes memory for its results. For each
    public function with results of dynamic sizes this pass adds
    `<name>_sizes`, with the same arguments, which returns all of these sizes,
    result by result, without computing the results.

    A function whose sizes depend on what it computes gets none, with a remark
    (`sizes-unknown`).

    Example: see `test/Transforms/Sizes/add-result-sizes.mlir`. From

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x32xf32> { ... }
    ```

    the pass makes a second function,

    ```mlir
    func.func @f_sizes(%x: tensor<?x64xf32>) -> tensor<1xi64> {
      %c0 = arith.constant 0 : index
      %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
      %0 = arith.index_cast %rows : index to i64
      %1 = tensor.from_elements %0 : tensor<1xi64>
      return %1 : tensor<1xi64>
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RestoreSizesPass
    : Pass<"chimera-restore-sizes", "::mlir::func::FuncOp"> {
  let summary = "Put sizes in the place of their placeholders";
  let description = [{
    Where a function has open sizes (`chimera.open_sizes`), dimensions become
    dynamic again: types lose their placeholders, and what needs the size takes it
    from the argument that has it, or adds it up (`chimera.open_sums`). Chains and
    groups outside them are tiled before; plain operations may be left.

    Example: see `test/Transforms/Sizes/restore-sizes.mlir`. In

    ```mlir
    func.func @f(%x: tensor<1048583x64xf32>) -> tensor<1048583x64xf32>
        attributes {chimera.open_sizes = array<i64: 1048583>,
                    chimera.planned_sizes = array<i64: 128>} {
      %0 = tensor.empty() : tensor<1048583x64xf32>
    ```

    the argument and `%0` become `tensor<?x64xf32>`, and `%0` has the size that
    `tensor.dim` says of `%x`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DispatchVersionsPass
    : Pass<"chimera-dispatch-versions", "::mlir::ModuleOp"> {
  let summary = "Call the version for the sizes that arguments have";
  let description = [{
    Runs on memrefs. A function with versions (see `chimera-version-sizes`)
    becomes private and gets the suffix `_any`; one of its name and type compares
    the sizes of its arguments with those of each version, in their order, and
    calls the first that they fit, or else that function. Functions that prepare
    constants (`chimera-prepare-constants`) are called in turn, those of versions
    if the sizes of the constants fit.

    Example: see `test/Transforms/Sizes/dispatch-versions.mlir`. The body of `@f`
    becomes

    ```mlir
    %size = memref.dim %x, %c0 : memref<?x64xf32>
    %fits = arith.cmpi eq, %size, %c128 : index
    scf.if %fits {
      %x128 = memref.cast %x : memref<?x64xf32> to memref<128x64xf32>
      call @f_128(%x128) : (memref<128x64xf32>) -> ()
    } else {
      call @f_any(%x) : (memref<?x64xf32>) -> ()
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // CHIMERA_TRANSFORMS_SIZEPASSES
