//===- ShareTileSizes.cpp - Sizes of tiles are set once for many kernels --===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel tells the tile registers their sizes before it uses them, which
// waits for what came before and takes longer than a product of 32 x 64 x 32
// (220 cycles, measured on an Emerald Rapids). Almost all kernels want the same
// sizes of the registers that they use. So a thread sets these once, and
// kernels with others put them back:
//
//   for rows                           set whole
//     set whole                        for rows
//     whole tiles                        whole tiles
//     set edge                  ->       set edge
//     tiles of an edge                   tiles of an edge
//     release                            set whole
//                                      release
//
//===----------------------------------------------------------------------===//

#include "Tiles.h"

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <bitset>

namespace chimera {
#define GEN_PASS_DEF_SHARETILESIZESPASS
#include "Chimera/Conversion/X86Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static bool isInstruction(Operation *op, StringRef name) {
  auto instruction = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return instruction && instruction.getIntrin() == name;
}

static bool setsSizes(Operation *op) {
  return isInstruction(op, kTileConfiguration);
}

/// What `op` sets tiles to: the name of a constant, or null for one of several.
static StringAttr getSizes(Operation *op) {
  auto constant = op->getOperand(0).getDefiningOp<LLVM::AddressOfOp>();
  return constant ? constant.getGlobalNameAttr().getAttr() : StringAttr();
}

/// The bytes of `sizes`, a constant of the module that `user` is in.
static std::optional<SmallVector<int8_t>> getBytes(Operation *user,
                                                   StringAttr sizes) {
  auto constant =
      SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(user, sizes);
  auto bytes =
      constant
          ? dyn_cast_or_null<DenseIntElementsAttr>(constant.getValueOrNull())
          : DenseIntElementsAttr();
  if (!bytes || !bytes.getElementType().isInteger(8))
    return std::nullopt;
  return llvm::to_vector(bytes.getValues<int8_t>());
}

/// The registers that instructions name between `setting`, which sets sizes,
/// and what sets others or ends their use.
static std::bitset<kTileRegisters> getRegistersAfter(Operation *setting) {
  std::bitset<kTileRegisters> registers;
  for (Operation *op = setting->getNextNode(); op; op = op->getNextNode()) {
    if (setsSizes(op) || isInstruction(op, kTileRelease))
      break;
    op->walk([&](LLVM::CallIntrinsicOp instruction) {
      if (llvm::none_of(kTilePrefixes, [&](StringRef prefix) {
            return instruction.getIntrin().starts_with(prefix);
          }))
        return;
      for (Value operand : instruction.getArgs()) {
        APInt number;
        if (operand.getType().isInteger(8) &&
            matchPattern(operand, m_ConstantInt(&number)))
          registers.set(number.getZExtValue());
      }
    });
  }
  return registers;
}

/// True if what `setting` begins can run where tiles have the sizes `current`.
static bool fits(Operation *setting, StringAttr current) {
  StringAttr wanted = getSizes(setting);
  if (!wanted || !current)
    return false;
  if (wanted == current)
    return true;
  auto has = getBytes(setting, current), wants = getBytes(setting, wanted);
  if (!has || !wants || has->size() != wants->size())
    return false;
  std::bitset<kTileRegisters> registers = getRegistersAfter(setting);
  for (unsigned tile = 0; tile < kTileRegisters; ++tile)
    for (unsigned byte : getBytesOfSize(tile))
      if (registers[tile] && (*has)[byte] != (*wants)[byte])
        return false;
  return true;
}

/// True if the thread that comes to `op` is the one that runs its regions.
static bool isControlFlow(Operation *op) {
  return isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::IndexSwitchOp,
             scf::ExecuteRegionOp, memref::AllocaScopeOp, omp::WsloopOp,
             omp::LoopNestOp>(op);
}

static bool mayRepeat(Operation *op) {
  return isa<scf::ForOp, scf::WhileOp, omp::WsloopOp, omp::LoopNestOp>(op);
}

namespace {

class TileSizeSharer {
public:
  explicit TileSizeSharer(Operation *root) { summarize(root); }

  /// Shares sizes within each stretch of `block` that one thread runs.
  void share(Block &block);

private:
  /// What is inside of an operation, itself included.
  struct Summary {
    bool setsSizes = false;
    /// Other threads run some of it, or code that is elsewhere.
    bool leaves = false;
  };

  Summary summarize(Operation *op);
  void shareAmong(ArrayRef<Operation *> users);
  StringAttr findCommon(ArrayRef<Operation *> users);
  void set(OpBuilder &builder, Location loc, StringAttr sizes);
  StringAttr rewrite(Operation *op, StringAttr current);
  StringAttr rewrite(Block &block, StringAttr current);

