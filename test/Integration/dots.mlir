// bf16 by dot products: odd sizes of every loop, softmaxes, one row, constants,
// windows.

// RUN: chimera-run %s --entry=chain --target=zen5 --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: %if avx512bf16 %{ chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s %}
// RUN: %if avx512bf16 %{ chimera-run %s '--entry=*' --json=- --fuse=never | FileCheck %s %}

// ASM: vpunpcklwd
// ASM: vdpbf16ps
// A row that one vector multiplies is read by the instruction.
// ASM: vdpbf16ps {{.*}}{1to16}

// CHECK: "functions": [
// CHECK-COUNT-9: "passed": true
// CHECK-NOT: "passed": false

func.func @chain(%arg0: tensor<2x13x7xbf16>, %arg1: tensor<2x7x49xbf16>, %arg2: tensor<2x49x35xbf16>) -> tensor<2x13x35xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<2x13x49xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<2x13x49xf32>) -> tensor<2x13x49xf32>
  %v3 = linalg.batch_matmul ins(%arg0, %arg1 : tensor<2x13x7xbf16>, tensor<2x7x49xbf16>) outs(%v2 : tensor<2x13x49xf32>) -> tensor<2x13x49xf32>
  %v4 = tensor.empty() : tensor<2x13x49xbf16>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<2x13x49xf32>) outs(%v4 : tensor<2x13x49xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<2x13x49xbf16>
  %v6 = arith.constant 0.000000000e+00 : f32
  %v7 = tensor.empty() : tensor<2x13x49xbf16>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v5 : tensor<2x13x49xbf16>) outs(%v7 : tensor<2x13x49xbf16>) {
  ^bb0(%n0: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %r = arith.maximumf %i0, %v6 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<2x13x49xbf16>
  %v9 = arith.constant 0.000000000e+00 : f32
  %v10 = tensor.empty() : tensor<2x13x35xf32>
  %v11 = linalg.fill ins(%v9 : f32) outs(%v10 : tensor<2x13x35xf32>) -> tensor<2x13x35xf32>
  %v12 = linalg.batch_matmul ins(%v8, %arg2 : tensor<2x13x49xbf16>, tensor<2x49x35xbf16>) outs(%v11 : tensor<2x13x35xf32>) -> tensor<2x13x35xf32>
  %v13 = tensor.empty() : tensor<2x13x35xbf16>
  %v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v12 : tensor<2x13x35xf32>) outs(%v13 : tensor<2x13x35xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<2x13x35xbf16>
  return %v14 : tensor<2x13x35xbf16>
}

func.func @one(%arg0: tensor<1x1x1xbf16>, %arg1: tensor<1x1x1xbf16>, %arg2: tensor<1x1x1xbf16>) -> tensor<1x1x1xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<1x1x1xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %v3 = linalg.batch_matmul ins(%arg0, %arg1 : tensor<1x1x1xbf16>, tensor<1x1x1xbf16>) outs(%v2 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %v4 = tensor.empty() : tensor<1x1x1xbf16>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<1x1x1xf32>) outs(%v4 : tensor<1x1x1xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x1x1xbf16>
  %v6 = arith.constant 0.000000000e+00 : f32
  %v7 = tensor.empty() : tensor<1x1x1xbf16>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v5 : tensor<1x1x1xbf16>) outs(%v7 : tensor<1x1x1xbf16>) {
  ^bb0(%n0: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %r = arith.maximumf %i0, %v6 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x1x1xbf16>
  %v9 = arith.constant 0.000000000e+00 : f32
  %v10 = tensor.empty() : tensor<1x1x1xf32>
  %v11 = linalg.fill ins(%v9 : f32) outs(%v10 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %v12 = linalg.batch_matmul ins(%v8, %arg2 : tensor<1x1x1xbf16>, tensor<1x1x1xbf16>) outs(%v11 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %v13 = tensor.empty() : tensor<1x1x1xbf16>
  %v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v12 : tensor<1x1x1xf32>) outs(%v13 : tensor<1x1x1xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x1x1xbf16>
  return %v14 : tensor<1x1x1xbf16>
}

func.func @wide(%arg0: tensor<1x37x64xbf16>, %arg1: tensor<1x64x97xbf16>, %arg2: tensor<1x97x129xbf16>) -> tensor<1x37x129xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<1x37x97xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<1x37x97xf32>) -> tensor<1x37x97xf32>
  %v3 = linalg.batch_matmul ins(%arg0, %arg1 : tensor<1x37x64xbf16>, tensor<1x64x97xbf16>) outs(%v2 : tensor<1x37x97xf32>) -> tensor<1x37x97xf32>
  %v4 = tensor.empty() : tensor<1x37x97xbf16>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<1x37x97xf32>) outs(%v4 : tensor<1x37x97xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x37x97xbf16>
  %v6 = arith.constant 0.000000000e+00 : f32
  %v7 = tensor.empty() : tensor<1x37x97xbf16>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v5 : tensor<1x37x97xbf16>) outs(%v7 : tensor<1x37x97xbf16>) {
  ^bb0(%n0: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %r = arith.maximumf %i0, %v6 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x37x97xbf16>
  %v9 = arith.constant 0.000000000e+00 : f32
  %v10 = tensor.empty() : tensor<1x37x129xf32>
  %v11 = linalg.fill ins(%v9 : f32) outs(%v10 : tensor<1x37x129xf32>) -> tensor<1x37x129xf32>
  %v12 = linalg.batch_matmul ins(%v8, %arg2 : tensor<1x37x97xbf16>, tensor<1x97x129xbf16>) outs(%v11 : tensor<1x37x129xf32>) -> tensor<1x37x129xf32>
  %v13 = tensor.empty() : tensor<1x37x129xbf16>
  %v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v12 : tensor<1x37x129xf32>) outs(%v13 : tensor<1x37x129xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x37x129xbf16>
  return %v14 : tensor<1x37x129xbf16>
}

func.func @attention(%arg0: tensor<3x19x24xbf16>, %arg1: tensor<3x37x24xbf16>, %arg2: tensor<3x37x24xbf16>) -> tensor<3x19x24xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<3x19x37xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<3x19x37xf32>) -> tensor<3x19x37xf32>
  %v3 = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%arg0, %arg1 : tensor<3x19x24xbf16>, tensor<3x37x24xbf16>) outs(%v2 : tensor<3x19x37xf32>) -> tensor<3x19x37xf32>
  %v4 = arith.constant 2.041241452e-01 : f32
  %v5 = tensor.empty() : tensor<3x19x37xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<3x19x37xf32>) outs(%v5 : tensor<3x19x37xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %r = arith.mulf %i0, %v4 : f32
    linalg.yield %r : f32
  } -> tensor<3x19x37xf32>
  %v7 = tensor.empty() : tensor<3x19x37xf32>
  %v8 = linalg.softmax dimension(2) ins(%v6 : tensor<3x19x37xf32>) outs(%v7 : tensor<3x19x37xf32>) -> tensor<3x19x37xf32>
  %v9 = tensor.empty() : tensor<3x19x37xbf16>
  %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v8 : tensor<3x19x37xf32>) outs(%v9 : tensor<3x19x37xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<3x19x37xbf16>
  %v11 = arith.constant 0.000000000e+00 : f32
  %v12 = tensor.empty() : tensor<3x19x24xf32>
  %v13 = linalg.fill ins(%v11 : f32) outs(%v12 : tensor<3x19x24xf32>) -> tensor<3x19x24xf32>
  %v14 = linalg.batch_matmul ins(%v10, %arg2 : tensor<3x19x37xbf16>, tensor<3x37x24xbf16>) outs(%v13 : tensor<3x19x24xf32>) -> tensor<3x19x24xf32>
  %v15 = tensor.empty() : tensor<3x19x24xbf16>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v14 : tensor<3x19x24xf32>) outs(%v15 : tensor<3x19x24xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<3x19x24xbf16>
  return %v16 : tensor<3x19x24xbf16>
}

