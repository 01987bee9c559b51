//===- runtime.cpp - Call compiled programs from Python -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module `chimera._runtime`: opens shared libraries that chimera-run made,
// and calls their functions on arrays of any library with DLPack or the buffer
// protocol, in place and without the interpreter's lock. It needs no LLVM.
//
//===----------------------------------------------------------------------===//

#include "paging.h"

#include "chimera_runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// The code of a program with memory of its own for what is packed once. The
/// dynamic loader shares what it knows by file, so each library is opened from
/// a copy in memory.
class Library {
public:
  Library(nb::bytes code, const std::string &name) {
    file = memfd_create(name.c_str(), MFD_CLOEXEC);
    if (file < 0)
      fail("no memory for the program's code", strerror(errno));
    write(code.c_str(), code.size());
    // The loader knows libraries by their paths: while this one is open, no
    // other may have the number of its file.
    std::string path = "/proc/self/fd/" + std::to_string(file);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      fail("the program's code cannot be loaded", dlerror());
  }
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  ~Library() { close(); }

  /// Null if there is none.
  chimera_entry find(const std::string &function) const {
    return reinterpret_cast<chimera_entry>(
        findData("_mlir_packed_" + function));
  }

  /// Null if there is none.
  void *findData(const std::string &name) const {
    return dlsym(handle, name.c_str());
  }

private:
  void write(const char *data, size_t size) {
    while (size > 0) {
      ssize_t written = ::write(file, data, size);
      if (written < 0)
        fail("no memory for the program's code", strerror(errno));
      data += written;
      size -= static_cast<size_t>(written);
    }
  }

  [[noreturn]] void fail(const std::string &what, const char *reason) {
    std::string message = what + ": " + (reason ? reason : "unknown reason");
    close();
    throw std::runtime_error(message);
  }

  void close() {
    if (handle)
      dlclose(handle);
    if (file >= 0)
      ::close(file);
  }

  int file = -1;
  void *handle = nullptr;
};

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

constexpr int64_t kDynamic = -1;

/// The type of an argument or result, as in a manifest.
struct Type {
  std::string element;
  std::vector<int64_t> shape;
  bool isScalar = false;

  Type(std::string element, std::vector<int64_t> shape, bool isScalar)
      : element(std::move(element)), shape(std::move(shape)),
        isScalar(isScalar) {}

  int bits() const {
    if (element == "f64" || element == "i64")
      return 64;
    if (element == "f32" || element == "i32")
      return 32;
    return element == "f16" || element == "bf16" ? 16 : 8;
  }

  std::string str() const { return toString(shape, element); }

  static std::string toString(const std::vector<int64_t> &shape,
                              const std::string &element) {
    std::string text;
    for (int64_t size : shape)
      text += (size == kDynamic ? "?" : std::to_string(size)) + "x";
    return text + element;
  }

  /// NumPy has no bf16, and knows no i4: their bits come as integers.
  bool takes(nb::dlpack::dtype type) const {
    using Code = nb::dlpack::dtype_code;
    if (type.bits != bits() || type.lanes != 1)
      return false;
    Code code = static_cast<Code>(type.code);
    if (element == "bf16")
      return code == Code::Bfloat || code == Code::UInt;
    if (element[0] == 'f')
      return code == Code::Float;
    if (element == "i1")
      return code == Code::Bool;
    return code == Code::Int || code == Code::UInt;
  }
};

