//===- chimera_npu.h - Functional model of an Ascend AI core ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs for an AI core, compiled against this file, run on any processor.
// The functions have the names of the core's instructions and the meaning of
// their parameters; what a core would do wrong without a word is an error here:
// addresses out of range, parameters that cannot be encoded, copies that no
// flag orders, results that were never computed. An instruction that the core
// does not have for a type (chimera_npu_table.h) does not compile.
//
// The unit is a block of 32 bytes unless a parameter says otherwise, and a
// fractal is 16x16 elements, or 16x32 bytes. Gaps lie between the end of one
// burst and the start of the next, strides between starts.
//
// Where the model departs from a core:
//  - the program is one thread, and everything is done when it is issued. The
//    pipes are modelled by what they would have to wait for;
//  - `pipe_barrier` takes no time;
//  - sums are formed along k, one after the other, in single precision; exp, ln
//    and reciprocals are correctly rounded, or nearly so;
//  - a kernel of the 910B that is not mixed has one core with a cube and a
//  vector
//    unit, and not a group of three.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_H
#define CHIMERA_NPU_H

#ifdef CHIMERA_NPU_ASCENDC
// The same calls for the vendor's compiler.
#include "chimera_npu_ascendc.h"
#else

#include "chimera_npu_copy.h"
#include "chimera_npu_cube.h"
#include "chimera_npu_layouts.h"
#include "chimera_npu_machine.h"
#include "chimera_npu_turns.h"
#include "chimera_npu_vector.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

/// What a kernel is declared with; on the device, `__global__ __aicore__`.
#define CHIMERA_NPU_GLOBAL

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// What `target` does after `wait_flag` comes after what `source` did before
/// `set_flag`.
inline void set_flag(Pipe source, Pipe target, int event) {
  detail::machine().setFlag(source, target, event);
}
inline void wait_flag(Pipe source, Pipe target, int event) {
  detail::machine().waitFlag(source, target, event);
}

/// What comes next in `pipe` starts when what came before is done.
inline void pipe_barrier(Pipe pipe) { detail::machine().barrier(pipe); }

/// What the other cores of the block do after `wait_cross_flag`, of two that
/// set it the last, comes after what `pipe` did here before.
inline void set_cross_flag(Pipe pipe, int flag) {
  detail::machine().setCrossFlag(pipe, flag);
}
inline void wait_cross_flag(int flag) {
  Machine &machine = detail::machine();
  while (!machine.takeCrossFlag(flag))
    detail::Turns::current->pass(flag);
}

/// Which block this is and, of the vector cores of a block, which of them.
inline int64_t block_idx() { return detail::machine().blockIdx(); }
inline int64_t block_num() { return detail::machine().blockNum(); }
inline int64_t sub_block_idx() { return detail::machine().subBlockIdx(); }

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

namespace detail {

template <class T>
void addArgument(Machine &m, const Gm<T> &argument) {
  m.addArgument(argument.base,
                argument.length * static_cast<int64_t>(sizeof(T)), sizeof(T));
}
template <class T>
void addArgument(Machine &, const T &) {}

struct Running {
  explicit Running(Machine &m) {
    if (current)
      throw Error(Reason::Launch, "a kernel cannot launch another");
    current = &m;
  }
  ~Running() { current = nullptr; }
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;
};

} // namespace detail

/// Runs `kernel` once for every core, one after the other. Arguments in global
/// memory are of type Gm.
template <class... Params, class... Args>
Report launch(int64_t cores, void (*kernel)(Params...), Args... args) {
  Machine machine(cores);
  (detail::addArgument(machine, args), ...);
  detail::Running running(machine);
  for (int64_t core = 0; core < cores; ++core) {
    machine.startCore(core);
    kernel(args...);
    machine.finishCore();
  }
  return machine.takeReport();
}

