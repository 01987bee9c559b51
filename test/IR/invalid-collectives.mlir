// RUN: chimera-opt %s --split-input-file --verify-diagnostics

func.func @axis(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{must run along different axes from 0 to 31, got 0}}
  %0 = chimera.all_reduce sum outs(%a : tensor<8xf32>) along [0, 0] of 2 -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @no_axis(%a: memref<8xf32>) {
  // expected-error @below {{must run along an axis of the grid}}
  chimera.all_reduce sum outs(%a : memref<8xf32>) along [] of 2
  return
}

// -----

func.func @type(%a: memref<8xi1>) {
  // expected-error @below {{exchanges f64, f32, f16, bf16, i64, i32 and i8, not 'i1'}}
  chimera.all_reduce sum outs(%a : memref<8xi1>) along [0] of 2
  return
}

// -----

func.func @result(%a: memref<8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{has one result on tensors and none on memrefs}}
  chimera.all_reduce sum outs(%b : tensor<8xf32>) along [0] of 2
  return
}

// -----

func.func @kinds(%a: memref<2x8xf32>, %b: memref<4x8xf64>) {
  // expected-error @below {{must have operands of one kind and element type}}
  chimera.all_gather ins(%a : memref<2x8xf32>) outs(%b : memref<4x8xf64>) along [0] of 2
  return
}

// -----

func.func @parts(%a: memref<2x8xf32>, %b: memref<4x9xf32>) {
  // expected-error @below {{has 2 parts of type 'memref<2x8xf32>', which do not make up 'memref<4x9xf32>'}}
  chimera.all_gather ins(%a : memref<2x8xf32>) outs(%b : memref<4x9xf32>) along [0] of 2
  return
}

// -----

func.func @deal(%a: memref<3x8xf32>, %b: memref<3x8xf32>) {
  // expected-error @below {{cannot cut 'memref<3x8xf32>' into 2 parts}}
  chimera.all_to_all ins(%a : memref<3x8xf32>) outs(%b : memref<3x8xf32>) along [0] of 2
  return
}

// -----

func.func @root(%a: memref<3x8xf32>) {
  // expected-error @below {{has process 2 as its root in a group of 2}}
  chimera.broadcast from 2 outs(%a : memref<3x8xf32>) along [0] of 2
  return
}

// -----

func.func @grid() {
  // expected-error @below {{needs a grid of at least one axis}}
  chimera.check_grid []
  return
}

// -----

// expected-error @below {{'chimera.part' on argument 0 must be a #chimera.part<...>}}
func.func @part(%a: tensor<8xf32> {chimera.part = 1}) {
  return
}

// -----

// expected-error @below {{a dimension of 9 has no 2 equal parts}}
#part = #chimera.part<shape = [9], axes = [[0]], grid = [2]>

// -----

// expected-error @below {{axis 1 is not one of the grid, or cuts twice}}
#part = #chimera.part<shape = [8], axes = [[1]], grid = [2]>

// -----

// expected-error @below {{larger ones take no less time}}
#network = #chimera.network<"none", transfers = [<bytes = 8, time = 9>, <bytes = 16, time = 8>]>

// -----

// expected-error @below {{for 0 to 100 percent of its time, got 101}}
#network = #chimera.network<"none", transfers = [<bytes = 8, time = 9>], processor = 101>

// -----

func.func @blocks(%a: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error @below {{cannot be exchanged in 2 blocks of equal rows}}
  %0 = chimera.all_reduce sum outs(%a : tensor<1x9x8xf32>) along [0] of 2 {blocks = 2 : i64} -> tensor<1x9x8xf32>
  return %0 : tensor<1x9x8xf32>
}

// -----

func.func @one_block(%a: memref<4xf32>) {
  // expected-error @below {{minimum value is 2}}
  chimera.all_reduce sum outs(%a : memref<4xf32>) along [0] of 2 {blocks = 1 : i64}
  return
}

// -----

func.func @wait(%a: memref<4xf32>, %b: memref<4xf32>) {
  %0 = chimera.start_all_reduce sum outs(%a : memref<4xf32>) along [0] of 2
  // expected-error @below {{must name the buffer whose all-reduce was started}}
  chimera.wait %0 outs(%b : memref<4xf32>)
  return
}

// -----

// expected-error @below {{a group has at least two processes, got 1}}
#table = #chimera.exchange<all_gather, processes = 1, transfers = [<bytes = 8, time = 9>]>

// -----

// expected-error @below {{a network has two tables of all_reduce in groups of 2}}
#network = #chimera.network<"none", transfers = [<bytes = 8, time = 9>] and [<all_reduce, processes = 2, transfers = [<bytes = 8, time = 9>]>]>
