#===- attention.py - Random attention --------------------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Attention with 1 to 200 queries and keys (up to 1000 keys for a single
query), heads of 1 to 160 features, in the layouts and spellings that users
have: heads as a dimension or merged with others, before or after positions;
queries that share keys and values, copied or not; linear layers around it."""

from fuzz_programs.program import Value
from fuzz_programs.scores import Scores

LARGEST = 200
LARGEST_HEAD = 160
MOST_KEYS = 1000
# Elements of all heads' scores: softmax takes long where it is taken apart.
MOST_SCORES = 1 << 17


class Attention(Scores):
    def build(self):
        self.choose_shape()
        self.choose_sizes()
        self.exact = not self.is_projected and self.chance(0.2)
        self.choose_factor("d", self.is_projected)
        query, key, value = self.operands_of_attention()
        result = self.attend(query, key, value)
        self.results = [self.finish(result)] + self.results

    # Shapes.

    def choose_shape(self):
        """Sets the dimensions of heads: of queries, of keys, and of scores."""
        kind = self.rng.choice(["single", "flat", "flat", "heads", "heads",
                                "heads", "groups", "groups", "one key head"])
        self.parts = {}
        query, key = {
            "single": ([], []),
            "flat": (["g"], ["g"]),
            "heads": (["b", "h"], ["b", "h"]),
            "groups": (["b", "h"], ["b", "k"]),
            "one key head": (["b", "h"], ["b"]),
        }[kind]
        self.query_heads, self.key_heads = query, key
        if kind == "groups":
            # Each of k key heads serves r query heads.
            self.parts["h"] = ["k", "r"]
        # How keys reach all the queries that share them: by copies, by maps
        # alone, or because these queries become rows of one product.
        self.sharing = self.rng.choice(["copy", "maps", "rows"])
        self.is_shared = query != key
        # A single query may go without a dimension.
        self.rows = ["s"]
        if query and not self.is_shared and self.chance(0.05):
            self.rows = []
        self.is_projected = (kind in ("single", "heads", "groups")
                             and self.rows != [] and self.chance(0.15))

    def choose_sizes(self):
        rng = self.rng
        self.extents = {"b": rng.randint(1, 3), "g": rng.randint(1, 8),
                        "k": rng.randint(1, 3), "r": rng.randint(2, 4),
                        "s": self.random_extent(LARGEST),
                        "l": self.random_extent(LARGEST),
                        "d": self.random_extent(LARGEST_HEAD),
                        "c": self.random_extent(48)}
        self.extents["e"] = self.extents["d"]
        if self.chance(0.3):
            self.extents["e"] = self.random_extent(LARGEST_HEAD)
        if "h" not in self.parts:
            self.extents["h"] = rng.randint(1, 6)
        if self.chance(0.4):
            self.extents["l"] = self.extents["s"]
        elif self.rows == [] or self.chance(0.15):
            self.extents["s"] = 1
            self.extents["l"] = self.random_extent(MOST_KEYS)
        scores = self.atoms(self.query_heads + self.rows + ["l"])
        self.shrink(scores, MOST_SCORES)
        self.shrink(scores + ["d"])
        self.shrink(scores + ["e"])
        if "h" in self.parts:
            self.merge_as("h", ["k", "r"])
        # Sometimes nothing comes from the cache, or nothing but what it has.
        self.extents["past"] = rng.randint(1, max(1, self.extents["l"] - 1))
        if self.chance(0.2):
            self.extents["past"] = rng.choice([0, self.extents["l"]])
        self.extents["new"] = self.extents["l"] - self.extents["past"]
        self.is_self = self.extents["s"] == self.extents["l"]

    def merge_as(self, name, dims):
        self.parts[name] = dims
        self.extents[name] = self.size(dims)

    # Operands.

    def operands_of_attention(self):
        if self.is_projected:
            operands = self.projections()
        else:
            operands = (self.stored(self.query_heads, self.rows, "d"),
                        self.stored(self.key_heads, ["l"], "d"),
                        self.stored(self.key_heads, ["l"], "e"))
        query, key, value = (self.exposed(v) for v in operands)
        if self.extents["d"] % 2 == 0 and not self.exact and self.chance(0.08):
            query, key = self.rotated(query), self.rotated(key)
        return *self.scale_operands(query, key), value

    def stored(self, heads, rows, columns):
        """An argument, in one of the layouts of memory."""
        if not self.exact or columns != "d":
            return self.in_memory(heads, rows, columns, "f32")
        element = self.rng.choice(["f32", "f32", "i8", "i32", "i64"])
        value = self.in_memory(heads, rows, columns, element)
        return self.small_integers(value)

    def in_memory(self, heads, rows, columns, element):
        dims = heads + rows + [columns]
        kind = self.rng.random()
        if len(heads) == 2 and kind < 0.35:
            b, h = heads
            dims = [b] + rows + [h, columns]
            if kind < 0.12:
                merged = [b] + rows + [self.merge([h, columns])]
                return self.reshape(self.argument(merged, element), dims)
        elif rows and kind < 0.5:
            dims = heads + [columns] + rows
        elif len(heads) == 2 and kind < 0.6:
            merged = [self.merge(heads)] + dims[2:]
            return self.reshape(self.argument(merged, element), dims)
        if rows == ["l"] and self.extents["l"] > 1 and self.chance(0.05):
            # What a cache holds, and new keys or values.
            pieces = [self.argument([part if d == "l" else d for d in dims],
                                    element) for part in ("past", "new")]
            return self.concat(pieces, dims.index("l"), dims)
        return self.argument(dims, element)

    def exposed(self, value):
        """`value` as it is, or with heads first."""
        if self.chance(0.3):
            return value
        if value.dims[-1] in ("d", "e"):
            last = [d for d in value.dims if d in ("s", "l")] + value.dims[-1:]
        else:
            last = value.dims[-2:]
        heads = [d for d in value.dims if d not in last]
        return self.arrange(value, heads + last)

    def projections(self):
        """Linear layers make queries, keys and values."""
        batch = ["b"] if self.query_heads else []
        self.input = x = self.argument(batch + ["s", "c"])
        if self.chance(0.3):
            x = self.norm(x, "c")
        other = Value(x.name, batch + ["l", "c"])
        if not self.is_self or self.chance(0.2):
            other = self.argument(batch + ["l", "c"])
        query = self.merge(self.query_heads[1:] + ["d"])
        key = self.merge(self.key_heads[1:] + ["d"])
        value = self.merge(self.key_heads[1:] + ["e"])
        if other.name == x.name and self.chance(0.3):
            # One layer makes all three.
            parts = self.linear_parts(x, "c", [query, key, value])
        else:
            parts = [self.linear(x, "c", query), self.linear(other, "c", key),
                     self.linear(other, "c", value)]
        heads = [self.query_heads] + [self.key_heads] * 2
        result = []
        for part, head, row, column in zip(parts, heads, "sll", "dde"):
            part = Value(part.name, batch + [row, part.dims[-1]])
            result.append(self.reshape(part, batch + [row] + head[1:]
                                       + [column]))
        return result

    def rotated(self, x):
        """Rotary positions: x * cos + (-x2, x1) * sin."""
        self.extents["half"] = self.extents["d"] // 2
        rows = [d for d in x.dims if d in ("s", "l")]
        position = x.dims.index("d")
        first, second = (self.slice(x, "d", "half", start)
                         for start in (0, self.extents["half"]))
        second = self.compute(second.dims, [second], lambda body, a: body.op(
            f"arith.negf {a} : f32"))
        turned = self.concat([second, first], position, x.dims)
        return self.binary("add",
                           self.binary("mul", x, self.argument(rows + ["d"])),
                           self.binary("mul", turned,
                                       self.argument(rows + ["d"])))

    # Products.

    def attend(self, query, key, value):
        self.heads = self.query_heads
        if self.is_shared:
            query, key, value = self.share(query, key, value)
        elif len(self.heads) == 2 and self.chance(0.3):
            self.heads = [self.merge(self.heads)]
            query, key, value = (self.flattened(v) for v in (query, key, value))
        key_heads = [d for d in self.heads if d in key.dims]
        scores = self.scores_product(query, key, key_heads)
        scores = self.adjust(scores)
        weights, finish = self.softmax(scores, "l")
        if self.chance(0.05):
            self.results.append(self.rng.choice([scores, weights]))
        if self.chance(0.04):
            # As dropout does.
            weights = self.binary("mul", weights, self.argument(weights.dims))
        result = self.value_product(weights, value, key_heads)
        if self.chance(0.03):
            result = self.doubled(result)
        for step in finish:
            result = step(result)
        return self.reshape(result, self.query_heads + self.rows + ["e"])

    def flattened(self, x):
        rest = [d for d in x.dims if d not in self.query_heads]
        x = self.arrange(x, self.query_heads + rest)
        return self.reshape(x, self.heads + rest)

    def share(self, query, key, value):
        """Sets the heads of scores so that keys and values fit."""
        copies = ["r"] if "h" in self.parts else ["h"]
        deep = self.key_heads + copies
        if self.sharing == "copy":
            # What torch's expand and repeat_interleave become.
            key, value = (self.copied(v, deep) for v in (key, value))
            if self.chance(0.3):
                self.heads = [self.merge(self.heads)]
                query = self.flattened(query)
                key, value = (self.reshape(v, self.heads + v.dims[2:])
                              for v in (key, value))
            return query, key, value
        if "h" in self.parts:
            self.heads = deep
            rest = [d for d in query.dims if d not in self.query_heads]
            query = self.arrange(query, self.query_heads + rest)
            query = self.reshape(query, deep + rest)
        return query, key, value

    def copied(self, value, deep):
        rest = [d for d in value.dims if d not in self.key_heads]
        value = self.arrange(value, self.key_heads + rest)
        return self.reshape(self.spread(value, deep + rest),
                            self.query_heads + rest)

    def scores_product(self, query, key, key_heads):
        heads, rows = self.heads, self.rows
        if key_heads != heads and self.sharing == "rows":
            extra = [d for d in heads if d not in key_heads] + rows
            row = self.merge(extra)
            query = self.arrange(query, key_heads + extra + ["d"])
            query = self.reshape(query, key_heads + [row, "d"])
            scores = self.product(query, key, key_heads, [row], "d", ["l"])
            return self.reshape(scores, heads + rows + ["l"])
        if rows and self.chance(0.06):
            # With keys as rows.
            return self.product(key, query, heads, ["l"], "d", rows)
        return self.product(query, key, heads, rows, "d", ["l"])

    def value_product(self, weights, value, key_heads):
        heads, rows = self.heads, self.rows
        if key_heads != heads and self.sharing == "rows":
            extra = [d for d in heads if d not in key_heads] + rows
            row = self.merge(extra)
            weights = self.arrange(weights, key_heads + extra + ["l"])
            weights = self.reshape(weights, key_heads + [row, "l"])
            result = self.product(weights, value, key_heads, [row], "l", ["e"])
            return self.reshape(result, heads + rows + ["e"])
        if rows and self.chance(0.03):
            result = self.product(value, weights, heads, ["e"], "l", rows)
            return self.arrange(result, heads + rows + ["e"])
        return self.product(weights, value, heads, rows, "l", ["e"])

    # Results.

    def finish(self, result):
        """Heads side by side again, and what comes after attention."""
        features = "e"
        if len(self.query_heads) == 2 and (self.is_projected
                                           or self.chance(0.5)):
            b, h = self.query_heads
            result = self.arrange(result, [b] + self.rows + [h, "e"])
            if not self.is_projected and self.chance(0.3):
                return result
            features = self.merge([h, "e"])
            result = self.reshape(result, [b] + self.rows + [features])
        elif len(self.query_heads) > 0 or not self.is_projected:
            return result
        if not self.is_projected and self.chance(0.6):
            return result
        return self.project(result, features)

    def project(self, x, features):
        x = self.linear(x, features, "c")
        if self.chance(0.5):
            residual = (self.input if self.is_projected
                        else self.argument(x.dims))
            x = self.binary("add", *self.shuffle([x, residual]))
        return x
