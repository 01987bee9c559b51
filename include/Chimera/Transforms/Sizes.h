//===- Sizes.h - Dynamic sizes of a function's arguments --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function whose arguments have dynamic dimensions (a batch, the length of a
// sequence) has a few sizes that are not known before it is called. Dimensions
// that can only have the same size are one.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_SIZES_H
#define CHIMERA_TRANSFORMS_SIZES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

namespace chimera {

/// A dynamic dimension of an argument.
struct ArgumentDim {
  unsigned argument, dim;
};

/// The dynamic dimensions of arguments that have one size.
using SizeGroup = llvm::SmallVector<ArgumentDim, 4>;

/// The sizes that `function` does not know, in the order of the first dimension
/// that has each. Dimensions have one size if operations need them to, and
/// arguments of one type are assumed to have the same sizes, as queries, keys
/// and values of an attention do: code made for that assumption has to test it.
llvm::SmallVector<SizeGroup> groupDynamicDims(mlir::func::FuncOp function);

/// Gives the arguments of `function` the sizes in `sizes`, one for each of its
/// groups, and everything that follows from them static types. Results whose
/// sizes do not follow keep their types.
llvm::LogicalResult fixSizes(mlir::func::FuncOp function,
                             llvm::ArrayRef<int64_t> sizes);

/// Gives the dynamic dimensions of arguments placeholders (see
/// Chain/OpenSizes.h), and everything that follows from them static types;
/// plans are to be made for the sizes in `planned`, one for each group. Fails,
/// and leaves a function that is of no use, if an operation may depend on the
/// sizes in another way than by products of them and by sums in tensors side by
/// side; `obstacle` is the operation to blame, or the function.
llvm::LogicalResult openSizes(mlir::func::FuncOp function,
                              llvm::ArrayRef<int64_t> planned,
                              mlir::Operation *&obstacle);

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_SIZES_H
