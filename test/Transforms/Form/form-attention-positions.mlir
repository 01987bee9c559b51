// RUN: chimera-opt %s -o /dev/null --chimera-form-chains=print-problem 2>&1 | FileCheck %s
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --threads=1 --fuse=always | FileCheck %s --check-prefix=RUNS %}

// Masks that compare positions leave a band of the scores, if the program
// computes positions in a type that holds them all. Otherwise they wrap, and the
// mask is what the program says.

// RUNS:      passed fits
// RUNS-NEXT: passed wraps
// RUNS-NEXT: passed sum_wraps
// RUNS-NEXT: passed sum_fits
// RUNS-NEXT: passed far

// Rows up to 127 fit i8.

// CHECK:     loops m = 128
// CHECK:     band l < m + 1
// CHECK:     loops m = 129
// CHECK-NOT: band
// CHECK:     loops m = 100
// CHECK-NOT: band
// CHECK:     loops m = 101
// CHECK:     band m + 27 <= l
// CHECK:     loops m = 300
// CHECK-NOT: band

#full = affine_map<(i, j) -> (i, j)>

func.func @fits(%q: tensor<128x8xf32>, %k: tensor<8x128xf32>, %v: tensor<128x8xf32>) -> tensor<128x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<128x128xf32>
  %out = tensor.empty() : tensor<128x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<128x128xf32>) -> tensor<128x128xf32>
  %product = linalg.matmul ins(%q, %k : tensor<128x8xf32>, tensor<8x128xf32>) outs(%0 : tensor<128x128xf32>) -> tensor<128x128xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<128x128xf32>) outs(%full : tensor<128x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %row = arith.index_cast %i : index to i8
    %column = arith.index_cast %j : index to i8
    %seen = arith.cmpi sge, %row, %column : i8
    %x = arith.select %seen, %a, %inf : f32
    linalg.yield %x : f32
  } -> tensor<128x128xf32>
  %weights = linalg.softmax dimension(1) ins(%scores : tensor<128x128xf32>) outs(%full : tensor<128x128xf32>) -> tensor<128x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%out : tensor<128x8xf32>) -> tensor<128x8xf32>
  %2 = linalg.matmul ins(%weights, %v : tensor<128x128xf32>, tensor<128x8xf32>) outs(%1 : tensor<128x8xf32>) -> tensor<128x8xf32>
  return %2 : tensor<128x8xf32>
}

// Row 128 is -128.

func.func @wraps(%q: tensor<129x8xf32>, %k: tensor<8x129xf32>, %v: tensor<129x8xf32>) -> tensor<129x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<129x129xf32>
  %out = tensor.empty() : tensor<129x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<129x129xf32>) -> tensor<129x129xf32>
  %product = linalg.matmul ins(%q, %k : tensor<129x8xf32>, tensor<8x129xf32>) outs(%0 : tensor<129x129xf32>) -> tensor<129x129xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<129x129xf32>) outs(%full : tensor<129x129xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %row = arith.index_cast %i : index to i8
    %column = arith.index_cast %j : index to i8
    %seen = arith.cmpi sge, %row, %column : i8
    %x = arith.select %seen, %a, %inf : f32
    linalg.yield %x : f32
  } -> tensor<129x129xf32>
  %weights = linalg.softmax dimension(1) ins(%scores : tensor<129x129xf32>) outs(%full : tensor<129x129xf32>) -> tensor<129x129xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%out : tensor<129x8xf32>) -> tensor<129x8xf32>
  %2 = linalg.matmul ins(%weights, %v : tensor<129x129xf32>, tensor<129x8xf32>) outs(%1 : tensor<129x8xf32>) -> tensor<129x8xf32>
  return %2 : tensor<129x8xf32>
}

// The row and 40 do not fit i8, though the rows do.

