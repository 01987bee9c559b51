// What there is no code for stays as it is, with the reason.
//
// RUN: chimera-opt %s --split-input-file --chimera-ascend-pipeline="target=ascend910 fuse=always required=false" --remarks-filter=chimera -o %t 2> %t.remarks
// RUN: FileCheck %s < %t.remarks
// RUN: FileCheck %s --check-prefix=LEFT < %t
// RUN: not chimera-opt %s --split-input-file --convert-chimera-to-ascend=target=zen5 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: target 'zen5' has no memories beside its levels

// CHECK: no kernel for an Ascend core: the vector unit has no code for 'math.sin'
// LEFT: func.func @function
func.func @function(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r0 = tensor.empty() : tensor<64x80xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x80xf32>) outs(%r0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = math.sin %in : f32
    %1 = arith.truncf %0 : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}

// -----

// CHECK: no kernel for an Ascend core: the factors of a contraction are not f16
// LEFT: func.func @factors
func.func @factors(%x: memref<64x48xbf16>, %w: memref<48x80xbf16>, %y: memref<64x80xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%x, %w : memref<64x48xbf16>, memref<48x80xbf16>) outs(%y : memref<64x80xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[64], [80], [48]] {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    chimera.yield %3 : f32
  }
  return
}

// -----

// CHECK: no kernel for an Ascend core: a micro kernel does not say how large it gets
// LEFT: func.func @extents
// LEFT-NOT: scf.forall
// LEFT: return
func.func @extents(%x: memref<64x48xf16>, %y: memref<64x48xf16>) {
  chimera.micro_kernel elementwise ins(%x : memref<64x48xf16>) outs(%y : memref<64x48xf16>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] {
  ^bb0(%a: f16, %b: f16):
    chimera.yield %a : f16
  }
  return
}

// -----

// CHECK: no kernel for an Ascend core: a micro kernel is inside 'scf.if'
// LEFT: func.func @conditional
func.func @conditional(%x: memref<64x48xf16>, %y: memref<64x48xf16>) {
  %zero = arith.constant 0 : index
  scf.forall (%i) in (4) {
    %c = arith.cmpi eq, %i, %zero : index
    scf.if %c {
      chimera.micro_kernel elementwise ins(%x : memref<64x48xf16>) outs(%y : memref<64x48xf16>)
          maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
          iterators ["parallel", "parallel"] extents [[64], [48]] {
      ^bb0(%a: f16, %b: f16):
        chimera.yield %a : f16
      }
    }
  }
  return
}

// -----

