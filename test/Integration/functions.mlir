// Functions that processors have instructions for, and those of libm where small
// arguments count, against the reference.

// RUN: chimera-run %s '--entry=*' | FileCheck %s
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --target=%S/Inputs/small-caches.mlir | FileCheck %s %}

// CHECK:      passed integers
// CHECK-NEXT: passed floats
// CHECK-NEXT: passed small

#id = affine_map<(i) -> (i)>
func.func @integers(%x: tensor<103xi64>, %y: tensor<103xi32>) -> (tensor<103xi64>, tensor<103xi32>) {
  %0 = tensor.empty() : tensor<103xi64>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<103xi64>) outs(%0 : tensor<103xi64>) {
  ^bb0(%in: i64, %out: i64):
    %a = math.absi %in : i64
    %b = math.ctpop %a : i64
    %c = math.cttz %a : i64
    %d = arith.addi %b, %c : i64
    linalg.yield %d : i64
  } -> tensor<103xi64>
  %2 = tensor.empty() : tensor<103xi32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<103xi32>) outs(%2 : tensor<103xi32>) {
  ^bb0(%in: i32, %out: i32):
    %two = arith.constant 2 : i32
    %a = math.absi %in : i32
    %b = math.ctlz %a : i32
    %c = math.ipowi %in, %two : i32
    %d = arith.addi %b, %c : i32
    linalg.yield %d : i32
  } -> tensor<103xi32>
  return %1, %3 : tensor<103xi64>, tensor<103xi32>
}

func.func @floats(%x: tensor<103xf32>, %y: tensor<103xf32>) -> tensor<103xf32> {
  %0 = tensor.empty() : tensor<103xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<103xf32>, tensor<103xf32>) outs(%0 : tensor<103xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = math.copysign %a, %b : f32
    %r = math.round %c : f32
    %t = math.trunc %b : f32
    %n = math.isnan %a : f32
    %s = arith.addf %r, %t : f32
    %m = arith.select %n, %a, %s : f32
    %q = math.fma %m, %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<103xf32>
  return %1 : tensor<103xf32>
}

func.func @small(%x: tensor<103xf32>) -> (tensor<103xf32>, tensor<103xf64>) {
  %0 = tensor.empty() : tensor<103xf32>
  %1 = tensor.empty() : tensor<103xf64>
  %2:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<103xf32>) outs(%0, %1 : tensor<103xf32>, tensor<103xf64>) {
  ^bb0(%in: f32, %out: f32, %wide: f64):
    %factor = arith.constant 1.0e-7 : f32
    %s = arith.mulf %in, %factor : f32
    %a = math.absf %s : f32
    %e = math.expm1 %s : f32
    %l = math.log1p %a : f32
    %r = arith.addf %e, %l : f32
    %d = arith.extf %s : f32 to f64
    %f = math.expm1 %d : f64
    linalg.yield %r, %f : f32, f64
  } -> (tensor<103xf32>, tensor<103xf64>)
  return %2#0, %2#1 : tensor<103xf32>, tensor<103xf64>
}
