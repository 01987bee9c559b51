//===- FoldOffsets.cpp - Constants out of products of indices -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a register tile are row + 0, row + 1, ..., and each has an
// address with (row + i) * stride. What they have in common is row * stride,
// and the rest is an offset that instructions hold. LLVM sees that where such
// an index has one use; the row of an image that is read through windows has
// one for each tap, and got a register of its own for each address, more than
// there are. It is the same with the sum of an index that the result's address
// has as well, so addresses are made in two steps: what is variable, then what
// is constant. LLVM's reduction of loop strength, which weighs all addresses
// of a loop against each other, then finds few.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

#include <map>
#include <tuple>

namespace chimera {
#define GEN_PASS_DEF_FOLDOFFSETSPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
/// Replaces products (x + a) * b of an index with constants by x * b + ab.
/// Those of a block that start from the same x have x * b in common.
class ProductDistributor {
public:
  explicit ProductDistributor(IRRewriter &rewriter) : rewriter(rewriter) {}

  void distribute(LLVM::MulOp product);

private:
  Value multiply(LLVM::MulOp product, Value index, const APInt &factor);

  IRRewriter &rewriter;
  /// Products by block, index and factor.
  std::map<std::tuple<Block *, void *, int64_t>, Value> known;
};
} // namespace

Value ProductDistributor::multiply(LLVM::MulOp product, Value index,
                                   const APInt &factor) {
  Value &result = known[{product->getBlock(), index.getAsOpaquePointer(),
                         factor.getSExtValue()}];
  if (!result)
    result = index == product.getLhs()
                 ? product.getResult()
                 : LLVM::MulOp::create(rewriter, product.getLoc(), index,
                                       product.getRhs());
  else // What one product promises of overflow holds for it alone.
    result.getDefiningOp<LLVM::MulOp>().setOverflowFlags(
        LLVM::IntegerOverflowFlags::none);
  return result;
}

void ProductDistributor::distribute(LLVM::MulOp product) {
  APInt factor, offset;
  if (!matchPattern(product.getRhs(), m_ConstantInt(&factor)) ||
      !factor.isSignedIntN(64))
    return;
  rewriter.setInsertionPoint(product);
  auto sum = product.getLhs().getDefiningOp<LLVM::AddOp>();
  if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&offset))) {
    Value same = multiply(product, product.getLhs(), factor);
    if (same != product)
      rewriter.replaceOp(product, same);
    return;
  }
  Value common = multiply(product, sum.getLhs(), factor);
  Value rest = LLVM::ConstantOp::create(
      rewriter, product.getLoc(), product.getType(),
      rewriter.getIntegerAttr(product.getType(), offset * factor));
  rewriter.replaceOpWithNewOp<LLVM::AddOp>(product, common, rest);
}

/// Sums in sums of an index that are taken apart; addresses have fewer.
static constexpr unsigned deepestSum = 8;

/// Adds up the constants of `index`, a tree of sums, in `offset`; the other
/// summands go to `summands`.
static void takeApart(Value index, APInt &offset,
                      SmallVectorImpl<Value> &summands,
                      unsigned depth = deepestSum) {
  APInt number;
  auto sum = index.getDefiningOp<LLVM::AddOp>();
  if (sum && depth > 0) {
    takeApart(sum.getLhs(), offset, summands, depth - 1);
    takeApart(sum.getRhs(), offset, summands, depth - 1);
  } else if (matchPattern(index, m_ConstantInt(&number))) {
    offset += number;
  } else {
    summands.push_back(index);
  }
}

namespace {
/// Addresses of one block that differ by constants.
struct AddressGroup {
  /// What their indices have in common.
  SmallVector<Value> summands;
  SmallVector<LLVM::GEPOp> addresses;
  SmallVector<int32_t> offsets;
};

/// Makes addresses of a variable index in two steps where they differ by
/// constants. The first step is theirs together, and hidden from LLVM's
/// reduction of loop strength: where loops around a tile are many, that gives
/// each of its rows a pointer of its own instead, which come from the stack
/// before every multiply-add.
class AddressSplitter {
public:
  explicit AddressSplitter(IRRewriter &rewriter) : rewriter(rewriter) {}

