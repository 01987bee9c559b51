// Copies of the tiles that a loop fills again, as a schedule written by hand has
// them: no more than the level of the target may have, nor than it has room for.
//
// RUN: chimera-opt %s --chimera-schedule=target=h200 --split-input-file --verify-diagnostics | FileCheck %s

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func @three
// CHECK:         <"SMEM" : m = 128, n = 128, k = 128>], parallel = 2, registers = <rows = 2, vectors = 4, broadcasts = 0, depth = 1, stages = 3>
// CHECK-SAME:    levels = [{{.*}}, <"SMEM", {{.*}}used = 196608>]
func.func @three(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf32> {
  %0 = chimera.chain ins(%x, %w : tensor<512x512xf16>, tensor<512x512xf16>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 128, n = 128, k = 128>], parallel = 2,
                registers = <rows = 2, vectors = 4, broadcasts = 0, depth = 1, stages = 3>>) {
  ^bb0(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>):
    %zero = arith.constant 0.0 : f32
    %1 = tensor.empty() : tensor<512x512xf32>
    %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>) outs(%2 : tensor<512x512xf32>) {
    ^bb0(%in: f16, %other: f16, %out: f32):
      %4 = arith.extf %in : f16 to f32
      %5 = arith.extf %other : f16 to f32
      %6 = arith.mulf %4, %5 : f32
      %7 = arith.addf %out, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<512x512xf32>
    chimera.yield %3 : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @too_large(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf32> {
  // expected-error @below {{schedule cannot run on target 'h200': level 'SMEM': the live set of 262144 bytes exceeds the usable 227799 of 232448 bytes}}
  %0 = chimera.chain ins(%x, %w : tensor<512x512xf16>, tensor<512x512xf16>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 128, n = 128, k = 128>], parallel = 2,
                registers = <rows = 2, vectors = 4, broadcasts = 0, depth = 1, stages = 4>>) {
  ^bb0(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>):
    %zero = arith.constant 0.0 : f32
    %1 = tensor.empty() : tensor<512x512xf32>
    %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>) outs(%2 : tensor<512x512xf32>) {
    ^bb0(%in: f16, %other: f16, %out: f32):
      %4 = arith.extf %in : f16 to f32
      %5 = arith.extf %other : f16 to f32
      %6 = arith.mulf %4, %5 : f32
      %7 = arith.addf %out, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<512x512xf32>
    chimera.yield %3 : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @five(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf32> {
  // expected-error @below {{schedule cannot run on target 'h200': register tile with 5 stages: level 'SMEM' has 2 to 4 copies of a tile}}
  %0 = chimera.chain ins(%x, %w : tensor<512x512xf16>, tensor<512x512xf16>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 128, n = 128, k = 128>], parallel = 2,
                registers = <rows = 2, vectors = 4, broadcasts = 0, depth = 1, stages = 5>>) {
  ^bb0(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>):
    %zero = arith.constant 0.0 : f32
    %1 = tensor.empty() : tensor<512x512xf32>
    %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>) outs(%2 : tensor<512x512xf32>) {
    ^bb0(%in: f16, %other: f16, %out: f32):
      %4 = arith.extf %in : f16 to f32
      %5 = arith.extf %other : f16 to f32
      %6 = arith.mulf %4, %5 : f32
      %7 = arith.addf %out, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<512x512xf32>
    chimera.yield %3 : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @one(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf32> {
  // expected-error @below {{schedule cannot run on target 'h200': register tile with 1 stages: level 'SMEM' has 2 to 4 copies of a tile}}
  %0 = chimera.chain ins(%x, %w : tensor<512x512xf16>, tensor<512x512xf16>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 128, n = 128, k = 128>], parallel = 2,
                registers = <rows = 2, vectors = 4, broadcasts = 0, depth = 1, stages = 1>>) {
  ^bb0(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>):
    %zero = arith.constant 0.0 : f32
    %1 = tensor.empty() : tensor<512x512xf32>
    %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>) outs(%2 : tensor<512x512xf32>) {
    ^bb0(%in: f16, %other: f16, %out: f32):
      %4 = arith.extf %in : f16 to f32
      %5 = arith.extf %other : f16 to f32
      %6 = arith.mulf %4, %5 : f32
      %7 = arith.addf %out, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<512x512xf32>
    chimera.yield %3 : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
