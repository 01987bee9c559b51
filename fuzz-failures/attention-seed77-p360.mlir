// chimera-run attention-seed77-p360.mlir '--entry=*' --fuse=always --threads=2 --seed=14 --no-time --json=-
// chimera-run: error: /tmp/tmpuk2edvnj.mlir:30:10: 'linalg.generic' op expected operand #2 rank (3) to match the result rank of indexing_map (4)
module {
  func.func @p360(%arg0: tensor<2x1x15x130xi32>, %arg1: tensor<2x1x130x169xi8> {chimera.constant}, %arg2: tensor<2x1x169x130xf32>, %arg3: tensor<1x15x169xf32> {chimera.constant}) -> (tensor<2x15x130xf32>) {
    %cst0 = arith.constant 4.0 : f32
    %cst1 = arith.constant 5 : i8
    %cst2 = arith.constant 0.0 : f32
    %cst3 = arith.constant 0.5 : f32
    %cst4 = arith.constant -10000.0 : f32
    %cst5 = arith.constant 0xFF800000 : f32
    %cst6 = arith.constant 0 : i32
    %cst7 = arith.constant 63 : i32
    %cst8 = arith.constant 1.0 : f32
    %0 = tensor.empty() : tensor<2x1x15x130xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x1x15x130xi32>) outs(%0 : tensor<2x1x15x130xf32>) {
    ^bb0(%x0: i32, %x1: f32):
      %t0 = arith.sitofp %x0 : i32 to f32
      %t1 = arith.subf %t0, %cst0 : f32
      linalg.yield %t1 : f32
    } -> tensor<2x1x15x130xf32>
    %2 = tensor.empty() : tensor<2x1x130x169xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x1x130x169xi8>) outs(%2 : tensor<2x1x130x169xf32>) {
    ^bb0(%x0: i8, %x1: f32):
      %t2 = arith.shrsi %x0, %cst1 : i8
      %t3 = arith.sitofp %t2 : i8 to f32
      linalg.yield %t3 : f32
    } -> tensor<2x1x130x169xf32>
    %4 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x1x15x130xf32> into tensor<2x15x130xf32>
    %5 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x1x130x169xf32> into tensor<2x130x169xf32>
    %6 = tensor.empty() : tensor<2x15x169xf32>
    %7 = linalg.fill ins(%cst2 : f32) outs(%6 : tensor<2x15x169xf32>) -> tensor<2x15x169xf32>
    %8 = linalg.batch_matmul ins(%4, %5 : tensor<2x15x130xf32>, tensor<2x130x169xf32>) outs(%7 : tensor<2x15x169xf32>) -> tensor<2x15x169xf32>
    %9 = tensor.expand_shape %8 [[0, 1], [2], [3]] output_shape [2, 1, 15, 169] : tensor<2x15x169xf32> into tensor<2x1x15x169xf32>
    %10 = tensor.empty() : tensor<1x15x169xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<1x15x169xf32>) outs(%10 : tensor<1x15x169xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t4 = arith.mulf %x0, %cst0 : f32
      %t5 = math.floor %t4 : f32
      %t6 = arith.mulf %t5, %cst3 : f32
      linalg.yield %t6 : f32
    } -> tensor<1x15x169xf32>
    %12 = tensor.empty() : tensor<2x1x15x169xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %11 : tensor<2x1x15x169xf32>, tensor<1x15x169xf32>) outs(%12 : tensor<2x1x15x169xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %t7 = arith.addf %x1, %x0 : f32
      linalg.yield %t7 : f32
    } -> tensor<2x1x15x169xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x1x15x169xf32>) outs(%12 : tensor<2x1x15x169xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t8 = arith.addf %x0, %cst4 : f32
      %t9 = linalg.index 2 : index
      %t10 = arith.index_cast %t9 : index to i32
      %t11 = linalg.index 3 : index
      %t12 = arith.index_cast %t11 : index to i32
      %t13 = arith.addi %t10, %cst6 : i32
      %t14 = arith.subi %t13, %t12 : i32
      %t15 = arith.cmpi slt, %t14, %cst7 : i32
      %t16 = arith.cmpi sge, %t14, %cst6 : i32
      %t17 = arith.andi %t15, %t16 : i1
      %t18 = arith.select %t17, %t8, %cst5 : f32
      linalg.yield %t18 : f32
    } -> tensor<2x1x15x169xf32>
    %15 = tensor.empty() : tensor<2x1x15xf32>
    %16 = linalg.fill ins(%cst5 : f32) outs(%15 : tensor<2x1x15xf32>) -> tensor<2x1x15xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x1x15x169xf32>) outs(%16 : tensor<2x1x15xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t19 = arith.maxnumf %x1, %x0 : f32
      linalg.yield %t19 : f32
    } -> tensor<2x1x15xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %17 : tensor<2x1x15x169xf32>, tensor<2x1x15xf32>) outs(%12 : tensor<2x1x15x169xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %t20 = arith.subf %x0, %x1 : f32
      %t21 = math.exp %t20 : f32
      linalg.yield %t21 : f32
    } -> tensor<2x1x15x169xf32>
    %19 = tensor.empty() : tensor<2x1x15x1xf32>
    %20 = linalg.fill ins(%cst2 : f32) outs(%19 : tensor<2x1x15x1xf32>) -> tensor<2x1x15x1xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x1x15x169xf32>) outs(%20 : tensor<2x1x15x1xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t22 = arith.addf %x0, %x1 : f32
      linalg.yield %t22 : f32
    } -> tensor<2x1x15x1xf32>
    %22 = linalg.fill ins(%cst2 : f32) outs(%0 : tensor<2x1x15x130xf32>) -> tensor<2x1x15x130xf32>
    %23 = linalg.contract indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>] ins(%18, %arg2 : tensor<2x1x15x169xf32>, tensor<2x1x169x130xf32>) outs(%22 : tensor<2x1x15x130xf32>) -> tensor<2x1x15x130xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x1x15x1xf32>) outs(%19 : tensor<2x1x15x1xf32>) {
    ^bb0(%x0: f32, %x1: f32):
      %t23 = arith.divf %cst8, %x0 : f32
      linalg.yield %t23 : f32
    } -> tensor<2x1x15x1xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %24 : tensor<2x1x15x130xf32>, tensor<2x1x15x1xf32>) outs(%0 : tensor<2x1x15x130xf32>) {
    ^bb0(%x0: f32, %x1: f32, %x2: f32):
      %t24 = arith.mulf %x0, %x1 : f32
      linalg.yield %t24 : f32
    } -> tensor<2x1x15x130xf32>
    %26 = tensor.empty() : tensor<2x15x1x130xf32>
    %27 = linalg.transpose ins(%25 : tensor<2x1x15x130xf32>) outs(%26 : tensor<2x15x1x130xf32>) permutation = [0, 2, 1, 3]
    %28 = tensor.collapse_shape %27 [[0], [1], [2, 3]] : tensor<2x15x1x130xf32> into tensor<2x15x130xf32>
    return %28 : tensor<2x15x130xf32>
  }
}
