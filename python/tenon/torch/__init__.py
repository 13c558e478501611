"""PyTorch models on Tenon, by three doors that share one table of operators:

- `tenon.torch.export(module, example, dynamic_shapes=...)`: a `torch.export` program as a graph with named axes
- `torch.compile(model, backend="tenon", dynamic=True)`
- `device="tenon"`: lazy tensors under PyTorch's own
"""

from .backend import tenon_backend
from .export import ExportedModel, export
from .lower import MissingOperators
from .report import Report, report, reset_report
from .table import Unsupported
from . import device  # noqa: F401: registers it

__all__ = [
    "ExportedModel", "MissingOperators", "Report", "Unsupported", "export", "report", "reset_report", "tenon_backend",
]  # fmt: skip
