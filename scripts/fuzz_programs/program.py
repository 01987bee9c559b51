#===- program.py - A random function as text -------------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""What all kinds of random programs are written with: values whose dimensions
have names, and the operations that any of them may need."""

# Multiply-adds of one contraction, so that a program takes milliseconds.
MAX_MULTIPLY_ADDS = 1 << 21
EDGE_SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63,
              64, 65, 96, 127, 128, 129, 130, 159, 160, 192, 193, 197, 200,
              255, 256, 257, 511, 512, 513, 999, 1000]
INFINITY = float("inf")


class Value:
    """A tensor: its SSA name and the names of its dimensions, outermost first.
    A scalar has None for dimensions."""

    def __init__(self, name, dims, element="f32"):
        self.name = name
        self.dims = None if dims is None else list(dims)
        self.element = element


class Body:
    """The operations in the body of a linalg.generic."""

    def __init__(self, program, loops):
        self.program = program
        self.loops = loops
        self.lines = []

    def op(self, text):
        name = self.program.local()
        self.lines.append(f"{name} = {text}")
        return name

    def index(self, dim, element):
        """The position along `dim`; one without a loop has one element."""
        if dim not in self.loops:
            return self.program.constant(0, element)
        index = self.op(f"linalg.index {self.loops.index(dim)} : index")
        if element == "index":
            return index
        return self.op(f"arith.index_cast {index} : index to {element}")


class Program:
    """One random function."""

    def __init__(self, name, rng):
        self.name = name
        self.rng = rng
        self.extents = {}
        # The dimensions that a dimension is made of, as in collapsed shapes.
        self.parts = {}
        self.arguments = []
        self.lines = []
        self.constants = {}
        self.results = []
        self.counter = 0
        self.locals = 0
        # Tensors without contents, by type: importers make each only once.
        self.empties = None
        # The types of what each function with effects is called with.
        self.notes = []

    # Pieces of text.

    def extent(self, dim):
        """Dimensions named u... have one element and no loop of their own."""
        return 1 if dim.startswith("u") else self.extents[dim]

    def size(self, dims):
        size = 1
        for d in dims:
            size *= self.extent(d)
        return size

    def type(self, dims, element="f32"):
        shape = "".join(f"{self.extent(d)}x" for d in dims)
        return f"tensor<{shape}{element}>"

    def type_of(self, value):
        if value.dims is None:
            return value.element
        return self.type(value.dims, value.element)

    def fresh(self):
        self.counter += 1
        return f"%{self.counter - 1}"

    def local(self):
        """A name for a scalar in the body of an operation."""
        self.locals += 1
        return f"%t{self.locals - 1}"

    def emit(self, text, dims, element="f32"):
        value = Value(self.fresh(), dims, element)
        self.lines.append(f"{value.name} = {text}")
        return value

    def argument(self, dims, element="f32"):
        value = Value(f"%arg{len(self.arguments)}", dims, element)
        self.arguments.append(value)
        return value

    def constant(self, number, element="f32"):
        """A scalar, or a splat if `element` is the type of a tensor."""
        scalar = element
        if element.startswith("tensor<"):
            scalar = element[len("tensor<"):-1].rsplit("x", 1)[-1]
        if scalar == "i1":
            text = "true" if number else "false"
        elif scalar == "f32" and abs(number) == INFINITY:
            text = "0x7F800000" if number > 0 else "0xFF800000"
        elif scalar == "f64" and abs(number) == INFINITY:
            text = "0x7FF0000000000000" if number > 0 else "0xFFF0000000000000"
        elif scalar[0] == "f":
            text = repr(float(number))
            if "." not in text:
                text = text.replace("e", ".0e")
        else:
            text = str(number)
        if scalar != element:
            text = f"dense<{text}>"
        key = (text, element)
        if key not in self.constants:
            self.constants[key] = f"%cst{len(self.constants)}"
        return self.constants[key]

    def splat(self, number, dims, element="f32"):
        """A constant tensor."""
        name = self.constant(number, self.type(dims, element))
        return Value(name, dims, element)

    def map(self, loops, dims):
        names = {loop: f"d{i}" for i, loop in enumerate(loops)}
        inputs = ", ".join(names.values())
        outputs = ", ".join(names[d] if d in names else self.unit_index(d)
                            for d in dims)
        return f"affine_map<({inputs}) -> ({outputs})>"

    def unit_index(self, dim):
        assert self.extent(dim) == 1, f"no loop for {dim}"
        return "0"

    def operands(self, values):
        names = ", ".join(v.name for v in values)
        types = ", ".join(self.type_of(v) for v in values)
        return f"({names} : {types})"

    def text(self):
        marks = 0.5 if self.chance(0.25) else 0
        arguments = ", ".join(f"{v.name}: {self.type_of(v)}"
                              + " {chimera.constant}" * self.chance(marks)
                              for v in self.arguments)
        types = ", ".join(self.type_of(v) for v in self.results)
        constants = "".join(
            f"    {name} = arith.constant {text}"
            + ("\n" if text in ("true", "false") else f" : {element}\n")
            for (text, element), name in self.constants.items())
        lines = "".join(f"    {line}\n" for line in self.lines)
        names = ", ".join(v.name for v in self.results)
        notes = "".join(
            f"  func.func private @{self.name}_note{i}(%x: {type}) {{\n"
            "    return\n  }\n" for i, type in enumerate(self.notes))
        return (f"{notes}  func.func @{self.name}({arguments}) -> ({types}) {{\n"
                f"{constants}{lines}    return {names} : {types}\n  }}\n")

    def note(self, value):
        """Calls a function that could do anything with `value`. Calls have to
        stay in order."""
        self.lines.append(f"call @{self.name}_note{len(self.notes)}"
                          f"({value.name}) : ({self.type_of(value)}) -> ()")
        self.notes.append(self.type_of(value))

    # Random choices.

    def chance(self, probability):
        return self.rng.random() < probability

    def shuffle(self, items):
        items = list(items)
        self.rng.shuffle(items)
        return items

    def random_extent(self, limit):
        if self.chance(0.5):
            return self.rng.choice([s for s in EDGE_SIZES if s <= limit])
        return self.rng.randint(1, limit)

    # Operations.

    def empty(self, dims, element="f32"):
        type = self.type(dims, element)
        if self.empties is not None and type in self.empties:
            return Value(self.empties[type].name, dims, element)
        value = self.emit(f"tensor.empty() : {type}", dims, element)
        if self.empties is not None:
            self.empties[type] = value
        return value

    def fill(self, number, dims, element="f32"):
        init = self.empty(dims, element)
        constant = self.constant(number, element)
        return self.emit(
            f"linalg.fill ins({constant} : {element}) "
            f"outs{self.operands([init])} -> {self.type_of(init)}",
            dims, element)

    def transpose(self, value, dims):
        permutation = [value.dims.index(d) for d in dims]
        init = self.empty(dims, value.element)
        return self.emit(
            f"linalg.transpose ins{self.operands([value])} "
            f"outs{self.operands([init])} permutation = {permutation}",
            dims, value.element)

    def arrange(self, value, dims):
        """`value` with this order of dimensions."""
        return value if value.dims == dims else self.transpose(value, dims)

    def named(self, name, inputs, dims):
        """An operation that writes all elements of its result."""
        init = self.empty(dims)
        return self.emit(f"linalg.{name} ins{self.operands(inputs)} "
                         f"outs{self.operands([init])} -> {self.type(dims)}",
                         dims)

    def broadcast(self, value, dims):
        """`value` with more dimensions, in the order of its own."""
        missing = [i for i, d in enumerate(dims) if d not in value.dims]
        init = self.empty(dims, value.element)
        return self.emit(
            f"linalg.broadcast ins{self.operands([value])} "
            f"outs{self.operands([init])} dimensions = {missing}",
            dims, value.element)

    def generics(self, loops, reductions, inputs, outputs, body):
        """`body` maps the names of the block arguments to lines and the names
        of what is yielded."""
        maps = ", ".join(self.map(loops, v.dims) for v in inputs + outputs)
        iterators = ", ".join(
            '"reduction"' if d in reductions else '"parallel"' for d in loops)
        values = inputs + outputs
        names = [f"%x{i}" for i in range(len(values))]
        block = ", ".join(f"{n}: {v.element}" for n, v in zip(names, values))
        lines, results = body(names)
        ins = f"ins{self.operands(inputs)} " if inputs else ""
        text = (f"linalg.generic {{indexing_maps = [{maps}], "
                f"iterator_types = [{iterators}]}} {ins}"
                f"outs{self.operands(outputs)} {{\n"
                f"    ^bb0({block}):\n")
        text += "".join(f"      {line}\n" for line in lines)
        yielded = f"{', '.join(results)} : " + ", ".join(
            v.element for v in outputs)
        text += f"      linalg.yield {yielded}\n    }} -> "
        types = [self.type_of(v) for v in outputs]
        if len(outputs) == 1:
            return [self.emit(text + types[0], outputs[0].dims,
                              outputs[0].element)]
        name = self.fresh()
        self.lines.append(f"{name}:{len(outputs)} = {text}({', '.join(types)})")
        return [Value(f"{name}#{i}", v.dims, v.element)
                for i, v in enumerate(outputs)]

    def generic(self, loops, reductions, inputs, output, body):
        def single(names):
            lines, result = body(names)
            return lines, [result]

        return self.generics(loops, reductions, inputs, [output], single)[0]

    def compute(self, dims, inputs, function, element="f32", loops=None):
        """An elementwise operation; `function` maps a Body and the names of the
        inputs to the name of the result."""
        loops = loops or dims
        output = self.empty(dims, element)

        def body(names):
            block = Body(self, loops)
            result = function(block, *names[:-1])
            return block.lines, result

        return self.generic(loops, [], inputs, output, body)

    def doubled(self, value):
        """`value`, made small and added to itself until it is what it was: many
        paths lead to it. In one operation, or one for each addition."""
        times = self.rng.randint(24, 40)
        small = self.constant(2.0 ** -times)

        def shrink(body, x):
            return body.op(f"arith.mulf {x}, {small} : f32")

        def double(body, x):
            return body.op(f"arith.addf {x}, {x} : f32")

        def function(body, x):
            x = shrink(body, x)
            for _ in range(times):
                x = double(body, x)
            return x

        if self.chance(0.7):
            return self.compute(value.dims, [value], function)
        value = self.compute(value.dims, [value], shrink)
        for _ in range(times):
            value = self.compute(value.dims, [value], double)
        return value

    def numbers(self, dims):
        """A tensor of small numbers in any type, also of positions, and a
        function that writes its conversion to f32."""
        element = self.rng.choice(["index", "i8", "i16", "i32", "i64"])
        # Arguments can have no such type.
        given = "i32" if element == "i16" else element
        value = self.argument(dims, given)
        if element != given:
            value = self.compute(
                dims, [value],
                lambda body, x: body.op(f"arith.trunci {x} : i32 to i16"),
                element)

        def convert(body, x):
            signed = element
            if element == "index":
                signed = self.rng.choice(["i32", "i64"])
                x = body.op(f"arith.index_cast {x} : index to {signed}")
            x = body.op(f"arith.sitofp {x} : {signed} to f32")
            return body.op(f"arith.mulf {x}, {self.constant(0.0625)} : f32")

        return value, convert

    def reduce(self, loops, reduced, inputs, output, function):
        """As `compute`, where `function` gets the former value last."""

        def body(names):
            block = Body(self, loops)
            result = function(block, *names)
            return block.lines, result

        return self.generic(loops, [reduced], inputs, output, body)

    # Shapes.

    def merge(self, dims):
        """The dimension that `dims` make when collapsed."""
        if len(dims) == 1:
            return dims[0]
        name = "_".join(dims)
        self.parts[name] = list(dims)
        self.extents[name] = self.size(dims)
        return name

    def atoms(self, dims):
        result = []
        for d in dims:
            if d in self.parts:
                result += self.atoms(self.parts[d])
            elif not d.startswith("u"):
                result.append(d)
        return result

    def group(self, coarse, fine):
        """The positions in `fine` that make each dimension of `coarse`, or
        None."""
        groups = []
        rest = list(range(len(fine)))
        for position, d in enumerate(coarse):
            taken = []
            while rest:
                atoms = self.atoms([fine[i] for i in taken])
                full = taken and atoms == self.atoms([d])
                extra = (fine[rest[0]].startswith("u")
                         and fine[rest[0]] not in coarse[position + 1:])
                if full and not extra:
                    break
                taken.append(rest.pop(0))
            if self.atoms([fine[i] for i in taken]) != self.atoms([d]):
                return None
            groups.append(taken)
        return groups if not rest and all(groups) else None

    def reshape(self, value, dims):
        """`value` with dimensions merged, split or added that have one
        element."""
        dims = list(dims)
        if value.dims == dims:
            return value
        type = self.type(dims, value.element)
        before = value.name
        groups = self.group(dims, value.dims)
        if groups is not None:
            return self.emit(f"tensor.collapse_shape {before} {groups} : "
                             f"{self.type_of(value)} into {type}",
                             dims, value.element)
        groups = self.group(value.dims, dims)
        if groups is not None:
            shape = [self.extent(d) for d in dims]
            return self.emit(f"tensor.expand_shape {before} {groups} "
                             f"output_shape {shape} : "
                             f"{self.type_of(value)} into {type}",
                             dims, value.element)
        atoms = self.atoms(dims)
        assert atoms == self.atoms(value.dims) and value.dims != atoms, (
            value.dims, dims)
        return self.reshape(self.reshape(value, atoms), dims)
