// A slice that is put back where it was taken, once it has been written over,
// has never left its place: no kernel runs for it, and it takes no time. One
// that goes elsewhere is copied.

// RUN: chimera-opt %s --chimera-partition='target=zen5 threads=1' \
// RUN:   --mlir-disable-threading --chimera-report=%t.json -o /dev/null
// RUN: FileCheck %s --input-file=%t.json

#map = affine_map<(d0, d1) -> (d0, d1)>

// CHECK: "function": "moved"
// CHECK: "id": 2,
// CHECK: "is_kernel": true,
// CHECK: "seconds": {{(0.000)?[1-9]}}
func.func @moved(%x: tensor<512x1024xf32>, %whole: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %slice = tensor.extract_slice %whole[0, 0] [512, 1024] [1, 1] : tensor<1024x1024xf32> to tensor<512x1024xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x1024xf32>) outs(%slice : tensor<512x1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x1024xf32>
  %all = tensor.insert_slice %y into %whole[512, 0] [512, 1024] [1, 1] : tensor<512x1024xf32> into tensor<1024x1024xf32>
  return %all : tensor<1024x1024xf32>
}

// CHECK: "function": "put_back"
// CHECK: "id": 2,
// CHECK: "is_kernel": false,
// CHECK: "seconds": 0,
func.func @put_back(%x: tensor<512x1024xf32>, %whole: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %slice = tensor.extract_slice %whole[0, 0] [512, 1024] [1, 1] : tensor<1024x1024xf32> to tensor<512x1024xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x1024xf32>) outs(%slice : tensor<512x1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x1024xf32>
  %all = tensor.insert_slice %y into %whole[0, 0] [512, 1024] [1, 1] : tensor<512x1024xf32> into tensor<1024x1024xf32>
  return %all : tensor<1024x1024xf32>
}
