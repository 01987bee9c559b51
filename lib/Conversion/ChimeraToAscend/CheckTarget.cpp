//===- CheckTarget.cpp - Whether a target is what code is for -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckTarget.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

Cores ascend::getCores(const model::Machine &machine, ArrayRef<Cube> cubes,
                       Architecture architecture) {
  Cores cores;
  cores.architecture = architecture;
  llvm::append_range(cores.cubes, cubes);
  cores.count = machine.cores;
  auto set = [&](Memory memory, int64_t bytes) {
    cores.capacities[static_cast<unsigned>(memory)] = bytes;
  };
  set(Memory::L1, machine.levels.back().usableBytes());
  for (const model::Buffer &buffer : machine.buffers)
    switch (buffer.role) {
    case model::Buffer::Role::Lhs:
      set(Memory::L0A, buffer.capacityBytes);
      break;
    case model::Buffer::Role::Rhs:
      set(Memory::L0B, buffer.capacityBytes);
      break;
    case model::Buffer::Role::Sums:
      set(Memory::L0C, buffer.capacityBytes);
      break;
    case model::Buffer::Role::Vectors:
      set(Memory::UB, buffer.capacityBytes);
      break;
    }
  return cores;
}

/// The first route of those that instructions are made for which `machine` does
/// not have, as in "L0C to UB"; empty if it has all.
static std::string findMissingRoute(const model::Machine &machine,
                                    Architecture architecture) {
  using Role = model::Buffer::Role;
  auto nameOf = [&](Role role) -> StringRef {
    const auto *found =
        llvm::find_if(machine.buffers, [&](const model::Buffer &buffer) {
          return buffer.role == role;
        });
    return found == machine.buffers.end() ? "nowhere" : StringRef(found->name);
  };
  StringRef memory = model::Machine::mainMemory,
            l1 = machine.levels.back().name, lhs = nameOf(Role::Lhs),
            rhs = nameOf(Role::Rhs), sums = nameOf(Role::Sums),
            vectors = nameOf(Role::Vectors);
  auto isMissing = [&](std::pair<StringRef, StringRef> wanted) {
    return llvm::none_of(machine.routes, [&](const model::Route &route) {
      return route.source == wanted.first && route.destination == wanted.second;
    });
  };
  SmallVector<std::pair<StringRef, StringRef>> routes = {
      {memory, l1}, {l1, lhs}, {l1, rhs}};
  if (architecture == Architecture::Ascend910B)
    llvm::append_values(routes, std::pair(sums, l1), std::pair(sums, memory),
                        std::pair(memory, vectors), std::pair(vectors, memory));
  else
    llvm::append_values(routes, std::pair(memory, vectors),
                        std::pair(sums, vectors), std::pair(vectors, l1),
                        std::pair(vectors, memory));
  for (std::pair<StringRef, StringRef> wanted : routes)
    if (isMissing(wanted))
      return (wanted.first + " to " + wanted.second).str();
  return "";
}

/// What the instructions of `cube` are made for and it is not like; empty if it
/// is. Its plans would be for another machine than the code.
static std::string findCubeMismatch(const Cube &cube, const Cores &cores) {
  const model::MatrixUnit &unit = cube.unit;
  MatrixProgramAttr instruction = cube.instruction;
  Type factor = instruction.getFactors().front();
  auto checkShape = [&](StringRef name, int64_t rows, int64_t columns,
                        int64_t depth) -> std::string {
    if (rows == fractal && columns == fractal && depth == sideOf(factor))
      return "";
    return llvm::formatv(
        "its {0} multiplies {1} x {2} x {3} numbers of {4} at once, "
        "instructions do {5} x {5} x {6}",
        name, rows, columns, depth, factor, fractal, sideOf(factor));
  };
  if (std::string shape =
          checkShape("matrix unit", unit.rows, unit.columns, unit.depth);
      !shape.empty())
    return shape;
  if (std::string shape =
          checkShape("offered kernel", instruction.getRows(),
                     instruction.getColumns(), instruction.getDepth());
      !shape.empty())
    return shape;
  auto capacityOf = [&](Memory memory) {
    return cores.capacities[static_cast<unsigned>(memory)];
  };
  if (2 * unit.lhsBytes > capacityOf(Memory::L0A) ||
      2 * unit.rhsBytes > capacityOf(Memory::L0B))
    return "an operand of its matrix unit is more than half of the buffer that "
           "holds two";
  return "";
}

std::string ascend::findMismatch(const model::Machine &machine,
                                 const Cores &cores) {
  if (std::string route = findMissingRoute(machine, cores.architecture);
      !route.empty())
    return "it has no route from " + route;
  constexpr int64_t lanes = 8 * blockBytes / sizeof(float);
  if (machine.unit.lanes != lanes)
    return llvm::formatv("its vectors have {0} numbers of f32, instructions "
                         "work on {1}",
                         machine.unit.lanes, lanes);
  for (const model::Buffer &buffer : machine.buffers)
    if (buffer.role == model::Buffer::Role::Vectors &&
        buffer.keepsLanes != keepsLanes(cores.architecture))
      return llvm::formatv("its vector unit {0} the lanes of vectors apart, "
                           "instructions {1}",
                           buffer.keepsLanes ? "keeps" : "does not keep",
                           buffer.keepsLanes ? "do not" : "do");
  for (const Cube &cube : cores.cubes)
    if (std::string mismatch = findCubeMismatch(cube, cores); !mismatch.empty())
      return mismatch;
  return "";
}
