// Every target that has a name, with all its figures: a change to one of them is
// a change to every plan made for it.
//
// RUN: chimera-opt %s --chimera-attach-target=target=avx2 | FileCheck %s --check-prefix=AVX2
// RUN: chimera-opt %s --chimera-attach-target=target=zen3 | FileCheck %s --check-prefix=ZEN3
// RUN: chimera-opt %s --chimera-attach-target=target=avx512 | FileCheck %s --check-prefix=AVX512
// RUN: chimera-opt %s --chimera-attach-target=target=xeon-gold-6240 | FileCheck %s --check-prefix=XEON-GOLD-6240
// RUN: chimera-opt %s --chimera-attach-target=target=icelake-server | FileCheck %s --check-prefix=ICELAKE-SERVER
// RUN: chimera-opt %s --chimera-attach-target=target=zen4 | FileCheck %s --check-prefix=ZEN4
// RUN: chimera-opt %s --chimera-attach-target=target=zen5 | FileCheck %s --check-prefix=ZEN5
// RUN: chimera-opt %s --chimera-attach-target=target=sapphire-rapids | FileCheck %s --check-prefix=SAPPHIRE-RAPIDS
// RUN: chimera-opt %s --chimera-attach-target=target=granite-rapids | FileCheck %s --check-prefix=GRANITE-RAPIDS
// RUN: chimera-opt %s --chimera-attach-target=target=a100 | FileCheck %s --check-prefix=A100
// RUN: chimera-opt %s --chimera-attach-target=target=h100 | FileCheck %s --check-prefix=H100
// RUN: chimera-opt %s --chimera-attach-target=target=h200 | FileCheck %s --check-prefix=H200
// RUN: chimera-opt %s --chimera-attach-target=target=ascend910 | FileCheck %s --check-prefix=ASCEND910
// RUN: chimera-opt %s --chimera-attach-target=target=ascend310p | FileCheck %s --check-prefix=ASCEND310P
// RUN: chimera-opt %s --chimera-attach-target=target=ascend910b | FileCheck %s --check-prefix=ASCEND910B

// AVX2:      chimera.target = #chimera.target<"avx2", cores = 4,
// AVX2-SAME: unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1, latency = 5, clock = 3000000000>,
// AVX2-SAME: levels = [<"L3", capacity = 8388608, usable = 80, core_bandwidth = 15000000000, chip_bandwidth = 25000000000, sharers = 4, line = 64, ways = 16>,
// AVX2-SAME: <"L2", capacity = 262144, usable = 80, core_bandwidth = 40000000000, chip_bandwidth = 160000000000, sharers = 1, line = 64, ways = 8>,
// AVX2-SAME: <"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000, chip_bandwidth = 360000000000, sharers = 1, line = 64, ways = 8>],
// AVX2-SAME: overheads = <region = 1000, fresh = 8000000000>, cpu = "haswell">}

// ZEN3:      chimera.target = #chimera.target<"zen3", cores = 2,
// ZEN3-SAME: unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1, latency = 4, clock = 3010000000, exponential = 17>,
// ZEN3-SAME: levels = [<"L3", capacity = 33554432, usable = 35, core_bandwidth = 12000000000, chip_bandwidth = 19000000000, sharers = 2, line = 64, ways = 16>,
// ZEN3-SAME: <"L2", capacity = 524288, usable = 80, core_bandwidth = 60000000000, chip_bandwidth = 136000000000, sharers = 1, line = 64, ways = 8>,
// ZEN3-SAME: <"L1", capacity = 32768, usable = 80, core_bandwidth = 98000000000, chip_bandwidth = 186000000000, sharers = 1, line = 64, ways = 8>],
// ZEN3-SAME: overheads = <transpose = 270, region = 750, fresh = 1400000000>, cpu = "znver3">}

// AVX512:      chimera.target = #chimera.target<"avx512", cores = 4,
// AVX512-SAME: unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>,
// AVX512-SAME: levels = [<"L3", capacity = 33554432, usable = 80, core_bandwidth = 15000000000, chip_bandwidth = 40000000000, sharers = 4, line = 64, ways = 16>,
// AVX512-SAME: <"L2", capacity = 1048576, usable = 80, core_bandwidth = 30000000000, chip_bandwidth = 120000000000, sharers = 1, line = 64, ways = 16>,
// AVX512-SAME: <"L1", capacity = 32768, usable = 80, core_bandwidth = 120000000000, chip_bandwidth = 480000000000, sharers = 1, line = 64, ways = 8>],
// AVX512-SAME: overheads = <region = 1000, fresh = 8000000000>, cpu = "x86-64-v4">}

