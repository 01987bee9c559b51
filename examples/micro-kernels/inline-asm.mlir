// A micro kernel around an instruction, here the FMA of AVX2: two rows of f32
// times eight columns, four steps of the reduction in a call.

func.func @sgemm_2x8x4(%a: memref<2x4xf32, strided<[?, 1], offset: ?>>,
                       %b: memref<4x8xf32, strided<[?, 1], offset: ?>>,
                       %c: memref<2x8xf32, strided<[?, 1], offset: ?>>)
    attributes {chimera.kernel = #chimera.kernel<contraction,
      types = [f32, f32, f32], shape = 2x8x4,
      layouts = [<contiguous along 2>, <contiguous along 1>, <contiguous along 1>],
      cycles = 2.0 : f64, setup = 8.0 : f64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c_0 = vector.load %c[%c0, %c0] : memref<2x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
  %c_1 = vector.load %c[%c1, %c0] : memref<2x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
  %sum:2 = scf.for %k = %c0 to %c4 step %c1 iter_args(%s0 = %c_0, %s1 = %c_1)
      -> (vector<8xf32>, vector<8xf32>) {
    %row = vector.load %b[%k, %c0] : memref<4x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
    %a_0 = memref.load %a[%c0, %k] : memref<2x4xf32, strided<[?, 1], offset: ?>>
    %a_1 = memref.load %a[%c1, %k] : memref<2x4xf32, strided<[?, 1], offset: ?>>
    %v_0 = vector.broadcast %a_0 : f32 to vector<8xf32>
    %v_1 = vector.broadcast %a_1 : f32 to vector<8xf32>
    %n0 = llvm.inline_asm "vfmadd231ps $2, $1, $0", "=x,x,x,0" %v_0, %row, %s0
        : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    %n1 = llvm.inline_asm "vfmadd231ps $2, $1, $0", "=x,x,x,0" %v_1, %row, %s1
        : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    scf.yield %n0, %n1 : vector<8xf32>, vector<8xf32>
  }
  vector.store %sum#0, %c[%c0, %c0] : memref<2x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
  vector.store %sum#1, %c[%c1, %c0] : memref<2x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
  return
}
