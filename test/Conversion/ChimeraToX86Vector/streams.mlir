// RUN: chimera-opt %s --chimera-lower-micro-kernels --split-input-file | FileCheck %s

// Whole vectors go past the caches if the first one is at a multiple of its
// size, the partial one at the end of a row never. What is stored so is fenced.

#kernel = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func @copy
// CHECK:         %[[PLACE:.*]] = memref.extract_aligned_pointer_as_index
// CHECK:         %[[REST:.*]] = arith.andi
// CHECK:         %[[MAY:.*]] = arith.cmpi eq, %[[REST]]
// CHECK:         scf.if %[[MAY]] {
// CHECK:           vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK:           vector.maskedstore
// CHECK:           llvm.call_intrinsic "llvm.x86.sse.sfence"
// CHECK:         } else {
// CHECK-NOT:       nontemporal
// CHECK:           vector.maskedstore
func.func @copy(%a: memref<3x20xf32>, %c: memref<3x20xf32, strided<[32, 1]>>) {
  chimera.micro_kernel elementwise ins(%a : memref<3x20xf32>) outs(%c : memref<3x20xf32, strided<[32, 1]>>)
      maps [#id, #id] iterators ["parallel", "parallel"] implementation #kernel streamed {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

// Rows of 20 elements do not all start at multiples of a vector.

#kernel = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func @askew
// CHECK-NOT:     nontemporal
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @askew(%a: memref<3x20xf32>, %c: memref<3x20xf32>) {
  chimera.micro_kernel elementwise ins(%a : memref<3x20xf32>) outs(%c : memref<3x20xf32>)
      maps [#id, #id] iterators ["parallel", "parallel"] implementation #kernel streamed {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

// Of a reduction, what is written element by element; in bf16 half a line at a
// time.

#kernel = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @sum
// CHECK:         scf.if
// CHECK:           vector.store {{.*}} {alignment = 32 : i64, nontemporal = true} : memref<4x64xbf16>, vector<16xbf16>
// CHECK-NOT:       nontemporal = true} : memref<4xf32>
// CHECK:         } else {
func.func @sum(%a: memref<4x64xf32>, %e: memref<4x64xbf16>, %s: memref<4xf32>) {
  chimera.micro_kernel reduction ins(%a : memref<4x64xf32>) outs(%e, %s : memref<4x64xbf16>, memref<4xf32>)
      maps [#id, #id, #row] iterators ["parallel", "reduction"] implementation #kernel streamed {
  ^bb0(%x: f32, %y: bf16, %z: f32):
    %0 = arith.truncf %x : f32 to bf16
    %1 = arith.addf %z, %x : f32
    chimera.yield %0, %1 : bf16, f32
  }
  return
}

// -----

// Lines of two vectors are stored as a whole: four columns of sixteen rows at a
// time, of which halves of vectors hold four rows each.

#kernel = #chimera.outer_product<lanes = 8, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
#from = affine_map<(i, j) -> (j, i)>
#to = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func @turn
// CHECK:         scf.if
// CHECK-COUNT-16:  vector.load {{.*}} vector<4xf32>
// CHECK:           vector.store %{{.*}}, %[[C:.*]][%[[COLUMN:.*]], %{{.*}}] {alignment = 32 : i64, nontemporal = true}
// CHECK:           vector.store %{{.*}}, %[[C]][%[[COLUMN]], %{{.*}}] {alignment = 32 : i64, nontemporal = true}
// CHECK:         } else {
// CHECK:           vector.load {{.*}} vector<8xf32>
// CHECK-NOT:       nontemporal
// CHECK:         return
func.func @turn(%a: memref<32x64xf32>, %c: memref<64x32xf32>) {
  chimera.micro_kernel pack ins(%a : memref<32x64xf32>) outs(%c : memref<64x32xf32>)
      maps [#from, #to] iterators ["parallel", "parallel"] implementation #kernel streamed {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

// An input that the body does not use is asked for, once for each line.

#kernel = #chimera.outer_product<lanes = 8, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func @ahead
// CHECK-SAME:    %[[A:.*]]: memref<4x64xf32>, %[[NEXT:.*]]: memref<4x64xf32>,
// CHECK-COUNT-1: memref.prefetch %[[NEXT]][{{.*}}], read, locality<2>, data
// CHECK-NOT:     memref.prefetch
// CHECK:         return
func.func @ahead(%a: memref<4x64xf32>, %next: memref<4x64xf32>, %c: memref<4x64xf32>) {
  chimera.micro_kernel elementwise ins(%a, %next : memref<4x64xf32>, memref<4x64xf32>) outs(%c : memref<4x64xf32>)
      maps [#id, #id, #id] iterators ["parallel", "parallel"] implementation #kernel {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.negf %x : f32
    chimera.yield %0 : f32
  }
  return
}
