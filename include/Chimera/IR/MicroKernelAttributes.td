//===- MicroKernelAttributes.td - How blocks are computed --*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What computes a micro kernel, and how its operands lie in memory.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_MICROKERNELATTRIBUTES
#define CHIMERA_IR_MICROKERNELATTRIBUTES

def Chimera_LayoutAttr : Chimera_Attr<"Layout", "layout"> {
  let summary = "How an operand of a micro kernel lies in memory";
  let description = [{
    Dimensions are those of the kernel's iteration space:

    - `any`: strides are what they are;
    - `contiguous along d`: neighbours along dimension `d` are neighbours in
      memory;
    - `interleaved along d by [n]`: groups of `n` neighbours along `d` lie
      together, and the groups of one row after those of the last (as dot
      products of narrow types read their factors);
    - `tiles by [r, c]`: tiles of r x c elements, one after the other, the
      elements of a tile row by row;
    - `fractals by [r, c]`: the same tiles, column of tiles by column of tiles.

    `chimera-map-micro-kernels` copies operands that are not contiguous as a
    kernel wants them. It does not make the other layouts, and takes no kernel
    that asks for one.

    Example: `#chimera.layout<contiguous along 1>`, `#chimera.layout<interleaved along 2 by [2]>`
  }];
  let parameters = (ins "::chimera::LayoutKind":$kind,
                        DefaultValuedParameter<"int64_t", "-1">:$along,
                        OptionalArrayRefParameter<"int64_t">:$sizes);
  let assemblyFormat = [{
    `<` $kind (`along` $along^)? (`by` ` ` `[` $sizes^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    OperandLayout getLayout() const;
  }];
}

def Chimera_OuterProductAttr : Chimera_Attr<"OuterProduct", "outer_product"> {
  let summary = "Micro kernels on vector registers";
  let description = [{
    Contractions as outer products: `registers.rows` broadcast elements times
    `registers.vectors` vectors of `lanes` elements (Algorithm 2 of the paper);
    everything else one vector at a time. Edges are masked. Without `avx512`,
    vectors of 512 bits do without the instructions that AVX-512 alone has;
    `tuning` is the target's. Factors of the types in `dots` are multiplied by dot
    products of neighbours along the reduction, others in f32; where `dots` has i16
    and not i8, bytes are widened to it. Factors are rounded to the types in
    `narrowed` by instructions that flush denormal numbers. Emitted for x86.

    Example: `#chimera.outer_product<lanes = 16, registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>`,
    `#chimera.outer_product<lanes = 16, registers = <rows = 12, vectors = 2, broadcasts = 2, depth = 4>, dots = [bf16]>`
  }];
  let parameters = (ins "int64_t":$lanes,
                        "::chimera::RegisterTileAttr":$registers,
                        DefaultValuedParameter<"bool", "true">:$avx512,
                        OptionalParameter<"::chimera::VectorTuningAttr">:$tuning,
                        OptionalParameter<"::mlir::ArrayAttr">:$dots,
                        OptionalParameter<"::mlir::ArrayAttr">:$narrowed);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The types in `dots` and in `narrowed`.
    ::llvm::SmallVector<::mlir::Type> getDotTypes() const;
    ::llvm::SmallVector<::mlir::Type> getNarrowedTypes() const;
  }];
  let genVerifyDecl = 1;
}

