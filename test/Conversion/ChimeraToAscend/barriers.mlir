// Where a unit uses what it has computed, a barrier holds it back.
//
// RUN: chimera-opt %s --pass-pipeline="builtin.module(func.func(insert-ascend-barriers))" | FileCheck %s

!sums = !ascend.ptr<l0c, f32>
!lhs = !ascend.ptr<l0a, f16>
!rhs = !ascend.ptr<l0b, f16>
!wide = !ascend.ptr<ub, f32>

// CHECK-LABEL: func @dependent
func.func @dependent() attributes {ascend.kernel = []} {
  %b0 = arith.constant 0 : index
  %b1 = arith.constant 1024 : index
  %one = arith.constant 1 : index
  %x = ascend.address %b0 : !wide
  %y = ascend.address %b1 : !wide
  // Nothing to wait for, written and then read, read and then written.
  // CHECK-NOT: barrier
  // CHECK: vector vexp
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vabs
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vsqrt
  ascend.vector vexp %x sources %x repeat %one blocks [1, 1] repeats [8, 8] : !wide, !wide
  ascend.vector vabs %y sources %x repeat %one blocks [1, 1] repeats [8, 8] : !wide, !wide
  ascend.vector vsqrt %x sources %y repeat %one blocks [1, 1] repeats [8, 8] : !wide, !wide
  // CHECK-NEXT: return
  return
}

// CHECK-LABEL: func @halves
func.func @halves() attributes {ascend.kernel = []} {
  %b0 = arith.constant 0 : index
  %b1 = arith.constant 4096 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = ascend.address %b0 : !wide
  %y = ascend.address %b1 : !wide
  %x1 = ascend.offset %x, %c8 : !wide
  %y1 = ascend.offset %y, %c8 : !wide
  // Even blocks and odd blocks.
  // CHECK: vector vexp
  // CHECK-NEXT: vector vexp
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vabs
  ascend.vector vexp %x sources %y repeat %c1 blocks [2, 2] repeats [16, 16] : !wide, !wide
  ascend.vector vexp %x1 sources %y1 repeat %c1 blocks [2, 2] repeats [16, 16] : !wide, !wide
  ascend.vector vabs %y sources %x repeat %c4 blocks [1, 1] repeats [8, 8] : !wide, !wide
  // Only the sources are the same.
  // CHECK-NOT: barrier
  // CHECK: ascend.reduce
  // CHECK-NEXT: return
  %b2 = arith.constant 8192 : index
  %z = ascend.address %b2 : !wide
  ascend.reduce vcgmax %z, %x repeat %c1 blocks 1 repeats 8 : !wide, !wide
  return
}

// CHECK-LABEL: func @loop
func.func @loop(%n: index, %from: index) attributes {ascend.kernel = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b1 = arith.constant 1024 : index
  %b2 = arith.constant 2048 : index
  %x = ascend.address %c0 : !wide
  %y = ascend.address %b1 : !wide
  %z = ascend.address %b2 : !wide
  // Reads what the iteration before has written, the first time what is
  // written before the loop; after it, which may not have run, both.
  // CHECK: vector_dup
  // CHECK: scf.for
  // CHECK: ascend.address
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vadd
  // CHECK-NEXT: vector vabs
  // CHECK-NEXT: }
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: ascend.broadcast
  %zero = arith.constant 0.0 : f32
  ascend.vector vector_dup %x scalar %zero repeat %c1 blocks [1] repeats [8] : !wide
  scf.for %i = %c0 to %n step %c1 {
    %bytes = arith.addi %i, %b2 : index
    %moving = ascend.address %bytes : !wide
    ascend.vector vadd %x sources %x, %y repeat %c1 blocks [1, 1, 1] repeats [8, 8, 8] : !wide, !wide, !wide
    ascend.vector vabs %moving sources %y repeat %c1 blocks [1, 1] repeats [8, 8] : !wide, !wide
  }
  ascend.broadcast %y, %z repeat %c1 : !wide, !wide
  return
}