/// The same for a kernel of cores of several kinds: `cube` runs on one of each
/// block, `vector` on the others, in turns.
template <class... Params, class... Args>
Report launchMixed(int64_t cores, void (*cube)(Params...),
                   void (*vector)(Params...), Args... args) {
  Machine machine(cores);
  (detail::addArgument(machine, args), ...);
  detail::Running running(machine);
  for (int64_t core = 0; core < cores; ++core) {
    machine.startCore(core, /*mixed=*/true);
    detail::Turns(machine).run(
        [&](int part) { (part == 0 ? cube : vector)(args...); });
    machine.finishCore();
  }
  return machine.takeReport();
}

namespace detail {

inline std::string errorJson(const std::string &reason,
                             const std::string &message) {
  std::string text = "{\"error\": \"" + reason + "\", \"message\": \"";
  for (char c : message)
    text += c == '"' || c == '\\'          ? '\''
            : static_cast<uint8_t>(c) < 32 ? ' '
                                           : c;
  return text + "\"}";
}

/// Says whether it fits.
inline bool put(const std::string &text, char *json, int64_t capacity) {
  if (!json || static_cast<int64_t>(text.size()) >= capacity)
    return false;
  std::memcpy(json, text.c_str(), text.size() + 1);
  return true;
}

template <class... T, size_t... I, class Launch>
int runEntry(Launch launch, std::index_sequence<I...>, void **arrays,
             const int64_t *elements, char *json, int64_t capacity) {
  if (json && capacity > 0)
    *json = '\0';
  try {
    Report report = launch(Gm<T>(static_cast<T *>(arrays[I]), elements[I])...);
    std::string text = report.toJson();
    if (put(text, json, capacity) || !json)
      return 0;
    put(errorJson("Launch", "the report takes " +
                                std::to_string(text.size() + 1) + " bytes"),
        json, capacity);
  } catch (const Error &error) {
    put(errorJson(name(error.reason), error.what()), json, capacity);
  } catch (const std::exception &error) {
    put(errorJson("Launch", error.what()), json, capacity);
  }
  return 1;
}

template <class... T>
struct Entry {
  static int run(void (*kernel)(Gm<T>...), void **arrays,
                 const int64_t *elements, int64_t cores, char *json,
                 int64_t capacity) {
    return runEntry<T...>(
        [=](Gm<T>... args) { return launch(cores, kernel, args...); },
        std::index_sequence_for<T...>(), arrays, elements, json, capacity);
  }
  static int runMixed(void (*cube)(Gm<T>...), void (*vector)(Gm<T>...),
                      void **arrays, const int64_t *elements, int64_t cores,
                      char *json, int64_t capacity) {
    return runEntry<T...>(
        [=](Gm<T>... args) {
          return launchMixed(cores, cube, vector, args...);
        },
        std::index_sequence_for<T...>(), arrays, elements, json, capacity);
  }
};

} // namespace detail
} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

/// Defines `<kernel>_launch` for callers that know C only. The types are those
/// of the elements of the kernel's arguments. What it writes to `json` is the
/// report, or else `error` and `message`; it returns whether it failed.
#define CHIMERA_NPU_ENTRY(KERNEL, ...)                                         \
  extern "C" int KERNEL##_launch(void **arrays, const int64_t *elements,       \
                                 int64_t cores, char *json,                    \
                                 int64_t jsonCapacity) {                       \
    using namespace chimera_npu;                                               \
    return chimera_npu::detail::Entry<__VA_ARGS__>::run(                       \
        KERNEL, arrays, elements, cores, json, jsonCapacity);                  \
  }

/// The same for a kernel of two parts, `<kernel>_cube` and `<kernel>_vector`.
#define CHIMERA_NPU_MIXED_ENTRY(KERNEL, ...)                                   \
  extern "C" int KERNEL##_launch(void **arrays, const int64_t *elements,       \
                                 int64_t cores, char *json,                    \
                                 int64_t jsonCapacity) {                       \
    using namespace chimera_npu;                                               \
    return chimera_npu::detail::Entry<__VA_ARGS__>::runMixed(                  \
        KERNEL##_cube, KERNEL##_vector, arrays, elements, cores, json,         \
        jsonCapacity);                                                         \
  }

#endif // CHIMERA_NPU_ASCENDC

#endif // CHIMERA_NPU_H
