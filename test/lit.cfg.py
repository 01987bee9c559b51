"""How lit runs the tests of Chimera."""

import os
import re
import shutil
import subprocess

import lit.formats

config.name = "Chimera"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.chimera_obj_root, "test")

# Chimera's tools, then LLVM's: FileCheck, not, count, mlir-opt, mlir-runner.
config.environment["PATH"] = os.pathsep.join(
    [config.chimera_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false"
)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "OMP_NUM_THREADS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

on = ("ON", "1", "TRUE", "YES")
sanitized = config.sanitizers.upper() in on
sanitizer_flags = "-fsanitize=address,undefined -fno-sanitize=vptr"

config.substitutions += [
    ("%chimera_src_root", config.chimera_src_root),
    ("%chimera_obj_root", config.chimera_obj_root),
    ("%examples", os.path.join(config.chimera_src_root, "examples")),
    ("%llvm_lib_dir", config.llvm_lib_dir),
    ("%llvm_include_dir", config.llvm_include_dir),
    ("%bin", config.chimera_tools_dir),
    ("%lib", config.chimera_libs_dir),
    ("%plugin", os.path.join(config.chimera_libs_dir, "libChimeraPlugin.so")),
    ("%mlir_dir", config.mlir_dir),
    ("%package_python", config.package_python),
    ("%python", config.python),
    ("%cmake", config.cmake),
    ("%build_type", config.build_type),
    ("%cxx_flags", sanitizer_flags if sanitized else ""),
    # Last: `%cc` is a prefix of other names.
    ("%cxx\\b", config.cxx),
    ("%cc\\b", config.cc),
]

# What the machine can run.
try:
    with open("/proc/cpuinfo") as file:
        flags = set(re.search(r"^flags\s*:(.*)$", file.read(), re.M).group(1).split())
except (OSError, AttributeError):
    flags = set()
if {"avx2", "fma"} <= flags:
    config.available_features.add("avx2")
if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
    config.available_features.add("avx512")
if "avx512_bf16" in flags and "avx512" in config.available_features:
    config.available_features.add("avx512bf16")
if "avx512_vnni" in flags and "avx512" in config.available_features:
    config.available_features.add("avx512vnni")
if sanitized:
    config.available_features.add("sanitizers")
# Name spaces in which a test may mount what it likes.
if shutil.which("unshare") and subprocess.run(
    ["unshare", "--user", "--map-root-user", "--mount", "true"], capture_output=True
).returncode == 0:
    config.available_features.add("mounts")
# valgrind's simulator runs programs of the benchmarks.
walk = os.path.join(config.chimera_tools_dir, "chimera-cache-walk")
if "avx2" in config.available_features and os.path.exists(walk) and not sanitized:
    if shutil.which("valgrind"):
        config.available_features.add("cachegrind")
    else:
        lit_config.note("valgrind is not installed: cache simulation skipped")
if os.path.exists(os.path.join(config.chimera_tools_dir, "chimera-paper-groups")):
    config.available_features.add("paper-groups")
# Kernels for NVIDIA GPUs are assembled where CUDA is installed; a GPU is not needed.
toolkits = [os.environ.get(name) for name in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH")]
toolkits = [os.path.join(root, "bin") for root in toolkits + ["/usr/local/cuda"] if root]
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=os.pathsep.join(toolkits))
if ptxas:
    config.available_features.add("ptxas")
    config.environment["PATH"] += os.pathsep + os.path.dirname(ptxas)
else:
    lit_config.note("ptxas is not installed: assembly of kernels skipped")
# Programs of several processes: the same object with two libraries of MPI.
if all(
    shutil.which(f"{tool}.{library}")
    for tool in ("mpicc", "mpirun")
    for library in ("openmpi", "mpich")
) and not sanitized:
    config.available_features.add("mpi")
    # Containers have no other user.
    config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
    config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
else:
    lit_config.note("MPI is not installed (scripts/setup --mpi): processes skipped")
if config.link_dylib.upper() in on:
    config.available_features.add("mlir-dylib")

# The Python package, where it is built, and what its doors take.
if config.package_python and not sanitized:
    config.available_features.add("package")
    config.environment["PYTHONPATH"] = os.path.join(config.chimera_obj_root, "python")
    for module in ("torch", "torch_mlir", "onnxscript", "jax"):
        found = f"import importlib.util as u; exit(u.find_spec('{module}') is None)"
        if subprocess.run([config.package_python, "-c", found]).returncode == 0:
            config.available_features.add(module)
    if "torch" not in config.available_features:
        lit_config.note("torch is not installed: what it exchanges is skipped")
else:
    lit_config.note("the Python package is not built (scripts/setup --python): skipped")

# Reports are looked at in a browser.
if shutil.which("chromium") and shutil.which("chromedriver"):
    config.available_features.add("chromium")
else:
    lit_config.note("chromium-driver is not installed: reports are not looked at")