// XEON-GOLD-6240:      chimera.target = #chimera.target<"xeon-gold-6240", cores = 18,
// XEON-GOLD-6240-SAME: unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 2600000000>,
// XEON-GOLD-6240-SAME: levels = [<"L3", capacity = 25952256, usable = 80, core_bandwidth = 12000000000, chip_bandwidth = 110000000000, sharers = 18, line = 64, ways = 11>,
// XEON-GOLD-6240-SAME: <"L2", capacity = 1048576, usable = 80, core_bandwidth = 25000000000, chip_bandwidth = 300000000000, sharers = 1, line = 64, ways = 16>,
// XEON-GOLD-6240-SAME: <"L1", capacity = 32768, usable = 80, core_bandwidth = 120000000000, chip_bandwidth = 2160000000000, sharers = 1, line = 64, ways = 8>],
// XEON-GOLD-6240-SAME: overheads = <region = 1000, fresh = 4000000000>, cpu = "cascadelake">}

// ICELAKE-SERVER:      chimera.target = #chimera.target<"icelake-server", cores = 2,
// ICELAKE-SERVER-SAME: unit = <bits = 512, registers = 32, fma = 2, load = 1, store = 1, latency = 4, clock = 3000000000, exponential = 14, tuning = <streams = 4>>,
// ICELAKE-SERVER-SAME: levels = [<"L3", capacity = 50331648, usable = 50, core_bandwidth = 12500000000, chip_bandwidth = 25000000000, sharers = 2, line = 64, ways = 12>,
// ICELAKE-SERVER-SAME: <"L2", capacity = 1310720, usable = 80, core_bandwidth = 30000000000, chip_bandwidth = 60000000000, sharers = 1, line = 64, ways = 20>,
// ICELAKE-SERVER-SAME: <"L1", capacity = 49152, usable = 80, core_bandwidth = 131000000000, chip_bandwidth = 261000000000, sharers = 1, line = 64, ways = 12>],
// ICELAKE-SERVER-SAME: dots = [<type = i8, depth = 4, fma = 2, latency = 6>],
// ICELAKE-SERVER-SAME: overheads = <transpose = 280, reach = 43, collision = 4, region = 1000, handover = 2, fresh = 2400000000>,
// ICELAKE-SERVER-SAME: cpu = "icelake-server">}

// ZEN4:      chimera.target = #chimera.target<"zen4", cores = 2,
// ZEN4-SAME: unit = <bits = 512, registers = 32, fma = 1, load = 1, store = 1, latency = 4, clock = 3690000000, exponential = 9, tuning = <ahead = 128, streams = 1, stream_ahead = 64, fetch_level = 2>>,
// ZEN4-SAME: levels = [<"L3", capacity = 33554432, usable = 80, core_bandwidth = 24600000000, chip_bandwidth = 32900000000, sharers = 2, line = 64, ways = 16>,
// ZEN4-SAME: <"L2", capacity = 1048576, usable = 80, core_bandwidth = 100000000000, chip_bandwidth = 200000000000, sharers = 1, line = 64, ways = 8>,
// ZEN4-SAME: <"L1", capacity = 32768, usable = 80, core_bandwidth = 118000000000, chip_bandwidth = 236000000000, sharers = 1, line = 64, ways = 8>],
// ZEN4-SAME: dots = [<type = bf16, depth = 2, fma = 1, latency = 6>, <type = i8, depth = 4, fma = 1, latency = 4>],
// ZEN4-SAME: overheads = <transpose = 165, run = 256, run_cost = 75, reach = 182, collision = 16, region = 435, fresh = 2300000000>,
// ZEN4-SAME: cpu = "znver4">}

