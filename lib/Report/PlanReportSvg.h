//===- PlanReportSvg.h - Drawings of reports --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function writes one `svg` element to be put into a page, which gives the
// classes their colours: `plan`, `other` and `bound` for the kinds of plans,
// `c0` to `c7` for levels and tensors.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_REPORT_PLANREPORTSVG_H
#define CHIMERA_LIB_REPORT_PLANREPORTSVG_H

#include "Chimera/Report/PlanReport.h"

namespace chimera::report {

inline constexpr unsigned kNumColours = 8;

/// Text in which markup means nothing.
std::string escape(llvm::StringRef text);

/// The name of what was not chosen.
llvm::StringRef getAlternativeName(const ChainPlan &plan);

/// Bytes per level: this plan, the alternative and the bound as bars.
void drawBytes(llvm::raw_ostream &os, const ChainPlan &plan);

/// What one level of a kernel holds during each operator, against its capacity.
void drawLive(llvm::raw_ostream &os, const model::KernelReport &kernel,
              unsigned level);

/// Programs of more groups are not drawn: nobody could follow the lines.
inline constexpr unsigned kMostDrawnGroups = 150;

/// The groups of a partition in the order in which they run, with their
/// operators, and what is stored between them, with bytes; the reasons are
/// titles.
void drawGroups(llvm::raw_ostream &os, const GraphPlan &plan);

/// Arithmetic rate over intensity, both logarithmic, with a roof per level.
void drawRoofline(llvm::raw_ostream &os, const ChainPlan &plan);

} // namespace chimera::report

#endif // CHIMERA_LIB_REPORT_PLANREPORTSVG_H
