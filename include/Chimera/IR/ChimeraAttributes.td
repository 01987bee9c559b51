//===- ChimeraAttributes.td - Schedules, plans, targets ----*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERAATTRIBUTES
#define CHIMERA_IR_CHIMERAATTRIBUTES

include "Chimera/IR/ChimeraDialect.td"
include "Chimera/IR/ChimeraEnums.td"
include "Chimera/IR/ChimeraInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/DataLayoutInterfaces.td"

class Chimera_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Chimera_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def Chimera_TiledLoopAttr : Chimera_Attr<"TiledLoop", "loop"> {
  let summary = "A loop of the block order and the tile it leaves inside";
  let description = [{
    The name of a loop of the chain and the extent, in iterations, that it
    leaves to the loops inside. It goes around the operators it concerns, or
    around those with the given positions: to give operators that have parted
    tiles of their own, or to recompute a producer that the loop does not
    concern.

    Example: `#chimera.loop<m = 64>`, `#chimera.loop<l = 32 around [0]>`
  }];
  let parameters = (ins StringRefParameter<"loop name">:$name,
                        "int64_t":$tile,
                        OptionalArrayRefParameter<"int64_t">:$operators);
  let assemblyFormat = [{
    `<` custom<LoopName>($name) `=` $tile (`around` `[` $operators^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
}

def Chimera_LevelScheduleAttr : Chimera_Attr<"LevelSchedule", "level"> {
  let summary = "The loops that move tiles into one memory level";
  let description = [{
    The loops from the outside in. A loop that is not listed keeps the tile it
    has outside; a level without loops adds none. A loop may be listed again for
    other operators.

    Example: `#chimera.level<"L1" : m = 32, l = 64 around [0], l = 32 around [1]>`
  }];
  let parameters = (ins
    StringRefParameter<"level of the target">:$name,
    OptionalArrayRefParameter<"::chimera::TiledLoopAttr">:$order);
  let assemblyFormat = "`<` $name (`:` custom<LoopOrder>($order)^)? `>`";
  let genVerifyDecl = 1;
}

def Chimera_RegisterTileAttr : Chimera_Attr<"RegisterTile", "registers"> {
  let summary = "The register tile of a micro kernel";
  let description = [{
    `rows` x `vectors` accumulators (MI and NI in section V-B of the paper),
    `broadcasts` registers for the broadcast operand (MII), `depth` steps of the
    reduction per loop iteration (KI). Counts of registers, except `depth`. Of a
    matrix unit, counts of instructions: where threads hold what it works on,
    `rows` is how many times an instruction's rows a group of threads has, or
    half of that, and so on, if registers do not do.
    `kernel` names the micro kernel that offers the tile; without it the tile is
    for any kernel that takes tiles of all sizes. With `part`, kernels that add up
    along several loops, the channels of each tap of a window, take so many
    iterations of the innermost before they turn to the next of the others, if
    constants supply the vectors; without it, a few. In a schedule it is the most
    of all operators: those with many taps take less. `stages` says how many
    copies of a tile of factors, which a loop fills again, are in the innermost
    level where threads hold what they compute: all but one are filled ahead.
    Without it there are as many as the level has `buffers`.

    Example: `#chimera.registers<rows = 6, vectors = 4, broadcasts = 1, depth = 4>`,
    `#chimera.registers<rows = 6, vectors = 2, broadcasts = 0, depth = 1, kernel = "sgemm_6x32">`,
    `#chimera.registers<rows = 2, vectors = 16, broadcasts = 0, depth = 1, stages = 3>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$vectors,
                        "int64_t":$broadcasts, "int64_t":$depth,
                        OptionalParameter<"::mlir::StringAttr">:$kernel,
                        DefaultValuedParameter<"int64_t", "0">:$part,
                        DefaultValuedParameter<"int64_t", "0">:$stages);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_TapsAttr : Chimera_Attr<"Taps", "taps"> {
  let summary = "Which taps of a window lie inside an image";
  let description = [{
    Of a convolution with the dimension `pixel` along a row of pixels and the
    dimension `tap` along the taps of their windows, only the iterations with
    `begin <= pixel_factor * pixel + tap_factor * tap < end` add anything: in the
    others the image is padding, which is zero. Code may leave those out.

    Example: `#chimera.taps<pixel = 1, tap = 4, pixel_factor = 1, tap_factor = 1, begin = 1, end = 8>`
  }];
  let parameters = (ins "int64_t":$pixel, "int64_t":$tap,
                        "int64_t":$pixel_factor, "int64_t":$tap_factor,
                        "int64_t":$begin, "int64_t":$end);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_LoopExtentAttr : Chimera_Attr<"LoopExtent", "extent"> {
  let summary = "The extent that a loop of the chain has as a whole";
  let description = [{
    The name of a loop of the chain and its number of iterations.

    Example: `#chimera.extent<m = 512>`
  }];
  let parameters = (ins StringRefParameter<"loop name">:$name,
                        "int64_t":$extent);
  let assemblyFormat = "`<` custom<LoopName>($name) `=` $extent `>`";
  let genVerifyDecl = 1;
}

def Chimera_RowLayoutAttr : Chimera_Attr<"RowLayout", "rows"> {
  let summary = "How far apart the rows of a buffer lie";
  let description = [{
    A row begins with a cache line of `line` bytes, unless that makes the buffer
    longer by more than a quarter. Rows that would lie a multiple of `apart`
    lines apart are a line longer, since they would meet in few sets of the
    cache.

    Example: `#chimera.rows<line = 64, apart = 4>`
  }];
  let parameters = (ins "int64_t":$line, "int64_t":$apart);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_PrefetchAttr : Chimera_Attr<"Prefetch", "prefetch"> {
  let summary = "What the kernels of products ask for while they compute";
  let description = [{
    What is asked for in time (`chimera.prefetch`) is near when it is read.

    - `part`: bytes that the kernels of one operator may ask for of what the next
      one in the same loop reads, or of the next tile of a matrix that several
      tiles of rows use in place; if there are more, they ask for none of them.
      0 if it is not given: they ask for nothing.
    - `loops`: where kernels ask for what the next iteration copies for them, has
      of an operand prepared before the call, or of such a matrix. `fixed`: where
      all loops from there have constant trip counts; `any`: where their most
      trips are known; `none`, the default: nowhere.

    Example: `#chimera.prefetch<part = 104857, loops = fixed>`
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "0">:$part,
    DefaultValuedParameter<"::chimera::PrefetchLoops",
                           "::chimera::PrefetchLoops::None">:$loops);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_BlocksAttr : Chimera_Attr<"Blocks", "blocks"> {
  let summary = "How the blocks inside the loops of a schedule are made";
  let description = [{
    What the loops leave open, each entry only where it is to be so. Operators
    are given by position.

    - `rows`: the layout of intermediates in a cache. Without it their rows
      follow each other, no two share a buffer, and blocks have all taps of their
      windows, as suits a memory that a program is in charge of.
    - `ahead`: operators that have the loops over their reduction to themselves
      and whose first tile there overwrites the sums, which are zeroed otherwise.
    - `repeated`: operators whose scores, in a softmax, are computed from the
      product twice, for the maximum and for the exponentials, instead of being
      stored.
    - `base2`: operators of whose scores the exponentials are powers of two.
    - `prefetch`: what kernels ask for while they compute; without it, nothing.
    - `clip`: tiles of which a mask leaves the first half alone end there, and
      those in the loops of one operator of which it leaves nothing are left out.
    - `fold`: the tasks of a parallel loop along the rows of a mask are taken
      from both ends by turns: the first rows, of which it leaves least, then the
      last, so that threads which run neighbouring tasks have as much to do.

    Example: `#chimera.blocks<rows <line = 64, apart = 4> ahead [0, 1] repeated [0] base2 [0] prefetch <part = 104857, loops = fixed> clip fold>`
  }];
  let parameters = (ins
    OptionalParameter<"::chimera::RowLayoutAttr">:$rows,
    OptionalArrayRefParameter<"int64_t">:$ahead,
    OptionalArrayRefParameter<"int64_t">:$repeated,
    OptionalArrayRefParameter<"int64_t">:$base2,
    OptionalParameter<"::chimera::PrefetchAttr">:$prefetch,
    DefaultValuedParameter<"bool", "false">:$clip,
    DefaultValuedParameter<"bool", "false">:$fold);
  let assemblyFormat = [{
    `<` `` custom<BlockEntries>($rows, $ahead, $repeated, $base2, $prefetch,
                                $clip, $fold) `>`
  }];
  let genVerifyDecl = 1;
}

def Chimera_ScheduleAttr : Chimera_Attr<"Schedule", "schedule"> {
  let summary = "How a chain runs: order and tiles per level, register tile";
  let description = [{
    Levels are listed slowest first, with the names of the target's levels. Read
    one after the other they make one order; its longest prefix of loops that
    all operators share is run once, and below it each operator has its own
    nest with the loops it has. A loop of one trip is no loop. The first `parallel`
    loops run in parallel. One of them may be the loop along which the last
    operator, of a softmax, reduces: its parts are combined in the end.
    `packed` lists the inputs of the chain, by position, that are copied into
    contiguous memory when a tile enters the innermost level, `staged` those that
    are copied one level further out, in the order of their rows, into the tiles
    of the innermost level, and `prepacked` those that are copied into such tiles
    as a whole before the first loop: inputs that are the same in every call, so
    that it happens once (see `chimera.prepare`). `rolling` names the tensors, as
    reports do, whose buffers keep what neighbouring windows share. An intermediate
    does so along the last loop around all that use it, if its operator comes
    first there and no other loop moves the windows; otherwise `chimera-tile`
    says that what is shared is computed again.

    `held` lists operators, counted from 0, whose last loops run in the micro
    kernel: those over the reduction and, around them, one over the rows, of which
    all loops leave no more than a register tile has. The kernel keeps the sums of
    a register tile through all of the reduction, while what it multiplies streams
    through the innermost level as the loops say.

    Loops have the names that the chain's body gives them. `extents` says which
    loops the schedule was made for: a chain whose loops of these names have other
    extents has changed since, and the schedule is refused. `chimera-schedule`
    lists all loops; a schedule written by hand may list none.

    `blocks` says how the blocks are made. `chimera-schedule` decides it for a
    schedule that does not say; `chimera-tile` makes plain ones then.

    Example:
    ```mlir
    #chimera.schedule<
      levels = [<"L3">, <"L2" : b = 1>, <"L1" : l = 64, m = 32>],
      parallel = 1,
      registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
      packed = [1],
      extents = [b = 8, m = 512, l = 512, k = 64, n = 64],
      blocks = <rows <line = 64, apart = 4> ahead [0, 1]>>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::chimera::LevelScheduleAttr">:$levels,
    "int64_t":$parallel,
    "::chimera::RegisterTileAttr":$registers,
    OptionalArrayRefParameter<"int64_t">:$packed,
    OptionalArrayRefParameter<"int64_t">:$staged,
    OptionalArrayRefParameter<"int64_t">:$prepacked,
    OptionalArrayRefParameter<"::mlir::StringAttr">:$rolling,
    OptionalArrayRefParameter<"int64_t">:$held,
    OptionalArrayRefParameter<"::chimera::LoopExtentAttr">:$extents,
    OptionalParameter<"::chimera::BlocksAttr">:$blocks);
  let assemblyFormat = [{
    `<` `levels` `=` `[` $levels `]` `,` `parallel` `=` $parallel `,`
        `registers` `=` $registers
        `` custom<ScheduleLists>($packed, $staged, $prepacked, $rolling,
                                 $held, $extents, $blocks) `>`
  }];
  let genVerifyDecl = 1;
}

include "Chimera/IR/GroupAttributes.td"

//===----------------------------------------------------------------------===//
// Plan: the prediction that goes with a schedule
//===----------------------------------------------------------------------===//

def Chimera_LevelPlanAttr : Chimera_Attr<"LevelPlan", "level_plan"> {
  let summary = "Predicted bytes at one memory level";
  let description = [{
    Bytes that cross the boundary outside the level with the chain's schedule,
    with separate operators, and in any schedule (an I/O lower bound); the
    capacity of the level and how much of it the schedule uses, in bytes. A plan
    that is not compared with another has its own bytes as `unfused`.

    Example: `#chimera.level_plan<"L2", predicted = 4194304, unfused = 20971520, bound = 4194304, capacity = 1048576, used = 524288>`
  }];
  let parameters = (ins StringRefParameter<"level of the target">:$name,
                        "int64_t":$predicted, "int64_t":$unfused,
                        "int64_t":$bound, "int64_t":$capacity,
                        "int64_t":$used);
  let assemblyFormat = [{
    `<` $name `,` struct($predicted, $unfused, $bound, $capacity, $used) `>`
  }];
}

def Chimera_PlanAttr : Chimera_Attr<"Plan", "plan"> {
  let summary = "The reason for a schedule, with its numbers";
  let description = [{
    Written by `chimera-schedule` next to the schedule; read by reports only.
    Times are predictions of the model, in nanoseconds.

    Example:
    ```mlir
    #chimera.plan<fused, "the intermediate stays on chip", operators = 2,
      nanoseconds = 2100, unfused_nanoseconds = 2600,
      levels = [<"L1", predicted = 64, unfused = 128, bound = 64, capacity = 49152, used = 32768>]>
    ```
  }];
  let parameters = (ins "::chimera::Verdict":$verdict,
                        StringRefParameter<"reason">:$reason,
                        "int64_t":$operators,
                        "int64_t":$nanoseconds, "int64_t":$unfusedNanoseconds,
                        OptionalArrayRefParameter<"::chimera::LevelPlanAttr">:$levels);
  let assemblyFormat = [{
    `<` $verdict `,` $reason `,` `operators` `=` $operators `,`
        `nanoseconds` `=` $nanoseconds `,`
        `unfused_nanoseconds` `=` $unfusedNanoseconds
        (`,` `levels` `=` `[` $levels^ `]`)? `>`
  }];
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

def Chimera_MemoryLevelAttr : Chimera_Attr<"MemoryLevel", "memory"> {
  let summary = "One on-chip memory level of a target";
  let description = [{
    `capacity` in bytes, `usable` in percent of it, `core_bandwidth` and
    `chip_bandwidth` in bytes per second brought in from the next slower level
    by one core and by all, `sharers` cores per instance, `line` in bytes,
    `ways` of associativity (0: explicitly managed). A tile that streams through
    is there `buffers` times, and moves in whole units of `burst` bytes; both
    are 1 unless said otherwise. Where a schedule may ask for more copies of a
    tile, it is `most_buffers` that it can have, which is not below `buffers`. A
    tile is there `latency` cycles after a core has asked for it (0: at once).

    Example: `#chimera.memory<"L1", capacity = 49152, usable = 80, core_bandwidth = 130000000000, chip_bandwidth = 260000000000, sharers = 1, line = 64, ways = 12>`,
    `#chimera.memory<"SMEM", capacity = 232448, usable = 98, core_bandwidth = 90000000000, chip_bandwidth = 12000000000000, sharers = 1, line = 128, ways = 0, buffers = 2, burst = 32, most_buffers = 4, latency = 263>`
  }];
  let parameters = (ins StringRefParameter<"name of the level">:$name,
                        "int64_t":$capacity, "int64_t":$usable,
                        "int64_t":$core_bandwidth, "int64_t":$chip_bandwidth,
                        "int64_t":$sharers, "int64_t":$line, "int64_t":$ways,
                        DefaultValuedParameter<"int64_t", "1">:$buffers,
                        DefaultValuedParameter<"int64_t", "1">:$burst,
                        DefaultValuedParameter<"int64_t", "0">:$most_buffers,
                        DefaultValuedParameter<"int64_t", "0">:$latency);
  let assemblyFormat = [{
    `<` $name `,` struct($capacity, $usable, $core_bandwidth, $chip_bandwidth,
                         $sharers, $line, $ways, $buffers, $burst,
                         $most_buffers, $latency) `>`
  }];
  let extraClassDeclaration = [{
    /// The most copies of a tile that a schedule may ask for.
    int64_t getMostCopies() const {
      return getMostBuffers() > 0 ? getMostBuffers() : getBuffers();
    }
  }];
  let genVerifyDecl = 1;
}

def Chimera_VectorTuningAttr : Chimera_Attr<"VectorTuning", "vector_tuning"> {
  let summary = "What vector code suits one kind of core";
  let description = [{
    Figures of a core that no manual lists, found by measuring kernels. They
    change the code that is made and not what it computes; what is not given is
    as `chimera::VectorTuning` says, which explains them.

    - `chains`: combinations of a reduction that are under way at a time;
    - `accumulators` and `row_vectors`: registers of a product along the
      reduction for sums and for vectors of rows;
    - `ahead`: vectors from the one that is read to the one asked for, where a
      matrix is used for a few rows;
    - `streams` and `stream_ahead`: parts of a matrix that are read by turns where
      it is used for one row, and vectors asked for ahead in each;
    - `fetch_level`: the cache, 1 or 2, that these prefetches fill;
    - `line`: bytes that one prefetch brings;
    - `interleaved`: bodies with exponentials and the like that take turns;
    - `reduced_rows`: rows that are reduced together.

    Example: `#chimera.vector_tuning<chains = 10>`
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "VectorTuning().chains">:$chains,
    DefaultValuedParameter<"int64_t", "VectorTuning().accumulators">:$accumulators,
    DefaultValuedParameter<"int64_t", "VectorTuning().rowVectors">:$row_vectors,
    DefaultValuedParameter<"int64_t", "VectorTuning().ahead">:$ahead,
    DefaultValuedParameter<"int64_t", "VectorTuning().streams">:$streams,
    DefaultValuedParameter<"int64_t", "VectorTuning().streamAhead">:$stream_ahead,
    DefaultValuedParameter<"int64_t", "VectorTuning().fetchLevel">:$fetch_level,
    DefaultValuedParameter<"int64_t", "VectorTuning().lineBytes">:$line,
    DefaultValuedParameter<"int64_t", "VectorTuning().interleaved">:$interleaved,
    DefaultValuedParameter<"int64_t", "VectorTuning().reducedRows">:$reduced_rows);
  let extraClassDeclaration = [{
    VectorTuning getFigures() const {
      return {getChains(),      getAccumulators(), getRowVectors(),
              getAhead(),       getStreams(),      getStreamAhead(),
              getFetchLevel(),  getLine(),         getInterleaved(),
              getReducedRows()};
    }
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_VectorUnitAttr : Chimera_Attr<"VectorUnit", "vector_unit"> {
  let summary = "The f32 vector unit of one core";
  let description = [{
    `bits` per register, number of `registers`, instructions started per cycle
    (`fma`, `load`, `store`), `latency` of an FMA in cycles, `clock` in Hz.
    `exponential` is how many of its instructions the exponentials of one
    register take: 20, as a polynomial does, if it is not given. `tuning` is for
    cores that want other code than the default.

    Example: `#chimera.vector_unit<bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 4100000000>`,
    `#chimera.vector_unit<bits = 2048, registers = 256, fma = 1, load = 1, store = 1, latency = 1, clock = 1000000000, exponential = 1>`
  }];
  let parameters = (ins "int64_t":$bits, "int64_t":$registers, "int64_t":$fma,
                        "int64_t":$load, "int64_t":$store, "int64_t":$latency,
                        "int64_t":$clock,
                        DefaultValuedParameter<"int64_t", "20">:$exponential,
                        OptionalParameter<"::chimera::VectorTuningAttr">:$tuning);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_DotProductAttr : Chimera_Attr<"DotProduct", "dot_product"> {
  let summary = "Dot products of a narrow type on the vector unit";
  let description = [{
    An instruction of the vector unit that multiplies elements of `type` and
    adds `depth` neighbouring products to each 32-bit accumulator, such as
    `vdpbf16ps`: `fma` instructions started per cycle, `latency` in cycles.

    Example: `#chimera.dot_product<type = bf16, depth = 2, fma = 2, latency = 6>`
  }];
  let parameters = (ins "::mlir::Type":$type, "int64_t":$depth, "int64_t":$fma,
                        "int64_t":$latency);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_MatrixUnitAttr : Chimera_Attr<"MatrixUnit", "matrix_unit"> {
  let summary = "The matrix unit of one core, for one element type";
  let description = [{
    One instruction does `rows` x `columns` x `depth` multiply-adds on elements
    of `type` with 32-bit accumulators; `macs` are the multiply-adds per cycle of
    the core, all its units together, and `latency` the cycles from an
    instruction to the next one on the same accumulators. Near the unit there
    are `accumulators` bytes for partial sums, `lhs` and `rhs` bytes for the
    operands. `load` bytes per cycle come in from the last level, `store` bytes
    go back. `clock` in Hz. `interleave` neighbours along the reduction lie side
    by side in a row of the right operand, 1 if it is not given; where there are
    caches, such an operand has to be packed.

    Example: `#chimera.matrix_unit<type = bf16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52, accumulators = 4096, lhs = 2048, rhs = 2048, load = 128, store = 64, clock = 2400000000, interleave = 2>`
  }];
  let parameters = (ins "::mlir::Type":$type, "int64_t":$rows,
                        "int64_t":$columns, "int64_t":$depth, "int64_t":$macs,
                        DefaultValuedParameter<"int64_t", "1">:$latency,
                        "int64_t":$accumulators, "int64_t":$lhs,
                        "int64_t":$rhs, "int64_t":$load, "int64_t":$store,
                        "int64_t":$clock,
                        DefaultValuedParameter<"int64_t", "1">:$interleave);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_BufferAttr : Chimera_Attr<"Buffer", "buffer"> {
  let summary = "A memory at a unit, beside the levels";
  let description = [{
    What a unit works on where it cannot work on the innermost level: `holds`
    says whether these are the left (`lhs`) or right (`rhs`) operands of the
    matrix unit, its partial `sums`, or what the vector unit reads and writes
    (`vectors`). `capacity` in bytes. Programs place everything in it by
    themselves; nothing else moves data into or out of it but a route. With
    `lanes` the vector unit neither combines the elements of a vector nor spreads
    them over one: what rows are reduced to is found lane by lane, across vectors.

    Example: `#chimera.buffer<"UB", holds = vectors, capacity = 262144, lanes = true>`
  }];
  let parameters = (ins StringRefParameter<"name of the memory">:$name,
                        "::chimera::BufferRole":$holds, "int64_t":$capacity,
                        DefaultValuedParameter<"bool", "false">:$lanes);
  let assemblyFormat = "`<` $name `,` struct($holds, $capacity, $lanes) `>`";
  let genVerifyDecl = 1;
}

def Chimera_RouteAttr : Chimera_Attr<"Route", "route"> {
  let summary = "A hardware path between two memories";
  let description = [{
    From one memory to another, by the names of levels and buffers; `memory` is
    what lies outside all of them. `bandwidth` in bytes per second and core. A
    route with `converts` can narrow what it moves to the type that is stored,
    one with `relu` can put zero for negative numbers before that. One with
    `blocks` moves whole blocks of memory: the rows that it writes, and their
    distance, are multiples of the columns of the matrix unit.

    Example: `#chimera.route<"L0C", "L1", bandwidth = 460800000000, converts = true, relu = true>`
  }];
  let parameters = (ins StringRefParameter<"where it starts">:$source,
                        StringRefParameter<"where it ends">:$destination,
                        "int64_t":$bandwidth,
                        DefaultValuedParameter<"bool", "false">:$converts,
                        DefaultValuedParameter<"bool", "false">:$relu,
                        DefaultValuedParameter<"bool", "false">:$blocks);
  let assemblyFormat = [{
    `<` $source `,` $destination `,`
        struct($bandwidth, $converts, $relu, $blocks) `>`
  }];
  let genVerifyDecl = 1;
}

def Chimera_ThreadGroupsAttr : Chimera_Attr<"ThreadGroups", "thread_groups"> {
  let summary = "The threads that hold what a matrix unit works on";
  let description = [{
    Where the operands and sums of matrix instructions are in registers of
    threads, a group of `threads` issues an instruction and holds its rows. A
    block runs on a core with up to `most` groups, which share its rows; `units`
    of them keep the matrix unit busy, at `rate` per cent of its peak. A thread
    has up to `registers` of 32 bits, all threads of a core together `file`;
    programs need `reserved` registers of a thread beside what they compute.

    Example: `#chimera.thread_groups<threads = 32, most = 16, units = 4, registers = 255, file = 65536, reserved = 64>`
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$most, "int64_t":$units,
                        DefaultValuedParameter<"int64_t", "100">:$rate,
                        "int64_t":$registers, "int64_t":$file,
                        "int64_t":$reserved);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_OverheadsAttr : Chimera_Attr<"Overheads", "overheads"> {
  let summary = "What a machine takes beside arithmetic and transfers";
  let description = [{
    - `block`: cycles to set up the pointers and loops of one block (20);
    - `transpose`: what it takes to turn columns into vectors, in per cent of a
      copy (600);
    - `run`, `run_cost`: reads from memory in runs of up to so many neighbouring
      bytes (512) take so many per cent longer (120);
    - `followed`: rows that a processor reads ahead in at the same time (16);
    - `reach`: bytes that could come in from the outermost cache while the next
      run of neighbours is found there (170);
    - `collision`: cycles for every page of 4096 bytes that a tile in place has a
      piece of each time it is read again, if its lines evict each other from
      the innermost cache (17);
    - `beside`: per cent that results, and rows of which an element each is read
      at a time, take longer into the level outside the innermost (87);
    - `region`: nanoseconds to start and end a parallel loop (0);
    - `handover`: nanoseconds for each line that one core reads and another one
      writes, in turns (12);
    - `fresh`: bytes per second at which a core touches memory that the system
      has yet to provide; 0, which is meant if it is not given, if that takes no
      time;
    - `reused`: bytes of the largest buffer that an allocator gives out again
      without returning it to the system in between (33554432).

    Example: `#chimera.overheads<region = 2000, fresh = 4000000000>`
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "OverheadFigures().block">:$block,
    DefaultValuedParameter<"int64_t", "OverheadFigures().transpose">:$transpose,
    DefaultValuedParameter<"int64_t", "OverheadFigures().run">:$run,
    DefaultValuedParameter<"int64_t", "OverheadFigures().runCost">:$run_cost,
    DefaultValuedParameter<"int64_t", "OverheadFigures().followed">:$followed,
    DefaultValuedParameter<"int64_t", "OverheadFigures().reach">:$reach,
    DefaultValuedParameter<"int64_t", "OverheadFigures().collision">:$collision,
    DefaultValuedParameter<"int64_t", "OverheadFigures().beside">:$beside,
    DefaultValuedParameter<"int64_t", "OverheadFigures().region">:$region,
    DefaultValuedParameter<"int64_t", "OverheadFigures().handover">:$handover,
    DefaultValuedParameter<"int64_t", "OverheadFigures().fresh">:$fresh,
    DefaultValuedParameter<"int64_t", "OverheadFigures().reused">:$reused);
  let builders = [AttrBuilder<(ins "const ::chimera::OverheadFigures &":$figures), [{
    return $_get($_ctxt, figures.block, figures.transpose, figures.run,
                 figures.runCost, figures.followed, figures.reach,
                 figures.collision, figures.beside, figures.region,
                 figures.handover, figures.fresh, figures.reused);
  }]>];
  let extraClassDeclaration = [{
    OverheadFigures getFigures() const {
      return {getBlock(), getTranspose(), getRun(), getRunCost(),
              getFollowed(), getReach(), getCollision(), getBeside(),
              getRegion(), getHandover(), getFresh(), getReused()};
    }
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

include "Chimera/IR/NetworkAttributes.td"

def Chimera_TargetAttr : Chimera_Attr<"Target", "target", [
    DeclareAttrInterfaceMethods<Chimera_TargetAttrInterface>,
    DeclareAttrInterfaceMethods<DLTIQueryInterface>]> {
  let summary = "A machine, in the figures that the model uses";
  let description = [{
    Levels are listed slowest first. What follows them may be left out and comes
    in any order:

    - `dots`, dot products of the vector unit, one per element type;
    - `matrix`, matrix units, one per element type;
    - `buffers`, memories beside the levels, and `routes`, the paths between
      memories, of machines whose programs move all data by themselves;
    - `groups`, the threads of machines whose matrix units work on registers;
    - `launch`, nanoseconds that it costs to start a kernel (0);
    - `overheads`, what else takes time;
    - `network`, what exchanges with other processes take, where there are any;
    - `stack`, bytes of a thread's stack that buffers may take (524288: an eighth
      of the 4 MiB that libomp gives its threads on 64-bit machines, see
      KMP_STACKSIZE; libgomp takes the limit of the process, usually 8 MiB);
    - `triple`, `cpu` and `features`, as LLVM spells them. Without a triple the
      code is for the kind of machine that compiles it.

    Types other than f32 need a dot product or a matrix unit. Element by element
    everything is computed in f32.

    As a module attribute named `chimera.target` it replaces the target a pass
    was given. Alone in a file, it is a target that passes take by the file's
    name, which ends in `.mlir`. `chimera-attach-target` shows how the targets
    that have a name are made.

    It answers DLTI queries: `"cores"`, `"launch"`, the name of a level and one of
    its figures (`"L1" "capacity"`), `"matrix"`, a type and one of the unit's
    figures (`"matrix" bf16 "macs"`).

    Example:
    ```mlir
    module attributes {chimera.target = #chimera.target<"small", cores = 2,
      unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>,
      levels = [<"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000, chip_bandwidth = 180000000000, sharers = 1, line = 64, ways = 8>],
      cpu = "haswell">} {}
    ```
  }];
  let parameters = (ins StringRefParameter<"name">:$name,
                        "int64_t":$cores,
                        "::chimera::VectorUnitAttr":$unit,
                        ArrayRefParameter<"::chimera::MemoryLevelAttr">:$levels,
                        OptionalArrayRefParameter<"::chimera::DotProductAttr">:$dots,
                        OptionalArrayRefParameter<"::chimera::MatrixUnitAttr">:$matrix,
                        OptionalArrayRefParameter<"::chimera::BufferAttr">:$buffers,
                        OptionalArrayRefParameter<"::chimera::RouteAttr">:$routes,
                        OptionalParameter<"::chimera::ThreadGroupsAttr">:$groups,
                        OptionalParameter<"::chimera::OverheadsAttr">:$overheads,
                        DefaultValuedParameter<"int64_t", "0">:$launch,
                        DefaultValuedParameter<"int64_t", "524288">:$stack,
                        OptionalParameter<"::chimera::NetworkAttr">:$network,
                        OptionalParameter<"::mlir::StringAttr">:$tripleName,
                        OptionalParameter<"::mlir::StringAttr">:$cpuName,
                        OptionalParameter<"::mlir::StringAttr">:$featureString);
  let assemblyFormat = [{
    `<` $name `,` `cores` `=` $cores `,` `unit` `=` $unit `,`
        `levels` `=` `[` $levels `]`
        `` custom<TargetDetails>($dots, $matrix, $buffers, $routes, $groups,
                                 $overheads, $launch, $stack, $network,
                                 $tripleName, $cpuName, $featureString) `>`
  }];
  let genVerifyDecl = 1;
}

include "Chimera/IR/MicroKernelAttributes.td"

//===----------------------------------------------------------------------===//
// Prepared values
//===----------------------------------------------------------------------===//

def Chimera_PreparedAttr : Chimera_Attr<"Prepared", "prepared"> {
  let summary = "A value that a preparation computes";
  let description = [{
    In the list `chimera.prepared` of a function `@f_prepare`: the value that lies
    in the global `memory` is computed by a function whose `chimera.recipe` is
    `recipe` from the arguments `constants` of `@f`, in this order. Values of one
    recipe and the same constants are the same. Without a recipe, which is empty,
    a value is like no other.

    Example: `#chimera.prepared<memory = @f_prepared, recipe = "0bf0", constants = [1]>`
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$memory,
                        StringRefParameter<"how it is computed">:$recipe,
                        OptionalArrayRefParameter<"int64_t">:$constants);
  let assemblyFormat = [{
    `<` `memory` `=` $memory `,` `recipe` `=` $recipe
        (`,` `constants` `=` `[` $constants^ `]`)? `>`
  }];
}

#endif // CHIMERA_IR_CHIMERAATTRIBUTES
