"""What reports have in common."""

import math
import pathlib
import re

TITLES = {
    "chain": "E = (A B) D, batched (Table IV of the paper)",
    "softmax": "softmax(A B / sqrt k) D, the same shapes",
    "attention": "Attention: heads x positions x d",
    "mlp": "Linear, GELU (of codes: ReLU), linear: M x K x H x N",
    "convolution": "Two convolutions with ReLU (Table V of the paper), channels first",
    "decode": "One token from weights of few bits",
    "memory": "Operations that wait for memory",
    "models": "Exported programs",
    "network": "Networks of torchvision, one image",
}


def title(group: str, threads: int) -> str:
    return f"{TITLES[group]}, {threads} thread{'s' if threads > 1 else ''}"


def cpu_name() -> str:
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([^\t\n]+)\t*: (.*)$", text, re.M))
    return "{model name}, family {cpu family} model {model}".format(**fields)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def shorten(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most] + " ..."
