// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=4" --chimera-tile-memory-bound --cse --verify-diagnostics --remarks-filter=chimera | FileCheck %s

// A norm: all its operations share loops over rows, in parallel. The sum stays
// in the task; what is read elsewhere leaves it.

// CHECK-LABEL: func @norm(
// CHECK-SAME:    %[[X:.*]]: tensor<1024x96xf32>, %[[Y:.*]]: tensor<1024x96xf32>, %[[GAIN:.*]]: tensor<96xf32>)
// CHECK:         %[[RESULT:.*]]:2 = scf.forall (%[[I:.*]]) = (0) to (1024) step (16) shared_outs(%[[T:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}})
// CHECK:           %[[BUFFER:.*]] = tensor.empty() : tensor<16xf32>
// CHECK:           %[[TPART:.*]] = tensor.extract_slice %[[T]][%[[I]], 0] [16, 96]
// CHECK:           %[[SPART:.*]] = tensor.extract_slice %[[S]][%[[I]], 0] [16, 96]
// CHECK:           %[[XPART:.*]] = tensor.extract_slice %[[X]][%[[I]], 0] [16, 96]
// CHECK:           %[[YPART:.*]] = tensor.extract_slice %[[Y]][%[[I]], 0] [16, 96]
// CHECK:           %[[ADDED:.*]] = chimera.block "elementwise" ins(%[[XPART]], %[[YPART]] : {{.*}}) outs(%[[TPART]] : {{.*}}) extents {{\[\[}}16], [96]]
// CHECK:           %[[ZERO:.*]] = chimera.block "fill" outs(%[[BUFFER]] : tensor<16xf32>) extents {{\[\[}}16]]
// CHECK:           %[[SQUARE:.*]] = chimera.block "reduction" ins(%[[ADDED]] : {{.*}}) outs(%[[ZERO]] : {{.*}}) extents {{\[\[}}16], [96]]
// CHECK:           %[[SCALED:.*]] = chimera.block "elementwise" ins(%[[ADDED]], %[[SQUARE]], %[[GAIN]] : {{.*}}) outs(%[[SPART]] :
// CHECK:           tensor.parallel_insert_slice %[[ADDED]] into %[[T]][%[[I]], 0] [16, 96]
// CHECK:           tensor.parallel_insert_slice %[[SCALED]] into %[[S]][%[[I]], 0] [16, 96]
// CHECK:         return %[[RESULT]]#0, %[[RESULT]]#1
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @norm(%x: tensor<1024x96xf32>, %y: tensor<1024x96xf32>, %gain: tensor<96xf32>) -> (tensor<1024x96xf32>, tensor<1024x96xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1024x96xf32>
  %1 = tensor.empty() : tensor<1024xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<1024x96xf32>, tensor<1024x96xf32>) outs(%0 : tensor<1024x96xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<1024x96xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<1024xf32>) -> tensor<1024xf32>
  %square = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%t : tensor<1024x96xf32>) outs(%acc : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.mulf %in, %in : f32
    %a = arith.addf %out, %s : f32
    linalg.yield %a : f32
  } -> tensor<1024xf32>
  // expected-remark @below {{3 operation(s) as 64 parallel task(s)}}
  %scaled = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t, %square, %gain : tensor<1024x96xf32>, tensor<1024xf32>, tensor<96xf32>) outs(%0 : tensor<1024x96xf32>) {
  ^bb0(%in: f32, %q: f32, %g: f32, %out: f32):
    %r = math.rsqrt %q : f32
    %s = arith.mulf %in, %r : f32
    %u = arith.mulf %s, %g : f32
    linalg.yield %u : f32
  } -> tensor<1024x96xf32>
  return %t, %scaled : tensor<1024x96xf32>, tensor<1024x96xf32>
}

// -----

// Little work is not worth other threads, nor loops if it fits the innermost
// level.

// CHECK-LABEL: func @small(
// CHECK-SAME:    %[[X:.*]]: tensor<8x96xf32>
// CHECK-NOT:     scf
// CHECK:         %[[R:.*]] = chimera.block "elementwise" ins(%[[X]] : tensor<8x96xf32>) outs(%{{.*}} : tensor<8x96xf32>) extents {{\[\[}}8], [96]]
// CHECK:         return %[[R]]
#id = affine_map<(i, j) -> (i, j)>
func.func @small(%x: tensor<8x96xf32>) -> tensor<8x96xf32> {
  %0 = tensor.empty() : tensor<8x96xf32>
  // expected-remark @below {{1 operation(s) as 1 sequential task(s)}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x96xf32>) outs(%0 : tensor<8x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.negf %in : f32
    linalg.yield %s : f32
  } -> tensor<8x96xf32>
  return %1 : tensor<8x96xf32>
}

// -----

// A prime number of rows: tasks as even as can be, the last one smaller. Its
// size is a value; which sizes occur is known.

