//===- RandomBody.cpp - Bodies of random operations -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomBody.h"

using namespace chimera;

RandomBody::RandomBody(unsigned seed, unsigned dims,
                       std::vector<std::string> floats, std::string floatType)
    : random(seed), dims(dims), floats(std::move(floats)),
      floatType(std::move(floatType)) {}

std::string RandomBody::add(const std::string &operation) {
  std::string name = "%v" + std::to_string(numValues++);
  text += "    " + name + " = " + operation + "\n";
  return name;
}

std::string RandomBody::addNumber(const std::string &type) {
  static const std::vector<int> numbers = {-100, -3, -1, 0, 1, 2, 5, 90};
  return add("arith.constant " + std::to_string(pickFrom(numbers)) + " : " +
             type);
}

std::string RandomBody::addSum(const std::string &type) {
  static const std::vector<std::string> operations = {"addi", "subi", "muli"};
  std::string dim = std::to_string(pick(dims));
  std::string sum = add("linalg.index " + dim + " : index");
  if (type != "index") {
    std::string cast = pick(4) ? "index_cast " : "index_castui ";
    sum = add("arith." + cast + sum + " : index to " + type);
  }
  for (unsigned i = pick(3); i > 0; --i) {
    std::string other = pick(3) ? addNumber(type) : addSum(type);
    std::string operands = pick(2) ? sum + ", " + other : other + ", " + sum;
    sum = add("arith." + pickFrom(operations) + " " + operands + " : " + type);
  }
  return sum;
}

std::string RandomBody::addComparison() {
  static const std::vector<std::string> types = {"i8", "i16", "i32", "i64",
                                                 "index"};
  static const std::vector<std::string> predicates = {
      "eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"};
  std::string type = pickFrom(types);
  std::string lhs = addSum(type);
  std::string rhs = pick(4) ? addSum(type) : addNumber(type);
  if (type == "i8" && pick(2)) {
    // As it was before it grew.
    type = "i32";
    std::string extension = pick(2) ? "arith.extsi " : "arith.extui ";
    lhs = add(extension + lhs + " : i8 to i32");
    rhs = add(extension + rhs + " : i8 to i32");
  }
  return add("arith.cmpi " + pickFrom(predicates) + ", " + lhs + ", " + rhs +
             " : " + type);
}

std::string RandomBody::addCondition() {
  switch (pick(9)) {
  case 0:
    return add("arith.andi " + addCondition() + ", " + addCondition() +
               " : i1");
  case 1:
    return add("arith.ori " + addCondition() + ", " + addCondition() + " : i1");
  case 2: {
    std::string condition = addCondition();
    std::string truth = add("arith.constant true");
    return add("arith.xori " + condition + ", " + truth + " : i1");
  }
  default:
    return addComparison();
  }
}

std::string RandomBody::addMask(const std::string &value) {
  std::string condition = addCondition();
  std::string infinity = add("arith.constant 0xFF800000 : f32");
  std::string kept = pick(3) ? value : addMask(value);
  std::string choices =
      pick(2) ? kept + ", " + infinity : infinity + ", " + kept;
  std::string mask =
      add("arith.select " + condition + ", " + choices + " : f32");
  switch (pick(4)) {
  case 0: {
    std::string half = add("arith.constant 0.5 : f32");
    return add("arith.mulf " + mask + ", " + half + " : f32");
  }
  case 1:
    return add("arith.addf " + value + ", " + mask + " : f32");
  case 2:
    return add("arith.subf " + mask + ", " + value + " : f32");
  default:
    return mask;
  }
}

std::string RandomBody::addFloat() {
  static const std::vector<std::string> binary = {
      "addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf"};
  static const std::vector<std::string> unary = {"arith.negf", "math.absf",
                                                 "math.exp"};
  static const std::vector<std::string> numbers = {"0.0", "-0.0", "1.0", "2.5",
                                                   "-1.0"};
  std::string of = " : " + floatType;
  std::string lhs = pickFrom(floats), rhs = pickFrom(floats), result;
  switch (pick(8)) {
  case 0:
    result = add(pickFrom(unary) + " " + lhs + of);
    break;
  case 1:
    result =
        add("arith.select " + addCondition() + ", " + lhs + ", " + rhs + of);
    break;
  case 2: {
    std::string less = add("arith.cmpf olt, " + lhs + ", " + rhs + of);
    result =
        add("arith.select " + less + ", " + rhs + ", " + pickFrom(floats) + of);
    break;
  }
  case 3:
    result = add("arith.sitofp " + addSum("i32") + " : i32 to " + floatType);
    break;
  case 4:
    rhs = add("arith.constant " + pickFrom(numbers) + of);
    [[fallthrough]];
  default:
    result = add("arith." + pickFrom(binary) + " " + lhs + ", " + rhs + of);
  }
  floats.push_back(result);
  return result;
}
