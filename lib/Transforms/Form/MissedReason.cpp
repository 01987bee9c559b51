//===- MissedReason.cpp - Why an operator is in no chain ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/MissedReason.h"

#include "llvm/Support/ErrorHandling.h"

using namespace chimera;

llvm::StringRef chimera::getText(MissedReason reason) {
  switch (reason) {
  case MissedReason::Buffers:
    return "it does not work on tensors";
  case MissedReason::Shape:
    return "its shape is not static or has no elements";
  case MissedReason::Encoding:
    return "a tensor that it reads or writes has an encoding, such as a sparse "
           "format";
  case MissedReason::Form:
    return "it is not a sum of products of two tensors whose indices are sums "
           "of loops, or it uses every element once";
  case MissedReason::Alone:
    return "no other contraction produces what it reads or reads what it "
           "produces";
  case MissedReason::UnsupportedBetween:
    return "what lies between it and its neighbours is neither elementwise nor "
           "a reduction along rows, or it is an operator of no or another "
           "chain";
  case MissedReason::UsedOutside:
    return "a tensor between it and the next contraction is used elsewhere";
  case MissedReason::MattersLess:
    return "the tensor between it and its neighbour matters much less than "
           "those inside the neighbour's chain";
  case MissedReason::SideEffects:
    return "an operation with side effects needs a result of the chain before "
           "the chain's last operator";
  case MissedReason::NoCommonLoop:
    return "no loop that all could run in is common to it and its neighbours";
  case MissedReason::NotNormalized:
    return "the operations between it and its neighbours do not reduce to one "
           "elementwise operation on the result of each contraction";
  case MissedReason::NotByItself:
    return "it joins no other, and by itself it does not reduce to one product "
           "that the model takes and elementwise operations on its result";
  }
  llvm_unreachable("unknown reason");
}