// ZEN5:      chimera.target = #chimera.target<"zen5", cores = 2,
// ZEN5-SAME: unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 4200000000, exponential = 10, tuning = <streams = 1>>,
// ZEN5-SAME: levels = [<"L3", capacity = 33554432, usable = 80, core_bandwidth = 50000000000, chip_bandwidth = 90000000000, sharers = 2, line = 64, ways = 16>,
// ZEN5-SAME: <"L2", capacity = 1048576, usable = 80, core_bandwidth = 112000000000, chip_bandwidth = 224000000000, sharers = 1, line = 64, ways = 16>,
// ZEN5-SAME: <"L1", capacity = 49152, usable = 80, core_bandwidth = 257000000000, chip_bandwidth = 508000000000, sharers = 1, line = 64, ways = 12>],
// ZEN5-SAME: dots = [<type = bf16, depth = 2, fma = 2, latency = 6>, <type = i8, depth = 4, fma = 2, latency = 4>],
// ZEN5-SAME: overheads = <transpose = 229, reach = 213, region = 370, fresh = 3100000000>, cpu = "znver5">}

// SAPPHIRE-RAPIDS:      chimera.target = #chimera.target<"sapphire-rapids", cores = 48,
// SAPPHIRE-RAPIDS-SAME: unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>,
// SAPPHIRE-RAPIDS-SAME: levels = [<"L3", capacity = 102236160, usable = 80, core_bandwidth = 12000000000, chip_bandwidth = 250000000000, sharers = 48, line = 64, ways = 15>,
// SAPPHIRE-RAPIDS-SAME: <"L2", capacity = 2097152, usable = 72, core_bandwidth = 25000000000, chip_bandwidth = 1200000000000, sharers = 1, line = 64, ways = 16>,
// SAPPHIRE-RAPIDS-SAME: <"L1", capacity = 49152, usable = 80, core_bandwidth = 100000000000, chip_bandwidth = 4800000000000, sharers = 1, line = 64, ways = 12>],
// SAPPHIRE-RAPIDS-SAME: dots = [<type = i8, depth = 4, fma = 2, latency = 5>],
// SAPPHIRE-RAPIDS-SAME: matrix = [<type = bf16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52, accumulators = 4096, lhs = 2048, rhs = 2048, load = 128, store = 64, clock = 2200000000, interleave = 2>,
// SAPPHIRE-RAPIDS-SAME: <type = i8, rows = 16, columns = 16, depth = 64, macs = 1024, latency = 52, accumulators = 4096, lhs = 2048, rhs = 2048, load = 128, store = 64, clock = 2200000000, interleave = 4>],
// SAPPHIRE-RAPIDS-SAME: overheads = <region = 1000, fresh = 8000000000>, cpu = "sapphirerapids">}

// GRANITE-RAPIDS:      chimera.target = #chimera.target<"granite-rapids", cores = 2,
// GRANITE-RAPIDS-SAME: unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 3300000000>,
// GRANITE-RAPIDS-SAME: levels = [<"L3", capacity = 503316480, usable = 80, core_bandwidth = 20000000000, chip_bandwidth = 55000000000, sharers = 2, line = 64, ways = 16>,
// GRANITE-RAPIDS-SAME: <"L2", capacity = 2097152, usable = 72, core_bandwidth = 25000000000, chip_bandwidth = 50000000000, sharers = 1, line = 64, ways = 16>,
// GRANITE-RAPIDS-SAME: <"L1", capacity = 49152, usable = 90, core_bandwidth = 100000000000, chip_bandwidth = 200000000000, sharers = 1, line = 64, ways = 12>],
// GRANITE-RAPIDS-SAME: dots = [<type = i8, depth = 4, fma = 2, latency = 5>],
// GRANITE-RAPIDS-SAME: matrix = [<type = bf16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52, accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73, clock = 2440000000, interleave = 2>,
// GRANITE-RAPIDS-SAME: <type = f16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52, accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73, clock = 2440000000, interleave = 2>,
// GRANITE-RAPIDS-SAME: <type = i8, rows = 16, columns = 16, depth = 64, macs = 1024, latency = 52, accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73, clock = 2440000000, interleave = 4>],
// GRANITE-RAPIDS-SAME: overheads = <region = 1000, fresh = 4000000000>, cpu = "graniterapids">}

