"""torch.compile with the backend: results, strides, weights, changes, fallbacks."""

from __future__ import annotations

import copy
import gc
import io
import logging
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import chimera._compiler  # noqa: E402
import chimera._prepared as _prepared  # noqa: E402
import chimera._runtime as _runtime  # noqa: E402
import fuzz_torch  # noqa: E402
import models  # noqa: E402
from chimera._parts import Weights  # noqa: E402
from chimera.backend import chimera as backend  # noqa: E402
from chimera.backend import fallbacks, refresh  # noqa: E402
from chimera.errors import ChimeraError, CompileError  # noqa: E402


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def compiled_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that are compiled during a test."""
    texts: list[str] = []
    real = chimera._compiler.compile_text

    def note(text: str, **options: Any) -> Any:
        texts.append(text)
        return real(text, **options)

    monkeypatch.setattr(chimera._compiler, "compile_text", note)
    return texts


def new_reasons(before: dict[str, int]) -> list[str]:
    return [reason for reason in fallbacks() if reason not in before]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.norm = nn.LayerNorm(32)
        self.second = nn.Linear(32, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.norm(F.gelu(self.first(x))))


def check(function: Any, *inputs: torch.Tensor, tolerance: float = 1e-4) -> Any:
    compiled = torch.compile(function, backend=backend)
    with torch.no_grad():
        models.assert_equal(function(*inputs), compiled(*inputs), tolerance)
    return compiled


@pytest.mark.parametrize("name", models.MAKERS)
def test_networks_agree_with_eager_as_one_program(
    name: str, compiled_texts: list[str]
) -> None:
    before = fallbacks()
    model, inputs = models.make(name)
    check(model, *inputs)
    assert len(compiled_texts) == 1
    assert not new_reasons(before)


@pytest.mark.parametrize("norm_first", [True, False])
def test_torch_s_own_encoder(norm_first: bool, compiled_texts: list[str]) -> None:
    layer = nn.TransformerEncoderLayer(
        32, 4, 64, batch_first=True, norm_first=norm_first, activation="gelu"
    )
    before = fallbacks()
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    check(model, torch.randn(2, 5, 32))
    assert compiled_texts and not new_reasons(before)


def test_graph_breaks(compiled_texts: list[str]) -> None:
    nets = nn.ModuleList([Net(), nn.Linear(8, 4)]).eval()

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = nets[0](x)
        torch._dynamo.graph_break()
        return nets[1](y)

    check(broken, torch.randn(3, 16))
    assert len(compiled_texts) == 2


def test_inference_mode() -> None:
    net, x = Net().eval(), torch.randn(3, 16)
    compiled = torch.compile(net, backend=backend)
    with torch.inference_mode():
        models.assert_equal(net(x), compiled(x))


@pytest.mark.parametrize("autocast", [True, False])
def test_bf16(autocast: bool) -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)).eval()
    x = torch.randn(4, 64)
    if not autocast:
        model, x = model.bfloat16(), x.bfloat16()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        check(model, x, tolerance=2e-2)


def test_registered_by_name() -> None:
    if "chimera" not in torch._dynamo.list_backends():
        pytest.skip("the package is not installed, so torch has no entry point of it")
    compiled = torch.compile(Net().eval(), backend="chimera", options={"threads": 1})
    with torch.no_grad():
        assert compiled(torch.randn(3, 16)).shape == (3, 8)


def test_as_many_threads_as_torch_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []
    real = chimera._compiler.compile_text

    def note(text: str, **options: Any) -> Any:
        asked.append(options["threads"])
        return real(text, **options)

    monkeypatch.setattr(chimera._compiler, "compile_text", note)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            check(Net().eval(), torch.randn(threads, 16))
    finally:
        torch.set_num_threads(before)
    given = torch.compile(Net().eval(), backend=backend, options={"threads": 3})
    with torch.no_grad():
        given(torch.randn(3, 16))
    assert asked == [1, 2, 3]


def test_wrong_options_are_named() -> None:
    compiled = torch.compile(Net().eval(), backend=backend, options={"tile": 1})
    with pytest.raises(Exception, match="no option 'tile'"), torch.no_grad():
        compiled(torch.randn(3, 16))


def test_discarded_weights_leave_the_module() -> None:
    model, inputs = models.make("bert")
    with torch.no_grad():
        expected = model(*inputs)
        options = {"discard_weights": True}
        compiled = torch.compile(model, backend=backend, options=options)
        for _ in range(2):
            models.assert_equal(expected, compiled(*inputs))
    layer = model.encoder.layer[0]
    assert layer.output.dense.weight.untyped_storage().nbytes() == 0
    assert layer.output.dense.weight.shape == (64, 128)
    assert model.embeddings.word_embeddings.weight.untyped_storage().nbytes() > 0
    with torch.no_grad():
        refresh()
        with pytest.raises(ChimeraError, match="without discard_weights"):
            compiled(*inputs)


def test_discarded_weights_go_back_to_the_system() -> None:
    layers = [nn.Linear(512, 512) for _ in range(64)]
    net, x = nn.Sequential(*layers).eval(), torch.randn(4, 512)
    weights = sum(parameter.nbytes for parameter in net.parameters())
    options = {"discard_weights": True}
    with torch.no_grad():
        torch.compile(Net().eval(), backend=backend)(torch.randn(3, 16))
        before = resident()
        torch.compile(net, backend=backend, options=options)(x)
    assert resident() - before < 0.7 * weights


def resident() -> int:
    """Bytes of memory that this process takes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_modules_without_weights_are_told_apart() -> None:
    models_, x = [Net().eval(), Net().eval()], torch.randn(3, 16)
    with torch.no_grad():
        expected = [model(x) for model in models_]
        options = {"discard_weights": True}
        calls = [torch.compile(m, backend=backend, options=options) for m in models_]
        for _ in range(2):
            for call, result in zip(calls, expected):
                models.assert_equal(result, call(x))


