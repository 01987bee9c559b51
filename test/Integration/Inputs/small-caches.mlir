// A machine whose caches tensors of a few hundred KiB do not fit, with vectors
// of AVX2 and prefetches into the second level.
#chimera.target<"small-caches",
  cores = 2,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
          latency = 4, clock = 3300000000, tuning = <fetch_level = 2>>,
  levels = [
    <"L2", capacity = 65536, usable = 80, core_bandwidth = 20000000000,
     chip_bandwidth = 40000000000, sharers = 1, line = 64, ways = 16>,
    <"L1", capacity = 8192, usable = 90, core_bandwidth = 100000000000,
     chip_bandwidth = 200000000000, sharers = 1, line = 64, ways = 8>],
  overheads = <region = 1000>,
  cpu = "haswell", features = "+avx2,+fma">