  void collect(LLVM::GEPOp address);
  void split();

private:
  /// Block, element type, pointer and summands of the index.
  using Key = SmallVector<const void *, 6>;

  IRRewriter &rewriter;
  std::map<Key, size_t> indexOf;
  SmallVector<AddressGroup> groups;
};
} // namespace

void AddressSplitter::collect(LLVM::GEPOp address) {
  if (address.getRawConstantIndices().size() != 1 ||
      address.getDynamicIndices().size() != 1)
    return;
  Value index = address.getDynamicIndices()[0];
  // Shorter ones are extended, which a sum of two steps is not.
  if (!index.getType().isInteger(64))
    return;
  APInt offset = APInt::getZero(64);
  SmallVector<Value> summands;
  takeApart(index, offset, summands);
  if (!offset.isSignedIntN(32) || summands.empty())
    return;
  Key key = {address->getBlock(), address.getElemType().getAsOpaquePointer(),
             address.getBase().getAsOpaquePointer()};
  for (Value summand : summands)
    key.push_back(summand.getAsOpaquePointer());
  auto [entry, isNew] = indexOf.try_emplace(key, groups.size());
  if (isNew)
    groups.push_back({summands, {}, {}});
  AddressGroup &group = groups[entry->second];
  group.addresses.push_back(address);
  group.offsets.push_back(offset.getSExtValue());
}

void AddressSplitter::split() {
  for (AddressGroup &group : groups) {
    if (group.addresses.size() < 2)
      continue;
    LLVM::GEPOp first = group.addresses.front();
    Location loc = first.getLoc();
    rewriter.setInsertionPoint(first);
    Value common = group.summands.front();
    for (Value summand : ArrayRef(group.summands).drop_front())
      common = LLVM::AddOp::create(rewriter, loc, common, summand);
    Value start =
        LLVM::GEPOp::create(rewriter, loc, first.getType(), first.getElemType(),
                            first.getBase(), ArrayRef<LLVM::GEPArg>{common});
    start = LLVM::LaunderInvariantGroupOp::create(rewriter, loc, start);
    for (auto [address, offset] :
         llvm::zip_equal(group.addresses, group.offsets)) {
      rewriter.setInsertionPoint(address);
      rewriter.replaceOpWithNewOp<LLVM::GEPOp>(address, address.getType(),
                                               address.getElemType(), start,
                                               ArrayRef<LLVM::GEPArg>{offset});
    }
  }
}

/// Gives all accesses to a buffer the same pointer and strides. Each access has
/// taken them out of the buffer's descriptor for itself.
static void shareDescriptors(IRRewriter &rewriter, Operation *module) {
  module->walk([&](LLVM::ExtractValueOp extract) {
    SmallVector<Value> parts;
    rewriter.setInsertionPoint(extract);
    if (succeeded(rewriter.tryFold(extract, parts)) && !parts.empty())
      rewriter.replaceOp(extract, parts);
  });
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);
}

namespace {
class FoldOffsetsPass
    : public chimera::impl::FoldOffsetsPassBase<FoldOffsetsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    shareDescriptors(rewriter, getOperation());
    SmallVector<LLVM::MulOp> products;
    getOperation()->walk([&](LLVM::MulOp op) {
      if (isa<IntegerType>(op.getType()))
        products.push_back(op);
    });
    ProductDistributor distributor(rewriter);
    for (LLVM::MulOp product : products)
      distributor.distribute(product);
    AddressSplitter splitter(rewriter);
    getOperation()->walk(
        [&](LLVM::GEPOp address) { splitter.collect(address); });
    splitter.split();
  }
};
} // namespace
