/*===- Chimera.h - C interface of the compiler --------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Chimera project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Compiles linalg on tensors in process, runs it on memory of the caller,    *|
|* writes it to files and says what was decided:                              *|
|*                                                                            *|
|*   ChimeraContext context = chimeraContextCreate();                         *|
|*   ChimeraModule module = chimeraModuleParseFile(context, path);            *|
|*   ChimeraProgram program = chimeraCompile(module, options);                *|
|*   ChimeraFunction f = chimeraProgramFindFunction(program, name);           *|
|*   ChimeraCall call = chimeraCallCreate(program, f, 2, inputs, 1, outputs); *|
|*   chimeraCallRun(call);                                                    *|
|*                                                                            *|
|* Nothing else of Chimera or MLIR has to be included; chimera-c/MLIR.h is    *|
|* for those who use MLIR's C interface as well.                              *|
|*                                                                            *|
|* Ownership: what a function named Create, Parse or Compile returns belongs  *|
|* to the caller, who destroys it. A context outlives its modules and         *|
|* programs, a program its functions, and memory the calls that use it; calls *|
|* may outlive their program. Strings that are handed out, in callbacks too,  *|
|* are the library's: copy what is to stay. Destroying null does nothing.     *|
|*                                                                            *|
|* Errors: a function that fails tells the handler of the context why, and    *|
|* returns null or failure. Handed null, functions return null or failure     *|
|* without a word, since whoever returned the null has told. Nothing throws,  *|
|* exits or aborts, except where memory runs out. Programs are another        *|
|* matter: one that divides by zero or reads beyond a tensor takes its        *|
|* process with it.                                                           *|
|*                                                                            *|
|* Threads: one at a time for a context and all that is made in it. Different *|
|* calls may run at once in several threads; each uses threads of its own.    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef CHIMERA_C_CHIMERA_H
#define CHIMERA_C_CHIMERA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHIMERA_CAPI_EXPORTED __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Strings, results, handles                                                  *|
\*===----------------------------------------------------------------------===*/

/** Characters that need not end in a zero. */
typedef struct ChimeraStringRef {
  const char *data;
  size_t length;
} ChimeraStringRef;

static inline ChimeraStringRef chimeraStringRefCreate(const char *data,
                                                      size_t length) {
  ChimeraStringRef string = {data, length};
  return string;
}

static inline ChimeraStringRef
chimeraStringRefCreateFromCString(const char *text) {
  return chimeraStringRefCreate(text, strlen(text));
}

/** Takes a piece of a text; `userData` is what was passed along. */
typedef void (*ChimeraStringCallback)(ChimeraStringRef text, void *userData);

typedef struct ChimeraLogicalResult {
  int8_t value;
} ChimeraLogicalResult;

static inline bool chimeraLogicalResultIsSuccess(ChimeraLogicalResult result) {
  return result.value != 0;
}

static inline bool chimeraLogicalResultIsFailure(ChimeraLogicalResult result) {
  return result.value == 0;
}

/** Who hears of errors, and what modules and programs are made in. */
typedef struct ChimeraContext {
  void *ptr;
} ChimeraContext;

/** A program as it was written. */
typedef struct ChimeraModule {
  void *ptr;
} ChimeraModule;

/** How to compile. */
typedef struct ChimeraOptions {
  void *ptr;
} ChimeraOptions;

/** What was compiled. */
typedef struct ChimeraProgram {
  void *ptr;
} ChimeraProgram;

/** A function of a program that can be called. */
typedef struct ChimeraFunction {
  const void *ptr;
} ChimeraFunction;

/** A function with its arguments and results in place. */
typedef struct ChimeraCall {
  void *ptr;
} ChimeraCall;

static inline bool chimeraContextIsNull(ChimeraContext context) {
  return !context.ptr;
}
static inline bool chimeraModuleIsNull(ChimeraModule module) {
  return !module.ptr;
}
static inline bool chimeraProgramIsNull(ChimeraProgram program) {
  return !program.ptr;
}
static inline bool chimeraFunctionIsNull(ChimeraFunction function) {
  return !function.ptr;
}
static inline bool chimeraCallIsNull(ChimeraCall call) { return !call.ptr; }

