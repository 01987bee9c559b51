// What lies outside chains, against plain loops: norms, softmax, transposes,
// masks, concatenations, sums of rows and columns. Large enough to run in
// parallel, with numbers of rows and columns that no tile divides.

// RUN: chimera-run %s '--entry=*' --threads=2 | FileCheck %s
// RUN: chimera-run %s '--entry=*' --threads=1 | FileCheck %s

// CHECK:      passed layer_norm
// CHECK-NEXT: passed softmax
// CHECK-NEXT: passed named_softmax
// CHECK-NEXT: passed transposes
// CHECK-NEXT: passed sums
// CHECK-NEXT: passed argmax
// CHECK-NEXT: passed mask
// CHECK-NEXT: passed rotate
// CHECK-NEXT: passed rotary
// CHECK-NEXT: passed thirds
// CHECK-NEXT: passed scalars
// CHECK-NEXT: passed types
// CHECK-NEXT: passed accumulate
// CHECK-NEXT: passed small

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#turned = affine_map<(i, j) -> (j, i)>
#id3 = affine_map<(i, j, k) -> (i, j, k)>
#row3 = affine_map<(i, j, k) -> (i, j, 0)>
#last3 = affine_map<(i, j, k) -> (k)>

// As front ends write it: unit dimensions, the variance in double precision,
// and the sum before it read elsewhere too.
func.func @layer_norm(%x: tensor<1x197x173xf32>, %y: tensor<1x197x173xf32>, %gain: tensor<173xf32>, %bias: tensor<173xf32>) -> (tensor<1x197x173xf32>, tensor<1x197x173xf32>) {
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %n = arith.constant 173.0 : f32
  %n64 = arith.constant 173.0 : f64
  %eps = arith.constant 1.0e-5 : f32
  %0 = tensor.empty() : tensor<1x197x173xf32>
  %1 = tensor.empty() : tensor<1x197x1xf32>
  %2 = tensor.empty() : tensor<1x197x173xf64>
  %3 = tensor.empty() : tensor<1x197x1xf64>
  %t = linalg.add ins(%x, %y : tensor<1x197x173xf32>, tensor<1x197x173xf32>) outs(%0 : tensor<1x197x173xf32>) -> tensor<1x197x173xf32>
  %wide = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<1x197x173xf32>) outs(%2 : tensor<1x197x173xf64>) {
  ^bb0(%in: f32, %out: f64):
    %v = arith.extf %in : f32 to f64
    linalg.yield %v : f64
  } -> tensor<1x197x173xf64>
  %acc64 = linalg.fill ins(%zero64 : f64) outs(%3 : tensor<1x197x1xf64>) -> tensor<1x197x1xf64>
  %sum64 = linalg.generic {indexing_maps = [#id3, #row3], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%wide : tensor<1x197x173xf64>) outs(%acc64 : tensor<1x197x1xf64>) {
  ^bb0(%in: f64, %out: f64):
    %v = arith.addf %in, %out : f64
    linalg.yield %v : f64
  } -> tensor<1x197x1xf64>
  %mean64 = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sum64 : tensor<1x197x1xf64>) outs(%3 : tensor<1x197x1xf64>) {
  ^bb0(%in: f64, %out: f64):
    %v = arith.divf %in, %n64 : f64
    linalg.yield %v : f64
  } -> tensor<1x197x1xf64>
  %diff64 = linalg.generic {indexing_maps = [#id3, #row3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide, %mean64 : tensor<1x197x173xf64>, tensor<1x197x1xf64>) outs(%2 : tensor<1x197x173xf64>) {
  ^bb0(%in: f64, %m: f64, %out: f64):
    %v = arith.subf %in, %m : f64
    linalg.yield %v : f64
  } -> tensor<1x197x173xf64>
  %square = linalg.mul ins(%diff64, %diff64 : tensor<1x197x173xf64>, tensor<1x197x173xf64>) outs(%2 : tensor<1x197x173xf64>) -> tensor<1x197x173xf64>
  %var64 = linalg.generic {indexing_maps = [#id3, #row3], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%square : tensor<1x197x173xf64>) outs(%acc64 : tensor<1x197x1xf64>) {
  ^bb0(%in: f64, %out: f64):
    %v = arith.addf %in, %out : f64
    linalg.yield %v : f64
  } -> tensor<1x197x1xf64>
  %scale = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%var64 : tensor<1x197x1xf64>) outs(%1 : tensor<1x197x1xf32>) {
  ^bb0(%in: f64, %out: f32):
    %v = arith.divf %in, %n64 : f64
    %w = arith.truncf %v : f64 to f32
    %u = arith.addf %w, %eps : f32
    %r = math.rsqrt %u : f32
    linalg.yield %r : f32
  } -> tensor<1x197x1xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<1x197x1xf32>) -> tensor<1x197x1xf32>
  %sum = linalg.generic {indexing_maps = [#id3, #row3], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t : tensor<1x197x173xf32>) outs(%acc : tensor<1x197x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<1x197x1xf32>
  %normed = linalg.generic {indexing_maps = [#id3, #row3, #row3, #last3, #last3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %sum, %scale, %gain, %bias : tensor<1x197x173xf32>, tensor<1x197x1xf32>, tensor<1x197x1xf32>, tensor<173xf32>, tensor<173xf32>) outs(%0 : tensor<1x197x173xf32>) {
  ^bb0(%in: f32, %s: f32, %r: f32, %g: f32, %b: f32, %out: f32):
    %m = arith.divf %s, %n : f32
    %d = arith.subf %in, %m : f32
    %p = arith.mulf %d, %r : f32
    %q = arith.mulf %p, %g : f32
    %v = arith.addf %q, %b : f32
    linalg.yield %v : f32
  } -> tensor<1x197x173xf32>
  return %t, %normed : tensor<1x197x173xf32>, tensor<1x197x173xf32>
}

func.func @softmax(%x: tensor<3x61x197xf32>) -> tensor<3x61x197xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x61x197xf32>
  %1 = tensor.empty() : tensor<3x61xf32>
  %2 = linalg.fill ins(%lowest : f32) outs(%1 : tensor<3x61xf32>) -> tensor<3x61xf32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<3x61x197xf32>) outs(%2 : tensor<3x61xf32>) dimensions = [2]
  %m = linalg.broadcast ins(%max : tensor<3x61xf32>) outs(%0 : tensor<3x61x197xf32>) dimensions = [2]
  %d = linalg.sub ins(%x, %m : tensor<3x61x197xf32>, tensor<3x61x197xf32>) outs(%0 : tensor<3x61x197xf32>) -> tensor<3x61x197xf32>
  %e = linalg.exp ins(%d : tensor<3x61x197xf32>) outs(%0 : tensor<3x61x197xf32>) -> tensor<3x61x197xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%1 : tensor<3x61xf32>) -> tensor<3x61xf32>
  %sum = linalg.reduce { arith.addf } ins(%e : tensor<3x61x197xf32>) outs(%3 : tensor<3x61xf32>) dimensions = [2]
  %s = linalg.broadcast ins(%sum : tensor<3x61xf32>) outs(%0 : tensor<3x61x197xf32>) dimensions = [2]
  %p = linalg.div ins(%e, %s : tensor<3x61x197xf32>, tensor<3x61x197xf32>) outs(%0 : tensor<3x61x197xf32>) -> tensor<3x61x197xf32>
  return %p : tensor<3x61x197xf32>
}

