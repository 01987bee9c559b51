//===- Precompiled.cpp - Compiles the headers that libraries share --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A precompiled header belongs to a target, and a target has a source.
//
//===----------------------------------------------------------------------===//