/*===----------------------------------------------------------------------===*\
|* Contexts and diagnostics                                                   *|
\*===----------------------------------------------------------------------===*/

typedef enum ChimeraSeverity {
  CHIMERA_SEVERITY_WARNING,
  CHIMERA_SEVERITY_ERROR
} ChimeraSeverity;

/** What is wrong, in one line, and where. */
typedef struct ChimeraDiagnostic {
  ChimeraSeverity severity;
  ChimeraStringRef message;
  /** Empty if it is about no place in a file. Lines and columns count from 1,
      and are 0 where they are not known. */
  ChimeraStringRef file;
  unsigned line, column;
} ChimeraDiagnostic;

typedef void (*ChimeraDiagnosticHandler)(const ChimeraDiagnostic *diagnostic,
                                         void *userData);

/** A context with all of Chimera's and MLIR's dialects. */
CHIMERA_CAPI_EXPORTED ChimeraContext chimeraContextCreate(void);
CHIMERA_CAPI_EXPORTED void chimeraContextDestroy(ChimeraContext context);

/** Has `handler` called, with `userData`, for every error and warning. Without
    one, and with a null one, they are printed to standard error. */
CHIMERA_CAPI_EXPORTED void chimeraContextSetDiagnosticHandler(
    ChimeraContext context, ChimeraDiagnosticHandler handler, void *userData);

/*===----------------------------------------------------------------------===*\
|* Modules                                                                    *|
\*===----------------------------------------------------------------------===*/

/** Parses MLIR's text or bytecode. Diagnostics and reports call it `name`. Null
    on errors. */
CHIMERA_CAPI_EXPORTED ChimeraModule chimeraModuleParse(ChimeraContext context,
                                                       ChimeraStringRef text,
                                                       ChimeraStringRef name);

/** The same for a file. */
CHIMERA_CAPI_EXPORTED ChimeraModule
chimeraModuleParseFile(ChimeraContext context, ChimeraStringRef path);
CHIMERA_CAPI_EXPORTED void chimeraModuleDestroy(ChimeraModule module);

/*===----------------------------------------------------------------------===*\
|* Options. They are checked when they are used, by chimeraCompile.           *|
\*===----------------------------------------------------------------------===*/

typedef enum ChimeraFuseMode {
  /** Where the model predicts a gain. */
  CHIMERA_FUSE_AUTO,
  /** Operators run one by one. */
  CHIMERA_FUSE_NEVER,
  /** Every chain that fits the target. */
  CHIMERA_FUSE_ALWAYS
} ChimeraFuseMode;

typedef enum ChimeraTileMode {
  /** A search over all orders and tiles that make sense: milliseconds. */
  CHIMERA_TILES_EXACT,
  /** Formulas, where there are some: microseconds. */
  CHIMERA_TILES_CLOSED_FORM
} ChimeraTileMode;

CHIMERA_CAPI_EXPORTED ChimeraOptions chimeraOptionsCreate(void);
CHIMERA_CAPI_EXPORTED void chimeraOptionsDestroy(ChimeraOptions options);

/** The machine to compile for: a name such as zen5, or a file, *.mlir; this
   one, "host", by default. A target that the module carries comes first. */
CHIMERA_CAPI_EXPORTED void chimeraOptionsSetTarget(ChimeraOptions options,
                                                   ChimeraStringRef target);
/** Threads that run the program, up to 1024; 0, the default, means one per core
    of the target. */
CHIMERA_CAPI_EXPORTED void chimeraOptionsSetThreads(ChimeraOptions options,
                                                    unsigned threads);
CHIMERA_CAPI_EXPORTED void chimeraOptionsSetFuseMode(ChimeraOptions options,
                                                     ChimeraFuseMode mode);
CHIMERA_CAPI_EXPORTED void chimeraOptionsSetTileMode(ChimeraOptions options,
                                                     ChimeraTileMode mode);
/** LLVM's level, 0 to 3, which is the default. */
CHIMERA_CAPI_EXPORTED void
chimeraOptionsSetOptimizationLevel(ChimeraOptions options, unsigned level);
/** Threads that compile, up to 1024; 0, the default, means one per core of this
    machine. The result does not depend on it. */
