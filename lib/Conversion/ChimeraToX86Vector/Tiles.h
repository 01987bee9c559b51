//===- Tiles.h - The instructions of AMX ------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions on tile registers that the program assigns. Addresses and
// strides are indices, in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_TILES_H
#define CHIMERA_LIB_CONVERSION_TILES_H

#include "mlir/IR/Builders.h"

#include <array>

namespace chimera {

inline constexpr unsigned kTileRegisters = 8;

/// Where the operand of LDTILECFG says how many bytes a row of `tile` has, and
/// how many rows there are (Intel SDM).
constexpr std::array<unsigned, 2> getBytesOfSize(unsigned tile) {
  return {16 + 2 * tile, 48 + tile};
}

/// How the names of these instructions begin, and that which comes first.
inline constexpr llvm::StringLiteral kTilePrefixes[] = {
    "llvm.x86.tile", "llvm.x86.ldtilecfg", "llvm.x86.tdp"};
inline constexpr llvm::StringLiteral kTileConfiguration = "llvm.x86.ldtilecfg";
inline constexpr llvm::StringLiteral kTileRelease = "llvm.x86.tilerelease";

/// Sets the sizes of all tiles to what `pointer` points to.
void configureTiles(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value pointer);
/// Says that tiles are not used any longer.
void releaseTiles(mlir::OpBuilder &builder, mlir::Location loc);
void zeroTile(mlir::OpBuilder &builder, mlir::Location loc, unsigned tile);
/// Loads rows from `address` on, `stride` apart.
void loadTile(mlir::OpBuilder &builder, mlir::Location loc, unsigned tile,
              mlir::Value address, mlir::Value stride);
void storeTile(mlir::OpBuilder &builder, mlir::Location loc, unsigned tile,
               mlir::Value address, mlir::Value stride);
/// Adds to `sums` the product of tiles of `factor`; integers may have no sign.
void multiplyTiles(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Type factor, unsigned sums, unsigned lhs, unsigned rhs,
                   std::array<bool, 2> areUnsigned);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_TILES_H
