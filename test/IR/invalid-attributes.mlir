// What the verifiers of the attributes say.
//
// RUN: chimera-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

// expected-error @below {{a loop needs a name}}
#attr = #chimera.loop<"" = 4>

// -----

// expected-error @below {{the tile of loop 'm' must be positive, got 0}}
#attr = #chimera.loop<m = 0>

// -----

// expected-error @below {{the tile of loop 'm' must be positive, got -1}}
#attr = #chimera.level<"L1" : m = -1>

// -----

// expected-error @below {{expected valid keyword or string}}
#attr = #chimera.level<"L1" : 2 = 1>

// -----

// expected-error @below {{a level needs a name}}
#attr = #chimera.level<"">

// -----

// expected-error @below {{loop 'm' occurs twice in level 'L1'}}
#attr = #chimera.level<"L1" : m = 4, k = 2, m = 1>

// -----

// expected-error @below {{'pixel' and 'tap' must be two dimensions, got 1 and 1}}
#attr = #chimera.taps<pixel = 1, tap = 1, pixel_factor = 1, tap_factor = 1, begin = 1, end = 8>

// -----

// expected-error @below {{'begin' must be below 'end', got 8 and 8}}
#attr = #chimera.taps<pixel = 1, tap = 2, pixel_factor = 1, tap_factor = 1, begin = 8, end = 8>

// -----

// expected-error @below {{'tap_factor' must be positive, got 0}}
#attr = #chimera.taps<pixel = 1, tap = 2, pixel_factor = 1, tap_factor = 0, begin = 1, end = 8>

// -----

// expected-error @below {{'rows' must be positive, got 0}}
#attr = #chimera.registers<rows = 0, vectors = 1, broadcasts = 1, depth = 1>

// -----

// expected-error @below {{'vectors' must be positive, got 0}}
#attr = #chimera.registers<rows = 1, vectors = 0, broadcasts = 1, depth = 1>

// -----

// expected-error @below {{'broadcasts' must not be negative, got -1}}
#attr = #chimera.registers<rows = 1, vectors = 1, broadcasts = -1, depth = 1>

// -----

// expected-error @below {{'depth' must be positive, got 0}}
#attr = #chimera.registers<rows = 1, vectors = 1, broadcasts = 1, depth = 0>

// -----

// expected-error @below {{'part' must not be negative, got -8}}
#attr = #chimera.registers<rows = 1, vectors = 1, broadcasts = 1, depth = 1, part = -8>

// -----

// expected-error @below {{'stages' must not be negative, got -1}}
#attr = #chimera.registers<rows = 1, vectors = 1, broadcasts = 1, depth = 1, stages = -1>

// -----

// expected-error @below {{level 'L1' occurs twice}}
#attr = #chimera.schedule<levels = [<"L1" : m = 4>, <"L1" : m = 1>],
    parallel = 0, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// -----

// expected-error @below {{'parallel' must be between 0 and the number of loops, 1, got 2}}
#attr = #chimera.schedule<levels = [<"L1" : m = 4>], parallel = 2,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// -----

// expected-error @below {{'parallel' must be between 0 and the number of loops, 1, got -1}}
#attr = #chimera.schedule<levels = [<"L1" : m = 4>], parallel = -1,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// -----

// expected-error @below {{'packed' lists the inputs of the chain from 0 on, got -1}}
#attr = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, packed = [-1]>

// -----

// expected-error @below {{'staged' lists the inputs of the chain from 0 on, got -2}}
#attr = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, staged = [0, -2]>

// -----

#attr = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, packed = [0],
    // expected-error @below {{expected 'packed', 'staged', 'prepacked', 'rolling', 'held', 'extents' or 'blocks', each once}}
    packed = [1]>

// -----

#attr = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>,
    // expected-error @below {{expected 'packed', 'staged', 'prepacked', 'rolling', 'held', 'extents' or 'blocks', each once}}
    loops = [m = 4]>

// -----

// expected-error @below {{'held' lists operators of the chain from 0 on, got 32}}
#attr = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, held = [32]>

// -----

// expected-error @below {{'ahead' lists operators of the chain from 0 on, got -1}}
#attr = #chimera.blocks<ahead [0, -1]>

// -----

// expected-error @below {{'base2' lists operators of the chain from 0 on, got 32}}
#attr = #chimera.blocks<base2 [32]>

// -----

// expected-error @below {{'apart' must be positive, got 0}}
#attr = #chimera.rows<line = 64, apart = 0>

// -----

// expected-error @below {{'part' must not be negative, got -1; 0 asks for nothing}}
#attr = #chimera.prefetch<part = -1>

// -----

// expected-error @below {{'part' must not be negative, got -64; 0 asks for nothing}}
#attr = #chimera.blocks<prefetch <part = -64, loops = any>>

