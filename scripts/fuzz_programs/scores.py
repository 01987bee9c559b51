#===- scores.py - Scales, biases and masks of attention --------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""What happens to the scores of attention before softmax: factors, biases, and
masks that are arguments or computed from positions.

Programs must be well conditioned, or rounding alone would tell f32 from f64:
- A score of 1e4 has an error of 1e-3 unless it is exact. Where scores are large
  all that enters them are small integers times powers of two.
- A finite number that is added to scores rounds them. In a row that is masked
  entirely nothing else is left, so that such rows need a number that takes the
  place of the scores, or an infinite one.
"""

from fuzz_programs.program import INFINITY
from fuzz_programs.softmax import LOG2_E, LOWEST, Softmax

INVERSE = {"sle": "sgt", "slt": "sge", "sge": "slt", "sgt": "sle", "eq": "ne"}
SWAPPED = {"sle": "sge", "slt": "sgt", "sge": "sle", "sgt": "slt", "eq": "eq",
           "ne": "ne"}


class Condition:
    """Which keys a query sees: the dimensions and tensors that it depends on,
    and a function that writes it, or its opposite, into a body."""

    def __init__(self, dims, inputs, write, can_be_empty):
        self.dims = dims
        self.inputs = inputs
        self.write = write
        self.can_be_empty = can_be_empty


class Step:
    """An elementwise operation on scores with more inputs."""

    def __init__(self, function, inputs=()):
        self.function = function
        self.inputs = list(inputs)


class Scores(Softmax):
    # The scores are multiplied after masks.
    scaled_late = False

    # Factors.

    def choose_factor(self, depth, is_needed):
        """How scores are scaled, and by what."""
        kinds = ["scores"] * 4 + ["query"] * 3 + ["split"] * 3 + ["none"]
        if is_needed:
            kinds.remove("none")
        self.scaling = self.rng.choice(kinds)
        self.factor = self.extent(depth) ** -0.5
        if self.exact:
            self.factor = self.rng.choice([0.25, 1.0, 4.0, 16.0])
        if self.scaling == "none":
            self.factor = 1.0
        if self.chance(0.15):
            kinds = ["exact"] if self.exact else ["folded", "late"]
            self.base2 = self.rng.choice(kinds)
        if self.base2 == "folded":
            self.factor *= LOG2_E
            if self.scaling == "none":
                self.scaling = "scores"
        self.scaled_late = self.scaling == "scores" and self.chance(0.15)

    def scale_operands(self, query, key):
        factor = self.factor
        if self.scaling == "query":
            return self.scaled(query, factor), key
        if self.scaling == "split":
            root = factor ** 0.5
            return self.scaled(query, root), self.scaled(key, root)
        return query, key

    # Steps.

    def adjust(self, x):
        """Everything between the scores' product and softmax."""
        scale = [Step(self.multiply)] if self.scaling == "scores" else []
        masks = self.masks(x.dims)
        steps = self.biases(x.dims) + [step for mask in masks for step in mask]
        steps = steps + scale if self.scaled_late else scale + steps
        if self.chance(0.03):
            x = self.doubled(x)
        while steps:
            count = self.rng.choice([1, 1, 2, 4])
            x = self.apply(x, steps[:count])
            steps = steps[count:]
        return x

    def apply(self, x, steps):
        inputs = [x] + [i for step in steps for i in step.inputs]
        loops = self.shuffle(x.dims) if self.chance(0.1) else x.dims

        def function(body, value, *names):
            rest = list(names)
            for step in steps:
                own, rest = rest[:len(step.inputs)], rest[len(step.inputs):]
                value = step.function(body, value, *own)
            return value

        return self.compute(x.dims, inputs, function, loops=loops)

    def multiply(self, body, x):
        if self.chance(0.3):
            number = self.number(body, 1.0 / self.factor)
            return body.op(f"arith.divf {x}, {number} : f32")
        number = self.number(body, self.factor)
        return body.op(f"arith.mulf {x}, {number} : f32")

    # Biases.

    def some_dims(self, dims):
        """Dimensions of a tensor that is broadcast to `dims`; those left out
        may be there with one element."""
        heads = [d for d in dims if d not in ("s", "l")]
        kinds = [[], heads[-1:], heads[:1], heads]
        kept = self.rng.choice(kinds) + ["l"]
        if self.chance(0.85):
            kept.append("s")
        elif self.chance(0.1):
            kept[-1] = "s"
        if self.chance(0.4):
            return [d if d in kept else f"u{d}" for d in dims]
        return [d for d in dims if d in kept]

    def biases(self, dims):
        steps = []
        if self.chance(0.35):
            bias = self.argument(self.some_dims(dims) or ["l"])
            if self.exact:
                factor = self.rng.choice([0.5, 1.0, 2048.0])
                bias = self.small_integers(bias, factor)
            steps.append(Step(self.add, [bias]))
        if self.exact and self.chance(0.6):
            shift = self.rng.choice([10000.0, -10000.0])
            steps.append(Step(lambda body, x: body.op(
                f"arith.addf {x}, {self.constant(shift)} : f32")))
        if not self.exact and self.chance(0.05):
            steps.append(Step(self.cap))
        if "s" in dims and self.chance(0.05):
            steps.append(self.distance_bias(dims))
        if not self.exact and self.chance(0.06):
            numbers, convert = self.numbers(self.some_dims(dims) or ["l"])
            steps.append(Step(lambda body, x, n: self.add(
                body, x, convert(body, n)), [numbers]))
        if not self.exact and self.chance(0.03):
            steps.append(Step(self.add, [self.doubled(self.ramp())]))
        return steps

    def ramp(self):
        """Less than one, from the positions of keys alone."""
        def function(body):
            value = body.op(
                f"arith.sitofp {body.index('l', 'i32')} : i32 to f32")
            return body.op(
                f"arith.mulf {value}, {self.constant(2.0 ** -10)} : f32")

        return self.compute(["l"], [], function)

    def add(self, body, x, y):
        operands = ", ".join(self.shuffle([x, y]))
        return body.op(f"arith.addf {operands} : f32")

    def cap(self, body, x):
        """Keeps scores in a range, smoothly."""
        limit = self.constant(30.0)
        value = body.op(f"arith.divf {x}, {limit} : f32")
        value = body.op(f"math.tanh {value} : f32")
        return body.op(f"arith.mulf {value}, {limit} : f32")

    def distance_bias(self, dims):
        """The farther a key, the lower its score (ALiBi); the higher, if the
        argument is negative."""
        self.has_far_keys = True
        heads = [d for d in dims if d not in ("s", "l")]
        inputs = []
        if heads and not self.exact:
            inputs = [self.argument(heads[-1:])]
        element = self.rng.choice(["i64", "i32"])

        def function(body, x, slope=None):
            distance = body.op(f"arith.subi {body.index('l', element)}, "
                               f"{body.index('s', element)} : {element}")
            value = body.op(f"arith.sitofp {distance} : {element} to f32")
            slope = slope or self.constant(0.125)
            value = body.op(f"arith.mulf {value}, {slope} : f32")
            return body.op(f"arith.addf {x}, {value} : f32")

        return Step(function, inputs)

    def small_integers(self, value, factor=1.0):
        """Integers in [-4, 4) as f32, times `factor`, from random numbers: in
        [-1, 1), in [0, 8), or of all values of a byte."""

        def function(body, x):
            if value.element == "f32":
                x = body.op(f"arith.mulf {x}, {self.constant(4)} : f32")
                x = body.op(f"math.floor {x} : f32")
            elif value.element == "i8":
                x = body.op(f"arith.shrsi {x}, {self.constant(5, 'i8')} : i8")
                x = body.op(f"arith.sitofp {x} : i8 to f32")
            else:
                x = body.op(f"arith.sitofp {x} : {value.element} to f32")
                x = body.op(f"arith.subf {x}, {self.constant(4)} : f32")
            if factor == 1.0:
                return x
            return body.op(f"arith.mulf {x}, {self.constant(factor)} : f32")

        return self.compute(value.dims, [value], function)

    # Masks.

    def masks(self, dims):
        """A list of steps for each mask."""
        count = self.rng.choice([0, 0, 1, 1, 1, 1, 2])
        conditions = [self.condition(dims) for _ in range(count)]
        if len(conditions) == 2 and self.chance(0.5):
            conditions = [self.combine(*conditions, dims)]
        can_be_empty = (len(conditions) > 1
                        or any(c.can_be_empty for c in conditions))
        return [self.mask(c, dims, can_be_empty) for c in conditions]

    def mask(self, condition, dims, can_be_empty):
        numbers = [-INFINITY] * 6 + [-1e9] * 2
        # Twice the lowest number is infinite, in f32 only.
        if not self.scaled_late and self.base2 != "late":
            numbers += [LOWEST] * 2
        number = self.rng.choice(numbers)
        self.has_huge_rows |= number != -INFINITY and can_be_empty
        if number != -INFINITY and can_be_empty or self.chance(0.5):
            return [self.replace(condition, dims, number)]
        if number == -1e9 and self.chance(0.4):
            return [self.penalty_by_product(condition)]
        return [self.penalty(condition, number)]

    def flags(self, condition, negated=False):
        """The condition as a tensor of i1."""
        return self.compute(
            condition.dims, condition.inputs,
            lambda body, *names: condition.write(body, names, negated), "i1")

    def replace(self, condition, dims, number):
        """Scores of keys that are not seen become `number`."""
        negated = self.chance(0.5)
        inputs = condition.inputs
        write = condition.write
        if self.chance(0.4):
            inputs = [self.flags(condition, negated)]

            def write(body, names, _):
                return names[0]

        splat = [self.splat(number, [])] if self.chance(0.2) else []

        def function(body, x, *names):
            other = names[-1] if splat else self.constant(number)
            seen = write(body, names[:len(inputs)], negated)
            values = f"{other}, {x}" if negated else f"{x}, {other}"
            return body.op(f"arith.select {seen}, {values} : f32")

        return Step(function, inputs + splat)

    def penalty(self, condition, number):
        """`number` is added to the scores of keys that are not seen."""
        negated = self.chance(0.5)
        values = [number, 0.0] if negated else [0.0, number]
        if self.chance(0.5):
            flags = self.flags(condition, negated)
            # Constants as operands, as exporters write them.
            scalars = [self.splat(v, []) for v in values]
            penalty = self.compute(
                flags.dims, [flags] + scalars,
                lambda body, f, a, b: body.op(
                    f"arith.select {f}, {a}, {b} : f32"))
            return Step(self.add, [penalty])

        def select(body, names):
            seen = condition.write(body, names, negated)
            operands = ", ".join(self.constant(v) for v in values)
            return body.op(f"arith.select {seen}, {operands} : f32")

        if self.chance(0.3):
            return Step(lambda body, x, *names: self.add(
                body, x, select(body, names)), condition.inputs)
        penalty = self.compute(condition.dims, condition.inputs,
                               lambda body, *names: select(body, names))
        return Step(self.add, [penalty])

    def penalty_by_product(self, condition):
        """(1 - seen) * -1e9."""
        flags = self.flags(condition)

        def function(body, flag):
            seen = body.op(f"arith.uitofp {flag} : i1 to f32")
            value = body.op(f"arith.subf {self.constant(1)}, {seen} : f32")
            return body.op(f"arith.mulf {value}, {self.constant(-1e9)} : f32")

        penalty = self.compute(flags.dims, [flags], function)
        return Step(self.add, [penalty])

    # Conditions.

    def condition(self, dims):
        kinds = ["argument"] * 3 + ["lengths"]
        if "s" in dims:
            kinds += ["causal"] * 4 + ["iota", "window", "band", "chunks",
                                       "documents", "prefix"]
        return getattr(self, f"is_{self.rng.choice(kinds)}")(dims)

    def combine(self, first, second, dims):
        """Both conditions at once, or sometimes either."""
        name = "andi" if self.chance(0.75) else "ori"
        opposite = {"andi": "ori", "ori": "andi"}[name]
        count = len(first.inputs)

        def write(body, names, negated):
            left = first.write(body, names[:count], negated)
            right = second.write(body, names[count:], negated)
            return body.op(f"arith.{opposite if negated else name} "
                           f"{left}, {right} : i1")

        names = first.dims + second.dims
        used = [d for d in dims if d in names]
        return Condition(used, first.inputs + second.inputs, write, True)

    def compare(self, body, predicate, left, right, element, negated):
        if negated:
            predicate = INVERSE[predicate]
        if self.chance(0.3):
            left, right, predicate = right, left, SWAPPED[predicate]
        return body.op(f"arith.cmpi {predicate}, {left}, {right} : {element}")

    def is_argument(self, dims):
        flags = self.argument(self.some_dims(dims) or ["l"], "i1")
        # Which of the two values means seen is all the same for random ones.
        return Condition(flags.dims, [flags], lambda body, names, _: names[0],
                         True)

    def positions(self):
        """The type of positions, and how far queries are ahead of keys: what a
        cache holds already, or a few more or less."""
        element = self.position_type()
        ahead = self.extent("l") - self.extent("s")
        offset = self.rng.choice([0, 0, ahead, ahead, 1, -1,
                                  self.rng.randint(0, self.extent("l"))])
        return element, offset

    def position_type(self):
        """The last two wrap in long rows, and with far positions."""
        return self.rng.choice(["index", "i64", "i64", "i64", "i32", "i32",
                                "i16", "i8"])

    def position(self, number, element):
        """A constant, wrapped to the type of positions."""
        if element == "i8":
            number = (number + 128) % 256 - 128
        return self.constant(number, element)

    def some_see_none(self, sees):
        """Whether some query sees no key; `sees` maps their positions."""
        return any(not any(sees(i, j) for j in range(self.extent("l")))
                   for i in range(self.extent("s")))

    def is_causal(self, dims):
        element, offset = self.positions()
        inputs, dims = [], ["s", "l"]
        argument = None
        kind = self.rng.random()
        if kind < 0.15 and element in ("index", "i64"):
            argument = self.argument(None, element).name
        elif kind < 0.3 and element == "i64":
            # Offsets of their own for each sequence, or one in a tensor.
            own = [d for d in self.heads[:1] if self.chance(0.5)]
            inputs, dims = [self.argument(own, "i64")], own + dims

        def write(body, names, negated):
            query = body.index("s", element)
            key = body.index("l", element)
            amount = argument or (names[0] if inputs
                                  else self.position(offset, element))
            if self.chance(0.5):
                first = body.op(f"arith.addi {query}, {amount} : {element}")
                return self.compare(body, "sle", key, first, element, negated)
            first = body.op(f"arith.subi {key}, {query} : {element}")
            return self.compare(body, "sle", first, amount, element, negated)

        is_known = not argument and not inputs
        return Condition(dims, inputs, write,
                         element == "i8" or (is_known and offset < 0))

    def is_iota(self, dims):
        """Causal, from tensors that hold their own positions."""
        element = self.rng.choice(["i64", "i64", "i32"])
        keys, queries = (
            self.compute([d], [], lambda body, d=d: body.index(d, element),
                         element) for d in "ls")
        keys = self.reshape(keys, ["us", "l"])
        queries = self.reshape(queries, ["s", "ul"])
        distance = self.compute(
            ["s", "l"], [keys, queries],
            lambda body, k, q: body.op(f"arith.subi {k}, {q} : {element}"),
            element)
        limit = self.rng.choice([0, 0, self.extent("l") - self.extent("s")])

        def write(body, names, negated):
            return self.compare(body, "sle", names[0],
                                self.constant(limit, element), element, negated)

        return Condition(["s", "l"], [distance], write, limit < 0)

    def is_window(self, dims):
        """Causal, and not more than so far back."""
        element, offset = self.positions()
        width = self.random_extent(max(1, self.extent("l")))

        def write(body, names, negated):
            query = body.index("s", element)
            key = body.index("l", element)
            query = body.op(f"arith.addi {query}, "
                            f"{self.position(offset, element)} : {element}")
            distance = body.op(f"arith.subi {query}, {key} : {element}")
            near = self.compare(body, "slt", distance,
                                self.position(width, element), element, negated)
            past = self.compare(body, "sge", distance,
                                self.constant(0, element), element, negated)
            return body.op(
                f"arith.{'ori' if negated else 'andi'} {near}, {past} : i1")

        return Condition(
            ["s", "l"], [], write, element == "i8" or
            self.some_see_none(lambda i, j: 0 <= i + offset - j < width))

    def is_band(self, dims):
        """Near enough on either side."""
        element = self.rng.choice(["index", "i64", "i32"])
        width = self.random_extent(max(1, self.extent("l")))

        def write(body, names, negated):
            distance = body.op(f"arith.subi {body.index('s', element)}, "
                               f"{body.index('l', element)} : {element}")
            zero = self.constant(0, element)
            other = body.op(f"arith.subi {zero}, {distance} : {element}")
            distance = body.op(
                f"arith.maxsi {distance}, {other} : {element}")
            return self.compare(body, "slt", distance,
                                self.constant(width, element), element, negated)

        return Condition(
            ["s", "l"], [], write,
            self.some_see_none(lambda i, j: abs(i - j) < width))

    def is_chunks(self, dims):
        """Keys of the same chunk of positions."""
        element = self.rng.choice(["index", "i64", "i32"])
        width = self.random_extent(max(1, self.extent("l")))

        def write(body, names, negated):
            divisor = self.constant(width, element)
            chunks = [body.op(f"arith.divsi {body.index(d, element)}, "
                              f"{divisor} : {element}") for d in "sl"]
            return self.compare(body, "eq", *chunks, element, negated)

        return Condition(
            ["s", "l"], [], write,
            self.some_see_none(lambda i, j: i // width == j // width))

    def is_prefix(self, dims):
        """All of a prefix, and what is past."""
        element = self.position_type()
        length = self.random_extent(self.extent("l"))

        def write(body, names, negated):
            key = body.index("l", element)
            first = self.compare(body, "slt", key,
                                 self.position(length, element), element,
                                 negated)
            past = self.compare(body, "sle", key, body.index("s", element),
                                element, negated)
            return body.op(
                f"arith.{'andi' if negated else 'ori'} {first}, {past} : i1")

        return Condition(["s", "l"], [], write, element == "i8")

    def is_documents(self, dims):
        """Keys of the same document: arguments say which one it is."""
        element = self.rng.choice(["i64", "i32"])
        own = [d for d in self.heads[:1] if self.chance(0.4)]
        inputs = [self.argument(own + [d], element) for d in "sl"]

        def write(body, names, negated):
            return self.compare(body, "eq", *names, element, negated)

        return Condition(own + ["s", "l"], inputs, write, True)

    def is_lengths(self, dims):
        """The first few keys; an argument says how many."""
        own = [d for d in self.heads[:1] if self.chance(0.7)]
        inputs = [self.argument(own, "i64")]
        stride = max(1, self.extent("l") // 7)
        predicate = self.rng.choice(["sle", "slt"])

        def write(body, names, negated):
            limit = body.op(f"arith.muli {names[0]}, "
                            f"{self.constant(stride, 'i64')} : i64")
            return self.compare(body, predicate, body.index("l", "i64"), limit,
                                "i64", negated)

        return Condition(own + ["l"], inputs, write, predicate == "slt")