func.func @sum_wraps(%q: tensor<100x8xf32>, %k: tensor<8x100xf32>, %v: tensor<100x8xf32>) -> tensor<100x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<100x100xf32>
  %out = tensor.empty() : tensor<100x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<100x100xf32>) -> tensor<100x100xf32>
  %product = linalg.matmul ins(%q, %k : tensor<100x8xf32>, tensor<8x100xf32>) outs(%0 : tensor<100x100xf32>) -> tensor<100x100xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<100x100xf32>) outs(%full : tensor<100x100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %row = arith.index_cast %i : index to i8
    %column = arith.index_cast %j : index to i8
    %far = arith.constant 40 : i8
    %limit = arith.addi %row, %far : i8
    %seen = arith.cmpi sge, %column, %limit : i8
    %x = arith.select %seen, %a, %inf : f32
    linalg.yield %x : f32
  } -> tensor<100x100xf32>
  %weights = linalg.softmax dimension(1) ins(%scores : tensor<100x100xf32>) outs(%full : tensor<100x100xf32>) -> tensor<100x100xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%out : tensor<100x8xf32>) -> tensor<100x8xf32>
  %2 = linalg.matmul ins(%weights, %v : tensor<100x100xf32>, tensor<100x8xf32>) outs(%1 : tensor<100x8xf32>) -> tensor<100x8xf32>
  return %2 : tensor<100x8xf32>
}

func.func @sum_fits(%q: tensor<101x8xf32>, %k: tensor<8x101xf32>, %v: tensor<101x8xf32>) -> tensor<101x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<101x101xf32>
  %out = tensor.empty() : tensor<101x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<101x101xf32>) -> tensor<101x101xf32>
  %product = linalg.matmul ins(%q, %k : tensor<101x8xf32>, tensor<8x101xf32>) outs(%0 : tensor<101x101xf32>) -> tensor<101x101xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<101x101xf32>) outs(%full : tensor<101x101xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %row = arith.index_cast %i : index to i8
    %column = arith.index_cast %j : index to i8
    %far = arith.constant 27 : i8
    %limit = arith.addi %row, %far : i8
    %seen = arith.cmpi sge, %column, %limit : i8
    %x = arith.select %seen, %a, %inf : f32
    linalg.yield %x : f32
  } -> tensor<101x101xf32>
  %weights = linalg.softmax dimension(1) ins(%scores : tensor<101x101xf32>) outs(%full : tensor<101x101xf32>) -> tensor<101x101xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%out : tensor<101x8xf32>) -> tensor<101x8xf32>
  %2 = linalg.matmul ins(%weights, %v : tensor<101x101xf32>, tensor<101x8xf32>) outs(%1 : tensor<101x8xf32>) -> tensor<101x8xf32>
  return %2 : tensor<101x8xf32>
}

// All rows but the first wrap, and see every column.

func.func @far(%q: tensor<300x8xf32>, %k: tensor<8x300xf32>, %v: tensor<300x8xf32>) -> tensor<300x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %full = tensor.empty() : tensor<300x300xf32>
  %out = tensor.empty() : tensor<300x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%full : tensor<300x300xf32>) -> tensor<300x300xf32>
  %product = linalg.matmul ins(%q, %k : tensor<300x8xf32>, tensor<8x300xf32>) outs(%0 : tensor<300x300xf32>) -> tensor<300x300xf32>
  %scores = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<300x300xf32>) outs(%full : tensor<300x300xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %row = arith.index_cast %i : index to i32
    %column = arith.index_cast %j : index to i32
    %far = arith.constant 2147483647 : i32
    %limit = arith.addi %row, %far : i32
    %seen = arith.cmpi sge, %column, %limit : i32
    %x = arith.select %seen, %a, %inf : f32
    linalg.yield %x : f32
  } -> tensor<300x300xf32>
  %weights = linalg.softmax dimension(1) ins(%scores : tensor<300x300xf32>) outs(%full : tensor<300x300xf32>) -> tensor<300x300xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%out : tensor<300x8xf32>) -> tensor<300x8xf32>
  %2 = linalg.matmul ins(%weights, %v : tensor<300x300xf32>, tensor<300x8xf32>) outs(%1 : tensor<300x8xf32>) -> tensor<300x8xf32>
  return %2 : tensor<300x8xf32>
}