class TestWeights:
    def test_modules_of_a_class_share_code_and_no_weights(
        self, compiled_texts: list[str]
    ) -> None:
        nets, x = [Net().eval(), Net().eval()], torch.randn(3, 16)
        compiled = [torch.compile(net, backend=backend) for net in nets]
        with torch.no_grad():
            for _ in range(2):
                for net, call in zip(nets, compiled):
                    models.assert_equal(net(x), call(x))
        assert len(compiled_texts) == 1

    def test_changes_in_place_are_seen(self, compiled_texts: list[str]) -> None:
        net, other, x = Net().eval(), Net().eval(), torch.randn(3, 16)
        compiled = torch.compile(net, backend=backend)
        with torch.no_grad():
            compiled(x)
            net.first.weight.mul_(2)
            models.assert_equal(net(x), compiled(x))
            net.load_state_dict(other.state_dict())
            models.assert_equal(other(x), compiled(x))
            net.first.weight.data = torch.randn(32, 16)
            models.assert_equal(net(x), compiled(x))
        assert len(compiled_texts) == 1

    def test_refresh_shows_changes_that_torch_does_not_count(self) -> None:
        net, x = Net().eval(), torch.randn(3, 16)
        compiled = torch.compile(net, backend=backend)
        with torch.no_grad():
            compiled(x)
            net.second.bias.data.add_(1.0)
            refresh()
            models.assert_equal(net(x), compiled(x))

    def test_tied_and_transposed(self) -> None:
        class Tied(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.table = nn.Embedding(20, 16)
                self.turned = nn.Parameter(torch.randn(8, 16).t())

            def forward(self, ids: torch.Tensor) -> Any:
                rows = self.table(ids)
                return rows @ self.table.weight.t(), rows @ self.turned

        model, ids = Tied(), torch.arange(6)
        compiled = check(model, ids)
        with torch.no_grad():
            model.turned.add_(1.0)
            models.assert_equal(model(ids), compiled(ids))

    def test_weights_of_a_dead_module_are_dropped(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[Any] = []
        real = Weights.__init__

        def note(self: Weights, *arguments: Any) -> None:
            made.append(self)
            real(self, *arguments)

        monkeypatch.setattr(Weights, "__init__", note)
        net, x = Net().eval(), torch.randn(3, 16)
        with torch.no_grad():
            torch.compile(net, backend=backend)(x)
        assert [len(weights) for weights in made] == [1]
        del net
        gc.collect()
        assert [len(weights) for weights in made] == [0]


class TestSharing:
    """Graphs of one model read what one of them has packed."""

    @pytest.fixture
    def memories(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The sizes of all values that get memory."""
        made: list[int] = []
        real = _runtime.Memory

        def make(size: int) -> Any:
            made.append(size)
            return real(size)

        monkeypatch.setattr(_runtime, "Memory", make)
        return made

    # Of few registers (AVX2), a single row would choose panels of its own.
    @staticmethod
    def make() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
        layers = (nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256))
        return nn.Sequential(*layers).eval(), torch.randn(64, 256), torch.randn(16, 256)

    @pytest.mark.parametrize("discards", [False, True])
    def test_a_prompt_and_tokens(self, memories: list[int], discards: bool) -> None:
        net, prompt, tokens = self.make()
        expected = [net(prompt), net(tokens)]
        options = {"discard_weights": discards}
        compiled = torch.compile(net, backend=backend, dynamic=False, options=options)
        with torch.no_grad():
            for _ in range(2):
                models.assert_equal(expected[0], compiled(prompt))
                models.assert_equal(expected[1], compiled(tokens))
        assert memories == [4 * 256 * 512] * 2
        assert (net[0].weight.untyped_storage().nbytes() == 0) == discards

    @pytest.mark.parametrize("discards", [False, True])
    def test_a_row_reads_the_panels_of_many(
        self, memories: list[int], discards: bool
    ) -> None:
        net, prompt, _ = self.make()
        token = prompt[:1].clone()
        expected = [net(prompt), net(token)]
        options = {"discard_weights": discards}
        compiled = torch.compile(net, backend=backend, dynamic=False, options=options)
        with torch.no_grad():
            models.assert_equal(expected[0], compiled(prompt))
            models.assert_equal(expected[1], compiled(token))
        assert memories == [4 * 256 * 512] * 2

    def test_a_table_is_looked_up_where_it_is_packed(self, memories: list[int]) -> None:
        class Words(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.table = nn.Embedding(1001, 96)
                self.last = nn.Linear(96, 1001, bias=False)
                self.last.weight = self.table.weight

            def forward(self, words: torch.Tensor) -> torch.Tensor:
                return self.last(torch.tanh(self.table(words)))

        net, words = Words().eval(), torch.randint(0, 1001, (2, 32))
        words[0, 0], words[0, 1] = 0, 1000
        expected = net(words)
        options = {"discard_weights": True}
        compiled = torch.compile(net, backend=backend, options=options)
        with torch.no_grad():
            models.assert_equal(expected, compiled(words))
        assert len(memories) == 1
        assert net.table.weight.untyped_storage().nbytes() == 0

    def test_changes_are_packed_once(self, memories: list[int]) -> None:
        net, prompt, tokens = self.make()
        compiled = torch.compile(net, backend=backend, dynamic=False)
        with torch.no_grad():
            compiled(prompt), compiled(tokens)
            net[0].weight.mul_(2)
            models.assert_equal(net(prompt), compiled(prompt))
            models.assert_equal(net(tokens), compiled(tokens))
            assert len(memories) == 3
            net[0].weight.data.mul_(2)
            refresh()
            models.assert_equal(net(tokens), compiled(tokens))
            models.assert_equal(net(prompt), compiled(prompt))
        assert len(memories) == 5

    def test_other_weights_are_others(self, memories: list[int]) -> None:
        net, prompt, tokens = self.make()
        other = copy.deepcopy(net)
        with torch.no_grad():
            other[0].weight.add_(1.0)
            for each in (net, other):
                compiled = torch.compile(each, backend=backend, dynamic=False)
                for x in (prompt, tokens):
                    models.assert_equal(each(x), compiled(x))
        assert len(memories) == 4

    def test_memory_goes_with_the_last_program(self) -> None:
        known = len(_prepared._values)
        net, prompt, tokens = self.make()
        compiled = torch.compile(net, backend=backend, dynamic=False)
        with torch.no_grad():
            compiled(prompt), compiled(tokens)
        assert len(_prepared._values) == known + 2
        del net, compiled
        torch._dynamo.reset()
        gc.collect()
        assert len(_prepared._values) == known


class TestResults:
    def test_strides_are_the_promised_ones(self) -> None:
        def views(x: torch.Tensor) -> Any:
            y = x.exp()
            spread = y[0:1].expand(4, 5)
            return y.t(), spread, (x + 1)[:, ::2], y.reshape(2, 2, 5).permute(2, 0, 1)

        x = torch.randn(4, 5)
        compiled = torch.compile(views, backend=backend)
        for expected, actual in zip(views(x), compiled(x)):
            assert expected.stride() == actual.stride()
            torch.testing.assert_close(actual, expected)

    def test_a_view_after_a_break_relies_on_strides(self) -> None:
        def turned(x: torch.Tensor) -> torch.Tensor:
            y = x.exp().t()
            torch._dynamo.graph_break()
            return y.t().view(-1) * 2

        check(turned, torch.randn(4, 5))

    def test_spelled_out_operators_keep_the_layout_of_torch(self) -> None:
        def attend(x: torch.Tensor) -> Any:
            return F.scaled_dot_product_attention(x, x, x), F.rms_norm(x.mT, [5])

        x = torch.randn(2, 3, 5, 8)
        compiled = check(attend, x)
        for expected, actual in zip(attend(x), compiled(x)):
            assert expected.stride() == actual.stride()

    def test_none_numbers_and_arguments_pass_by(self) -> None:
        def mixed(x: torch.Tensor) -> Any:
            return None, x, 3, x + 1, x

        x = torch.randn(4)
        nothing, same, number, more, again = torch.compile(mixed, backend=backend)(x)
        assert nothing is None and number == 3
        assert same is x and again is x
        torch.testing.assert_close(more, x + 1)

    def test_no_arguments(self) -> None:
        result = torch.compile(lambda: torch.arange(4) * 2, backend=backend)()
        assert result.tolist() == [0, 2, 4, 6]

    def test_channels_last(self) -> None:
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval()
        model = model.to(memory_format=torch.channels_last)
        x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
        compiled = check(model, x)
        with torch.no_grad():
            assert compiled(x).stride() == model(x).stride()


class TestChanges:
    def test_buffers(self) -> None:
        class Counter(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("total", torch.zeros(3))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.total.add_(x.sum(0))
                return x * self.total

        eager, model, x = Counter(), Counter(), torch.rand(2, 3)
        compiled = torch.compile(model, backend=backend)
        for _ in range(3):
            models.assert_equal(eager(x), compiled(x))
        torch.testing.assert_close(model.total, eager.total)

    def test_arguments(self) -> None:
        def change(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            x[1:].mul_(2)
            return (x + y).relu()

        x, y = torch.randn(4, 3), torch.randn(4, 3)
        mine, theirs = x.clone(), x.clone()
        models.assert_equal(
            change(theirs, y), torch.compile(change, backend=backend)(mine, y)
        )
        torch.testing.assert_close(mine, theirs)

    def test_static_cache(self, compiled_texts: list[str]) -> None:
        transformers = pytest.importorskip("transformers")
        config = models.gpt2_config()
        model = transformers.GPT2LMHeadModel(config).eval()
        compiled = torch.compile(model, backend=backend)
        expected = self._decode(transformers, config, model)
        assert self._decode(transformers, config, compiled) == expected
        assert self._decode(transformers, config, compiled) == expected
        assert len(compiled_texts) == 2

    @pytest.mark.parametrize("family", ["gpt2", "llama"])
    @pytest.mark.parametrize("element", [torch.float32, torch.bfloat16])
    def test_prompts_of_any_length_are_planned(
        self, monkeypatch: pytest.MonkeyPatch, family: str, element: torch.dtype
    ) -> None:
        transformers = pytest.importorskip("transformers")
        if family == "gpt2":
            config = models.gpt2_config()
            model = transformers.GPT2LMHeadModel(config)
        else:
            model, _ = models.make("llama")
            config = model.config
        model = model.eval().to(element)
        libraries: list[Any] = []
        real = chimera._compiler.compile_text

        def note(text: str, **options: Any) -> Any:
            libraries.append(real(text, **options))
            return libraries[-1]

        monkeypatch.setattr(chimera._compiler, "compile_text", note)
        compiled = torch.compile(model, backend=backend)
        for length in (10, 14, 6, 9):
            cache = transformers.StaticCache(config=config, max_cache_len=32)
            other = transformers.StaticCache(config=config, max_cache_len=32)
            ids = torch.arange(length)[None] * 7
            with torch.no_grad():
                expected = model(input_ids=ids, past_key_values=cache, use_cache=True)
                actual = compiled(input_ids=ids, past_key_values=other, use_cache=True)
            tolerance = 1e-4 if element is torch.float32 else 5e-2
            models.assert_equal(expected.logits, actual.logits, tolerance)
        assert len(libraries) == 2
        for library in libraries:
            texts = [remark["text"] for remark in library.manifest["remarks"]]
            assert not any("no chains are formed" in text for text in texts)

    @staticmethod
    def _decode(transformers: Any, config: Any, model: Any) -> list[int]:
        cache = transformers.StaticCache(config=config, max_cache_len=32)
        ids = torch.arange(10)[None] * 7
        tokens: list[int] = []
        with torch.no_grad():
            for _ in range(20):
                output = model(input_ids=ids, past_key_values=cache, use_cache=True)
                ids = output.logits[:, -1:].argmax(-1)
                tokens.append(ids.item())
        return tokens


class TestFallbacks:
    def test_an_operator_without_lowering_runs_in_torch_and_is_said_once(
        self, compiled_texts: list[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        def function(x: torch.Tensor) -> torch.Tensor:
            y = torch.lgamma(x.exp() * 2 + 1)
            return y.relu() * 3 + torch.lgamma(y.abs() + 2)

        with caplog.at_level(logging.WARNING, "chimera"):
            check(function, torch.randn(3, 4))
            torch._dynamo.reset()
            check(function, torch.randn(3, 4))
        said = [r.message for r in caplog.records if "lgamma" in r.message]
        assert len(said) <= 1
        assert any("aten.lgamma" in reason for reason in fallbacks())
        assert compiled_texts

    def test_random_numbers_are_torch_s(self) -> None:
        def noisy(x: torch.Tensor) -> torch.Tensor:
            return torch.exp(x * 0.5 + torch.rand(4)) * 2 + 1

        x = torch.randn(4)
        torch.manual_seed(1)
        expected = noisy(x)
        torch.manual_seed(1)
        torch.testing.assert_close(torch.compile(noisy, backend=backend)(x), expected)

    def test_complex_numbers_run_in_torch(self) -> None:
        def spectrum(x: torch.Tensor) -> torch.Tensor:
            return torch.fft.rfft(x * 2 + 1).abs() * 3 + 1

        check(spectrum, torch.randn(3, 8))

    def test_a_compiler_that_fails_leaves_all_to_torch(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any, **__: Any) -> Any:
            raise CompileError("out of luck")

        monkeypatch.setattr(chimera._compiler, "compile_text", refuse)
        check(Net().eval(), torch.randn(3, 16))
        assert any("out of luck" in reason for reason in fallbacks())

    def test_an_operator_that_the_compiler_refuses_runs_in_torch(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = chimera._compiler.compile_text
        texts: list[str] = []

        def refuse(text: str, **options: Any) -> Any:
            if "math.erf" in text:
                raise CompileError("no erf today")
            texts.append(text)
            return real(text, **options)

        def function(x: torch.Tensor) -> torch.Tensor:
            y = torch.erf(x.relu() * 2 + 1)
            values, _ = y.max(-1, keepdim=True)
            return (y - values).exp().sum(-1)

        monkeypatch.setattr(chimera._compiler, "compile_text", refuse)
        check(function, torch.randn(3, 4))
        assert any("no erf today" in reason for reason in fallbacks())
        assert any("math.exp" in text and "linalg" in text for text in texts)

    def test_a_missing_importer_leaves_all_to_torch(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "torch_mlir.extras.fx_importer", None)
        check(Net().eval(), torch.randn(3, 16))
        assert any("pip install torch-mlir" in reason for reason in fallbacks())

    def test_training_says_what_it_is_not_for(self) -> None:
        net = Net()
        result = torch.compile(net, backend=backend)(torch.randn(3, 16))
        assert result.requires_grad
        with pytest.raises(ChimeraError, match="inference only"):
            result.sum().backward()

    def test_an_index_out_of_range_is_an_error(self) -> None:
        table = nn.Embedding(10, 4)
        with pytest.raises(RuntimeError), torch.no_grad():
            torch.compile(table, backend=backend)(torch.tensor([3, 99]))


class TestDynamicSizes:
    @pytest.mark.parametrize("name", ["bert", "llama"])
    def test_batch_and_length_without_recompiling(
        self, name: str, compiled_texts: list[str]
    ) -> None:
        before = fallbacks()
        model, _ = models.make(name)
        compiled = torch.compile(model, backend=backend)
        for shape in ((2, 16), (3, 7), (5, 24)):
            ids = torch.randint(0, 200, shape)
            torch._dynamo.mark_dynamic(ids, 0)
            torch._dynamo.mark_dynamic(ids, 1)
            with torch.no_grad():
                models.assert_equal(model(ids), compiled(ids))
        assert len(compiled_texts) == 1
        assert not new_reasons(before)

    def test_sizes_as_numbers(self) -> None:
        def scaled(x: torch.Tensor) -> Any:
            y = (x * x.shape[0] + x.numel()).reshape(-1)
            return y, y.shape[0] * 2, y[::2], x.t() * 2

        compiled = torch.compile(scaled, backend=backend, dynamic=True)
        for rows in (3, 4, 7):
            x = torch.randn(rows, 5)
            expected, actual = scaled(x), compiled(x)
            models.assert_equal(expected, actual)
            assert actual[1] == expected[1]
            assert actual[2].stride() == expected[2].stride()
            assert actual[3].stride() == expected[3].stride()

    def test_what_needs_static_sizes_is_compiled_for_each(
        self, compiled_texts: list[str]
    ) -> None:
        def ordered(x: torch.Tensor) -> torch.Tensor:
            return ((x * 2 + 1).sort(-1)[0] * 3).exp().sum(-1)

        compiled = torch.compile(ordered, backend=backend, dynamic=True)
        for rows in (3, 4, 3):
            x = torch.randn(rows, 5)
            models.assert_equal(ordered(x), compiled(x))
        assert any("each shape" in reason for reason in fallbacks())


def test_random_programs() -> None:
    report = io.StringIO()
    wrong = fuzz_torch.run(50, 0, report)
    assert not wrong, report.getvalue()
