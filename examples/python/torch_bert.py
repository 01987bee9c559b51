"""BERT through `torch.compile(backend="chimera")`, beside PyTorch's eager mode.

The model has random weights: nothing is downloaded.

usage: python examples/python/torch_bert.py [--layers=12] [--length=128]
"""

import argparse
import time

import torch
from transformers import BertConfig, BertModel


def median_time(call, seconds: float = 2.0) -> float:
    """The median of calls for about so many seconds."""
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--length", type=int, default=128)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = BertModel(BertConfig(num_hidden_layers=options.layers)).eval()
    tokens = torch.randint(0, model.config.vocab_size, (1, options.length))
    compiled = torch.compile(model, backend="chimera")

    with torch.inference_mode():
        begin = time.perf_counter()
        result = compiled(tokens).last_hidden_state
        print(f"compiled in {time.perf_counter() - begin:.1f} s")
        expected = model(tokens).last_hidden_state
        error = (result - expected).abs().max().item()
        print(f"largest difference to eager mode {error:.1e}")
        assert error < 1e-4
        for name, call in (("chimera", compiled), ("eager", model)):
            print(f"{name:8} {1e3 * median_time(lambda: call(tokens)):.1f} ms")


if __name__ == "__main__":
    main()
