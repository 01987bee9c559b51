// What is not covered stays as it is, with a reason; if a kernel has to be made, it
// is an error.
//
// RUN: chimera-opt %s --convert-chimera-to-nvvm --remarks-filter-missed=chimera --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: chimera-opt %s --convert-chimera-to-nvvm --split-input-file | FileCheck %s --implicit-check-not=gpu.func
// RUN: not chimera-opt %s --convert-chimera-to-nvvm=required --split-input-file 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not chimera-opt %s --convert-chimera-to-nvvm=target=zen5 --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET

// ERROR: error: no kernel for this chain: gemm0: tensor cores multiply f32 as tf32 only, which the option tf32 allows where the target has it
// TARGET: error: target 'zen5' is no GPU that CUDA runs on

// REMARK: refused.mlir:[[@LINE+13]]:{{[0-9]+}}: remark: [Missed] no-kernel
// REMARK-SAME: no kernel for this chain: gemm0: tensor cores multiply f32 as tf32 only, which the option tf32 allows where the target has it
// CHECK: func @wide
// CHECK: chimera.block
func.func @wide(%x: tensor<64x16xf32>, %w: tensor<16x16xf32>) -> tensor<64x16xf32> {
  %0 = tensor.empty() : tensor<64x16xf32>
  %1 = scf.forall (%i) = (0) to (64) step (16) shared_outs(%out = %0) -> (tensor<64x16xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [16, 16] [1, 1] : tensor<64x16xf32> to tensor<16x16xf32>
    %o = tensor.extract_slice %out[%i, 0] [16, 16] [1, 1] : tensor<64x16xf32> to tensor<16x16xf32>
    %2 = chimera.block "gemm0" ins(%a, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%o : tensor<16x16xf32>) {
    ^bb0(%a0: tensor<16x16xf32>, %b0: tensor<16x16xf32>, %c0: tensor<16x16xf32>):
      %zero = arith.constant 0.0 : f32
      %3 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
      %4 = linalg.matmul ins(%a0, %b0 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%3 : tensor<16x16xf32>) -> tensor<16x16xf32>
      chimera.yield %4 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %out[%i, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<64x16xf32>
    }
  }
  return %1 : tensor<64x16xf32>
}

// -----

// REMARK: no kernel for this chain: gemm0: tiles take about 343 registers of each of 32 threads, which have 255; cut columns into smaller ones
// CHECK: func @columns
// CHECK: chimera.block
func.func @columns(%x: tensor<64x16xf16>, %w: tensor<16x512xf16>) -> tensor<64x512xf32> {
  %0 = tensor.empty() : tensor<64x512xf32>
  %1 = scf.forall (%i) = (0) to (64) step (16) shared_outs(%out = %0) -> (tensor<64x512xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [16, 16] [1, 1] : tensor<64x16xf16> to tensor<16x16xf16>
    %o = tensor.extract_slice %out[%i, 0] [16, 512] [1, 1] : tensor<64x512xf32> to tensor<16x512xf32>
    %2 = chimera.block "gemm0" ins(%a, %w : tensor<16x16xf16>, tensor<16x512xf16>) outs(%o : tensor<16x512xf32>) {
    ^bb0(%a0: tensor<16x16xf16>, %b0: tensor<16x512xf16>, %c0: tensor<16x512xf32>):
      %zero = arith.constant 0.0 : f32
      %3 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x512xf32>) -> tensor<16x512xf32>
      %4 = linalg.matmul ins(%a0, %b0 : tensor<16x16xf16>, tensor<16x512xf16>) outs(%3 : tensor<16x512xf32>) -> tensor<16x512xf32>
      chimera.yield %4 : tensor<16x512xf32>
    } -> tensor<16x512xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %out[%i, 0] [16, 512] [1, 1] : tensor<16x512xf32> into tensor<64x512xf32>
    }
  }
  return %1 : tensor<64x512xf32>
}

// -----