// CHECK-LABEL: func @edge(
// CHECK:         scf.forall (%[[I:.*]]) = (0) to (197) step (
// CHECK:           %[[SIZE:.*]] = affine.min
// CHECK:           chimera.block "elementwise" ins(%{{.*}} : tensor<?x768xf32>) outs(%{{.*}} : tensor<?x768xf32>) extents {{\[\[}}50, 47], [768]]
#id = affine_map<(i, j) -> (i, j)>
func.func @edge(%x: tensor<197x768xf32>) -> tensor<197x768xf32> {
  %0 = tensor.empty() : tensor<197x768xf32>
  // expected-remark @below {{1 operation(s) as 4 parallel task(s)}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<197x768xf32>) outs(%0 : tensor<197x768xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.negf %in : f32
    linalg.yield %s : f32
  } -> tensor<197x768xf32>
  return %1 : tensor<197x768xf32>
}

// -----

// A transpose is cut into squares that the innermost level holds twice, a
// reduction of columns into strips of its result, multiples of a vector wide.

// CHECK-LABEL: func @columns(
// CHECK:         scf.forall (%[[I:.*]], %[[K:.*]]) = (0, 0) to (512, 512) step (64, 64)
// CHECK:           chimera.block "elementwise" ins(%{{.*}} : tensor<64x64xf32>) outs(%{{.*}} : tensor<64x64xf32>) extents {{\[\[}}64], [64]]
// CHECK:         scf.forall (%[[J:.*]]) = (0) to (512) step (128)
// CHECK:           chimera.block "fill" outs(%{{.*}} : tensor<128xf32>)
// CHECK:           chimera.block "reduction" ins(%{{.*}} : tensor<512x128xf32>) outs(%{{.*}} : tensor<128xf32>) extents {{\[\[}}512], [128]]
#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#column = affine_map<(i, j) -> (j)>
func.func @columns(%x: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x512xf32>
  // expected-remark @below {{1 operation(s) as 64 parallel task(s)}}
  %1 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<512x512xf32>
  %2 = tensor.empty() : tensor<512xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%2 : tensor<512xf32>) -> tensor<512xf32>
  // expected-remark @below {{1 operation(s) as 4 parallel task(s)}}
  %3 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<512x512xf32>) outs(%acc : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  return %1, %3 : tensor<512x512xf32>, tensor<512xf32>
}

// -----

// A body that asks for its place gets the task's offset; what it captures
// becomes an input.

// CHECK-LABEL: func @index(
// CHECK-SAME:    %[[F:.*]]: f32)
// CHECK:         scf.forall (%[[I:.*]]) = (0) to (1024)
// CHECK:           chimera.block "elementwise" ins(%[[F]], %[[I]] : f32, index) outs(
// CHECK:             linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : f32, index)
// CHECK:             ^bb0(%[[IN:.*]]: f32, %[[OFFSET:.*]]: index, %{{.*}}: f32):
// CHECK:               %[[LOCAL:.*]] = linalg.index 0
// CHECK:               %[[ROW:.*]] = arith.addi %[[LOCAL]], %[[OFFSET]]
// CHECK:               %[[COLUMN:.*]] = linalg.index 1
// CHECK:               arith.cmpi ule, %[[COLUMN]], %[[ROW]]
// CHECK:               arith.select %{{.*}}, %[[IN]]
#id = affine_map<(i, j) -> (i, j)>
func.func @index(%f: f32) -> tensor<1024x256xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1024x256xf32>
  // expected-remark @below {{parallel task(s)}}
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%0 : tensor<1024x256xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %keep = arith.cmpi ule, %j, %i : index
    %s = arith.select %keep, %f, %zero : f32
    linalg.yield %s : f32
  } -> tensor<1024x256xf32>
  return %1 : tensor<1024x256xf32>
}

// -----

// What depends on a member but is none moves behind the loops; if a member
// depends on it in turn, the loops are apart.

// CHECK-LABEL: func @detour(
// CHECK:         %[[A:.*]] = scf.forall
// CHECK:           math.exp
// CHECK:         %[[E:.*]] = tensor.extract %[[A]]
// CHECK:         %[[S:.*]] = tensor.splat %[[E]]
// CHECK:         %[[B:.*]]:2 = scf.forall
// CHECK-DAG:       arith.mulf
// CHECK-DAG:       arith.addf
// CHECK:         %[[F:.*]] = tensor.extract %[[B]]#0
// CHECK:         return %[[B]]#1, %[[F]]
#id = affine_map<(i, j) -> (i, j)>
func.func @detour(%x: tensor<256x256xf32>, %i: index) -> (tensor<256x256xf32>, f32) {
  %0 = tensor.empty() : tensor<256x256xf32>
  // expected-remark @below {{1 operation(s) as}}
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x256xf32>) outs(%0 : tensor<256x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %e = tensor.extract %a[%i, %i] : tensor<256x256xf32>
  %splat = tensor.splat %e : tensor<256x256xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %splat : tensor<256x256xf32>, tensor<256x256xf32>) outs(%0 : tensor<256x256xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.mulf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %f = tensor.extract %b[%i, %i] : tensor<256x256xf32>
  // expected-remark @below {{2 operation(s) as}}
  %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%0 : tensor<256x256xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %c, %f : tensor<256x256xf32>, f32
}

