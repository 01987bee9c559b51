// An image cut into patches, as vision transformers do: the 32 x 32 taps of one
// channel are more than the first level of a processor holds, so their rows are
// cut. A plan there is, and the sums are in order.
//
// RUN: chimera-run %s --threads=1 --constant=1 --output=%t.1.npy | FileCheck %s
// RUN: chimera-run %s --threads=2 --no-time --output=%t.2.npy | FileCheck %s
// RUN: cmp %t.1.npy %t.2.npy
// RUN: chimera-opt %s --chimera-form-chains \
// RUN:   --chimera-schedule="target=zen5 threads=1" | FileCheck %s --check-prefix=WIDE

// CHECK: conv0 {{.*}} r={{[0-9]|1[0-9]}} r1=
// CHECK: error {{.*}} against plain loops in f64

// WIDE: schedule({{.*}}"L1" : {{.*}}r = {{[0-9]}},

func.func @main(%image: tensor<1x3x224x224xf32>, %filters: tensor<192x3x32x32xf32>) -> tensor<1x192x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x192x7x7xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x192x7x7xf32>) -> tensor<1x192x7x7xf32>
  %patches = linalg.conv_2d_nchw_fchw {strides = dense<32> : tensor<2xi64>} ins(%image, %filters : tensor<1x3x224x224xf32>, tensor<192x3x32x32xf32>) outs(%init : tensor<1x192x7x7xf32>) -> tensor<1x192x7x7xf32>
  return %patches : tensor<1x192x7x7xf32>
}
