"""Whole networks of torchvision, with weights that make every layer count.

`build` makes the module and `arguments` the image and the values of its weights, the
same in every process. The programs that `export-networks` writes have the weights as
arguments, in the order of `weights`.

What networks are initialised with says little about a compiler's result: batch norms
that do nothing, biases of zero, layers scaled by a millionth. All vectors are
therefore random. Packages are imported where they are needed: names and shapes are
known without any.
"""

import dataclasses
import zlib
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    # Makes torch's module.
    make: Callable
    image: tuple[int, ...] = (1, 3, 224, 224)


def torchvision_model(name: str, **options) -> Callable:
    def make():
        from torchvision import models
        return models.get_model(name, weights=None, **options)
    return make


def layer_of_resnet50():
    return torchvision_model("resnet50")().layer1


def stage_of_mobilenet_v2():
    return torchvision_model("mobilenet_v2")().features[1:5]


def whole(name: str, **options) -> Network:
    return Network(name, torchvision_model(name, **options))


# Heads that only training reads.
NO_HEADS = {"aux_logits": False, "init_weights": True, "transform_input": False}

NETWORKS = {network.name: network for network in (
    whole("squeezenet1_1"),
    Network("resnet50_layer1", layer_of_resnet50, (1, 64, 56, 56)),
    Network("mobilenet_v2_stage", stage_of_mobilenet_v2, (1, 32, 112, 112)),
    whole("resnet18"),
    whole("resnet50"),
    whole("mobilenet_v2"),
    whole("mobilenet_v3_small"),
    whole("efficientnet_b0"),
    whole("densenet121"),
    Network("inception_v3", torchvision_model("inception_v3", **NO_HEADS),
            (1, 3, 299, 299)),
    whole("googlenet", **NO_HEADS),
    whole("shufflenet_v2_x1_0"),
    whole("convnext_tiny"),
    whole("regnet_x_400mf"),
    whole("vgg11"),
)}


def weights(module) -> dict:
    """Parameters, then what batch norms have learnt, by name."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: tensor for name, tensor in named if tensor.is_floating_point()}


def observe(module, image, generator) -> None:
    """Gives batch norms about the statistics that they see for an image. With others,
    what the image says fades from layer to layer, and with it what a wrong one does."""
    import torch
    norms = [part for part in module.modules()
             if isinstance(part, torch.nn.BatchNorm2d)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    # In f64, so that processes on any number of threads see the same.
    module.double()(image.double())
    module.float().eval()
    for norm in norms:
        mean, var = norm.running_mean, norm.running_var
        mean.add_(0.1 * var.sqrt() * torch.randn(mean.shape, generator=generator))
        var.mul_(torch.exp(0.2 * torch.randn(var.shape, generator=generator)))


def randomise(module, generator) -> None:
    import torch
    for name, parameter in module.named_parameters():
        noise = 0.1 * torch.randn(parameter.shape, generator=generator)
        if name.endswith("layer_scale"):
            parameter.copy_(1 + noise)
        elif parameter.dim() == 1:
            parameter.add_(noise)


def build(name: str):
    import torch
    seed = zlib.crc32(name.encode())
    # Layers draw their weights from the global generator, which is the caller's.
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        module = NETWORKS[name].make().eval()
        generator = torch.Generator().manual_seed(seed)
        randomise(module, generator)
        observe(module, torch.from_numpy(image(name)), generator)
    return module.requires_grad_(False)


def image(name: str):
    import numpy as np
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return rng.standard_normal(NETWORKS[name].image, dtype=np.float32)


def arguments(name: str) -> list:
    """The image and the weights."""
    return [image(name), *(tensor.numpy() for tensor in weights(build(name)).values())]


def reference(name: str):
    """What torch computes in f64."""
    import torch
    result = build(name).double()(torch.from_numpy(image(name)).double())
    return result.numpy()
