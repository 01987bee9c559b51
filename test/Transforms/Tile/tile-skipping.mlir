// RUN: chimera-opt %s --chimera-tile --canonicalize | FileCheck %s
// RUN: sed 's/ clip>/>/' %s | chimera-opt --chimera-tile --canonicalize | FileCheck %s --check-prefix=WHOLE
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --threads=1 | FileCheck %s --check-prefix=RUNS %}

// The mask leaves columns i - 10 to i + 20 of row i. Loops around one operator
// leave out the tiles without any, here all that is left out, as the loop around
// both cuts rows alone. Scores that nobody computes are zero before the mask
// makes something of them; the reader of the exponentials needs nothing instead.

// WHOLE-NOT: affine.max

// RUNS: passed rows
// RUNS: passed columns

// CHECK-DAG: #[[$FIRST_ROW:.*]] = affine_map<()[s0, s1] -> (0, ((-s0 + s1 - 20) floordiv 12) * 12)>
// CHECK-DAG: #[[$LAST_ROW:.*]] = affine_map<()[s0, s1] -> (-s0 + 64, -s0 + s1 + 42, 48)>
// CHECK-DAG: #[[$BEHIND:.*]] = affine_map<()[s0] -> (0, (s0 ceildiv 12) * 12)>
// CHECK-DAG: #[[$LAST:.*]] = affine_map<(d0, d1)[s0] -> (96, d0 + d1 + s0 + 20)>
// CHECK-DAG: #[[$FIRST:.*]] = affine_map<(d0, d1) -> (0, ((d0 + d1 - 10) floordiv 32) * 32)>

