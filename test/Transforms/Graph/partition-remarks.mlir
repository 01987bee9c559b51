// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1" --remarks-filter=chimera --remark-policy=all --verify-diagnostics -o /dev/null

// The sum of all elements waits for every row, so what scales the rows by it is
// another group.

#map = affine_map<(d0, d1) -> (d0, d1)>
#all = affine_map<(d0, d1) -> ()>
func.func @scale(%x: tensor<2048x768xf32>, %number: tensor<f32>) -> tensor<2048x768xf32> {
  %e = tensor.empty() : tensor<2048x768xf32>
  // expected-remark-re @below {{4 operators in 2 groups: {{.*}} us, by themselves {{.*}} us (optimal; {{.*}} ideals, {{.*}} extensions, {{.*}} costs)}}
  %s = linalg.generic {indexing_maps = [#map, #all], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<2048x768xf32>) outs(%number : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  %y = linalg.exp ins(%x : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  // expected-remark @below {{4 bytes are stored between groups 0 and 1: there are no rows that all of them can make one after the other (rules for many_to_many before one_to_one: fuse)}}
  %z = linalg.generic {indexing_maps = [#map, #all, #map], iterator_types = ["parallel", "parallel"]}
      ins(%y, %s : tensor<2048x768xf32>, tensor<f32>) outs(%e : tensor<2048x768xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %c = arith.mulf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<2048x768xf32>
  // expected-remark-re @below {{group 1 of 3 operators: {{.*}} us, by themselves {{.*}} us; moves 12582916 bytes, 12582916 at least}}
  %v = linalg.sqrt ins(%z : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  return %v : tensor<2048x768xf32>
}