std::string toString(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  Code code = static_cast<Code>(type.code);
  const char *name = code == Code::Float    ? "f"
                     : code == Code::Bfloat ? "bf"
                     : code == Code::UInt   ? "u"
                     : code == Code::Int    ? "i"
                     : code == Code::Bool   ? "bool"
                                            : "type ";
  return name + std::to_string(type.bits);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

using Input = nb::ndarray<nb::ro>;
using Output = nb::ndarray<>;

/// An argument or result of one call, in the form in which programs take it.
class Value {
public:
  /// A number of type `type`.
  Value(const Type &type, nb::handle number) {
    if (type.element == "f32")
      store(nb::cast<float>(number));
    else if (type.element == "f64")
      store(nb::cast<double>(number));
    else if (type.element == "i64")
      store(nb::cast<int64_t>(number));
    else if (type.element == "i32")
      store(nb::cast<int32_t>(number));
    else if (type.element == "i8")
      store(nb::cast<int8_t>(number));
    else if (type.element == "i1")
      store(nb::cast<bool>(number));
    else
      throw nb::type_error(
          ("numbers of type " + type.element + " cannot be passed").c_str());
  }

  /// Elements in memory. The array has to outlive the value.
  template <typename Array>
  Value(const Type &type, const Array &array, const std::string &name) {
    std::vector<int64_t> shape(array.ndim());
    for (size_t i = 0; i < shape.size(); ++i)
      shape[i] = static_cast<int64_t>(array.shape(i));
    check(type, shape, array.dtype(), name);
    set(const_cast<void *>(static_cast<const void *>(array.data())), shape,
        type.bits() / 8);
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      if (shape[i] > 1 && array.stride(i) != stride && bytes > 0)
        throw nb::value_error((name + " is not contiguous").c_str());
      stride *= shape[i];
    }
  }

  /// A tensor without elements.
  explicit Value(size_t rank) { set(nullptr, std::vector<int64_t>(rank), 1); }

  /// Numbers in memory, one after the other.
  explicit Value(std::vector<int64_t> &numbers) {
    set(numbers.data(), {static_cast<int64_t>(numbers.size())},
        sizeof(int64_t));
  }

  bool isTensor() const { return !words.empty(); }

  /// Where a program finds the value. The slot is part of it.
  void *getSlot() {
    descriptor = words.data();
    return isTensor() ? static_cast<void *>(&descriptor) : &scalar;
  }

  bool overlaps(const Value &other) const {
    if (!isTensor() || !other.isTensor())
      return false;
    auto begin = static_cast<uint64_t>(words[0]);
    auto otherBegin = static_cast<uint64_t>(other.words[0]);
    return begin < otherBegin + other.bytes && otherBegin < begin + bytes;
  }

private:
  template <typename T>
  void store(T number) {
    std::memcpy(&scalar, &number, sizeof number);
  }

  static void check(const Type &type, const std::vector<int64_t> &shape,
                    nb::dlpack::dtype element, const std::string &name) {
    bool fits = shape.size() == type.shape.size() && type.takes(element);
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = type.shape[i] == kDynamic || type.shape[i] == shape[i];
    if (!fits)
      throw nb::type_error((name + " has to be a tensor of " + type.str() +
                            ", but is one of " +
                            Type::toString(shape, toString(element)))
                               .c_str());
  }

  /// A memref descriptor: two pointers, the offset, sizes, strides.
  void set(void *data, const std::vector<int64_t> &shape,
           int64_t elementBytes) {
    size_t rank = shape.size();
    words.resize(3 + 2 * rank);
    words[0] = words[1] = reinterpret_cast<int64_t>(data);
    words[2] = 0;
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
      words[3 + i] = shape[i];
      words[3 + rank + i] = stride;
      stride *= shape[i];
    }
    bytes = static_cast<uint64_t>(stride * elementBytes);
  }

  std::vector<int64_t> words;
  int64_t *descriptor = nullptr;
  int64_t scalar = 0;
  uint64_t bytes = 0;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Memory for a value that programs prepare: of the system's, since values come
