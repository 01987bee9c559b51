"""Chains of convolutions in f16, as MLIR text and as numpy in f64.

Images have their channels last, filters their rows first. A layer may pad what it reads
with zeros, adds up in f32 and may end with a ReLU; everything is narrowed between layers.
"""

import dataclasses

import numpy as np

from programs import shaped


@dataclasses.dataclass
class Layer:
    """A convolution with `channels` filters of `taps` x `taps` pixels."""

    channels: int
    taps: int = 1
    stride: int = 1
    relu: bool = False
    # Rows or columns of zeros on each side of the image.
    padding: int = 0


@dataclasses.dataclass
class Convolutions:
    batch: int
    height: int
    width: int
    channels: int
    layers: list

    def name(self) -> str:
        text = shaped(self.batch, self.height, self.width, self.channels)
        for layer in self.layers:
            text += f"-{layer.channels}k{layer.taps}s{layer.stride}"
            text += f"p{layer.padding}" * (layer.padding > 0) + "relu" * layer.relu
        return text

    def images(self) -> list:
        """Shapes of the image that the first layer reads, and of what each makes."""
        shapes = [[self.batch, self.height, self.width, self.channels]]
        for layer in self.layers:
            _, height, width, _ = shapes[-1]
            shapes.append(
                [self.batch]
                + [
                    (size + 2 * layer.padding - layer.taps) // layer.stride + 1
                    for size in (height, width)
                ]
                + [layer.channels]
            )
        return shapes

    def arguments(self) -> list:
        shapes = [self.images()[0]]
        channels = self.channels
        for layer in self.layers:
            shapes.append([layer.taps, layer.taps, channels, layer.channels])
            channels = layer.channels
        return shapes

    def program(self) -> str:
        arguments, images = self.arguments(), self.images()
        signature = ", ".join(
            f"%x{n}: tensor<{shaped(*shape)}xf16>" for n, shape in enumerate(arguments)
        )
        identity = "affine_map<(n, h, w, c) -> (n, h, w, c)>"
        result = f"tensor<{shaped(*images[-1])}xf16>"
        text = (
            f"func.func @main({signature}) -> {result} {{\n"
            "%zero = arith.constant 0.0 : f32\n"
            "%border = arith.constant 0.0 : f16\n"
        )
        current = "%x0"
        for n, layer in enumerate(self.layers):
            image, filters, made = (
                shaped(*shape) for shape in (images[n], arguments[n + 1], images[n + 1])
            )
            if layer.padding:
                batch, height, width, channels = images[n]
                sides = f"[0, {layer.padding}, {layer.padding}, 0]"
                padded = shaped(
                    batch,
                    height + 2 * layer.padding,
                    width + 2 * layer.padding,
                    channels,
                )
                text += f"""%p{n} = tensor.pad {current} low{sides} high{sides} {{
^bb0(%a{n}: index, %b{n}: index, %d{n}: index, %f{n}: index):
tensor.yield %border : f16
}} : tensor<{image}xf16> to tensor<{padded}xf16>
"""
                current, image = f"%p{n}", padded
            body = (
                f"%m{n} = arith.maximumf %v{n}, %zero : f32\n" if layer.relu else ""
            )
            value = f"%m{n}" if layer.relu else f"%v{n}"
            text += f"""%e{n} = tensor.empty() : tensor<{made}xf32>
%z{n} = linalg.fill ins(%zero : f32) outs(%e{n} : tensor<{made}xf32>) -> tensor<{made}xf32>
%c{n} = linalg.conv_2d_nhwc_hwcf {{strides = dense<{layer.stride}> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}}
  ins({current}, %x{n + 1} : tensor<{image}xf16>, tensor<{filters}xf16>)
  outs(%z{n} : tensor<{made}xf32>) -> tensor<{made}xf32>
%o{n} = tensor.empty() : tensor<{made}xf16>
%y{n} = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
  ins(%c{n} : tensor<{made}xf32>) outs(%o{n} : tensor<{made}xf16>) {{
^bb0(%v{n}: f32, %q{n}: f16):
{body}%t{n} = arith.truncf {value} : f32 to f16
linalg.yield %t{n} : f16
}} -> tensor<{made}xf16>
"""
            current = f"%y{n}"
        return text + f"return {current} : {result}\n}}\n"

    def make_arguments(self, seed: int) -> list:
        """Random f16; images keep their size from layer to layer."""
        generator = np.random.default_rng(seed)
        values = []
        for shape in self.arguments():
            scale = 1.0 if not values else np.prod(shape[:-1]) ** -0.5
            values.append(
                (generator.standard_normal(shape) * scale).astype(np.float16)
            )
        return values

    def reference(self, values: list) -> np.ndarray:
        current, *filters = (value.astype(np.float64) for value in values)
        for layer, kernel in zip(self.layers, filters):
            border = (layer.padding, layer.padding)
            current = np.pad(current, [(0, 0), border, border, (0, 0)])
            windows = np.lib.stride_tricks.sliding_window_view(
                current, (layer.taps, layer.taps), axis=(1, 2)
            )[:, :: layer.stride, :: layer.stride]
            current = np.einsum("nhwcrs,rscf->nhwf", windows, kernel)
            if layer.relu:
                current = np.maximum(current, 0)
        return current
