// No processor has AVX2 and TBM at once: code for this machine runs nowhere.
#chimera.target<"no-processor",
  cores = 2,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
          latency = 5, clock = 3000000000>,
  levels = [
    <"L2", capacity = 262144, usable = 80, core_bandwidth = 40000000000,
     chip_bandwidth = 80000000000, sharers = 1, line = 64, ways = 8>,
    <"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000,
     chip_bandwidth = 180000000000, sharers = 1, line = 64, ways = 8>],
  overheads = <region = 1000, fresh = 4000000000>,
  cpu = "x86-64-v3", features = "+tbm">
