// REQUIRES: avx2
// RUN: %python %S/Inputs/against_naive.py %s %t.dir %if avx512 %{ --avx512 %} | FileCheck %s
// RUN: chimera-opt %s --chimera-lowering-pipeline=out-params --remarks-filter=chimera --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --allow-empty

// CHECK: 24 kernels compared

// REMARK-NOT: naive

// The scores of an attention scaled, and their maximum; rows in groups of four
// and three, the last vector partial.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%scale: tensor<f32>, %s: tensor<15x83xf32>, %max: tensor<15xf32>) -> (tensor<15x83xf32>, tensor<15xf32>) {
  %0:2 = chimera.micro_kernel reduction ins(%scale : tensor<f32>) outs(%s, %max : tensor<15x83xf32>, tensor<15xf32>)
      maps [affine_map<(m, l) -> ()>, affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%c: f32, %x: f32, %m: f32):
    %1 = arith.mulf %x, %c : f32
    %2 = arith.maximumf %m, %1 : f32
    chimera.yield %1, %2 : f32, f32
  } -> tensor<15x83xf32>, tensor<15xf32>
  return %0#0, %0#1 : tensor<15x83xf32>, tensor<15xf32>
}

// -----

// The exponentials and their sum.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%s: tensor<8x70xf32>, %max: tensor<8xf32>, %sum: tensor<8xf32>) -> (tensor<8x70xf32>, tensor<8xf32>) {
  %0:2 = chimera.micro_kernel reduction ins(%max : tensor<8xf32>) outs(%s, %sum : tensor<8x70xf32>, tensor<8xf32>)
      maps [affine_map<(m, l) -> (m)>, affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%m: f32, %x: f32, %t: f32):
    %lowest = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.cmpf oeq, %m, %lowest : f32
    %shift = arith.select %none, %zero, %m : f32
    %1 = arith.subf %x, %shift : f32
    %2 = math.exp %1 : f32
    %3 = arith.addf %t, %2 : f32
    chimera.yield %2, %3 : f32, f32
  } -> tensor<8x70xf32>, tensor<8xf32>
  return %0#0, %0#1 : tensor<8x70xf32>, tensor<8xf32>
}

// -----

// A causal mask from indices, a mask in memory, biases of lower rank.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%first: tensor<index>, %keep: tensor<7x40xi1>, %valid: tensor<40xi8>, %row: tensor<7xf32>, %column: tensor<40xf32>,
    %s: tensor<7x40xf32>, %max: tensor<7xf32>) -> (tensor<7x40xf32>, tensor<7xf32>) {
  %0:2 = chimera.micro_kernel reduction
      ins(%first, %keep, %valid, %row, %column : tensor<index>, tensor<7x40xi1>, tensor<40xi8>, tensor<7xf32>, tensor<40xf32>)
      outs(%s, %max : tensor<7x40xf32>, tensor<7xf32>)
      maps [affine_map<(m, l) -> ()>, affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (l)>, affine_map<(m, l) -> (m)>,
            affine_map<(m, l) -> (l)>, affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%f: index, %k: i1, %v: i8, %r: f32, %c: f32, %x: f32, %m: f32):
    %lowest = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0 : i8
    %i = chimera.index 0
    %j = chimera.index 1
    %last = arith.addi %i, %f : index
    %causal = arith.cmpi sle, %j, %last : index
    %isvalid = arith.cmpi ne, %v, %zero : i8
    %both = arith.andi %causal, %isvalid : i1
    %all = arith.andi %both, %k : i1
    %1 = arith.addf %x, %r : f32
    %2 = arith.addf %1, %c : f32
    %3 = arith.select %all, %2, %lowest : f32
    %4 = arith.maximumf %m, %3 : f32
    chimera.yield %3, %4 : f32, f32
  } -> tensor<7x40xf32>, tensor<7xf32>
  return %0#0, %0#1 : tensor<7x40xf32>, tensor<7xf32>
}

// -----