// -----

// expected-error @below {{'extents' lists loop 'm' twice}}
#attr = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, extents = [m = 4, m = 8]>

// -----

#attr = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>,
    // expected-error @below {{the extent of loop 'm' must be positive, got 0}}
    extents = [m = 0]>

// -----

// expected-error @below {{a loop needs a name}}
#attr = #chimera.extent<"" = 4>

// -----

//===----------------------------------------------------------------------===//
// Row tiling
//===----------------------------------------------------------------------===//

// expected-error @below {{tile 1 must be positive, got 0}}
#attr = #chimera.row_tiling<tiles = [4, 0]>

// -----

// expected-error @below {{without tiles there is nothing to run in parallel}}
#attr = #chimera.row_tiling<tiles = [], parallel = true>

// -----

// expected-error @below {{there are 2 dims, but 1 tiles}}
#attr = #chimera.row_tiling<tiles = [4], dims = [0, 1]>

// -----

// expected-error @below {{dims must ascend, but 1 follows 1}}
#attr = #chimera.row_tiling<tiles = [4, 4], dims = [1, 1]>

// -----

// expected-error @below {{dims must not be negative, got -1}}
#attr = #chimera.row_tiling<tiles = [4], dims = [-1]>

// -----

// expected-error @below {{expected 'dims', 'parallel', 'streamed', 'late', 'ahead' or 'rowwise' and its value}}
#attr = #chimera.row_tiling<tiles = [4], rows = 1>

// -----

// expected-error @below {{streamed must ascend, but 0 follows 2}}
#attr = #chimera.row_tiling<tiles = [4], streamed = [2, 0]>

// -----

// expected-error @below {{member 1 cannot store what member 1 makes: it does not come behind it}}
#attr = #chimera.row_tiling<tiles = [4], late = [1 by 1]>

// -----

// expected-error @below {{members of rowwise must ascend from 0, got 1}}
#attr = #chimera.row_tiling<tiles = [4], rowwise = [1 by 8, 1 by 4]>

// -----

// expected-error @below {{member 1 must read at least 2 rows at once, got 1}}
#attr = #chimera.row_tiling<tiles = [4], rowwise = [1 by 1]>

// -----

// expected-error @below {{member 2 can store the results of one other only}}
#attr = #chimera.row_tiling<tiles = [4], late = [0 by 2, 1 by 2]>

// -----

func.func @no_dimension(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'chimera.row_tiling' lists dimension 2, but the last result has only 2}}
  %0 = linalg.exp {chimera.row_tiling = #chimera.row_tiling<tiles = [4], dims = [2]>} ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @no_tiling(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'chimera.row_tiling' must be a #chimera.row_tiling<...>, got 8 : i64}}
  %0 = linalg.exp {chimera.row_tiling = 8} ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{'chimera.row_tiling' belongs on an operation of linalg on tensors}}