// REMARK: no kernel for this chain: tiles take 524288 bytes of shared memory, of which a thread block has 227799; cut the loops of operands into smaller ones
// CHECK: func @depth
// CHECK: chimera.block
func.func @depth(%x: tensor<32x8192xf16>, %w: tensor<8192x16xf16>) -> tensor<32x16xf32> {
  %0 = tensor.empty() : tensor<32x16xf32>
  %1 = scf.forall (%i) = (0) to (32) step (16) shared_outs(%out = %0) -> (tensor<32x16xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [16, 8192] [1, 1] : tensor<32x8192xf16> to tensor<16x8192xf16>
    %o = tensor.extract_slice %out[%i, 0] [16, 16] [1, 1] : tensor<32x16xf32> to tensor<16x16xf32>
    %2 = chimera.block "gemm0" ins(%a, %w : tensor<16x8192xf16>, tensor<8192x16xf16>) outs(%o : tensor<16x16xf32>) {
    ^bb0(%a0: tensor<16x8192xf16>, %b0: tensor<8192x16xf16>, %c0: tensor<16x16xf32>):
      %zero = arith.constant 0.0 : f32
      %3 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
      %4 = linalg.matmul ins(%a0, %b0 : tensor<16x8192xf16>, tensor<8192x16xf16>) outs(%3 : tensor<16x16xf32>) -> tensor<16x16xf32>
      chimera.yield %4 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %out[%i, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<32x16xf32>
    }
  }
  return %1 : tensor<32x16xf32>
}

// -----

// Two copies of each tile would fit.

// REMARK: no kernel for this chain: tiles take 393216 bytes of shared memory, of which a thread block has 227799; cut the loops of operands into smaller ones
// CHECK: func @stages
// CHECK: chimera.block
func.func @stages(%x: tensor<32x8192xf16>, %w: tensor<8192x16xf16>) -> tensor<32x16xf32> {
  %c0 = arith.constant 0 : index
  %c1536 = arith.constant 1536 : index
  %c6144 = arith.constant 6144 : index
  %0 = tensor.empty() : tensor<32x16xf32>
  %1 = scf.forall (%i) = (0) to (32) step (16) shared_outs(%out = %0) -> (tensor<32x16xf32>) {
    %o = tensor.extract_slice %out[%i, 0] [16, 16] [1, 1] : tensor<32x16xf32> to tensor<16x16xf32>
    %sum = scf.for %k = %c0 to %c6144 step %c1536 iter_args(%s = %o) -> (tensor<16x16xf32>) {
      %a = tensor.extract_slice %x[%i, %k] [16, 1536] [1, 1] : tensor<32x8192xf16> to tensor<16x1536xf16>
      %b = tensor.extract_slice %w[%k, 0] [1536, 16] [1, 1] : tensor<8192x16xf16> to tensor<1536x16xf16>
      %2 = chimera.block "gemm0" ins(%a, %b : tensor<16x1536xf16>, tensor<1536x16xf16>) outs(%s : tensor<16x16xf32>)
          registers <rows = 1, vectors = 2, broadcasts = 0, depth = 1, stages = 4> {
      ^bb0(%a0: tensor<16x1536xf16>, %b0: tensor<1536x16xf16>, %s0: tensor<16x16xf32>):
        %3 = linalg.matmul ins(%a0, %b0 : tensor<16x1536xf16>, tensor<1536x16xf16>) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
        chimera.yield %3 : tensor<16x16xf32>
      } -> tensor<16x16xf32>
      scf.yield %2 : tensor<16x16xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %sum into %out[%i, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<32x16xf32>
    }
  }
  return %1 : tensor<32x16xf32>
}

// -----

// REMARK: no kernel for this chain: its schedule has no parallel loop to make thread blocks of, nor is its result one tile
// CHECK: func @alone
// CHECK: chimera.block
func.func @alone(%x: tensor<16x16xf16>, %w: tensor<16x16xf16>, %0: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %1 = chimera.block "gemm0" ins(%x, %w : tensor<16x16xf16>, tensor<16x16xf16>) outs(%0 : tensor<16x16xf32>) {
  ^bb0(%a0: tensor<16x16xf16>, %b0: tensor<16x16xf16>, %c0: tensor<16x16xf32>):
    %2 = linalg.matmul ins(%a0, %b0 : tensor<16x16xf16>, tensor<16x16xf16>) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    chimera.yield %2 : tensor<16x16xf32>
  } -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// -----

// The operation that cannot be taken is named, not its function.
// REMARK: refused.mlir:[[@LINE+18]]:{{[0-9]+}}: remark: [Missed] no-kernel
// REMARK-SAME: no kernel for this chain: gemm0: a value in registers is read in another order
// CHECK: func @turned
// CHECK: chimera.block
func.func @turned(%x: tensor<64x16xf16>, %w: tensor<16x16xf16>) -> tensor<64x16xf32> {
  %0 = tensor.empty() : tensor<64x16xf32>
  %1 = scf.forall (%i) = (0) to (64) step (16) shared_outs(%out = %0) -> (tensor<64x16xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [16, 16] [1, 1] : tensor<64x16xf16> to tensor<16x16xf16>
    %e = tensor.empty() : tensor<16x16xf32>
    %2 = chimera.block "gemm0" ins(%a, %w : tensor<16x16xf16>, tensor<16x16xf16>) outs(%e : tensor<16x16xf32>) {
    ^bb0(%a0: tensor<16x16xf16>, %b0: tensor<16x16xf16>, %c0: tensor<16x16xf32>):
      %zero = arith.constant 0.0 : f32
      %3 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
      %4 = linalg.matmul ins(%a0, %b0 : tensor<16x16xf16>, tensor<16x16xf16>) outs(%3 : tensor<16x16xf32>) -> tensor<16x16xf32>
      chimera.yield %4 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    %5 = chimera.block "gemm0" ins(%2 : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
    ^bb0(%d0: tensor<16x16xf32>, %e0: tensor<16x16xf32>):
      %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%d0 : tensor<16x16xf32>) outs(%e0 : tensor<16x16xf32>) {
      ^bb0(%in: f32, %o: f32):
        %n = arith.negf %in : f32
        linalg.yield %n : f32
      } -> tensor<16x16xf32>
      chimera.yield %6 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %5 into %out[%i, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<64x16xf32>
    }
  }
  return %1 : tensor<64x16xf32>
}

// -----

// Tensor cores add products to sums, and nothing else.
// REMARK: no kernel for this chain: gemm0: does something else than to multiply and add up in f32 or i32, which is all that tensor cores do
// CHECK: func @negated
// CHECK: chimera.block
func.func @negated(%x: tensor<64x16xf16>, %w: tensor<16x16xf16>) -> tensor<64x16xf32> {
  %0 = tensor.empty() : tensor<64x16xf32>
  %1 = scf.forall (%i) = (0) to (64) step (16) shared_outs(%out = %0) -> (tensor<64x16xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [16, 16] [1, 1] : tensor<64x16xf16> to tensor<16x16xf16>
    %o = tensor.extract_slice %out[%i, 0] [16, 16] [1, 1] : tensor<64x16xf32> to tensor<16x16xf32>
    %2 = chimera.block "gemm0" ins(%a, %w : tensor<16x16xf16>, tensor<16x16xf16>) outs(%o : tensor<16x16xf32>) {
    ^bb0(%a0: tensor<16x16xf16>, %b0: tensor<16x16xf16>, %c0: tensor<16x16xf32>):
      %zero = arith.constant 0.0 : f32
      %3 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
      %4 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a0, %b0 : tensor<16x16xf16>, tensor<16x16xf16>) outs(%3 : tensor<16x16xf32>) {
      ^bb0(%p: f16, %q: f16, %s: f32):
        %wide = arith.extf %p : f16 to f32
        %n = arith.negf %wide : f32
        %other = arith.extf %q : f16 to f32
        %product = arith.mulf %n, %other : f32
        %sum = arith.addf %s, %product : f32
        linalg.yield %sum : f32
      } -> tensor<16x16xf32>
      chimera.yield %4 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %out[%i, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<64x16xf32>
    }
  }
  return %1 : tensor<64x16xf32>
}

// -----

// More rows than there are warps for 16 each: asking for fewer does not help.

// REMARK: no kernel for this chain: gemm0: tiles take about {{[0-9]+}} registers of each of 512 threads, which have 128; cut columns into smaller ones
// CHECK: func @rows
// CHECK: chimera.block
func.func @rows(%x: tensor<1024x16xf16>, %w: tensor<16x256xf16>) -> tensor<1024x256xf32> {
  %0 = tensor.empty() : tensor<1024x256xf32>
  %1 = scf.forall (%i) = (0) to (1024) step (512) shared_outs(%out = %0) -> (tensor<1024x256xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [512, 16] [1, 1] : tensor<1024x16xf16> to tensor<512x16xf16>
    %o = tensor.extract_slice %out[%i, 0] [512, 256] [1, 1] : tensor<1024x256xf32> to tensor<512x256xf32>
    %2 = chimera.block "gemm0" ins(%a, %w : tensor<512x16xf16>, tensor<16x256xf16>) outs(%o : tensor<512x256xf32>) {
    ^bb0(%a0: tensor<512x16xf16>, %b0: tensor<16x256xf16>, %c0: tensor<512x256xf32>):
      %zero = arith.constant 0.0 : f32
      %3 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<512x256xf32>) -> tensor<512x256xf32>
      %4 = linalg.matmul ins(%a0, %b0 : tensor<512x16xf16>, tensor<16x256xf16>) outs(%3 : tensor<512x256xf32>) -> tensor<512x256xf32>
      chimera.yield %4 : tensor<512x256xf32>
    } -> tensor<512x256xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %out[%i, 0] [512, 256] [1, 1] : tensor<512x256xf32> into tensor<1024x256xf32>
    }
  }
  return %1 : tensor<1024x256xf32>
}
