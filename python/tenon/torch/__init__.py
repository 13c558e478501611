"""PyTorch models on Tenon, by three doors that share one table of operators:

- `tenon.torch.export(module, example, dynamic_shapes=...)`: a `torch.export` program as a graph with named axes
- `torch.compile(model, backend="tenon", dynamic=True)`
- `device="tenon"`: lazy tensors under PyTorch's own
"""

import torch.utils.backend_registration

if not hasattr(torch.utils.backend_registration, "_setup_privateuseone_for_python_backend"):
    raise ImportError(f"tenon.torch needs PyTorch 2.10 or later; this is {torch.__version__}")

from .backend import tenon_backend
from .explain import explain, explaining
from .export import ExportedModel, export
from .lower import MissingOperators
from .report import Report, report, reset_report
from .table import Unsupported
from . import device  # noqa: F401 (it registers itself)

__all__ = [
    "ExportedModel", "MissingOperators", "Report", "Unsupported", "explain", "explaining", "export", "report", "reset_report", "tenon_backend",
]  # fmt: skip