// CHECK-LABEL: func @products
func.func @products(%n: index) attributes {ascend.kernel = []} {
  %c0 = arith.constant 0 : index
  %b1 = arith.constant 65536 : index
  %c16 = arith.constant 16 : index
  %c144 = arith.constant 144 : index
  %c160 = arith.constant 160 : index
  %true = arith.constant true
  %false = arith.constant false
  %c = ascend.address %c0 : !sums
  %d = ascend.address %b1 : !sums
  %a = ascend.address %c0 : !lhs
  %b = ascend.address %c0 : !rhs
  // CHECK: ascend.mad
  // CHECK-NEXT: ascend.mad
  // CHECK-NEXT: pipe_barrier m
  // CHECK-NEXT: ascend.mad
  // CHECK-NEXT: ascend.mad
  // CHECK-NEXT: pipe_barrier m
  // CHECK-NEXT: ascend.mad
  // CHECK-NEXT: pipe_barrier m
  // CHECK-NEXT: ascend.mad
  ascend.mad %c, %a, %b m %c16 k %c16 n %c144 init %true : !sums, !lhs, !rhs
  ascend.mad %d, %a, %b m %c16 k %c16 n %c160 init %true : !sums, !lhs, !rhs
  ascend.mad %c, %a, %b m %c16 k %c16 n %c144 init %false : !sums, !lhs, !rhs
  // Ten fractals take long enough; of how many there are may not be known.
  ascend.mad %d, %a, %b m %c16 k %c16 n %c160 init %false : !sums, !lhs, !rhs
  ascend.mad %d, %a, %b m %n k %c16 n %c16 init %false : !sums, !lhs, !rhs
  ascend.mad %d, %a, %b m %n k %c16 n %c16 init %false : !sums, !lhs, !rhs
  // There is at least one row of ten.
  ascend.mad %d, %a, %b m %n k %c16 n %c160 init %false : !sums, !lhs, !rhs
  // The vector unit is another pipe.
  // CHECK-NOT: barrier
  // CHECK: ascend.copy
  // CHECK-NEXT: return
  %tile = ascend.address %c0 : !wide
  ascend.copy copy_matrix_cc_to_ubuf %tile, %c bursts %c16 of %c16 every %c0, %c0 : !wide, !sums
  return
}

// CHECK-LABEL: func @no_kernel
// CHECK-NOT: barrier
func.func @no_kernel(%x: !wide) {
  %one = arith.constant 1 : index
  ascend.vector vexp %x sources %x repeat %one blocks [1, 1] repeats [8, 8] : !wide, !wide
  ascend.vector vexp %x sources %x repeat %one blocks [1, 1] repeats [8, 8] : !wide, !wide
  return
}

// A mask leaves one block of a repeat, the same one or another.
// CHECK-LABEL: func @masks
func.func @masks() attributes {ascend.kernel = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 0 : i64
  %second = arith.constant 65280 : i64
  %third = arith.constant 65536 : i64
  %both = arith.constant 33024 : i64
  %more = arith.constant 65792 : i64
  %zero = arith.constant 0.0 : f32
  %x = ascend.address %c0 : !wide
  // CHECK: vector_dup
  // CHECK-NEXT: set_vector_mask
  // CHECK-NEXT: vector_dup
  // CHECK-NEXT: set_vector_mask
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vector_dup
  // CHECK-NEXT: set_vector_mask
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vector_dup
  ascend.set_vector_mask %none, %second
  ascend.vector vector_dup %x scalar %zero repeat %c1 blocks [1] repeats [8] : !wide
  ascend.set_vector_mask %none, %third
  ascend.vector vector_dup %x scalar %zero repeat %c1 blocks [1] repeats [8] : !wide
  ascend.set_vector_mask %none, %both
  ascend.vector vector_dup %x scalar %zero repeat %c1 blocks [1] repeats [8] : !wide
  ascend.set_vector_mask %none, %more
  ascend.vector vector_dup %x scalar %zero repeat %c1 blocks [1] repeats [8] : !wide
  return
}

