// RUN: chimera-opt %s --split-input-file --chimera-widen-floats=target=avx2 | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-widen-floats="target=avx2 round-all" | FileCheck %s --check-prefix=ALL
// RUN: chimera-opt %s --split-input-file --chimera-widen-floats=target=h200 | FileCheck %s --check-prefix=SAME
// RUN: not chimera-opt %s --split-input-file --chimera-widen-floats=target=pentium 2>&1 | FileCheck %s --check-prefix=NAME

// NAME: error: unknown target 'pentium'

// Where kernels multiply narrow floats, nothing changes.
// SAME-LABEL: func.func @computed(
// SAME-NOT:   f32
// SAME:       return

// What the program computes is f32 until it is returned; arguments stay what they
// are, a transposed one as well.
// CHECK-LABEL: func.func @computed(
// CHECK-SAME:    %[[A:.*]]: tensor<8x16xbf16>, %[[B:.*]]: tensor<32x16xbf16>, %[[E:.*]]: tensor<8x32xbf16>)
// CHECK:       %[[T:.*]] = linalg.transpose ins(%[[B]] : tensor<32x16xbf16>)
// CHECK:       %[[Z:.*]] = linalg.fill ins(%{{.*}} : f32)
// CHECK:       %[[C:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[A]], %[[T]] : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%[[Z]] : tensor<8x32xf32>)
// CHECK:         arith.mulf {{.*}} : f32
// CHECK-NEXT:    arith.addf {{.*}} : f32
// CHECK-NEXT:    linalg.yield
// CHECK:       %[[D:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[E]] : tensor<8x32xf32>, tensor<8x32xbf16>)
// CHECK:         %[[WIDE:.*]] = arith.extf
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %{{.*}}, %[[WIDE]] : f32
// CHECK-NEXT:    linalg.yield %[[SUM]]
// CHECK:       %[[R:.*]] = linalg.generic {{.*}} ins(%[[D]] : tensor<8x32xf32>) outs(%{{.*}} : tensor<8x32xbf16>)
// CHECK:         arith.truncf
// CHECK:       return %[[R]]

