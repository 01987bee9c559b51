// Conversions between floats as the code of kernels makes them, against NumPy and
// against distances in f64: ties, denormal numbers, overflow, infinities, NaN.

// REQUIRES: avx2
// RUN: %python %S/Inputs/rounding.py write %t
// RUN: chimera-run %s --no-time --no-check --input=%t.wide.npy --input=%t.bf16.npy --input=%t.f16.npy --input=%t.long.npy \
// RUN:   --output=%t.out0.npy --output=%t.out1.npy --output=%t.out2.npy --output=%t.out3.npy --output=%t.out4.npy --output=%t.out5.npy
// RUN: %python %S/Inputs/rounding.py check %t

#id = affine_map<(i) -> (i)>
func.func @main(%wide: tensor<600011xf32>, %bf16: tensor<65536xbf16>, %f16: tensor<65536xf16>,
                %long: tensor<600011xf64>)
    -> (tensor<600011xbf16>, tensor<600011xf32>, tensor<600011xf16>, tensor<65536xf32>, tensor<65536xf32>, tensor<600011xbf16>) {
  %0 = tensor.empty() : tensor<600011xbf16>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%wide : tensor<600011xf32>) outs(%0 : tensor<600011xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %n = arith.truncf %in : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<600011xbf16>
  %2 = tensor.empty() : tensor<600011xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%wide : tensor<600011xf32>) outs(%2 : tensor<600011xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.truncf %in : f32 to bf16
    %w = arith.extf %n : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<600011xf32>
  %4 = tensor.empty() : tensor<600011xf16>
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%wide : tensor<600011xf32>) outs(%4 : tensor<600011xf16>) {
  ^bb0(%in: f32, %out: f16):
    %n = arith.truncf %in : f32 to f16
    linalg.yield %n : f16
  } -> tensor<600011xf16>
  %6 = tensor.empty() : tensor<65536xf32>
  %7 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%bf16 : tensor<65536xbf16>) outs(%6 : tensor<65536xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<65536xf32>
  %8 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%f16 : tensor<65536xf16>) outs(%6 : tensor<65536xf32>) {
  ^bb0(%in: f16, %out: f32):
    %w = arith.extf %in : f16 to f32
    linalg.yield %w : f32
  } -> tensor<65536xf32>
  %9 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%long : tensor<600011xf64>) outs(%0 : tensor<600011xbf16>) {
  ^bb0(%in: f64, %out: bf16):
    %n = arith.truncf %in : f64 to bf16
    linalg.yield %n : bf16
  } -> tensor<600011xbf16>
  return %1, %3, %5, %7, %8, %9 : tensor<600011xbf16>, tensor<600011xf32>, tensor<600011xf16>, tensor<65536xf32>, tensor<65536xf32>, tensor<600011xbf16>
}
