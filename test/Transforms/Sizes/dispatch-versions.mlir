// RUN: chimera-opt %s --chimera-dispatch-versions --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[W:.*]]: memref<?xf32> {chimera.constant}, %[[R:.*]]: memref<?x64xf32> {bufferize.result}) attributes {llvm.emit_c_interface}
// CHECK: %[[SIZE:.*]] = memref.dim %[[X]]
// CHECK: %[[FITS:.*]] = arith.cmpi eq, %[[SIZE]], %c128
// CHECK: memref.dim %[[W]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[FITS]]
// CHECK-NOT: memref.dim %[[R]]
// CHECK: scf.if %[[BOTH]] {
// CHECK:   %[[FIXED:.*]] = memref.cast %[[X]] : memref<?x64xf32> to memref<128x64xf32>
// CHECK:   func.call @f_128(%[[FIXED]],
// CHECK: } else {
// CHECK:   func.call @f_any(%[[X]], %[[W]], %[[R]])
// CHECK: func.func private @f_any(
// What is prepared depends on the sizes of constants alone.
// CHECK-LABEL: func.func @f_prepare(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[W:.*]]: memref<?xf32> {chimera.constant})
// CHECK: call @f_any_prepare(%[[X]], %[[W]])
// CHECK-NOT: memref.dim %[[X]]
// CHECK: %[[SIZE:.*]] = memref.dim %[[W]]
// CHECK: arith.cmpi eq, %[[SIZE]], %c7
// CHECK: scf.if
// CHECK:   func.call @f_128_prepare
// CHECK: func.func private @f_any_prepare(
func.func @f(%x: memref<?x64xf32>, %w: memref<?xf32> {chimera.constant}, %r: memref<?x64xf32> {bufferize.result})
    attributes {llvm.emit_c_interface} {
  return
}
func.func @f_prepare(%x: memref<?x64xf32>, %w: memref<?xf32> {chimera.constant}) attributes {llvm.emit_c_interface} {
  return
}
func.func private @f_128(%x: memref<128x64xf32>, %w: memref<7xf32> {chimera.constant}, %r: memref<128x64xf32> {bufferize.result})
    attributes {chimera.version_of = "f"} {
  return
}
func.func private @f_128_prepare(%x: memref<128x64xf32>, %w: memref<7xf32> {chimera.constant}) {
  return
}

// -----

// Results that are returned; two versions, the first one first.
// CHECK-LABEL: func.func @g(
// CHECK: %[[OUTER:.*]] = scf.if
// CHECK:   call @g_2
// CHECK: else
// CHECK:   %[[INNER:.*]] = scf.if
// CHECK:     call @g_3
// CHECK:     %[[RESULT:.*]] = memref.cast %{{.*}} : memref<3xf32> to memref<?xf32>
// CHECK:     scf.yield %[[RESULT]]
// CHECK:   else
// CHECK:     call @g_any
// CHECK:   scf.yield %[[INNER]]
// CHECK: return %[[OUTER]]
func.func @g(%x: memref<?xf32>) -> memref<?xf32> {
  return %x : memref<?xf32>
}
func.func private @g_2(%x: memref<2xf32>) -> memref<2xf32> attributes {chimera.version_of = "g"} {
  return %x : memref<2xf32>
}
func.func private @g_3(%x: memref<3xf32>) -> memref<3xf32> attributes {chimera.version_of = "g"} {
  return %x : memref<3xf32>
}

// -----

// expected-error @+1 {{is a version of 'h', which is not in this module}}
func.func private @h_2(%x: memref<2xf32>) attributes {chimera.version_of = "h"} {
  return
}

// -----

func.func @other(%x: memref<?xf32>) {
  return
}
// expected-error @+1 {{is a version of 'other', which must have a body, and the same arguments and results up to sizes that are not known}}
func.func private @other_2(%x: memref<2xf64>) attributes {chimera.version_of = "other"} {
  return
}

// -----

func.func private @declared(%x: memref<?xf32>)
// expected-error @+1 {{is a version of 'declared', which must have a body}}
func.func private @declared_2(%x: memref<2xf32>) attributes {chimera.version_of = "declared"} {
  return
}

// -----

func.func @equal(%x: memref<?xf32>) {
  return
}
// expected-error @+1 {{'chimera.equal_sizes' must list, for each size, the arguments that have it and their dimensions in turn, got [array<i64: 0, 0, 1, 0>]}}
func.func private @equal_open(%x: memref<?xf32>)
    attributes {chimera.version_of = "equal", chimera.equal_sizes = [array<i64: 0, 0, 1, 0>]} {
  return
}

// -----

// A function that only looks as if it prepared something is left alone.
// CHECK-LABEL: func.func @p(
// CHECK-LABEL: func.func @p_prepare(
// CHECK-SAME: f64
// CHECK-NEXT: return
func.func @p(%x: memref<?xf32>) {
  return
}
func.func private @p_2(%x: memref<2xf32>) attributes {chimera.version_of = "p"} {
  return
}
func.func @p_prepare(%x: f64) {
  return
}
