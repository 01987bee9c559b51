// Each function is judged by its own types and those of what it calls, and
// compared with the peak of its own arithmetic.

// RUN: not chimera-run %s '--entry=*' 2>&1 | FileCheck %s
// RUN: chimera-run %s --entry=double --no-check --json=- | FileCheck %s --check-prefix=F64
// RUN: chimera-run %s --entry=half --no-check --json=- | FileCheck %s --check-prefix=HALF

// CHECK-DAG: passed double
// CHECK-DAG: passed half
// CHECK-DAG: FAILED single
// CHECK-DAG: passed calls_half
// CHECK-DAG: chimera-run: error: 'single' differs from the reference: {{.*}}, allowed are 1.0e-03
// CHECK-NOT: error

// F64: "peak_type": "f64"
// That of bf16 is f32 where no instruction multiplies bf16.
// HALF: "peak_type": "{{f32|bf16}}"

#id = affine_map<(i) -> (i)>

func.func @double(%a: tensor<8xf64>) -> tensor<8xf64> {
  %0 = linalg.add ins(%a, %a : tensor<8xf64>, tensor<8xf64>)
      outs(%a : tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

func.func @half(%a: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = linalg.mul ins(%a, %a : tensor<8xbf16>, tensor<8xbf16>)
      outs(%a : tensor<8xbf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// Rounds to 1/128: too much for f32, little for bf16.
func.func @single(%a: tensor<8xf32>) -> tensor<8xf32> {
  %large = arith.constant 1.0e+5 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %sum = arith.addf %x, %large : f32
    %difference = arith.subf %sum, %large : f32
    linalg.yield %difference : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @calls_half(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @through_half(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func private @through_half(%a: tensor<8xf32>) -> tensor<8xf32> {
  %large = arith.constant 1.0e+5 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %sum = arith.addf %x, %large : f32
    %difference = arith.subf %sum, %large : f32
    %short = arith.truncf %difference : f32 to bf16
    %long = arith.extf %short : bf16 to f32
    linalg.yield %long : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
