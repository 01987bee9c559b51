//===- Passes.td - Passes about targets --------------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TARGET_PASSES
#define CHIMERA_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def AttachTargetPass : Pass<"chimera-attach-target"> {
  let summary = "Write the target down in the program";
  let description = [{
    Puts the machine that `target` stands for into the operation as its
    `chimera.target` attribute, unless it or one around it has one already. The
    program then says itself what it is for, even if that was detected, and the
    figures can be read and changed.

    A target is, here and in every other pass that takes one,

    - a name: `host`, which is detected, `avx2`, `zen3`, `avx512`,
      `xeon-gold-6240`, `icelake-server`, `zen4`, `zen5`, `sapphire-rapids`,
      `granite-rapids`, `a100`, `h100`, `h200`, `ascend910`, `ascend310p`,
      `ascend910b`;
    - a file whose name ends in `.mlir` and that holds one `#chimera.target`;
    - `dlti`: what the program's `dlti.target_system_spec` says of the device
      `"CPU"`, which corrects the figures of `host`, or of one that is named like
      a target. With `host` that is done if there is such a description.

    Keys of a device that are understood:

    | key | figure |
    |---|---|
    | `num_cores` | cores |
    | `max_vector_op_width` | bits of a vector register |
    | `L1_cache_size_in_bytes` | capacity of level L1; likewise other levels |
    | `L1_cache_line_size_in_bytes` | its line |
    | `L1_cache_associativity` | its ways |
    | `cache` | the same as nested maps: `#dlti.map<"L1" = #dlti.map<"size_in_bytes" = 32768>>`, with `line_size_in_bytes` and `associativity`; `L1d` is L1 |

    Other keys are ignored with a missed remark of category `chimera`.

    Example: `chimera-opt --chimera-attach-target=target=h200`, see
    `test/Target/attach-target.mlir`.
  }];
  let dependentDialects = ["::chimera::ChimeraDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Name of the machine, or file that describes it">
  ];
}

#endif // CHIMERA_TARGET_PASSES
