// RUN: chimera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --remarks-filter=chimera -o /dev/null \
// RUN:   --pass-pipeline="builtin.module(func.func(chimera-form-chains))"
// RUN: chimera-opt %s --split-input-file --chimera-form-chains=compiled-only \
// RUN:   | FileCheck %s

#rows = affine_map<(i, j) -> (i)>
#full = affine_map<(i, j) -> (i, j)>
#line = affine_map<(i) -> (i)>

// Softmax plus one: one more key, with a score of zero and no value. Its
// exponential is shifted by max(maximum, 0), which does not cancel. All scores
// are below zero, so that this is not the maximum.

// CHECK-LABEL: func.func @plus_one(
// CHECK-COUNT-2: chimera.chain ins

func.func @plus_one(%q: tensor<8x4xf32>, %k: tensor<4x16xf32>, %v: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %five = arith.constant 5.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<8x16xf32>
  %row = tensor.empty() : tensor<8xf32>
  %out = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<8x16xf32>) -> tensor<8x16xf32>
  %product = linalg.matmul ins(%q, %k : tensor<8x4xf32>, tensor<4x16xf32>) outs(%0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<8x16xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.subf %a, %five : f32
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  %1 = linalg.fill ins(%inf : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %maximum = linalg.reduce { arith.maximumf } ins(%scores : tensor<8x16xf32>) outs(%1 : tensor<8xf32>) dimensions = [1]
  %shift = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%maximum : tensor<8xf32>) outs(%row : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.maximumf %a, %zero : f32
    linalg.yield %x : f32
  } -> tensor<8xf32>
  %powers = linalg.generic {indexing_maps = [#full, #rows, #full], iterator_types = ["parallel", "parallel"]} ins(%scores, %shift : tensor<8x16xf32>, tensor<8xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<8x16xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce { arith.addf } ins(%powers : tensor<8x16xf32>) outs(%2 : tensor<8xf32>) dimensions = [1]
  %weights = linalg.generic {indexing_maps = [#full, #rows, #rows, #full], iterator_types = ["parallel", "parallel"]} ins(%powers, %sum, %shift : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %s: f32, %m: f32, %b: f32):
    %n = arith.negf %m : f32
    %one = math.exp %n : f32
    %t = arith.addf %s, %one : f32
    %x = arith.divf %a, %t : f32
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark @below {{formed a chain of 2 operators}}
  %4 = linalg.matmul ins(%weights, %v : tensor<8x16xf32>, tensor<16x4xf32>) outs(%3 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// A maximum that is clamped cancels in a quotient, like any other shift. Rows
// far below the limit have only zeros: 0 / 0 comes out, and not a quotient of
// what is shifted by the maximum.

// CHECK-LABEL: func.func @clamped(
// CHECK:         chimera.chain
// CHECK:           math.exp
// CHECK:           %[[LEAST:.*]] = arith.constant -7.442
// CHECK:           arith.cmpf olt, %{{.*}}, %[[LEAST]]

func.func @clamped(%q: tensor<8x4xf32>, %k: tensor<4x16xf32>, %v: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %c3 = arith.constant 3 : index
  %low = arith.constant -1.0e4 : f32
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<8x16xf32>
  %row = tensor.empty() : tensor<8xf32>
  %out = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<8x16xf32>) -> tensor<8x16xf32>
  %product = linalg.matmul ins(%q, %k : tensor<8x4xf32>, tensor<4x16xf32>) outs(%0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<8x16xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %seen = arith.cmpi sge, %i, %c3 : index
    %x = arith.select %seen, %a, %low : f32
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  %1 = linalg.fill ins(%inf : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %maximum = linalg.reduce { arith.maximumf } ins(%scores : tensor<8x16xf32>) outs(%1 : tensor<8xf32>) dimensions = [1]
  %shift = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%maximum : tensor<8xf32>) outs(%row : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.maximumf %a, %one : f32
    linalg.yield %x : f32
  } -> tensor<8xf32>
  %powers = linalg.generic {indexing_maps = [#full, #rows, #full], iterator_types = ["parallel", "parallel"]} ins(%scores, %shift : tensor<8x16xf32>, tensor<8xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<8x16xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce { arith.addf } ins(%powers : tensor<8x16xf32>) outs(%2 : tensor<8xf32>) dimensions = [1]
  %weights = linalg.generic {indexing_maps = [#full, #rows, #full], iterator_types = ["parallel", "parallel"]} ins(%powers, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %s: f32, %b: f32):
    %x = arith.divf %a, %s : f32
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark @below {{formed a chain of 2 operators}}
  %4 = linalg.matmul ins(%weights, %v : tensor<8x16xf32>, tensor<16x4xf32>) outs(%3 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// The scores change their sign after they are masked and tested: a row that is
// minus infinity everywhere has scores that are infinite, so that the sum does
// not say which rows those are.

// CHECK-LABEL: func.func @negated(
// CHECK-COUNT-2: chimera.chain ins

func.func @negated(%q: tensor<8x4xf32>, %k: tensor<4x16xf32>, %v: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -1.0 : f32
  %true = arith.constant true
  %c3 = arith.constant 3 : index
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<8x16xf32>
  %row = tensor.empty() : tensor<8xf32>
  %bits = tensor.empty() : tensor<8xi1>
  %out = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<8x16xf32>) -> tensor<8x16xf32>
  %product = linalg.matmul ins(%q, %k : tensor<8x4xf32>, tensor<4x16xf32>) outs(%0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %masked = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<8x16xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %seen = arith.cmpi sge, %i, %c3 : index
    %x = arith.select %seen, %a, %inf : f32
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%masked : tensor<8x16xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.mulf %a, %minus : f32
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  %1 = linalg.fill ins(%inf : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %maximum = linalg.reduce { arith.maximumf } ins(%scores : tensor<8x16xf32>) outs(%1 : tensor<8xf32>) dimensions = [1]
  %powers = linalg.generic {indexing_maps = [#full, #rows, #full], iterator_types = ["parallel", "parallel"]} ins(%scores, %maximum : tensor<8x16xf32>, tensor<8xf32>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<8x16xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce { arith.addf } ins(%powers : tensor<8x16xf32>) outs(%2 : tensor<8xf32>) dimensions = [1]
  %3 = linalg.fill ins(%true : i1) outs(%bits : tensor<8xi1>) -> tensor<8xi1>
  %empty = linalg.generic {indexing_maps = [#full, #rows], iterator_types = ["parallel", "reduction"]} ins(%masked : tensor<8x16xf32>) outs(%3 : tensor<8xi1>) {
  ^bb0(%a: f32, %all: i1):
    %is = arith.cmpf oeq, %a, %inf : f32
    %x = arith.andi %is, %all : i1
    linalg.yield %x : i1
  } -> tensor<8xi1>
  %weights = linalg.generic {indexing_maps = [#full, #rows, #rows, #full], iterator_types = ["parallel", "parallel"]} ins(%powers, %sum, %empty : tensor<8x16xf32>, tensor<8xf32>, tensor<8xi1>) outs(%full : tensor<8x16xf32>) {
  ^bb0(%a: f32, %s: f32, %e: i1, %b: f32):
    %t = arith.divf %a, %s : f32
    %x = arith.select %e, %zero, %t : f32
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark @below {{formed a chain of 2 operators}}
  %5 = linalg.matmul ins(%weights, %v : tensor<8x16xf32>, tensor<16x4xf32>) outs(%4 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}
