// Leaves out the last step of the reduction.
func.func @forgets(%a: memref<1x?xf32, strided<[?, ?], offset: ?>>,
                   %b: memref<?x8xf32, strided<[?, 1], offset: ?>>,
                   %c: memref<1x8xf32, strided<[?, 1], offset: ?>>)
    attributes {chimera.kernel = #chimera.kernel<contraction,
      types = [f32, f32, f32], shape = 1x8x?,
      layouts = [<any>, <contiguous along 1>, <contiguous along 1>],
      cycles = 1.0 : f64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = memref.dim %b, %c0 : memref<?x8xf32, strided<[?, 1], offset: ?>>
  %last = arith.subi %steps, %c1 : index
  %start = vector.load %c[%c0, %c0] : memref<1x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
  %sum = scf.for %k = %c0 to %last step %c1 iter_args(%s = %start) -> vector<8xf32> {
    %row = vector.load %b[%k, %c0] : memref<?x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
    %x = memref.load %a[%c0, %k] : memref<1x?xf32, strided<[?, ?], offset: ?>>
    %v = vector.broadcast %x : f32 to vector<8xf32>
    %n = vector.fma %v, %row, %s : vector<8xf32>
    scf.yield %n : vector<8xf32>
  }
  vector.store %sum, %c[%c0, %c0] : memref<1x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
  return
}