// CHECK: no kernel for an Ascend core: a buffer is filled again after it has been used
// LEFT: func.func @twice
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @twice(%x: memref<64x48xf16>, %w: memref<48x80xf16>, %y: memref<64x80xf16>, %z: memref<64x80xf16>) {
  %factor = memref.alloc() : memref<64x48xf16>
  %first = memref.alloc() : memref<64x80xf32>
  %second = memref.alloc() : memref<64x80xf32>
  chimera.micro_kernel elementwise ins(%x : memref<64x48xf16>) outs(%factor : memref<64x48xf16>)
      maps [#id, #id] iterators ["parallel", "parallel"] extents [[64], [48]] {
  ^bb0(%a: f16, %b: f16):
    chimera.yield %a : f16
  }
  chimera.micro_kernel contraction overwrite ins(%factor, %w : memref<64x48xf16>, memref<48x80xf16>)
      outs(%first : memref<64x80xf32>) maps [#lhs, #rhs, #out]
      iterators ["parallel", "parallel", "reduction"] extents [[64], [80], [48]] {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    chimera.yield %3 : f32
  }
  chimera.micro_kernel elementwise ins(%first : memref<64x80xf32>) outs(%y : memref<64x80xf16>)
      maps [#id, #id] iterators ["parallel", "parallel"] extents [[64], [80]] {
  ^bb0(%a: f32, %b: f16):
    %0 = arith.truncf %a : f32 to f16
    chimera.yield %0 : f16
  }
  chimera.micro_kernel elementwise ins(%x : memref<64x48xf16>) outs(%factor : memref<64x48xf16>)
      maps [#id, #id] iterators ["parallel", "parallel"] extents [[64], [48]] {
  ^bb0(%a: f16, %b: f16):
    chimera.yield %a : f16
  }
  chimera.micro_kernel contraction overwrite ins(%factor, %w : memref<64x48xf16>, memref<48x80xf16>)
      outs(%second : memref<64x80xf32>) maps [#lhs, #rhs, #out]
      iterators ["parallel", "parallel", "reduction"] extents [[64], [80], [48]] {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    chimera.yield %3 : f32
  }
  chimera.micro_kernel elementwise ins(%second : memref<64x80xf32>) outs(%z : memref<64x80xf16>)
      maps [#id, #id] iterators ["parallel", "parallel"] extents [[64], [80]] {
  ^bb0(%a: f32, %b: f16):
    %0 = arith.truncf %a : f32 to f16
    chimera.yield %0 : f16
  }
  return
}

// -----

// CHECK: no kernel for an Ascend core: bytes are read as something else than truth values
// LEFT: func.func @truth
func.func @truth(%x: memref<64x48xf16>, %m: memref<64x48xi8>, %y: memref<64x48xf16>) {
  chimera.micro_kernel elementwise ins(%x, %m : memref<64x48xf16>, memref<64x48xi8>) outs(%y : memref<64x48xf16>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] extents [[64], [48]] {
  ^bb0(%a: f16, %b: i8, %c: f16):
    %0 = arith.sitofp %b : i8 to f16
    %1 = arith.addf %a, %0 : f16
    chimera.yield %1 : f16
  }
  return
}

// -----

// A comparison that is true of what is no number.
// CHECK: no kernel for an Ascend core: the vector unit has no code for a comparison
// LEFT: func.func @unordered
func.func @unordered(%x: memref<64x48xf16>, %y: memref<64x48xf16>) {
  chimera.micro_kernel elementwise ins(%x : memref<64x48xf16>) outs(%y : memref<64x48xf16>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] extents [[64], [48]] {
  ^bb0(%a: f16, %b: f16):
    %zero = arith.constant 0.0 : f16
    %is = arith.cmpf ugt, %a, %zero : f16
    %0 = arith.select %is, %a, %zero : f16
    chimera.yield %0 : f16
  }
  return
}

// -----

// Numbers have signs on the vector unit.
// CHECK: no kernel for an Ascend core: the vector unit has no code for a comparison
// LEFT: func.func @unsigned
func.func @unsigned(%x: memref<64x48xf16>, %y: memref<64x48xf16>) {
  chimera.micro_kernel elementwise ins(%x : memref<64x48xf16>) outs(%y : memref<64x48xf16>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] extents [[64], [48]] {
  ^bb0(%a: f16, %b: f16):
    %zero = arith.constant 0.0 : f16
    %width = arith.constant 8 : index
    %i = chimera.index 0
    %j = chimera.index 1
    %distance = arith.subi %i, %j : index
    %is = arith.cmpi ult, %distance, %width : index
    %0 = arith.select %is, %a, %zero : f16
    chimera.yield %0 : f16
  }
  return
}

// -----

// The cube unit adds products to sums, and nothing else.
// CHECK: refused.mlir:[[@LINE+4]]:{{[0-9]+}}: remark: [Missed] not-lowered
// CHECK-SAME: no kernel for an Ascend core: a contraction does something else than to multiply in f32 and add up
// LEFT: func.func @subtracts
func.func @subtracts(%x: memref<64x48xf16>, %w: memref<48x80xf16>, %y: memref<64x80xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%x, %w : memref<64x48xf16>, memref<48x80xf16>) outs(%y : memref<64x80xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[64], [80], [48]] {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.subf %c, %2 : f32
    chimera.yield %3 : f32
  }
  return
}

// -----

// The same for products that are rounded before they are added up.
// CHECK: no kernel for an Ascend core: a contraction does something else than to multiply in f32 and add up
// LEFT: func.func @rounds
func.func @rounds(%x: memref<64x48xf16>, %w: memref<48x80xf16>, %y: memref<64x80xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%x, %w : memref<64x48xf16>, memref<48x80xf16>) outs(%y : memref<64x80xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[64], [80], [48]] {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %0 = arith.mulf %a, %b : f16
    %1 = arith.extf %0 : f16 to f32
    %2 = arith.addf %c, %1 : f32
    chimera.yield %2 : f32
  }
  return
}

// -----

// A square of one factor is no product of both.
// CHECK: no kernel for an Ascend core: a contraction does something else than to multiply in f32 and add up
// LEFT: func.func @squares
func.func @squares(%x: memref<64x48xf16>, %w: memref<48x80xf16>, %y: memref<64x80xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%x, %w : memref<64x48xf16>, memref<48x80xf16>) outs(%y : memref<64x80xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[64], [80], [48]] {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %c, %1 : f32
    chimera.yield %2 : f32
  }
  return
}

// -----

// CHECK: no kernel for an Ascend core: a number in memory is the same for several rows: it has to be a row or a column of them
// LEFT: func.func @number
func.func @number(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>, %s: tensor<f32>) -> tensor<64x80xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r0 = tensor.empty() : tensor<64x80xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c, %s : tensor<64x80xf32>, tensor<f32>) outs(%r0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %factor: f32, %out: f16):
    %0 = arith.mulf %in, %factor : f32
    %1 = arith.truncf %0 : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}

// -----

// CHECK: no kernel for an Ascend core: numbers of rows are not next to each other in memory
// LEFT: func.func @apart
func.func @apart(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>, %t: tensor<64x2xf32>) -> tensor<64x80xf16> {
  %zero = arith.constant 0.0 : f32
  %s = tensor.extract_slice %t[0, 1] [64, 1] [1, 1] : tensor<64x2xf32> to tensor<64xf32>
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r0 = tensor.empty() : tensor<64x80xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c, %s : tensor<64x80xf32>, tensor<64xf32>) outs(%r0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %factor: f32, %out: f16):
    %0 = arith.mulf %in, %factor : f32
    %1 = arith.truncf %0 : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}
