//===- EmulatedTiles.cpp - What the instructions of AMX do ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions as Intel's Software Developer's Manual (volume 2) states
// them, with the faults that it lists: a tile that is not configured, or sizes
// that do not fit together, end the process. Functions that are compiled for
// tiles call these on machines without (chimera-emulate-tiles).
//
//===----------------------------------------------------------------------===//

#include "EmulatedTiles.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace chimera::runner;

namespace {
constexpr unsigned kRegisters = 8, kRows = 16, kRowBytes = 64;

/// The first byte is the palette; 0 is the initial state, without tiles.
struct Configuration {
  uint8_t palette, startRow, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(Configuration) == 64, "as LDTILECFG reads it");

struct Unit {
  Configuration configuration = {};
  uint8_t tiles[kRegisters][kRows][kRowBytes] = {};
};
} // namespace

/// Each thread has a unit.
static thread_local Unit unit;

static void require(bool holds, const char *instruction, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "emulated %s: %s\n", instruction, what);
  std::abort();
}

static unsigned rowsOf(unsigned tile) { return unit.configuration.rows[tile]; }
static unsigned bytesOf(unsigned tile) {
  return unit.configuration.rowBytes[tile];
}

static void requireTile(uint8_t tile, const char *instruction) {
  require(tile < kRegisters, instruction, "there are 8 tiles");
  require(unit.configuration.palette == 1, instruction,
          "tiles are not configured");
  require(rowsOf(tile) > 0 && bytesOf(tile) > 0, instruction,
          "the tile is not configured");
}

static void loadConfiguration(const void *memory) {
  Configuration read;
  std::memcpy(&read, memory, sizeof(read));
  const char *name = "ldtilecfg";
  require(read.palette == 1, name, "the palette must be 1");
  for (unsigned tile = 0; tile < 16; ++tile) {
    bool isThere = tile < kRegisters;
    require(read.rows[tile] <= (isThere ? kRows : 0) &&
                read.rowBytes[tile] <= (isThere ? kRowBytes : 0),
            name, "tiles have up to 16 rows of 64 bytes");
    require((read.rows[tile] == 0) == (read.rowBytes[tile] == 0), name,
            "rows without bytes, or bytes without rows");
  }
  unit = Unit();
  unit.configuration = read;
}

static void release() { unit = Unit(); }

static void zero(uint8_t tile) {
  requireTile(tile, "tilezero");
  std::memset(unit.tiles[tile], 0, sizeof(unit.tiles[tile]));
}

static void load(uint8_t tile, const char *memory, int64_t stride) {
  requireTile(tile, "tileloadd");
  std::memset(unit.tiles[tile], 0, sizeof(unit.tiles[tile]));
  for (unsigned row = 0; row < rowsOf(tile); ++row)
    std::memcpy(unit.tiles[tile][row], memory + row * stride, bytesOf(tile));
}

static void store(uint8_t tile, char *memory, int64_t stride) {
  requireTile(tile, "tilestored");
  for (unsigned row = 0; row < rowsOf(tile); ++row)
    std::memcpy(memory + row * stride, unit.tiles[tile][row], bytesOf(tile));
}

template <typename T>
static T read(uint8_t tile, unsigned row, unsigned index) {
  T value;
  std::memcpy(&value, unit.tiles[tile][row] + index * sizeof(T), sizeof(T));
  return value;
}

/// A bf16 as f32. Denormal numbers are zeros to the instruction.
static float widen(uint16_t number) {
  uint32_t bits = static_cast<uint32_t>(number) << 16;
  if ((bits & 0x7f800000) == 0)
    bits &= 0x80000000;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Adds to each sum the products of the numbers of a word, word by word:
/// `product(sum, lhs, rhs, i)` for number `i` of the words.
template <typename Number, typename Sum, typename Product>
static void multiply(uint8_t sums, uint8_t lhs, uint8_t rhs,
                     const char *instruction, Product product) {
  for (uint8_t tile : {sums, lhs, rhs})
    requireTile(tile, instruction);
  require(sums != lhs && sums != rhs && lhs != rhs, instruction,
          "the three tiles must differ");
  require(bytesOf(lhs) == 4 * rowsOf(rhs) && rowsOf(sums) == rowsOf(lhs) &&
              bytesOf(sums) == bytesOf(rhs) && bytesOf(sums) % 4 == 0,
          instruction, "the sizes of the tiles do not fit together");
  constexpr unsigned inWord = 4 / sizeof(Number);
  for (unsigned row = 0; row < rowsOf(sums); ++row)
    for (unsigned column = 0; column < bytesOf(sums) / 4; ++column) {
      Sum sum = read<Sum>(sums, row, column);
      for (unsigned word = 0; word < rowsOf(rhs); ++word)
        for (unsigned i = 0; i < inWord; ++i)
          sum = product(sum, read<Number>(lhs, row, word * inWord + i),
                        read<Number>(rhs, word, column * inWord + i));
      std::memcpy(unit.tiles[sums][row] + column * sizeof(Sum), &sum,
                  sizeof(Sum));
    }
}

static void multiplyBf16(uint8_t sums, uint8_t lhs, uint8_t rhs) {
  multiply<uint16_t, float>(sums, lhs, rhs, "tdpbf16ps",
                            [](float sum, uint16_t a, uint16_t b) {
                              return sum + widen(a) * widen(b);
                            });
}

static void multiplyF16(uint8_t sums, uint8_t lhs, uint8_t rhs) {
  multiply<_Float16, float>(
      sums, lhs, rhs, "tdpfp16ps", [](float sum, _Float16 a, _Float16 b) {
        return sum + static_cast<float>(a) * static_cast<float>(b);
      });
}

/// Sums wrap around.
template <typename Lhs, typename Rhs>
static void multiplyBytes(uint8_t sums, uint8_t lhs, uint8_t rhs) {
  multiply<uint8_t, uint32_t>(
      sums, lhs, rhs, "tdpb..d", [](uint32_t sum, uint8_t a, uint8_t b) {
        int32_t left = static_cast<Lhs>(a), right = static_cast<Rhs>(b);
        return sum + static_cast<uint32_t>(left * right);
      });
}

void chimera::runner::forEachEmulatedTileFunction(
    llvm::function_ref<void(llvm::StringRef, void *)> define) {
  auto add = [&](llvm::StringRef name, auto *function) {
    define(name, reinterpret_cast<void *>(function));
  };
  add("chimera_ldtilecfg", &loadConfiguration);
  add("chimera_tilerelease", &release);
  add("chimera_tilezero", &zero);
  add("chimera_tileloadd64", &load);
  add("chimera_tileloaddt164", &load);
  add("chimera_tilestored64", &store);
  add("chimera_tdpbf16ps", &multiplyBf16);
  add("chimera_tdpfp16ps", &multiplyF16);
  add("chimera_tdpbssd", &multiplyBytes<int8_t, int8_t>);
  add("chimera_tdpbsud", &multiplyBytes<int8_t, uint8_t>);
  add("chimera_tdpbusd", &multiplyBytes<uint8_t, int8_t>);
  add("chimera_tdpbuud", &multiplyBytes<uint8_t, uint8_t>);
}