CHIMERA_CAPI_EXPORTED void chimeraOptionsSetJobs(ChimeraOptions options,
                                                 unsigned jobs);
/** A file with micro kernels of the user's (docs/micro-kernels.md). */
CHIMERA_CAPI_EXPORTED void chimeraOptionsSetMicroKernels(ChimeraOptions options,
                                                         ChimeraStringRef path);
/** Argument `argument`, counted from 0, of `function` is the same in every
   call: what is computed from such arguments alone is computed once. */
CHIMERA_CAPI_EXPORTED void chimeraOptionsAddConstant(ChimeraOptions options,
                                                     ChimeraStringRef function,
                                                     unsigned argument);
/** Has `function` planned for these of its dynamic sizes, besides a plan for
    any: a number for each, in the order of its arguments; dimensions that must
    be equal count once. */
CHIMERA_CAPI_EXPORTED void chimeraOptionsAddSizes(ChimeraOptions options,
                                                  ChimeraStringRef function,
                                                  intptr_t numSizes,
                                                  const int64_t *sizes);

/*===----------------------------------------------------------------------===*\
|* Programs                                                                   *|
\*===----------------------------------------------------------------------===*/

/** Compiles `module`, which stays as it is, with `options`, or the default ones
    if they are null. Null on errors, and if no function can be called from
    outside. A warning tells of public functions that cannot. */
CHIMERA_CAPI_EXPORTED ChimeraProgram chimeraCompile(ChimeraModule module,
                                                    ChimeraOptions options);
CHIMERA_CAPI_EXPORTED void chimeraProgramDestroy(ChimeraProgram program);

CHIMERA_CAPI_EXPORTED intptr_t
chimeraProgramGetNumFunctions(ChimeraProgram program);
/** Null if there is no such function. */
CHIMERA_CAPI_EXPORTED ChimeraFunction
chimeraProgramGetFunction(ChimeraProgram program, intptr_t index);
/** Null on errors, which say why the function cannot be called. */
CHIMERA_CAPI_EXPORTED ChimeraFunction
chimeraProgramFindFunction(ChimeraProgram program, ChimeraStringRef name);

/** Writes an object file. C declares its functions as in the header. */
CHIMERA_CAPI_EXPORTED ChimeraLogicalResult
chimeraProgramWriteObject(ChimeraProgram program, ChimeraStringRef path);
/** Writes a shared library, with the help of clang or cc in PATH. */
CHIMERA_CAPI_EXPORTED ChimeraLogicalResult
chimeraProgramWriteSharedLibrary(ChimeraProgram program, ChimeraStringRef path);
/** Writes a header with C declarations for the two. */
CHIMERA_CAPI_EXPORTED ChimeraLogicalResult
chimeraProgramWriteHeader(ChimeraProgram program, ChimeraStringRef path);

/*===----------------------------------------------------------------------===*\
|* Functions and their types                                                  *|
\*===----------------------------------------------------------------------===*/

/** What tensors consist of, and the bytes it takes in memory. */
typedef enum ChimeraElement {
  /** The type of no argument. */
  CHIMERA_ELEMENT_NONE,
  CHIMERA_ELEMENT_F32,
  CHIMERA_ELEMENT_F64,
  /** 2 bytes. */
  CHIMERA_ELEMENT_F16,
  /** 2 bytes. */
  CHIMERA_ELEMENT_BF16,
  /** A byte, 0 or 1. */
  CHIMERA_ELEMENT_I1,
  /** A byte, whose upper four bits are zero. */
  CHIMERA_ELEMENT_I4,
  CHIMERA_ELEMENT_I8,
  CHIMERA_ELEMENT_I32,
  /** This is what MLIR's index is, too. */
  CHIMERA_ELEMENT_I64
} ChimeraElement;

/** The extent of a dimension that is known in a call only. */
#define CHIMERA_DYNAMIC INT64_MIN

typedef struct ChimeraType {
  ChimeraElement element;
  /** A number by itself, which is passed by its address; its rank is 0. */
  bool isScalar;
  intptr_t rank;
  /** As many extents as the rank says, outermost first; the program's. */
  const int64_t *shape;
} ChimeraType;

/** Bytes of an element in memory; 0 for none. */
CHIMERA_CAPI_EXPORTED size_t chimeraElementGetNumBytes(ChimeraElement element);