/// and go among weights that are freed, which leaves holes in a heap.
class Memory {
public:
  explicit Memory(size_t bytes) {
    // What is read from one end to the other is worth large pages.
    size_t slack = bytes < largePage ? 0 : largePage;
    size = std::max<size_t>(bytes + slack, 1);
    mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      throw std::bad_alloc();
    data = mapped;
    if (!slack)
      return;
    // Pages that the value fills: what is left takes small ones.
    size_t left = size;
    data = std::align(largePage, bytes, data, left);
    madvise(data, bytes / largePage * largePage, MADV_HUGEPAGE);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory() { munmap(mapped, size); }

  void *get() const { return data; }

private:
  static constexpr size_t largePage = size_t(1) << 21;

  void *mapped = nullptr, *data = nullptr;
  size_t size = 0;
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A function of a library with its constant arguments.
class Function {
public:
  Function(Library &library, std::string name, std::vector<Type> arguments,
           std::vector<Type> results, int threads)
      : name(std::move(name)), argumentTypes(std::move(arguments)),
        resultTypes(std::move(results)), threads(threads),
        constants(argumentTypes.size()), arrays(argumentTypes.size()) {
    entry = library.find(this->name);
    preparation = library.find(this->name + "_prepare");
    sizes = library.find(this->name + "_sizes");
    processorCheck = library.find(this->name + "_check");
    places =
        static_cast<void **>(library.findData(this->name + "_prepared_memory"));
    states = static_cast<unsigned char *>(
        library.findData(this->name + "_prepared_state"));
    if (!entry)
      throw std::runtime_error("the library has no function '" + this->name +
                               "'");
  }

  /// Fails if this machine's processor cannot run the function.
  void checkProcessor() const {
    std::vector<Value> none;
    if (processorCheck)
      call(processorCheck, none);
  }

  /// Makes `array` the argument `index` of all calls.
  void bind(size_t index, Input array) {
    if (index >= argumentTypes.size())
      throw nb::index_error("there is no such argument");
    constants[index].emplace(argumentTypes[index], array, describe(index));
    arrays[index] = std::move(array);
  }

  /// Gives the prepared value `number` the place `memory`, where it is already
  /// if `isThere`, and else goes with the next preparation.
  void place(size_t number, nb::object memory, bool isThere) {
    if (!places || !states)
      throw nb::index_error("the program keeps what it prepares");
    places[number] = nb::cast<Memory &>(memory).get();
    states[number] = isThere ? 1 : 0;
    placed[number] = std::move(memory);
  }

  /// True if the last preparation has computed the value `number`, which has
  /// been placed.
  bool isComputed(size_t number) const {
    return placed.count(number) && states[number] == 2;
  }

  /// Lets go of the constant `index`, or begins without it: calls do not read
  /// it.
  void release(size_t index) {
    if (index >= argumentTypes.size())
      throw nb::index_error("there is no such constant");
    constants[index] = makeEmpty(argumentTypes[index]);
    arrays[index].reset();
  }

  /// Computes what calls need of the constants. `onRead`, if there is one, is
  /// called with the number of each constant that nobody will read again.
  void prepare(std::optional<nb::callable> onRead) {
    if (!preparation)
      return;
    // What is not constant is not read.
    std::vector<Value> values = collect(std::nullopt);
    Listener listener(onRead);
    call(preparation, values);
    listener.rethrow();
  }

  /// The dynamic sizes of the results, in their order, or nothing if the
  /// program cannot say before it runs.
  std::optional<std::vector<int64_t>> getSizes(nb::sequence arguments) {
    if (!sizes)
      return std::nullopt;
    std::vector<Value> values = collect(arguments);
    int64_t count = 0;
    for (const Type &type : resultTypes)
      count += std::count(type.shape.begin(), type.shape.end(), kDynamic);
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    values.emplace_back(numbers);
    call(sizes, values);
    return numbers;
  }

  void run(nb::sequence arguments, nb::sequence results) {
    std::vector<Value> values = collect(arguments);
    size_t count = nb::len(results);
    if (count != resultTypes.size())
      throw nb::value_error((std::to_string(resultTypes.size()) +
                             " results expected, got " + std::to_string(count))
                                .c_str());
    // They stay alive until the call is over.
    std::vector<Output> outputs;
    for (size_t i = 0; i < count; ++i) {
      outputs.push_back(nb::cast<Output>(results[i]));
      values.emplace_back(resultTypes[i], outputs.back(),
                          "result " + std::to_string(i));
    }
    checkOverlaps(values);
    call(entry, values);
  }

private:
  /// Passes on which constants were read, as long as it lives. Exceptions wait
  /// until the program has returned.
  class Listener {
  public:
    explicit Listener(const std::optional<nb::callable> &onRead)
        : onRead(onRead) {
      if (onRead)
        chimera_on_constant_read(&Listener::hear, this);
    }
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;
    ~Listener() { chimera_on_constant_read(nullptr, nullptr); }

    void rethrow() const {
      if (failure)
        std::rethrow_exception(failure);
    }

  private:
    static void hear(void *context, int64_t argument) {
      auto &self = *static_cast<Listener *>(context);
      nb::gil_scoped_acquire acquire;
      try {
        if (!self.failure)
          (*self.onRead)(argument);
      } catch (...) {
        self.failure = std::current_exception();
      }
    }

    const std::optional<nb::callable> &onRead;
    std::exception_ptr failure;
  };

  std::string describe(size_t index) const {
    return "argument " + std::to_string(index) + " of '" + name + "'";
  }

  /// All arguments: `given` are those that are not constant, in order. Without
  /// them the others are empty.
  std::vector<Value> collect(std::optional<nb::sequence> given) {
    std::vector<Value> values;
    values.reserve(argumentTypes.size() + resultTypes.size() + 1);
    size_t next = 0, count = given ? nb::len(*given) : 0;
    for (size_t index = 0; index < argumentTypes.size(); ++index) {
      const Type &type = argumentTypes[index];
      if (constants[index]) {
        values.push_back(*constants[index]);
      } else if (!given) {
        values.push_back(makeEmpty(type));
      } else if (next >= count) {
        ++next;
      } else {
        values.push_back(convert(type, (*given)[next++], index));
      }
    }
    if (given && next != count)
      throw nb::type_error(("'" + name + "' takes " + std::to_string(next) +
                            " arguments, got " + std::to_string(count))
                               .c_str());
    return values;
  }

  static Value makeEmpty(const Type &type) {
    if (type.isScalar)
      return Value(Type("i64", {}, true), nb::int_(0));
    return Value(type.shape.size());
  }

  Value convert(const Type &type, nb::handle argument, size_t index) const {
    if (type.isScalar)
      return Value(type, argument);
    Input array;
    if (!nb::try_cast<Input>(argument, array, /*convert=*/false))
      throw nb::type_error((describe(index) + " has to be an array in this "
                                              "machine's memory")
                               .c_str());
    return Value(type, array, describe(index));
  }

  /// Programs take memory that they write not to be read.
  void checkOverlaps(const std::vector<Value> &values) const {
    for (size_t result = argumentTypes.size(); result < values.size(); ++result)
      for (size_t other = 0; other < result; ++other)
        if (values[result].overlaps(values[other]))
          throw nb::value_error("a result shares memory with an argument or "
                                "another result");
  }

  void call(chimera_entry function, std::vector<Value> &values) const {
    std::vector<void *> slots;
    slots.reserve(values.size());
    for (Value &value : values)
      slots.push_back(value.getSlot());
    char message[512];
    int failed = 0;
    {
      nb::gil_scoped_release release;
      failed = chimera_call(function, slots.data(), threads, message,
                            sizeof message);
    }
    if (failed)
      throw std::runtime_error(message);
  }

  std::string name;
  std::vector<Type> argumentTypes, resultTypes;
  int threads;
  chimera_entry entry = nullptr, preparation = nullptr, sizes = nullptr,
                processorCheck = nullptr;
  std::vector<std::optional<Value>> constants;
  /// The memory of the constants.
  std::vector<std::optional<Input>> arrays;
  /// Of prepared values the addresses and the states that the program reads,
  /// and the memory that they have been given, by number.
  void **places = nullptr;
  unsigned char *states = nullptr;
  std::map<size_t, nb::object> placed;
};

/// Errors of the system as Python knows them.
bool pageOut(uintptr_t address, size_t bytes, const std::string &folder,
             bool writes) {
  try {
    return chimera::python::pageOut(address, bytes, folder, writes);
  } catch (const std::system_error &error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, folder.c_str());
    throw nb::python_error();
  }
}

} // namespace

