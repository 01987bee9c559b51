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

static json::Object toJSON(const Function &function) {
  json::Array arguments, results;
  for (const ValueType &type : function.arguments)
    arguments.push_back(toJSON(type));
  for (const ValueType &type : function.results)
    results.push_back(toJSON(type));
  return json::Object{{"name", function.name},
                      {"arguments", std::move(arguments)},
                      {"results", std::move(results)},
                      {"constants", json::Array(function.constants)},
                      {"constants_read", json::Array(function.constantsRead)},
                      {"prepared", function.isPrepared},
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
