"""Programs of Tenon in torch.profiler."""

import pytest
import tenon.torch
import torch
from device_support import DEVICE
from torch import nn
from torch.profiler import ProfilerActivity, profile


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def net():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def profiled(function):
    """Names and (begin, end) of events, and what the function gives."""
    with profile(activities=[ProfilerActivity.CPU]) as told:
        result = function()
    return [(e.name, e.time_range.start, e.time_range.end) for e in told.events()], result


def named(events, start):
    return [e for e in events if e[0].startswith(start)]


def test_realisations_have_their_reason_their_line_and_a_program():
    x = torch.ones(3, 4).to(DEVICE)
    (x + 1).sum().item()

    def look():
        return (x + 1).sum().item()

    events, result = profiled(look)
    assert result == 24
    ((name, begin, end),) = named(events, "tenon: item")
    assert name.startswith("tenon: item() at test_profile.py:"), name
    programs = [e for e in named(events, "tenon: ") if "operations in 1 kernels" in e[0]]
    assert len(programs) == 1 and begin <= programs[0][1] <= programs[0][2] <= end
    x = x * 2
    assert (x + 1).sum().item() == 36, "and so it goes on without a profiler"


def test_exported_programs_have_their_name():
    class Tiny(nn.Linear):
        pass

    exported = tenon.torch.export(Tiny(4, 2), (torch.ones(3, 4),))
    events, _ = profiled(lambda: exported(torch.ones(3, 4)))
    assert named(events, "tenon: exported Tiny, 1 kernels")


def test_compiled_programs_say_which_part_of_a_step_they_are():
    model = net()
    compiled = torch.compile(model, backend="tenon", dynamic=True)

    def step():
        compiled(torch.ones(3, 8)).sum().backward()

    step()
    events, _ = profiled(step)
    for part in ("forward", "backward"):
        assert named(events, f"tenon: compiled 0/0 {part}, "), [e[0] for e in named(events, "tenon")]
    with torch.no_grad():
        compiled(torch.ones(3, 8))
        events, _ = profiled(lambda: compiled(torch.ones(3, 8)))
    assert len([e for e in named(events, "tenon: compiled") if " inference, " in e[0]]) == 1


def test_an_error_ends_its_events():
    x = torch.ones(3, 4).to(DEVICE)

    def wrong():
        with pytest.raises(IndexError):
            x[torch.tensor([7], device=DEVICE)].sum().item()

    events, _ = profiled(wrong)
    assert all(begin <= end for _, begin, end in named(events, "tenon"))
    events, _ = profiled(lambda: x.sum().item())
    assert len(named(events, "tenon: item")) == 1