// Along the first dimension: vectors run across the rows.
func.func @named_softmax(%x: tensor<61x197xf32>) -> tensor<61x197xf32> {
  %0 = tensor.empty() : tensor<61x197xf32>
  %1 = linalg.softmax dimension(0) ins(%x : tensor<61x197xf32>) outs(%0 : tensor<61x197xf32>) -> tensor<61x197xf32>
  return %1 : tensor<61x197xf32>
}

func.func @transposes(%x: tensor<5x77x61xf32>, %y: tensor<197x151xf32>, %z: tensor<151x197xf32>) -> (tensor<77x5x61xf32>, tensor<5x61x77xf32>, tensor<197x151xf32>) {
  %0 = tensor.empty() : tensor<77x5x61xf32>
  %a = linalg.transpose ins(%x : tensor<5x77x61xf32>) outs(%0 : tensor<77x5x61xf32>) permutation = [1, 0, 2]
  %1 = tensor.empty() : tensor<5x61x77xf32>
  %b = linalg.transpose ins(%x : tensor<5x77x61xf32>) outs(%1 : tensor<5x61x77xf32>) permutation = [0, 2, 1]
  %2 = tensor.empty() : tensor<197x151xf32>
  %c = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %z : tensor<197x151xf32>, tensor<151x197xf32>) outs(%2 : tensor<197x151xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.subf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<197x151xf32>
  return %a, %b, %c : tensor<77x5x61xf32>, tensor<5x61x77xf32>, tensor<197x151xf32>
}