// Indices as 32-bit integers, and positions in memory.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%first: tensor<index>, %ids: tensor<37xi64>, %o: tensor<5x37xf32>, %p: tensor<5x37xi32>, %q: tensor<5x37xi1>)
    -> (tensor<5x37xf32>, tensor<5x37xi32>, tensor<5x37xi1>) {
  %0:3 = chimera.micro_kernel elementwise ins(%first, %ids : tensor<index>, tensor<37xi64>)
      outs(%o, %p, %q : tensor<5x37xf32>, tensor<5x37xi32>, tensor<5x37xi1>)
      maps [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
            affine_map<(i, j) -> (i, j)>]
      iterators ["parallel", "parallel"] implementation #impl {
  ^bb0(%f: index, %id: i64, %x: f32, %y: i32, %z: i1):
    %i = chimera.index 0
    %j = chimera.index 1
    %three = arith.constant 3 : index
    %scaled = arith.muli %j, %three overflow<nsw> : index
    %moved = arith.subi %scaled, %f : index
    %j32 = arith.index_cast %moved : index to i32
    %i32 = arith.index_cast %i : index to i32
    %1 = arith.sitofp %j32 : i32 to f32
    %2 = arith.sitofp %id : i64 to f32
    %3 = arith.addf %1, %2 : f32
    %4 = arith.addi %i32, %j32 : i32
    %5 = arith.cmpi slt, %j32, %y : i32
    %6 = arith.xori %5, %z : i1
    chimera.yield %3, %4, %6 : f32, i32, i1
  } -> tensor<5x37xf32>, tensor<5x37xi32>, tensor<5x37xi1>
  return %0#0, %0#1, %0#2 : tensor<5x37xf32>, tensor<5x37xi32>, tensor<5x37xi1>
}

// -----

// The same for each row of a tile: what a block adds to a softmax.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%max: tensor<19xf32>, %old: tensor<19xf32>, %sum: tensor<19xf32>) -> (tensor<19xf32>, tensor<19xf32>) {
  %0:2 = chimera.micro_kernel elementwise ins(%max : tensor<19xf32>) outs(%old, %sum : tensor<19xf32>, tensor<19xf32>)
      maps [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>, affine_map<(m) -> (m)>] iterators ["parallel"] implementation #impl {
  ^bb0(%m: f32, %o: f32, %t: f32):
    %lowest = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.cmpf oeq, %m, %lowest : f32
    %shift = arith.select %none, %zero, %m : f32
    %1 = arith.subf %o, %shift : f32
    %2 = math.exp %1 : f32
    %3 = arith.mulf %t, %2 : f32
    chimera.yield %2, %3 : f32, f32
  } -> tensor<19xf32>, tensor<19xf32>
  return %0#0, %0#1 : tensor<19xf32>, tensor<19xf32>
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%sum: tensor<5xf32>, %o: tensor<5x29xf32>) -> tensor<5x29xf32> {
  %0 = chimera.micro_kernel elementwise ins(%sum : tensor<5xf32>) outs(%o : tensor<5x29xf32>)
      maps [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"] implementation #impl {
  ^bb0(%t: f32, %x: f32):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %none = arith.cmpf oeq, %t, %zero : f32
    %by = arith.select %none, %one, %t : f32
    %1 = arith.divf %x, %by : f32
    chimera.yield %1 : f32
  } -> tensor<5x29xf32>
  return %0 : tensor<5x29xf32>
}

// -----

// Several reduced dimensions, one of them contiguous.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<3x5x50xf32>, %squares: tensor<5xf32>, %least: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %0:2 = chimera.micro_kernel reduction ins(%x : tensor<3x5x50xf32>) outs(%squares, %least : tensor<5xf32>, tensor<5xf32>)
      maps [affine_map<(b, m, l) -> (b, m, l)>, affine_map<(b, m, l) -> (m)>, affine_map<(b, m, l) -> (m)>]
      iterators ["reduction", "parallel", "reduction"] implementation #impl {
  ^bb0(%v: f32, %t: f32, %s: f32):
    %1 = arith.mulf %v, %v : f32
    %2 = arith.addf %1, %t : f32
    %3 = arith.minimumf %v, %s : f32
    chimera.yield %2, %3 : f32, f32
  } -> tensor<5xf32>, tensor<5xf32>
  return %0#0, %0#1 : tensor<5xf32>, tensor<5xf32>
}

// -----

