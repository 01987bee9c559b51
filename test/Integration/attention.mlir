// RUN: chimera-run %s '--entry=*' --fuse=always --threads=2 --no-time | FileCheck %s
// RUN: chimera-run %s '--entry=*' --fuse=never --no-time | FileCheck %s --check-prefix=UNFUSED
// RUN: chimera-opt %s --chimera-form-chains | FileCheck %s --check-prefix=FORMED

// Attention agrees with plain loops, fused and not, whatever masks it has.

// CHECK: passed plain
// CHECK: passed causal
// CHECK: passed window
// CHECK: passed all_masked
// CHECK: passed grouped
// CHECK: passed unshifted
// UNFUSED: passed plain
// UNFUSED: passed causal
// UNFUSED: passed window
// UNFUSED: passed all_masked
// UNFUSED: passed grouped
// UNFUSED: passed unshifted

#q = affine_map<(b, m, l, k) -> (b, m, k)>
#k = affine_map<(b, m, l, k) -> (b, l, k)>
#s = affine_map<(b, m, l, k) -> (b, m, l)>
#id = affine_map<(b, m, l) -> (b, m, l)>
#rows = affine_map<(b, m, l) -> (b, m)>
#matrix = affine_map<(m, l) -> (m, l)>
#row = affine_map<(m, l) -> (m)>

func.func @plain(%q: tensor<2x53x24xf32>, %k: tensor<2x300x24xf32>, %v: tensor<2x300x40xf32>) -> tensor<2x53x40xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.2 : f32
  %s_init = tensor.empty() : tensor<2x53x300xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<2x53x300xf32>) -> tensor<2x53x300xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x53x24xf32>, tensor<2x300x24xf32>) outs(%s_zero : tensor<2x53x300xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x53x300xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x53x300xf32>) outs(%s_init : tensor<2x53x300xf32>) {
  ^bb0(%x: f32, %a: f32):
    %1 = arith.mulf %x, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<2x53x300xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x53x300xf32>) outs(%s_init : tensor<2x53x300xf32>) -> tensor<2x53x300xf32>
  %o_init = tensor.empty() : tensor<2x53x40xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<2x53x40xf32>) -> tensor<2x53x40xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x53x300xf32>, tensor<2x300x40xf32>) outs(%o_zero : tensor<2x53x40xf32>) -> tensor<2x53x40xf32>
  return %o : tensor<2x53x40xf32>
}

func.func @causal(%q: tensor<2x290x16xf32>, %k: tensor<2x290x16xf32>, %v: tensor<2x290x32xf32>) -> tensor<2x290x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<2x290x290xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<2x290x290xf32>) -> tensor<2x290x290xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x290x16xf32>, tensor<2x290x16xf32>) outs(%s_zero : tensor<2x290x290xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x290x290xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x290x290xf32>) outs(%s_init : tensor<2x290x290xf32>) {
  ^bb0(%x: f32, %a: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %keep = arith.cmpi sle, %j, %i : index
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<2x290x290xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x290x290xf32>) outs(%s_init : tensor<2x290x290xf32>) -> tensor<2x290x290xf32>
  %o_init = tensor.empty() : tensor<2x290x32xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<2x290x32xf32>) -> tensor<2x290x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x290x290xf32>, tensor<2x290x32xf32>) outs(%o_zero : tensor<2x290x32xf32>) -> tensor<2x290x32xf32>
  return %o : tensor<2x290x32xf32>
}

func.func @window(%q: tensor<1x400x16xf32>, %k: tensor<1x400x16xf32>, %v: tensor<1x400x32xf32>) -> tensor<1x400x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<1x400x400xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<1x400x400xf32>) -> tensor<1x400x400xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<1x400x16xf32>, tensor<1x400x16xf32>) outs(%s_zero : tensor<1x400x400xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<1x400x400xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x400x400xf32>) outs(%s_init : tensor<1x400x400xf32>) {
  ^bb0(%x: f32, %a: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c40 = arith.constant 40 : index
    %first = arith.subi %i, %c40 : index
    %after = arith.cmpi sgt, %j, %first : index
    %before = arith.cmpi sle, %j, %i : index
    %keep = arith.andi %after, %before : i1
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<1x400x400xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<1x400x400xf32>) outs(%s_init : tensor<1x400x400xf32>) -> tensor<1x400x400xf32>
  %o_init = tensor.empty() : tensor<1x400x32xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<1x400x32xf32>) -> tensor<1x400x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<1x400x400xf32>, tensor<1x400x32xf32>) outs(%o_zero : tensor<1x400x32xf32>) -> tensor<1x400x32xf32>
  return %o : tensor<1x400x32xf32>
}

