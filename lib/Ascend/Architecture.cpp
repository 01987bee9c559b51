//===- Architecture.cpp - Which core has which instruction ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers come from the table that the functional model has, so that a program
// that passes here compiles there.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Ascend/Ascend.h"

#include "chimera_npu_table.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

static chimera_npu::Architecture getRow(Architecture architecture) {
  switch (architecture) {
  case Architecture::Ascend910:
    return chimera_npu::A910;
  case Architecture::Ascend310P:
    return chimera_npu::A310P;
  case Architecture::Ascend910B:
    return chimera_npu::A910B;
  }
  llvm_unreachable("unknown architecture");
}

std::optional<Architecture> ascend::getArchitecture(StringRef cpu) {
  if (cpu.starts_with("Ascend310P"))
    return Architecture::Ascend310P;
  if (cpu.starts_with("Ascend910B"))
    return Architecture::Ascend910B;
  if (cpu == "Ascend910A")
    return Architecture::Ascend910;
  return std::nullopt;
}

int64_t ascend::getNumEvents(Architecture architecture) {
  return chimera_npu::numEvents(getRow(architecture));
}

int64_t ascend::getNumCrossFlags(Architecture architecture) {
  return chimera_npu::numVectorCores(getRow(architecture)) > 0
             ? chimera_npu::kNumCrossFlags
             : 0;
}

bool ascend::hasInfinities(Architecture architecture) {
  return chimera_npu::hasInfinities(getRow(architecture));
}

double ascend::saturate(Architecture architecture, double number) {
  return !std::isinf(number) || hasInfinities(architecture)
             ? number
             : std::copysign(std::numeric_limits<float>::max(), number);
}

bool ascend::selectsOn(Architecture architecture) {
  return chimera_npu::selectsOn(getRow(architecture));
}

bool ascend::keepsLanes(Architecture architecture) {
  using chimera_npu::Op;
  return llvm::any_of(ArrayRef{Op::vcgmax, Op::vcgadd, Op::vbrcb}, [&](Op op) {
    return !chimera_npu::hasInstruction(getRow(architecture), op,
                                        /*isHalf=*/false);
  });
}

/// The instruction with that name, if there is one.
static std::optional<chimera_npu::Op> findInstruction(StringRef name) {
  const auto *found = llvm::find_if(chimera_npu::kInstructions,
                                    [&](const chimera_npu::Instruction &entry) {
                                      return name == entry.name;
                                    });
  if (found == std::end(chimera_npu::kInstructions))
    return std::nullopt;
  return static_cast<chimera_npu::Op>(found -
                                      std::begin(chimera_npu::kInstructions));
}

bool ascend::hasInstruction(Architecture architecture, StringRef name,
                            Type type) {
  std::optional<chimera_npu::Op> op = findInstruction(name);
  if (!op)
    return false;
  chimera_npu::Architecture row = getRow(architecture);
  if (type.isInteger())
    return chimera_npu::hasInstruction(row, *op,
                                       type.isInteger(32)
                                           ? chimera_npu::Integer::Word
                                           : chimera_npu::Integer::Byte);
  return chimera_npu::hasInstruction(row, *op, type.isF16());
}

int64_t ascend::getPieceBytes(Architecture) {
  // The functional model charges it for all cores: see chimera_npu_arch.h.
  return 128;
}

int64_t ascend::getRepeatCycles(StringRef name, Type type) {
  std::optional<chimera_npu::Op> op = findInstruction(name);
  if (!op)
    return 1;
  const chimera_npu::Instruction &entry = chimera_npu::describe(*op);
  return type.isF16() ? entry.halfCycles : entry.singleCycles;
}

static Type getElementType(Value pointer) {
  return cast<PtrType>(pointer.getType()).getElementType();
}

/// The name of an instruction in C++ and the type of its elements.
static std::pair<StringRef, Type> getInstruction(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::pair<StringRef, Type>>(op)
      .Case([](CopyOp copy) {
        return std::pair(stringifyCopyKind(copy.getKind()),
                         getElementType(copy.getDestination()));
      })
      .Case([](ClearOp clear) {
        return std::pair(StringRef("create_cbuf_matrix"),
                         getElementType(clear.getDestination()));
      })
      .Case([](LoadOp load) {
        auto type = cast<PtrType>(load.getDestination().getType());
        return std::pair(StringRef(type.getMemory() == Memory::L0A
                                       ? "load_cbuf_to_ca"
                                       : "load_cbuf_to_cb"),
                         type.getElementType());
      })
      .Case([](LoadTransposedOp load) {
        auto type = cast<PtrType>(load.getDestination().getType());
        return std::pair(StringRef(type.getMemory() == Memory::L0A
                                       ? "load_cbuf_to_ca_transpose"
                                       : "load_cbuf_to_cb_transpose"),
                         type.getElementType());
      })
      .Case([](MadOp mad) {
        return std::pair(StringRef("mad"), getElementType(mad.getA()));
      })
      .Case([](VectorOp vector) {
        return std::pair(stringifyVectorKind(vector.getKind()),
                         getElementType(vector.getDestination()));
      })
      .Case([](ReduceOp reduce) {
        return std::pair(stringifyReduceKind(reduce.getKind()),
                         getElementType(reduce.getDestination()));
      })
      .Case([](BroadcastOp broadcast) {
        return std::pair(StringRef("vbrcb"),
                         getElementType(broadcast.getDestination()));
      })
      .Case([](TransposeOp transpose) {
        return std::pair(StringRef("vnchwconv"),
                         getElementType(transpose.getDestination()));
      })
      .Case([](CompareOp compare) {
        return std::pair(stringifyCompareKind(compare.getKind()),
                         getElementType(compare.getLhs()));
      })
      .Case([](SelectOp select) {
        return std::pair(StringRef("vsel"),
                         getElementType(select.getDestination()));
      })
      .Default(std::pair(StringRef(), Type()));
}

