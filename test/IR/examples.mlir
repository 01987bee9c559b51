// The examples in the descriptions of the attributes and operations, as they
// stand there.
//
// RUN: %python %S/examples.py %s %chimera_src_root/include/Chimera/IR/ChimeraAttributes.td %chimera_src_root/include/Chimera/IR/GroupAttributes.td %chimera_src_root/include/Chimera/IR/MicroKernelAttributes.td %chimera_src_root/include/Chimera/IR/NetworkAttributes.td %chimera_src_root/include/Chimera/IR/ChimeraOps.td %chimera_src_root/include/Chimera/IR/CollectiveOps.td
// RUN: chimera-opt %s --split-input-file

#attr = #chimera.loop<m = 64>

// -----

#attr = #chimera.level<"L1" : m = 32, l = 64 around [0], l = 32 around [1]>

// -----

#attr = #chimera.registers<rows = 6, vectors = 4, broadcasts = 1, depth = 4>
#other = #chimera.registers<rows = 6, vectors = 2, broadcasts = 0, depth = 1, kernel = "sgemm_6x32">
#staged = #chimera.registers<rows = 2, vectors = 16, broadcasts = 0, depth = 1, stages = 3>

// -----

#attr = #chimera.taps<pixel = 1, tap = 4, pixel_factor = 1, tap_factor = 1, begin = 1, end = 8>

// -----

#attr = #chimera.extent<m = 512>

// -----

#attr = #chimera.rows<line = 64, apart = 4>

// -----

#attr = #chimera.prefetch<part = 104857, loops = fixed>

// -----

#attr = #chimera.blocks<rows <line = 64, apart = 4> ahead [0, 1] repeated [0] base2 [0] prefetch <part = 104857, loops = fixed> clip fold>

// -----

#attr = #chimera.schedule<
  levels = [<"L3">, <"L2" : b = 1>, <"L1" : l = 64, m = 32>],
  parallel = 1,
  registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
  packed = [1],
  extents = [b = 8, m = 512, l = 512, k = 64, n = 64],
  blocks = <rows <line = 64, apart = 4> ahead [0, 1]>>

// -----

#attr = #chimera.thread_tiling<vector = 4, team = 256, rows = 1, steps = 2, home = registers>

// -----

#attr = #chimera.group<id = 3, kind = memory, mapping = shuffle>

// -----

#attr = #chimera.row_tiling<tiles = [16], parallel = true>
#none = #chimera.row_tiling<tiles = []>

// -----

#attr = #chimera.level_plan<"L2", predicted = 4194304, unfused = 20971520, bound = 4194304, capacity = 1048576, used = 524288>

// -----

#attr = #chimera.plan<fused, "the intermediate stays on chip", operators = 2,
  nanoseconds = 2100, unfused_nanoseconds = 2600,
  levels = [<"L1", predicted = 64, unfused = 128, bound = 64, capacity = 49152, used = 32768>]>

// -----

#attr = #chimera.memory<"L1", capacity = 49152, usable = 80, core_bandwidth = 130000000000, chip_bandwidth = 260000000000, sharers = 1, line = 64, ways = 12>
#managed = #chimera.memory<"SMEM", capacity = 232448, usable = 98, core_bandwidth = 90000000000, chip_bandwidth = 12000000000000, sharers = 1, line = 128, ways = 0, buffers = 2, burst = 32, most_buffers = 4, latency = 263>

// -----

#attr = #chimera.vector_unit<bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 4100000000>

// -----

#attr = #chimera.vector_unit<bits = 2048, registers = 256, fma = 1, load = 1, store = 1, latency = 1, clock = 1000000000, exponential = 1>

// -----

#attr = #chimera.dot_product<type = bf16, depth = 2, fma = 2, latency = 6>

// -----

#attr = #chimera.matrix_unit<type = bf16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52, accumulators = 4096, lhs = 2048, rhs = 2048, load = 128, store = 64, clock = 2400000000, interleave = 2>

// -----

#attr = #chimera.buffer<"UB", holds = vectors, capacity = 262144, lanes = true>

// -----

#attr = #chimera.route<"L0C", "L1", bandwidth = 460800000000, converts = true, relu = true>

// -----