// Reduced along columns: vectors run along rows.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<2x9x150xf32>, %bias: tensor<150xf32>, %sum: tensor<2x150xf32>, %max: tensor<2x150xf32>)
    -> (tensor<2x150xf32>, tensor<2x150xf32>) {
  %0:2 = chimera.micro_kernel reduction ins(%x, %bias : tensor<2x9x150xf32>, tensor<150xf32>)
      outs(%sum, %max : tensor<2x150xf32>, tensor<2x150xf32>)
      maps [affine_map<(b, l, n) -> (b, l, n)>, affine_map<(b, l, n) -> (n)>, affine_map<(b, l, n) -> (b, n)>,
            affine_map<(b, l, n) -> (b, n)>]
      iterators ["parallel", "reduction", "parallel"] implementation #impl {
  ^bb0(%v: f32, %b: f32, %t: f32, %m: f32):
    %1 = arith.addf %v, %b : f32
    %2 = arith.addf %t, %1 : f32
    %3 = arith.maximumf %m, %1 : f32
    chimera.yield %2, %3 : f32, f32
  } -> tensor<2x150xf32>, tensor<2x150xf32>
  return %0#0, %0#1 : tensor<2x150xf32>, tensor<2x150xf32>
}

// -----

// Everything to one number.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<6x300xf32>, %max: tensor<f32>, %most: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = chimera.micro_kernel reduction ins(%x : tensor<6x300xf32>) outs(%max, %most : tensor<f32>, tensor<f32>)
      maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> ()>]
      iterators ["reduction", "reduction"] implementation #impl {
  ^bb0(%v: f32, %m: f32, %n: f32):
    %1 = arith.maximumf %v, %m : f32
    %2 = arith.maxnumf %v, %n : f32
    chimera.yield %1, %2 : f32, f32
  } -> tensor<f32>, tensor<f32>
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// -----

// Integers of different sizes.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<9x50xi32>, %y: tensor<9x50xi8>, %sum: tensor<9xi32>, %max: tensor<9xi8>, %bits: tensor<9xi64>)
    -> (tensor<9xi32>, tensor<9xi8>, tensor<9xi64>) {
  %0:3 = chimera.micro_kernel reduction ins(%x, %y : tensor<9x50xi32>, tensor<9x50xi8>)
      outs(%sum, %max, %bits : tensor<9xi32>, tensor<9xi8>, tensor<9xi64>)
      maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>,
            affine_map<(i, j) -> (i)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%v: i32, %w: i8, %s: i32, %m: i8, %b: i64):
    %1 = arith.addi %v, %s : i32
    %2 = arith.maxsi %w, %m : i8
    %3 = arith.extsi %w : i8 to i64
    %4 = arith.xori %b, %3 : i64
    chimera.yield %1, %2, %4 : i32, i8, i64
  } -> tensor<9xi32>, tensor<9xi8>, tensor<9xi64>
  return %0#0, %0#1, %0#2 : tensor<9xi32>, tensor<9xi8>, tensor<9xi64>
}

// -----

// Doubles, products, and least numbers.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<3x21xf64>, %y: tensor<3x21xf32>, %prod: tensor<3xf64>, %max: tensor<3xf64>, %least: tensor<3xf32>)
    -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf32>) {
  %0:3 = chimera.micro_kernel reduction ins(%x, %y : tensor<3x21xf64>, tensor<3x21xf32>)
      outs(%prod, %max, %least : tensor<3xf64>, tensor<3xf64>, tensor<3xf32>)
      maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>,
            affine_map<(i, j) -> (i)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%v: f64, %w: f32, %p: f64, %m: f64, %l: f32):
    %1 = arith.extf %w : f32 to f64
    %2 = arith.addf %v, %1 : f64
    %3 = arith.mulf %2, %p : f64
    %4 = arith.maximumf %v, %m : f64
    %5 = arith.minnumf %w, %l : f32
    chimera.yield %3, %4, %5 : f64, f64, f32
  } -> tensor<3xf64>, tensor<3xf64>, tensor<3xf32>
  return %0#0, %0#1, %0#2 : tensor<3xf64>, tensor<3xf64>, tensor<3xf32>
}

// -----

