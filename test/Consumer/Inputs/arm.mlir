#chimera.target<"arm", cores = 4,
  unit = <bits = 128, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>,
  levels = [<"L1", capacity = 65536, usable = 80, core_bandwidth = 90000000000,
             chip_bandwidth = 360000000000, sharers = 1, line = 64, ways = 4>],
  triple = "aarch64-linux-gnu", cpu = "neoverse-n1">