NB_MODULE(_runtime, module) {
  module.doc() = "Calls compiled programs.";
  // Whatever caches hold at the interpreter's exit is not freed.
  nb::set_leak_warnings(false);
  nb::class_<Library>(module, "Library")
      .def(nb::init<nb::bytes, const std::string &>(), "code"_a, "name"_a);
  nb::class_<Memory>(module, "Memory").def(nb::init<size_t>(), "bytes"_a);
  nb::class_<Type>(module, "Type")
      .def(nb::init<std::string, std::vector<int64_t>, bool>(), "element"_a,
           "shape"_a, "is_scalar"_a);
  nb::class_<Function>(module, "Function")
      .def(nb::init<Library &, std::string, std::vector<Type>,
                    std::vector<Type>, int>(),
           "library"_a, "name"_a, "arguments"_a, "results"_a, "threads"_a,
           nb::keep_alive<1, 2>())
      .def("check_processor", &Function::checkProcessor)
      .def("bind", &Function::bind, "index"_a, "array"_a)
      .def("release", &Function::release, "index"_a)
      .def("place", &Function::place, "number"_a, "memory"_a, "is_there"_a)
      .def("is_computed", &Function::isComputed, "number"_a)
      .def("prepare", &Function::prepare, "on_read"_a = nb::none())
      .def("sizes", &Function::getSizes, "arguments"_a)
      .def("run", &Function::run, "arguments"_a, "results"_a);
  module.def(
      "trim", [] { malloc_trim(/*pad=*/0); },
      "Gives what is free in the heap back to the system.");
  module.def(
      "page_out", &pageOut, "address"_a, "bytes"_a, "folder"_a, "writes"_a,
      "Lets the pages of a block of the heap lie in a file: see paging.h.");
  module.def("pool", &chimera_pool,
             "The OpenMP runtime that parallel loops run on.");
}
