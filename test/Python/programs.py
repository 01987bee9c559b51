"""Small programs in MLIR for the tests."""

# A product with weights, any number of rows, at most 100.
ROWS = """
func.func @main(%x: tensor<?x32xf32>, %w: tensor<48x32xf32>) -> tensor<?x48xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %most = arith.constant 100 : index
  %rows = tensor.dim %x, %c0 : tensor<?x32xf32>
  %fits = arith.cmpi sle, %rows, %most : index
  cf.assert %fits, "more than 100 rows"
  %empty = tensor.empty(%rows) : tensor<?x48xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x48xf32>) -> tensor<?x48xf32>
  %wt_empty = tensor.empty() : tensor<32x48xf32>
  %wt = linalg.transpose ins(%w : tensor<48x32xf32>) outs(%wt_empty : tensor<32x48xf32>)
      permutation = [1, 0]
  %0 = linalg.matmul ins(%x, %wt : tensor<?x32xf32>, tensor<32x48xf32>)
      outs(%zeros : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
"""

# Two results, and a number as an argument.
SCALED = """
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<3x5xf32>, %s: f32) -> (tensor<3x5xf32>, tensor<3x5xi1>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x5xf32>
  %flags = tensor.empty() : tensor<3x5xi1>
  %0:2 = linalg.generic {indexing_maps = [#map, #map, #map],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x5xf32>)
      outs(%empty, %flags : tensor<3x5xf32>, tensor<3x5xi1>) {
  ^bb0(%in: f32, %out: f32, %flag: i1):
    %1 = arith.mulf %in, %s : f32
    %2 = arith.cmpf ogt, %1, %zero : f32
    linalg.yield %1, %2 : f32, i1
  } -> (tensor<3x5xf32>, tensor<3x5xi1>)
  return %0#0, %0#1 : tensor<3x5xf32>, tensor<3x5xi1>
}
"""


def elementwise(element: str) -> str:
    """x + x in elements of a type."""
    add = "arith.addi" if element.startswith("i") else "arith.addf"
    return f"""
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<37x{element}>) -> tensor<37x{element}> {{
  %empty = tensor.empty() : tensor<37x{element}>
  %0 = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
      ins(%x : tensor<37x{element}>) outs(%empty : tensor<37x{element}>) {{
  ^bb0(%in: {element}, %out: {element}):
    %1 = {add} %in, %in : {element}
    linalg.yield %1 : {element}
  }} -> tensor<37x{element}>
  return %0 : tensor<37x{element}>
}}
"""
