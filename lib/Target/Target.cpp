//===- Target.cpp - Named, detected and described machines ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Target/Target.h"

#include "Chimera/IR/Registration.h"
#include "Families.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace chimera;

SmallVector<StringRef> chimera::getTargetNames() {
  SmallVector<StringRef> names = {"host"};
  llvm::append_range(names, getX86TargetNames());
  llvm::append_range(names, getNvidiaTargetNames());
  llvm::append_range(names, getAscendTargetNames());
  return names;
}

TargetAttr chimera::getTarget(MLIRContext *context, StringRef name) {
  if (name == "host")
    return detectX86Host(context);
  for (auto getTargetOfFamily :
       {getX86Target, getNvidiaTarget, getAscendTarget})
    if (TargetAttr target = getTargetOfFamily(context, name))
      return target;
  return {};
}

//===----------------------------------------------------------------------===//
// Descriptions in the program
//===----------------------------------------------------------------------===//

namespace {
/// A device of a system, and the target that its description starts from.
struct Device {
  TargetDeviceSpecInterface spec;
  std::string base;
};
} // namespace

/// "CPU" is the host; other devices are known if they are named like a target.
static std::optional<Device> selectDevice(TargetSystemSpecInterface system) {
  std::optional<Device> selected;
  for (DataLayoutEntryInterface entry : system.getEntries()) {
    auto id = dyn_cast<StringAttr>(entry.getKey());
    auto spec = dyn_cast<TargetDeviceSpecInterface>(entry.getValue());
    if (!id || !spec)
      continue;
    if (id.getValue() == "CPU")
      return Device{spec, "host"};
    if (!selected && llvm::is_contained(getTargetNames(), id.getValue()))
      selected = Device{spec, id.getValue().str()};
  }
  return selected;
}

static Operation *findScope(Operation *op, StringRef attribute) {
  while (op && !op->getDiscardableAttr(attribute))
    op = op->getParentOp();
  return op;
}

/// The machine that `device`, described on `scope`, is.
static FailureOr<TargetAttrInterface>
describeDevice(Operation *op, Operation *scope, const Device &device) {
  StringLiteral name = DLTIDialect::kTargetSystemDescAttrName;
  FailureOr<TargetAttr> target = deriveTarget(
      device.spec, getTarget(op->getContext(), device.base),
      [&] { return scope->emitError("'") << name << "': "; },
      [&](const Twine &key) {
        if (op == scope)
          remark::missed(op->getLoc(),
                         remark::RemarkOpts::name("target").category("chimera"))
              << ("'" + Twine(name) + "': key '" + key + "' is not used").str();
      });
  if (failed(target))
    return failure();
  return cast<TargetAttrInterface>(*target);
}

//===----------------------------------------------------------------------===//
// Resolution
//===----------------------------------------------------------------------===//

FailureOr<TargetAttrInterface> chimera::resolveTarget(Operation *op,
                                                      StringRef name) {
  if (failed(verifyRegistration(op)))
    return failure();
  if (Operation *scope = findScope(op, kTargetAttrName)) {
    Attribute attribute = scope->getDiscardableAttr(kTargetAttrName);
    if (auto target = dyn_cast<TargetAttrInterface>(attribute))
      return target;
    return scope->emitError("'")
           << kTargetAttrName << "' must be a target such as "
           << "#chimera.target<...>, got " << attribute;
  }

  if (name == "host" || name == "dlti" || name.empty()) {
    StringLiteral specName = DLTIDialect::kTargetSystemDescAttrName;
    if (Operation *scope = findScope(op, specName)) {
      auto system = dyn_cast<TargetSystemSpecInterface>(
          scope->getDiscardableAttr(specName));
      std::optional<Device> device =
          system ? selectDevice(system) : std::nullopt;
      if (device)
        return describeDevice(op, scope, *device);
    }
    if (name == "dlti")
      return op->emitError("target 'dlti' needs a '")
             << specName
             << "' with a device \"CPU\" or one that is named like a target";
  }

  if (TargetAttr target = getTarget(op->getContext(), name))
    return cast<TargetAttrInterface>(target);
  if (name.ends_with(".mlir"))
    return readTarget(op->getLoc(), name);
  InFlightDiagnostic diagnostic = op->emitError("unknown target '")
                                  << name << "'; known are ";
  llvm::interleaveComma(getTargetNames(), diagnostic);
  diagnostic << ", dlti and files with a target, *.mlir";
  return diagnostic;
}

model::Network chimera::getSharedMemoryNetwork() {
  // Open MPI 4.1.4 between two cores of a Zen 5 guest, by `benchmarks/calibrate
  // --mpi`. Its reduce-scatters are slow; all others take what all-reduces
  // take.
  return {{{256, 2.9e-6},
           {1024, 3.6e-6},
           {4096, 5.3e-6},
           {16384, 21e-6},
           {65536, 24e-6},
           {262144, 54e-6},
           {1048576, 161e-6},
           {4194304, 736e-6}},
          {{model::CollectiveKind::ReduceScatter,
            /*processes=*/2,
            {{256, 2.7e-6},
             {1024, 3.6e-6},
             {4096, 14e-6},
             {16384, 15e-6},
             {65536, 24e-6},
             {262144, 131e-6},
             {1048576, 527e-6},
             {4194304, 2315e-6}}}}};
}

LogicalResult chimera::verifyPlanningOptions(Operation *op, StringRef name,
                                             int64_t threads) {
  if (failed(resolveTarget(op, name)))
    return failure();
  if (threads < 0)
    return op->emitError("'threads' must not be negative, got ") << threads;
  return success();
}
