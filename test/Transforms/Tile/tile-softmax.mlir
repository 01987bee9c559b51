// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 fuse=always" --chimera-tile --canonicalize --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 fuse=always" --split-input-file | sed 's/blocks = <[^)]*>)/blocks = <>>)/' | chimera-opt --chimera-tile --canonicalize --split-input-file | FileCheck %s --check-prefix=STORED

// A factor on the scores is not stored with them: that of the maximum comes
// behind it, if it is positive, and that of the exponential's argument is part
// of one operation. Not where the
// schedule has been changed to say nothing of it.

// CHECK-LABEL: func.func @scaled
// CHECK:         chimera.block "gemm0" ins(%[[S:[^ ,]*]] : tensor<{{[0-9]+}}x64xf32>) outs(%{{[^ ,]*}} : tensor<{{[0-9]+}}xf32>)
// CHECK:           linalg.generic
// CHECK:           ^bb0(%[[X:.*]]: f32, %[[OWN:.*]]: f32):
// CHECK-NEXT:        arith.maximumf %[[OWN]], %[[X]]
// CHECK:         chimera.block "gemm0" outs(%{{[^ ,]*}} : tensor<{{[0-9]+}}xf32>)
// CHECK:             arith.mulf %{{.*}}, %[[SCALE:.*]] : f32
// CHECK:         chimera.block "gemm0" ins(%{{.*}} : tensor<{{[0-9]+}}xf32>) outs(%[[S]], %{{.*}} : tensor<{{[0-9]+}}x64xf32>, tensor<{{[0-9]+}}xf32>)
// CHECK:           ^bb0(%{{.*}}: f32, %[[Y:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK:             %[[SHIFT:.*]] = arith.negf
// CHECK-NEXT:        %[[D:.*]] = math.fma %[[Y]], %{{.*}}, %[[SHIFT]]
// CHECK-NEXT:        %[[L:.*]] = arith.mulf %[[D]]
// CHECK-NEXT:        %[[E:.*]] = math.exp2 %[[L]]
// CHECK-NEXT:        arith.addf %[[SUM]], %[[E]]

// STORED-LABEL: func.func @scaled
// STORED:         chimera.block "gemm0" outs(%{{.*}}, %{{.*}} : tensor<{{[0-9]+}}x64xf32>, tensor<{{[0-9]+}}xf32>)
// STORED:             %[[X:.*]] = arith.mulf
// STORED-NEXT:        %[[M:.*]] = arith.maximumf %{{.*}}, %[[X]]
// STORED-NEXT:        linalg.yield %[[X]], %[[M]]
// STORED:           linalg.generic
// STORED-NOT:         arith.mulf
// STORED:             math.exp
#id = affine_map<(i, j) -> (i, j)>
func.func @scaled(%q: tensor<48x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x16xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32
  %s_init = tensor.empty() : tensor<48x64xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %s = linalg.matmul ins(%q, %k : tensor<48x32xf32>, tensor<32x64xf32>) outs(%s_zero : tensor<48x64xf32>) -> tensor<48x64xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<48x64xf32>) outs(%s_init : tensor<48x64xf32>) {
  ^bb0(%x: f32, %z: f32):
    %y = arith.mulf %x, %scale : f32
    linalg.yield %y : f32
  } -> tensor<48x64xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<48x64xf32>) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<48x64xf32>, tensor<64x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}

// -----

// What reads another tensor takes longer than a store: it is done once.