func.func @all_masked(%q: tensor<2x130x16xf32>, %k: tensor<2x280x16xf32>, %v: tensor<2x280x32xf32>) -> tensor<2x130x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<2x130x280xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<2x130x280xf32>) -> tensor<2x130x280xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x130x16xf32>, tensor<2x280x16xf32>) outs(%s_zero : tensor<2x130x280xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x130x280xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x130x280xf32>) outs(%s_init : tensor<2x130x280xf32>) {
  ^bb0(%x: f32, %a: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c100 = arith.constant 100 : index
    %c260 = arith.constant 260 : index
    %late = arith.cmpi ult, %i, %c100 : index
    %near = arith.cmpi ult, %j, %c260 : index
    %keep = arith.andi %late, %near : i1
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<2x130x280xf32>
  %r_init = tensor.empty() : tensor<2x130xf32>
  %r_low = linalg.fill ins(%low : f32) outs(%r_init : tensor<2x130xf32>) -> tensor<2x130xf32>
  %r_zero = linalg.fill ins(%zero : f32) outs(%r_init : tensor<2x130xf32>) -> tensor<2x130xf32>
  %max = linalg.reduce { arith.maximumf } ins(%t : tensor<2x130x280xf32>) outs(%r_low : tensor<2x130xf32>) dimensions = [2]
  %e = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %max : tensor<2x130x280xf32>, tensor<2x130xf32>) outs(%s_init : tensor<2x130x280xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.subf %x, %y : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x130x280xf32>
  %sum = linalg.reduce { arith.addf } ins(%e : tensor<2x130x280xf32>) outs(%r_zero : tensor<2x130xf32>) dimensions = [2]
  %true = arith.constant true
  %b_init = tensor.empty() : tensor<2x130x280xi1>
  %masked = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<2x130x280xf32>) outs(%b_init : tensor<2x130x280xi1>) {
  ^bb0(%x: f32, %a: i1):
    %1 = arith.cmpf oeq, %x, %low : f32
    linalg.yield %1 : i1
  } -> tensor<2x130x280xi1>
  %all_init = tensor.empty() : tensor<2x130xi1>
  %all_true = linalg.fill ins(%true : i1) outs(%all_init : tensor<2x130xi1>) -> tensor<2x130xi1>
  %all = linalg.reduce { arith.andi } ins(%masked : tensor<2x130x280xi1>) outs(%all_true : tensor<2x130xi1>) dimensions = [2]
  %p = linalg.generic {indexing_maps = [#id, #rows, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum, %all : tensor<2x130x280xf32>, tensor<2x130xf32>, tensor<2x130xi1>) outs(%s_init : tensor<2x130x280xf32>) {
  ^bb0(%x: f32, %y: f32, %z: i1, %a: f32):
    %1 = arith.divf %x, %y : f32
    %2 = arith.select %z, %zero, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x130x280xf32>
  %o_init = tensor.empty() : tensor<2x130x32xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<2x130x32xf32>) -> tensor<2x130x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x130x280xf32>, tensor<2x280x32xf32>) outs(%o_zero : tensor<2x130x32xf32>) -> tensor<2x130x32xf32>
  return %o : tensor<2x130x32xf32>
}

// Four queries to a key, spelled as copies of keys and values, with a causal
// mask and a bias per head. The chain reads what is copied: nothing is.

