//===- MappingType.h - How operators map inputs to outputs ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gao et al. (Computer Science 52(5), 2025) sort operators by how elements of
// the output depend on elements of the input, and say by these types which
// neighbours may become one operator. Here the type follows from the affine
// maps of the accesses, never from an operator's name. It explains a partition;
// the exact search asks for legality and price alone.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_MAPPINGTYPE_H
#define CHIMERA_MODEL_MAPPINGTYPE_H

#include "Chimera/Model/OperatorGraph.h"

namespace chimera::model {

/// The types in the order of complexity (section 3.1.1, equations 1 to 5).
enum class MappingClass {
  /// An element depends on the elements of the same position.
  OneToOne,
  /// Elements keep their order under other indices: reshapes, slices, pads.
  Reorganize,
  /// Elements change their order: transposes, gathers.
  Shuffle,
  /// Elements are repeated: broadcasts.
  OneToMany,
  /// An element depends on many: reductions, products, convolutions.
  ManyToMany,
  /// Nothing is known.
  NotFuse,
};

/// The class in the words of the paper, in snake case.
llvm::StringRef describe(MappingClass mapping);

struct MappingType {
  MappingClass mapping = MappingClass::OneToOne;
  /// Of ManyToMany: many elements of one input make an element of the output.
  bool isManyToOne = false;

  bool operator==(const MappingType &other) const {
    return mapping == other.mapping && isManyToOne == other.isManyToOne;
  }
};

/// The type of `op`: the most complex one of its inputs. A broadcast operand
/// beside one that has all elements of the output, such as a bias, counts as
/// OneToOne: equation 4 speaks of operators that make a tensor larger.
MappingType classify(const GraphOperator &op);

/// What Table 1 says of an operator and its reader.
struct FusionRule {
  enum class Verdict {
    /// Fusing always pays.
    Fuse,
    /// It depends on the two operators.
    Ask,
    /// Fusing never pays.
    Refuse
  };
  Verdict verdict = Verdict::Refuse;
  /// Of the fused operator, unless that is refused: the more complex type.
  MappingType type;
};

/// The rule for an operator of type `first` and a reader of type `second`.
/// Table 1 is completed: OneToOne joins with everything on either side (Fig. 5
/// of the paper fuses a bias and a ReLU behind a convolution), and pairs that
/// the table does not mention depend on the operators.
FusionRule combine(MappingType first, MappingType second);

} // namespace chimera::model

#endif // CHIMERA_MODEL_MAPPINGTYPE_H
