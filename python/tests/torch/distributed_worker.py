"""What each of two processes does in test_distributed.py: collectives, and training, of the device and of the CPU."""

import copy
import datetime
import os

import tenon.torch  # noqa: F401 (the device)
import torch
import torch.distributed as dist
from torch import nn

DEVICE = "tenon"


def start(rank: int, store: str, part) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=datetime.timedelta(seconds=100)
    )
    part(rank)
    dist.barrier()
    dist.destroy_process_group()


def numbers(rank: int, *sizes: int):
    """The same on both devices, others on each rank."""
    made = torch.randn(sizes, generator=torch.Generator().manual_seed(rank))
    return made.clone().to(DEVICE), made.clone()


def same(ours, theirs) -> None:
    if isinstance(ours, torch.Tensor):
        assert ours.device.type == DEVICE
        torch.testing.assert_close(ours.cpu(), theirs)
    else:
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)


def collectives(rank: int) -> None:
    for make in (_all_reduce, _all_reduce_later, _broadcast, _reduce, _all_gather, _into_one, _parts, _to_all, _one_to_all):
        ours, theirs = (make(rank, x) for x in numbers(rank, 4, 6))
        same(ours, theirs)
    ours, theirs = numbers(rank, 2, 3)
    _exchange(rank, ours)
    _exchange(rank, theirs)
    same(ours, theirs)
    weight = nn.Parameter(numbers(rank, 3)[0])
    dist.all_reduce(weight.grad if weight.grad is not None else weight.detach())
    objects = [None, None]
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": 0}, {"rank": 1}]


def _all_reduce(_, x):
    y = x * 2
    dist.all_reduce(y)
    dist.all_reduce(x[1], op=dist.ReduceOp.MAX)  # a view
    return [x, y]


def _all_reduce_later(_, x):
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    return x + 1


def _broadcast(_, x):
    dist.broadcast(x, 1)
    return x


def _reduce(rank, x):
    dist.reduce(x, 0)
    return x if rank == 0 else x * 0


def _all_gather(_, x):
    parts = [torch.zeros_like(x) for _ in range(2)]
    dist.all_gather(parts, x)
    return parts


def _into_one(_, x):
    whole = x.new_zeros(8, 6)
    dist.all_gather_into_tensor(whole, x)
    return whole


def _parts(_, x):
    part = x.new_zeros(2, 6)
    dist.reduce_scatter_tensor(part, x)
    other = x.new_zeros(2, 6)
    dist.reduce_scatter(other, list(x.chunk(2)))
    return [part, other]


def _to_all(_, x):
    result = torch.empty_like(x)
    dist.all_to_all_single(result, x)
    return result


def _one_to_all(rank, x):
    part = x.new_zeros(2, 6)
    dist.scatter(part, [t.contiguous() for t in x.chunk(2)] if rank == 0 else None, src=0)
    parts = [torch.zeros_like(part) for _ in range(2)] if rank == 1 else None
    dist.gather(part, parts, dst=1)
    return [part, *(parts or [])]


def _exchange(rank, x):
    """Both receive before they send."""
    got = torch.zeros_like(x)
    works = [dist.irecv(got, 1 - rank), dist.isend(x, 1 - rank)]
    for work in works:
        work.wait()
    x.copy_(got)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 40), nn.BatchNorm1d(40), nn.Linear(40, 3)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu())


def training(rank: int) -> None:
    for options in (
        {"find_unused_parameters": True},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0001, "find_unused_parameters": True},
        {"static_graph": True},
    ):
        torch.manual_seed(rank)  # weights of rank 0 are sent to the other
        theirs = Net()
        ours = copy.deepcopy(theirs).to(DEVICE)
        pairs = []
        for net in (ours, theirs):
            run = nn.parallel.DistributedDataParallel(net, **options)
            pairs.append((run, torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)))
        for step in range(4):
            data = numbers(2 * step + rank, 5, 6)
            losses = []
            for (run, optimizer), x in zip(pairs, data):
                optimizer.zero_grad()
                if step == 2 and "static_graph" not in options:
                    with run.no_sync():
                        run(x).sum().backward()
                loss = run(x).square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            assert abs(losses[0] - losses[1]) < 1e-4 * max(1, abs(losses[1])), (options, step, losses)
        for a, b in zip(ours.state_dict().values(), theirs.state_dict().values()):
            torch.testing.assert_close(a.cpu(), b, rtol=1e-3, atol=1e-4)