// FORMED-LABEL: func.func @grouped
// FORMED-NOT:     linalg.generic
// FORMED:         chimera.chain ins({{.*}} : tensor<2x4x33x16xf32>, tensor<2x150x16xf32>, {{.*}}, tensor<2x150x16xf32>)
#heads = affine_map<(b, m, l) -> (b, l)>
#expand = affine_map<(g, r, l, k) -> (g, l, k)>
#all = affine_map<(g, r, l, k) -> (g, r, l, k)>
func.func @grouped(%q: tensor<8x33x16xf32>, %k: tensor<2x150x16xf32>, %v: tensor<2x150x16xf32>, %bias: tensor<8x150xf32>) -> tensor<8x33x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e_init = tensor.empty() : tensor<2x4x150x16xf32>
  %ke = linalg.generic {indexing_maps = [#expand, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<2x150x16xf32>) outs(%e_init : tensor<2x4x150x16xf32>) {
  ^bb0(%x: f32, %a: f32):
    linalg.yield %x : f32
  } -> tensor<2x4x150x16xf32>
  %ve = linalg.generic {indexing_maps = [#expand, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x150x16xf32>) outs(%e_init : tensor<2x4x150x16xf32>) {
  ^bb0(%x: f32, %a: f32):
    linalg.yield %x : f32
  } -> tensor<2x4x150x16xf32>
  %kc = tensor.collapse_shape %ke [[0, 1], [2], [3]] : tensor<2x4x150x16xf32> into tensor<8x150x16xf32>
  %vc = tensor.collapse_shape %ve [[0, 1], [2], [3]] : tensor<2x4x150x16xf32> into tensor<8x150x16xf32>
  %s_init = tensor.empty() : tensor<8x33x150xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<8x33x150xf32>) -> tensor<8x33x150xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %kc : tensor<8x33x16xf32>, tensor<8x150x16xf32>) outs(%s_zero : tensor<8x33x150xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x33x150xf32>
  %masked = linalg.generic {indexing_maps = [#id, #heads, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<8x33x150xf32>, tensor<8x150xf32>) outs(%s_init : tensor<8x33x150xf32>) {
  ^bb0(%x: f32, %b: f32, %a: f32):
    %1 = linalg.index 1 : index
    %2 = linalg.index 2 : index
    %3 = arith.cmpi ule, %2, %1 : index
    %4 = arith.addf %x, %b : f32
    %5 = arith.select %3, %4, %low : f32
    linalg.yield %5 : f32
  } -> tensor<8x33x150xf32>
  %p = linalg.softmax dimension(2) ins(%masked : tensor<8x33x150xf32>) outs(%s_init : tensor<8x33x150xf32>) -> tensor<8x33x150xf32>
  %o_init = tensor.empty() : tensor<8x33x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<8x33x16xf32>) -> tensor<8x33x16xf32>
  %o = linalg.batch_matmul ins(%p, %vc : tensor<8x33x150xf32>, tensor<8x150x16xf32>) outs(%o_zero : tensor<8x33x16xf32>) -> tensor<8x33x16xf32>
  return %o : tensor<8x33x16xf32>
}

// Nothing is subtracted, and in rows from 20 on every exponential is zero: zero
// by zero, as the program has it.
func.func @unshifted(%q: tensor<40x16xf32>, %k: tensor<16x150xf32>, %v: tensor<150x24xf32>) -> tensor<40x24xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e9 : f32
  %s_init = tensor.empty() : tensor<40x150xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<40x150xf32>) -> tensor<40x150xf32>
  %s = linalg.matmul ins(%q, %k : tensor<40x16xf32>, tensor<16x150xf32>) outs(%s_zero : tensor<40x150xf32>) -> tensor<40x150xf32>
  %e = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<40x150xf32>) outs(%s_init : tensor<40x150xf32>) {
  ^bb0(%x: f32, %a: f32):
    %i = linalg.index 0 : index
    %c20 = arith.constant 20 : index
    %keep = arith.cmpi ult, %i, %c20 : index
    %y = arith.select %keep, %x, %low : f32
    %1 = math.exp %y : f32
    linalg.yield %1 : f32
  } -> tensor<40x150xf32>
  %r_init = tensor.empty() : tensor<40xf32>
  %r_zero = linalg.fill ins(%zero : f32) outs(%r_init : tensor<40xf32>) -> tensor<40xf32>
  %sum = linalg.reduce { arith.addf } ins(%e : tensor<40x150xf32>) outs(%r_zero : tensor<40xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#matrix, #row, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%e, %sum : tensor<40x150xf32>, tensor<40xf32>) outs(%s_init : tensor<40x150xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.divf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<40x150xf32>
  %o_init = tensor.empty() : tensor<40x24xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<40x24xf32>) -> tensor<40x24xf32>
  %o = linalg.matmul ins(%p, %v : tensor<40x150xf32>, tensor<150x24xf32>) outs(%o_zero : tensor<40x24xf32>) -> tensor<40x24xf32>
  return %o : tensor<40x24xf32>
}
