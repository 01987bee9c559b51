// A micro kernel in the vector dialect: four rows of f32 times a panel of 16
// columns, all in one vector each.

func.func @sgemm_4x16(%a: memref<4x?xf32, strided<[?, ?], offset: ?>>,
                      %b: memref<?x16xf32, strided<[?, 1], offset: ?>>,
                      %c: memref<4x16xf32, strided<[?, 1], offset: ?>>)
    attributes {chimera.kernel = #chimera.kernel<contraction,
      types = [f32, f32, f32], shape = 4x16x?,
      layouts = [<any>, <contiguous along 1>, <contiguous along 1>],
      cycles = 4.0 : f64, setup = 20.0 : f64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %steps = memref.dim %b, %c0 : memref<?x16xf32, strided<[?, 1], offset: ?>>
  %c_0 = vector.load %c[%c0, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %c_1 = vector.load %c[%c1, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %c_2 = vector.load %c[%c2, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %c_3 = vector.load %c[%c3, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  %sum:4 = scf.for %k = %c0 to %steps step %c1
      iter_args(%s0 = %c_0, %s1 = %c_1, %s2 = %c_2, %s3 = %c_3)
      -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %row = vector.load %b[%k, %c0] : memref<?x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
    %a_0 = memref.load %a[%c0, %k] : memref<4x?xf32, strided<[?, ?], offset: ?>>
    %a_1 = memref.load %a[%c1, %k] : memref<4x?xf32, strided<[?, ?], offset: ?>>
    %a_2 = memref.load %a[%c2, %k] : memref<4x?xf32, strided<[?, ?], offset: ?>>
    %a_3 = memref.load %a[%c3, %k] : memref<4x?xf32, strided<[?, ?], offset: ?>>
    %v_0 = vector.broadcast %a_0 : f32 to vector<16xf32>
    %v_1 = vector.broadcast %a_1 : f32 to vector<16xf32>
    %v_2 = vector.broadcast %a_2 : f32 to vector<16xf32>
    %v_3 = vector.broadcast %a_3 : f32 to vector<16xf32>
    %n0 = vector.fma %v_0, %row, %s0 : vector<16xf32>
    %n1 = vector.fma %v_1, %row, %s1 : vector<16xf32>
    %n2 = vector.fma %v_2, %row, %s2 : vector<16xf32>
    %n3 = vector.fma %v_3, %row, %s3 : vector<16xf32>
    scf.yield %n0, %n1, %n2, %n3
        : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  vector.store %sum#0, %c[%c0, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  vector.store %sum#1, %c[%c1, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  vector.store %sum#2, %c[%c2, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  vector.store %sum#3, %c[%c3, %c0] : memref<4x16xf32, strided<[?, 1], offset: ?>>, vector<16xf32>
  return
}
