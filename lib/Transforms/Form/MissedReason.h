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

/// Why an operator was not taken into a chain, to follow "not in a chain: ".
namespace chimera::missed {

inline constexpr llvm::StringLiteral buffers = "it does not work on tensors";
inline constexpr llvm::StringLiteral shape =
    "its shape is not static or has no elements";
inline constexpr llvm::StringLiteral encoding =
    "a tensor that it reads or writes has an encoding, such as a sparse format";
inline constexpr llvm::StringLiteral form =
    "it is not a sum of products of two tensors whose indices are sums of "
    "loops, or it uses every element once";
inline constexpr llvm::StringLiteral alone =
    "no other contraction produces what it reads or reads what it produces";
inline constexpr llvm::StringLiteral unsupportedBetween =
    "what lies between it and its neighbours is neither elementwise nor a "
    "reduction along rows, or it is an operator of no or another chain";
inline constexpr llvm::StringLiteral usedOutside =
    "a tensor between it and the next contraction is used elsewhere";
inline constexpr llvm::StringLiteral mattersLess =
    "the tensor between it and its neighbour matters much less than those "
    "inside the neighbour's chain";
inline constexpr llvm::StringLiteral sideEffects =
    "an operation with side effects needs a result of the chain before the "
    "chain's last operator";
inline constexpr llvm::StringLiteral noCommonLoop =
    "no loop that all could run in is common to it and its neighbours";
inline constexpr llvm::StringLiteral notNormalized =
    "the operations between it and its neighbours do not reduce to one "
    "elementwise operation on the result of each contraction";
inline constexpr llvm::StringLiteral notByItself =
    "it joins no other, and by itself it does not reduce to one product that "
    "the model takes and elementwise operations on its result";

} // namespace chimera::missed

#endif // CHIMERA_LIB_TRANSFORMS_FORM_MISSEDREASON_H