// A100:      chimera.target = #chimera.target<"a100", cores = 108,
// A100-SAME: unit = <bits = 1024, registers = 255, fma = 2, load = 1, store = 1, latency = 4, clock = 1410000000, exponential = 2>,
// A100-SAME: levels = [<"L2", capacity = 41943040, usable = 80, core_bandwidth = 60000000000, chip_bandwidth = 1400000000000, sharers = 108, line = 128, ways = 16, burst = 32>,
// A100-SAME: <"SMEM", capacity = 166912, usable = 98, core_bandwidth = 60000000000, chip_bandwidth = 4800000000000, sharers = 1, line = 128, ways = 0, buffers = 2, burst = 32, most_buffers = 4, latency = 262>],
// A100-SAME: matrix = [<type = f16, rows = 16, columns = 8, depth = 16, macs = 1024, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1410000000>,
// A100-SAME: <type = bf16, rows = 16, columns = 8, depth = 16, macs = 1024, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1410000000>,
// A100-SAME: <type = tf32, rows = 16, columns = 8, depth = 8, macs = 512, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1410000000>,
// A100-SAME: <type = i8, rows = 16, columns = 8, depth = 32, macs = 2048, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1410000000>],
// A100-SAME: groups = <threads = 32, most = 16, units = 4, registers = 255, file = 65536, reserved = 79>,
// A100-SAME: overheads = <block = 70>,
// A100-SAME: launch = 2000,
// A100-SAME: triple = "nvptx64-nvidia-cuda",
// A100-SAME: cpu = "sm_80">}

// H100:      chimera.target = #chimera.target<"h100", cores = 132,
// H100-SAME: unit = <bits = 1024, registers = 255, fma = 4, load = 1, store = 1, latency = 4, clock = 1980000000, exponential = 2>,
// H100-SAME: levels = [<"L2", capacity = 52428800, usable = 80, core_bandwidth = 78000000000, chip_bandwidth = 3000000000000, sharers = 132, line = 128, ways = 16, burst = 32>,
// H100-SAME: <"SMEM", capacity = 232448, usable = 98, core_bandwidth = 90000000000, chip_bandwidth = 12000000000000, sharers = 1, line = 128, ways = 0, buffers = 2, burst = 32, most_buffers = 4, latency = 263>],
// H100-SAME: matrix = [<type = f16, rows = 16, columns = 8, depth = 16, macs = 2048, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H100-SAME: <type = bf16, rows = 16, columns = 8, depth = 16, macs = 2048, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H100-SAME: <type = tf32, rows = 16, columns = 8, depth = 8, macs = 1024, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H100-SAME: <type = f8E4M3FN, rows = 16, columns = 8, depth = 32, macs = 4096, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H100-SAME: <type = i8, rows = 16, columns = 8, depth = 32, macs = 4096, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>],
// H100-SAME: groups = <threads = 32, most = 16, units = 4, rate = 57, registers = 255, file = 65536, reserved = 79>,
// H100-SAME: overheads = <block = 70>,
// H100-SAME: launch = 2000,
// H100-SAME: triple = "nvptx64-nvidia-cuda",
// H100-SAME: cpu = "sm_90a">}

// H200:      chimera.target = #chimera.target<"h200", cores = 132,
// H200-SAME: unit = <bits = 1024, registers = 255, fma = 4, load = 1, store = 1, latency = 4, clock = 1980000000, exponential = 2>,
// H200-SAME: levels = [<"L2", capacity = 62914560, usable = 80, core_bandwidth = 78000000000, chip_bandwidth = 4300000000000, sharers = 132, line = 128, ways = 16, burst = 32>,
// H200-SAME: <"SMEM", capacity = 232448, usable = 98, core_bandwidth = 90000000000, chip_bandwidth = 12000000000000, sharers = 1, line = 128, ways = 0, buffers = 2, burst = 32, most_buffers = 4, latency = 263>],
// H200-SAME: matrix = [<type = f16, rows = 16, columns = 8, depth = 16, macs = 2048, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H200-SAME: <type = bf16, rows = 16, columns = 8, depth = 16, macs = 2048, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H200-SAME: <type = tf32, rows = 16, columns = 8, depth = 8, macs = 1024, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H200-SAME: <type = f8E4M3FN, rows = 16, columns = 8, depth = 32, macs = 4096, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>,
// H200-SAME: <type = i8, rows = 16, columns = 8, depth = 32, macs = 4096, latency = 33, accumulators = 131072, lhs = 32768, rhs = 32768, load = 128, store = 128, clock = 1830000000>],
// H200-SAME: groups = <threads = 32, most = 16, units = 4, rate = 57, registers = 255, file = 65536, reserved = 79>,
// H200-SAME: overheads = <block = 70>,
// H200-SAME: launch = 2000,
// H200-SAME: triple = "nvptx64-nvidia-cuda",
// H200-SAME: cpu = "sm_90a">}