// -----

// What one group makes at once is read before all of it is computed in the
// program's order: %x comes after the loops of the last group, which need all of
// %m. So %m is in no task of %x, and planning knows it before there are loops.

// CHECK-LABEL: func @between(
// CHECK:         %[[M:.*]] = scf.forall
// CHECK:           math.exp
// CHECK:         %[[G:.*]]:2 = scf.forall
// CHECK:           chimera.block
// CHECK:           chimera.block
// CHECK:           chimera.block
// CHECK:         %[[X:.*]] = scf.forall
// CHECK:           arith.subf
// CHECK:         return %[[X]], %[[G]]#1
#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
func.func @between(%y: tensor<512x512xf32>, %z: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %0 = tensor.empty() : tensor<512x512xf32>
  // expected-remark @below {{1 operation(s) as}}
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %p2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.negf %in : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  // expected-remark @below {{1 operation(s) as}}
  %x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %p2 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.subf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %p1 = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %m : tensor<512x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.mulf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  // expected-remark @below {{3 operation(s) as}}
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p1, %p2 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %x, %r : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// A fill that is needed as such is tiled; one that starts something is not.

// CHECK-LABEL: func @fill(
// CHECK:         scf.forall
// CHECK:           chimera.block "fill"
// CHECK:         %[[START:.*]] = linalg.fill {{.*}} tensor<256x256xi32>
// CHECK-NEXT:    linalg.matmul {{.*}} outs(%[[START]] :
func.func @fill(%a: tensor<256x256xi8>) -> (tensor<1024x256xf32>, tensor<256x256xi32>) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<1024x256xf32>
  // expected-remark @below {{1 operation(s) as}}
  %1 = linalg.fill ins(%one : f32) outs(%0 : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %2 = tensor.empty() : tensor<256x256xi32>
  %3 = linalg.fill ins(%zero : i32) outs(%2 : tensor<256x256xi32>) -> tensor<256x256xi32>
  %4 = linalg.matmul ins(%a, %a : tensor<256x256xi8>, tensor<256x256xi8>) outs(%3 : tensor<256x256xi32>) -> tensor<256x256xi32>
  return %1, %4 : tensor<1024x256xf32>, tensor<256x256xi32>
}

// -----

// What is filled where a reduction belongs is where the loops compute it.

// CHECK-LABEL: func @place(
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %{{.*}}[1] [256]
// CHECK:         %[[SUM:.*]] = scf.forall {{.*}} shared_outs(%{{.*}} = %[[PLACE]])
// CHECK:         tensor.insert_slice %[[SUM]] into
func.func @place(%x: tensor<256x1024xf32>, %whole: tensor<257xf32>) -> tensor<257xf32> {
  %zero = arith.constant 0.0 : f32
  %place = tensor.extract_slice %whole[1] [256] [1] : tensor<257xf32> to tensor<256xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%place : tensor<256xf32>) -> tensor<256xf32>
  // expected-remark @below {{1 operation(s) as 4 parallel task(s)}}
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<256x1024xf32>) outs(%acc : tensor<256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<256xf32>
  %0 = tensor.insert_slice %sum into %whole[1] [256] [1] : tensor<256xf32> into tensor<257xf32>
  return %0 : tensor<257xf32>
}

// -----

// What is left to plain loops, and why.

// CHECK-LABEL: func @refused(
// CHECK-NOT:     chimera
#id = affine_map<(i) -> (i)>
#even = affine_map<(i) -> (i * 2)>
func.func private @log(f32)
func.func @refused(%d: tensor<?xf32>, %m: memref<8xf32>, %x: tensor<16xf32>, %y: tensor<8xf32>) -> (tensor<?xf32>, tensor<8xf32>, tensor<8xf32>) {
  // expected-remark @below {{left to plain loops: a shape is not static or has no elements, or elements are no numbers}}
  %0 = linalg.exp ins(%d : tensor<?xf32>) outs(%d : tensor<?xf32>) -> tensor<?xf32>
  // expected-remark @below {{left to plain loops: it does not work on tensors}}
  linalg.exp ins(%m : memref<8xf32>) outs(%m : memref<8xf32>)
  // expected-remark @below {{left to plain loops: an operand is not indexed by a projected permutation}}
  %1 = linalg.generic {indexing_maps = [#even, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  // expected-remark @below {{left to plain loops: its body is more than arithmetic on scalars}}
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%y : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    func.call @log(%in) : (f32) -> ()
    linalg.yield %in : f32
  } -> tensor<8xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<8xf32>, tensor<8xf32>
}