static std::optional<CoreKind> getCoreOf(Pipe pipe) {
  switch (pipe) {
  case Pipe::M:
  case Pipe::MTE1:
  case Pipe::FIX:
    return CoreKind::Cube;
  case Pipe::V:
  case Pipe::MTE3:
    return CoreKind::Vector;
  default:
    return std::nullopt;
  }
}

static CoreKind getCoreAt(Value pointer) {
  return cast<PtrType>(pointer.getType()).getMemory() == Memory::UB
             ? CoreKind::Vector
             : CoreKind::Cube;
}

std::optional<CoreKind> ascend::getCore(Operation *op) {
  using Result = std::optional<CoreKind>;
  auto ofFlag = [](Pipe from, Pipe to) -> Result {
    Result core = getCoreOf(from);
    return core ? core : getCoreOf(to);
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](CopyOp copy) -> Result {
        bool isOfVector = getCoreAt(copy.getSource()) == CoreKind::Vector ||
                          getCoreAt(copy.getDestination()) == CoreKind::Vector;
        return isOfVector ? CoreKind::Vector : CoreKind::Cube;
      })
      .Case<ClearOp, LoadOp, LoadTransposedOp, MadOp>(
          [](auto) { return CoreKind::Cube; })
      .Case<VectorOp, ReduceOp, BroadcastOp, TransposeOp, CompareOp, SelectOp,
            SetVectorMaskOp, SubBlockIdxOp>(
          [](auto) { return CoreKind::Vector; })
      .Case<SetFlagOp, WaitFlagOp>(
          [&](auto flag) { return ofFlag(flag.getFrom(), flag.getTo()); })
      .Case([](PipeBarrierOp barrier) -> Result {
        // Zeros around images are the one use of a barrier of MTE2.
        return barrier.getPipe() == Pipe::MTE2 ? CoreKind::Cube
                                               : getCoreOf(barrier.getPipe());
      })
      .Case<SetCrossFlagOp, WaitCrossFlagOp>(
          [](auto flag) { return flag.getCore(); })
      .Default(Result());
}

/// The event of a flag, if it is known.
static std::optional<int64_t> getEvent(Operation *op) {
  Value event;
  if (auto set = dyn_cast<SetFlagOp>(op))
    event = set.getEvent();
  else if (auto wait = dyn_cast<WaitFlagOp>(op))
    event = wait.getEvent();
  APInt number;
  if (!event || !matchPattern(event, m_ConstantInt(&number)))
    return std::nullopt;
  return number.getSExtValue();
}

std::string ascend::findMissing(Architecture architecture, Operation *op) {
  StringRef arch = stringifyArchitecture(architecture);
  auto [name, type] = getInstruction(op);
  if (!name.empty() && !hasInstruction(architecture, name, type))
    return llvm::formatv("the {0} has no {1} for {2}", arch, name, type);
  if (isa<SetCrossFlagOp, WaitCrossFlagOp, SubBlockIdxOp>(op) &&
      chimera_npu::numVectorCores(getRow(architecture)) == 0)
    return llvm::formatv("the {0} has its units in one core", arch);
  auto select = dyn_cast<SelectOp>(op);
  if (select && !select.getSame() && !selectsOn(architecture))
    return llvm::formatv("the {0} selects by the same bits in every repeat",
                         arch);
  if (std::optional<int64_t> event = getEvent(op);
      event && *event >= getNumEvents(architecture))
    return llvm::formatv("the {0} has {1} events between two pipes, not number "
                         "{2}",
                         arch, getNumEvents(architecture), *event);
  FloatAttr number;
  auto vector = dyn_cast<VectorOp>(op);
  if (!hasInfinities(architecture) && vector && vector.getScalar() &&
      matchPattern(vector.getScalar(), m_Constant(&number)) &&
      number.getValue().isInfinity())
    return llvm::formatv("the {0} has no infinities", arch);
  return "";
}
