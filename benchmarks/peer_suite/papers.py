"""Networks of the papers that no package has, and what stands for them.

SAR-DRN removes speckle from radar images by convolutions with holes. RedNet-50 is
ResNet-50 with involutions, whose kernels are made of the image, for its 3x3
convolutions.
"""

import torch
import torch.nn.functional as F
import transformers
from torch import nn


class SarDrn(nn.Module):
    """Seven convolutions of 64 channels, with dilations and two shortcuts."""

    def __init__(self, channels: int = 64):
        super().__init__()
        sizes = [1, *[channels] * 6, 1]
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, 3, padding=dilation, dilation=dilation)
            for before, after, dilation in zip(
                sizes[:-1], sizes[1:], (1, 2, 3, 4, 3, 2, 1), strict=True
            )
        )

    def forward(self, x):
        first = F.relu(self.layers[0](x))
        y = F.relu(self.layers[1](first))
        third = F.relu(self.layers[2](y)) + first
        y = F.relu(self.layers[3](third))
        y = F.relu(self.layers[4](y))
        y = F.relu(self.layers[5](y)) + third
        return x - self.layers[6](y)


class Involution(nn.Module):
    """Windows of 7 x 7, weighted by a kernel that each pixel makes for 16 channels."""

    def __init__(self, channels: int, stride: int, size: int = 7, group: int = 16):
        super().__init__()
        self.size, self.stride, self.groups = size, stride, channels // group
        self.pool = nn.AvgPool2d(stride, stride) if stride > 1 else nn.Identity()
        self.reduce = nn.Sequential(
            nn.Conv2d(channels, channels // 4, 1, bias=False),
            nn.BatchNorm2d(channels // 4),
            nn.ReLU(),
        )
        self.span = nn.Conv2d(channels // 4, size * size * self.groups, 1)

    def forward(self, x):
        kernels = self.span(self.reduce(self.pool(x)))
        images, _, height, width = kernels.shape
        taps = self.size**2
        kernels = kernels.view(images, self.groups, 1, taps, height, width)
        padded = F.pad(x, [self.size // 2] * 4)
        step = self.stride
        windows = torch.stack(
            [
                padded[:, :, row : row + step * height : step, :][
                    :, :, :, column : column + step * width : step
                ]
                for row in range(self.size)
                for column in range(self.size)
            ],
            dim=2,
        )
        windows = windows.view(images, self.groups, -1, taps, height, width)
        return (kernels * windows).sum(3).view(images, -1, height, width)


class Bottleneck(nn.Module):
    def __init__(self, before: int, middle: int, stride: int):
        super().__init__()
        after = 4 * middle
        self.body = nn.Sequential(
            nn.Conv2d(before, middle, 1, bias=False),
            nn.BatchNorm2d(middle),
            nn.ReLU(),
            Involution(middle, stride),
            nn.BatchNorm2d(middle),
            nn.ReLU(),
            nn.Conv2d(middle, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.shortcut = nn.Identity()
        if stride > 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


class RedNet50(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [
            nn.Conv2d(3, 32, 3, 2, 1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            Involution(32, 1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, 1, 1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        before = 64
        for stage, count in enumerate((3, 4, 6, 3)):
            middle = 64 * 2**stage
            for place in range(count):
                stride = 2 if stage > 0 and place == 0 else 1
                layers.append(Bottleneck(before, middle, stride))
                before = 4 * middle
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(before, 1000)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class Gpt2Decode(nn.Module):
    """One token of GPT-2, behind the keys and values of others, which are inputs and
    results."""

    def __init__(self):
        super().__init__()
        config = transformers.GPT2Config(attn_implementation="eager")
        self.model = transformers.GPT2Model(config)
        self.heads, self.depth = config.n_head, config.n_embd // config.n_head

    def attend(self, block, x, keys, values):
        query, key, value = block.attn.c_attn(x).split(self.heads * self.depth, dim=2)
        query, key, value = (
            part.view(1, 1, self.heads, self.depth).transpose(1, 2)
            for part in (query, key, value)
        )
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        scores = query @ keys.transpose(2, 3) / self.depth**0.5
        result = (scores.softmax(-1) @ values).transpose(1, 2).reshape(1, 1, -1)
        return block.attn.c_proj(result), keys, values

    def forward(self, token, *past):
        place = torch.tensor([[past[0].shape[2]]])
        x = self.model.wte(token) + self.model.wpe(place)
        results = []
        for layer, block in enumerate(self.model.h):
            keys, values = past[2 * layer : 2 * layer + 2]
            attended, keys, values = self.attend(block, block.ln_1(x), keys, values)
            results += [keys, values]
            x = x + attended
            x = x + block.mlp(block.ln_2(x))
        return (self.model.ln_f(x), *results)