func.func private @tiled() attributes {chimera.row_tiling = #chimera.row_tiling<tiles = [8]>}

// -----

func.func @tiled_memory(%x: memref<8xf32>) {
  // expected-error @below {{'chimera.row_tiling' belongs on an operation of linalg on tensors}}
  linalg.exp {chimera.row_tiling = #chimera.row_tiling<tiles = [4]>} ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// -----

func.func @too_many_tiles(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'chimera.row_tiling' has 2 tiles, but the last result has only 1 dimension(s)}}
  %0 = linalg.exp {chimera.row_tiling = #chimera.row_tiling<tiles = [4, 4]>} ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @large_tile(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'chimera.row_tiling' has a tile of 9 for dimension 1, which has 8 element(s)}}
  %0 = linalg.exp {chimera.row_tiling = #chimera.row_tiling<tiles = [4, 9]>} ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @one_task(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'chimera.row_tiling' is parallel, but its tiles make one task; make them smaller, or drop 'parallel'}}
  %0 = linalg.exp {chimera.row_tiling = #chimera.row_tiling<tiles = [4, 8], parallel = true>} ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

// expected-error @below {{a level needs a name}}
#attr = #chimera.memory<"", capacity = 64, usable = 80, core_bandwidth = 9, chip_bandwidth = 18,
    sharers = 1, line = 64, ways = 8>

// -----

// expected-error @below {{'usable' is a percentage, got 101}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 101, core_bandwidth = 9, chip_bandwidth = 18,
    sharers = 1, line = 64, ways = 8>

// -----

// expected-error @below {{'ways' must not be negative, got -1}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9, chip_bandwidth = 18,
    sharers = 1, line = 64, ways = -1>

// -----

// expected-error @below {{'capacity' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 0, usable = 80, core_bandwidth = 9, chip_bandwidth = 18,
    sharers = 1, line = 64, ways = 8>

// -----

// expected-error @below {{'usable' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 0, core_bandwidth = 9, chip_bandwidth = 18,
    sharers = 1, line = 64, ways = 8>

// -----

// expected-error @below {{'core_bandwidth' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 0, chip_bandwidth = 18,
    sharers = 1, line = 64, ways = 8>

// -----

// expected-error @below {{'chip_bandwidth' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9, chip_bandwidth = 0,
    sharers = 1, line = 64, ways = 8>

// -----

// expected-error @below {{'sharers' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9, chip_bandwidth = 18,
    sharers = 0, line = 64, ways = 8>

// -----

// expected-error @below {{'line' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9, chip_bandwidth = 18,
    sharers = 1, line = 0, ways = 8>

// -----

// expected-error @below {{'bits' must be a multiple of 32, got 100}}
#attr = #chimera.vector_unit<bits = 100, registers = 16, fma = 2, load = 2,
    store = 1, latency = 4, clock = 3>

// -----

// expected-error @below {{'bits' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 0, registers = 16, fma = 2, load = 2,
    store = 1, latency = 4, clock = 3>

// -----

// expected-error @below {{'exponential' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 256, registers = 16, fma = 2, load = 2,
    store = 1, latency = 4, clock = 3, exponential = 0>

// -----

// expected-error @below {{'registers' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 256, registers = 0, fma = 2, load = 2,
    store = 1, latency = 4, clock = 3>

// -----

// expected-error @below {{'fma' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 256, registers = 16, fma = 0, load = 2,
    store = 1, latency = 4, clock = 3>

// -----

// expected-error @below {{'load' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 256, registers = 16, fma = 2, load = 0,
    store = 1, latency = 4, clock = 3>

// -----

// expected-error @below {{'store' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 256, registers = 16, fma = 2, load = 2,
    store = 0, latency = 4, clock = 3>

// -----

// expected-error @below {{'latency' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 256, registers = 16, fma = 2, load = 2,
    store = 1, latency = 0, clock = 3>

// -----

// expected-error @below {{'clock' must be positive, got 0}}
#attr = #chimera.vector_unit<bits = 256, registers = 16, fma = 2, load = 2,
    store = 1, latency = 4, clock = 0>

// -----

// expected-error @below {{a target needs a name}}
#attr = #chimera.target<"", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>]>

// -----

// expected-error @below {{'cores' must be positive, got 0}}
#attr = #chimera.target<"t", cores = 0,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>]>

// -----

// expected-error @below {{levels go from slow to fast, but 'L2' is larger than 'L1'}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>,
      <"L2", capacity = 128, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>]>

// -----

// expected-error @below {{level 'L1' occurs twice}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>,
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>]>

// -----

#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    // expected-error @below {{expected 'dots', 'matrix', 'buffers', 'routes', 'groups', 'overheads', 'network', 'launch', 'stack', 'triple', 'cpu' or 'features', each once}}
    vendor = "x">

// -----

#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    // expected-error @below {{expected 'dots', 'matrix', 'buffers', 'routes', 'groups', 'overheads', 'network', 'launch', 'stack', 'triple', 'cpu' or 'features', each once}}
    cpu = "x", cpu = "y">

// -----

#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    // expected-error @below {{invalid kind of attribute specified}}
    cpu = 1>

// -----

//===----------------------------------------------------------------------===//
// Micro kernels
//===----------------------------------------------------------------------===//

// expected-error @below {{'lanes' must be positive, got 0}}
#attr = #chimera.outer_product<lanes = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// -----

// expected-error @below {{there are tiles of bf16, f16 and i8 alone, not of 'f32'}}
#attr = #chimera.tile_product<rows = 16, columns = 16, bytes = 64,
    registers = <rows = 1, vectors = 1, broadcasts = 0, depth = 1>, factors = [f32]>

// -----

// expected-error @below {{tiles have up to 16 rows of up to 16 sums or 64 bytes of factors, whole words of them, got 16 rows of 17 sums and 64 bytes}}
#attr = #chimera.tile_product<rows = 16, columns = 17, bytes = 64,
    registers = <rows = 1, vectors = 1, broadcasts = 0, depth = 1>, factors = [bf16]>

// -----

// expected-error @below {{there are dot products of bf16, i8 and i16 alone, not of f16}}
#attr = #chimera.outer_product<lanes = 16,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, dots = [bf16, f16]>

// -----

// expected-error @below {{dot products of bf16 are for vectors of 16 lanes, got 8}}
#attr = #chimera.outer_product<lanes = 8,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, dots = [bf16]>

// -----

// expected-error @below {{vectors of 16 lanes are narrowed to bf16, not 16 lanes to f16}}
#attr = #chimera.outer_product<lanes = 16,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, narrowed = [f16]>

// -----

// expected-error @below {{dot products of i16 are for vectors of 8 or 16 lanes, got 4}}
#attr = #chimera.outer_product<lanes = 4,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, dots = [i16]>

// -----

// expected-error @below {{expected ::chimera::MicroKernelKind to be one of}}
// expected-error @below {{failed to parse Chimera_MicroKernelKindAttr parameter}}
#attr = #chimera<kind convolution>

// -----

// expected-error @+1 {{'kernel' must name a micro kernel}}
#registers = #chimera.registers<rows = 6, vectors = 4, broadcasts = 1, depth = 4, kernel = "">

// -----

// expected-error @+1 {{'chains' must be positive, got 0}}
#tuning = #chimera.vector_tuning<chains = 0>

// -----

// expected-error @+1 {{'interleaved' must be positive, got 0}}
#tuning = #chimera.vector_tuning<interleaved = 0>

// -----

// expected-error @+1 {{'fetch_level' must be 1 or 2, got 3}}
#tuning = #chimera.vector_tuning<fetch_level = 3>

// -----

// expected-error @+1 {{'reduced_rows' must be positive, got -1}}
#tuning = #chimera.vector_tuning<reduced_rows = -1>

// -----

// expected-error @+1 {{layout 'contiguous' needs a dimension, as in 'along 1'}}
#layout = #chimera.layout<contiguous>

// -----

// expected-error @+1 {{layout 'any' is along no dimension}}
#layout = #chimera.layout<any along 1>

// -----

// expected-error @+1 {{layout 'tiles' takes 2 sizes, got 1}}
#layout = #chimera.layout<tiles by [16]>

// -----

// expected-error @+1 {{sizes of layout 'interleaved' must be positive}}
#layout = #chimera.layout<interleaved along 0 by [0]>

// -----

// expected-error @+1 {{expected three types, extents and layouts, got 2, 3 and 3}}
#kernel = #chimera.kernel<contraction, types = [f32, f32], shape = 4x8x?, layouts = [<any>, <any>, <any>], cycles = 1.0 : f64>

// -----

// expected-error @+1 {{'types' must be factors of f32, f16 or bf16 and a sum of f32, got 'i8', 'i8' and 'i32'}}
#kernel = #chimera.kernel<contraction, types = [i8, i8, i32], shape = 4x8x?, layouts = [<any>, <any>, <any>], cycles = 1.0 : f64>

// -----

// expected-error @+1 {{rows and columns of 'shape' are positive, and the reduction positive or '?'}}
#kernel = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 4x?x4, layouts = [<any>, <any>, <any>], cycles = 1.0 : f64>

// -----

// expected-error @+1 {{'setup' must not be negative, got -1.000000e+00 : f64}}
#kernel = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 4x8x?, layouts = [<any>, <any>, <any>], cycles = 1.0 : f64, setup = -1.0 : f64>

// -----

// expected-error @+1 {{'rows' must be positive, got 0}}
#program = #chimera.matrix_program<rows = 0, columns = 8, depth = 16, factors = [f16]>

// -----

// expected-error @+1 {{'cycles' must be positive, got 0.000000e+00 : f64}}
#program = #chimera.matrix_program<rows = 16, columns = 8, depth = 16, factors = [f16], cycles = 0.0 : f64>

// -----

// expected-error @below {{'chimera.recipe' must be a string, got 7 : i64}}
func.func private @recipe() attributes {chimera.recipe = 7}

// -----

// expected-error @below {{'chimera.prepared' must list values such as #chimera.prepared<...>, got [7]}}
func.func private @prepared() attributes {chimera.prepared = [7]}

// -----

func.func @layout(%a: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
  // expected-error @below {{'chimera.layout' must be "as_given" or "channels_last", got "channels_first"}}
  %0 = linalg.exp {chimera.layout = "channels_first"} ins(%a : tensor<1x2x3xf32>) outs(%a : tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  return %0 : tensor<1x2x3xf32>
}

// -----

// expected-error @below {{'vector' must be a power of two, got 3}}
#attr = #chimera.thread_tiling<vector = 3, team = 32, rows = 1, steps = 1, home = registers>

// -----

// expected-error @below {{'steps' must be positive, got 0}}
#attr = #chimera.thread_tiling<vector = 4, team = 32, rows = 1, steps = 0, home = shared>

// -----

// expected-error @below {{a block has 32 to 1024 threads, but 'team' is 1024 and 'rows' 2}}
#attr = #chimera.thread_tiling<vector = 4, team = 1024, rows = 2, steps = 1, home = memory>

// -----

// expected-error @below {{'chimera.thread_tiling' belongs on an operation of linalg on tensors}}
func.func private @threads() attributes {chimera.thread_tiling = #chimera.thread_tiling<vector = 1, team = 32, rows = 1, steps = 1, home = registers>}
