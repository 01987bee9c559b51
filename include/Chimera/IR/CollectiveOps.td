//===- CollectiveOps.td - What processes exchange ----------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives of programs that run as several processes. They stand between
// chains, on tensors and on memrefs, and become calls of a small library
// (runtime/chimera_collectives.h). Parts are always along the first dimension,
// so that they lie one after the other in memory.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_COLLECTIVEOPS
#define CHIMERA_IR_COLLECTIVEOPS

include "Chimera/IR/ChimeraEnums.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// `axes` are those of the grid of processes along which the processes of one
/// group lie, and `processes` is how many these are.
class Chimera_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Chimera_Op<mnemonic, traits # [
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  dag group = (ins DenseI64ArrayAttr:$axes,
                   ConfinedAttr<I64Attr, [IntPositive]>:$processes);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  code extra = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputMutable();
    }
  }];
  let extraClassDeclaration = extra;
}

defvar Chimera_CollectiveBuffer = AnyTypeOf<[AnyStaticShapeTensor,
                                             AnyStaticShapeMemRef]>;

def Chimera_AllReduceOp : Chimera_CollectiveOp<"all_reduce"> {
  let summary = "combines the tensors of all processes, element by element";
  let description = [{
    Every process of the group gets the combination of all their tensors, the
    same to the last bit. In bufferization the result overwrites the operand.

    With `blocks`, it is to be exchanged in that many blocks of equal rows, each
    while the next is computed: `chimera-cut-collectives` makes it so. Rows are
    along the first dimension of more than one element. `overlapped` is an
    all-reduce that may last while what does not touch its buffer runs; on
    tensors it means nothing.

    Introduced by `chimera-shard`; none remains after
    `convert-chimera-collectives-to-calls`.

    Example:

    ```mlir
    %sum = chimera.all_reduce sum outs(%part : tensor<4x8xf32>)
        along [0] of 2 {blocks = 2 : i64} -> tensor<4x8xf32>
    ```
  }];
  let arguments = !con((ins Chimera_ReductionKindAttr:$reduction,
                            Chimera_CollectiveBuffer:$output), group,
                       (ins OptionalAttr<ConfinedAttr<I64Attr, [
                                IntMinValue<2>]>>:$blocks,
                            UnitAttr:$overlapped));
  let assemblyFormat = [{
    $reduction `outs` `(` $output `:` type($output) `)` `along` $axes
    `of` $processes attr-dict (`->` type($results)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$types,
                                 "ReductionKind":$reduction,
                                 "::mlir::Value":$output,
                                 "::llvm::ArrayRef<int64_t>":$axes,
                                 "int64_t":$processes), [{
    build($_builder, $_state, types, reduction, output, axes, processes,
          /*blocks=*/nullptr, /*overlapped=*/false);
  }]>];
  let extraClassDeclaration = extra # [{
    /// The first dimension of more than one element.
    unsigned getRowDim();
  }];
}

def Chimera_StartAllReduceOp : Chimera_Op<"start_all_reduce", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "starts an all-reduce of a buffer";
  let description = [{
    Until `chimera.wait` has been called with the request, nothing may touch the
    buffer.

    Introduced by `chimera-start-collectives`; none remains after
    `convert-chimera-collectives-to-calls`.

    Example:

    ```mlir
    %request = chimera.start_all_reduce sum outs(%part : memref<4x8xf32>)
        along [0] of 2
    ```
  }];
  let arguments = (ins Chimera_ReductionKindAttr:$reduction,
                       AnyStaticShapeMemRef:$output,
                       DenseI64ArrayAttr:$axes,
                       ConfinedAttr<I64Attr, [IntPositive]>:$processes);
  let results = (outs I64:$request);
  let assemblyFormat = [{
    $reduction `outs` `(` $output `:` type($output) `)` `along` $axes
    `of` $processes attr-dict
  }];
  let hasVerifier = 1;
}