  llvm::DenseMap<Operation *, Summary> summaries;
  /// What tiles are set to between the kernels of a stretch.
  StringAttr common;
};

} // namespace

TileSizeSharer::Summary TileSizeSharer::summarize(Operation *op) {
  Summary summary;
  summary.setsSizes = setsSizes(op);
  summary.leaves = isa<CallOpInterface>(op) && !isa<LLVM::CallIntrinsicOp>(op);
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps()) {
      Summary inside = summarize(&nested);
      summary.setsSizes |= inside.setsSizes;
      summary.leaves |= inside.leaves;
    }
  summary.leaves |=
      summary.setsSizes && op->getNumRegions() > 0 && !isControlFlow(op);
  return summaries[op] = summary;
}

void TileSizeSharer::share(Block &block) {
  SmallVector<Operation *> users;
  auto flush = [&] {
    shareAmong(users);
    users.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    Summary summary = summaries.lookup(&op);
    if (summary.leaves) {
      flush();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          share(inner);
    } else if (summary.setsSizes || isInstruction(&op, kTileRelease)) {
      users.push_back(&op);
    }
  }
  flush();
}

/// Of the sizes that are set in the innermost loops of `users`, the first that
/// most of these kernels can run with.
StringAttr TileSizeSharer::findCommon(ArrayRef<Operation *> users) {
  SmallVector<Operation *> settings;
  int bestDepth = -1;
  std::function<void(Operation *, int)> visit = [&](Operation *op, int depth) {
    if (setsSizes(op) && depth >= bestDepth && getSizes(op)) {
      if (depth > bestDepth)
        settings.clear();
      settings.push_back(op);
      bestDepth = depth;
    }
    for (Region &region : op->getRegions())
      for (Operation &nested : region.getOps())
        visit(&nested, depth + mayRepeat(op));
  };
  for (Operation *user : users)
    visit(user, 0);
  StringAttr best;
  int64_t mostUsers = 0;
  llvm::SmallSetVector<StringAttr, 4> candidates;
  for (Operation *setting : settings)
    candidates.insert(getSizes(setting));
  for (StringAttr sizes : candidates) {
    int64_t fitting = llvm::count_if(
        settings, [&](Operation *setting) { return fits(setting, sizes); });
    if (fitting > mostUsers) {
      best = sizes;
      mostUsers = fitting;
    }
  }
  return best;
}

void TileSizeSharer::set(OpBuilder &builder, Location loc, StringAttr sizes) {
  configureTiles(builder, loc,
                 LLVM::AddressOfOp::create(
                     builder, loc,
                     LLVM::LLVMPointerType::get(builder.getContext()), sizes));
}

void TileSizeSharer::shareAmong(ArrayRef<Operation *> users) {
  common = findCommon(users);
  if (!common)
    return;
  OpBuilder builder(users.front());
  Location loc = users.front()->getLoc();
  set(builder, loc, common);
  builder.setInsertionPointAfter(users.back());
  releaseTiles(builder, loc);
  StringAttr current = common;
  for (Operation *user : users)
    current = rewrite(user, current);
}

/// Rewrites `op` for tiles that have the sizes `current`, none if that is not
/// known. Returns what they have behind it.
StringAttr TileSizeSharer::rewrite(Operation *op, StringAttr current) {
  if (setsSizes(op)) {
    StringAttr sizes = getSizes(op);
    if (!fits(op, current))
      return sizes;
    op->erase();
    return current;
  }
  if (isInstruction(op, kTileRelease)) {
    OpBuilder builder(op);
    if (current != common)
      set(builder, op->getLoc(), common);
    op->erase();
    return common;
  }
  if (!summaries.lookup(op).setsSizes)
    return current;
  // Iterations begin as they end.
  if (mayRepeat(op) && current != common) {
    OpBuilder builder(op);
    set(builder, op->getLoc(), common);
    current = common;
  }
  StringAttr after = current;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      StringAttr end = rewrite(block, current);
      if (mayRepeat(op) && end != common) {
        OpBuilder builder(block.getTerminator());
        set(builder, op->getLoc(), common);
      } else if (end != after) {
        after = nullptr;
      }
    }
  return mayRepeat(op) ? common : after;
}

StringAttr TileSizeSharer::rewrite(Block &block, StringAttr current) {
  for (Operation &op : llvm::make_early_inc_range(block))
    current = rewrite(&op, current);
  return current;
}

namespace {
struct ShareTileSizesPass
    : chimera::impl::ShareTileSizesPassBase<ShareTileSizesPass> {
  void runOnOperation() override {
    TileSizeSharer sharer(getOperation());
    for (Block &block : getOperation()->getRegion(0))
      sharer.share(block);
  }
};
} // namespace
