// A program that is loaded on a processor without what it was compiled for says
// so in a line. What is called from outside is code for any x86-64 until that is
// known; the program itself is not.

// RUN: chimera-run %s --target=%S/Inputs/no-processor.mlir --emit=llvm | FileCheck %s
// RUN: chimera-run %s --target=%S/Inputs/no-processor.mlir --emit=asm -o %t.s
// RUN: FileCheck %s --check-prefix=ASM --input-file=%t.s
// RUN: not chimera-run %s --target=%S/Inputs/no-processor.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=HERE
// RUN: chimera-run %s --target=%S/Inputs/no-processor.mlir --emit=so -o %t.so
// RUN: not --crash %python -c "import ctypes; ctypes.CDLL('%t.so')._mlir_ciface_main()" \
// RUN:   > %t.said
// RUN: FileCheck %s --check-prefix=LOADED --input-file=%t.said
// RUN: chimera-run %s --emit=so -o %t.so
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so')._mlir_packed_main_check(None)"

// Code for tiles asks for their instructions as well.
// RUN: chimera-run %S/../../Integration/tiles.mlir --emit=llvm \
// RUN:   --target=%S/../../Integration/Inputs/tiles.mlir | FileCheck %s --check-prefix=TILES

// HERE: chimera-run: error: code for this target cannot run here: this machine lacks tbm
// LOADED: {{^}}this code is for a processor with tbm, which this machine lacks; compile it for this machine{{$}}

// CHECK-DAG:  c"this code is for a processor with avx2, which this machine lacks; compile it for this machine\00"
// CHECK-DAG:  c"this code is for a processor with tbm, which
// CHECK-NOT:  avx512
// CHECK:      define {{.*}} @chimera_ask_processor()
// CHECK:        asm sideeffect "cpuid"
// CHECK:        asm sideeffect "xgetbv"
// CHECK:      define {{.*}} @_mlir_ciface_main({{.*}}) {{.*}}#[[BASELINE:[0-9]+]]
// CHECK:        load {{.*}}, ptr @chimera_processor_is_known
// CHECK:        call {{.*}} @chimera_ask_processor()
// CHECK:        call {{.*}} @_mlir_ciface_main_unchecked(
// CHECK:      attributes #[[BASELINE]] = { {{.*}}"target-cpu"="x86-64" "target-features"

// ASM-LABEL: {{^}}_mlir_ciface_main_unchecked:
// ASM:         {{[yz]mm}}
// ASM-LABEL: {{^}}_mlir_packed_main:
// ASM-NOT:     {{[xyz]mm[0-9]}}
// ASM:         cpuid
// ASM-NOT:     {{[xyz]mm[0-9]}}

// TILES: processor with amx-bf16, which

func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {
  %0 = arith.addf %x, %x : tensor<256xf32>
  return %0 : tensor<256xf32>
}
