//===- ShowImages.cpp - Windows beyond images -----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A padded image would be a copy of the image in memory. Kernels copy parts of
// images to their cores anyway, and can put zeros around them there: what
// windows show of a padded image becomes a view of the image itself.
//
//===----------------------------------------------------------------------===//

#include "../Support/ImageWindows.h"

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace chimera {
#define GEN_PASS_DEF_SHOWASCENDIMAGESPASS
#include "Chimera/Conversion/AscendPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Where the elements of `windows` are in the image without its border.
static AffineMap getMap(WindowsOp windows, const ImageWindows &image) {
  SmallVector<AffineExpr> results;
  for (auto [result, side] :
       llvm::zip_equal(windows.getMap().getResults(), image.sides))
    results.push_back(result + side.first);
  return AffineMap::get(windows.getMap().getNumDims(), /*symbolCount=*/0,
                        results, windows.getContext());
}

static void showImage(WindowsOp windows) {
  std::optional<ImageWindows> image = ImageWindows::find(windows.getResult());
  if (llvm::none_of(image->sides, [](const ImageWindows::Side &side) {
        return side.isPadded;
      }))
    return;
  OpBuilder builder(windows);
  Value shown =
      ascend::ImageOp::create(builder, windows.getLoc(), windows.getType(),
                              image->image, getMap(windows, *image));
  windows.replaceAllUsesWith(shown);
  auto pad = windows.getSource().getDefiningOp();
  windows.erase();
  if (pad->use_empty())
    pad->erase();
}

namespace {
struct ShowAscendImagesPass
    : chimera::impl::ShowAscendImagesPassBase<ShowAscendImagesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<WindowsOp> all;
    getOperation()->walk([&](WindowsOp windows) { all.push_back(windows); });
    for (WindowsOp windows : all) {
      loseUnitsBeforePadding(windows);
      showWholeImage(windows);
      showImage(windows);
    }
  }
};
} // namespace
