"""Random programs of operators that wait for memory, with forks and several results.

Needs Python alone.
"""

import math
import random

from .memory import MemoryProgram
from .program import Value


class RandomGraph:
    """Adds operators to values that are matrices of one shape, or columns of it."""

    def __init__(self, rng: random.Random, rows: int, columns: int):
        self.rng = rng
        self.program = MemoryProgram()
        self.rows, self.columns = rows, columns
        self.values = [self.program.argument(rows, columns) for _ in range(2)]
        self.unread: list[Value] = []
        self.words: list[str] = []

    def take(self) -> Value:
        """A value, of the last ones rather than others."""
        place = min(int(self.rng.expovariate(0.7)), len(self.values) - 1)
        value = self.values[-1 - place]
        self.unread = [other for other in self.unread if other != value]
        return value

    def put(self, word: str, value: Value) -> None:
        self.words.append(word)
        self.values.append(value)
        self.unread.append(value)

    def add_operator(self) -> None:
        adders = (
            self.add_function,
            self.add_sum,
            self.add_bias,
            self.add_scaling,
            self.add_norm,
            self.add_softmax,
            self.add_column_norm,
            self.add_turn,
            self.add_halves,
            self.add_product,
        )
        weights = (4, 4, 2, 2, 3, 2, 1, 1, 1, 0.5)
        self.rng.choices(adders, weights)[0]()

    def add_function(self) -> None:
        x = self.take()
        kind = self.rng.choice(("relu", "gelu", "tanh"))
        if kind == "relu":
            self.put(kind, self.program.relu(x))
        elif kind == "gelu":
            self.put(kind, self.program.gelu_erf(x))
        else:
            body = ["%r = math.tanh %i0 : f32"]
            self.put(kind, self.program.elementwise([(x, (0, 1))], x.shape, body))

    def add_sum(self) -> None:
        self.put("add", self.program.plus(self.take(), self.take()))

    def add_bias(self) -> None:
        bias = self.program.argument(self.columns)
        self.put("bias", self.program.bias(self.take(), bias))

    def add_scaling(self) -> None:
        """Of each row by its largest element."""
        x, y = self.take(), self.take()
        largest = self.program.reduced(
            y,
            ["%a = math.absf %i0 : f32", "%r = arith.maximumf %out, %a : f32"],
            [0],
            start=1.0,
        )
        body = ["%r = arith.divf %i0, %i1 : f32"]
        inputs = [(x, (0, 1)), (largest, (0,))]
        self.put("scale", self.program.elementwise(inputs, x.shape, body))

    def add_norm(self) -> None:
        vectors = [self.program.argument(self.columns) for _ in range(2)]
        self.put("norm", self.program.layer_norm(self.take(), *vectors))

    def add_softmax(self) -> None:
        self.put("softmax", self.program.softmax_along(self.take(), 1))

    def add_column_norm(self) -> None:
        """Subtracts the mean of each column."""
        x = self.take()
        total = self.program.reduced(x, ["%r = arith.addf %out, %i0 : f32"], [1])
        share = self.program.constant(1 / self.rows)
        body = [f"%m = arith.mulf %i1, {share} : f32", "%r = arith.subf %i0, %m : f32"]
        inputs = [(x, (0, 1)), (total, (1,))]
        self.put("columns", self.program.elementwise(inputs, x.shape, body))

    def add_turn(self) -> None:
        """A function of the transposed matrix, turned back."""
        turned = self.program.relu(self.program.transposed(self.take(), (1, 0)))
        self.put("turn", self.program.transposed(turned, (1, 0)))

    def add_halves(self) -> None:
        x, half = self.take(), self.columns // 2
        first, second = (self.program.part(x, 1, at, half) for at in (0, half))
        self.put("halves", self.program.concat([self.program.relu(second), first], 1))

    def add_product(self) -> None:
        weights = self.program.weights(self.columns, self.columns)
        self.put("product", self.program.matmul(self.take(), weights))


def random_graph(rng: random.Random) -> tuple[str, MemoryProgram, list[Value]]:
    """A name, the program, and its results: what nothing reads."""
    columns = 16 * round(math.exp(rng.uniform(math.log(2), math.log(64))))
    most = 4_000_000 // columns
    rows = round(math.exp(rng.uniform(math.log(16), math.log(most))))
    graph = RandomGraph(rng, rows, columns)
    for _ in range(rng.randint(3, 10)):
        graph.add_operator()
    return (f"{rows} x {columns} {' '.join(graph.words)}", graph.program, graph.unread)
