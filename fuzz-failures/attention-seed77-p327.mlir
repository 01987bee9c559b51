// chimera-run attention-seed77-p327.mlir '--entry=*' --fuse=auto --threads=1 --seed=13 --no-time --json=-
// chimera-run: error: /tmp/tmp21xem930.mlir:47:11: 'linalg.generic' op expected operand #2 rank (3) to match the result rank of indexing_map (5)
module {
  func.func @p327(%arg0: tensor<3x4x33x59xi32> {chimera.constant}, %arg1: tensor<3x33x1x59xi32> {chimera.constant}, %arg2: tensor<3x1x59x33xf32> {chimera.constant}, %arg3: tensor<1x1x33x33xf32> {chimera.constant}) -> (tensor<3x4x33x59xf32>) {
    %cst0 = arith.constant 4.0 : f32
    %cst1 = arith.constant 1.0 : f32
    %cst2 = arith.constant 0.0 : f32
    %cst3 = arith.constant 2048.0 : f32
    %cst4 = arith.constant -10000.0 : f32
    %cst5 = arith.constant 0 : index
    %cst6 = arith.constant 1 : index
    %cst7 = arith.constant -1000000000.0 : f32
    %cst8 = arith.constant 0xFF800000 : f32
    %cst9 = arith.constant 0 : i64
    %0 = tensor.empty() : tensor<3x4x33x59xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<3x4x33x59xi32>) outs(%0 : tensor<3x4x33x59xf32>) {
    ^bb0(%x0: i32, %x1: f32):
      %t0 = arith.sitofp %x0 : i32 to f32
      %t1 = arith.subf %t0, %cst0 : f32
      linalg.yield %t1 : f32
    } -> tensor<3x4x33x59xf32>
    %2 = tensor.empty() : tensor<3x33x1x59xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<3x33x1x59xi32>) outs(%2 : tensor<3x33x1x59xf32>) {
    ^bb0(%x0: i32, %x1: f32):
      %t2 = arith.sitofp %x0 : i32 to f32
      %t3 = arith.subf %t2, %cst0 : f32
      linalg.yield %t3 : f32
    } -> tensor<3x33x1x59xf32>
    %4 = tensor.empty() : tensor<3x4x33x59xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<3x4x33x59xf32>) outs(%4 : tensor<3x4x33x59xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t4 = arith.mulf %x0, %cst1 : f32
      linalg.yield %t4 : f32
    } -> tensor<3x4x33x59xf32>
    %6 = tensor.empty() : tensor<3x1x33x59xf32>
    %7 = linalg.transpose ins(%3 : tensor<3x33x1x59xf32>) outs(%6 : tensor<3x1x33x59xf32>) permutation = [0, 2, 1, 3]
    %8 = tensor.empty() : tensor<3x1x4x33x59xf32>
    %9 = linalg.broadcast ins(%7 : tensor<3x1x33x59xf32>) outs(%8 : tensor<3x1x4x33x59xf32>) dimensions = [2]
    %10 = tensor.collapse_shape %9 [[0], [1, 2], [3], [4]] : tensor<3x1x4x33x59xf32> into tensor<3x4x33x59xf32>
    %11 = tensor.empty() : tensor<3x1x4x59x33xf32>
    %12 = linalg.broadcast ins(%arg2 : tensor<3x1x59x33xf32>) outs(%11 : tensor<3x1x4x59x33xf32>) dimensions = [2]
    %13 = tensor.collapse_shape %12 [[0], [1, 2], [3], [4]] : tensor<3x1x4x59x33xf32> into tensor<3x4x59x33xf32>
    %14 = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<3x4x33x59xf32> into tensor<12x33x59xf32>
    %15 = tensor.empty() : tensor<3x4x59x33xf32>
    %16 = linalg.transpose ins(%10 : tensor<3x4x33x59xf32>) outs(%15 : tensor<3x4x59x33xf32>) permutation = [0, 1, 3, 2]
    %17 = tensor.collapse_shape %16 [[0, 1], [2], [3]] : tensor<3x4x59x33xf32> into tensor<12x59x33xf32>
    %18 = tensor.empty() : tensor<12x33x33xf32>
    %19 = linalg.fill ins(%cst2 : f32) outs(%18 : tensor<12x33x33xf32>) -> tensor<12x33x33xf32>
    %20 = linalg.batch_matmul ins(%14, %17 : tensor<12x33x59xf32>, tensor<12x59x33xf32>) outs(%19 : tensor<12x33x33xf32>) -> tensor<12x33x33xf32>
    %21 = tensor.expand_shape %20 [[0, 1], [2], [3]] output_shape [3, 4, 33, 33] : tensor<12x33x33xf32> into tensor<3x4x33x33xf32>
    %22 = tensor.empty() : tensor<1x1x33x33xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<1x1x33x33xf32>) outs(%22 : tensor<1x1x33x33xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t5 = arith.mulf %x0, %cst0 : f32
      %t6 = math.floor %t5 : f32
      %t7 = arith.mulf %t6, %cst3 : f32
      linalg.yield %t7 : f32
    } -> tensor<1x1x33x33xf32>
    %24 = tensor.empty() : tensor<3x4x33x33xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %23 : tensor<3x4x33x33xf32>, tensor<1x1x33x33xf32>) outs(%24 : tensor<3x4x33x33xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %t8 = arith.addf %x1, %x0 : f32
      %t9 = arith.addf %t8, %cst4 : f32
      %t10 = linalg.index 2 : index
      %t11 = linalg.index 3 : index
      %t12 = arith.subi %t10, %t11 : index
      %t13 = arith.subi %cst5, %t12 : index
      %t14 = arith.maxsi %t12, %t13 : index
      %t15 = arith.cmpi sle, %cst6, %t14 : index
      %t16 = arith.select %t15, %cst7, %cst2 : f32
      %t17 = arith.addf %t16, %t9 : f32
      linalg.yield %t17 : f32
    } -> tensor<3x4x33x33xf32>
    %26 = tensor.empty() : tensor<3x4x33xf32>
    %27 = linalg.fill ins(%cst8 : f32) outs(%26 : tensor<3x4x33xf32>) -> tensor<3x4x33xf32>
    %28 = tensor.empty() : tensor<3x4x33xi64>
    %29 = linalg.fill ins(%cst9 : i64) outs(%28 : tensor<3x4x33xi64>) -> tensor<3x4x33xi64>
    %30:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%25 : tensor<3x4x33x33xf32>) outs(%27, %29 : tensor<3x4x33xf32>, tensor<3x4x33xi64>) {
    ^bb0(%x0: f32, %x1: f32, %x2: i64):
      %i = linalg.index 3 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maxnumf %x0, %x1 : f32
      %c = arith.cmpf ogt, %x0, %x1 : f32
      %p = arith.select %c, %j, %x2 : i64
      linalg.yield %m, %p : f32, i64
    } -> (tensor<3x4x33xf32>, tensor<3x4x33xi64>)
    %31 = tensor.expand_shape %30#0 [[0], [1], [2, 3]] output_shape [3, 4, 33, 1] : tensor<3x4x33xf32> into tensor<3x4x33x1xf32>
    %32 = tensor.empty() : tensor<3x4x33x33xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25, %31 : tensor<3x4x33x33xf32>, tensor<3x4x33x1xf32>) outs(%32 : tensor<3x4x33x33xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %t18 = arith.subf %x0, %x1 : f32
      linalg.yield %t18 : f32
    } -> tensor<3x4x33x33xf32>
    %34 = tensor.empty() : tensor<3x4x33x33xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33 : tensor<3x4x33x33xf32>) outs(%34 : tensor<3x4x33x33xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t19 = math.exp %x0 : f32
      linalg.yield %t19 : f32
    } -> tensor<3x4x33x33xf32>
    %36 = tensor.empty() : tensor<3x4x33xf32>
    %37 = linalg.fill ins(%cst2 : f32) outs(%36 : tensor<3x4x33xf32>) -> tensor<3x4x33xf32>
    %38 = linalg.reduce { arith.addf } ins(%35 : tensor<3x4x33x33xf32>) outs(%37 : tensor<3x4x33xf32>) dimensions = [3]
    %39 = tensor.collapse_shape %35 [[0, 1], [2], [3]] : tensor<3x4x33x33xf32> into tensor<12x33x33xf32>
    %40 = tensor.empty() : tensor<3x4x33x59xf32>
    %41 = linalg.transpose ins(%13 : tensor<3x4x59x33xf32>) outs(%40 : tensor<3x4x33x59xf32>) permutation = [0, 1, 3, 2]
    %42 = tensor.collapse_shape %41 [[0, 1], [2], [3]] : tensor<3x4x33x59xf32> into tensor<12x33x59xf32>
    %43 = tensor.empty() : tensor<12x33x59xf32>
    %44 = linalg.fill ins(%cst2 : f32) outs(%43 : tensor<12x33x59xf32>) -> tensor<12x33x59xf32>
    %45 = linalg.batch_matmul ins(%39, %42 : tensor<12x33x33xf32>, tensor<12x33x59xf32>) outs(%44 : tensor<12x33x59xf32>) -> tensor<12x33x59xf32>
    %46 = tensor.expand_shape %45 [[0, 1], [2], [3]] output_shape [3, 4, 33, 59] : tensor<12x33x59xf32> into tensor<3x4x33x59xf32>
    %47 = tensor.expand_shape %38 [[0], [1], [2, 3]] output_shape [3, 4, 33, 1] : tensor<3x4x33xf32> into tensor<3x4x33x1xf32>
    %48 = tensor.empty() : tensor<3x4x33x1xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<3x4x33x1xf32>) outs(%48 : tensor<3x4x33x1xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t20 = arith.divf %cst1, %x0 : f32
      linalg.yield %t20 : f32
    } -> tensor<3x4x33x1xf32>
    %50 = tensor.empty() : tensor<3x4x33x59xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%46, %49 : tensor<3x4x33x59xf32>, tensor<3x4x33x1xf32>) outs(%50 : tensor<3x4x33x59xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %t21 = arith.mulf %x0, %x1 : f32
      linalg.yield %t21 : f32
    } -> tensor<3x4x33x59xf32>
    return %51 : tensor<3x4x33x59xf32>
  }
}
