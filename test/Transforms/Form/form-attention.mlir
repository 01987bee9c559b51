// RUN: chimera-opt %s --chimera-form-chains=compiled-only --split-input-file | FileCheck %s

// Attention in any spelling becomes one chain in one form: maximum,
// exponential, sum, and what depends on rows alone behind the second product.

// CHECK-LABEL: func @named
// CHECK:         chimera.chain
// CHECK:           %[[S:.*]] = linalg.generic
// CHECK-SAME:        iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:           %[[M:.*]] = linalg.generic
// CHECK-SAME:        ins(%[[S]] : tensor<48x64xf32>)
// CHECK:             arith.maximumf %{{.*}}, %{{.*}} fastmath<nnan>
// CHECK:           %[[E:.*]] = linalg.generic
// CHECK-SAME:        ins(%[[S]], %[[M]] : tensor<48x64xf32>, tensor<48xf32>)
// CHECK:             math.exp
// CHECK:           %[[SUM:.*]] = linalg.generic
// CHECK-SAME:        ins(%[[E]] : tensor<48x64xf32>)
// CHECK:             arith.addf
// CHECK:           %[[O:.*]] = linalg.generic
// CHECK-SAME:        ins(%[[E]], %{{.*}} : tensor<48x64xf32>, tensor<64x16xf32>)
// CHECK:           linalg.generic
// CHECK-SAME:        ins(%[[O]], %[[SUM]]
// CHECK:             arith.divf {{.*}} fastmath<arcp>
// CHECK:           chimera.yield
func.func @named(%q: tensor<48x32xf32>, %k: tensor<64x32xf32>, %v: tensor<64x16xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %kt_init = tensor.empty() : tensor<32x64xf32>
  %kt = linalg.transpose ins(%k : tensor<64x32xf32>) outs(%kt_init : tensor<32x64xf32>) permutation = [1, 0]
  %s_init = tensor.empty() : tensor<48x64xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<48x32xf32>, tensor<32x64xf32>) outs(%s_zero : tensor<48x64xf32>) -> tensor<48x64xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<48x64xf32>) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<48x64xf32>, tensor<64x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}

// -----

// A factor on the query moves to the score; an exponential to the base two, a
// sum that divides behind the product.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @decomposed
// CHECK-SAME:      %[[Q:[a-z0-9]*]]: tensor<48x32xf32>
// CHECK-NOT:     linalg
// CHECK:         chimera.chain ins(%[[Q]],
// CHECK:             arith.mulf
// CHECK:             arith.mulf
// CHECK:             arith.maximumf
// CHECK:             math.exp2 %
// CHECK:             arith.divf
// CHECK:           chimera.yield
// CHECK-NOT:     linalg
func.func @decomposed(%q: tensor<48x32xf32>, %kt: tensor<32x64xf32>, %v: tensor<64x16xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.25 : f32
  %q_init = tensor.empty() : tensor<48x32xf32>
  %qs = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<48x32xf32>) outs(%q_init : tensor<48x32xf32>) {
  ^bb0(%x: f32, %z: f32):
    %y = arith.mulf %x, %scale : f32
    linalg.yield %y : f32
  } -> tensor<48x32xf32>
  %s_init = tensor.empty() : tensor<48x64xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %s = linalg.matmul ins(%qs, %kt : tensor<48x32xf32>, tensor<32x64xf32>) outs(%s_zero : tensor<48x64xf32>) -> tensor<48x64xf32>
  %r_init = tensor.empty() : tensor<48xf32>
  %r_low = linalg.fill ins(%low : f32) outs(%r_init : tensor<48xf32>) -> tensor<48xf32>
  %max = linalg.reduce { arith.maxnumf } ins(%s : tensor<48x64xf32>) outs(%r_low : tensor<48xf32>) dimensions = [1]
  %e = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %max : tensor<48x64xf32>, tensor<48xf32>) outs(%s_init : tensor<48x64xf32>) {
  ^bb0(%x: f32, %m: f32, %z: f32):
    %d = arith.subf %x, %m : f32
    %y = math.exp2 %d : f32
    linalg.yield %y : f32
  } -> tensor<48x64xf32>
  %r_zero = linalg.fill ins(%zero : f32) outs(%r_init : tensor<48xf32>) -> tensor<48xf32>
  %sum = linalg.reduce { arith.addf } ins(%e : tensor<48x64xf32>) outs(%r_zero : tensor<48xf32>) dimensions = [1]
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%e, %v : tensor<48x64xf32>, tensor<64x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%o, %sum : tensor<48x16xf32>, tensor<48xf32>) outs(%o_init : tensor<48x16xf32>) {
  ^bb0(%x: f32, %t: f32, %z: f32):
    %y = arith.divf %x, %t : f32
    linalg.yield %y : f32
  } -> tensor<48x16xf32>
  return %n : tensor<48x16xf32>
}

// -----

