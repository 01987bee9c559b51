//===- Options.cpp - Compile options of the C interface -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

using namespace chimera;
using namespace chimera::capi;

ChimeraOptions chimeraOptionsCreate(void) { return {new capi::Options}; }

void chimeraOptionsDestroy(ChimeraOptions options) { delete unwrap(options); }

void chimeraOptionsSetTarget(ChimeraOptions options, ChimeraStringRef target) {
  if (capi::Options *self = unwrap(options))
    self->compile.target = unwrap(target).str();
}

void chimeraOptionsSetThreads(ChimeraOptions options, unsigned threads) {
  if (capi::Options *self = unwrap(options))
    self->compile.threads = threads;
}

void chimeraOptionsSetFuseMode(ChimeraOptions options, ChimeraFuseMode mode) {
  capi::Options *self = unwrap(options);
  if (!self)
    return;
  switch (mode) {
  case CHIMERA_FUSE_AUTO:
    self->compile.fuse = FuseMode::Auto;
    return;
  case CHIMERA_FUSE_NEVER:
    self->compile.fuse = FuseMode::Never;
    return;
  case CHIMERA_FUSE_ALWAYS:
    self->compile.fuse = FuseMode::Always;
    return;
  }
}

void chimeraOptionsSetTileMode(ChimeraOptions options, ChimeraTileMode mode) {
  if (capi::Options *self = unwrap(options))
    self->compile.tiles = mode == CHIMERA_TILES_CLOSED_FORM
                              ? TileMode::ClosedForm
                              : TileMode::Exact;
}

void chimeraOptionsSetOptimizationLevel(ChimeraOptions options,
                                        unsigned level) {
  if (capi::Options *self = unwrap(options))
    self->compile.optimizationLevel = level;
}

void chimeraOptionsSetJobs(ChimeraOptions options, unsigned jobs) {
  if (capi::Options *self = unwrap(options))
    self->compile.jobs = jobs;
}

void chimeraOptionsSetMicroKernels(ChimeraOptions options,
                                   ChimeraStringRef path) {
  if (capi::Options *self = unwrap(options))
    self->compile.microKernels = unwrap(path).str();
}

void chimeraOptionsAddConstant(ChimeraOptions options,
                               ChimeraStringRef function, unsigned argument) {
  if (capi::Options *self = unwrap(options))
    self->constants[unwrap(function).str()].push_back(argument);
}

void chimeraOptionsAddSizes(ChimeraOptions options, ChimeraStringRef function,
                            intptr_t numSizes, const int64_t *sizes) {
  if (capi::Options *self = unwrap(options))
    self->sizes[unwrap(function).str()].push_back(
        llvm::ArrayRef(sizes, sizes ? std::max<intptr_t>(numSizes, 0) : 0));
}
