"""The device tenon: PyTorch's tensors over lazy ones."""

import copy
import io
import warnings

import pytest
import torch
from device_support import DEVICE, close, counted
from torch import nn

import tenon
import tenon.torch


def test_nothing_runs_before_somebody_looks():
    x = torch.randn(4, 8, device=DEVICE, requires_grad=True)
    w = torch.randn(8, 8, device=DEVICE, requires_grad=True)

    def work():
        y = (x @ w).relu() + 1
        y[0] = 5
        y.mul_(2).sum().backward()
        return y

    counts, y = counted(work)
    assert counts["runs"] == 0
    close(y[0], torch.full((8,), 10.0))
    close(x.grad, ((x.cpu() @ w.cpu() > 0).float() * torch.tensor([0.0, 2, 2, 2])[:, None]) @ w.cpu().T)


def test_out_forms_and_inplace_errors():
    x = torch.ones(3, device=DEVICE)
    out = torch.empty(0, device=DEVICE)
    torch.add(x, 1, out=out)
    assert out.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(3, dtype=torch.int64, device=DEVICE).mul_(0.5)
    with pytest.raises(RuntimeError, match="shape"):
        torch.ones(3, device=DEVICE).add_(torch.ones(2, 3, device=DEVICE))
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.ones(3)


def test_printing_item_and_saving(tmp_path):
    x = torch.arange(4.0, device=DEVICE)
    assert "device='tenon:0'" in repr(x) and "3." in repr(x)
    assert x.sum().item() == 6 and x[1].item() == 1
    net = nn.Linear(3, 2).to(DEVICE)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    for location, device in ((None, "tenon"), ("cpu", "cpu")):
        file.seek(0)
        state = torch.load(file, map_location=location)
        assert state["weight"].device.type == device
        close(state["weight"], net.weight)
    twin = copy.deepcopy(net)
    with torch.no_grad():
        twin.weight.zero_()
    assert net.weight.abs().sum().item() > 0


def test_random_numbers():
    torch.manual_seed(7)
    a = torch.randn(2000, device=DEVICE)
    torch.manual_seed(7)
    close(a, torch.randn(2000, device=DEVICE))
    assert abs(a.mean().item()) < 0.1 and abs(a.std().item() - 1) < 0.1
    u = torch.rand(2000, device=DEVICE)
    assert u.min().item() >= 0 and u.max().item() < 1 and abs(u.mean().item() - 0.5) < 0.05
    dropped = nn.functional.dropout(torch.ones(4000, device=DEVICE), 0.25)
    assert abs((dropped == 0).float().mean().item() - 0.25) < 0.05


def test_autocast_to_bf16():
    net = nn.Linear(16, 8).to(DEVICE)
    x = torch.randn(4, 16, device=DEVICE)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        y = net(x)
    assert y.dtype == torch.bfloat16
    close(y.float(), net(x), rtol=5e-2, atol=5e-2)


def test_operators_without_a_row_run_on_the_cpu_and_say_so():
    tenon.torch.reset_report()
    x = torch.randn(3, 3, device=DEVICE)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        close(torch.linalg.inv(x) @ x, torch.eye(3), rtol=1e-3, atol=1e-3)
        torch.linalg.inv(x)
    assert sum("linalg_inv" in str(w.message) for w in seen) <= 1
    assert any("linalg_inv" in operator for operator, _ in tenon.torch.report().doors["device"].fallbacks)
    assert "linalg_inv" in str(tenon.torch.report())


def test_autocast_leaves_other_operators_alone():
    x = torch.ones(2, 2).to(DEVICE)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert (x + 1).dtype == torch.float32


def test_a_program_in_a_folder_named_torch_is_the_users():
    tenon.clear_realizations()
    (torch.ones(3, device="tenon") + 1).cpu()
    assert "test_device.py:" in tenon.realizations_text()


def test_what_pytorch_asks_an_accelerator():
    before = torch.accelerator.memory_allocated()
    x = torch.ones(1000, device=DEVICE)
    assert torch.accelerator.memory_allocated() == torch.tenon.memory_allocated() == before + 4000
    assert torch.accelerator.max_memory_allocated() >= before + 4000
    del x
    assert torch.accelerator.memory_allocated() == before
    torch.accelerator.synchronize()
    torch.accelerator.empty_cache()


def test_loaders_pin_memory_of_the_cpu():
    data = torch.utils.data.TensorDataset(torch.arange(4.0))
    loaded = [x for (x,) in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True)]
    assert torch.cat(loaded).tolist() == [0, 1, 2, 3]


def test_the_report_counts_and_names_what_the_device_ran():
    tenon.torch.reset_report()
    (torch.ones(3, device=DEVICE) * 3).tolist()
    report = tenon.torch.report()
    assert report.doors["device"].kernels >= 1 and report.doors["device"].compiles >= 1
    assert "test_device.py:" in str(report) and "object at" not in str(report)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32])
def test_histograms_of_integers(dtype):
    x = torch.tensor([0, 1, 2, 3, 3, 4, 7, 9, -1, 10]).to(dtype)
    for bins, low, high in ((4, 0, 9), (3, 1, 8), (10, 0, 10)):
        try:
            expected = torch.histc(x, bins, low, high)
        except RuntimeError:
            return  # PyTorch has none of this dtype on the CPU
        assert torch.histc(x.to(DEVICE), bins, low, high).tolist() == expected.tolist()