// CHECK-LABEL: func.func @rows
// CHECK:         scf.for %[[I:[^ ]*]] =
// CHECK:           %[[ROWS:.*]] = affine.min
// CHECK:           scf.for %[[J:[^ ]*]] = %{{[^ ]*}} to %{{[^ ]*}} step %{{[^ ]*}}
// CHECK:             %[[BEGIN:.*]] = affine.max #[[$FIRST_ROW]]()[%[[I]], %[[J]]]
// CHECK:             %[[END:.*]] = affine.min #[[$LAST_ROW]]()[%[[I]], %[[J]]]
// CHECK:             %[[BEFORE:.*]] = affine.min
// CHECK:             %[[BEHIND:.*]] = affine.max #[[$BEHIND]]()[%[[END]]]
// CHECK:             scf.for %{{.*}} = %{{[^ ]*}} to %[[BEFORE]] step
// CHECK:               linalg.fill
// CHECK:             scf.for %{{.*}} = %[[BEHIND]] to %[[ROWS]] step
// CHECK:               linalg.fill
// CHECK:             scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step
// CHECK:               chimera.block "gemm0" ins
// CHECK:           math.exp2
// CHECK:           scf.for %[[K:[^ ]*]] =
// CHECK:             %[[OWN:.*]] = affine.min
// CHECK:             linalg.fill
// CHECK:             %[[LAST:.*]] = affine.min #[[$LAST]](%[[I]], %[[K]])[%[[OWN]]]
// CHECK:             %[[FIRST:.*]] = affine.max #[[$FIRST]](%[[I]], %[[K]])
// CHECK-NEXT:        scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step
// CHECK-NOT:           linalg.fill
// CHECK:               chimera.block "gemm1" ins
#q = affine_map<(b, m, l, k) -> (b, m, k)>
#k = affine_map<(b, m, l, k) -> (b, l, k)>
#s = affine_map<(b, m, l, k) -> (b, m, l)>
#v = affine_map<(b, m, n, l) -> (b, l, n)>
#id = affine_map<(b, m, l) -> (b, m, l)>
#row = affine_map<(b, m, l) -> (b, m)>
func.func @rows(%q: tensor<1x64x16xf32>, %k: tensor<1x96x16xf32>, %v: tensor<1x96x32xf32>) -> tensor<1x64x32xf32> {
  %0 = chimera.chain ins(%q, %k, %v : tensor<1x64x16xf32>, tensor<1x96x16xf32>, tensor<1x96x32xf32>)
      schedule(<levels = [<"L3">, <"L2" : m = 48>, <"L1" : l = 32 around [0], m = 12 around [0], m = 12 around [1], l = 32 around [1]>], parallel = 0, registers = <rows = 6, vectors = 2, broadcasts = 2, depth = 4>, packed = [1], blocks = <rows <line = 64, apart = 4> base2 [0] clip>>) {
  ^bb0(%a: tensor<1x64x16xf32>, %b: tensor<1x96x16xf32>, %c: tensor<1x96x32xf32>):
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32
    %s_init = tensor.empty() : tensor<1x64x96xf32>
    %r_init = tensor.empty() : tensor<1x64xf32>
    %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<1x64x96xf32>) -> tensor<1x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<1x64x16xf32>, tensor<1x96x16xf32>) outs(%s_zero : tensor<1x64x96xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.mulf %x, %y : f32
      %2 = arith.addf %z, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<1x64x96xf32>
    %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%s : tensor<1x64x96xf32>) outs(%s_init : tensor<1x64x96xf32>) {
    ^bb0(%x: f32, %z: f32):
      %c10 = arith.constant 10 : index
      %c20 = arith.constant 20 : index
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %last = arith.addi %i, %c20 : index
      %first = arith.addi %j, %c10 : index
      %1 = arith.cmpi sle, %j, %last : index
      %2 = arith.cmpi sge, %first, %i : index
      %3 = arith.andi %1, %2 : i1
      %4 = arith.select %3, %x, %low : f32
      linalg.yield %4 : f32
    } -> tensor<1x64x96xf32>
    %m_init = linalg.fill ins(%low : f32) outs(%r_init : tensor<1x64xf32>) -> tensor<1x64xf32>
    %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%t : tensor<1x64x96xf32>) outs(%m_init : tensor<1x64xf32>) {
    ^bb0(%x: f32, %z: f32):
      %1 = arith.maximumf %z, %x fastmath<nnan> : f32
      linalg.yield %1 : f32
    } -> tensor<1x64xf32>
    %e = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%t, %m : tensor<1x64x96xf32>, tensor<1x64xf32>) outs(%s_init : tensor<1x64x96xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.cmpf oeq, %y, %low : f32
      %2 = arith.select %1, %zero, %y : f32
      %3 = arith.subf %x, %2 : f32
      %4 = math.exp %3 : f32
      linalg.yield %4 : f32
    } -> tensor<1x64x96xf32>
    %r_zero = linalg.fill ins(%zero : f32) outs(%r_init : tensor<1x64xf32>) -> tensor<1x64xf32>
    %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%e : tensor<1x64x96xf32>) outs(%r_zero : tensor<1x64xf32>) {
    ^bb0(%x: f32, %z: f32):
      %1 = arith.addf %z, %x : f32
      linalg.yield %1 : f32
    } -> tensor<1x64xf32>
    %o_init = tensor.empty() : tensor<1x64x32xf32>
    %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
    %o = linalg.generic {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%e, %c : tensor<1x64x96xf32>, tensor<1x96x32xf32>) outs(%o_zero : tensor<1x64x32xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.mulf %x, %y : f32
      %2 = arith.addf %z, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<1x64x32xf32>
    %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%o, %r : tensor<1x64x32xf32>, tensor<1x64xf32>) outs(%o_init : tensor<1x64x32xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.divf %x, %y : f32
      linalg.yield %1 : f32
    } -> tensor<1x64x32xf32>
    chimera.yield %d : tensor<1x64x32xf32>
  } -> tensor<1x64x32xf32>
  return %0 : tensor<1x64x32xf32>
}

// The same with the loops of both operators the other way round.