// A part of a larger tile, whose extents are known at run time only.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%m: index, %l: index, %s: tensor<16x64xf32>, %max: tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %rows = arith.constant 12 : index
  %columns = arith.constant 60 : index
  %sizem0 = arith.subi %rows, %m : index
  %sizem = arith.maxsi %sizem0, %four : index
  %sizel0 = arith.addi %columns, %l : index
  %sizel = arith.minsi %sizel0, %columns : index
  %s0 = tensor.extract_slice %s[1, 2] [%sizem, %sizel] [1, 1] : tensor<16x64xf32> to tensor<?x?xf32>
  %m0 = tensor.extract_slice %max[1] [%sizem] [1] : tensor<16xf32> to tensor<?xf32>
  %0:2 = chimera.micro_kernel reduction outs(%s0, %m0 : tensor<?x?xf32>, tensor<?xf32>)
      maps [affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"]
      extents [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [60, 57, 58, 59]] implementation #impl {
  ^bb0(%x: f32, %y: f32):
    %1 = arith.addf %x, %x : f32
    %2 = arith.maximumf %y, %1 : f32
    chimera.yield %1, %2 : f32, f32
  } -> tensor<?x?xf32>, tensor<?xf32>
  %1 = tensor.insert_slice %0#0 into %s[1, 2] [%sizem, %sizel] [1, 1] : tensor<?x?xf32> into tensor<16x64xf32>
  %2 = tensor.insert_slice %0#1 into %max[1] [%sizem] [1] : tensor<?xf32> into tensor<16xf32>
  return %1, %2 : tensor<16x64xf32>, tensor<16xf32>
}

// -----

// Results that are not next to each other.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%s: tensor<6x64xf32>, %max: tensor<6x3xf32>) -> tensor<6x3xf32> {
  %m0 = tensor.extract_slice %max[0, 1] [6, 1] [1, 1] : tensor<6x3xf32> to tensor<6xf32>
  %0 = chimera.micro_kernel reduction ins(%s : tensor<6x64xf32>) outs(%m0 : tensor<6xf32>)
      maps [affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32):
    %1 = arith.maximumf %x, %y : f32
    chimera.yield %1 : f32
  } -> tensor<6xf32>
  %1 = tensor.insert_slice %0 into %max[0, 1] [6, 1] [1, 1] : tensor<6xf32> into tensor<6x3xf32>
  return %1 : tensor<6x3xf32>
}

// -----

// A reduction that writes one element for each of the reduced dimensions, and
// the sums of two: the one in between is not there yet.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<4x3x20xf32>, %y: tensor<4x3x20xf32>, %sum: tensor<4xf32>) -> (tensor<4x3x20xf32>, tensor<4xf32>) {
  %0:2 = chimera.micro_kernel reduction ins(%x : tensor<4x3x20xf32>) outs(%y, %sum : tensor<4x3x20xf32>, tensor<4xf32>)
      maps [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>]
      iterators ["parallel", "reduction", "reduction"] implementation #impl {
  ^bb0(%v: f32, %w: f32, %s: f32):
    %1 = arith.mulf %v, %w : f32
    %2 = arith.addf %s, %1 : f32
    chimera.yield %1, %2 : f32, f32
  } -> tensor<4x3x20xf32>, tensor<4xf32>
  return %0#0, %0#1 : tensor<4x3x20xf32>, tensor<4xf32>
}

// -----

// A body that yields what it is given, and a constant.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<33xf32>, %y: tensor<4x33xf32>, %z: tensor<4x33xi32>) -> (tensor<4x33xf32>, tensor<4x33xi32>) {
  %0:2 = chimera.micro_kernel elementwise ins(%x : tensor<33xf32>) outs(%y, %z : tensor<4x33xf32>, tensor<4x33xi32>)
      maps [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
      iterators ["parallel", "parallel"] implementation #impl {
  ^bb0(%v: f32, %w: f32, %u: i32):
    %seven = arith.constant 7 : i32
    chimera.yield %v, %seven : f32, i32
  } -> tensor<4x33xf32>, tensor<4x33xi32>
  return %0#0, %0#1 : tensor<4x33xf32>, tensor<4x33xi32>
}

// -----

// One row, many vectors.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<1x1000xf32>, %max: tensor<1xf32>) -> tensor<1xf32> {
  %0 = chimera.micro_kernel reduction ins(%x : tensor<1x1000xf32>) outs(%max : tensor<1xf32>)
      maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%v: f32, %m: f32):
    %1 = arith.maximumf %m, %v : f32
    chimera.yield %1 : f32
  } -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

// The sum of something that depends on the row alone.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func @main(%x: tensor<5x30xf32>, %y: tensor<5xf32>, %sum: tensor<5xf32>) -> tensor<5xf32> {
  %0 = chimera.micro_kernel reduction ins(%x, %y : tensor<5x30xf32>, tensor<5xf32>) outs(%sum : tensor<5xf32>)
      maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%v: f32, %w: f32, %s: f32):
    %1 = arith.mulf %w, %w : f32
    %2 = arith.addf %1, %s : f32
    chimera.yield %2 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// One query and the keys: more columns than are combined together, a reduction
