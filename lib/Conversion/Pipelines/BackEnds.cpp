//===- BackEnds.cpp - The back ends that are registered -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The list belongs to the process, as that of passes does: a pass has to name
// the dialects it depends on before it meets a context.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/BackEnd.h"

#include <mutex>

using namespace chimera;

BackEnd::~BackEnd() = default;

namespace {
struct BackEndList {
  std::mutex mutex;
  std::vector<std::unique_ptr<BackEnd>> ofUsers, ofChimera;
};
} // namespace

/// Never destroyed: plugins are unloaded before that would be.
static BackEndList &getList() {
  static BackEndList *list = new BackEndList();
  return *list;
}

void chimera::registerBackEnd(std::unique_ptr<BackEnd> backEnd,
                              BackEndPrecedence precedence) {
  BackEndList &list = getList();
  std::lock_guard<std::mutex> lock(list.mutex);
  for (const auto *known : {&list.ofUsers, &list.ofChimera})
    for (const std::unique_ptr<BackEnd> &other : *known)
      if (other->getName() == backEnd->getName())
        return;
  backEnd->registerPipeline();
  auto &own =
      precedence == BackEndPrecedence::User ? list.ofUsers : list.ofChimera;
  own.push_back(std::move(backEnd));
}

llvm::SmallVector<const BackEnd *> chimera::getBackEnds() {
  BackEndList &list = getList();
  std::lock_guard<std::mutex> lock(list.mutex);
  llvm::SmallVector<const BackEnd *> all;
  for (const auto *known : {&list.ofUsers, &list.ofChimera})
    for (const std::unique_ptr<BackEnd> &backEnd : *known)
      all.push_back(backEnd.get());
  return all;
}
