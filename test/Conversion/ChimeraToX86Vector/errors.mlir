// RUN: chimera-opt %s --chimera-lower-micro-kernels --verify-diagnostics

func.func @tensors(%c: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{must be bufferized before it is lowered; run one-shot-bufferize first}}
  %0 = chimera.micro_kernel elementwise outs(%c : tensor<4xf32>)
      maps [affine_map<(i) -> (i)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
