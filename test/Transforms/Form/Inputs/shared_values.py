"""Attention in which some value is added to itself many times, and a long program."""

import sys

TIMES = 40


def doubled(name, element, operation, first):
    lines = [f"%{name}0 = {first}"]
    lines += [f"%{name}{i + 1} = {operation} %{name}{i}, %{name}{i} : {element}"
              for i in range(TIMES)]
    return "\n    ".join(lines)


def doubled_tensor(start):
    """One operation for each addition."""
    lines = [start]
    lines += [f"%m{i + 1} = linalg.add ins(%m{i}, %m{i} : tensor<16x16xf32>, "
              "tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> "
              "tensor<16x16xf32>" for i in range(TIMES)]
    return "\n  ".join(lines)


def attention(before="", score="", tail="", mask="%zero_mask"):
    score = score or "%s = arith.addf %a, %m : f32"
    tail = tail or "%t = arith.addf %a, %zero : f32"
    return f'''
#full = affine_map<(i, j) -> (i, j)>
func.func @main(%q: tensor<16x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<16x8xf32> {{
  %zero = arith.constant 0.0 : f32
  %small = arith.constant 9.0e-13 : f32
  %inf = arith.constant 0xFF800000 : f32
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<16x16xf32>
  %out = tensor.empty() : tensor<16x8xf32>
  %zero_mask = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  {before}
  %p = linalg.matmul ins(%q, %k : tensor<16x8xf32>, tensor<8x16xf32>) outs(%zero_mask : tensor<16x16xf32>) -> tensor<16x16xf32>
  %scores = linalg.generic {{indexing_maps = [#full, #full, #full], iterator_types = ["parallel", "parallel"]}} ins(%p, {mask} : tensor<16x16xf32>, tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {{
  ^bb0(%a: f32, %m: f32, %b: f32):
    {score}
    linalg.yield %s : f32
  }} -> tensor<16x16xf32>
  %w = linalg.softmax dimension(1) ins(%scores : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%out : tensor<16x8xf32>) -> tensor<16x8xf32>
  %2 = linalg.matmul ins(%w, %v : tensor<16x16xf32>, tensor<16x8xf32>) outs(%1 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %3 = linalg.generic {{indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}} ins(%2 : tensor<16x8xf32>) outs(%out : tensor<16x8xf32>) {{
  ^bb0(%a: f32, %b: f32):
    {tail}
    linalg.yield %t : f32
  }} -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}}
'''


def body():
    lines = doubled("d", "f32", "arith.addf", "arith.mulf %a, %small : f32")
    return attention(score=lines + f"\n    %s = arith.addf %d{TIMES}, %m : f32")


def mask():
    start = '''%m0 = linalg.generic {indexing_maps = [#full], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<16x16xf32>) {
  ^bb0(%b: f32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %x = arith.sitofp %n : i32 to f32
    linalg.yield %x : f32
  } -> tensor<16x16xf32>'''
    return attention(doubled_tensor(start), mask=f"%m{TIMES}")


def tail():
    lines = doubled("d", "f32", "arith.addf", "arith.mulf %a, %small : f32")
    return attention(tail=lines + f"\n    %t = arith.addf %d{TIMES}, %zero : f32")


def position():
    lines = doubled("d", "index", "arith.addi", "linalg.index 0 : index")
    return attention(score=lines + f'''
    %j = linalg.index 1 : index
    %c = arith.cmpi sge, %d{TIMES}, %j : index
    %s = arith.select %c, %a, %inf : f32''')


def long():
    adds = [f"%x{i + 1} = linalg.add ins(%x{i}, %x{i} : tensor<16x8xf32>, "
            "tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>"
            for i in range(100000)]
    adds = "\n  ".join(adds)
    return f'''
func.func @main(%x0: tensor<16x8xf32>, %b: tensor<8x8xf32>) -> tensor<16x8xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  {adds}
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = linalg.matmul ins(%x100000, %b : tensor<16x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}}
'''


print(globals()[sys.argv[1]]())
