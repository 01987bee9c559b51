//===- Manifest.cpp - What a compiled file has, for programs --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Manifest.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::SmallVector;
namespace json = llvm::json;

/// Goes up when a program that reads manifests would have to change; see
/// docs/json.md.
static constexpr int64_t kManifestSchema = 1;

static json::Object toJSON(const ValueType &type) {
  json::Array shape;
  for (int64_t size : type.shape)
    shape.push_back(mlir::ShapedType::isDynamic(size) ? json::Value(nullptr)
                                                      : json::Value(size));
  return json::Object{{"kind", type.isScalar ? "scalar" : "tensor"},
                      {"element", getElementName(type.element)},
                      {"shape", std::move(shape)}};
}

/// The part of a tensor of type `type` that a process has.
static json::Value toJSON(const std::optional<Part> &part,
                          const ValueType &type) {
  if (!part)
    return nullptr;
  SmallVector<int64_t> strides(part->shape.size(), 1);
  for (size_t dim = strides.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * part->shape[dim];
  json::Array steps;
  for (const auto &ofDim : part->steps)
    steps.push_back(json::Array(ofDim));
  return json::Object{{"shape", json::Array(part->shape)},
                      {"sizes", json::Array(type.shape)},
                      {"strides", json::Array(strides)},
                      {"steps", std::move(steps)}};
}

static json::Array toJSON(ArrayRef<std::optional<Part>> parts,
                          ArrayRef<ValueType> types) {
  json::Array array;
  for (auto [part, type] : llvm::zip_equal(parts, types))
    array.push_back(toJSON(part, type));
  return array;
}

static json::Array listWeights(const Function &function) {
  json::Array weights;
  for (const StoredWeight &weight : function.weights)
    weights.push_back(
        json::Object{{"argument", weight.argument},
                     {"file", weight.file},
                     {"tensor", weight.tensor},
                     {"part", toJSON(function.argumentParts[weight.argument],
                                     function.arguments[weight.argument])}});
  return weights;
}

static json::Array listPrepared(const Function &function) {
  json::Array values;
  for (const PreparedValue &value : function.prepared)
    values.push_back(json::Object{{"recipe", value.recipe},
                                  {"constants", json::Array(value.constants)},
                                  {"bytes", int64_t(value.bytes)}});
  return values;
}

static json::Array listPanels(const Function &function) {
  json::Array list;
  for (auto [argument, columns, _] : function.panels)
    list.push_back(json::Object{{"argument", argument}, {"columns", columns}});
  return list;
}

static json::Object toJSON(const Function &function) {
  json::Array arguments, results;
  for (const ValueType &type : function.arguments)
    arguments.push_back(toJSON(type));
  for (const ValueType &type : function.results)
    results.push_back(toJSON(type));
  return json::Object{
      {"name", function.name},
      {"arguments", std::move(arguments)},
      {"results", std::move(results)},
      {"constants", json::Array(function.constants)},
      {"constants_read", json::Array(function.constantsRead)},
      {"prepared", function.isPrepared},
      {"prepared_values", listPrepared(function)},
      {"panels", listPanels(function)},
      {"grid", json::Array(function.grid)},
      {"argument_parts", toJSON(function.argumentParts, function.arguments)},
      {"result_parts", toJSON(function.resultParts, function.results)},
      {"weights", listWeights(function)},
      {"sizes", function.hasSizes}};
}

json::Object Manifest::toJSON() const {
  json::Array functions;
  for (const Function &function : interface.functions)
    functions.push_back(::toJSON(function));
  json::Object obstacles;
  for (const auto &[name, reason] : interface.obstacles)
    obstacles[name] = reason;
  Report decided;
  decided.plan = plan;
  decided.remarks = remarks;
  json::Object report = decided.toJSON();
  return json::Object{{"schema", kManifestSchema},
                      {"version", CHIMERA_VERSION},
                      {"target", target},
                      {"threads", interface.threads},
                      {"functions", std::move(functions)},
                      {"obstacles", std::move(obstacles)},
                      {"compile_ms", 1e3 * compileSeconds},
                      {"plan_ms", 1e3 * plan.seconds},
                      {"chains", std::move(report["chains"])},
                      {"contractions_outside_chains", plan.contractionsOutside},
                      {"remarks", std::move(report["remarks"])}};
}
