//===- ChainLimits.h - How large chains may become --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits on the size of a chain, each in one place for those who form
// chains and for those who plan them: on the effort of planning, and on what
// is worth planning.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_CHAINLIMITS_H
#define CHIMERA_MODEL_CHAINLIMITS_H

namespace chimera::model {

/// Operators that one chain, and so one kernel, may have. The search goes
/// through orders of all their loops, whose number grows with the factorial of
/// the number of loops.
inline constexpr unsigned mostOperators = 6;

/// Readers of an operator that are looked for. A chain has fewer operators, and
/// in long programs almost everything depends on almost everything.
inline constexpr unsigned mostReaders = mostOperators + 2;

/// The fewer multiply-adds there are per element of an intermediate, the more
/// does moving it weigh. In chains that are planned only, no intermediate has
/// more than so many times those of another: long chains of convolutions take
/// long to plan, since the planner goes through all ways to cut them.
inline constexpr double mostWorkRatio = 4;

} // namespace chimera::model

#endif // CHIMERA_MODEL_CHAINLIMITS_H
