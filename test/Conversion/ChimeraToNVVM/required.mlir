// Nothing but kernels runs on a GPU, so the pipeline fails where an operator that needs
// one is in no chain.
//
// RUN: chimera-opt %s --chimera-nvidia-pipeline="target=h200 format=isa" --split-input-file --verify-diagnostics

func.func @dynamic(%x: tensor<?x48xf16>, %w: tensor<48x80xf16>, %y: tensor<?x80xf32>) -> tensor<?x80xf32> {
  // expected-error @+1 {{no kernel for this operator: its shape is not static; give its tensors static shapes}}
  %c = linalg.matmul ins(%x, %w : tensor<?x48xf16>, tensor<48x80xf16>)
      outs(%y : tensor<?x80xf32>) -> tensor<?x80xf32>
  return %c : tensor<?x80xf32>
}

// -----

func.func @depthwise(%x: tensor<1x18x18x16xf16>, %w: tensor<3x3x16xf16>, %y: tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32> {
  // expected-error @+1 {{no kernel for this operator: it is in no chain; the remarks of chimera-form-chains say why (--remarks-filter=chimera)}}
  %c = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %w : tensor<1x18x18x16xf16>, tensor<3x3x16xf16>)
      outs(%y : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  return %c : tensor<1x16x16x16xf32>
}
