#===- feed_forward.py - Random feed-forward layers -------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Feed-forward layers of sizes 1 to 200: linear, activation, linear; gated
ones; token mixers; with norms before and residuals after. Weights are stored
either way round."""

from fuzz_programs.layers import Layers

LARGEST = 200


class FeedForward(Layers):
    def build(self):
        rows = self.rng.choice([["m"], ["m"], ["b", "m"]])
        self.extents = {"b": self.rng.randint(1, 3)}
        for dim in ("m", "k", "h", "n"):
            self.extents[dim] = self.random_extent(LARGEST)
        self.shrink(rows + ["k", "h"])
        self.shrink(rows + ["h", "n"])
        x = self.argument(rows + ["k"])
        if self.chance(0.1):
            result = self.mix_tokens(x)
        else:
            result = self.feed_forward(x, "k", "h", "n")
        self.results = [result] + self.results

    def feed_forward(self, x, features, hidden, outputs):
        """The layer; where a residual joins, `outputs` are the features."""
        residual = self.chance(0.4)
        if residual:
            outputs = features
        value = self.norm(x, features) if self.chance(0.3) else x
        if self.chance(0.35):
            value = self.gated(value, features, hidden)
        else:
            value = self.linear(value, features, hidden)
            value = self.activation(value)
        if self.chance(0.05):
            self.results.append(value)
        value = self.linear(value, hidden, outputs)
        if self.chance(0.1):
            value = self.activation(value)
        if residual:
            left, right = self.shuffle([x, value])
            value = self.binary("add", left, right)
            if self.chance(0.2):
                value = self.norm(value, features)
        return value

    def gated(self, x, features, hidden):
        bias = self.chance(0.2)
        if self.chance(0.2):
            # Both products as one, with the two weights side by side.
            gate, value = self.shuffle(self.linear_parts(
                x, features, [hidden, hidden], bias))
        else:
            gate = self.linear(x, features, hidden, bias)
            value = self.linear(x, features, hidden, bias)
        gate = self.silu(gate) if self.chance(0.7) else self.activation(gate)
        left, right = self.shuffle([gate, value])
        return self.binary("mul", left, right)

    def mix_tokens(self, x):
        """Contracts rows instead of features, as MLP-Mixer does."""
        rows, features = x.dims[-2:]
        value = self.norm(x, features) if self.chance(0.3) else x
        swapped = self.transpose(value, x.dims[:-2] + [features, rows])
        value = self.activation(self.linear(swapped, rows, "h"))
        value = self.linear(value, "h", rows)
        value = self.transpose(value, x.dims)
        return self.binary("add", value, x) if self.chance(0.5) else value