module attributes {chimera.target = #chimera.target<"small", cores = 2,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>,
  levels = [<"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000, chip_bandwidth = 180000000000, sharers = 1, line = 64, ways = 8>],
  cpu = "haswell">} {}

// -----

#attr = #chimera.vector_tuning<chains = 10>

// -----

#attr = #chimera.overheads<region = 2000, fresh = 4000000000>

// -----

#attr = #chimera.layout<contiguous along 1>
#other = #chimera.layout<interleaved along 2 by [2]>

// -----

#attr = #chimera.outer_product<lanes = 16, registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>
#other = #chimera.outer_product<lanes = 16, registers = <rows = 12, vectors = 2, broadcasts = 2, depth = 4>, dots = [bf16]>
#tiles = #chimera.tile_product<rows = 16, columns = 16, bytes = 64, registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16, i8]>

// -----

#attr = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 6x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 6.0 : f64, setup = 12.0 : f64>

// -----

#attr = #chimera.function_kernel<@chimera_micro_kernels::@sgemm, <contraction, types = [f32, f32, f32], shape = 6x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 6.0 : f64>>

// -----

#attr = #chimera.matrix_program<rows = 16, columns = 8, depth = 16, factors = [f16, bf16], cycles = 2.0 : f64>

// -----

func.func @chain(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %d: tensor<48x16xf32>) {
  %e = chimera.chain ins(%a, %b, %d
      : tensor<64x32xf32>, tensor<32x48xf32>, tensor<48x16xf32>) {
  ^bb0(%a0: tensor<64x32xf32>, %b0: tensor<32x48xf32>, %d0: tensor<48x16xf32>):
    %zero = arith.constant 0.0 : f32
    %c_empty = tensor.empty() : tensor<64x48xf32>
    %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<64x48xf32>) -> tensor<64x48xf32>
    %c = linalg.matmul ins(%a0, %b0 : tensor<64x32xf32>, tensor<32x48xf32>)
        outs(%c_zero : tensor<64x48xf32>) -> tensor<64x48xf32>
    %e_empty = tensor.empty() : tensor<64x16xf32>
    %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<64x16xf32>) -> tensor<64x16xf32>
    %e0 = linalg.matmul ins(%c, %d0 : tensor<64x48xf32>, tensor<48x16xf32>)
        outs(%e_zero : tensor<64x16xf32>) -> tensor<64x16xf32>
    chimera.yield %e0 : tensor<64x16xf32>
  } -> tensor<64x16xf32>
  return
}

// -----

func.func @block(%a: tensor<8x32xf32>, %b: tensor<32x48xf32>, %c: tensor<8x48xf32>) {
  %1 = chimera.block "matmul0" ins(%a, %b : tensor<8x32xf32>, tensor<32x48xf32>)
      outs(%c : tensor<8x48xf32>) extents [[8], [48], [32]] {
  ^bb0(%a0: tensor<8x32xf32>, %b0: tensor<32x48xf32>, %c0: tensor<8x48xf32>):
    %2 = linalg.matmul ins(%a0, %b0 : tensor<8x32xf32>, tensor<32x48xf32>)
        outs(%c0 : tensor<8x48xf32>) -> tensor<8x48xf32>
    chimera.yield %2 : tensor<8x48xf32>
  } -> tensor<8x48xf32>
  return
}

// -----

