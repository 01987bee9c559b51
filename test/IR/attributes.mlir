// Every attribute survives text and bytecode.
//
// RUN: chimera-opt %s | chimera-opt | FileCheck %s
// RUN: chimera-opt %s --mlir-print-op-generic | chimera-opt | FileCheck %s
// RUN: chimera-opt %s --emit-bytecode | chimera-opt | FileCheck %s

// CHECK: @loop
// CHECK-SAME: #chimera.loop<m = 64>
func.func private @loop() attributes {
  chimera.test = #chimera.loop<m = 64>
}

// A name that is no identifier is quoted.
// CHECK: @quoted_loop
// CHECK-SAME: #chimera.loop<"2nd loop" = 3>
func.func private @quoted_loop() attributes {
  chimera.test = #chimera.loop<"2nd loop" = 3>
}

// CHECK: @level
// CHECK-SAME: #chimera.level<"L1" : l = 64, "m-0" = 32>
func.func private @level() attributes {
  chimera.test = #chimera.level<"L1" : l = 64, "m-0" = 32>
}

// CHECK: @level_without_loops
// CHECK-SAME: #chimera.level<"L3">
func.func private @level_without_loops() attributes {
  chimera.test = #chimera.level<"L3">
}

// The fields of a struct may come in any order.
// CHECK: @registers
// CHECK-SAME: #chimera.registers<rows = 6, vectors = 4, broadcasts = 1, depth = 2>
func.func private @registers() attributes {
  chimera.test = #chimera.registers<depth = 2, rows = 6, broadcasts = 1, vectors = 4>
}

// CHECK: @stages
// CHECK-SAME: #chimera.registers<rows = 2, vectors = 16, broadcasts = 0, depth = 1, stages = 3>
func.func private @stages() attributes {
  chimera.test = #chimera.registers<stages = 3, part = 0, rows = 2, vectors = 16, broadcasts = 0, depth = 1>
}

// CHECK: @taps
// CHECK-SAME: #chimera.taps<pixel = 1, tap = 4, pixel_factor = 2, tap_factor = 1, begin = 1, end = 8>
func.func private @taps() attributes {
  chimera.test = #chimera.taps<tap = 4, pixel = 1, begin = 1, end = 8, pixel_factor = 2, tap_factor = 1>
}

// CHECK: @blocks
// CHECK-SAME: #chimera.blocks<rows <line = 64, apart = 4> ahead [0, 1] repeated [0] base2 [0] clip fold>
func.func private @blocks() attributes {
  chimera.test = #chimera.blocks<rows <line = 64, apart = 4> ahead [0, 1] repeated [0] base2 [0] clip fold>
}

