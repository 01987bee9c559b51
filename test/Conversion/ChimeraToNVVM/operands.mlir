// A batch, a right factor with its rows last, a residual that has no shape in common
// with 16 x 8, a result in f32.
//
// RUN: chimera-opt %s --chimera-nvidia-pipeline="target=h200 format=isa manifest=%t.json" -o %t.mlir
// RUN: %python %S/operands.py %t.mlir %t.json | FileCheck %s

// CHECK: error {{.*}}e-0{{[4-9]}} conflicts 0
#id = affine_map<(b, i, j) -> (b, i, j)>
func.func @chain(%x: tensor<2x48x32xf16>, %w: tensor<2x64x32xf16>, %v: tensor<2x64x24xf16>, %res: tensor<2x48x24xf16>) -> tensor<2x48x24xf32> {
    %r = chimera.chain ins(%x, %w, %v, %res : tensor<2x48x32xf16>, tensor<2x64x32xf16>, tensor<2x64x24xf16>, tensor<2x48x24xf16>)
      schedule(<levels = [<"L2">, <"SMEM" : b = 1, m = 16, l = 32>], parallel = 2,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {
  ^bb0(%x0: tensor<2x48x32xf16>, %w0: tensor<2x64x32xf16>, %v0: tensor<2x64x24xf16>, %res0 : tensor<2x48x24xf16>):
    %zero = arith.constant 0.0 : f32
    %c0 = tensor.empty() : tensor<2x48x64xf32>
    %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<2x48x64xf32>) -> tensor<2x48x64xf32>
    %c = linalg.generic {indexing_maps = [affine_map<(b,m,n,k)->(b,m,k)>, affine_map<(b,m,n,k)->(b,n,k)>, affine_map<(b,m,n,k)->(b,m,n)>], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%x0, %w0 : tensor<2x48x32xf16>, tensor<2x64x32xf16>)
        outs(%c1 : tensor<2x48x64xf32>) {
    ^bb0(%p: f16, %q: f16, %s: f32):
      %0 = arith.extf %p : f16 to f32
      %1 = arith.extf %q : f16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %s, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<2x48x64xf32>
    %h0 = tensor.empty() : tensor<2x48x64xf16>
    %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%c : tensor<2x48x64xf32>) outs(%h0 : tensor<2x48x64xf16>) {
    ^bb0(%in: f32, %out: f16):
      %1 = arith.mulf %in, %in : f32
      %0 = arith.truncf %1 : f32 to f16
      linalg.yield %0 : f16
    } -> tensor<2x48x64xf16>
    %e0 = tensor.empty() : tensor<2x48x24xf32>
    %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2x48x24xf32>) -> tensor<2x48x24xf32>
    %e = linalg.batch_matmul ins(%h, %v0 : tensor<2x48x64xf16>, tensor<2x64x24xf16>)
        outs(%e1 : tensor<2x48x24xf32>) -> tensor<2x48x24xf32>
    %r1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%e, %res0 : tensor<2x48x24xf32>, tensor<2x48x24xf16>) outs(%e0 : tensor<2x48x24xf32>) {
    ^bb0(%in: f32, %old : f16, %out: f32):
      %0 = arith.extf %old : f16 to f32
      %1 = arith.addf %in, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<2x48x24xf32>
    chimera.yield %r1 : tensor<2x48x24xf32>
  } -> tensor<2x48x24xf32>
  return %r : tensor<2x48x24xf32>
}