// Flags order what pipes have begun: a unit that waits for one that waited for it
// needs no barrier. From then on it does.
// CHECK-LABEL: func @flags
func.func @flags(%n: index) attributes {ascend.kernel = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b1 = arith.constant 1024 : index
  %x = ascend.address %c0 : !wide
  %y = ascend.address %b1 : !wide
  // CHECK: vector vexp
  // CHECK-NEXT: set_flag v to mte3
  // CHECK-NEXT: wait_flag v to mte3
  // CHECK-NEXT: set_flag mte3 to v
  // CHECK-NEXT: wait_flag mte3 to v
  // CHECK-NEXT: vector vabs
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vsqrt
  ascend.vector vexp %x sources %x repeat %c1 blocks [1, 1] repeats [8, 8] : !wide, !wide
  ascend.set_flag v to mte3, %c0
  ascend.wait_flag v to mte3, %c0
  ascend.set_flag mte3 to v, %c1
  ascend.wait_flag mte3 to v, %c1
  ascend.vector vabs %y sources %x repeat %c1 blocks [1, 1] repeats [8, 8] : !wide, !wide
  ascend.vector vsqrt %x sources %y repeat %c1 blocks [1, 1] repeats [8, 8] : !wide, !wide
  // The flag that comes back was raised ahead of the other one, or is another's.
  // CHECK: set_flag v to mte3
  // CHECK-NEXT: wait_flag mte3 to v
  // CHECK-NEXT: wait_flag v to mte3
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vexp
  ascend.set_flag mte3 to v, %c1
  ascend.set_flag v to mte3, %c0
  ascend.wait_flag mte3 to v, %c1
  ascend.wait_flag v to mte3, %c0
  ascend.vector vexp %y sources %x repeat %c1 blocks [1, 1] repeats [8, 8] : !wide, !wide
  // A number that varies is another one in the next iteration.
  // CHECK: scf.for
  // CHECK-NEXT: arith.remsi
  // CHECK-NEXT: wait_flag mte3 to v
  // CHECK-NEXT: pipe_barrier v
  // CHECK-NEXT: vector vexp
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %turn = arith.remsi %i, %c2 : index
    ascend.wait_flag mte3 to v, %turn
    ascend.vector vexp %x sources %x repeat %c1 blocks [1, 1] repeats [8, 8] : !wide, !wide
    ascend.set_flag v to mte3, %turn
    ascend.wait_flag v to mte3, %turn
    ascend.set_flag mte3 to v, %turn
  }
  ascend.pipe_barrier all
  // CHECK: pipe_barrier all
  // CHECK-NEXT: vector vexp
  // CHECK-NEXT: return
  ascend.vector vexp %x sources %x repeat %c1 blocks [1, 1] repeats [8, 8] : !wide, !wide
  return
}

!block = !ascend.ptr<l1, f16>
!memory = !ascend.ptr<gm, f16>

// Tiles of a place one after the other, twice: each is another one until the
// loop starts anew.
// CHECK-LABEL: func @tiles
func.func @tiles(%m: index, %from: !memory) attributes {ascend.kernel = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c1024 = arith.constant 1024 : index
  %z = arith.constant false
  %c = ascend.address %c0 : !sums
  %a = ascend.address %c0 : !lhs
  %b = ascend.address %c0 : !rhs
  %place = ascend.address %c0 : !block
  // CHECK: scf.for
  // CHECK-NOT: pipe_barrier
  // CHECK: ascend.mad
  // CHECK-NEXT: pipe_barrier m
  // CHECK-NEXT: ascend.mad
  scf.for %i = %c0 to %c4 step %c1 {
    %at = arith.muli %i, %c1024 : index
    %tile = ascend.offset %c, %at : !sums
    ascend.mad %tile, %a, %b m %m k %c1 n %c1 init %z : !sums, !lhs, !rhs
    ascend.mad %tile, %a, %b m %m k %c1 n %c1 init %z : !sums, !lhs, !rhs
  }
  // CHECK: scf.for
  // CHECK-NEXT: scf.for
  // CHECK: pipe_barrier m
  // CHECK-NEXT: ascend.mad
  scf.for %k = %c0 to %c2 step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %at = arith.muli %i, %c1024 : index
      %tile = ascend.offset %c, %at : !sums
      ascend.mad %tile, %a, %b m %m k %c1 n %c1 init %z : !sums, !lhs, !rhs
    }
  }
  // Zeros go ahead of what is copied over them, row by row or not.
  // CHECK: scf.for
  // CHECK-NOT: pipe_barrier
  // CHECK: ascend.clear
  // CHECK: pipe_barrier mte2
  // CHECK-NEXT: ascend.copy
  // CHECK-NEXT: ascend.copy
  // CHECK-NEXT: return
  scf.for %i = %c0 to %c4 step %c1 {
    %at = arith.muli %i, %c1024 : index
    %tile = ascend.offset %place, %at : !block
    ascend.clear %tile repeat %c2 : !block
  }
  ascend.copy copy_gm_to_cbuf %place, %from bursts %c1 of %c1 every %c0, %c0 : !block, !memory
  ascend.copy copy_gm_to_cbuf %place, %from bursts %c1 of %c1 every %c0, %c0 : !block, !memory
  return
}
