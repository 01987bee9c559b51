//===- NumberTypePasses.td - Factors as units take them ----*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of numbers that no unit multiplies as they are written.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_NUMBERTYPEPASSES
#define CHIMERA_TRANSFORMS_NUMBERTYPEPASSES

include "mlir/Pass/PassBase.td"

def WidenFloatsPass
    : Pass<"chimera-widen-floats", "::mlir::func::FuncOp"> {
  let summary = "Keep narrow floats in f32 where vectors compute them so";
  let description = [{
    Where code is made of micro kernels, block by block, tensors of f16 or bf16 that
    the program computes become f32: that is what vectors compute with. Factors of
    products stay as they are if some kernel multiplies them so. Conversions to a
    narrow type (`arith.truncf`) still round: they become one there and back. What
    arithmetic on a narrow type yields is not rounded any more, so results are
    nearer to the true ones. With `round-all` it is, except for what is added up: sums of a
    narrow type and the softmax are rounded once.

    Arguments and results of functions keep their types, and so does what only
    moves arguments. Products read such tensors as they are; a conversion before
    the product goes.

    Types that are multiplied by whole programs of instructions, as on GPUs, are
    left alone. A factor that is converted for a product alone may lose denormal
    numbers, which such products do not see (`fastmath<afn>`).

    Example: see `test/Transforms/Form/widen-floats.mlir`. In

    ```mlir
    %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>)
        outs(%zeros : tensor<8x32xbf16>) -> tensor<8x32xbf16>
    %d = linalg.add ins(%c, %e : tensor<8x32xbf16>, tensor<8x32xbf16>)
        outs(%empty : tensor<8x32xbf16>) -> tensor<8x32xbf16>
    ```

    the product and the sum have results of f32; the arguments `%a`, `%b` and `%e`
    are bf16, and what is returned is converted to it.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels say which types are multiplied in f32: a "
           "name, host, dlti, or a file (machine.mlir)">,
    Option<"roundAll", "round-all", "bool", "false",
           "Round what arithmetic on a narrow type yields, operation by operation">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldDequantizationPass
    : Pass<"chimera-fold-dequantization", "::mlir::func::FuncOp"> {
  let summary = "Let contractions decode quantized weights themselves";
  let description = [{
    Weights that are the same in every call and that a program computes from
    integers, `(integer - zero) * scale`, are read as these integers: an eighth to
    a quarter of the memory and of the traffic of floats. The contraction gets the
    body that `matchProductBody` reads; what is reshaped, transposed or broadcast
    on the way to it becomes a matter of its loops and maps. A scale that is the
    same for all that is added up multiplies the sums instead. Integers of which
    the program shows that they have no more than 16 or 256 values, as `i4` and `i8`
    or by masks and shifts, are packed, eight or four to a word of 32 bits, along a
    dimension that is summed up; bytes stay bytes where what is summed up with one
    zero and scale does not fill such words.

    Weights stay as they are where the target has no kernels that decode, where
    rows of them are no vectors of the result, or where they have another form.

    Example: see `test/Transforms/Form/fold-dequantization.mlir`. In

    ```mlir
    %q = linalg.generic {...} ins(%codes : tensor<64x32xi8>) outs(%e : tensor<64x32xf32>) {
    ^bb0(%in: i8, %out: f32):
      %0 = arith.sitofp %in : i8 to f32
      linalg.yield %0 : f32
    } -> tensor<64x32xf32>
    %y = linalg.matmul ins(%x, %q : tensor<8x64xf32>, tensor<64x32xf32>)
        outs(%zeros : tensor<8x32xf32>) -> tensor<8x32xf32>
    ```

    the product reads `%codes`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels say whether factors can be decoded: a "
           "name, host, dlti, or a file (machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def WidenFactorsPass
    : Pass<"chimera-widen-factors", "::mlir::func::FuncOp"> {
  let summary = "Convert what chains read element by element to f32";
  let description = [{
    Micro kernels that multiply f16 or bf16 in f32 convert what they load. For a
    vector that takes an instruction or two; for the single elements of the other
    factor it would take as much each, as often as one is read. So chains that
    code is generated from read a copy in f32 of a narrow input, where an operator
    loads single elements of it. The copy of what is the same in every call is
    made once (see `chimera.prepare`).

    Example: see `test/Transforms/Form/widen-factors.mlir`. In

    ```mlir
    %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>)
        outs(%zeros : tensor<8x32xf32>) -> tensor<8x32xf32>
    ```

    vectors run along the columns of `%c` and `%b`: the chain reads `%b` as it is
    and a copy of `%a`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels say which types are multiplied in f32: a "
           "name, host, dlti, or a file (machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MultiplyCodesPass
    : Pass<"chimera-multiply-codes", "::mlir::func::FuncOp"> {
  let summary = "Multiply what bytes stand for as integers";
  let description = [{
    Quantizers leave operators in f32 and make their factors of bytes right before,
    `(integer - zero) * scale`, as ONNX does with `DequantizeLinear`. A product or convolution of two such
    factors becomes one of integers, with zero points and sums in i32, and the
    scales follow element by element. A scale belongs to a whole factor or to
    places that are one in a result, such as the filters of a convolution; zero
    points have to be known. Factors may be transposed, and padded by zero, before
    they are multiplied. Sums are exact until they are scaled. Products stay as
    they are on targets without micro kernels for integers, where a sum might not
    fit into 32 bits, and where nothing is summed up but the taps of a window; a
    remark says which.
    Differences of bytes that importers compute in 64 bits are computed in 32.

    Example: see `test/Transforms/Form/multiply-codes.mlir`. With `%a` made of
    `%p` by `(p - 3) * s`, and `%b` of `%q` by `q * t`, where each column has its
    `t`, the sums of

    ```mlir
    %c = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x32xf32>)
        outs(%zeros : tensor<8x32xf32>) -> tensor<8x32xf32>
    ```

    are `s t` times those of `(p - 3) q`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels say whether integers are multiplied: a "
           "name, host, dlti, or a file (machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SeparateOffsetsPass
    : Pass<"chimera-separate-offsets", "::mlir::func::FuncOp"> {
  let summary = "Take zero points and one sign out of products of integers";
  let description = [{
    Units multiply bytes as they are, one factor without a sign. A product of i8
    with sums in i32 that subtracts zero points from its factors, such as
    `linalg.quantized_matmul`, or whose factors both have signs, becomes one of
    bytes alone. What the offsets amount to follows element by element: the sums
    of the other factor, which are made once for weights (see
    `chimera.prepare`), times the offset. The result is the same to the bit.
    What is padded is shifted before, and padded by what its padding becomes.
    Products stay as they are on targets without micro kernels for them, and
    keep both signs where padding is not known, or the other factor's sums would
    be those of windows.

    Example: see `test/Transforms/Form/separate-offsets.mlir`. With the zero point
    `%x`

    ```mlir
    %c = linalg.quantized_matmul ins(%a, %b, %x, %zero : tensor<8x16xi8>, tensor<16x32xi8>, i32, i32)
        outs(%zeros : tensor<8x32xi32>) -> tensor<8x32xi32>
    ```

    becomes the product of `%a` with 128 added, without a sign, and `%b`, less
    the column sums of `%b` times 128 + `%x`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels say whether integers are multiplied: a "
           "name, host, dlti, or a file (machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // CHIMERA_TRANSFORMS_NUMBERTYPEPASSES
