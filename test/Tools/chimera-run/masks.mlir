// Random arguments of type i1 look like masks: most rows are random, some are
// all false, all true, or true up to some position. Rows that are masked
// entirely are NaN after softmax, in the program as in the reference.

// RUN: chimera-run %s --entry=flags --no-time --output=%t.npy
// RUN: %python -c "import sys, numpy; \
// RUN:   m = numpy.load(sys.argv[1]).reshape(-1, 50); n = m.sum(1); \
// RUN:   runs = (m == (numpy.arange(50) < n[:, None])).all(1); \
// RUN:   full = (n == 50).sum(); empty = (n == 0).sum(); \
// RUN:   print('empty', empty, 'full', full, 'runs', runs.sum()); \
// RUN:   sys.exit(not (5 < empty < 40 and 5 < full < 40 and \
// RUN:                 90 < runs.sum() < 200))" %t.npy

// RUN: chimera-run %s '--entry=*' --no-time --json=- | FileCheck %s

// CHECK:      "entry": "flags"
// CHECK:      "nonfinite_elements": 0
// CHECK-NEXT: "passed": true
// CHECK:      "entry": "softmax"
// CHECK:      "nonfinite_elements": {{[1-9]}}
// CHECK-NEXT: "passed": true
// CHECK:      "entry": "functions"
// CHECK:      "nonfinite_elements": 0
// CHECK-NEXT: "passed": true

func.func @flags(%m: tensor<4x80x50xi1>) -> tensor<4x80x50xi1> {
  return %m : tensor<4x80x50xi1>
}

#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @softmax(%s: tensor<80x50xf32>, %m: tensor<80x50xi1>)
    -> tensor<80x50xf32> {
  %infinity = arith.constant 0xFF800000 : f32
  %init = tensor.empty() : tensor<80x50xf32>
  %masked = linalg.generic {indexing_maps = [#map, #map, #map],
                            iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<80x50xf32>, tensor<80x50xi1>)
      outs(%init : tensor<80x50xf32>) {
  ^bb0(%x: f32, %seen: i1, %old: f32):
    %y = arith.select %seen, %x, %infinity : f32
    linalg.yield %y : f32
  } -> tensor<80x50xf32>
  %p = linalg.softmax dimension(1) ins(%masked : tensor<80x50xf32>)
                                   outs(%init : tensor<80x50xf32>)
         -> tensor<80x50xf32>
  return %p : tensor<80x50xf32>
}

// What attention and feed-forward layers are computed with has a reference in
// f64, for all types of arguments.
func.func @functions(%x: tensor<9x7xf32>, %n: tensor<9xi64>, %offset: index)
    -> tensor<9x7xf32> {
  %one = arith.constant 1.0 : f32
  %three = arith.constant 3 : i64
  %wide = arith.constant 0.35355339059327379 : f64
  %half = arith.constant dense<0.5> : tensor<f32>
  %init = tensor.empty() : tensor<9x7xf32>
  %0 = linalg.generic {
      indexing_maps = [#map, affine_map<(d0, d1) -> (d0)>,
                       affine_map<(d0, d1) -> ()>, #map],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %n, %half : tensor<9x7xf32>, tensor<9xi64>, tensor<f32>)
      outs(%init : tensor<9x7xf32>) {
  ^bb0(%a: f32, %i: i64, %h: f32, %old: f32):
    %factor = arith.truncf %wide : f64 to f32
    %scaled = arith.mulf %a, %factor : f32
    %erf = math.erf %scaled : f32
    %exp = math.exp %erf : f32
    %exp2 = math.exp2 %exp : f32
    %cube = math.fpowi %exp2, %three : f32, i64
    %log = math.log %cube : f32
    %square = arith.mulf %log, %log : f32
    %positive = arith.addf %square, %one : f32
    %root = math.rsqrt %positive : f32
    %tanh = math.tanh %root : f32
    %floor = math.floor %tanh : f32
    %sum = arith.addf %tanh, %floor : f32
    %j = linalg.index 1 : index
    %k = arith.addi %j, %offset : index
    %l = arith.index_cast %k : index to i64
    %past = arith.cmpi sle, %l, %i : i64
    %y = arith.select %past, %sum, %h : f32
    linalg.yield %y : f32
  } -> tensor<9x7xf32>
  return %0 : tensor<9x7xf32>
}
