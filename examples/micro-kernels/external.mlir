// A micro kernel in C (external.c): three rows of f32 times five columns. The
// second factor is read along the reduction, so it has to be contiguous there.

func.func private @sgemm_3x5(memref<3x?xf32, strided<[?, 1], offset: ?>>,
                             memref<?x5xf32, strided<[1, ?], offset: ?>>,
                             memref<3x5xf32, strided<[?, ?], offset: ?>>)
    attributes {chimera.kernel = #chimera.kernel<contraction,
      types = [f32, f32, f32], shape = 3x5x?,
      layouts = [<contiguous along 2>, <contiguous along 2>, <any>],
      cycles = 30.0 : f64, setup = 10.0 : f64>}