// With round-all each is rounded, sums once.
// ALL-LABEL: func.func @computed(
// ALL:       "reduction"]}
// ALL:         arith.addf {{.*}} : f32
// ALL-NEXT:    linalg.yield
// ALL:       linalg.generic
// ALL:         arith.truncf {{.*}} : f32 to bf16
// ALL-NEXT:    arith.extf
// ALL:       linalg.generic
// ALL:         %[[SUM:.*]] = arith.addf
// ALL-NEXT:    %[[SHORT:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// ALL-NEXT:    linalg.yield %[[SHORT]] : bf16
func.func @computed(%a: tensor<8x16xbf16>, %b: tensor<32x16xbf16>, %e: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %t0 = tensor.empty() : tensor<16x32xbf16>
  %t = linalg.transpose ins(%b : tensor<32x16xbf16>) outs(%t0 : tensor<16x32xbf16>) permutation = [1, 0]
  %c0 = tensor.empty() : tensor<8x32xbf16>
  %c1 = linalg.fill ins(%zero : bf16) outs(%c0 : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %c = linalg.matmul ins(%a, %t : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%c1 : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %d = linalg.add ins(%c, %e : tensor<8x32xbf16>, tensor<8x32xbf16>) outs(%c0 : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %d : tensor<8x32xbf16>
}

// -----

// Conversions of arguments go into products, conversions of what was computed
// vanish, and conversions to a narrow type still round.
// CHECK-LABEL: func.func @converted(
// CHECK-SAME:    %[[A:.*]]: tensor<8x16xf16>, %[[B:.*]]: tensor<16x8xf16>)
// CHECK:       %[[C:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[A]], %[[B]] : tensor<8x16xf16>, tensor<16x8xf16>)
// CHECK:       %[[SHORT:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<8x8xf32>) outs(%{{.*}} : tensor<8x8xf32>)
// CHECK:         %[[TRUNC:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT:    %[[BACK:.*]] = arith.extf %[[TRUNC]]
// CHECK-NEXT:    linalg.yield %[[BACK]]
// CHECK:       linalg.generic {{.*}}"reduction"]} ins(%[[SHORT]], %[[B]] : tensor<8x8xf32>, tensor<16x8xf16>)
#id = affine_map<(i, j) -> (i, j)>
func.func @converted(%a: tensor<8x16xf16>, %b: tensor<16x8xf16>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %aw0 = tensor.empty() : tensor<8x16xf32>
  %aw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xf16>) outs(%aw0 : tensor<8x16xf32>) {
  ^bb0(%in: f16, %out: f32):
    %0 = arith.extf %in : f16 to f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %bw0 = tensor.empty() : tensor<16x8xf32>
  %bw = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<16x8xf16>) outs(%bw0 : tensor<16x8xf32>) {
  ^bb0(%in: f16, %out: f32):
    %0 = arith.extf %in : f16 to f32
    linalg.yield %0 : f32
  } -> tensor<16x8xf32>
  %c0 = tensor.empty() : tensor<8x8xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = linalg.matmul ins(%aw, %bw : tensor<8x16xf32>, tensor<16x8xf32>) outs(%c1 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s0 = tensor.empty() : tensor<8x8xf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<8x8xf32>) outs(%s0 : tensor<8x8xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<8x8xf16>
  %w0 = tensor.empty() : tensor<8x8xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<8x8xf16>) outs(%w0 : tensor<8x8xf32>) {
  ^bb0(%in: f16, %out: f32):
    %0 = arith.extf %in : f16 to f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  %d0 = tensor.empty() : tensor<8x16xf32>
  %d1 = linalg.fill ins(%zero : f32) outs(%d0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %bw : tensor<8x8xf32>, tensor<16x8xf32>) outs(%d1 : tensor<8x16xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %acc, %p : f32
    linalg.yield %q : f32
  } -> tensor<8x16xf32>
  return %d : tensor<8x16xf32>
}

// -----

// Padding, parts and reshapes of what is computed; constants and elements that
// bodies read from outside; sizes that are not known.
// CHECK-LABEL: func.func @moved(
// CHECK-SAME:    %[[X:.*]]: tensor<?x8xbf16>
// CHECK:       %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<?x8xbf16>) outs(%{{.*}} : tensor<?x8xf32>)
// CHECK:         math.exp %{{.*}} : f32
// CHECK:       %[[PAD:.*]] = tensor.pad %[[Y]]
// CHECK:         tensor.yield %{{.*}} : f32
// CHECK:       } : tensor<?x8xf32> to tensor<?x10xf32>
// CHECK:       %[[PART:.*]] = tensor.extract_slice %[[PAD]]{{.*}} : tensor<?x10xf32> to tensor<4x10xf32>
// CHECK:       %[[FLAT:.*]] = tensor.collapse_shape %[[PART]]{{.*}} : tensor<4x10xf32> into tensor<40xf32>
// CHECK:       linalg.generic {{.*}} outs(%{{.*}} : tensor<40xf32>)
// CHECK:         tensor.extract %[[FLAT]]{{.*}} : tensor<40xf32>
func.func @moved(%x: tensor<?x8xbf16>, %n: index) -> tensor<40xbf16> {
  %zero = arith.constant 0.0 : bf16
  %y0 = tensor.empty(%n) : tensor<?x8xbf16>
  %y = linalg.exp ins(%x : tensor<?x8xbf16>) outs(%y0 : tensor<?x8xbf16>) -> tensor<?x8xbf16>
  %pad = tensor.pad %y low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : bf16
  } : tensor<?x8xbf16> to tensor<?x10xbf16>
  %part = tensor.extract_slice %pad[0, 0] [4, 10] [1, 1] : tensor<?x10xbf16> to tensor<4x10xbf16>
  %flat = tensor.collapse_shape %part [[0, 1]] : tensor<4x10xbf16> into tensor<40xbf16>
  %r0 = tensor.empty() : tensor<40xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%r0 : tensor<40xbf16>) {
  ^bb0(%out: bf16):
    %i = linalg.index 0 : index
    %e = tensor.extract %flat[%i] : tensor<40xbf16>
    linalg.yield %e : bf16
  } -> tensor<40xbf16>
  return %r : tensor<40xbf16>
}

// -----

// Operations that are neither of linalg nor movements get what they had.
// CHECK-LABEL: func.func @called(
// CHECK:       %[[Y:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8xf32>)
// CHECK:       %[[SHORT:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<8xf32>) outs(%{{.*}} : tensor<8xf16>)
// CHECK:       %[[Z:.*]] = call @other(%[[SHORT]])
// CHECK:       linalg.generic {{.*}} ins(%[[Y]], %[[Z]] : tensor<8xf32>, tensor<8xf16>)
func.func private @other(tensor<8xf16>) -> tensor<8xf16>
func.func @called(%x: tensor<8xf16>) -> tensor<8xf16> {
  %e = tensor.empty() : tensor<8xf16>
  %y = linalg.exp ins(%x : tensor<8xf16>) outs(%e : tensor<8xf16>) -> tensor<8xf16>
  %z = call @other(%y) : (tensor<8xf16>) -> tensor<8xf16>
  %r = linalg.mul ins(%y, %z : tensor<8xf16>, tensor<8xf16>) outs(%e : tensor<8xf16>) -> tensor<8xf16>
  return %r : tensor<8xf16>
}

// -----

// Other types are left alone.
// CHECK-LABEL: func.func @integers(
// CHECK-NEXT:  tensor.empty() : tensor<8xi32>
// CHECK-NEXT:  linalg.add ins({{.*}} : tensor<8xi32>, tensor<8xi32>)
func.func @integers(%x: tensor<8xi32>) -> tensor<8xi32> {
  %e = tensor.empty() : tensor<8xi32>
  %y = linalg.add ins(%x, %x : tensor<8xi32>, tensor<8xi32>) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  return %y : tensor<8xi32>
}