CHIMERA_CAPI_EXPORTED ChimeraStringRef
chimeraFunctionGetName(ChimeraFunction function);
CHIMERA_CAPI_EXPORTED intptr_t
chimeraFunctionGetNumArguments(ChimeraFunction function);
CHIMERA_CAPI_EXPORTED intptr_t
chimeraFunctionGetNumResults(ChimeraFunction function);
/** Elements are none if there is no such argument or result. */
CHIMERA_CAPI_EXPORTED ChimeraType
chimeraFunctionGetArgumentType(ChimeraFunction function, intptr_t index);
CHIMERA_CAPI_EXPORTED ChimeraType
chimeraFunctionGetResultType(ChimeraFunction function, intptr_t index);

/*===----------------------------------------------------------------------===*\
|* Calls                                                                      *|
\*===----------------------------------------------------------------------===*/

/** Memory of the caller that holds a tensor: dense, row by row, aligned to its
    elements; code is fastest if it starts at a multiple of 64 bytes. */
typedef struct ChimeraTensor {
  /** Arguments are not written to. */
  void *data;
  /** The size of the tensor, for a check. */
  size_t numBytes;
  /** Extents, as many as the rank says. May be null, with rank 0, if the
      function knows all of them. Copied. */
  intptr_t rank;
  const int64_t *shape;
} ChimeraTensor;

/** Puts arguments and results in place, which must not overlap. Numbers, ranks,
    extents and bytes have to be those of the function. Dynamic extents of
    results have to be those that follow from the arguments: nothing tests them.
    What the program computes from constant arguments is computed now, for all
    calls of the function: those that were made before use it, too. The first
    call loads the code. Null on errors; it is one, too, if this machine lacks
    instructions that the code is made of. */
CHIMERA_CAPI_EXPORTED ChimeraCall
chimeraCallCreate(ChimeraProgram program, ChimeraFunction function,
                  intptr_t numArguments, const ChimeraTensor *arguments,
                  intptr_t numResults, const ChimeraTensor *results);
CHIMERA_CAPI_EXPORTED void chimeraCallDestroy(ChimeraCall call);

/** Takes other memory, or other extents where they are dynamic. Constant
    arguments have to hold what they did: what was computed from them stays. The
    program has to be there still. On errors the call is as it was. */
CHIMERA_CAPI_EXPORTED ChimeraLogicalResult chimeraCallSetTensors(
    ChimeraCall call, intptr_t numArguments, const ChimeraTensor *arguments,
    intptr_t numResults, const ChimeraTensor *results);

/** Runs the function, and returns when all results are there. */
CHIMERA_CAPI_EXPORTED void chimeraCallRun(ChimeraCall call);

/*===----------------------------------------------------------------------===*\
|* What was decided                                                           *|
\*===----------------------------------------------------------------------===*/

typedef enum ChimeraReportFormat {
  /** For people, as chimera-run prints it. */
  CHIMERA_REPORT_TABLE,
  /** For programs, as `chimera-run --json` writes it. */
  CHIMERA_REPORT_JSON
} ChimeraReportFormat;

/** Prints what was planned for `function`, and what it took to compile. Nothing
    is measured: figures of runs are missing, or null. */
CHIMERA_CAPI_EXPORTED ChimeraLogicalResult chimeraProgramPrintReport(
    ChimeraProgram program, ChimeraFunction function,
    ChimeraReportFormat format, ChimeraStringCallback callback, void *userData);

/** A decision of the compiler. */
typedef struct ChimeraRemark {
  /** passed, missed, failed or analysis. */
  ChimeraStringRef kind;
  /** What it is about in a word, such as not-in-chain. */
  ChimeraStringRef name;
  ChimeraStringRef text;
  /** As in a.mlir:3:5; empty if it is about no place in a file. */
  ChimeraStringRef place;
} ChimeraRemark;

typedef void (*ChimeraRemarkCallback)(const ChimeraRemark *remark,
                                      void *userData);

/** Calls `callback` with each remark on the program. */
CHIMERA_CAPI_EXPORTED void
chimeraProgramForEachRemark(ChimeraProgram program,
                            ChimeraRemarkCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* CHIMERA_C_CHIMERA_H */
