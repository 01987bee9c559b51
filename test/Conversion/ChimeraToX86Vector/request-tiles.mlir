// RUN: chimera-opt %s --chimera-request-tiles | FileCheck %s

// Public functions ask for tiles if they have some, or call what has.

// CHECK:       llvm.mlir.global internal @chimera_has_tiles(0 : i8)
// CHECK-LABEL: func.func private @chimera_request_tiles()
// CHECK:         %[[KNOWN:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i8
// CHECK:         cf.cond_br
// CHECK:         llvm.call @syscall({{.*}}) vararg
// CHECK:         cf.assert %{{.*}}, "this code is for a processor with AMX
// CHECK:         llvm.store
// CHECK-LABEL: func.func @direct(
// CHECK-NEXT:    call @chimera_request_tiles()
func.func @direct(%configuration: !llvm.ptr) {
  llvm.call_intrinsic "llvm.x86.ldtilecfg"(%configuration) : (!llvm.ptr) -> ()
  return
}

// CHECK-LABEL: func.func @indirect(
// CHECK-NEXT:    call @chimera_request_tiles()
// CHECK-NEXT:    call @kernel
func.func @indirect(%configuration: !llvm.ptr) {
  call @kernel(%configuration) : (!llvm.ptr) -> ()
  return
}

// CHECK-LABEL: func.func private @kernel(
// CHECK-NOT:     chimera_request_tiles
func.func private @kernel(%configuration: !llvm.ptr) {
  llvm.call_intrinsic "llvm.x86.ldtilecfg"(%configuration) : (!llvm.ptr) -> ()
  return
}

// CHECK-LABEL: func.func @without(
// CHECK-NOT:     chimera_request_tiles
func.func @without() {
  return
}
