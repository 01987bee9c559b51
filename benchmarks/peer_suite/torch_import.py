"""torch modules as linalg on tensors, through the importer that IREE's compiler has.

The passes are torch-mlir's own; what comes out holds upstream dialects alone.
"""

import re

PIPELINES = ("torchdynamo-export-to-torch-backend-pipeline",
             "torch-backend-to-linalg-on-tensors-backend-pipeline")


def export(module, weights: dict, inputs):
    """The program of torch.export, of `inputs` and `weights`."""
    import torch

    class Lifted(torch.nn.Module):
        def forward(self, inputs, tensors):
            named = dict(zip(weights, tensors))
            return torch.func.functional_call(module, named, tuple(inputs))

    program = torch.export.export(Lifted(), (list(inputs), list(weights.values())))
    program = program.run_decompositions({})
    restore_batch_norms(program.graph)
    return program


def restore_batch_norms(graph) -> None:
    """The importer knows aten.batch_norm, not what torch.export makes of it."""
    import torch
    aten = torch.ops.aten
    for node in list(graph.nodes):
        if node.target is not aten._native_batch_norm_legit_no_training.default:
            continue
        *tensors, momentum, eps = node.args
        for part in list(node.users):
            if part.args[1] == 0:
                part.target = aten.batch_norm.default
                part.args = (*tensors, False, momentum, eps, False)
            else:
                graph.erase_node(part)
        graph.erase_node(node)


def to_linalg(program) -> str:
    from iree.compiler.extras.fx_importer import FxImporter
    from iree.compiler.ir import Context
    from iree.compiler.passmanager import PassManager
    importer = FxImporter(context=Context())
    importer.import_program(program, func_name="main")
    for pipeline in PIPELINES:
        PassManager.parse(f"builtin.module({pipeline})",
                          importer.module.context).run(importer.module.operation)
    return str(importer.module)


def mark_constants(text: str, inputs: int) -> str:
    """Says of all arguments but the first that they are the same in every call."""
    header = re.search(r"func\.func @main\(.*?\) ->", text).group(0)
    marked = re.sub(r"%arg(\d+): tensor<\w*>",
                    lambda m: m.group(0) + (" {chimera.constant}"
                                            if int(m.group(1)) >= inputs else ""),
                    header)
    return text.replace(header, marked, 1)