// CHECK: @blocks_of_any_entries
// CHECK-SAME: [#chimera.blocks<>, #chimera.blocks<clip>, #chimera.blocks<ahead [0] fold>, #chimera.blocks<ahead [0] prefetch <part = 64> clip>]
func.func private @blocks_of_any_entries() attributes {
  chimera.test = [#chimera.blocks<>, #chimera.blocks<clip>, #chimera.blocks<ahead [0] fold>, #chimera.blocks<ahead [0] prefetch <part = 64> clip>]
}

// What is not given is nothing.
// CHECK: @prefetch
// CHECK-SAME: [#chimera.prefetch<part = 4096, loops = any>, #chimera.prefetch<loops = fixed>, #chimera.prefetch<>]
func.func private @prefetch() attributes {
  chimera.test = [#chimera.prefetch<loops = any, part = 4096>, #chimera.prefetch<part = 0, loops = fixed>, #chimera.prefetch<loops = none>]
}

// CHECK: @schedule_with_blocks
// CHECK-SAME: packed = [1], blocks = <ahead [1]>>
func.func private @schedule_with_blocks() attributes {
  chimera.test = #chimera.schedule<levels = [<"L1">], parallel = 0,
      registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
      blocks = <ahead [1]>, packed = [1]>
}

// CHECK: @row_tiling
// CHECK-SAME: [#chimera.row_tiling<tiles = [16, 64], parallel = true>, #chimera.row_tiling<tiles = [16]>, #chimera.row_tiling<tiles = []>,
// CHECK-SAME: #chimera.row_tiling<tiles = [64], dims = [1], parallel = true, streamed = [0, 2], late = [0 by 1, 2 by 3], ahead = [1], rowwise = [4 by 8]>]
func.func private @row_tiling() attributes {
  chimera.test = [#chimera.row_tiling<tiles = [16, 64], parallel = true>, #chimera.row_tiling<tiles = [16], parallel = false>, #chimera.row_tiling<tiles = []>,
                  #chimera.row_tiling<tiles = [64], late = [0 by 1, 2 by 3], streamed = [0, 2], rowwise = [4 by 8], dims = [1], ahead = [1], parallel = true>]
}

// CHECK: @schedule
// CHECK-SAME: #chimera.schedule<levels = [<"L3">, <"L2" : b = 1>, <"L1" : l = 64, m = 32>],
// CHECK-SAME: parallel = 1,
// CHECK-SAME: registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
// CHECK-SAME: packed = [1, 2], staged = [0], rolling = ["A"]>
func.func private @schedule() attributes {
  chimera.test = #chimera.schedule<
    levels = [<"L3">, <"L2" : b = 1>, <"L1" : l = 64, m = 32>],
    parallel = 1,
    registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
    packed = [1, 2], staged = [0], rolling = ["A"]>
}

// CHECK: @schedule_with_staging_only
// CHECK-SAME: depth = 4>, staged = [1], prepacked = [2]>
func.func private @schedule_with_staging_only() attributes {
  chimera.test = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>, staged = [1], prepacked = [2]>
}

// CHECK: @schedule_that_holds_sums
// CHECK-SAME: rolling = ["in0"], held = [0, 1], extents = [m = 512]>
func.func private @schedule_that_holds_sums() attributes {
  chimera.test = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>, held = [0, 1],
    extents = [m = 512], rolling = ["in0"]>
}

// CHECK: @schedule_with_extents
// CHECK-SAME: depth = 4>, packed = [0], extents = [m = 512, "loop 2" = 1]>
func.func private @schedule_with_extents() attributes {
  chimera.test = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
    extents = [m = 512, "loop 2" = 1], packed = [0]>
}

// CHECK: @extent
// CHECK-SAME: #chimera.extent<m = 512>
func.func private @extent() attributes {
  chimera.test = #chimera.extent<m = 512>
}

// CHECK: @schedule_without_packing
// CHECK-SAME: #chimera.schedule<levels = [<"L1">], parallel = 0,
// CHECK-SAME: registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
func.func private @schedule_without_packing() attributes {
  chimera.test = #chimera.schedule<levels = [<"L1">], parallel = 0,
    registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
}

// CHECK: @level_plan
// CHECK-SAME: #chimera.level_plan<"L2", predicted = 40, unfused = 200, bound = 30, capacity = 1024, used = 512>
func.func private @level_plan() attributes {
  chimera.test = #chimera.level_plan<"L2", predicted = 40, unfused = 200,
    bound = 30, capacity = 1024, used = 512>
}

// CHECK: @plan
// CHECK-SAME: #chimera.plan<fused, "the intermediate stays on chip",
// CHECK-SAME: operators = 2, nanoseconds = 2100, unfused_nanoseconds = 2600,
// CHECK-SAME: levels = [<"L2", predicted = 5, unfused = 6, bound = 4, capacity = 9, used = 8>,
// CHECK-SAME: <"L1", predicted = 64, unfused = 128, bound = 64, capacity = 49152, used = 32768>]>
func.func private @plan() attributes {
  chimera.test = #chimera.plan<fused, "the intermediate stays on chip",
    operators = 2, nanoseconds = 2100, unfused_nanoseconds = 2600,
    levels = [
      <"L2", predicted = 5, unfused = 6, bound = 4, capacity = 9, used = 8>,
      <"L1", predicted = 64, unfused = 128, bound = 64, capacity = 49152,
       used = 32768>]>
}

// CHECK: @plan_split
// CHECK-SAME: #chimera.plan<split, "a \22quoted\22 reason", operators = 3, nanoseconds = 1, unfused_nanoseconds = 2>
func.func private @plan_split() attributes {
  chimera.test = #chimera.plan<split, "a \"quoted\" reason", operators = 3,
    nanoseconds = 1, unfused_nanoseconds = 2>
}

// CHECK: @plan_unfused
// CHECK-SAME: #chimera.plan<unfused,
func.func private @plan_unfused() attributes {
  chimera.test = #chimera.plan<unfused, "", operators = 1, nanoseconds = 1,
    unfused_nanoseconds = 1>
}

// CHECK: @memory
// CHECK-SAME: #chimera.memory<"L1", capacity = 49152, usable = 80, core_bandwidth = 130000000000, chip_bandwidth = 260000000000, sharers = 1, line = 64, ways = 0>
func.func private @memory() attributes {
  chimera.test = #chimera.memory<"L1", capacity = 49152, usable = 80,
    core_bandwidth = 130000000000, chip_bandwidth = 260000000000, sharers = 1,
    line = 64, ways = 0>
}

// CHECK: @vector_unit
// CHECK-SAME: #chimera.vector_unit<bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 4100000000>
func.func private @vector_unit() attributes {
  chimera.test = #chimera.vector_unit<bits = 512, registers = 32, fma = 2,
    load = 2, store = 1, latency = 4, clock = 4100000000>
}

#unit = #chimera.vector_unit<bits = 256, registers = 16, fma = 2, load = 2,
  store = 1, latency = 4, clock = 3000000000>
#L1 = #chimera.memory<"L1", capacity = 32768, usable = 80, core_bandwidth = 9,
  chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>
#L2 = #chimera.memory<"L2", capacity = 262144, usable = 80, core_bandwidth = 5,
  chip_bandwidth = 10, sharers = 2, line = 64, ways = 16>

// CHECK: @target
// CHECK-SAME: #chimera.target<"small", cores = 2,
// CHECK-SAME: unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>,
// CHECK-SAME: levels = [<"L2", capacity = 262144, usable = 80, core_bandwidth = 5, chip_bandwidth = 10, sharers = 2, line = 64, ways = 16>,
// CHECK-SAME: <"L1", capacity = 32768, usable = 80, core_bandwidth = 9, chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>]>
func.func private @target() attributes {
  chimera.test = #chimera.target<"small", cores = 2, unit = #unit,
    levels = [#L2, #L1]>
}

// CHECK: @target_with_cpu
// CHECK-SAME: ways = 8>], cpu = "haswell">
func.func private @target_with_cpu() attributes {
  chimera.test = #chimera.target<"small", cores = 2, unit = #unit,
    levels = [#L1], cpu = "haswell">
}

// CHECK: @target_with_features
// CHECK-SAME: ways = 8>], features = "+avx2,+fma">
func.func private @target_with_features() attributes {
  chimera.test = #chimera.target<"small", cores = 2, unit = #unit,
    levels = [#L1], features = "+avx2,+fma">
}

// CHECK: @target_with_both
// CHECK-SAME: ways = 8>], cpu = "haswell", features = "+fma">
func.func private @target_with_both() attributes {
  chimera.test = #chimera.target<"small", cores = 2, unit = #unit,
    levels = [#L1], features = "+fma", cpu = "haswell">
}

// CHECK: @outer_product
// CHECK-SAME: #chimera.outer_product<lanes = 16, registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>
func.func private @outer_product() attributes {
  chimera.test = #chimera.outer_product<lanes = 16,
    registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>
}

// CHECK: @outer_product_of_pairs
// CHECK-SAME: #chimera.outer_product<lanes = 16, registers = <rows = 12, vectors = 2, broadcasts = 2, depth = 4>, dots = [bf16]>
func.func private @outer_product_of_pairs() attributes {
  chimera.test = #chimera.outer_product<lanes = 16,
    registers = <rows = 12, vectors = 2, broadcasts = 2, depth = 4>, dots = [bf16]>
}

// CHECK: @tile_product
// CHECK-SAME: #chimera.tile_product<rows = 16, columns = 16, bytes = 64, registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16, i8]>
func.func private @tile_product() attributes {
  chimera.test = #chimera.tile_product<rows = 16, columns = 16, bytes = 64,
    registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16, i8]>
}

// CHECK: @kinds
// CHECK-SAME: [#chimera<kind contraction>, #chimera<kind elementwise>, #chimera<kind pack>]
func.func private @kinds() attributes {
  chimera.test = [#chimera<kind contraction>, #chimera<kind elementwise>,
                  #chimera<kind pack>]
}

// CHECK: @registers_of_a_kernel
// CHECK-SAME: #chimera.registers<rows = 6, vectors = 2, broadcasts = 0, depth = 1, kernel = "sgemm">
func.func private @registers_of_a_kernel() attributes {
  chimera.test = #chimera.registers<kernel = "sgemm", rows = 6, vectors = 2,
    broadcasts = 0, depth = 1>
}

// CHECK: @tuned
// CHECK-SAME: #chimera.outer_product<lanes = 16, registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>, avx512 = false, tuning = <chains = 10, fetch_level = 2, line = 128, interleaved = 2, reduced_rows = 8>>
func.func private @tuned() attributes {
  chimera.test = #chimera.outer_product<lanes = 16, avx512 = false,
    registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
    tuning = <line = 128, chains = 10, reduced_rows = 8, interleaved = 2, ahead = 32, fetch_level = 2>>
}

// CHECK: @layouts
// CHECK-SAME: [#chimera.layout<any>, #chimera.layout<contiguous along 0>, #chimera.layout<interleaved along 2 by [2]>, #chimera.layout<tiles by [16, 64]>, #chimera.layout<fractals by [16, 16]>]
func.func private @layouts() attributes {
  chimera.test = [#chimera.layout<any>, #chimera.layout<contiguous along 0>,
    #chimera.layout<interleaved along 2 by [2]>,
    #chimera.layout<tiles by [16, 64]>, #chimera.layout<fractals by [16, 16]>]
}

// CHECK: @micro_kernels
// CHECK-SAME: #chimera.function_kernel<@sgemm, <contraction, types = [bf16, bf16, f32], shape = 6x16x?, layouts = [<any>, <any>, <contiguous along 1>], cycles = 6.000000e+00 : f64, setup = 1.200000e+01 : f64>>
// CHECK-SAME: #chimera.matrix_program<rows = 16, columns = 8, depth = 8, factors = [tf32]>
// CHECK-SAME: #chimera.matrix_program<rows = 16, columns = 8, depth = 16, factors = [f16, bf16], cycles = 2.000000e+00 : f64>
func.func private @micro_kernels() attributes {
  chimera.test = [#chimera.function_kernel<@sgemm, <contraction,
    types = [bf16, bf16, f32], shape = 6x16x?,
    layouts = [<any>, <any>, <contiguous along 1>], cycles = 6.0 : f64,
    setup = 12.0 : f64>>,
    #chimera.matrix_program<rows = 16, columns = 8, depth = 8, factors = [tf32]>,
    #chimera.matrix_program<rows = 16, columns = 8, depth = 16, factors = [f16, bf16], cycles = 2.0 : f64>]
}
