// The parts of a target beyond one vector unit and caches, round-tripped. What
// has a default is not printed if it has it.
//
// RUN: chimera-opt %s | chimera-opt | FileCheck %s
// RUN: chimera-opt %s --mlir-print-op-generic | chimera-opt | FileCheck %s
// RUN: chimera-opt %s --emit-bytecode | chimera-opt | FileCheck %s

// CHECK: @memory
// CHECK-SAME: #chimera.memory<"SMEM", capacity = 232448, usable = 98, core_bandwidth = 7, chip_bandwidth = 60, sharers = 1, line = 128, ways = 0, buffers = 2, burst = 32>
func.func private @memory() attributes {
  chimera.test = #chimera.memory<"SMEM", capacity = 232448, usable = 98,
    core_bandwidth = 7, chip_bandwidth = 60, sharers = 1, line = 128, ways = 0,
    burst = 32, buffers = 2>
}

// CHECK: @deep_memory
// CHECK-SAME: #chimera.memory<"SMEM", capacity = 232448, usable = 98, core_bandwidth = 7, chip_bandwidth = 60, sharers = 1, line = 128, ways = 0, buffers = 2, most_buffers = 4, latency = 263>
func.func private @deep_memory() attributes {
  chimera.test = #chimera.memory<"SMEM", capacity = 232448, usable = 98,
    core_bandwidth = 7, chip_bandwidth = 60, sharers = 1, line = 128, ways = 0,
    buffers = 2, latency = 263, most_buffers = 4>
}

// CHECK: @default_memory
// CHECK-SAME: ways = 0>
func.func private @default_memory() attributes {
  chimera.test = #chimera.memory<"SMEM", capacity = 232448, usable = 98,
    core_bandwidth = 7, chip_bandwidth = 60, sharers = 1, line = 128, ways = 0,
    burst = 1, buffers = 1>
}

// CHECK: @overheads
// CHECK-SAME: #chimera.overheads<transpose = 400, reach = 90, collision = 250, beside = 40, region = 900, fresh = 4000000000>
func.func private @overheads() attributes {
  chimera.test = #chimera.overheads<fresh = 4000000000, region = 900,
                                    transpose = 400, block = 20, beside = 40,
                                    reach = 90, collision = 250>
}

// CHECK: @dot_product
// CHECK-SAME: #chimera.dot_product<type = i8, depth = 4, fma = 2, latency = 5>
func.func private @dot_product() attributes {
  chimera.test = #chimera.dot_product<type = i8, depth = 4, fma = 2,
                                      latency = 5>
}

// CHECK: @matrix_unit
// CHECK-SAME: #chimera.matrix_unit<type = tf32, rows = 16, columns = 8, depth = 4, macs = 512, latency = 33, accumulators = 512, lhs = 256, rhs = 128, load = 128, store = 64, clock = 5>
func.func private @matrix_unit() attributes {
  chimera.test = #chimera.matrix_unit<type = tf32, rows = 16, columns = 8,
    depth = 4, macs = 512, latency = 33, accumulators = 512, lhs = 256,
    rhs = 128, load = 128, store = 64, clock = 5>
}

// CHECK: @default_matrix_unit
// CHECK-SAME: macs = 512, accumulators = 512,
func.func private @default_matrix_unit() attributes {
  chimera.test = #chimera.matrix_unit<type = f16, rows = 16, columns = 8,
    depth = 4, macs = 512, latency = 1, accumulators = 512, lhs = 256,
    rhs = 128, load = 128, store = 64, clock = 5>
}

#unit = #chimera.vector_unit<bits = 256, registers = 16, fma = 2, load = 2,
  store = 1, latency = 4, clock = 3000000000>
#L1 = #chimera.memory<"L1", capacity = 32768, usable = 80, core_bandwidth = 9,
  chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>
#f16 = #chimera.matrix_unit<type = f16, rows = 2, columns = 2, depth = 2,
  macs = 8, accumulators = 16, lhs = 8, rhs = 8, load = 1, store = 1, clock = 5>
#i8 = #chimera.matrix_unit<type = i8, rows = 2, columns = 2, depth = 4,
  macs = 16, accumulators = 16, lhs = 8, rhs = 8, load = 1, store = 1,
  clock = 5>
#bf16 = #chimera.dot_product<type = bf16, depth = 2, fma = 2, latency = 6>

// CHECK: @target
// CHECK-SAME: ways = 8>], dots = [<type = bf16, depth = 2, fma = 2, latency = 6>],
// CHECK-SAME: matrix = [<type = f16, rows = 2, columns = 2, depth = 2, macs = 8, accumulators = 16, lhs = 8, rhs = 8, load = 1, store = 1, clock = 5>,
// CHECK-SAME: <type = i8, rows = 2, columns = 2, depth = 4, macs = 16, accumulators = 16, lhs = 8, rhs = 8, load = 1, store = 1, clock = 5>],
// CHECK-SAME: overheads = <region = 900>, launch = 2000, triple = "nvptx64-nvidia-cuda", cpu = "sm_80", features = "+ptx80">
func.func private @target() attributes {
  chimera.test = #chimera.target<"small", cores = 2, unit = #unit,
    levels = [#L1], features = "+ptx80", triple = "nvptx64-nvidia-cuda",
    launch = 2000, overheads = <region = 900>, matrix = [#f16, #i8], cpu = "sm_80", dots = [#bf16]>
}

// CHECK: @default_target
// CHECK-SAME: ways = 8>]>
func.func private @default_target() attributes {
  chimera.test = #chimera.target<"small", cores = 2, unit = #unit,
    levels = [#L1], launch = 0>
}
