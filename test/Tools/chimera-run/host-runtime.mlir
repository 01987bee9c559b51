// Libraries for a host with threads of its own: what they are linked against, what
// the manifest says, and that a failed assertion ends the call alone.

// RUN: chimera-run %s --threads=2 --constant=1 --emit=so -o %t.so --json=%t.json \
// RUN:   --runtime=%chimera_obj_root/lib/libchimera_runtime.so
// RUN: FileCheck %s --input-file=%t.json
// RUN: llvm-readelf --needed-libs %t.so | FileCheck %s --check-prefix=NEEDED
// RUN: %python %S/Inputs/call_hosted.py %chimera_obj_root/lib/libchimera_runtime.so %t.so %t.json
// RUN: chimera-run %s --emit=obj -o %t.o --report=%t.html
// RUN: FileCheck %s --check-prefix=PAGE --input-file=%t.html
// RUN: not chimera-run %s --emit=obj -o %t.o --runtime=x.so 2>&1 \
// RUN:   | FileCheck %s --check-prefix=KIND
// RUN: not chimera-run %s --emit=so -o %t.so --runtime=%t.none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// RUN: not chimera-run %s --emit=mlir --json=%t.json 2>&1 | FileCheck %s --check-prefix=MLIR

// CHECK: "chains": [
// CHECK: "verdict":
// CHECK: "constants": [
// CHECK-NEXT: 1
// CHECK: "name": "main"
// CHECK-NEXT: "panels": [
// CHECK: "prepared": true
// CHECK: "shape": [
// CHECK-NEXT: null
// CHECK-NEXT: 48
// CHECK: "sizes": true
// CHECK: "obstacles": {}
// CHECK: "schema": 1
// CHECK: "threads": 2

// NEEDED: libchimera_runtime.so
// NEEDED-NOT: libomp
// PAGE: <html
// KIND: chimera-run: error: --runtime goes with --emit=so
// MISSING: chimera-run: error: the library {{.*}}.none, which programs call, is missing
// MLIR: chimera-run: error: --emit=mlir has no manifest; --report has the plans

func.func @main(%x: tensor<?x32xf32>, %w: tensor<48x32xf32>) -> tensor<?x48xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %most = arith.constant 100 : index
  %rows = tensor.dim %x, %c0 : tensor<?x32xf32>
  %fits = arith.cmpi sle, %rows, %most : index
  cf.assert %fits, "more than 100 rows"
  %empty = tensor.empty(%rows) : tensor<?x48xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x48xf32>) -> tensor<?x48xf32>
  %wt_empty = tensor.empty() : tensor<32x48xf32>
  %wt = linalg.transpose ins(%w : tensor<48x32xf32>) outs(%wt_empty : tensor<32x48xf32>)
      permutation = [1, 0]
  %0 = linalg.matmul ins(%x, %wt : tensor<?x32xf32>, tensor<32x48xf32>)
      outs(%zeros : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
