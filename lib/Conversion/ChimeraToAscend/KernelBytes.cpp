//===- KernelBytes.cpp - What the cube unit multiplies --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factors are halves, or bytes with a sign, whose sums are integers. A block
// has 32 bytes, so that column groups of bytes are twice as wide, and fractals
// as deep; columns of sums stay in groups of 16. What lies the other way round
// is transposed in squares of 32 x 32, two fractals, for which both sides of a
// factor, and the columns of sums, are multiples of 32.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "Chimera/IR/ProductBody.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// The type of elements on the chip, where bytes that are multiplied have a
/// sign.
Type KernelLowering::asElement(Type type) const {
  return multipliesBytes() && type.isInteger(8)
             ? Type(IntegerType::get(type.getContext(), 8, IntegerType::Signed))
             : type;
}

/// Finds the unit for the factors of `kernel`; all of one kernel have one type.
LogicalResult KernelLowering::chooseFactors(MicroKernelOp kernel) {
  for (Value input : kernel.getInputs()) {
    Type type = getElementTypeOrSelf(input);
    auto *cube = llvm::find_if(cubes, [&](const Cube &entry) {
      return llvm::is_contained(entry.instruction.getFactors(), type);
    });
    if (cube == cubes.end())
      return fail(llvm::formatv("the factors of a contraction are not f16 but "
                                "{0}, for which the cube unit has no code",
                                type));
    if (factorType && factorType != type)
      return fail("contractions of one kernel have factors of several types; "
                  "plan them one by one (fuse=never)");
    factorType = type;
    unit = cube->unit;
  }
  return success();
}

/// Fails if `kernel` is no product that the cube unit forms.
LogicalResult KernelLowering::checkProduct(MicroKernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (!multipliesBytes())
    return multipliesAndAdds(body)
               ? success()
               : fail("a contraction does something else than to multiply in "
                      "f32 and add up, which is all that the cube unit does");
  if (!has("load_cbuf_to_cb_transpose", asElement(factorType)))
    return fail("bytes are multiplied, which this core has no load for that "
                "transposes them, nor a documented way for their sums out of "
                "L0C; widen them to f16, or compile for an ascend910b");
  std::optional<ProductBody> product = matchProductBody(body);
  if (!product || !product->isInteger())
    return fail("a contraction of bytes does something else than to multiply "
                "and add them up in i32");
  if (product->isFactorUnsigned || product->isCodeUnsigned)
    return fail("bytes without a sign are multiplied, which no page says that "
                "the cube unit of an ascend910b does; subtract 128");
  builder.setInsertionPoint(kernel);
  for (Value input : kernel.getInputs()) {
    FailureOr<TileRef> tile = traceTile(code, input);
    if (succeeded(tile) && tile->showsWindows)
      return fail("bytes under windows are multiplied; copy what windows show "
                  "to a matrix");
  }
  return success();
}

/// Loads the part of `factor`, of which rows are the depth, from `first` and
/// `firstDepth` on. Each square becomes the two fractals of a depth, of the
/// right operand next to each other, of the left one as far apart as rows of
/// fractals are.
void KernelLowering::loadSquares(const Factor &factor, Value to, Value first,
                                 Value extent, Value firstDepth, Value depth,
                                 bool isLhs) {
  const int64_t square = side(), groupStride = factor.pitch / square;
  Value numGroups = code.ceilDiv(extent, square),
        numDepth = code.ceilDiv(depth, square);
  Value start = code.add(code.mul(code.div(first, square), groupStride),
                         code.div(firstDepth, square));
  Value zero = code.number(0), one = code.number(1);
  Value fractals = code.mul(isLhs ? numDepth : numGroups, 2);
  code.loop(zero, isLhs ? numGroups : numDepth, 1, [&](Value index) {
    Value place =
        code.offset(to, code.mul(code.mul(index, fractals), fractal * square));
    Value own = code.add(start, code.mul(index, isLhs ? groupStride : 1));
    LoadTransposedOp::create(
        builder, code.loc, place, factor.address, own,
        isLhs ? numDepth : numGroups, code.number(isLhs ? 1 : groupStride),
        isLhs ? zero : one, isLhs ? code.sub(numDepth, one) : zero);
  });
}
