// RUN: chimera-opt %s --chimera-share-tile-sizes --split-input-file | FileCheck %s

llvm.mlir.global internal constant @whole(dense<1> : tensor<64xi8>) : !llvm.array<64 x i8>
llvm.mlir.global internal constant @edge(dense<2> : tensor<64xi8>) : !llvm.array<64 x i8>

// Sizes that all iterations set are set in front of the loop. Those of an edge
// are set where it is, and the common ones put back behind it.

// CHECK-LABEL: func @loop(
// CHECK:         %[[WHOLE:.*]] = llvm.mlir.addressof @whole
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[WHOLE]])
// CHECK:         scf.for
// CHECK-NOT:       ldtilecfg
// CHECK:           llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NEXT:      %[[EDGE:.*]] = llvm.mlir.addressof @edge
// CHECK-NEXT:      llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[EDGE]])
// CHECK-NEXT:      llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NEXT:      %[[AGAIN:.*]] = llvm.mlir.addressof @whole
// CHECK-NEXT:      llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[AGAIN]])
// CHECK-NEXT:    }
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT:    return
func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = llvm.mlir.constant(0 : i8) : i8
  scf.for %i = %c0 to %n step %c1 {
    %whole = llvm.mlir.addressof @whole : !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%whole) : (!llvm.ptr) -> ()
    llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
    %edge = llvm.mlir.addressof @edge : !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%edge) : (!llvm.ptr) -> ()
    llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
    llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
  }
  return
}

// -----

llvm.mlir.global internal constant @whole(dense<1> : tensor<64xi8>) : !llvm.array<64 x i8>

// Each thread has tiles of its own: sizes are set where its region begins, once
// for all iterations that it runs.

// CHECK-LABEL: func @threads(
// CHECK-NOT:     ldtilecfg
// CHECK:         omp.parallel {
// CHECK-NEXT:      llvm.mlir.addressof @whole
// CHECK-NEXT:      llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-NEXT:      omp.wsloop
// CHECK-NOT:         ldtilecfg
// CHECK:             llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NOT:         tilerelease
// CHECK:           llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT:      omp.terminator
// CHECK-NOT:     tilerelease
func.func @threads(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = llvm.mlir.constant(0 : i8) : i8
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%c0) to (%n) step (%c1) {
        %whole = llvm.mlir.addressof @whole : !llvm.ptr
        llvm.call_intrinsic "llvm.x86.ldtilecfg"(%whole) : (!llvm.ptr) -> ()
        llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
        llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
        omp.yield
      }
    }
    omp.terminator
  }
  return
}

// -----

llvm.mlir.global internal constant @whole(dense<1> : tensor<64xi8>) : !llvm.array<64 x i8>

func.func private @other()

// A function that is called may set sizes itself.

// CHECK-LABEL: func @calls(
// CHECK:         scf.for
// CHECK:           llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-NEXT:      llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NEXT:      llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT:      call @other
func.func @calls(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = llvm.mlir.constant(0 : i8) : i8
  scf.for %i = %c0 to %n step %c1 {
    %whole = llvm.mlir.addressof @whole : !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%whole) : (!llvm.ptr) -> ()
    llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
    llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
    func.call @other() : () -> ()
  }
  return
}

// -----

llvm.mlir.global internal constant @whole(dense<1> : tensor<64xi8>) : !llvm.array<64 x i8>
llvm.mlir.global internal constant @table(dense<1> : tensor<128xi8>) : !llvm.array<128 x i8>

// Behind sizes of a table, set on one of two ways, the common ones are put back.

// CHECK-LABEL: func @ways(
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-NEXT:    scf.for
// CHECK-NOT:       ldtilecfg
// CHECK:           scf.if
// CHECK:             llvm.getelementptr
// CHECK-NEXT:        llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:           }
// CHECK-NEXT:      llvm.mlir.addressof @whole
// CHECK-NEXT:      llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-NEXT:    }
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.tilerelease"
func.func @ways(%n: index, %isLeft: i1, %place: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = llvm.mlir.constant(0 : i8) : i8
  scf.for %i = %c0 to %n step %c1 {
    %whole = llvm.mlir.addressof @whole : !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%whole) : (!llvm.ptr) -> ()
    llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
    scf.if %isLeft {
      %table = llvm.mlir.addressof @table : !llvm.ptr
      %entry = llvm.getelementptr %table[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      llvm.call_intrinsic "llvm.x86.ldtilecfg"(%entry) : (!llvm.ptr) -> ()
      llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
    }
    llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
  }
  return
}

// -----

llvm.mlir.global internal constant @plain(dense<[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]> : tensor<64xi8>) : !llvm.array<64 x i8>
llvm.mlir.global internal constant @last(dense<[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]> : tensor<64xi8>) : !llvm.array<64 x i8>

// Sizes that differ in register 7 alone suit a kernel that does not use it: what
// suits both kernels is set once.

// CHECK-LABEL: func @unused(
// CHECK:         %[[LAST:.*]] = llvm.mlir.addressof @last
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[LAST]])
// CHECK:         scf.for
// CHECK-NOT:       ldtilecfg
// CHECK-COUNT-2:   llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NOT:       ldtilecfg
// CHECK:         llvm.call_intrinsic "llvm.x86.tilerelease"
func.func @unused(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = llvm.mlir.constant(0 : i8) : i8
  %seven = llvm.mlir.constant(7 : i8) : i8
  scf.for %i = %c0 to %n step %c1 {
    %plain = llvm.mlir.addressof @plain : !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%plain) : (!llvm.ptr) -> ()
    llvm.call_intrinsic "llvm.x86.tilezero"(%zero) : (i8) -> ()
    llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
    %last = llvm.mlir.addressof @last : !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%last) : (!llvm.ptr) -> ()
    llvm.call_intrinsic "llvm.x86.tilezero"(%seven) : (i8) -> ()
    llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
  }
  return
}
