//===- TargetSpec.cpp - Machines that DLTI describes ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs from other compilers say what machine they are for in a
// `dlti.target_system_spec`. It has no rates, so it only corrects the figures
// of a machine that we know.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Target/Target.h"

#include "Families.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace chimera;

namespace {
class SpecReader {
public:
  SpecReader(TargetAttr base,
             llvm::function_ref<InFlightDiagnostic()> emitError,
             llvm::function_ref<void(const Twine &)> reportUnknown)
      : figures(base), emitError(emitError), reportUnknown(reportUnknown) {}

  LogicalResult readDevice(TargetDeviceSpecInterface device);
  FailureOr<TargetAttr> assemble() const;

private:
  /// `caches` maps levels to maps of their figures.
  LogicalResult readCaches(Attribute caches);
  /// Where the figure `key` of level `name` belongs; null if nowhere.
  int64_t *findCacheFigure(StringRef name, StringRef key);
  LogicalResult readNumber(const Twine &key, Attribute value, int64_t &number);
  LogicalResult setVectorBits(int64_t bits);

  TargetFigures figures;
  llvm::function_ref<InFlightDiagnostic()> emitError;
  llvm::function_ref<void(const Twine &)> reportUnknown;
};
} // namespace

/// Keys are strings or types; none of the latter is known here.
static std::string nameOf(DataLayoutEntryInterface entry) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  if (auto id = dyn_cast<StringAttr>(entry.getKey()))
    stream << id.getValue();
  else
    stream << cast<Type>(entry.getKey());
  return name;
}

LogicalResult SpecReader::readNumber(const Twine &key, Attribute value,
                                     int64_t &number) {
  auto integer = dyn_cast<IntegerAttr>(value);
  std::optional<int64_t> read;
  if (integer)
    read = integer.getType().isUnsignedInteger()
               ? integer.getAPSInt().tryExtValue()
               : integer.getValue().trySExtValue();
  if (!read || *read < 1)
    return emitError() << "'" << key << "' must be a positive integer, got "
                       << value;
  number = *read;
  return success();
}

int64_t *SpecReader::findCacheFigure(StringRef name, StringRef key) {
  for (TargetFigures::Level &level : figures.levels) {
    if (level.name != name && level.name + "d" != name)
      continue;
    if (key == "size_in_bytes")
      return &level.capacity;
    if (key == "line_size_in_bytes")
      return &level.line;
    if (key == "associativity")
      return &level.ways;
  }
  return nullptr;
}

LogicalResult SpecReader::readCaches(Attribute caches) {
  auto levels = dyn_cast<MapAttr>(caches);
  if (!levels)
    return emitError() << "'cache' must be a map, got " << caches;
  for (DataLayoutEntryInterface level : levels.getEntries()) {
    std::string name = nameOf(level);
    auto entries = dyn_cast<MapAttr>(level.getValue());
    if (!entries)
      return emitError() << "'cache' must be a map of maps, got "
                         << level.getValue() << " for '" << name << "'";
    for (DataLayoutEntryInterface entry : entries.getEntries()) {
      std::string key = nameOf(entry), path = "cache." + name + "." + key;
      int64_t *figure = findCacheFigure(name, key);
      if (!figure)
        reportUnknown(path);
      else if (failed(readNumber(path, entry.getValue(), *figure)))
        return failure();
    }
  }
  return success();
}

LogicalResult SpecReader::setVectorBits(int64_t bits) {
  VectorUnitAttr unit = figures.unit;
  figures.unit = VectorUnitAttr::getChecked(
      emitError, figures.context, bits, unit.getRegisters(), unit.getFma(),
      unit.getLoad(), unit.getStore(), unit.getLatency(), unit.getClock(),
      unit.getExponential(), unit.getTuning());
  return success(figures.unit != nullptr);
}

LogicalResult SpecReader::readDevice(TargetDeviceSpecInterface device) {
  for (DataLayoutEntryInterface entry : device.getEntries()) {
    std::string key = nameOf(entry);
    auto [level, cacheKey] = StringRef(key).split("_cache_");
    int64_t number = 0;
    if (key == "cache") {
      if (failed(readCaches(entry.getValue())))
        return failure();
    } else if (int64_t *figure = findCacheFigure(level, cacheKey)) {
      if (failed(readNumber(key, entry.getValue(), *figure)))
        return failure();
    } else if (key == "num_cores") {
      if (failed(readNumber(key, entry.getValue(), number)))
        return failure();
      figures.setCores(number);
    } else if (key == "max_vector_op_width") {
      if (failed(readNumber(key, entry.getValue(), number)) ||
          failed(setVectorBits(number)))
        return failure();
    } else {
      reportUnknown(key);
    }
  }
  return success();
}

FailureOr<TargetAttr> SpecReader::assemble() const {
  TargetFigures named = figures;
  named.name = "dlti";
  TargetAttr target = named.assemble(emitError);
  if (!target)
    return failure();
  return target;
}

FailureOr<TargetAttr>
chimera::deriveTarget(TargetDeviceSpecInterface device, TargetAttr base,
                      llvm::function_ref<InFlightDiagnostic()> emitError,
                      llvm::function_ref<void(const Twine &)> reportUnknown) {
  SpecReader reader(base, emitError, reportUnknown);
  if (failed(reader.readDevice(device)))
    return failure();
  return reader.assemble();
}
