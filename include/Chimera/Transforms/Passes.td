//===- Passes.td - From linalg to micro kernels ------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_PASSES
#define CHIMERA_TRANSFORMS_PASSES

include "Chimera/Transforms/GraphPasses.td"
include "Chimera/Transforms/MemoryBoundPasses.td"
include "Chimera/Transforms/NumberTypePasses.td"
include "Chimera/Transforms/ShardPasses.td"
include "Chimera/Transforms/SizePasses.td"
include "mlir/Pass/PassBase.td"

def FormChainsPass : Pass<"chimera-form-chains"> {
  let summary = "Wrap chains of contractions into chimera.chain";
  let description = [{
    Finds contractions (`linalg.matmul` and its kin, `linalg.contract`, generic
    contractions) of which one consumes what another produces, directly or
    through elementwise operations, transposes, broadcasts and reshapes, and
    wraps each such group, with the elementwise operations after it, into a
    `chimera.chain`. Recognition is by indexing maps and bodies, not by name.

    Inside the chain every operator is brought into one form: contractions with
    projected permutation maps that start from zero, each followed by at most
    one elementwise `linalg.generic`. Transposes and broadcasts of operands
    become indexing maps, unless kernels would read across what the model says
    is better transposed (`test/Transforms/Form/form-chains-transposed-rows.mlir`);
    reshapes move to the outside; an accumulator that is not zero becomes an
    elementwise addition.

    A contraction that joins no other makes a chain of its own, so that it is
    planned and runs through the same micro kernels; chains of several are formed
    first. It gets a missed remark (category `chimera`) that says what keeps it
    alone: `--remarks-filter=chimera`. So does a contraction that is no part of
    any chain, because of its form, shape or number type; it stays as it is.

    Example: see `test/Transforms/Form/form-chains.mlir`. For

    ```mlir
    %c = linalg.matmul ins(%a, %b : ...) outs(%zero0 : ...) -> tensor<64x48xf32>
    %e = linalg.matmul ins(%c, %d : ...) outs(%zero1 : ...) -> tensor<64x16xf32>
    ```

    the result is one `chimera.chain ins(%a, %b, %d : ...)`.

    f32 is multiplied everywhere, if only by plain code. Which narrower floats,
    with sums in f32, are is for the micro kernels to say: those that are offered
    for the target (f16 and bf16 on GPUs and, multiplied in f32, on x86; f16 on
    NPUs) and those that the program brings. Where kernels take it, one factor may
    be wider than the other. Conversions to and from such types after the sums are
    elementwise operations like others. See
    `test/Transforms/Form/form-chains-kernels.mlir`.

    What these chains leave over is joined to chains that the model can plan,
    whether or not code can be generated from them: one to six contractions and
    convolutions of any layout and number type, with elementwise operations,
    reductions along rows (softmax), reshapes, transposes, broadcasts and zero
    padding between them; intermediates may have other readers and become results
    of the chain. Operators are joined in the order in which the tensors between
    them matter, see `test/Transforms/Form/form-chains-planned.mlir`, and left as
    they were. `chimera-put-back-chains` undoes these chains once they are
    planned. With `compiled-only` they are not formed, and nothing is said of
    operators that are in no chain: that has been said before.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels say which types code is generated for: a "
           "name, host, dlti, or a file (machine.mlir)">,
    Option<"compiledOnly", "compiled-only", "bool", "false",
           "Form no chains but those that code is generated from">,
    Option<"printProblem", "print-problem", "bool", "false",
           "Print what the model sees of each chain to the standard error "
           "stream">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PutBackChainsPass : Pass<"chimera-put-back-chains"> {
  let summary = "Undo chains that no code is generated from";
  let description = [{
    Puts the operators of every `chimera.chain` that code generation does not
    cover back in its place, with a missed remark (category `chimera`, name
    `not-lowered`) that says which obstacle there is. The pipelines run it after
    `chimera-schedule`, whose report has the chain's plan, and form chains of what
    came back once more, with `compiled-only`.

    Example: see `test/Transforms/Form/put-back-chains.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels say which types code is generated for: a "
           "name, host, dlti, or a file (machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect"];
}

def SchedulePass : Pass<"chimera-schedule"> {
  let summary = "Decide whether and how each chain is fused";
  let description = [{
    The only pass that decides of chains; of what lies outside them
    `chimera-plan-memory-bound` does. For every `chimera.chain` it builds the
    model's problem, asks the model for a verdict and

    - attaches `#chimera.schedule` and `#chimera.plan` if the chain is to run
      as one kernel;
    - cuts it into the kernels that are predicted to be fastest, each a chain
      with a schedule: of several operators, or of one;
    - leaves the chain without a schedule, if no plan fits the target or the
      target has neither a unit nor a micro kernel for the element type, with a
      missed remark; `chimera-tile` then puts its operators back.

    A chain that already has a schedule keeps it, if it verifies on the target;
    otherwise the pass fails with the reason.

    A unit is chosen by the type of the widest factor. With `tf32` the unit for
    tf32 does products of f32, where the target has one; what moves and is kept
    has the 4 bytes of f32 still.

    With `tiles=closed-form` no tiles are searched: each memory level, from the
    outside in, takes the order and the tiles of its best closed form
    (docs/model.md), rounded to neighbours that fit. A plan takes some hundred
    microseconds instead of some milliseconds, and is mostly a few per cent
    slower. One contraction and two in a row have closed forms, on targets whose
    programs do not move data by themselves; others are searched, with an
    analysis remark `tiles`.

    With `rank=N`, chains that run as one kernel take the Nth-best of the plans
    of other loop orders that the search priced, to compare predictions with
    times (`chimera-run --compare-plans`). Where there are fewer, the best plan
    is kept, with a missed remark `rank`.

    Every decision is reported as remarks of category `chimera`: passed `fused`,
    `single` and `given`, missed `split` and `unfused` with the reason and its
    figures, analysis `bound` for what moves at each level against the I/O lower
    bound, `runner-up` for other loop orders and `recomputed`. Programs that want
    all of it attach a listener (`Chimera/Report/PlanReport.h`), as
    `chimera-opt --chimera-report` does (docs/report.md).

    Example: `chimera-opt --chimera-form-chains --chimera-schedule=target=zen5`,
    see `test/Transforms/Schedule/schedule.mlir`; for `tf32`,
    `test/Transforms/Schedule/schedule-tf32.mlir`; for `tiles`,
    `test/Transforms/Schedule/schedule-closed-form.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine to plan for: a name (zen5, sapphire-rapids, a100, "
           "ascend910, ...; chimera-attach-target lists them), host, dlti, or a "
           "file that describes one (machine.mlir); a chimera.target attribute "
           "on an enclosing operation takes precedence">,
    Option<"threads", "threads", "int64_t", "0",
           "Threads that will run the code; 0 means one per core of the target">,
    Option<"exhaustive", "exhaustive", "bool", "false",
           "Follow every order of outer levels that a bound does not rule out, "
           "instead of the few with the least volume: plans at most a few per "
           "cent better, in several times as long">,
    Option<"fuse", "fuse", "::chimera::FuseMode", "::chimera::FuseMode::Auto",
           "Whether to fuse", [{::llvm::cl::values(
             clEnumValN(::chimera::FuseMode::Auto, "auto",
                        "where the model predicts a gain"),
             clEnumValN(::chimera::FuseMode::Never, "never",
                        "no chain; operators run one by one"),
             clEnumValN(::chimera::FuseMode::Always, "always",
                        "every chain that fits the target"))}]>,
    Option<"tiles", "tiles", "::chimera::TileMode",
           "::chimera::TileMode::Exact",
           "Where orders and tiles come from", [{::llvm::cl::values(
             clEnumValN(::chimera::TileMode::Exact, "exact",
                        "a search over all orders and useful tiles"),
             clEnumValN(::chimera::TileMode::ClosedForm, "closed-form",
                        "formulas, in microseconds; the search where there are "
                        "none"))}]>,
    Option<"rank", "rank", "unsigned", "0",
           "Take this runner-up instead of the best plan of each chain that "
           "runs as one kernel; 0 means the best">,
    Option<"newOnly", "new-only", "bool", "false",
           "Leave chains that have a schedule alone, unseen">,
    Option<"tf32", "tf32", "bool", "false",
           "Plan products of f32 for the unit that the target has for tf32, if "
           "it has one">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect"];
}

def TilePass : Pass<"chimera-tile"> {
  let summary = "Generate the loop tree of every scheduled chain";
  let description = [{
    Replaces each `chimera.chain` that has a schedule by its loop tree:
    `scf.forall` for the parallel loops, `scf.for` for the others, intermediate
    tensors the size the schedule leaves them, and `chimera.block` operations as
    leaves. Where a parallel loop cuts the reduction of a softmax, each part has
    an accumulator and states of its own, and another loop combines them.
    Nothing is padded: tiles at the edge are smaller. What is read through windows
    is a view (`chimera.windows`); of an intermediate, each tile has the part
    under its windows made, zeros outside, and what it shares with the tile
    before is computed again or moved (`chimera.shift`). Tiles of which a mask of
    the attention leaves nothing are not visited. How the blocks are made, and
    whether tiles end where a mask does, stands in the schedule (`blocks`); a
    schedule without that gets plain blocks. A chain without a schedule is
    dissolved: its operators are put back in its place. So are
    chains that can be planned but not generated yet, with a remark.

    Example: see `test/Transforms/tile.mlir`.
  }];
  let options = [
    Option<"dissolve", "dissolve", "bool", "false",
           "Dissolve all chains, whatever their schedule, and forget what is "
           "the same in every call">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::scf::SCFDialect"];
}

def ChooseLayoutsPass : Pass<"chimera-choose-layouts"> {
  let summary = "Choose in which order images lie in memory";
  let description = [{
    Gives operations on images an attribute `chimera.layout`: `"channels_last"`
    where the whole program takes less time if the channels of its images are
    next to each other there. Images are tensors of the batch, channels and one
    to three dimensions of space; channels that come in groups are two dimensions,
    the groups and the channels of each. Operations on images are convolutions
    with channels first, elementwise operations and reductions, padding,
    concatenations, reshapes that make groups of channels or channels of groups,
    and `linalg.transpose` where it brings channels to the end or back, which
    takes nothing if they are there already. The model knows what a convolution
    takes in either layout and what it costs to transpose an image, and finds the
    best assignment of all. What the program takes and returns stays as it is.
    Where the order of a sum depends on the layout, as with the long parts of
    channels on targets with vector units, layouts are those for one thread, so
    that results are the same on any number.

    Whether a tensor of five dimensions is a volume or has groups, convolutions
    and reshapes tell; elementwise operations, padding and concatenations follow
    what they read and what reads them.

    An operation that has the attribute keeps it. Targets without code for
    convolutions leave everything as it is given. Changes nothing else; see
    `chimera-apply-layouts`.

    Example: see `test/Transforms/Layout/choose-layouts.mlir`. In

    ```mlir
    %1 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x64x9x9xf32>, tensor<64x64x3x3xf32>)
        outs(%0 : tensor<1x64x7x7xf32>) -> tensor<1x64x7x7xf32>
    ```

    seven pixels would fill half a vector; sixty-four filters fill four.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine to plan for: a name, host, dlti, or a file (machine.mlir)">,
    Option<"threads", "threads", "int64_t", "0",
           "Threads that will run the code; 0 means one per core of the target">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect"];
}

def ApplyLayoutsPass : Pass<"chimera-apply-layouts"> {
  let summary = "Bring images into the order that was chosen";
  let description = [{
    Rewrites operations whose `chimera.layout` is `"channels_last"` as
    `linalg.generic` or, if they are no linalg, as themselves, on images with
    their channels last. Groups of channels come last with their channels, so
    that to make them of channels still moves nothing. Images are transposed
    where an operation wants another layout than they are made in, once for all
    such operations; filters so that vectors run along those of a group, once for
    all calls if they are constant. Transposes one behind the other become one.

    Example: see `test/Transforms/Layout/apply-layouts.mlir`. In

    ```mlir
    %0 = tensor.concat dim(1) %a, %b {chimera.layout = "channels_last"}
        : (tensor<1x3x9x9xf32>, tensor<1x5x9x9xf32>) -> tensor<1x8x9x9xf32>
    ```

    the last dimension grows from 3 and 5 to 8.
  }];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def JoinTransposesPass : Pass<"chimera-join-transposes"> {
  let summary = "Transpose images as matrices of pixels and channels";
  let description = [{
    Dimensions that follow each other in the operand of a `linalg.transpose` and
    in its result become one, if it makes rows of columns and rows of either are
    longer then: planes of pixels, where channels come last or first. Transposes
    of constants, of tensors whose shape is not static, and those that are
    written into a larger tensor are left as they are.

    Example: see `test/Transforms/Layout/join-transposes.mlir`. In

    ```mlir
    %0 = tensor.empty() : tensor<1x9x9x8xf32>
    %1 = linalg.transpose ins(%x : tensor<1x8x9x9xf32>)
        outs(%0 : tensor<1x9x9x8xf32>) permutation = [0, 2, 3, 1]
    ```

    what is transposed has the type `tensor<1x8x81xf32>`.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MapMicroKernelsPass : Pass<"chimera-map-micro-kernels"> {
  let summary = "Turn blocks into micro kernels and stage their operands";
  let description = [{
    Rewrites each `chimera.block` to a `chimera.micro_kernel` with the
    implementation that the target offers for it. Operands that the schedule
    packs, or whose layout the implementation cannot read, are copied into
    contiguous memory by a micro kernel of kind `pack`, at the outermost loop at
    which the copy is still valid. Where the block says so (`prefetch`), kernels
    ask for what the next iteration copies, and for what the next product in the
    same loop reads, by `chimera.prefetch`.

    Example: see `test/Transforms/map-micro-kernels.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose micro kernels are used: a name, host, dlti, or a file "
           "(machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ShareKernelsPass : Pass<"chimera-share-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile kernels that are alike once";
  let description = [{
    Kernels are the outermost loops of functions and the micro kernels outside of
    loops, on buffers. Those that differ in nothing but the buffers and other
    values from outside become calls of one private function, so that the layers
    of a network are compiled once: the time it takes no longer grows with their
    number. A kernel that is like no other one stays where it is, unless its
    function has more than `most-singles` of them: each is a function of its own
    then, since it takes LLVM more than twice the time to compile a function of
    twice the size. Nothing else changes.

    Each function that several kernels share gets a passed remark (category
    `chimera`) with the number of its callers.

    Example: see `test/Transforms/Kernels/share-kernels.mlir`. In

    ```mlir
    scf.forall (%i) in (8) { memref.store %x, %a[%i] : memref<8xf32> }
    scf.forall (%i) in (8) { memref.store %y, %b[%i] : memref<8xf32> }
    ```

    the loops become `call @chimera_kernel(%x, %a)` and
    `call @chimera_kernel(%y, %b)`.
  }];
  let options = [
    Option<"mostSingles", "most-singles", "int64_t", "8",
           "Kernels like no other one that stay in a function; of more, each "
           "becomes a function">];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def DecomposeSoftmaxPass : Pass<"chimera-decompose-softmax"> {
  let summary = "Take linalg.softmax apart";
  let description = [{
    Replaces every `linalg.softmax` on tensors by four `linalg.generic`: the
    maximum of each row, the powers, their sum, the quotient. Upstream lowers the
    operation in no other way; this is for those that no chain has taken.

    Example: see `test/Transforms/decompose-softmax.mlir`. The last operation
    that

    ```mlir
    %p = linalg.softmax dimension(1) ins(%s : tensor<4x8xf32>)
                                     outs(%init : tensor<4x8xf32>)
           -> tensor<4x8xf32>
    ```

    becomes divides `exp(%s - max)`, a `tensor<4x8xf32>`, by a `tensor<4xf32>`.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SeparateResultsPass : Pass<"chimera-separate-results"> {
  let summary = "Give every result of a function a tensor of its own";
  let description = [{
    Copies a tensor for each further time that a `func.return` returns it, so
    that results can become arguments that the caller allocates.

    Example: see `test/Transforms/separate-results.mlir`. In

    ```mlir
    return %0, %0 : tensor<4xf32>, tensor<4xf32>
    ```

    the second operand becomes `bufferization.alloc_tensor() copy(%0)`.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def SeparateDestinationsPass : Pass<"chimera-separate-destinations"> {
  let summary = "Give every operation an empty tensor of its own to write to";
  let description = [{
    Clones a `tensor.empty` for each operation of its block that uses it, itself
    or in a region. Bufferization then decides about one operation at a time what
    it would otherwise decide about all that write to tensors of one shape.
    `chimera-reuse-buffers` makes one buffer of those that can be one.

    Example: see `test/Transforms/Buffers/separate-destinations.mlir`. In

    ```mlir
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    ```

    the second `linalg.exp` gets a `tensor.empty` before it.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def ReadFromWholesPass : Pass<"chimera-read-from-wholes"> {
  let summary = "Read parts of tensors where they were computed";
  let description = [{
    What was computed in a slice of a tensor and inserted there is read, by all
    that comes after the insertion, from what it was inserted into. Bufferization
    then sees that nothing is overwritten that is still read; otherwise it may
    copy the part. Canonicalization undoes this, so nothing of the kind should run
    between this pass and bufferization.

    Example: see `test/Transforms/Buffers/read-from-wholes.mlir`. In

    ```mlir
    %place = tensor.extract_slice %border[1] [4] [1] : tensor<6xf32> to tensor<4xf32>
    %part = linalg.exp ins(%x : tensor<4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
    %whole = tensor.insert_slice %part into %border[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
    %0 = linalg.exp ins(%part : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    ```

    the last operation reads a `tensor.extract_slice` of `%whole`.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def ReuseBuffersPass : Pass<"chimera-reuse-buffers"> {
  let summary = "Let a buffer serve again once it is no longer needed";
  let description = [{
    Replaces a `memref.alloc` by an earlier one of the same block, type and
    attributes if nothing uses that any more, and frees buffers after their last
    use. Only buffers of static shape take part that their own block frees, and
    that nothing else may refer to: they are not returned, carried by a loop or
    turned into pointers.

    Example: see `test/Transforms/Buffers/reuse-buffers.mlir`. In

    ```mlir
    %0 = memref.alloc() : memref<8xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
    linalg.exp ins(%0 : memref<8xf32>) outs(%y : memref<8xf32>)
    %1 = memref.alloc() : memref<8xf32>
    ```

    `%0` takes the place of `%1`.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def JoinBuffersPass
    : Pass<"chimera-join-buffers", "::mlir::func::FuncOp"> {
  let summary = "Allocate the buffers of a function at once";
  let description = [{
    Replaces those `memref.alloc` of a block of the function that the block frees
    by views of one buffer, in which those that are not in use at the same time
    share their place. The buffer is no larger than what the allocator of the
    target keeps for the next call; what does not fit stays as it is.

    Example: see `test/Transforms/Buffers/join-buffers.mlir`. In

    ```mlir
    %0 = memref.alloc() : memref<8xf32>
    %1 = memref.alloc() : memref<4xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
    linalg.exp ins(%y : memref<4xf32>) outs(%1 : memref<4xf32>)
    memref.dealloc %0 : memref<8xf32>
    memref.dealloc %1 : memref<4xf32>
    ```

    both are views of a `memref<48xi8>`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose allocator counts: a name, host, dlti, or a file "
           "(machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def SplitCopiesPass : Pass<"chimera-split-copies"> {
  let summary = "Copy rows that are contiguous as bytes";
  let description = [{
    Puts loops around a `memref.copy` until what is left of it is contiguous in
    both buffers, which is copied as bytes; single elements are loaded and stored.
    Buffers that are contiguous as a whole, or have no strides, are left alone. A
    copy of all of a buffer to itself, through reshapes, goes.

    A `linalg.generic` that gathers rows, as an embedding does, becomes such a
    copy: where a row is, and that it is there, is the same for all its elements,
    so that it is found and asserted once per row.

    Example: see `test/Transforms/Buffers/split-copies.mlir`. In

    ```mlir
    memref.copy %image, %middle
        : memref<7x8xf32> to memref<7x8xf32, strided<[10, 1], offset: 11>>
    ```

    the seven rows are copied one by one.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def WriteResultsInPlacePass
    : Pass<"chimera-write-results-in-place", "::mlir::func::FuncOp"> {
  let summary = "Compute results where the caller wants them";
  let description = [{
    Arguments with the attribute `bufferize.result`, of upstream's
    `buffer-results-to-out-params`, stand for results. Where a buffer of another
    shape is computed and copied to such an argument, this pass makes the argument
    the buffer, and removes the attribute. Both have static shapes and no layout;
    a buffer that is used after the copy stays one.

    Example: see `test/Transforms/write-results-in-place.mlir`. In

    ```mlir
    func.func @main(%x: memref<8xf32>, %r: memref<1x8xf32> {bufferize.result}) {
      %0 = memref.alloc() : memref<8xf32>
      linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
      %1 = memref.expand_shape %0 [[0, 1]] output_shape [1, 8]
          : memref<8xf32> into memref<1x8xf32>
      memref.copy %1, %r : memref<1x8xf32> to memref<1x8xf32>
      return
    }
    ```

    the exponentials go to a `memref.collapse_shape` of `%r`.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def FoldNormalizationPass
    : Pass<"chimera-fold-normalization", "::mlir::func::FuncOp"> {
  let summary = "Scale filters instead of what products make, channel by channel";
  let description = [{
    Elementwise operations after a product that together multiply each channel
    of its result with a number and add another one, as batch normalisation does,
    become one addition, if any: the filter is multiplied instead. Both the filter and
    the numbers have to be the same in every call (see `chimera.prepare`), so
    that this is done once. Products of f32 whose result nobody else reads;
    between them and the operations, dimensions of channels may be merged.
    Results differ by rounding.

    Example: see `test/Transforms/Constants/fold-normalization.mlir`. Of

    ```mlir
    %y = linalg.matmul ins(%x, %w : tensor<64x32xf32>, tensor<32x48xf32>)
        outs(%zeros : tensor<64x48xf32>) -> tensor<64x48xf32>
    %z = linalg.generic ... ins(%y, %scale : tensor<64x48xf32>, tensor<48xf32>) {
    ^bb0(%a: f32, %s: f32, %old: f32):
      %b = arith.mulf %a, %s : f32
      linalg.yield %b : f32
    }
    ```

    where `%w` and `%scale` are marked `chimera.constant`, the product with
    `%w * %scale` is left.
  }];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def OrientConstantsPass : Pass<"chimera-orient-constants", "::mlir::func::FuncOp"> {
  let summary = "Transpose constant operands of chains into the order of vectors";
  let description = [{
    Where a contraction of a chain loads vectors along a dimension that is not
    the last one of an operand, every call copies the operand. If the operand is
    the same in every call (see `chimera.prepare`), the chain reads it transposed
    instead.

    Example: see `test/Transforms/orient-constants.mlir`. In

    ```mlir
    func.func @linear(%x: tensor<64x32xf32>,
                      %w: tensor<48x32xf32> {chimera.constant})
    ```

    the chain that multiplies `%x` with `%w`, transposed, reads

    ```mlir
    %t = linalg.transpose ins(%w : tensor<48x32xf32>)
        outs(%empty : tensor<32x48xf32>) permutation = [1, 0]
    %once = chimera.prepare %t : tensor<32x48xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def InterleaveConstantsPass : Pass<"chimera-interleave-constants"> {
  let summary = "Prepare panels in the words that kernels read";
  let description = [{
    Of panels that `chimera.prepare` names, and that only blocks read that
    multiply words of 32 bits, on tiles of a matrix unit
    (`#chimera.tile_product`) or by dot products (`#chimera.outer_product`),
    neighbours along the reduction are brought together:
    `panels x rows x columns` becomes
    `panels x words x columns x numbers of a word`. The reduction of these blocks
    gets a dimension for the numbers of a word. Panels with rows that are not
    known to be whole tiles, or whole words, are left as they are; their parts are
    interleaved in every call.

    Example: see `test/Transforms/interleave-constants.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "CPU to compile for: a name, or a file (machine.mlir)">];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PrepareConstantsPass
    : Pass<"chimera-prepare-constants", "::mlir::ModuleOp"> {
  let summary = "Compute once what is the same in every call";
  let description = [{
    Moves what `chimera.prepare` names out of a function, if it depends on
    constants and on arguments marked `chimera.constant` only: into a function
    `<name>_prepare` with the same arguments, which leaves it in globals of the
    module. The caller runs that function before the first call, and again
    whenever a marked argument changes. What does not qualify stays where it is;
    so does what takes more than `max-bytes` with what was moved before. Erases
    all `chimera.prepare`.

    Each value is computed by a function of the constants it depends on, which is
    the same for values that are computed alike. Its attribute `chimera.recipe` is a
    hash of what it does; empty, if that has elements of a resource or more than
    4096.

    Example: see `test/Transforms/prepare-constants.mlir`. From

    ```mlir
    func.func @f(%x: tensor<8xf32>, %w: tensor<8xf32> {chimera.constant}) -> tensor<8xf32> {
      %e = math.exp %w : tensor<8xf32>
      %once = chimera.prepare %e : tensor<8xf32>
      %y = arith.mulf %x, %once : tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```

    `math.exp` goes to a function that `@f_prepare`, which has the arguments of
    `@f`, calls with `%w` and with the memory that `@f` reads.
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "1 << 30",
           "how much memory prepared values may take in a module">];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LetHostsKeepPreparedPass
    : Pass<"chimera-let-hosts-keep-prepared", "::mlir::ModuleOp"> {
  let summary = "Let a host say which prepared values are there already";
  let description = [{
    Each call in `@f_prepare` (`chimera-prepare-constants`, bufferized) of a
    function with a `chimera.recipe`, those in preparations of versions included,
    happens unless the element of `@f_prepared_state` with its number is 1, and
    sets it to 2. `chimera.prepared` on `@f_prepare` lists the values
    (`#chimera.prepared`). The host (`runtime/chimera_runtime.h`) chooses the
    memory they have, and may give that of a value of the same recipe and the same
    constants, which another program has computed.

    Example: see `test/Transforms/Constants/let-hosts-keep-prepared.mlir`. In

    ```mlir
    func.func @f_prepare(%x: memref<8xf32>, %w: memref<8xf32>) {
      %p = memref.get_global @f_prepared : memref<8xf32>
      call @exponential(%w, %p) : (memref<8xf32>, memref<8xf32>) -> ()
      return
    }
    func.func private @exponential(memref<8xf32>, memref<8xf32>)
        attributes {chimera.recipe = "0bf0"}
    ```

    the call moves into an `scf.if`, and `@f_prepare` gets
    `chimera.prepared = [#chimera.prepared<memory = @f_prepared, recipe = "0bf0",
    constants = [1]>]`.
  }];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ReportConstantsReadPass
    : Pass<"chimera-report-constants-read", "::mlir::ModuleOp"> {
  let summary = "Say when a constant has been read for the last time";
  let description = [{
    In `@f_prepare` (`chimera-prepare-constants`, bufferized) calls
    `chimera_constant_read(i64)` with the number of each argument marked
    `chimera.constant` that `@f` does not read, after the last operation that
    reads it or a view of it. The host (`runtime/chimera_runtime.h`) may free it
    then, so that weights and what is packed of them need not all fit at once.

    Example: see `test/Transforms/Constants/report-constants-read.mlir`.

    ```mlir
    func.func @f(%x: memref<8xf32>, %w: memref<8xf32> {chimera.constant}) {
      %p = memref.get_global @f_prepared : memref<8xf32>
      memref.copy %p, %x : memref<8xf32> to memref<8xf32>
      return
    }
    func.func @f_prepare(%x: memref<8xf32>, %w: memref<8xf32>) {
      %p = memref.get_global @f_prepared : memref<8xf32>
      memref.copy %w, %p : memref<8xf32> to memref<8xf32>
      // Here goes: func.call @chimera_constant_read(1)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect"];
}

def PadBuffersPass : Pass<"chimera-pad-buffers"> {
  let summary = "Keep rows of buffers from meeting in few sets of the cache";
  let description = [{
    Gives each row of a `memref.alloc` of static shape a cache line more if
    neighbouring rows would share four sets of the target's first-level cache, or
    fewer: where it has 64 sets of 64 bytes, rows of a multiple of 1024 bytes. The
    rows that a micro kernel works on together would drive each other out. What has read and written the buffer does so through a `memref.subview`.

    A buffer stays as it is if anything but micro kernels, operations of linalg,
    loads and stores of elements and copies that are not of one block of bytes
    reads or writes it or a `memref.subview` of it: it may be returned, passed on,
    reshaped or carried by a loop.

    Example: see `test/Transforms/pad-buffers.mlir`. The buffer

    ```mlir
    %0 = memref.alloc() {alignment = 64 : i64} : memref<197x3072xf32>
    ```

    becomes

    ```mlir
    %0 = memref.alloc() {alignment = 64 : i64} : memref<197x3088xf32>
    %1 = memref.subview %0[0, 0] [197, 3072] [1, 1]
        : memref<197x3088xf32> to memref<197x3072xf32, strided<[3088, 1]>>
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine whose first-level cache counts: a name, host, dlti, or a file "
           "(machine.mlir)">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // CHIMERA_TRANSFORMS_PASSES