// A causal mask is index arithmetic in 32 bits.

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func @causal
// CHECK:         chimera.chain
// CHECK:             %[[J:.*]] = linalg.index 1
// CHECK:             %[[COLUMN:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK:             arith.cmpi sle, %[[COLUMN]], %{{.*}} : i32
// CHECK:             arith.select
func.func @causal(%q: tensor<48x32xf32>, %kt: tensor<32x48xf32>, %v: tensor<48x16xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i64
  %s_init = tensor.empty() : tensor<48x48xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x48xf32>) -> tensor<48x48xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<48x32xf32>, tensor<32x48xf32>) outs(%s_zero : tensor<48x48xf32>) -> tensor<48x48xf32>
  %masked = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<48x48xf32>) outs(%s_init : tensor<48x48xf32>) {
  ^bb0(%x: f32, %z: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %i64 = arith.index_cast %i : index to i64
    %j64 = arith.index_cast %j : index to i64
    %d = arith.subi %j64, %i64 : i64
    %keep = arith.cmpi sle, %d, %c0 : i64
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<48x48xf32>
  %p = linalg.softmax dimension(1) ins(%masked : tensor<48x48xf32>) outs(%s_init : tensor<48x48xf32>) -> tensor<48x48xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<48x48xf32>, tensor<48x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}

// -----

// A mask of truth values is read as bytes, which are made in front of the chain.

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func @masked
// CHECK-SAME:    %[[MASK:[a-z0-9]+]]: tensor<48x48xi1>
// CHECK:         %[[BYTES:.*]] = linalg.generic {{.*}} ins(%[[MASK]] : tensor<48x48xi1>)
// CHECK:           arith.extui %{{.*}} : i1 to i8
// CHECK:         chimera.chain ins({{.*}}%[[BYTES]]{{.*}})
// CHECK:             %[[KEPT:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i8
// CHECK:             arith.select %[[KEPT]]
func.func @masked(%q: tensor<48x32xf32>, %kt: tensor<32x48xf32>, %v: tensor<48x16xf32>, %mask: tensor<48x48xi1>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<48x48xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x48xf32>) -> tensor<48x48xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<48x32xf32>, tensor<32x48xf32>) outs(%s_zero : tensor<48x48xf32>) -> tensor<48x48xf32>
  %masked = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %mask : tensor<48x48xf32>, tensor<48x48xi1>) outs(%s_init : tensor<48x48xf32>) {
  ^bb0(%x: f32, %keep: i1, %z: f32):
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<48x48xf32>
  %p = linalg.softmax dimension(1) ins(%masked : tensor<48x48xf32>) outs(%s_init : tensor<48x48xf32>) -> tensor<48x48xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<48x48xf32>, tensor<48x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}

// -----

// One head: where its dimension has gone, rows are numbered as before.

#id = affine_map<(b, i, j) -> (b, i, j)>
// CHECK-LABEL: func @one_head
// CHECK:         chimera.chain
// CHECK-NOT:         arith.remsi
// CHECK-NOT:         arith.divsi
// CHECK:             %[[J:.*]] = linalg.index 1
// CHECK:             %[[I:.*]] = linalg.index 0
// CHECK:             arith.cmpi sle
func.func @one_head(%q: tensor<1x48x32xf32>, %kt: tensor<1x32x48xf32>, %v: tensor<1x48x16xf32>) -> tensor<1x48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<1x48x48xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<1x48x48xf32>) -> tensor<1x48x48xf32>
  %s = linalg.batch_matmul ins(%q, %kt : tensor<1x48x32xf32>, tensor<1x32x48xf32>) outs(%s_zero : tensor<1x48x48xf32>) -> tensor<1x48x48xf32>
  %masked = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x48x48xf32>) outs(%s_init : tensor<1x48x48xf32>) {
  ^bb0(%x: f32, %z: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %keep = arith.cmpi sle, %j, %i : index
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<1x48x48xf32>
  %p = linalg.softmax dimension(2) ins(%masked : tensor<1x48x48xf32>) outs(%s_init : tensor<1x48x48xf32>) -> tensor<1x48x48xf32>
  %o_init = tensor.empty() : tensor<1x48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<1x48x16xf32>) -> tensor<1x48x16xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<1x48x48xf32>, tensor<1x48x16xf32>) outs(%o_zero : tensor<1x48x16xf32>) -> tensor<1x48x16xf32>
  return %o : tensor<1x48x16xf32>
}

// -----

// A factor that differs along rows, beside the exponential, is no softmax.

#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func @weighted
// CHECK:         linalg.softmax
func.func @weighted(%q: tensor<48x32xf32>, %kt: tensor<32x48xf32>, %w: tensor<48x48xf32>, %v: tensor<48x16xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %s_init = tensor.empty() : tensor<48x48xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x48xf32>) -> tensor<48x48xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<48x32xf32>, tensor<32x48xf32>) outs(%s_zero : tensor<48x48xf32>) -> tensor<48x48xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<48x48xf32>) outs(%s_init : tensor<48x48xf32>) -> tensor<48x48xf32>
  %pw = linalg.mul ins(%p, %w : tensor<48x48xf32>, tensor<48x48xf32>) outs(%s_init : tensor<48x48xf32>) -> tensor<48x48xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%pw, %v : tensor<48x48xf32>, tensor<48x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}
