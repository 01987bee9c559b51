"""torch in its three ways, and the modules that other peers import from it.

Nothing of torch is imported before it is needed: every worker reads this file.
"""

from . import data, networks
from .adapters import Adapter, Ready
from .cases import FLOATS, Case
from .ops import TorchOps


def make_module(case: Case, fused: bool, element=None):
    """A module whose parameters are the weights, and its inputs, of `element` if it
    is given."""
    import torch
    if case.is_network:
        inputs = [torch.from_numpy(array) for array in data.make_inputs(case)]
        return networks.build(case.name), inputs

    class Module(torch.nn.Module):
        def __init__(self, tensors):
            super().__init__()
            self.slots = []
            for i, (argument, tensor) in enumerate(zip(case.arguments, tensors)):
                if argument.constant:
                    setattr(self, f"weight{i}", torch.nn.Parameter(
                        tensor, requires_grad=False))
                self.slots.append(argument.constant)
            self.ops = TorchOps(fused)

        def forward(self, *inputs):
            rest = iter(inputs)
            arguments = [getattr(self, f"weight{i}") if constant else next(rest)
                         for i, constant in enumerate(self.slots)]
            return case.compute(self.ops, *arguments)

    element = element or case.element
    kind = torch.bfloat16 if element == "bf16" else torch.float32
    tensors = [torch.from_numpy(x) for x in data.make(case)]
    tensors = [x.to(kind) if x.is_floating_point() else x for x in tensors]
    inputs = [tensor for argument, tensor in zip(case.arguments, tensors)
              if not argument.constant]
    return Module(tensors).eval(), inputs


class Torch(Adapter):
    types = FLOATS

    def __init__(self, setting):
        super().__init__(setting)
        import torch
        self.torch = torch
        torch.set_num_threads(setting.threads)
        torch.set_grad_enabled(False)

    def ready(self, module, inputs) -> Ready:
        last = []

        def call():
            last[:] = data.as_list(module(*inputs))

        return Ready(call, lambda: [x.float().numpy() for x in last])


def with_channels_last(module, inputs):
    """Four dimensions of everything in torch's layout for them."""
    import torch
    last = torch.channels_last
    return (module.to(memory_format=last),
            [x.contiguous(memory_format=last) if x.dim() == 4 else x for x in inputs])


class Eager(Torch):
    about = ("operation by operation, attention spelled out; convolutions with "
             "channels first or last, also in what is handed over")

    def variants(self, case):
        made = {"": lambda: self.ready(*make_module(case, fused=False))}
        if case.convolves:
            made["channels last"] = lambda: self.ready(
                *with_channels_last(*make_module(case, fused=False)))
        return made


class Sdpa(Torch):
    about = "eager with scaled_dot_product_attention, where there is attention"

    def variants(self, case):
        if not case.attends:
            return {}
        return {"": lambda: self.ready(*make_module(case, fused=True))}


class Compiled(Torch):
    about = "torch.compile with frozen weights"
    prepares_weights = True

    def variants(self, case):
        labels = ["spelled out"] + (["sdpa"] if case.attends else [])
        labels += ["channels last"] if case.convolves else []
        return {label: lambda label=label: self.prepare(case, label)
                for label in labels}

    def prepare(self, case: Case, label: str) -> Ready:
        import torch._inductor.config
        torch._inductor.config.freezing = True
        self.torch._dynamo.reset()
        module, inputs = make_module(case, label == "sdpa")
        if label == "channels last":
            module, inputs = with_channels_last(module, inputs)
        ready = self.ready(self.torch.compile(module), inputs)
        ready.call()  # The first one compiles.
        return ready
