"""torch.distributed with tensors of the device, over gloo, in two processes: what the CPU's tensors give."""

import distributed_worker as worker
import pytest
import torch

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(), reason="PyTorch is without gloo"
)


@pytest.mark.parametrize("part", [worker.collectives, worker.training])
def test_two_processes(part, tmp_path):
    torch.multiprocessing.spawn(worker.start, (str(tmp_path / "store"), part), nprocs=2)
