// The detected machine, and operations that already say what they are for.
//
// RUN: chimera-opt %s --split-input-file --chimera-attach-target | FileCheck %s
// RUN: chimera-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(chimera-attach-target{target=zen4}))" | FileCheck %s --check-prefix=FUNC

// CHECK: module attributes {chimera.target = #chimera.target<"host", cores = {{[1-9]}}
// CHECK-SAME: <"L3", capacity = {{[1-9]}}
// CHECK-SAME: <"L2", capacity = {{[1-9]}}
// CHECK-SAME: <"L1", capacity = {{[1-9]}}
// CHECK-SAME: cpu = "{{.+}}", features = "+
module {
  // FUNC: func.func private @f() attributes {chimera.target = #chimera.target<"zen4",
  func.func private @f()
}

// -----

// CHECK: module attributes {chimera.target = #chimera.target<"mine",
// CHECK-SAME: cpu = "haswell">}
module attributes {chimera.target = #chimera.target<"mine", cores = 1,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
          latency = 4, clock = 3000000000>,
  levels = [
    <"L1", capacity = 32768, usable = 80, core_bandwidth = 90, chip_bandwidth = 90,
     sharers = 1, line = 64, ways = 8>], cpu = "haswell">} {
  // FUNC: func.func private @f() attributes {chimera.target = #chimera.target<"mine",
  func.func private @f()
}
