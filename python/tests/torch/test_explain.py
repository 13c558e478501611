"""Pages of what PyTorch asked for: modules and lines as names, on the device and of exported and compiled programs."""

import gc
import json

import pytest
import tenon
import tenon.torch
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return self.norm(self.conv(x)).relu()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block()])
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean((2, 3)))


def names_of(explanation, program=0):
    steps = json.loads(explanation.json())["programs"][program]["steps"]
    return [name for step in steps for name in step.get("nodes", [])]


def test_an_exported_program_has_modules_and_lines(tmp_path):
    model = tenon.torch.export(Net().eval(), torch.zeros(2, 3, 8, 8))
    names = names_of(model.explain())
    assert any(name.startswith("layers.0.conv (") for name in names), names
    assert any(name.startswith("head (") for name in names), names
    assert any(" at test_explain.py:" in name for name in names), names
    told = model.explain(torch.zeros(2, 3, 8, 8))
    told.save(tmp_path / "net.html")
    assert "layers.0.conv" in (tmp_path / "net.html").read_text(encoding="utf-8")
    assert "microseconds" in told.json()


@pytest.fixture(autouse=True)
def no_programs_of_other_tests():
    torch._dynamo.reset()
    gc.collect()


def test_a_compiled_program_has_them_too():
    tenon.torch.reset_report()
    net = Net().eval()
    compiled = torch.compile(net, backend="tenon")
    with torch.no_grad():
        compiled(torch.zeros(2, 3, 8, 8))
    told = tenon.torch.explain()
    reasons = [run["reason"] for run in json.loads(told.json())["realizations"]]
    names = names_of(told, reasons.index("compile program"))
    assert any(name.startswith("layers.0.conv (") for name in names), names


def test_an_error_names_the_module():
    class Wrong(torch.nn.Module):
        def forward(self, x, i):
            return x[i]

    model = tenon.torch.export(torch.nn.Sequential(torch.nn.Embedding(4, 2)), torch.zeros(3, dtype=torch.long))
    try:
        model(torch.full((3,), 9))
    except tenon.PositionError as error:
        assert "0 (embedding)" in str(error)
    else:
        raise AssertionError("position 9 of 4 is no error")


def test_what_the_device_records_has_modules_and_lines(tmp_path):
    net = Net().to("tenon")
    tenon.clear_realizations()
    with tenon.torch.explaining():
        net(torch.ones(2, 3, 8, 8, device="tenon")).sum().item()
    told = tenon.torch.explain(tmp_path / "step.html")
    names = [name for i in range(len(json.loads(told.json())["programs"])) for name in names_of(told, i)]
    assert any(name.startswith("layers.0.conv at test_explain.py:") for name in names), names
    assert any(name.startswith("head at test_explain.py:") for name in names), names
    assert (tmp_path / "step.html").stat().st_size > 10_000
    before = len(torch.nn.modules.module._global_forward_hooks)
    with tenon.torch.explaining():
        assert len(torch.nn.modules.module._global_forward_hooks) == before + 1
    assert len(torch.nn.modules.module._global_forward_hooks) == before


def test_what_is_recorded_again_has_modules_too():
    net = Net().to("tenon")
    x = torch.ones(5, 3, 8, 8, device="tenon")
    with tenon.torch.explaining():
        for look in (torch.sum, torch.mean, torch.amax, torch.amin, torch.prod):  # each is another program
            tenon.clear_realizations()
            look(net(x)).item()
    told = tenon.torch.explain()
    names = [name for i in range(len(json.loads(told.json())["programs"])) for name in names_of(told, i)]
    assert any(name.startswith("head at test_explain.py:") for name in names), names


def test_paths_of_modules_are_read_in_all_forms():
    from tenon.torch.origins import line_of_stack, plain_path

    assert plain_path("L['self'].layers[0]._modules['up']") == "layers.0.up"
    assert plain_path("L['self']") == ""
    assert plain_path("layer4.1.conv2") == "layer4.1.conv2"
    stack = f'  File "/home/ada/net.py", line 7, in forward\n  File "{torch.__file__}", line 3, in f\n'
    assert line_of_stack(stack) == "net.py:7"
    assert line_of_stack("") == ""
