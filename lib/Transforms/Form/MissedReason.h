//===- MissedReason.h - Why an operator is in no chain ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_MISSEDREASON_H
#define CHIMERA_LIB_TRANSFORMS_FORM_MISSEDREASON_H

#include "llvm/ADT/StringRef.h"

namespace chimera {

/// Why an operator was not taken into a chain.
enum class MissedReason {
  Buffers,
  Shape,
  Encoding,
  Form,
  Alone,
  UnsupportedBetween,
  UsedOutside,
  MattersLess,
  SideEffects,
  NoCommonLoop,
  NotNormalized,
  NotByItself
};

/// The reason in words, to follow "not in a chain: ".
llvm::StringRef getText(MissedReason reason);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_MISSEDREASON_H
