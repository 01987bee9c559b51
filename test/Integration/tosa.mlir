// Two layers as exporters write them in TOSA: a batch of one, biases that
// are constants with the rank of what they are added to, a clamp as ReLU.

// RUN: chimera-run %s --no-time --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s --no-time --json=- --fuse=auto | FileCheck %s --check-prefixes=CHECK,AUTO

// CHECK-NOT: "verdict"
// ALWAYS: "verdict": "fused"
// AUTO: "verdict": "{{fused|split}}"
// CHECK: "contractions_outside_chains": 0,
// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0

func.func @main(%x: tensor<197x49xf32>, %w1: tensor<49x65xf32>, %w2: tensor<65x33xf32>)
    -> tensor<197x33xf32> {
  %zp = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %b1 = "tosa.const"() {values = dense<-0.125> : tensor<1x1x65xf32>} : () -> tensor<1x1x65xf32>
  %b2 = "tosa.const"() {values = dense<0.5> : tensor<1x33xf32>} : () -> tensor<1x33xf32>
  %s0 = tosa.const_shape {values = dense<[1, 197, 49]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %s1 = tosa.const_shape {values = dense<[1, 49, 65]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %s2 = tosa.const_shape {values = dense<[1, 65, 33]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %s3 = tosa.const_shape {values = dense<[197, 33]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.reshape %x, %s0 : (tensor<197x49xf32>, !tosa.shape<3>) -> tensor<1x197x49xf32>
  %1 = tosa.reshape %w1, %s1 : (tensor<49x65xf32>, !tosa.shape<3>) -> tensor<1x49x65xf32>
  %2 = tosa.matmul %0, %1, %zp, %zp : (tensor<1x197x49xf32>, tensor<1x49x65xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x197x65xf32>
  %3 = tosa.add %2, %b1 : (tensor<1x197x65xf32>, tensor<1x1x65xf32>) -> tensor<1x197x65xf32>
  %4 = tosa.clamp %3 {min_val = 0.0 : f32, max_val = 3.40282347E+38 : f32} : (tensor<1x197x65xf32>) -> tensor<1x197x65xf32>
  %5 = tosa.reshape %w2, %s2 : (tensor<65x33xf32>, !tosa.shape<3>) -> tensor<1x65x33xf32>
  %6 = tosa.matmul %4, %5, %zp, %zp : (tensor<1x197x65xf32>, tensor<1x65x33xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x197x33xf32>
  %7 = tosa.reshape %6, %s3 : (tensor<1x197x33xf32>, !tosa.shape<2>) -> tensor<197x33xf32>
  %8 = tosa.add %7, %b2 : (tensor<197x33xf32>, tensor<1x33xf32>) -> tensor<197x33xf32>
  return %8 : tensor<197x33xf32>
}
