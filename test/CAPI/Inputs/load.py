"""Loads libChimera-C.so as interpreters do, which keep its symbols from the
process, and runs a program with parallel loops."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)


class String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]

    def __init__(self, text):
        super().__init__(text.encode(), len(text.encode()))


class Handle(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_void_p)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("num_bytes", ctypes.c_size_t),
                ("rank", ctypes.c_ssize_t), ("shape", ctypes.c_void_p)]


def call(name, *arguments, returns=Handle):
    function = getattr(library, name)
    function.restype = returns
    return function(*arguments)


SOURCE = """
func.func @main(%a: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>)
      -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %a : tensor<256x256xf32>, tensor<256x256xf32>)
      outs(%fill : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}
"""
context = call("chimeraContextCreate")
options = call("chimeraOptionsCreate")
call("chimeraOptionsSetThreads", options, ctypes.c_uint(2), returns=None)
module = call("chimeraModuleParse", context, String(SOURCE), String("square"))
program = call("chimeraCompile", module, options)
function = call("chimeraProgramFindFunction", program, String("main"))
Matrix = ctypes.c_float * 256 * 256
a, c = Matrix(), Matrix()
for i in range(256):
    a[i][i] = 3
argument, result = (Tensor(ctypes.addressof(m), ctypes.sizeof(m), 0, None)
                    for m in (a, c))
product = call("chimeraCallCreate", program, function, ctypes.c_ssize_t(1),
               ctypes.byref(argument), ctypes.c_ssize_t(1), ctypes.byref(result))
call("chimeraCallRun", product, returns=None)
print(c[0][0], c[0][1], c[255][255])
