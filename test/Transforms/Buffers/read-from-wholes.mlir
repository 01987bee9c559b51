// RUN: chimera-opt %s --chimera-read-from-wholes --split-input-file | FileCheck %s

// What comes after the insertion reads the last whole there is by then; what
// comes before it, and the insertion itself, do not.

// CHECK-LABEL: func.func @part(
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %{{.*}}[1] [4] [1]
// CHECK:         %[[PART:.*]] = linalg.exp {{.*}} outs(%[[PLACE]] :
// CHECK:         linalg.log ins(%[[PART]] :
// CHECK:         %[[ONE:.*]] = tensor.insert_slice %[[PART]] into
// CHECK-NEXT:    %[[FIRST:.*]] = tensor.extract_slice %[[ONE]][1] [4] [1]
// CHECK:         linalg.abs ins(%[[FIRST]] :
// CHECK:         %[[TWO:.*]] = tensor.insert_slice %{{.*}} into %[[ONE]][5] [4]
// CHECK-NEXT:    %[[LAST:.*]] = tensor.extract_slice %[[TWO]][1] [4] [1]
// CHECK:         scf.for
// CHECK:           linalg.add ins(%[[LAST]],
// CHECK:         return {{.*}}, %[[LAST]] :
func.func @part(%whole: tensor<9xf32>, %x: tensor<4xf32>, %e: tensor<4xf32>)
    -> (tensor<9xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %place = tensor.extract_slice %whole[1] [4] [1] : tensor<9xf32> to tensor<4xf32>
  %part = linalg.exp ins(%x : tensor<4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %log = linalg.log ins(%part : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %one = tensor.insert_slice %part into %whole[1] [4] [1] : tensor<4xf32> into tensor<9xf32>
  %abs = linalg.abs ins(%part : tensor<4xf32>) outs(%log : tensor<4xf32>) -> tensor<4xf32>
  %two = tensor.insert_slice %x into %one[5] [4] [1] : tensor<4xf32> into tensor<9xf32>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %abs) -> (tensor<4xf32>) {
    %n = linalg.add ins(%part, %t : tensor<4xf32>, tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  return %two, %abs, %sum, %part : tensor<9xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// What was computed elsewhere is read there.

// CHECK-LABEL: func.func @elsewhere(
// CHECK-NOT:     tensor.extract_slice %{{.*}}[2]
// CHECK:         %[[PART:.*]] = linalg.exp
// CHECK:         tensor.insert_slice
// CHECK-NEXT:    linalg.log ins(%[[PART]] :
func.func @elsewhere(%whole: tensor<9xf32>, %x: tensor<4xf32>, %e: tensor<4xf32>)
    -> (tensor<9xf32>, tensor<4xf32>) {
  %place = tensor.extract_slice %whole[1] [4] [1] : tensor<9xf32> to tensor<4xf32>
  %part = linalg.exp ins(%x : tensor<4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %one = tensor.insert_slice %part into %whole[2] [4] [1] : tensor<4xf32> into tensor<9xf32>
  %log = linalg.log ins(%part : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %one, %log : tensor<9xf32>, tensor<4xf32>
}