// CHECK-LABEL: func.func @columns
// CHECK:         scf.for %[[I:[^ ]*]] =
// CHECK:           scf.for %[[J:[^ ]*]] =
// CHECK:             %[[OWN:.*]] = affine.min
// CHECK:             %[[LAST:.*]] = affine.min #[[$LAST]](%[[I]], %[[J]])[%[[OWN]]]
// CHECK:             %[[FIRST:.*]] = affine.max #[[$FIRST]](%[[I]], %[[J]])
// CHECK:             scf.for
// CHECK:               linalg.fill
// CHECK:             scf.for
// CHECK:               linalg.fill
// CHECK:             scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step
// CHECK:               chimera.block "gemm0" ins
// CHECK:           math.exp2
// CHECK:           linalg.fill
// CHECK:           scf.for %[[K:[^ ]*]] =
// CHECK:             %[[BEGIN:.*]] = affine.max #[[$FIRST_ROW]]()[%[[I]], %[[K]]]
// CHECK:             %[[END:.*]] = affine.min #[[$LAST_ROW]]()[%[[I]], %[[K]]]
// CHECK-NEXT:        scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step
// CHECK:               chimera.block "gemm1" ins
func.func @columns(%q: tensor<1x64x16xf32>, %k: tensor<1x96x16xf32>, %v: tensor<1x96x32xf32>) -> tensor<1x64x32xf32> {
  %0 = chimera.chain ins(%q, %k, %v : tensor<1x64x16xf32>, tensor<1x96x16xf32>, tensor<1x96x32xf32>)
      schedule(<levels = [<"L3">, <"L2" : m = 48>, <"L1" : m = 12 around [0], l = 32 around [0], l = 32 around [1], m = 12 around [1]>], parallel = 0, registers = <rows = 6, vectors = 2, broadcasts = 2, depth = 4>, packed = [1], blocks = <rows <line = 64, apart = 4> base2 [0] clip>>) {
  ^bb0(%a: tensor<1x64x16xf32>, %b: tensor<1x96x16xf32>, %c: tensor<1x96x32xf32>):
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32
    %s_init = tensor.empty() : tensor<1x64x96xf32>
    %r_init = tensor.empty() : tensor<1x64xf32>
    %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<1x64x96xf32>) -> tensor<1x64x96xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<1x64x16xf32>, tensor<1x96x16xf32>) outs(%s_zero : tensor<1x64x96xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.mulf %x, %y : f32
      %2 = arith.addf %z, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<1x64x96xf32>
    %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%s : tensor<1x64x96xf32>) outs(%s_init : tensor<1x64x96xf32>) {
    ^bb0(%x: f32, %z: f32):
      %c10 = arith.constant 10 : index
      %c20 = arith.constant 20 : index
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %last = arith.addi %i, %c20 : index
      %first = arith.addi %j, %c10 : index
      %1 = arith.cmpi sle, %j, %last : index
      %2 = arith.cmpi sge, %first, %i : index
      %3 = arith.andi %1, %2 : i1
      %4 = arith.select %3, %x, %low : f32
      linalg.yield %4 : f32
    } -> tensor<1x64x96xf32>
    %m_init = linalg.fill ins(%low : f32) outs(%r_init : tensor<1x64xf32>) -> tensor<1x64xf32>
    %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%t : tensor<1x64x96xf32>) outs(%m_init : tensor<1x64xf32>) {
    ^bb0(%x: f32, %z: f32):
      %1 = arith.maximumf %z, %x fastmath<nnan> : f32
      linalg.yield %1 : f32
    } -> tensor<1x64xf32>
    %e = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%t, %m : tensor<1x64x96xf32>, tensor<1x64xf32>) outs(%s_init : tensor<1x64x96xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.cmpf oeq, %y, %low : f32
      %2 = arith.select %1, %zero, %y : f32
      %3 = arith.subf %x, %2 : f32
      %4 = math.exp %3 : f32
      linalg.yield %4 : f32
    } -> tensor<1x64x96xf32>
    %r_zero = linalg.fill ins(%zero : f32) outs(%r_init : tensor<1x64xf32>) -> tensor<1x64xf32>
    %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%e : tensor<1x64x96xf32>) outs(%r_zero : tensor<1x64xf32>) {
    ^bb0(%x: f32, %z: f32):
      %1 = arith.addf %z, %x : f32
      linalg.yield %1 : f32
    } -> tensor<1x64xf32>
    %o_init = tensor.empty() : tensor<1x64x32xf32>
    %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
    %o = linalg.generic {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%e, %c : tensor<1x64x96xf32>, tensor<1x96x32xf32>) outs(%o_zero : tensor<1x64x32xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.mulf %x, %y : f32
      %2 = arith.addf %z, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<1x64x32xf32>
    %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%o, %r : tensor<1x64x32xf32>, tensor<1x64xf32>) outs(%o_init : tensor<1x64x32xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.divf %x, %y : f32
      linalg.yield %1 : f32
    } -> tensor<1x64x32xf32>
    chimera.yield %d : tensor<1x64x32xf32>
  } -> tensor<1x64x32xf32>
  return %0 : tensor<1x64x32xf32>
}
