// A gated perceptron with weights of four bits in groups of 32, for one row, for
// many, and for any number: each takes its own way to decode them. The program
// keeps words, not floats.

// RUN: chimera-run %s --constant=1,2,3,4,5,6 --threads=1 --sizes=1,48 --at=1,48,0,2,5,97 --no-time | FileCheck %s
// RUN: chimera-run %s --constant=1,2,3,4,5,6 --threads=2 --at=1,48 --no-time | FileCheck %s --check-prefix=TWO
// RUN: chimera-run %s --constant=1,2,3,4,5,6 --threads=1 --emit=mlir -o - | FileCheck %s --check-prefix=PLAN

// CHECK: at 1
// CHECK: error {{.*}} against plain loops in f64
// CHECK: at         48: passed
// CHECK: at         0: passed
// CHECK: at         2: passed
// CHECK: at         5: passed
// CHECK: at         97: passed
// TWO: at         48: passed
// PLAN-COUNT-3: chimera.chain ins({{.*}}, tensor<{{[0-9]+x4x[0-9]+}}xi32>, tensor<{{[0-9]+x[0-9]+}}xf32>

func.func @main(%x: tensor<?x64xf32>, %w1: tensor<96x64xi4>, %s1: tensor<96x2x1xf32>, %w3: tensor<96x64xi4>, %s3: tensor<96x2x1xf32>, %w2: tensor<64x96xi4>, %s2: tensor<64x3x1xf32>) -> tensor<?x64xf32> {
    %cdim = arith.constant 0 : index
    %nn = tensor.dim %x, %cdim : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %av = tensor.expand_shape %w1 [[0], [1, 2]] output_shape [96, 2, 32] : tensor<96x64xi4> into tensor<96x2x32xi4>
  %ae = tensor.empty() : tensor<96x2x32xf32>
  %ad = linalg.generic {indexing_maps = [affine_map<(n,g,k)->(n,g,k)>, affine_map<(n,g,k)->(n,g,0)>, affine_map<(n,g,k)->(n,g,k)>], iterator_types = ["parallel","parallel","parallel"]} ins(%av, %s1 : tensor<96x2x32xi4>, tensor<96x2x1xf32>) outs(%ae : tensor<96x2x32xf32>) {
  ^bb0(%a: i4, %c: f32, %b: f32):
    %0 = arith.sitofp %a : i4 to f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<96x2x32xf32>
  %ac = tensor.collapse_shape %ad [[0], [1, 2]] : tensor<96x2x32xf32> into tensor<96x64xf32>
  %ate = tensor.empty() : tensor<64x96xf32>
  %at = linalg.transpose ins(%ac : tensor<96x64xf32>) outs(%ate : tensor<64x96xf32>) permutation = [1, 0]
  %gateo = tensor.empty(%nn) : tensor<?x96xf32>
  %gatei = linalg.fill ins(%zero : f32) outs(%gateo : tensor<?x96xf32>) -> tensor<?x96xf32>
  %gate = linalg.matmul ins(%x, %at : tensor<?x64xf32>, tensor<64x96xf32>) outs(%gatei : tensor<?x96xf32>) -> tensor<?x96xf32>
  %bv = tensor.expand_shape %w3 [[0], [1, 2]] output_shape [96, 2, 32] : tensor<96x64xi4> into tensor<96x2x32xi4>
  %be = tensor.empty() : tensor<96x2x32xf32>
  %bd = linalg.generic {indexing_maps = [affine_map<(n,g,k)->(n,g,k)>, affine_map<(n,g,k)->(n,g,0)>, affine_map<(n,g,k)->(n,g,k)>], iterator_types = ["parallel","parallel","parallel"]} ins(%bv, %s3 : tensor<96x2x32xi4>, tensor<96x2x1xf32>) outs(%be : tensor<96x2x32xf32>) {
  ^bb0(%a: i4, %c: f32, %b: f32):
    %0 = arith.sitofp %a : i4 to f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<96x2x32xf32>
  %bc = tensor.collapse_shape %bd [[0], [1, 2]] : tensor<96x2x32xf32> into tensor<96x64xf32>
  %bte = tensor.empty() : tensor<64x96xf32>
  %bt = linalg.transpose ins(%bc : tensor<96x64xf32>) outs(%bte : tensor<64x96xf32>) permutation = [1, 0]
  %upo = tensor.empty(%nn) : tensor<?x96xf32>
  %upi = linalg.fill ins(%zero : f32) outs(%upo : tensor<?x96xf32>) -> tensor<?x96xf32>
  %up = linalg.matmul ins(%x, %bt : tensor<?x64xf32>, tensor<64x96xf32>) outs(%upi : tensor<?x96xf32>) -> tensor<?x96xf32>
  %he = tensor.empty(%nn) : tensor<?x96xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%gate, %up : tensor<?x96xf32>, tensor<?x96xf32>) outs(%he : tensor<?x96xf32>) {
  ^bb0(%g: f32, %u: f32, %o: f32):
    %n = arith.negf %g : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %g, %d : f32
    %r = arith.mulf %q, %u : f32
    linalg.yield %r : f32
  } -> tensor<?x96xf32>
  %cv = tensor.expand_shape %w2 [[0], [1, 2]] output_shape [64, 3, 32] : tensor<64x96xi4> into tensor<64x3x32xi4>
  %ce = tensor.empty() : tensor<64x3x32xf32>
  %cd = linalg.generic {indexing_maps = [affine_map<(n,g,k)->(n,g,k)>, affine_map<(n,g,k)->(n,g,0)>, affine_map<(n,g,k)->(n,g,k)>], iterator_types = ["parallel","parallel","parallel"]} ins(%cv, %s2 : tensor<64x3x32xi4>, tensor<64x3x1xf32>) outs(%ce : tensor<64x3x32xf32>) {
  ^bb0(%a: i4, %c: f32, %b: f32):
    %0 = arith.sitofp %a : i4 to f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<64x3x32xf32>
  %cc = tensor.collapse_shape %cd [[0], [1, 2]] : tensor<64x3x32xf32> into tensor<64x96xf32>
  %cte = tensor.empty() : tensor<96x64xf32>
  %ct = linalg.transpose ins(%cc : tensor<64x96xf32>) outs(%cte : tensor<96x64xf32>) permutation = [1, 0]
  %yo = tensor.empty(%nn) : tensor<?x64xf32>
  %yi = linalg.fill ins(%zero : f32) outs(%yo : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = linalg.matmul ins(%h, %ct : tensor<?x96xf32>, tensor<96x64xf32>) outs(%yi : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

