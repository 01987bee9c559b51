//===- NetworkAttributes.td - Several machines -------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What exchanges between processes take, and which part of a tensor each of them
// has.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_NETWORKATTRIBUTES
#define CHIMERA_IR_NETWORKATTRIBUTES

def Chimera_TransferAttr : Chimera_Attr<"Transfer", "transfer"> {
  let summary = "What it takes to exchange so many bytes";
  let description = [{
    `bytes` that each of two processes sends to the other and receives from it
    take `time` nanoseconds.

    Example: `#chimera.transfer<bytes = 65536, time = 16000>`
  }];
  let parameters = (ins "int64_t":$bytes, "int64_t":$time);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Chimera_ExchangeAttr : Chimera_Attr<"Exchange", "exchange"> {
  let summary = "What one kind of collective takes, by size";
  let description = [{
    A table like that of a network, of collectives of `kind` in groups of so many
    `processes`. `bytes` are those that a process sends.

    Example: `#chimera.exchange<reduce_scatter, processes = 2, transfers = [<bytes = 65536, time = 16000>]>`
  }];
  let parameters = (ins EnumParameter<Chimera_CollectiveKind>:$kind,
                        "int64_t":$processes,
                        ArrayRefParameter<"::chimera::TransferAttr">:$transfers);
  let assemblyFormat = [{
    `<` $kind `,` `processes` `=` $processes `,`
        `transfers` `=` `[` $transfers `]` `>`
  }];
  let genVerifyDecl = 1;
}

def Chimera_NetworkAttr : Chimera_Attr<"Network", "network"> {
  let summary = "The level of memory that other processes are";
  let description = [{
    `transfers` is a table of an all-reduce between two processes, with rising
    bytes; between its entries time is a straight line, as it is beyond the last
    two. Other collectives and larger groups may have tables of their own after
    `and`; docs/several-machines.md says how those without one are priced.
    `source` says where the figures come from.

    `processor` is the part of a transfer's time, in percent, for which it keeps
    the core that computes: 100 where processes share memory, little where the
    network moves bytes by itself. It decides whether exchanges overlap with
    computing.

    Example: `#chimera.network<"a description, not a measurement", transfers = [<bytes = 1024, time = 400>, <bytes = 1048576, time = 104000>] and [<reduce_scatter, processes = 2, transfers = [<bytes = 1024, time = 800>]>], processor = 10>`
  }];
  let parameters = (ins StringRefParameter<"source">:$source,
                        ArrayRefParameter<"::chimera::TransferAttr">:$transfers,
                        OptionalArrayRefParameter<"::chimera::ExchangeAttr">:$measured,
                        DefaultValuedParameter<"int64_t", "100">:$processor);
  let assemblyFormat = [{
    `<` $source `,` `transfers` `=` `[` $transfers `]`
        (`and` ` ` `[` $measured^ `]`)? (`,` `processor` `=` $processor^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Chimera_PartAttr : Chimera_Attr<"Part", "part"> {
  let summary = "Which part of a tensor a process has";
  let description = [{
    On an argument or a result of a function that runs as several processes, as
    the attribute `chimera.part`: the whole tensor has `shape`; dimension d is cut
    into equal parts along the axes `axes[d]` of the `grid` of processes, the
    first of them outermost.

    Example: `#chimera.part<shape = [512, 2048], axes = [[], [0]], grid = [2]>`
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$shape,
                        OptionalArrayRefParameter<"::mlir::DenseI64ArrayAttr">:$axes,
                        ArrayRefParameter<"int64_t">:$grid);
  let assemblyFormat = [{
    `<` `shape` `=` `[` (`]`) : ($shape^ `]`)? `,`
        `axes` `=` `[` (`]`) : ($axes^ `]`)? `,` `grid` `=` `[` $grid `]` `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Into how many parts dimension `dim` is cut.
    int64_t getCount(unsigned dim) const;
  }];
}

#endif // CHIMERA_IR_NETWORKATTRIBUTES
