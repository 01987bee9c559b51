// A micro kernel for factors of bf16 in the vector dialect: four rows times a panel
// of 16 columns, widened and added up in f32. On x86 it makes chains of products
// that there is no code for without it.

func.func @bgemm_4x16(%a: memref<4x?xbf16, strided<[?, ?], offset: ?>>,
                      %b: memref<?x16xbf16, strided<[?, 1], offset: ?>>,
                      %c: memref<4x16xf32, strided<[?, 1], offset: ?>>)
    attributes {chimera.kernel = #chimera.kernel<contraction,
      types = [bf16, bf16, f32], shape = 4x16x?,
      layouts = [<any>, <contiguous along 1>, <contiguous along 1>],
      cycles = 8.0 : f64, setup = 20.0 : f64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %steps = memref.dim %b, %c0 : memref<?x16xbf16, strided<[?, 1], offset: ?>>
  %c_0 = vector.load %c[%c0, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %c_1 = vector.load %c[%c1, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %c_2 = vector.load %c[%c2, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %c_3 = vector.load %c[%c3, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %sum:4 = scf.for %k = %c0 to %steps step %c1
      iter_args(%s0 = %c_0, %s1 = %c_1, %s2 = %c_2, %s3 = %c_3)
      -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %row = vector.load %b[%k, %c0] : memref<?x16xbf16, strided<[?, 1], offset: ?>>, vector<16xbf16>
    %wide = arith.extf %row : vector<16xbf16> to vector<16xf32>
    %a_0 = memref.load %a[%c0, %k] : memref<4x?xbf16, strided<[?, ?], offset: ?>>
    %a_1 = memref.load %a[%c1, %k] : memref<4x?xbf16, strided<[?, ?], offset: ?>>
    %a_2 = memref.load %a[%c2, %k] : memref<4x?xbf16, strided<[?, ?], offset: ?>>
    %a_3 = memref.load %a[%c3, %k] : memref<4x?xbf16, strided<[?, ?], offset: ?>>
    %w_0 = arith.extf %a_0 : bf16 to f32
    %w_1 = arith.extf %a_1 : bf16 to f32
    %w_2 = arith.extf %a_2 : bf16 to f32
    %w_3 = arith.extf %a_3 : bf16 to f32
    %v_0 = vector.broadcast %w_0 : f32 to vector<16xf32>
    %v_1 = vector.broadcast %w_1 : f32 to vector<16xf32>
    %v_2 = vector.broadcast %w_2 : f32 to vector<16xf32>
    %v_3 = vector.broadcast %w_3 : f32 to vector<16xf32>
    %n0 = vector.fma %v_0, %wide, %s0 : vector<16xf32>
    %n1 = vector.fma %v_1, %wide, %s1 : vector<16xf32>
    %n2 = vector.fma %v_2, %wide, %s2 : vector<16xf32>
    %n3 = vector.fma %v_3, %wide, %s3 : vector<16xf32>
    scf.yield %n0, %n1, %n2, %n3
        : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  vector.store %sum#0, %c[%c0, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  vector.store %sum#1, %c[%c1, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  vector.store %sum#2, %c[%c2, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  vector.store %sum#3, %c[%c3, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  return
}
