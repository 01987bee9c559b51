// RUN: chimera-opt %s --chimera-pipeline --split-input-file | FileCheck %s

// Long vectors do not imply AVX-512: its instructions are for processors that
// have them. A row maximum and exponentials would use them.

#unit = #chimera.vector_unit<bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>

// CHECK-LABEL: llvm.func @without
// CHECK-NOT:     llvm.x86.avx512
// CHECK:         vector<16xf32>
// CHECK-NOT:     llvm.x86.avx512
module attributes {chimera.target = #chimera.target<"wide", cores = 1, unit = #unit,
    levels = [<"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000, chip_bandwidth = 90000000000, sharers = 1, line = 64, ways = 8>],
    cpu = "haswell">} {
  func.func @without(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
    %0 = tensor.empty() : tensor<64x256xf32>
    %1 = linalg.softmax dimension(1) ins(%x : tensor<64x256xf32>) outs(%0 : tensor<64x256xf32>) -> tensor<64x256xf32>
    return %1 : tensor<64x256xf32>
  }
}

// -----

#unit = #chimera.vector_unit<bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>

// CHECK-LABEL: llvm.func @with
// CHECK:         llvm.x86.avx512
module attributes {chimera.target = #chimera.target<"wide", cores = 1, unit = #unit,
    levels = [<"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000, chip_bandwidth = 90000000000, sharers = 1, line = 64, ways = 8>],
    cpu = "haswell", features = "+avx512f,+avx512dq">} {
  func.func @with(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
    %0 = tensor.empty() : tensor<64x256xf32>
    %1 = linalg.softmax dimension(1) ins(%x : tensor<64x256xf32>) outs(%0 : tensor<64x256xf32>) -> tensor<64x256xf32>
    return %1 : tensor<64x256xf32>
  }
}