func.func @causal(%arg0: tensor<2x45x33xbf16>, %arg1: tensor<2x45x33xbf16>, %arg2: tensor<2x45x33xbf16>) -> tensor<2x45x33xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<2x45x45xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<2x45x45xf32>) -> tensor<2x45x45xf32>
  %v3 = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%arg0, %arg1 : tensor<2x45x33xbf16>, tensor<2x45x33xbf16>) outs(%v2 : tensor<2x45x45xf32>) -> tensor<2x45x45xf32>
  %v4 = arith.constant 1.740776560e-01 : f32
  %v5 = tensor.empty() : tensor<2x45x45xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<2x45x45xf32>) outs(%v5 : tensor<2x45x45xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %r = arith.mulf %i0, %v4 : f32
    linalg.yield %r : f32
  } -> tensor<2x45x45xf32>
  %v7 = arith.constant 0xFF800000 : f32
  %v8 = tensor.empty() : tensor<2x45x45xf32>
  %v9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v6 : tensor<2x45x45xf32>) outs(%v8 : tensor<2x45x45xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %q = linalg.index 1 : index
    %k = linalg.index 2 : index
    %later = arith.cmpi ugt, %k, %q : index
    %r = arith.select %later, %v7, %i0 : f32
    linalg.yield %r : f32
  } -> tensor<2x45x45xf32>
  %v10 = tensor.empty() : tensor<2x45x45xf32>
  %v11 = linalg.softmax dimension(2) ins(%v9 : tensor<2x45x45xf32>) outs(%v10 : tensor<2x45x45xf32>) -> tensor<2x45x45xf32>
  %v12 = tensor.empty() : tensor<2x45x45xbf16>
  %v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v11 : tensor<2x45x45xf32>) outs(%v12 : tensor<2x45x45xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<2x45x45xbf16>
  %v14 = arith.constant 0.000000000e+00 : f32
  %v15 = tensor.empty() : tensor<2x45x33xf32>
  %v16 = linalg.fill ins(%v14 : f32) outs(%v15 : tensor<2x45x33xf32>) -> tensor<2x45x33xf32>
  %v17 = linalg.batch_matmul ins(%v13, %arg2 : tensor<2x45x45xbf16>, tensor<2x45x33xbf16>) outs(%v16 : tensor<2x45x33xf32>) -> tensor<2x45x33xf32>
  %v18 = tensor.empty() : tensor<2x45x33xbf16>
  %v19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v17 : tensor<2x45x33xf32>) outs(%v18 : tensor<2x45x33xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<2x45x33xbf16>
  return %v19 : tensor<2x45x33xbf16>
}

