"""A detector of YOLO-V4's build, with random weights.

CSPDarknet-53 with Mish, spatial pyramid pooling, a path aggregation network and three
heads (Bochkovskiy et al., arXiv 2004.10934): convolutions, forks and joins, pooling,
upsampling and concatenation.
"""

import torch
from torch import nn


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, mish: bool = False):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.Mish() if mish else nn.LeakyReLU(0.1),
    )


class Residual(nn.Module):
    def __init__(self, channels: int, hidden: int):
        super().__init__()
        self.body = nn.Sequential(
            conv(channels, hidden, 1, mish=True), conv(hidden, channels, 3, mish=True)
        )

    def forward(self, x):
        return x + self.body(x)


class Stage(nn.Module):
    """Halves the image; one part of the channels goes around the residual blocks."""

    def __init__(self, inputs: int, outputs: int, blocks: int):
        super().__init__()
        part = outputs if blocks == 1 else outputs // 2
        self.down = conv(inputs, outputs, 3, 2, mish=True)
        self.around = conv(outputs, part, 1, mish=True)
        self.through = nn.Sequential(
            conv(outputs, part, 1, mish=True),
            *(Residual(part, inputs if blocks == 1 else part) for _ in range(blocks)),
            conv(part, part, 1, mish=True),
        )
        self.join = conv(2 * part, outputs, 1, mish=True)

    def forward(self, x):
        x = self.down(x)
        return self.join(torch.cat([self.through(x), self.around(x)], 1))


class Pyramid(nn.Module):
    """Pools windows of several sizes side by side."""

    def __init__(self):
        super().__init__()
        self.pools = nn.ModuleList(nn.MaxPool2d(k, 1, k // 2) for k in (13, 9, 5))

    def forward(self, x):
        return torch.cat([*(pool(x) for pool in self.pools), x], 1)


def alternate(inputs: int, channels: int, layers: int) -> nn.Sequential:
    """Convolutions of 1x1 and 3x3 in turn."""
    sizes = [inputs] + [channels, 2 * channels] * layers
    return nn.Sequential(
        *(conv(sizes[i], sizes[i + 1], 1 + 2 * (i % 2)) for i in range(layers))
    )


class Up(nn.Module):
    """Joins a small image with one of twice the size."""

    def __init__(self, channels: int):
        super().__init__()
        self.small = conv(2 * channels, channels, 1)
        self.large = conv(2 * channels, channels, 1)
        self.mix = alternate(2 * channels, channels, 5)

    def forward(self, small, large):
        small = nn.functional.interpolate(self.small(small), scale_factor=2)
        return self.mix(torch.cat([self.large(large), small], 1))


class Down(nn.Module):
    """Joins a large image with one of half the size."""

    def __init__(self, channels: int):
        super().__init__()
        self.large = conv(channels, 2 * channels, 3, 2)
        self.mix = alternate(4 * channels, 2 * channels, 5)

    def forward(self, large, small):
        return self.mix(torch.cat([self.large(large), small], 1))


def head(channels: int) -> nn.Sequential:
    """Three boxes for each place, with 80 classes."""
    return nn.Sequential(
        conv(channels, 2 * channels, 3), nn.Conv2d(2 * channels, 3 * 85, 1)
    )


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv(3, 32, 3, mish=True)
        sizes = [
            (32, 64, 1),
            (64, 128, 2),
            (128, 256, 8),
            (256, 512, 8),
            (512, 1024, 4),
        ]
        self.stages = nn.ModuleList(Stage(*size) for size in sizes)
        self.pyramid = nn.Sequential(
            alternate(1024, 512, 3), Pyramid(), alternate(2048, 512, 3)
        )
        self.ups = nn.ModuleList([Up(256), Up(128)])
        self.downs = nn.ModuleList([Down(128), Down(256)])
        self.heads = nn.ModuleList([head(128), head(256), head(512)])

    def forward(self, x):
        x = self.stem(x)
        features = []
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        small = self.pyramid(x)
        middle = self.ups[0](small, features[3])
        large = self.ups[1](middle, features[2])
        middle = self.downs[0](large, middle)
        small = self.downs[1](middle, small)
        scales = (large, middle, small)
        return tuple(head(scale) for head, scale in zip(self.heads, scales))
