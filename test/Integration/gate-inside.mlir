// A gate whose result is the second factor of a third product: the first two
// operators share loops that the third does not have, and the epilogue of the
// second, which reads the first, has to run where both are complete.

// RUN: chimera-run %s --no-time --json=- --fuse=always --threads=1 | FileCheck %s
// RUN: chimera-run %s --no-time --json=- --fuse=always --threads=2 | FileCheck %s

// CHECK: "operators": 3,
// CHECK: "verdict": "fused"
// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0

module {
  func.func @p314(%arg0: tensor<31x24xf32>, %arg1: tensor<24x122xf32>, %arg2: tensor<24x122xf32>, %arg3: tensor<125x31xf32>, %arg4: tensor<122x125xf32>) -> (tensor<125x122xf32>) {
    %cst0 = arith.constant 0.0 : f32
    %cst1 = arith.constant 1.0 : f32
    %cst2 = arith.constant 6.0 : f32
    %0 = tensor.empty() : tensor<31x122xf32>
    %1 = linalg.fill ins(%cst0 : f32) outs(%0 : tensor<31x122xf32>) -> tensor<31x122xf32>
    %2 = linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>] ins(%arg0, %arg1 : tensor<31x24xf32>, tensor<24x122xf32>) outs(%1 : tensor<31x122xf32>) -> tensor<31x122xf32>
    %3 = tensor.empty() : tensor<31x122xf32>
    %4 = linalg.fill ins(%cst0 : f32) outs(%3 : tensor<31x122xf32>) -> tensor<31x122xf32>
    %5 = linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>] ins(%arg0, %arg2 : tensor<31x24xf32>, tensor<24x122xf32>) outs(%4 : tensor<31x122xf32>) -> tensor<31x122xf32>
    %6 = tensor.empty() : tensor<31x122xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<31x122xf32>) outs(%6 : tensor<31x122xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t0 = arith.negf %x0 : f32
      %t1 = math.exp %t0 : f32
      %t2 = arith.addf %t1, %cst1 : f32
      %r = arith.divf %x0, %t2 : f32
      linalg.yield %r : f32
    } -> tensor<31x122xf32>
    %8 = tensor.empty() : tensor<31x122xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%7, %5 : tensor<31x122xf32>, tensor<31x122xf32>) outs(%8 : tensor<31x122xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %r = arith.mulf %x0, %x1 : f32
      linalg.yield %r : f32
    } -> tensor<31x122xf32>
    %10 = tensor.empty() : tensor<125x122xf32>
    %11 = linalg.fill ins(%cst0 : f32) outs(%10 : tensor<125x122xf32>) -> tensor<125x122xf32>
    %12 = linalg.matmul ins(%arg3, %9 : tensor<125x31xf32>, tensor<31x122xf32>) outs(%11 : tensor<125x122xf32>) -> tensor<125x122xf32>
    %13 = tensor.empty() : tensor<125x122xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg4, %12 : tensor<122x125xf32>, tensor<125x122xf32>) outs(%13 : tensor<125x122xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %t = arith.addf %x1, %x0 : f32
      %r = arith.maximumf %t, %cst0 : f32
      linalg.yield %r : f32
    } -> tensor<125x122xf32>
    %15 = tensor.empty() : tensor<125x122xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<125x122xf32>) outs(%15 : tensor<125x122xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t = arith.maximumf %x0, %cst0 : f32
      %r = arith.minimumf %t, %cst2 : f32
      linalg.yield %r : f32
    } -> tensor<125x122xf32>
    return %16 : tensor<125x122xf32>
  }
}