// Of columns, of rows, and of both along with a product over the other.
func.func @sums(%x: tensor<197x151xf32>, %y: tensor<151x197xf32>) -> (tensor<151xf32>, tensor<197xf32>, tensor<197xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<151xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<151xf32>) -> tensor<151xf32>
  %columns = linalg.reduce { arith.addf } ins(%x : tensor<197x151xf32>) outs(%1 : tensor<151xf32>) dimensions = [0]
  %2 = tensor.empty() : tensor<197xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<197xf32>) -> tensor<197xf32>
  %rows = linalg.reduce { arith.addf } ins(%x : tensor<197x151xf32>) outs(%3 : tensor<197xf32>) dimensions = [1]
  %both = linalg.generic {indexing_maps = [#id, #turned, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<197x151xf32>, tensor<151x197xf32>) outs(%rows : tensor<197xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %d = arith.subf %in, %in2 : f32
    %s = arith.mulf %d, %d : f32
    %v = arith.addf %out, %s : f32
    linalg.yield %v : f32
  } -> tensor<197xf32>
  %4 = tensor.empty() : tensor<f32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<f32>) -> tensor<f32>
  %all = linalg.reduce { arith.addf } ins(%x : tensor<197x151xf32>) outs(%5 : tensor<f32>) dimensions = [0, 1]
  return %columns, %rows, %both, %all : tensor<151xf32>, tensor<197xf32>, tensor<197xf32>, tensor<f32>
}

// An index of the maximum that is read.
func.func @argmax(%x: tensor<197x151xf32>) -> (tensor<197xf32>, tensor<197xi64>) {
  %lowest = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i64
  %0 = tensor.empty() : tensor<197xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<197xf32>) -> tensor<197xf32>
  %2 = tensor.empty() : tensor<197xi64>
  %3 = linalg.fill ins(%first : i64) outs(%2 : tensor<197xi64>) -> tensor<197xi64>
  %max:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<197x151xf32>) outs(%1, %3 : tensor<197xf32>, tensor<197xi64>) {
  ^bb0(%in: f32, %m: f32, %at: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %larger = arith.maximumf %in, %m : f32
    %is_larger = arith.cmpf ogt, %in, %m : f32
    %where = arith.select %is_larger, %here, %at : i64
    linalg.yield %larger, %where : f32, i64
  } -> (tensor<197xf32>, tensor<197xi64>)
  return %max#0, %max#1 : tensor<197xf32>, tensor<197xi64>
}

// A causal mask from indices, by way of integers and booleans.
func.func @mask(%x: tensor<7x151x151xf32>) -> tensor<7x151x151xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<151xi64>
  %places = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%0 : tensor<151xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %v = arith.index_cast %i : index to i64
    linalg.yield %v : i64
  } -> tensor<151xi64>
  %1 = tensor.empty() : tensor<151x151xi1>
  %hidden = linalg.generic {indexing_maps = [#row, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%places, %places : tensor<151xi64>, tensor<151xi64>) outs(%1 : tensor<151x151xi1>) {
  ^bb0(%i: i64, %j: i64, %out: i1):
    %v = arith.cmpi slt, %i, %j : i64
    linalg.yield %v : i1
  } -> tensor<151x151xi1>
  %2 = tensor.empty() : tensor<7x151x151xf32>
  %masked = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (i, j)>, affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%hidden, %x : tensor<151x151xi1>, tensor<7x151x151xf32>) outs(%2 : tensor<7x151x151xf32>) {
  ^bb0(%hide: i1, %in: f32, %out: f32):
    %v = arith.select %hide, %lowest, %in : f32
    linalg.yield %v : f32
  } -> tensor<7x151x151xf32>
  return %masked : tensor<7x151x151xf32>
}

// The halves of each row change places, one with another sign.
func.func @rotate(%x: tensor<1x7x151x34xf32>) -> tensor<1x7x151x34xf32> {
  %left = tensor.extract_slice %x[0, 0, 0, 0] [1, 7, 151, 17] [1, 1, 1, 1] : tensor<1x7x151x34xf32> to tensor<1x7x151x17xf32>
  %right = tensor.extract_slice %x[0, 0, 0, 17] [1, 7, 151, 17] [1, 1, 1, 1] : tensor<1x7x151x34xf32> to tensor<1x7x151x17xf32>
  %n = arith.negf %right : tensor<1x7x151x17xf32>
  %0 = tensor.concat dim(3) %n, %left : (tensor<1x7x151x17xf32>, tensor<1x7x151x17xf32>) -> tensor<1x7x151x34xf32>
  %1 = arith.mulf %0, %x : tensor<1x7x151x34xf32>
  return %1 : tensor<1x7x151x34xf32>
}

