"""Tenon: a tensor compiler and runtime with named axes.

Run an ONNX model at any size:

    >>> import tenon
    >>> model = tenon.load("model.onnx")        # doctest: +SKIP
    >>> logits = model(image)                   # doctest: +SKIP

Lazy tensors record what is asked of them and compute it when somebody looks, in few fused kernels:

    >>> x = tenon.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = (x * 2 + 1).relu().sum()
    >>> y.item()
    24.0
"""

from tenon import _names, nn, optim
from tenon._display import Explanation
from tenon._graphs import building_graph, jit
from tenon._mesh import MeshModel, mesh, run_as_threads
from tenon._models import Model, compile, donate, explain, load, program_info, save, save_onnx, trace
from tenon._names import where
from tenon._tenon import (
    Array,
    Dtype,
    Error,
    Executable,
    Explaining,
    Extent,
    Graph,
    Mesh,
    MeshExecutable,
    PositionError,
    Realization,
    RunExplanation,
    Shape,
    Tensor,
    Trace,
    Unsupported,
    Value,
    bf16,
    boolean,
    builtin_model,
    ceildiv,
    checkpoint,
    clear_programs,
    clear_realizations,
    constant,
    discard_writes,
    explain_realizations,
    extent_max,
    extent_min,
    f16,
    f32,
    f64,
    grad,
    i8,
    i16,
    i32,
    i64,
    import_onnx,
    input,
    is_grad_enabled,
    load_safetensors,
    log_kernels,
    log_recompiles,
    manual_seed,
    model_names,
    ops,
    parse_graph,
    place,
    rand,
    randn,
    realization_counts,
    realizations,
    realizations_text,
    realize,
    recorded_graph,
    save_safetensors,
    set_program_limit,
    set_weight_budget,
    u8,
    u16,
    u32,
    u64,
)
from tenon._tensors import (
    arange,
    enable_grad,
    from_numpy,
    full,
    no_grad,
    ones,
    ones_like,
    set_threads,
    tensor,
    threads,
    zeros,
    zeros_like,
)

explaining = Explaining  # `with tenon.explaining():`
__version__ = "0.1.0"


def __getattr__(name):
    # Imported when asked for, so that `python -m tenon.generation` is the first to do so.
    if name in ("Generation", "Generator", "Sampling", "generate", "generation"):
        import importlib

        module = importlib.import_module("tenon.generation")
        return module if name == "generation" else getattr(module, name)
    raise AttributeError(f"module 'tenon' has no attribute '{name}'")


# Functions of the tables by their own names: tenon.relu, tenon.softmax, tenon.matmul, ...
for _name in ops.__dict__:
    if not _name.startswith("_") and _name not in globals():
        globals()[_name] = getattr(ops, _name)
del _name
_names.install()