// that leaves a part of a vector.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @main(%a: tensor<1x83xf32>, %b: tensor<37x83xf32>, %c: tensor<1x37xf32>) -> tensor<1x37xf32> {
  %0 = chimera.micro_kernel contraction overwrite ins(%a, %b : tensor<1x83xf32>, tensor<37x83xf32>) outs(%c : tensor<1x37xf32>)
      maps [affine_map<(m, l, k) -> (m, k)>, affine_map<(m, l, k) -> (l, k)>, affine_map<(m, l, k) -> (m, l)>]
      iterators ["parallel", "parallel", "reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<1x37xf32>
  return %0 : tensor<1x37xf32>
}

// -----

// Three rows, added to what is there.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @main(%a: tensor<3x200xf32>, %b: tensor<11x200xf32>, %c: tensor<3x11xf32>) -> tensor<3x11xf32> {
  %0 = chimera.micro_kernel contraction ins(%a, %b : tensor<3x200xf32>, tensor<11x200xf32>) outs(%c : tensor<3x11xf32>)
      maps [affine_map<(m, l, k) -> (m, k)>, affine_map<(m, l, k) -> (l, k)>, affine_map<(m, l, k) -> (m, l)>]
      iterators ["parallel", "parallel", "reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<3x11xf32>
  return %0 : tensor<3x11xf32>
}

// -----

// A matrix times a vector, two reduced dimensions.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @main(%a: tensor<19x3x40xf32>, %b: tensor<3x40xf32>, %c: tensor<19xf32>) -> tensor<19xf32> {
  %0 = chimera.micro_kernel contraction overwrite ins(%a, %b : tensor<19x3x40xf32>, tensor<3x40xf32>) outs(%c : tensor<19xf32>)
      maps [affine_map<(m, j, k) -> (m, j, k)>, affine_map<(m, j, k) -> (j, k)>, affine_map<(m, j, k) -> (m)>]
      iterators ["parallel", "reduction", "reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<19xf32>
  return %0 : tensor<19xf32>
}

// -----

// Products of vectors, several at a time.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @main(%a: tensor<5x70xf32>, %b: tensor<5x70xf32>, %c: tensor<5xf32>) -> tensor<5xf32> {
  %0 = chimera.micro_kernel contraction ins(%a, %b : tensor<5x70xf32>, tensor<5x70xf32>) outs(%c : tensor<5xf32>)
      maps [affine_map<(b, k) -> (b, k)>, affine_map<(b, k) -> (b, k)>, affine_map<(b, k) -> (b)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// Two vectors to one number.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @main(%a: tensor<90xf32>, %b: tensor<90xf32>, %c: tensor<f32>) -> tensor<f32> {
  %0 = chimera.micro_kernel contraction ins(%a, %b : tensor<90xf32>, tensor<90xf32>) outs(%c : tensor<f32>)
      maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>]
      iterators ["reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Weights of one query and the values: few columns; a reduction that the unrolled
// steps do not divide.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @main(%a: tensor<1x43xf32>, %b: tensor<43x20xf32>, %c: tensor<1x20xf32>) -> tensor<1x20xf32> {
  %0 = chimera.micro_kernel contraction ins(%a, %b : tensor<1x43xf32>, tensor<43x20xf32>) outs(%c : tensor<1x20xf32>)
      maps [affine_map<(m, n, l) -> (m, l)>, affine_map<(m, n, l) -> (l, n)>, affine_map<(m, n, l) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<1x20xf32>
  return %0 : tensor<1x20xf32>
}

// -----

// Two rows and many columns.

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @main(%a: tensor<2x21xf32>, %b: tensor<21x100xf32>, %c: tensor<2x100xf32>) -> tensor<2x100xf32> {
  %0 = chimera.micro_kernel contraction overwrite ins(%a, %b : tensor<2x21xf32>, tensor<21x100xf32>) outs(%c : tensor<2x100xf32>)
      maps [affine_map<(m, n, l) -> (m, l)>, affine_map<(m, n, l) -> (l, n)>, affine_map<(m, n, l) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #impl {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<2x100xf32>
  return %0 : tensor<2x100xf32>
}
