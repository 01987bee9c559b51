// Targets that make no sense.
//
// RUN: chimera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'buffers' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9,
    chip_bandwidth = 18, sharers = 1, line = 64, ways = 8, buffers = 0>

// -----

// expected-error @below {{'burst' must be positive, got 0}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9,
    chip_bandwidth = 18, sharers = 1, line = 64, ways = 8, burst = 0>

// -----

// expected-error @below {{'most_buffers' must not be below 'buffers', 2, got 1}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9,
    chip_bandwidth = 18, sharers = 1, line = 64, ways = 0, buffers = 2,
    most_buffers = 1>

// -----

// expected-error @below {{'latency' must not be negative, got -263}}
#attr = #chimera.memory<"L1", capacity = 64, usable = 80, core_bandwidth = 9,
    chip_bandwidth = 18, sharers = 1, line = 64, ways = 0, latency = -263>

// -----

// expected-error @below {{'depth' must be positive, got 0}}
#attr = #chimera.dot_product<type = bf16, depth = 0, fma = 2, latency = 6>

// -----

// expected-error @below {{'fma' must be positive, got 0}}
#attr = #chimera.dot_product<type = bf16, depth = 2, fma = 0, latency = 6>

// -----

// expected-error @below {{'latency' must be positive, got 0}}
#attr = #chimera.dot_product<type = bf16, depth = 2, fma = 2, latency = 0>

// -----

// expected-error @below {{'type' must be an integer or float type, got 'index'}}
#attr = #chimera.dot_product<type = index, depth = 2, fma = 2, latency = 6>

// -----

// expected-error @below {{'rows' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = -1, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'columns' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = -1, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'depth' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = -1,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'macs' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = -1, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'latency' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = -1, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'accumulators' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = -1, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'lhs' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = -1, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'rhs' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = -1,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'load' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = -1, store = 128, clock = 5>

// -----

// expected-error @below {{'store' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = -1, clock = 5>

// -----

// expected-error @below {{'clock' must be positive, got -1}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = -1>

// -----

// expected-error @below {{'type' must be an integer or float type, got 'vector<4xf16>'}}
#attr = #chimera.matrix_unit<type = vector<4xf16>, rows = 16, columns = 8,
    depth = 16, macs = 1024, latency = 33, accumulators = 512, lhs = 512,
    rhs = 256, load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{one instruction needs 512 bytes of 'accumulators', got 511}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 511, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{one instruction needs 512 bytes of 'lhs', got 511}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 511, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{one instruction needs 256 bytes of 'rhs', got 255}}
#attr = #chimera.matrix_unit<type = f16, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 255,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{one instruction needs 1024 bytes of 'lhs', got 512}}
#attr = #chimera.matrix_unit<type = tf32, rows = 16, columns = 8, depth = 16,
    macs = 1024, latency = 33, accumulators = 512, lhs = 512, rhs = 256,
    load = 128, store = 128, clock = 5>

// -----

// expected-error @below {{'fresh' must not be negative, got -4}}
#attr = #chimera.overheads<fresh = -4>

// -----

// expected-error @below {{'reach' must not be negative, got -1}}
#attr = #chimera.overheads<reach = -1>

// -----

// expected-error @below {{'launch' must not be negative, got -1}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    launch = -1>

// -----

// expected-error @below {{'dots' has more than one unit for 'bf16'}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    dots = [
      <type = bf16, depth = 2, fma = 2, latency = 6>,
      <type = bf16, depth = 4, fma = 1, latency = 6>]>

// -----

// expected-error @below {{'matrix' has more than one unit for 'f16'}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    matrix = [
      <type = f16, rows = 1, columns = 1, depth = 1, macs = 1, accumulators = 4,
       lhs = 2, rhs = 2, load = 1, store = 1, clock = 5>,
      <type = f16, rows = 1, columns = 1, depth = 1, macs = 1, accumulators = 4,
       lhs = 2, rhs = 2, load = 1, store = 1, clock = 6>]>

// -----

#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    launch = 1,
    // expected-error @below {{expected 'dots', 'matrix', 'buffers', 'routes', 'groups', 'overheads', 'network', 'launch', 'stack', 'triple', 'cpu' or 'features', each once}}
    launch = 2>

// -----

// expected-error @+7 {{expected '['}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    matrix = <type = f16>>

// -----

#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    // expected-error @below {{expected integer value}}
    launch = "soon">

// -----

// expected-error @below {{a buffer needs a name}}
#attr = #chimera.buffer<"", holds = sums, capacity = 64>

// -----

// expected-error @below {{'capacity' must be positive, got 0}}
#attr = #chimera.buffer<"UB", holds = vectors, capacity = 0>

// -----

// expected-error @below {{'L0C' has lanes, but holds no vectors}}
#attr = #chimera.buffer<"L0C", holds = sums, capacity = 64, lanes = true>

// -----

// expected-error @below {{a route must lead from one memory to another, got 'UB' twice}}
#attr = #chimera.route<"UB", "UB", bandwidth = 1>

// -----

// expected-error @below {{'bandwidth' must be positive, got -1}}
#attr = #chimera.route<"UB", "L1", bandwidth = -1>

// -----

// expected-error @below {{the route to 'L1' has blocks, which only 'memory' has}}
#attr = #chimera.route<"UB", "L1", bandwidth = 1, blocks = true>

// -----

// expected-error @below {{memory 'L1' occurs twice}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    buffers = [<"L1", holds = vectors, capacity = 64>]>

// -----

// expected-error @below {{two buffers hold sums}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    buffers = [<"A", holds = sums, capacity = 64>,
               <"B", holds = sums, capacity = 64>]>

// -----

// expected-error @below {{a route leads to or from 'UB', which is no level, no buffer and not 'memory'}}
#attr = #chimera.target<"t", cores = 1,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3>,
    levels = [
      <"L1", capacity = 64, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8>],
    routes = [<"memory", "UB", bandwidth = 1>]>

// -----

// expected-error @below {{'reserved' leaves none of 64 registers}}
#attr = #chimera.thread_groups<threads = 32, most = 16, units = 4, registers = 64, file = 65536, reserved = 64>

// -----

// expected-error @below {{'rate' is a percentage, got 101}}
#attr = #chimera.thread_groups<threads = 32, most = 16, units = 4, rate = 101, registers = 255, file = 65536, reserved = 64>

// -----

// expected-error @below {{'units' must be positive, got 0}}
#attr = #chimera.thread_groups<threads = 32, most = 16, units = 0, registers = 255, file = 65536, reserved = 64>
