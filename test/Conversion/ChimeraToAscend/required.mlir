// Nothing but kernels runs on an Ascend core, so the pipeline fails where there is
// none, at the operation that stands in the way.
//
// RUN: chimera-opt %s --chimera-ascend-pipeline=target=ascend910 --split-input-file --verify-diagnostics

#id = affine_map<(i, j) -> (i, j)>
// What is called has to stay.
func.func @inner(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r0 = tensor.empty() : tensor<64x80xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x80xf32>) outs(%r0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}
func.func @outer(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf16> {
  // expected-error @+1 {{no kernel for an Ascend core: 'inner' is used here, but kernels take its place; inline it}}
  %r = func.call @inner(%x, %w) : (tensor<64x48xf16>, tensor<48x80xf16>) -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}

// -----

func.func @dynamic(%x: tensor<?x48xf16>, %w: tensor<48x80xf16>, %y: tensor<?x80xf32>) -> tensor<?x80xf32> {
  // expected-error @+1 {{no kernel for this operator: its shape is not static; give its tensors static shapes}}
  %c = linalg.matmul ins(%x, %w : tensor<?x48xf16>, tensor<48x80xf16>)
      outs(%y : tensor<?x80xf32>) -> tensor<?x80xf32>
  return %c : tensor<?x80xf32>
}

// -----

func.func @other_types(%x: tensor<64x48xbf16>, %w: tensor<48x80xbf16>, %y: tensor<64x80xf32>) -> tensor<64x80xf32> {
  // expected-error @+1 {{no kernel for this operator: it is in no chain; the remarks of chimera-form-chains say why (--remarks-filter=chimera)}}
  %c = linalg.matmul ins(%x, %w : tensor<64x48xbf16>, tensor<48x80xbf16>)
      outs(%y : tensor<64x80xf32>) -> tensor<64x80xf32>
  return %c : tensor<64x80xf32>
}

// -----

func.func @integers(%x: tensor<64x48xi8>, %w: tensor<48x80xi8>, %y: tensor<64x80xi32>) -> tensor<64x80xi32> {
  // expected-error @+1 {{no kernel for an Ascend core: bytes are multiplied, which this core has no load for that transposes them, nor a documented way for their sums out of L0C; widen them to f16, or compile for an ascend910b}}
  %c = linalg.matmul ins(%x, %w : tensor<64x48xi8>, tensor<48x80xi8>)
      outs(%y : tensor<64x80xi32>) -> tensor<64x80xi32>
  return %c : tensor<64x80xi32>
}

// -----

func.func @function(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  // expected-error @+1 {{no kernel for an Ascend core: the vector unit has no code for 'math.sin'}}
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x80xf32>) outs(%c0 : tensor<64x80xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.sin %in : f32
    linalg.yield %0 : f32
  } -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}

// -----

// An image as large as its windows is one row.
func.func @whole(%x: tensor<1x3x3x32xf16>, %w: tensor<3x3x32x32xf16>) -> tensor<1x1x1x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<1x1x1x32xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<1x1x1x32xf32>) -> tensor<1x1x1x32xf32>
  // expected-error @+1 {{no kernel for this operator: it adds up along several dimensions, as of an image that is as large as its windows; collapse them into one, of both operands}}
  %c = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x3x3x32xf16>, tensor<3x3x32x32xf16>)
      outs(%c1 : tensor<1x1x1x32xf32>) -> tensor<1x1x1x32xf32>
  return %c : tensor<1x1x1x32xf32>
}

// -----

func.func private @note()
func.func @between(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  // expected-error @+1 {{no kernel for an Ascend core: 'func.call' is outside of all parallel loops, where nothing runs; take what it makes as an argument, or leave it to the caller}}
  call @note() : () -> ()
  return %c : tensor<64x80xf32>
}
