// RUN: chimera-opt %s --split-input-file --chimera-fuse-memory-bound --cse | FileCheck %s

// An operation moves into its only reader until both together have 64
// operations: beside so many, another pass over memory costs next to nothing.

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func @as_many_as_may_be(
// CHECK:         linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @as_many_as_may_be(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p0 = arith.addf %a, %a : f32
    %p1 = arith.addf %p0, %a : f32
    %p2 = arith.addf %p1, %a : f32
    %p3 = arith.addf %p2, %a : f32
    %p4 = arith.addf %p3, %a : f32
    %p5 = arith.addf %p4, %a : f32
    %p6 = arith.addf %p5, %a : f32
    %p7 = arith.addf %p6, %a : f32
    %p8 = arith.addf %p7, %a : f32
    %p9 = arith.addf %p8, %a : f32
    %p10 = arith.addf %p9, %a : f32
    %p11 = arith.addf %p10, %a : f32
    %p12 = arith.addf %p11, %a : f32
    %p13 = arith.addf %p12, %a : f32
    %p14 = arith.addf %p13, %a : f32
    %p15 = arith.addf %p14, %a : f32
    %p16 = arith.addf %p15, %a : f32
    %p17 = arith.addf %p16, %a : f32
    %p18 = arith.addf %p17, %a : f32
    %p19 = arith.addf %p18, %a : f32
    %p20 = arith.addf %p19, %a : f32
    %p21 = arith.addf %p20, %a : f32
    %p22 = arith.addf %p21, %a : f32
    %p23 = arith.addf %p22, %a : f32
    %p24 = arith.addf %p23, %a : f32
    %p25 = arith.addf %p24, %a : f32
    %p26 = arith.addf %p25, %a : f32
    %p27 = arith.addf %p26, %a : f32
    %p28 = arith.addf %p27, %a : f32
    %p29 = arith.addf %p28, %a : f32
    %p30 = arith.addf %p29, %a : f32
    %p31 = arith.addf %p30, %a : f32
    linalg.yield %p31 : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %q0 = arith.addf %a, %a : f32
    %q1 = arith.addf %q0, %a : f32
    %q2 = arith.addf %q1, %a : f32
    %q3 = arith.addf %q2, %a : f32
    %q4 = arith.addf %q3, %a : f32
    %q5 = arith.addf %q4, %a : f32
    %q6 = arith.addf %q5, %a : f32
    %q7 = arith.addf %q6, %a : f32
    %q8 = arith.addf %q7, %a : f32
    %q9 = arith.addf %q8, %a : f32
    %q10 = arith.addf %q9, %a : f32
    %q11 = arith.addf %q10, %a : f32
    %q12 = arith.addf %q11, %a : f32
    %q13 = arith.addf %q12, %a : f32
    %q14 = arith.addf %q13, %a : f32
    %q15 = arith.addf %q14, %a : f32
    %q16 = arith.addf %q15, %a : f32
    %q17 = arith.addf %q16, %a : f32
    %q18 = arith.addf %q17, %a : f32
    %q19 = arith.addf %q18, %a : f32
    %q20 = arith.addf %q19, %a : f32
    %q21 = arith.addf %q20, %a : f32
    %q22 = arith.addf %q21, %a : f32
    %q23 = arith.addf %q22, %a : f32
    %q24 = arith.addf %q23, %a : f32
    %q25 = arith.addf %q24, %a : f32
    %q26 = arith.addf %q25, %a : f32
    %q27 = arith.addf %q26, %a : f32
    %q28 = arith.addf %q27, %a : f32
    %q29 = arith.addf %q28, %a : f32
    %q30 = arith.addf %q29, %a : f32
    %q31 = arith.addf %q30, %a : f32
    linalg.yield %q31 : f32
  } -> tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func @one_more(
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// CHECK:         return
func.func @one_more(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p0 = arith.addf %a, %a : f32
    %p1 = arith.addf %p0, %a : f32
    %p2 = arith.addf %p1, %a : f32
    %p3 = arith.addf %p2, %a : f32
    %p4 = arith.addf %p3, %a : f32
    %p5 = arith.addf %p4, %a : f32
    %p6 = arith.addf %p5, %a : f32
    %p7 = arith.addf %p6, %a : f32
    %p8 = arith.addf %p7, %a : f32
    %p9 = arith.addf %p8, %a : f32
    %p10 = arith.addf %p9, %a : f32
    %p11 = arith.addf %p10, %a : f32
    %p12 = arith.addf %p11, %a : f32
    %p13 = arith.addf %p12, %a : f32
    %p14 = arith.addf %p13, %a : f32
    %p15 = arith.addf %p14, %a : f32
    %p16 = arith.addf %p15, %a : f32
    %p17 = arith.addf %p16, %a : f32
    %p18 = arith.addf %p17, %a : f32
    %p19 = arith.addf %p18, %a : f32
    %p20 = arith.addf %p19, %a : f32
    %p21 = arith.addf %p20, %a : f32
    %p22 = arith.addf %p21, %a : f32
    %p23 = arith.addf %p22, %a : f32
    %p24 = arith.addf %p23, %a : f32
    %p25 = arith.addf %p24, %a : f32
    %p26 = arith.addf %p25, %a : f32
    %p27 = arith.addf %p26, %a : f32
    %p28 = arith.addf %p27, %a : f32
    %p29 = arith.addf %p28, %a : f32
    %p30 = arith.addf %p29, %a : f32
    %p31 = arith.addf %p30, %a : f32
    %p32 = arith.addf %p31, %a : f32
    linalg.yield %p32 : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %q0 = arith.addf %a, %a : f32
    %q1 = arith.addf %q0, %a : f32
    %q2 = arith.addf %q1, %a : f32
    %q3 = arith.addf %q2, %a : f32
    %q4 = arith.addf %q3, %a : f32
    %q5 = arith.addf %q4, %a : f32
    %q6 = arith.addf %q5, %a : f32
    %q7 = arith.addf %q6, %a : f32
    %q8 = arith.addf %q7, %a : f32
    %q9 = arith.addf %q8, %a : f32
    %q10 = arith.addf %q9, %a : f32
    %q11 = arith.addf %q10, %a : f32
    %q12 = arith.addf %q11, %a : f32
    %q13 = arith.addf %q12, %a : f32
    %q14 = arith.addf %q13, %a : f32
    %q15 = arith.addf %q14, %a : f32
    %q16 = arith.addf %q15, %a : f32
    %q17 = arith.addf %q16, %a : f32
    %q18 = arith.addf %q17, %a : f32
    %q19 = arith.addf %q18, %a : f32
    %q20 = arith.addf %q19, %a : f32
    %q21 = arith.addf %q20, %a : f32
    %q22 = arith.addf %q21, %a : f32
    %q23 = arith.addf %q22, %a : f32
    %q24 = arith.addf %q23, %a : f32
    %q25 = arith.addf %q24, %a : f32
    %q26 = arith.addf %q25, %a : f32
    %q27 = arith.addf %q26, %a : f32
    %q28 = arith.addf %q27, %a : f32
    %q29 = arith.addf %q28, %a : f32
    %q30 = arith.addf %q29, %a : f32
    %q31 = arith.addf %q30, %a : f32
    linalg.yield %q31 : f32
  } -> tensor<8xf32>
  return %z : tensor<8xf32>
}