// Halves, or thirds, that are made of the same ones: they are read once.
func.func @rotary(%x: tensor<3x37x38xf32>, %c: tensor<37x38xf32>, %s: tensor<37x38xf32>) -> tensor<3x37x38xf32> {
  %0 = tensor.empty() : tensor<3x37x38xf32>
  %cs = linalg.broadcast ins(%c : tensor<37x38xf32>) outs(%0 : tensor<3x37x38xf32>) dimensions = [0]
  %ss = linalg.broadcast ins(%s : tensor<37x38xf32>) outs(%0 : tensor<3x37x38xf32>) dimensions = [0]
  %left = tensor.extract_slice %x[0, 0, 0] [3, 37, 19] [1, 1, 1] : tensor<3x37x38xf32> to tensor<3x37x19xf32>
  %right = tensor.extract_slice %x[0, 0, 19] [3, 37, 19] [1, 1, 1] : tensor<3x37x38xf32> to tensor<3x37x19xf32>
  %n = arith.negf %right : tensor<3x37x19xf32>
  %t = tensor.concat dim(2) %n, %left : (tensor<3x37x19xf32>, tensor<3x37x19xf32>) -> tensor<3x37x38xf32>
  %1 = arith.mulf %x, %cs : tensor<3x37x38xf32>
  %2 = arith.mulf %t, %ss : tensor<3x37x38xf32>
  %3 = arith.addf %1, %2 : tensor<3x37x38xf32>
  return %3 : tensor<3x37x38xf32>
}

func.func @thirds(%x: tensor<151x96xbf16>) -> tensor<151x96xbf16> {
  %a = tensor.extract_slice %x[0, 0] [151, 32] [1, 1] : tensor<151x96xbf16> to tensor<151x32xbf16>
  %b = tensor.extract_slice %x[0, 32] [151, 32] [1, 1] : tensor<151x96xbf16> to tensor<151x32xbf16>
  %c = tensor.extract_slice %x[0, 64] [151, 32] [1, 1] : tensor<151x96xbf16> to tensor<151x32xbf16>
  %0 = arith.addf %a, %b : tensor<151x32xbf16>
  %1 = arith.subf %b, %c : tensor<151x32xbf16>
  %2 = arith.mulf %c, %a : tensor<151x32xbf16>
  %3 = tensor.concat dim(1) %0, %1, %2 : (tensor<151x32xbf16>, tensor<151x32xbf16>, tensor<151x32xbf16>) -> tensor<151x96xbf16>
  return %3 : tensor<151x96xbf16>
}

// Bodies that capture scalars, fills with values known at run time only, and
// fills that are results.
func.func @scalars(%f: f32, %x: tensor<197x151xf32>) -> (tensor<197x151xf32>, tensor<197x151xf32>, tensor<197x151xf32>) {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<197x151xf32>
  %filled = linalg.fill ins(%f : f32) outs(%0 : tensor<197x151xf32>) -> tensor<197x151xf32>
  %ones = linalg.fill ins(%one : f32) outs(%0 : tensor<197x151xf32>) -> tensor<197x151xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<197x151xf32>) outs(%0 : tensor<197x151xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.mulf %in, %f : f32
    linalg.yield %v : f32
  } -> tensor<197x151xf32>
  return %filled, %ones, %scaled : tensor<197x151xf32>, tensor<197x151xf32>, tensor<197x151xf32>
}

func.func @types(%x: tensor<197x151xi32>, %y: tensor<197x151xf64>, %z: tensor<197x151xi8>) -> (tensor<197xi32>, tensor<197x151xf64>, tensor<197x151xi1>) {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<197xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<197xi32>) -> tensor<197xi32>
  %sum = linalg.reduce { arith.addi } ins(%x : tensor<197x151xi32>) outs(%1 : tensor<197xi32>) dimensions = [1]
  %2 = arith.mulf %y, %y : tensor<197x151xf64>
  %bytes = arith.constant dense<3> : tensor<197x151xi8>
  %3 = arith.cmpi sgt, %z, %bytes : tensor<197x151xi8>
  return %sum, %2, %3 : tensor<197xi32>, tensor<197x151xf64>, tensor<197x151xi1>
}

// Onto an argument, and onto what another operation has made.
func.func @accumulate(%x: tensor<197x151xf32>, %acc: tensor<197xf32>) -> (tensor<197xf32>, tensor<197xf32>) {
  %a = linalg.reduce { arith.addf } ins(%x : tensor<197x151xf32>) outs(%acc : tensor<197xf32>) dimensions = [1]
  %b = linalg.reduce { arith.maximumf } ins(%x : tensor<197x151xf32>) outs(%a : tensor<197xf32>) dimensions = [1]
  return %a, %b : tensor<197xf32>, tensor<197xf32>
}

func.func @small(%x: tensor<1x1xf32>, %y: tensor<3xf32>, %z: tensor<f32>) -> (tensor<1x1xf32>, tensor<3xf32>, tensor<f32>) {
  %0 = math.exp %x : tensor<1x1xf32>
  %1 = arith.negf %y : tensor<3xf32>
  %2 = arith.addf %z, %z : tensor<f32>
  return %0, %1, %2 : tensor<1x1xf32>, tensor<3xf32>, tensor<f32>
}
