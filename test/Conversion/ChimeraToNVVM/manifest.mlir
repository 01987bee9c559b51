// RUN: chimera-opt %s --chimera-write-manifest=file=- | FileCheck %s
// RUN: not chimera-opt %s --chimera-write-manifest=file=%t.missing/manifest.json 2>&1 | FileCheck %s --check-prefix=ERROR

// RUN: chimera-opt %s --chimera-write-manifest -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARNING

// ERROR: error: {{.*}}manifest.json: No such file or directory

// What else functions with launches do is said twice.
// WARNING-NOT: warning
// WARNING:     warning: 'linalg.exp' is left to the host: whoever launches the kernels of 'reshape' has to do this, too
// WARNING:     warning: 'scf.for' is left to the host
// WARNING:     warning: 'memref.get_global' is left to the host: whoever launches the kernels of 'constants' has to do this, too
// WARNING-NOT: warning

// CHECK:      "host": [
// CHECK:          "before": 1,
// CHECK-NEXT:     "function": "reshape",
// CHECK-NEXT:     "operation": "linalg.exp"
// CHECK:          "before": 2,
// CHECK-NEXT:     "function": "reshape",
// CHECK-NEXT:     "operation": "scf.for"
// CHECK:          "function": "constants",
// CHECK-NEXT:     "operation": "memref.get_global"
// CHECK-NOT:  "operation"
// CHECK:      "kernels": [
// CHECK:        "arguments": [
// CHECK:          "alignment": 16,
// CHECK-NEXT:     "argument": 1,
// CHECK-NEXT:     "shape": [
// CHECK-NEXT:       8,
// CHECK-NEXT:       16
// CHECK-NEXT:     ],
// CHECK-NEXT:     "type": "f16"
// CHECK:          "type": "f32"
// CHECK:        "block": [
// CHECK-NEXT:     64,
// CHECK:        "entry": "kernel",
// CHECK-NEXT:   "function": "launch",
// CHECK-NEXT:   "grid": [
// CHECK-NEXT:     3,
// CHECK:        "module": "kernels",
// CHECK-NEXT:   "shared": 4096,
// CHECK-NEXT:   "workspace": 0
// Another shape of an argument is still the argument.
// CHECK:          "argument": 0,
// CHECK-NEXT:     "shape": [
// CHECK-NEXT:       1,
// CHECK-NEXT:       8,
// CHECK-NEXT:       16
// CHECK:        "function": "reshape",
// Memory that the kernel works in, some of it with zeros in it.
// CHECK:          "argument": 0,
// CHECK:          "buffer": 0,
// CHECK-NEXT:     "shape": [
// CHECK-NEXT:       3,
// CHECK-NEXT:       16
// CHECK-NEXT:     ],
// CHECK-NEXT:     "type": "f32"
// CHECK-NEXT:   },
// CHECK:          "buffer": 1,
// CHECK-NEXT:     "shape": [
// CHECK-NEXT:       2
// CHECK-NEXT:     ],
// CHECK-NEXT:     "type": "i32",
// CHECK-NEXT:     "zeroed": "once"
// CHECK:        "function": "parts",
// CHECK:        "workspace": 200
// CHECK-NOT:      "workspace"
// CHECK:          "buffer": 2,
// CHECK-NOT:      "zeroed"
// CHECK:          "buffer": 3,
// CHECK:      module attributes {chimera.manifest = "{\22host\22:[
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @kernel(%a: memref<8x16xf16>, %b: f32) kernel {
      gpu.return
    }
    gpu.func @combining(%a: memref<8x16xf16>, %b: memref<3x16xf32>, %c: memref<2xi32>) kernel {
      gpu.return
    }
  }
  func.func @launch(%b: f32, %a: memref<8x16xf16>) {
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    %threads = arith.constant 64 : index
    %shared = arith.constant 4096 : i32
    gpu.launch_func @kernels::@kernel blocks in (%three, %one, %one) threads in (%threads, %one, %one)
        dynamic_shared_memory_size %shared args(%a : memref<8x16xf16>, %b : f32)
    return
  }
  func.func @reshape(%a: memref<1x8x16xf16>, %b: f32) {
    %one = arith.constant 1 : index
    %flat = memref.collapse_shape %a [[0, 1], [2]] : memref<1x8x16xf16> into memref<8x16xf16>
    linalg.exp ins(%flat : memref<8x16xf16>) outs(%flat : memref<8x16xf16>)
    gpu.launch_func @kernels::@kernel blocks in (%one, %one, %one) threads in (%one, %one, %one)
        args(%flat : memref<8x16xf16>, %b : f32)
    %zero = arith.constant 0 : index
    scf.for %i = %zero to %one step %one {
      gpu.launch_func @kernels::@kernel blocks in (%one, %one, %one) threads in (%one, %one, %one)
          args(%flat : memref<8x16xf16>, %b : f32)
    }
    return
  }
  memref.global "private" @counters : memref<2xi32> = dense<0>
  func.func @parts(%a: memref<8x16xf16>) {
    %one = arith.constant 1 : index
    %parts = memref.alloc() : memref<3x16xf32>
    %counters = memref.get_global @counters : memref<2xi32>
    gpu.launch_func @kernels::@combining blocks in (%one, %one, %one) threads in (%one, %one, %one)
        args(%a : memref<8x16xf16>, %parts : memref<3x16xf32>, %counters : memref<2xi32>)
    memref.dealloc %parts : memref<3x16xf32>
    return
  }
  memref.global "private" constant @ones : memref<3x16xf32> = dense<1.0>
  func.func @constants(%a: memref<8x16xf16>) {
    %one = arith.constant 1 : index
    %parts = memref.get_global @ones : memref<3x16xf32>
    %counters = memref.get_global @counters : memref<2xi32>
    gpu.launch_func @kernels::@combining blocks in (%one, %one, %one) threads in (%one, %one, %one)
        args(%a : memref<8x16xf16>, %parts : memref<3x16xf32>, %counters : memref<2xi32>)
    return
  }
  func.func @host(%a: memref<8x16xf16>) {
    linalg.exp ins(%a : memref<8x16xf16>) outs(%a : memref<8x16xf16>)
    return
  }
}
