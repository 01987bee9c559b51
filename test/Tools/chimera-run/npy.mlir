// Arguments and results as .npy files, of every element type, and scalars.

// RUN: %python %S/Inputs/npy.py write %t
// RUN: chimera-run %s --no-time --input=%t.f32.npy --input=%t.f64.npy \
// RUN:   --input=%t.i32.npy --input=%t.i64.npy --input=%t.i8.npy \
// RUN:   --input=%t.i1.npy --input=%t.bf16.npy --input=%t.scalar.npy \
// RUN:   --output=%t.out0.npy --output=%t.out1.npy --output=%t.out2.npy \
// RUN:   --output=%t.out3.npy --output=%t.out4.npy --output=%t.out5.npy \
// RUN:   --output=%t.out6.npy
// RUN: %python %S/Inputs/npy.py check %t

// The same seed gives the same arguments, another seed gives others.
// RUN: chimera-run %s --no-time --no-check --seed=7 --output=%t.a.npy
// RUN: chimera-run %s --no-time --no-check --seed=7 --output=%t.b.npy
// RUN: chimera-run %s --no-time --no-check --seed=8 --output=%t.c.npy
// RUN: cmp %t.a.npy %t.b.npy
// RUN: not cmp %t.a.npy %t.c.npy

func.func @main(%f32: tensor<3x5xf32>, %f64: tensor<4xf64>,
                %i32: tensor<2x2xi32>, %i64: tensor<3xi64>, %i8: tensor<6xi8>,
                %i1: tensor<2x3xi1>, %bf16: tensor<4xbf16>, %scale: f32)
    -> (tensor<5x3xf32>, tensor<4xf64>, tensor<2x2xi32>, tensor<3xi64>,
        tensor<6xi8>, tensor<2x3xi1>, tensor<4xbf16>) {
  %scales = tensor.splat %scale : tensor<3x5xf32>
  %empty0 = tensor.empty() : tensor<3x5xf32>
  %scaled = linalg.mul ins(%f32, %scales : tensor<3x5xf32>, tensor<3x5xf32>)
      outs(%empty0 : tensor<3x5xf32>) -> tensor<3x5xf32>
  %empty1 = tensor.empty() : tensor<5x3xf32>
  %0 = linalg.transpose ins(%scaled : tensor<3x5xf32>)
      outs(%empty1 : tensor<5x3xf32>) permutation = [1, 0]
  %1 = linalg.add ins(%f64, %f64 : tensor<4xf64>, tensor<4xf64>)
      outs(%f64 : tensor<4xf64>) -> tensor<4xf64>
  %2 = linalg.add ins(%i32, %i32 : tensor<2x2xi32>, tensor<2x2xi32>)
      outs(%i32 : tensor<2x2xi32>) -> tensor<2x2xi32>
  %3 = linalg.add ins(%i64, %i64 : tensor<3xi64>, tensor<3xi64>)
      outs(%i64 : tensor<3xi64>) -> tensor<3xi64>
  %4 = linalg.add ins(%i8, %i8 : tensor<6xi8>, tensor<6xi8>)
      outs(%i8 : tensor<6xi8>) -> tensor<6xi8>
  %6 = linalg.add ins(%bf16, %bf16 : tensor<4xbf16>, tensor<4xbf16>)
      outs(%bf16 : tensor<4xbf16>) -> tensor<4xbf16>
  return %0, %1, %2, %3, %4, %i1, %6
      : tensor<5x3xf32>, tensor<4xf64>, tensor<2x2xi32>, tensor<3xi64>,
        tensor<6xi8>, tensor<2x3xi1>, tensor<4xbf16>
}