// CHECK-LABEL: func.func @biased
// CHECK:         chimera.block "gemm0" ins(%{{.*}} : tensor<{{[0-9]+}}x64xf32>) outs(%{{.*}}, %{{.*}} : tensor<{{[0-9]+}}x64xf32>, tensor<{{[0-9]+}}xf32>)
// CHECK:             %[[X:.*]] = arith.addf
// CHECK-NEXT:        %[[M:.*]] = arith.maximumf %{{.*}}, %[[X]]
// CHECK-NEXT:        linalg.yield %[[X]], %[[M]]
// CHECK:           linalg.generic
// CHECK-NOT:         arith.addf
// CHECK:             arith.subf
// CHECK:             math.exp2
// STORED-LABEL: func.func @biased
#id = affine_map<(i, j) -> (i, j)>
func.func @biased(%q: tensor<48x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x16xf32>, %bias: tensor<48x64xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %s_init = tensor.empty() : tensor<48x64xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %s = linalg.matmul ins(%q, %k : tensor<48x32xf32>, tensor<32x64xf32>) outs(%s_zero : tensor<48x64xf32>) -> tensor<48x64xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<48x64xf32>, tensor<48x64xf32>) outs(%s_init : tensor<48x64xf32>) {
  ^bb0(%x: f32, %m: f32, %z: f32):
    %y = arith.addf %x, %m : f32
    linalg.yield %y : f32
  } -> tensor<48x64xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<48x64xf32>) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<48x64xf32>, tensor<64x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}

// -----

// A negative factor turns the order around: elements are scaled before they are compared.

// CHECK-LABEL: func.func @negated
// CHECK:         chimera.block "gemm0" ins(%{{[^ ,]*}} : tensor<{{[0-9]+}}x64xf32>) outs(%{{[^ ,]*}} : tensor<{{[0-9]+}}xf32>)
// CHECK:             %[[X:.*]] = arith.mulf
// CHECK-NEXT:        arith.maximumf %{{.*}}, %[[X]]
// CHECK:             math.fma
// STORED-LABEL: func.func @negated
#id = affine_map<(i, j) -> (i, j)>
func.func @negated(%q: tensor<48x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x16xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant -0.25 : f32
  %s_init = tensor.empty() : tensor<48x64xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %s = linalg.matmul ins(%q, %k : tensor<48x32xf32>, tensor<32x64xf32>) outs(%s_zero : tensor<48x64xf32>) -> tensor<48x64xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<48x64xf32>) outs(%s_init : tensor<48x64xf32>) {
  ^bb0(%x: f32, %z: f32):
    %y = arith.mulf %x, %scale : f32
    linalg.yield %y : f32
  } -> tensor<48x64xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<48x64xf32>) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<48x64xf32>, tensor<64x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}

// -----

// What is not the exponential of a difference in f32 stays as it is.

// CHECK-LABEL: func.func @base2
// CHECK:             %[[D:.*]] = arith.subf
// CHECK-NEXT:        math.exp2 %[[D]]
// STORED-LABEL: func.func @base2
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @base2(%q: tensor<48x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x16xf32>) -> tensor<48x16xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<48x64xf32>
  %r_init = tensor.empty() : tensor<48xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<48x64xf32>) -> tensor<48x64xf32>
  %s = linalg.matmul ins(%q, %k : tensor<48x32xf32>, tensor<32x64xf32>) outs(%s_zero : tensor<48x64xf32>) -> tensor<48x64xf32>
  %m_init = linalg.fill ins(%least : f32) outs(%r_init : tensor<48xf32>) -> tensor<48xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<48x64xf32>) outs(%m_init : tensor<48xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.maximumf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<48xf32>
  %e = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<48x64xf32>, tensor<48xf32>) outs(%s_init : tensor<48x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.subf %x, %y : f32
    %1 = math.exp2 %0 : f32
    linalg.yield %1 : f32
  } -> tensor<48x64xf32>
  %t_init = linalg.fill ins(%zero : f32) outs(%r_init : tensor<48xf32>) -> tensor<48xf32>
  %t = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<48x64xf32>) outs(%t_init : tensor<48xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<48xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %t : tensor<48x64xf32>, tensor<48xf32>) outs(%s_init : tensor<48x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.divf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<48x64xf32>
  %o_init = tensor.empty() : tensor<48x16xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<48x16xf32>) -> tensor<48x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<48x64xf32>, tensor<64x16xf32>) outs(%o_zero : tensor<48x16xf32>) -> tensor<48x16xf32>
  return %o : tensor<48x16xf32>
}
