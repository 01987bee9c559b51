// A machine with tiles of AMX whose vectors are those of AVX2, so that code for
// it runs on most machines once the tiles are emulated. Figures as for
// granite-rapids.
#chimera.target<"tiles-avx2",
  cores = 2,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
          latency = 4, clock = 3300000000>,
  levels = [
    <"L3", capacity = 503316480, usable = 80, core_bandwidth = 20000000000,
     chip_bandwidth = 55000000000, sharers = 2, line = 64, ways = 16>,
    <"L2", capacity = 2097152, usable = 72, core_bandwidth = 25000000000,
     chip_bandwidth = 50000000000, sharers = 1, line = 64, ways = 16>,
    <"L1", capacity = 49152, usable = 90, core_bandwidth = 100000000000,
     chip_bandwidth = 200000000000, sharers = 1, line = 64, ways = 12>],
  dots = [<type = i16, depth = 2, fma = 1, latency = 4>],
  matrix = [
    <type = bf16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52,
     accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73,
     clock = 2440000000, interleave = 2>,
    <type = i8, rows = 16, columns = 16, depth = 64, macs = 1024, latency = 52,
     accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73,
     clock = 2440000000, interleave = 4>],
  overheads = <region = 1000, fresh = 4000000000>,
  cpu = "haswell", features = "+amx-tile,+amx-bf16,+amx-int8">
