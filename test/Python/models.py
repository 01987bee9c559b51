"""Small networks of the kinds that people run, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn


def _bert() -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        vocab_size=200,
    )
    return transformers.BertModel(config), (_ids(2, 24),)


def _distilbert() -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.DistilBertConfig(
        dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=200
    )
    return transformers.DistilBertModel(config), (_ids(2, 24),)


def gpt2_config() -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.GPT2Config(
        n_embd=64,
        n_layer=2,
        n_head=4,
        vocab_size=200,
        bos_token_id=0,
        eos_token_id=None,
        use_cache=False,
    )


def _gpt2() -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.GPT2LMHeadModel(gpt2_config()), (_ids(1, 24),)


def _llama() -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        vocab_size=200,
        max_position_embeddings=64,
        use_cache=False,
    )
    return transformers.LlamaForCausalLM(config), (_ids(1, 24),)


def _t5() -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.T5Config(
        num_layers=1, d_model=64, d_ff=128, num_heads=4, d_kv=16, vocab_size=200
    )
    config.use_cache = False
    config.decoder_start_token_id = 0

    class EncoderAndDecoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = transformers.T5ForConditionalGeneration(config)

        def forward(self, ids: torch.Tensor, decoded: torch.Tensor) -> Any:
            return self.model(input_ids=ids, decoder_input_ids=decoded)

    return EncoderAndDecoder(), (_ids(1, 24), _ids(1, 7))


def _whisper() -> Any:
    transformers = pytest.importorskip("transformers")
    whisper = pytest.importorskip("transformers.models.whisper.modeling_whisper")
    config = transformers.WhisperConfig(
        d_model=64,
        encoder_layers=1,
        encoder_attention_heads=4,
        encoder_ffn_dim=128,
        num_mel_bins=20,
        max_source_positions=50,
    )
    return whisper.WhisperEncoder(config), (torch.randn(1, 20, 100),)


def _vit() -> Any:
    torchvision = pytest.importorskip("torchvision")
    model = torchvision.models.VisionTransformer(
        image_size=32,
        patch_size=8,
        num_layers=2,
        num_heads=4,
        hidden_dim=64,
        mlp_dim=128,
        num_classes=10,
    )
    return model, (torch.randn(1, 3, 32, 32),)


def _swin() -> Any:
    torchvision = pytest.importorskip("torchvision")
    model = torchvision.models.SwinTransformer(
        patch_size=[4, 4],
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=[4, 4],
        num_classes=10,
    )
    return model, (torch.randn(1, 3, 32, 32),)


def _resnet() -> Any:
    torchvision = pytest.importorskip("torchvision")
    block = torchvision.models.resnet.Bottleneck
    model = torchvision.models.ResNet(block, [1, 1, 1, 1], num_classes=10)
    return model, (torch.randn(1, 3, 32, 32),)


def _mobilenet() -> Any:
    models = pytest.importorskip("torchvision.models.mobilenetv3")
    layers = [
        models.InvertedResidualConfig(8, 3, 16, 8, True, "RE", 2, 1, 1.0),
        models.InvertedResidualConfig(8, 5, 24, 16, True, "HS", 2, 1, 1.0),
    ]
    return models.MobileNetV3(layers, 32, num_classes=10), (torch.randn(1, 3, 32, 32),)


def _efficientnet() -> Any:
    models = pytest.importorskip("torchvision.models.efficientnet")
    layers = [
        models.MBConvConfig(1, 3, 1, 8, 8, 1, 1.0, 1.0),
        models.MBConvConfig(4, 5, 2, 8, 16, 1, 1.0, 1.0),
    ]
    model = models.EfficientNet(layers, dropout=0.0, num_classes=10)
    return model, (torch.randn(1, 3, 32, 32),)


def _convnext() -> Any:
    models = pytest.importorskip("torchvision.models.convnext")
    layers = [models.CNBlockConfig(16, 32, 1), models.CNBlockConfig(32, None, 1)]
    return models.ConvNeXt(layers, num_classes=10), (torch.randn(1, 3, 32, 32),)


def _mixer() -> Any:
    mixer = pytest.importorskip("timm.models.mlp_mixer")
    model = mixer.MlpMixer(
        num_classes=10, img_size=32, patch_size=8, num_blocks=2, embed_dim=64
    )
    return model, (torch.randn(1, 3, 32, 32),)


class _UNet(nn.Module):
    """Convolutions down and up again, with the way across that U-Nets have."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = self._block(3, 8)
        self.down = self._block(8, 16, stride=2)
        self.deep = self._block(16, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.wide = self._block(16 + 8, 8)
        self.leave = nn.Conv2d(8, 2, 1)

    @staticmethod
    def _block(channels: int, filters: int, stride: int = 1) -> nn.Module:
        convolution = nn.Conv2d(channels, filters, 3, stride, padding=1, bias=False)
        return nn.Sequential(convolution, nn.GroupNorm(4, filters), nn.SiLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        across = self.enter(x)
        deep = self.deep(self.down(across))
        larger = nn.functional.interpolate(deep, scale_factor=2, mode="nearest")
        y = self.wide(torch.cat([self.up(deep) + across, larger], 1))
        return self.leave(y)


def _unet() -> Any:
    return _UNet(), (torch.randn(1, 3, 16, 16),)


class _Recommender(nn.Module):
    """Embeddings and numbers that interact by dot products, as DLRM has them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(50, 16) for _ in range(4))
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16))
        self.top = nn.Sequential(nn.Linear(16 + 10, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numbers: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        dense = self.bottom(numbers)
        rows = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        features = torch.stack([dense, *rows], dim=1)
        products = features @ features.transpose(1, 2)
        row, column = torch.tril_indices(5, 5, offset=-1)
        return torch.sigmoid(self.top(torch.cat([dense, products[:, row, column]], 1)))


def _dlrm() -> Any:
    return _Recommender(), (torch.randn(8, 13), torch.randint(0, 50, (8, 4)))


def _ids(*shape: int) -> torch.Tensor:
    return torch.randint(0, 200, shape)


MAKERS: dict[str, Callable[[], Any]] = {
    "bert": _bert,
    "distilbert": _distilbert,
    "gpt2": _gpt2,
    "llama": _llama,
    "t5": _t5,
    "whisper": _whisper,
    "vit": _vit,
    "swin": _swin,
    "resnet": _resnet,
    "mobilenet": _mobilenet,
    "efficientnet": _efficientnet,
    "convnext": _convnext,
    "mixer": _mixer,
    "unet": _unet,
    "dlrm": _dlrm,
}


def make(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A network and its inputs, such that every part of it matters to the result.

    Some libraries start heads at zero and statistics at one, which would hide
    whatever goes wrong before them.
    """
    torch.manual_seed(0)
    model, inputs = MAKERS[name]()
    for parameter in model.parameters():
        if parameter.numel() > 1 and parameter.std() < 1e-4:
            nn.init.normal_(parameter, std=0.1)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    if norms:
        _fill_statistics(model, norms, inputs)
    return model.eval(), inputs


def _fill_statistics(model: nn.Module, norms: list[Any], inputs: Any) -> None:
    model.train()
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        model(*(torch.randn(4, *value.shape[1:]) for value in inputs))


def outputs(result: Any) -> list[torch.Tensor]:
    """The tensors in what a network returns."""
    values = tuple(result.values()) if isinstance(result, dict) else result
    leaves = torch.utils._pytree.tree_leaves(values)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def assert_equal(expected: Any, actual: Any, tolerance: float = 1e-4) -> None:
    """Compare what two runs of a network return; zeros would prove nothing."""
    left, right = outputs(expected), outputs(actual)
    assert len(left) == len(right) > 0
    for one, other in zip(left, right):
        assert one.shape == other.shape and one.dtype == other.dtype
        assert one.abs().max() > 1e-3
        scale = max(1.0, one.abs().max().item())
        torch.testing.assert_close(other, one, rtol=0, atol=tolerance * scale)
