"""Chimera beside what its users would pick instead, on the CPU of this machine.

`benchmarks/peers` is the program; the parts are: `cases` and `models` say what is
computed, once for all peers (`ops`), and as MLIR text (`program`); `networks` are
torchvision's, which `export-networks` writes as MLIR (`torch_import`); `data` makes the
arrays; `adapters` and `torch_peers` run it on one peer, inside a `worker` process;
`turns` starts the workers and takes turns among them; `report` writes the tables.

`benchmarks/rates` runs the same cases on Chimera alone and shares `options` and
`tables`. It has no packages beside Python's own, so those two, `cases`, `models`,
`networks` and `program` import none.
"""