func.func @micro_kernel(%a: memref<8x32xf32>, %b: memref<32x48xf32>, %c: memref<8x48xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<8x32xf32>, memref<32x48xf32>) outs(%c : memref<8x48xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

func.func @index(%offset: index, %s: memref<8x48xf32>) {
  chimera.micro_kernel elementwise ins(%offset : index) outs(%s : memref<8x48xf32>)
      maps [affine_map<(m, l) -> ()>, affine_map<(m, l) -> (m, l)>]
      iterators ["parallel", "parallel"] {
  ^bb0(%first: index, %x: f32):
    %zero = arith.constant 0.0 : f32
    %row = chimera.index 0
    %column = chimera.index 1
    %last = arith.addi %row, %first : index
    %keep = arith.cmpi ule, %column, %last : index
    %y = arith.select %keep, %x, %zero : f32
    chimera.yield %y : f32
  }
  return
}

// -----

func.func @prefetch(%next: memref<?x32xf32, strided<[768, 1], offset: ?>>) {
  chimera.prefetch %next within [64, 32] : memref<?x32xf32, strided<[768, 1], offset: ?>>
  return
}

// -----

func.func @yield(%c: tensor<8x8xf32>) {
  %r = chimera.chain ins(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    %0 = linalg.matmul ins(%c0, %c0 : tensor<8x8xf32>, tensor<8x8xf32>)
        outs(%c0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    chimera.yield %0 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @shift(%rows: tensor<6x30x48xf32>, %from: index, %to: index, %count: index) -> tensor<6x30x48xf32> {
  %kept = chimera.shift %rows along 0 from %from to %to by %count
      : tensor<6x30x48xf32>
  return %kept : tensor<6x30x48xf32>
}

// -----

func.func @windows(%image: tensor<9x9x8xf32>) -> tensor<4x3x4x3x8xf32> {
  %windows = chimera.windows %image
      at affine_map<(h, r, w, s, c) -> (2 * h + r, 2 * w + s, c)>
      : tensor<9x9x8xf32> to tensor<4x3x4x3x8xf32>
  return %windows : tensor<4x3x4x3x8xf32>
}

// -----

func.func @size(%x: tensor<1048583xf32>) -> index
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 256>} {
    %rows = chimera.size 1048583
  return %rows : index
}

// -----

func.func @prepare(%table: tensor<64x768xf32>, %panels: tensor<24x64x32xf32>) -> tensor<24x64x32xf32> {
    %once = chimera.prepare %panels
        holding %table : tensor<64x768xf32>
        at affine_map<(d0, d1) -> (d1 floordiv 32, d0, d1 mod 32)>
        : tensor<24x64x32xf32>
  return %once : tensor<24x64x32xf32>
}

// -----

#attr = #chimera.thread_groups<threads = 32, most = 16, units = 4, registers = 255, file = 65536, reserved = 64>

// -----

#attr = #chimera.transfer<bytes = 65536, time = 16000>

// -----

#attr = #chimera.network<"a description, not a measurement", transfers = [<bytes = 1024, time = 400>, <bytes = 1048576, time = 104000>] and [<reduce_scatter, processes = 2, transfers = [<bytes = 1024, time = 800>]>], processor = 10>

// -----

#attr = #chimera.exchange<reduce_scatter, processes = 2, transfers = [<bytes = 65536, time = 16000>]>

// -----

#attr = #chimera.prepared<memory = @f_prepared, recipe = "0bf0", constants = [1]>

// -----

#attr = #chimera.part<shape = [512, 2048], axes = [[], [0]], grid = [2]>

// -----

func.func @all_reduce(%part: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %sum = chimera.all_reduce sum outs(%part : tensor<4x8xf32>)
      along [0] of 2 {blocks = 2 : i64} -> tensor<4x8xf32>
  return %sum : tensor<4x8xf32>
}

// -----

func.func @start_all_reduce(%part: memref<4x8xf32>) {
  %request = chimera.start_all_reduce sum outs(%part : memref<4x8xf32>)
      along [0] of 2
  chimera.wait %request outs(%part : memref<4x8xf32>)
  return
}

// -----

func.func @broadcast(%mine: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %all = chimera.broadcast from 0 outs(%mine : tensor<4x8xf32>)
      along [0] of 2 -> tensor<4x8xf32>
  return %all : tensor<4x8xf32>
}

// -----

func.func @all_gather(%part: tensor<2x8xf32>, %room: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %whole = chimera.all_gather ins(%part : tensor<2x8xf32>)
      outs(%room : tensor<4x8xf32>) along [0] of 2 -> tensor<4x8xf32>
  return %whole : tensor<4x8xf32>
}

// -----

func.func @reduce_scatter(%part: tensor<4x8xf32>, %room: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %rows = chimera.reduce_scatter sum ins(%part : tensor<4x8xf32>)
      outs(%room : tensor<2x8xf32>) along [0] of 2 -> tensor<2x8xf32>
  return %rows : tensor<2x8xf32>
}

// -----

func.func @all_to_all(%mine: tensor<2x8xf32>, %room: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %turned = chimera.all_to_all ins(%mine : tensor<2x8xf32>)
      outs(%room : tensor<2x8xf32>) along [0] of 2 -> tensor<2x8xf32>
  return %turned : tensor<2x8xf32>
}

// -----

func.func @grid() -> index {
  chimera.check_grid [2, 4]
  %row = chimera.process_index along 0
  return %row : index
}