func.func @decode(%arg0: tensor<4x1x80xbf16>, %arg1: tensor<4x77x80xbf16>, %arg2: tensor<4x77x80xbf16>) -> tensor<4x1x80xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<4x1x77xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<4x1x77xf32>) -> tensor<4x1x77xf32>
  %v3 = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%arg0, %arg1 : tensor<4x1x80xbf16>, tensor<4x77x80xbf16>) outs(%v2 : tensor<4x1x77xf32>) -> tensor<4x1x77xf32>
  %v4 = arith.constant 1.118033989e-01 : f32
  %v5 = tensor.empty() : tensor<4x1x77xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<4x1x77xf32>) outs(%v5 : tensor<4x1x77xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %r = arith.mulf %i0, %v4 : f32
    linalg.yield %r : f32
  } -> tensor<4x1x77xf32>
  %v7 = tensor.empty() : tensor<4x1x77xf32>
  %v8 = linalg.softmax dimension(2) ins(%v6 : tensor<4x1x77xf32>) outs(%v7 : tensor<4x1x77xf32>) -> tensor<4x1x77xf32>
  %v9 = tensor.empty() : tensor<4x1x77xbf16>
  %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v8 : tensor<4x1x77xf32>) outs(%v9 : tensor<4x1x77xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<4x1x77xbf16>
  %v11 = arith.constant 0.000000000e+00 : f32
  %v12 = tensor.empty() : tensor<4x1x80xf32>
  %v13 = linalg.fill ins(%v11 : f32) outs(%v12 : tensor<4x1x80xf32>) -> tensor<4x1x80xf32>
  %v14 = linalg.batch_matmul ins(%v10, %arg2 : tensor<4x1x77xbf16>, tensor<4x77x80xbf16>) outs(%v13 : tensor<4x1x80xf32>) -> tensor<4x1x80xf32>
  %v15 = tensor.empty() : tensor<4x1x80xbf16>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v14 : tensor<4x1x80xf32>) outs(%v15 : tensor<4x1x80xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<4x1x80xbf16>
  return %v16 : tensor<4x1x80xbf16>
}

