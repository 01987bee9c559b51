//===- Ascend.h - Instructions of an Ascend core ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations and types of the `ascend` dialect, in one header.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_ASCEND_ASCEND_H
#define CHIMERA_ASCEND_ASCEND_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <optional>
#include <string>

#include "Chimera/Ascend/AscendDialect.h.inc"
#include "Chimera/Ascend/AscendEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Chimera/Ascend/AscendTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Chimera/Ascend/AscendAttributes.h.inc"

#define GET_OP_CLASSES
#include "Chimera/Ascend/AscendOps.h.inc"

namespace chimera::ascend {

/// That of a processor, as targets name it, as in "Ascend910A"; none if its
/// instructions are not known.
std::optional<Architecture> getArchitecture(llvm::StringRef cpu);
/// Events between two pipes that a program may use.
int64_t getNumEvents(Architecture architecture);
/// Flags between the cores of a block that a program may use; none where it has
/// one core.
int64_t getNumCrossFlags(Architecture architecture);
/// True if the vector unit computes with infinities; if not, it saturates.
bool hasInfinities(Architecture architecture);
/// `number`, or for an infinite one, where there are none, the largest f32.
double saturate(Architecture architecture, double number);
/// True if each repeat of a selection can take bits of its own.
bool selectsOn(Architecture architecture);
/// True if the vector unit neither reduces blocks of f32 nor spreads their
/// elements.
bool keepsLanes(Architecture architecture);
/// Bytes of main memory that move together: a shorter burst takes as long.
int64_t getPieceBytes(Architecture architecture);
/// Cycles that the vector unit takes for a repeat of the instruction, named as
/// in C++, on elements of `type`.
int64_t getRepeatCycles(llvm::StringRef name, mlir::Type type);
/// True if there is an instruction, named as in C++, for elements of `type`.
bool hasInstruction(Architecture architecture, llvm::StringRef name,
                    mlir::Type type);
/// Why `op`, an instruction, is none of `architecture`; empty if it is one.
std::string findMissing(Architecture architecture, mlir::Operation *op);

/// Images stay views in bufferization.
void registerBufferization(mlir::DialectRegistry &registry);

/// The kind of core whose instruction `op` is, where the units are in cores of
/// their own; none if both have it, or it is no instruction.
std::optional<CoreKind> getCore(mlir::Operation *op);

/// The architecture whose instructions a function consists of, by name.
inline constexpr llvm::StringLiteral kArchAttrName = "ascend.arch";
/// Marks functions that are kernels: what their arguments are, as `arg0 :
/// 64x32xf16`, for those who launch them.
inline constexpr llvm::StringLiteral kKernelAttrName = "ascend.kernel";
/// On kernels that two kinds of cores run together, of which this is the part
/// of one: its kind by name.
inline constexpr llvm::StringLiteral kCoreAttrName = "ascend.core";
/// The number of the group that an operation belongs to.
inline constexpr llvm::StringLiteral kGroupAttrName = "ascend.group";
/// How a group of operations runs: a TilingAttr on its last one.
inline constexpr llvm::StringLiteral kTilingAttrName = "ascend.tiling";
/// The bytes that a kernel takes of each memory of a core.
inline constexpr llvm::StringLiteral kRoomAttrName = "ascend.room";

} // namespace chimera::ascend

#endif // CHIMERA_ASCEND_ASCEND_H