def Chimera_TileProductAttr : Chimera_Attr<"TileProduct", "tile_product"> {
  let summary = "Micro kernels on the tile registers of AMX";
  let description = [{
    Contractions of the narrow types in `factors` on tiles of `rows` x `columns`
    sums, `registers.rows` x `registers.vectors` of them at a time. A tile of a
    factor has rows of `bytes` bytes. Sums have 32 bits, and as many neighbours
    along the reduction as 32 bits hold are multiplied at once: an operand that
    supplies columns has to be interleaved by that many. Tiles at an edge are
    smaller. Emitted for x86 with AMX.

    Example: `#chimera.tile_product<rows = 16, columns = 16, bytes = 64, registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16, i8]>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "int64_t":$bytes,
                        "::chimera::RegisterTileAttr":$registers,
                        ArrayRefParameter<"::mlir::Type">:$factors);
  let assemblyFormat = [{ `<` `rows` `=` $rows `,` `columns` `=` $columns `,`
    `bytes` `=` $bytes `,` `registers` `=` $registers `,`
    `factors` `=` `[` $factors `]` `>` }];
  let extraClassDeclaration = [{
    /// How many numbers of `factor` are multiplied at once: as many as a sum has
    /// bits.
    static int64_t getInterleave(::mlir::Type factor) {
      return 32 / factor.getIntOrFloatBitWidth();
    }
    /// True if registers are left for a last step of the reduction that has
    /// fewer words than the others: two for each factor, of eight.
    bool hasLastSteps() const {
      return getRegisters().getRows() * getRegisters().getVectors() <= 4;
    }
    /// Numbers of `factor` that reductions have to be multiples of.
    int64_t getMultiple(::mlir::Type factor) const {
      return hasLastSteps() ? getInterleave(factor)
                            : 8 * getBytes() / factor.getIntOrFloatBitWidth();
    }
  }];
  let genVerifyDecl = 1;
}

def Chimera_KernelAttr : Chimera_Attr<"Kernel", "kernel"> {
  let summary = "What a function computes as a micro kernel, and at what cost";
  let description = [{
    On a function, as the attribute `chimera.kernel`: it is a micro kernel of
    that kind. A contraction has three dimensions, rows, columns and the
    reduction (0, 1 and 2), and adds to its third argument the product of the
    first two: `c[m, n] += a[m, k] * b[k, n]`.

    `types` are the element types of the arguments: factors of f32, f16 or bf16,
    which are widened, and sums of f32. `shape` is the number of
    rows, columns and steps of the reduction that one call computes, `?` for any
    number of steps. `layouts` says what each argument must look like in memory.
    One call takes `cycles` for each step of the reduction and `setup` beside;
    plans are made by these figures.

    Example: `#chimera.kernel<contraction, types = [f32, f32, f32], shape = 6x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 6.0 : f64, setup = 12.0 : f64>`
  }];
  let parameters = (ins "::chimera::MicroKernelKind":$kind,
                        ArrayRefParameter<"::mlir::Type">:$types,
                        ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"::chimera::LayoutAttr">:$layouts,
                        "::mlir::FloatAttr":$cycles,
                        OptionalParameter<"::mlir::FloatAttr">:$setup);
  let assemblyFormat = [{
    `<` $kind `,` `types` `=` `[` $types `]` `,`
        `shape` `=` custom<DimensionList>($shape) `,`
        `layouts` `=` `[` $layouts `]` `,` struct($cycles, $setup) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The dimensions that argument `operand` has, in order.
    static ::llvm::ArrayRef<unsigned> getDimsOf(unsigned operand);
    /// What a function with this attribute has to look like.
    ::mlir::FunctionType getExpectedType() const;
  }];
}

def Chimera_FunctionKernelAttr
    : Chimera_Attr<"FunctionKernel", "function_kernel"> {
  let summary = "A micro kernel that is a function of the program";
  let description = [{
    The function `function`, which computes what `kernel` says, replaces the
    micro kernel, or is called where it has no body. Introduced by
    `chimera-load-micro-kernels`.

    Example: `#chimera.function_kernel<@chimera_micro_kernels::@sgemm, <contraction, types = [f32, f32, f32], shape = 6x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 6.0 : f64>>`
  }];
  let parameters = (ins "::mlir::SymbolRefAttr":$function,
                        "::chimera::KernelAttr":$kernel);
  let assemblyFormat = "`<` $function `,` $kernel `>`";
}

def Chimera_MatrixProgramAttr
    : Chimera_Attr<"MatrixProgram", "matrix_program", [
        DeclareAttrInterfaceMethods<Chimera_MicroKernelAttrInterface,
            ["supports", "getShapes", "getLayout", "getGranularity"]>]> {
  let summary = "Products by the matrix instructions of a whole program";
  let description = [{
    Contractions of `factors`, with sums of 32 bits, by instructions of `rows` x
    `columns` x `depth` multiply-adds. A core is busy with one for `cycles`, by
    which plans are made; without it they are made by the figures of the target's
    matrix unit alone. Where tiles are and who computes what is settled for a
    program as a whole, so its conversion emits all blocks together.

    Example: `#chimera.matrix_program<rows = 16, columns = 8, depth = 16, factors = [f16, bf16], cycles = 2.0 : f64>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "int64_t":$depth,
                        ArrayRefParameter<"::mlir::Type">:$factors,
                        OptionalParameter<"::mlir::FloatAttr">:$cycles);
  let assemblyFormat = [{
    `<` struct($rows, $columns, $depth) `,` `factors` `=` `[` $factors `]`
        (`,` `cycles` `=` $cycles^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Chimera_MicroKernelKindAttr
    : EnumAttr<Chimera_Dialect, Chimera_MicroKernelKind, "kind">;

def Chimera_ReductionKindAttr
    : EnumAttr<Chimera_Dialect, Chimera_ReductionKind, "reduction">;

#endif // CHIMERA_IR_MICROKERNELATTRIBUTES