func.func @perceptron(%arg0: tensor<33x71xbf16>, %arg1: tensor<71x150xbf16> {chimera.constant}, %arg2: tensor<150xbf16> {chimera.constant}, %arg3: tensor<150x47xbf16> {chimera.constant}, %arg4: tensor<47xbf16> {chimera.constant}) -> tensor<33x47xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<33x150xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<33x150xf32>) -> tensor<33x150xf32>
  %v3 = linalg.matmul ins(%arg0, %arg1 : tensor<33x71xbf16>, tensor<71x150xbf16>) outs(%v2 : tensor<33x150xf32>) -> tensor<33x150xf32>
  %v4 = tensor.empty() : tensor<33x150xbf16>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v3 : tensor<33x150xf32>) outs(%v4 : tensor<33x150xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<33x150xbf16>
  %v6 = tensor.empty() : tensor<33x150xbf16>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v5, %arg2 : tensor<33x150xbf16>, tensor<150xbf16>) outs(%v6 : tensor<33x150xbf16>) {
  ^bb0(%n0: bf16, %n1: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %i1 = arith.extf %n1 : bf16 to f32
    %r = arith.addf %i0, %i1 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<33x150xbf16>
  %v8 = arith.constant 4.471500000e-02 : f32
  %v9 = arith.constant 7.978845608e-01 : f32
  %v10 = arith.constant 1.000000000e+00 : f32
  %v11 = arith.constant 5.000000000e-01 : f32
  %v12 = tensor.empty() : tensor<33x150xbf16>
  %v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v7 : tensor<33x150xbf16>) outs(%v12 : tensor<33x150xbf16>) {
  ^bb0(%n0: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %x2 = arith.mulf %i0, %i0 : f32
    %x3 = arith.mulf %x2, %i0 : f32
    %c = arith.mulf %x3, %v8 : f32
    %s = arith.addf %i0, %c : f32
    %z = arith.mulf %s, %v9 : f32
    %t = math.tanh %z : f32
    %u = arith.addf %t, %v10 : f32
    %h = arith.mulf %u, %v11 : f32
    %r = arith.mulf %i0, %h : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<33x150xbf16>
  %v14 = arith.constant 0.000000000e+00 : f32
  %v15 = tensor.empty() : tensor<33x47xf32>
  %v16 = linalg.fill ins(%v14 : f32) outs(%v15 : tensor<33x47xf32>) -> tensor<33x47xf32>
  %v17 = linalg.matmul ins(%v13, %arg3 : tensor<33x150xbf16>, tensor<150x47xbf16>) outs(%v16 : tensor<33x47xf32>) -> tensor<33x47xf32>
  %v18 = tensor.empty() : tensor<33x47xbf16>
  %v19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v17 : tensor<33x47xf32>) outs(%v18 : tensor<33x47xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<33x47xbf16>
  %v20 = tensor.empty() : tensor<33x47xbf16>
  %v21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v19, %arg4 : tensor<33x47xbf16>, tensor<47xbf16>) outs(%v20 : tensor<33x47xbf16>) {
  ^bb0(%n0: bf16, %n1: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %i1 = arith.extf %n1 : bf16 to f32
    %r = arith.addf %i0, %i1 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<33x47xbf16>
  return %v21 : tensor<33x47xbf16>
}

func.func @row(%arg0: tensor<1x64xbf16>, %arg1: tensor<64x96xbf16> {chimera.constant}, %arg2: tensor<96xbf16> {chimera.constant}, %arg3: tensor<96x48xbf16> {chimera.constant}, %arg4: tensor<48xbf16> {chimera.constant}) -> tensor<1x48xbf16> {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<1x96xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<1x96xf32>) -> tensor<1x96xf32>
  %v3 = linalg.matmul ins(%arg0, %arg1 : tensor<1x64xbf16>, tensor<64x96xbf16>) outs(%v2 : tensor<1x96xf32>) -> tensor<1x96xf32>
  %v4 = tensor.empty() : tensor<1x96xbf16>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v3 : tensor<1x96xf32>) outs(%v4 : tensor<1x96xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x96xbf16>
  %v6 = tensor.empty() : tensor<1x96xbf16>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v5, %arg2 : tensor<1x96xbf16>, tensor<96xbf16>) outs(%v6 : tensor<1x96xbf16>) {
  ^bb0(%n0: bf16, %n1: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %i1 = arith.extf %n1 : bf16 to f32
    %r = arith.addf %i0, %i1 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x96xbf16>
  %v8 = arith.constant 4.471500000e-02 : f32
  %v9 = arith.constant 7.978845608e-01 : f32
  %v10 = arith.constant 1.000000000e+00 : f32
  %v11 = arith.constant 5.000000000e-01 : f32
  %v12 = tensor.empty() : tensor<1x96xbf16>
  %v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v7 : tensor<1x96xbf16>) outs(%v12 : tensor<1x96xbf16>) {
  ^bb0(%n0: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %x2 = arith.mulf %i0, %i0 : f32
    %x3 = arith.mulf %x2, %i0 : f32
    %c = arith.mulf %x3, %v8 : f32
    %s = arith.addf %i0, %c : f32
    %z = arith.mulf %s, %v9 : f32
    %t = math.tanh %z : f32
    %u = arith.addf %t, %v10 : f32
    %h = arith.mulf %u, %v11 : f32
    %r = arith.mulf %i0, %h : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x96xbf16>
  %v14 = arith.constant 0.000000000e+00 : f32
  %v15 = tensor.empty() : tensor<1x48xf32>
  %v16 = linalg.fill ins(%v14 : f32) outs(%v15 : tensor<1x48xf32>) -> tensor<1x48xf32>
  %v17 = linalg.matmul ins(%v13, %arg3 : tensor<1x96xbf16>, tensor<96x48xbf16>) outs(%v16 : tensor<1x48xf32>) -> tensor<1x48xf32>
  %v18 = tensor.empty() : tensor<1x48xbf16>
  %v19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v17 : tensor<1x48xf32>) outs(%v18 : tensor<1x48xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x48xbf16>
  %v20 = tensor.empty() : tensor<1x48xbf16>
  %v21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v19, %arg4 : tensor<1x48xbf16>, tensor<48xbf16>) outs(%v20 : tensor<1x48xbf16>) {
  ^bb0(%n0: bf16, %n1: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %i1 = arith.extf %n1 : bf16 to f32
    %r = arith.addf %i0, %i1 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x48xbf16>
  return %v21 : tensor<1x48xbf16>
}

func.func @convolutions(%arg0: tensor<1x5x11x11xbf16>, %arg1: tensor<19x5x3x3xbf16> {chimera.constant}, %arg2: tensor<34x19x1x1xbf16> {chimera.constant}) -> tensor<1x34x11x11xbf16> {
  %v0 = arith.constant 0.0 : bf16
  %v1 = tensor.pad %arg0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%p0: index, %p1: index, %p2: index, %p3: index):
    tensor.yield %v0 : bf16
  } : tensor<1x5x11x11xbf16> to tensor<1x5x13x13xbf16>
  %v2 = arith.constant 0.000000000e+00 : f32
  %v3 = tensor.empty() : tensor<1x19x11x11xf32>
  %v4 = linalg.fill ins(%v2 : f32) outs(%v3 : tensor<1x19x11x11xf32>) -> tensor<1x19x11x11xf32>
  %v5 = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>} ins(%v1, %arg1 : tensor<1x5x13x13xbf16>, tensor<19x5x3x3xbf16>) outs(%v4 : tensor<1x19x11x11xf32>) -> tensor<1x19x11x11xf32>
  %v6 = tensor.empty() : tensor<1x19x11x11xbf16>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v5 : tensor<1x19x11x11xf32>) outs(%v6 : tensor<1x19x11x11xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x19x11x11xbf16>
  %v8 = arith.constant 0.000000000e+00 : f32
  %v9 = tensor.empty() : tensor<1x19x11x11xbf16>
  %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v7 : tensor<1x19x11x11xbf16>) outs(%v9 : tensor<1x19x11x11xbf16>) {
  ^bb0(%n0: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %r = arith.maximumf %i0, %v8 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x19x11x11xbf16>
  %v11 = arith.constant 0.000000000e+00 : f32
  %v12 = tensor.empty() : tensor<1x34x11x11xf32>
  %v13 = linalg.fill ins(%v11 : f32) outs(%v12 : tensor<1x34x11x11xf32>) -> tensor<1x34x11x11xf32>
  %v14 = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>} ins(%v10, %arg2 : tensor<1x19x11x11xbf16>, tensor<34x19x1x1xbf16>) outs(%v13 : tensor<1x34x11x11xf32>) -> tensor<1x34x11x11xf32>
  %v15 = tensor.empty() : tensor<1x34x11x11xbf16>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v14 : tensor<1x34x11x11xf32>) outs(%v15 : tensor<1x34x11x11xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %narrow = arith.truncf %i0 : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x34x11x11xbf16>
  %v17 = arith.constant 0.000000000e+00 : f32
  %v18 = tensor.empty() : tensor<1x34x11x11xbf16>
  %v19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v16 : tensor<1x34x11x11xbf16>) outs(%v18 : tensor<1x34x11x11xbf16>) {
  ^bb0(%n0: bf16, %out: bf16):
    %i0 = arith.extf %n0 : bf16 to f32
    %r = arith.maximumf %i0, %v17 : f32
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<1x34x11x11xbf16>
  return %v19 : tensor<1x34x11x11xbf16>
}