def Chimera_WaitOp : Chimera_Op<"wait", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits until what was started has finished";
  let description = [{
    `output` is the buffer of the all-reduce.

    Introduced by `chimera-start-collectives`; none remains after
    `convert-chimera-collectives-to-calls`.

    Example: `chimera.wait %request outs(%part : memref<4x8xf32>)`
  }];
  let arguments = (ins I64:$request, AnyStaticShapeMemRef:$output);
  let assemblyFormat = [{
    $request `outs` `(` $output `:` type($output) `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Chimera_ProcessBroadcastOp : Chimera_CollectiveOp<"broadcast"> {
  let summary = "gives the tensor of one process to all";
  let description = [{
    `root` is the index of the process in its group.

    Example:

    ```mlir
    %all = chimera.broadcast from 0 outs(%mine : tensor<4x8xf32>)
        along [0] of 2 -> tensor<4x8xf32>
    ```
  }];
  let arguments = !con((ins ConfinedAttr<I64Attr, [IntNonNegative]>:$root,
                            Chimera_CollectiveBuffer:$output), group);
  let assemblyFormat = [{
    `from` $root `outs` `(` $output `:` type($output) `)` `along` $axes
    `of` $processes attr-dict (`->` type($results)^)?
  }];
}

def Chimera_AllGatherOp : Chimera_CollectiveOp<"all_gather"> {
  let summary = "puts the tensors of all processes one after the other";
  let description = [{
    Along the first dimension, in the order of the processes' indices in their
    group.

    Introduced by `chimera-shard`; none remains after
    `convert-chimera-collectives-to-calls`.

    Example:

    ```mlir
    %whole = chimera.all_gather ins(%part : tensor<2x8xf32>)
        outs(%room : tensor<4x8xf32>) along [0] of 2 -> tensor<4x8xf32>
    ```
  }];
  let arguments = !con((ins Chimera_CollectiveBuffer:$input,
                            Chimera_CollectiveBuffer:$output), group);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)`
    `along` $axes `of` $processes attr-dict (`->` type($results)^)?
  }];
}

def Chimera_ReduceScatterOp : Chimera_CollectiveOp<"reduce_scatter"> {
  let summary = "combines the tensors of all processes and deals out the rows";
  let description = [{
    Like a `chimera.all_reduce` of which each process gets only its part of the
    first dimension, and half the bytes move.

    Introduced by `chimera-shard`; none remains after
    `convert-chimera-collectives-to-calls`.

    Example:

    ```mlir
    %rows = chimera.reduce_scatter sum ins(%part : tensor<4x8xf32>)
        outs(%room : tensor<2x8xf32>) along [0] of 2 -> tensor<2x8xf32>
    ```
  }];
  let arguments = !con((ins Chimera_ReductionKindAttr:$reduction,
                            Chimera_CollectiveBuffer:$input,
                            Chimera_CollectiveBuffer:$output), group);
  let assemblyFormat = [{
    $reduction `ins` `(` $input `:` type($input) `)`
    `outs` `(` $output `:` type($output) `)`
    `along` $axes `of` $processes attr-dict (`->` type($results)^)?
  }];
}

def Chimera_AllToAllOp : Chimera_CollectiveOp<"all_to_all"> {
  let summary = "gives each process a part of every process's tensor";
  let description = [{
    The first dimension is cut into as many equal parts as there are processes:
    part j of process i becomes part i of process j.

    Introduced by `chimera-shard`; none remains after
    `convert-chimera-collectives-to-calls`.

    Example:

    ```mlir
    %turned = chimera.all_to_all ins(%mine : tensor<2x8xf32>)
        outs(%room : tensor<2x8xf32>) along [0] of 2 -> tensor<2x8xf32>
    ```
  }];
  let arguments = !con((ins Chimera_CollectiveBuffer:$input,
                            Chimera_CollectiveBuffer:$output), group);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)`
    `along` $axes `of` $processes attr-dict (`->` type($results)^)?
  }];
}

def Chimera_ProcessIndexOp : Chimera_Op<"process_index", [Pure]> {
  let summary = "the coordinate of this process along an axis of the grid";
  let description = [{
    Example: `%row = chimera.process_index along 0`
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "`along` $axis attr-dict";
}

def Chimera_CheckGridOp : Chimera_Op<"check_grid", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "ends the program unless it runs as so many processes";
  let description = [{
    At the entry of a function that was compiled for a grid of processes: run by
    any other number of them it would wait for somebody who never comes.

    Example: `chimera.check_grid [2, 4]`
  }];
  let arguments = (ins DenseI64ArrayAttr:$sizes);
  let assemblyFormat = "$sizes attr-dict";
  let hasVerifier = 1;
}

#endif // CHIMERA_IR_COLLECTIVEOPS