// ASCEND910:      chimera.target = #chimera.target<"ascend910", cores = 32,
// ASCEND910-SAME: unit = <bits = 2048, registers = 256, fma = 1, load = 1, store = 1, latency = 1, clock = 1000000000, exponential = 1>,
// ASCEND910-SAME: levels = [<"L2", capacity = 33554432, usable = 80, core_bandwidth = 125000000000, chip_bandwidth = 1080000000000, sharers = 32, line = 32, ways = 16, burst = 32>,
// ASCEND910-SAME: <"L1", capacity = 1048576, usable = 100, core_bandwidth = 31250000000, chip_bandwidth = 4000000000000, sharers = 1, line = 32, ways = 0, buffers = 2, burst = 32>],
// ASCEND910-SAME: matrix = [<type = f16, rows = 16, columns = 16, depth = 16, macs = 4096, accumulators = 262144, lhs = 32768, rhs = 32768, load = 512, store = 256, clock = 1000000000>,
// ASCEND910-SAME: <type = i8, rows = 16, columns = 16, depth = 32, macs = 8192, accumulators = 262144, lhs = 32768, rhs = 32768, load = 512, store = 256, clock = 1000000000>],
// ASCEND910-SAME: triple = "davinci-huawei-cann",
// ASCEND910-SAME: cpu = "Ascend910A">}

// ASCEND310P:      chimera.target = #chimera.target<"ascend310p", cores = 8,
// ASCEND310P-SAME: levels = [<"L2", capacity = 16777216, usable = 80, core_bandwidth = 17000000000, chip_bandwidth = 136000000000, sharers = 8, line = 32, ways = 16, burst = 32>,
// ASCEND310P-SAME: <"L1", capacity = 1048576, usable = 100, core_bandwidth = 28500000000, chip_bandwidth = 912000000000, sharers = 1, line = 32, ways = 0, buffers = 2, burst = 32>],
// ASCEND310P-SAME: cpu = "Ascend310P3">}

// ASCEND910B:      chimera.target = #chimera.target<"ascend910b", cores = 24,
// ASCEND910B-SAME: unit = <bits = 2048, registers = 256, fma = 1, load = 1, store = 1, latency = 1, clock = 1800000000, exponential = 1>,
// ASCEND910B-SAME: levels = [<"L2", capacity = 201326592, usable = 80, core_bandwidth = 57600000000, chip_bandwidth = 1382400000000, sharers = 24, line = 32, ways = 16, burst = 32>,
// ASCEND910B-SAME: <"L1", capacity = 524288, usable = 100, core_bandwidth = 198000000000, chip_bandwidth = 4752000000000, sharers = 1, line = 32, ways = 0, buffers = 2>],
// ASCEND910B-SAME: matrix = [<type = f16, rows = 16, columns = 16, depth = 16, macs = 4096, accumulators = 131072, lhs = 32768, rhs = 32768, load = 256, store = 128, clock = 1800000000>,
// ASCEND910B-SAME: <type = bf16, rows = 16, columns = 16, depth = 16, macs = 4096, accumulators = 131072, lhs = 32768, rhs = 32768, load = 256, store = 128, clock = 1800000000>,
// ASCEND910B-SAME: <type = i8, rows = 16, columns = 16, depth = 32, macs = 8192, accumulators = 131072, lhs = 32768, rhs = 32768, load = 256, store = 128, clock = 1800000000>],
// ASCEND910B-SAME: triple = "davinci-huawei-cann",
// ASCEND910B-SAME: cpu = "Ascend910B2">}

module {}
