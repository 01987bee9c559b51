// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1 rank=1" --remarks-filter=chimera --remark-policy=all --verify-diagnostics | FileCheck %s

// The cheapest partition has both operators in one group. There is one other.

// CHECK-LABEL: func @two
// CHECK:         #chimera.group<id = 0, kind = single, mapping = one_to_one>
// CHECK:         #chimera.group<id = 1, kind = single, mapping = one_to_one>
func.func @two(%x: tensor<2048x768xf32>) -> tensor<2048x768xf32> {
  %e = tensor.empty() : tensor<2048x768xf32>
  // expected-remark-re @below {{2 operators in 2 groups: {{.*}} us, by themselves {{.*}} us (not the cheapest, as asked for; {{.*}})}}
  %y = linalg.exp ins(%x : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  // expected-remark-re @below {{6291456 bytes are stored between groups 0 and 1: together they take {{.*}} us, by themselves {{.*}} us (rules for one_to_one before one_to_one: fuse)}}
  %z = linalg.sqrt ins(%y : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  return %z : tensor<2048x768xf32>
}

// CHECK-LABEL: func @one
// CHECK:         #chimera.group<id = 0, kind = single, mapping = one_to_one>
func.func @one(%x: tensor<2048x768xf32>) -> tensor<2048x768xf32> {
  %e = tensor.empty() : tensor<2048x768xf32>
  // expected-remark @below {{there are 0 partitions besides the cheapest, which is kept}}
  // expected-remark-re @below {{1 operators in 1 groups: {{.*}} (optimal; {{.*}})}}
  %y = linalg.exp ins(%x : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  return %y : tensor<2048x768xf32>
}
