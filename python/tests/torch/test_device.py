"""The device tenon: PyTorch's tensors over lazy ones, held against the CPU."""

import copy
import gc
import io
import resource
import warnings

import pytest
import torch
from torch import nn

import tenon
import tenon.torch

DEVICE = "tenon"


def close(got, expected, rtol=1e-4, atol=1e-5):
    torch.testing.assert_close(got.detach().cpu(), expected.detach().cpu(), rtol=rtol, atol=atol)


def counted(function):
    """Runs, compiles and kernels of lazy tensors while the function runs, and what it gives."""
    tenon.clear_realizations()
    result = function()
    return tenon.realization_counts(), result


def train_twins(make, batches, loss_of, steps=3, lr=0.05, optimizer=torch.optim.SGD, **tolerance):
    """The same training on the CPU and on the device, losses and weights compared."""
    torch.manual_seed(0)
    on_cpu = make()
    on_tenon = copy.deepcopy(on_cpu).to(DEVICE)
    steps_cpu = optimizer(on_cpu.parameters(), lr=lr)
    steps_tenon = optimizer(on_tenon.parameters(), lr=lr)
    for batch in batches[:steps]:
        losses = []
        for model, stepper, device in ((on_cpu, steps_cpu, "cpu"), (on_tenon, steps_tenon, DEVICE)):
            stepper.zero_grad()
            loss = loss_of(model, *[b.to(device) for b in batch])
            loss.backward()
            stepper.step()
            losses.append(loss)
        close(losses[1], losses[0], **tolerance)
    for (name, a), b in zip(on_cpu.state_dict().items(), on_tenon.state_dict().values()):
        close(b, a, rtol=tolerance.get("rtol", 1e-3), atol=tolerance.get("atol", 1e-3))
    return on_tenon


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


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[1:, ::2],
        lambda x: x.diagonal(),
        lambda x: x.view(-1)[3:9],
        lambda x: x.unsqueeze(0).squeeze(),
        lambda x: x.unfold(1, 2, 2)[:, 0],
        lambda x: x.as_strided((2, 2), (6, 1), 1),
        lambda x: x.permute(1, 0).chunk(2)[1],
        lambda x: x.select(0, 2),
        lambda x: x.detach(),
    ],
)
def test_views_see_and_write_what_they_are_views_of(view):
    a = torch.arange(24.0).reshape(4, 6)
    x = a.to(DEVICE)
    on_cpu, on_tenon = view(a), view(x)
    assert on_tenon.stride() == on_cpu.stride() and on_tenon.storage_offset() == on_cpu.storage_offset()
    close(on_tenon, on_cpu)
    for t in (on_cpu, on_tenon):
        t.mul_(2)
    close(x, a)
    for t in (a, x):
        t += 1
    close(on_tenon, on_cpu)


def test_gradients_flow_through_writes_to_views():
    def work(device):
        x = torch.arange(6.0).reshape(2, 3).to(device).requires_grad_()
        y = x * 2
        y[0].mul_(3)
        y[:, 1] = x[:, 0] ** 2
        (y.t()[2:] * 5).sum().backward()
        return x.grad, y

    for got, expected in zip(work(DEVICE), work("cpu")):
        close(got, expected)


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
    assert 0 <= u.min().item() and u.max().item() < 1 and abs(u.mean().item() - 0.5) < 0.05
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


def test_conv_bn_relu_in_evaluation_is_one_kernel():
    block = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True)).eval()
    block[1].running_mean.uniform_(-1, 1)
    block[1].running_var.uniform_(0.5, 2)
    x = torch.randn(2, 3, 12, 12)
    expected = block(x)
    block.to(DEVICE)
    moved = x.to(DEVICE)
    with torch.no_grad():
        counts, y = counted(lambda: block(moved).cpu())
    close(y, expected)
    assert counts["kernels"] == 1 and counts["runs"] == 1


def test_residual_add_and_relu_are_inside_the_convolution_before_them():
    conv = nn.Conv2d(8, 8, 3, padding=1, bias=False).to(DEVICE)
    norm = nn.BatchNorm2d(8).to(DEVICE).eval()
    x = torch.randn(2, 8, 10, 10).to(DEVICE)

    def block():
        out = norm(conv(x))
        out += x
        return nn.functional.relu(out).cpu()

    with torch.no_grad():
        counts, _ = counted(block)
    assert counts["kernels"] == 1


def test_a_convolution_of_itself_with_gradients_is_one_realisation():
    torch.manual_seed(0)
    w = torch.randn(4, 4, 3, 3)
    b = torch.randn(4)
    x = torch.randn(2, 4, 10, 10)

    def work(device):
        wd, bd, xd = (t.to(device).requires_grad_() for t in (w, b, x))
        conv = nn.functional.conv2d
        conv(conv(xd, wd, bd).relu(), wd, bd).sum().backward()
        return [wd.grad, bd.grad, xd.grad]

    grads = work(DEVICE)
    counts, moved = counted(lambda: [g.cpu() for g in _together(grads)])
    assert counts["runs"] == 1
    for got, expected in zip(moved, work("cpu")):
        close(got, expected, rtol=1e-3, atol=1e-3)


def _together(tensors):
    from tenon.torch.handles import unwrap

    tenon.realize([unwrap(t) for t in tensors])
    return tensors


def test_training_conv_bn_relu_block():
    make = lambda: nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 64, 5))
    batches = [(torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))) for _ in range(3)]
    train_twins(make, batches, lambda m, x, y: nn.functional.cross_entropy(m(x), y))


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop])
def test_optimisers(optimizer):
    make = lambda: nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.LayerNorm(12), nn.Linear(12, 3))
    batches = [(torch.randn(5, 6), torch.randn(5, 3)) for _ in range(3)]
    train_twins(make, batches, lambda m, x, y: ((m(x) - y) ** 2).mean(), optimizer=optimizer, lr=1e-2)


def test_transformer_layer_and_lstm_train():
    batches = [(torch.randn(2, 7, 16), torch.randn(2, 7, 16)) for _ in range(2)]
    loss = lambda m, x, y: ((m(x) - y) ** 2).mean()
    train_twins(lambda: nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), batches, loss, steps=2)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(16, 16, num_layers=2, batch_first=True)

        def forward(self, x):
            return self.lstm(x)[0]

    train_twins(Recurrent, batches, loss, steps=2)


def test_fifty_batch_sizes_are_two_compiles_and_flat_memory():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(DEVICE)
    steps = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(n):
        x = torch.randn(n, 8).to(DEVICE)
        y = torch.randint(0, 4, (n,)).to(DEVICE)
        loss = nn.functional.cross_entropy(net(x), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
        return loss.item()

    sizes = torch.randint(2, 100, (50,)).tolist()
    counts, _ = counted(lambda: [step(n) for n in sizes[:10]])
    first = counts["compiles"]
    counts, _ = counted(lambda: [step(n) for n in sizes[10:]])
    assert first <= 4 and counts["compiles"] == 0
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for n in sizes * 4:
        step(n)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


def test_tied_weights_stay_tied_and_optimisers_keep_theirs():
    embedding, head = nn.Embedding(10, 6), nn.Linear(6, 10, bias=False)
    head.weight = embedding.weight
    both = nn.ModuleList([embedding, head])
    optimizer = torch.optim.SGD(both.parameters(), lr=0.5)
    both.to(DEVICE)
    assert head.weight is embedding.weight and len(list(both.parameters())) == 1
    before = head.weight.detach().cpu().clone()
    head(embedding(torch.tensor([1, 2]).to(DEVICE))).sum().backward()
    optimizer.step()
    assert not torch.equal(head.weight.detach().cpu(), before)


def test_numbers_that_change_are_no_new_programs():
    net = nn.Linear(8, 4).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    x = torch.ones(5, 8).to(DEVICE)

    def steps():
        for _ in range(20):
            loss = net(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()

    counts, _ = counted(steps)
    assert counts["compiles"] <= 5


def test_autocast_leaves_other_operators_alone():
    x = torch.ones(2, 2).to(DEVICE)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert (x + 1).dtype == torch.float32


@pytest.mark.parametrize("make", [nn.LSTMCell, nn.GRUCell, nn.RNNCell], ids=lambda make: make.__name__)
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent_cells_train_without_fallback(make, bias):
    def loss(cell, x, h):
        states = (h, h * 0.5) if isinstance(cell, nn.LSTMCell) else h
        for step in range(3):
            states = cell(x[step], states)
        last = states if isinstance(states, torch.Tensor) else states[0] + states[1] ** 2
        return last.square().sum()

    batches = [(torch.randn(3, 5, 4), torch.randn(5, 6)) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_twins(lambda: make(4, 6, bias=bias), batches, loss, steps=2)


def test_gradients_of_cells_reach_inputs_and_states():
    torch.manual_seed(0)
    for cell in (nn.LSTMCell(4, 6), nn.GRUCell(4, 6)):
        grads = []
        for device in ("cpu", DEVICE):
            twin = copy.deepcopy(cell).to(device)
            x, h = (t.to(device).requires_grad_() for t in (torch.ones(2, 4), torch.full((2, 6), 0.3)))
            out = twin(x, (h, h)) if isinstance(cell, nn.LSTMCell) else twin(x, h)
            (out[0] if isinstance(out, tuple) else out).sin().sum().backward()
            grads.append((x.grad, h.grad))
        for got, expected in zip(grads[1], grads[0]):
            close(got, expected)


def test_a_program_in_a_folder_named_torch_is_the_users():
    tenon.clear_realizations()
    (torch.ones(3, device="tenon") + 1).cpu()
    assert "test_device.py:" in tenon.realizations_text()


# --- Strides, storages, and who sees what is written


def _column_major(x):
    """The same elements, in memory that runs along the first axis first."""
    return x.permute(*reversed(range(x.dim()))).contiguous().permute(*reversed(range(x.dim())))


@pytest.mark.parametrize(
    "result",
    [
        lambda x: x.t() * 2,
        lambda x: x.t().clone(),
        lambda x: x.t().to(torch.float64),
        lambda x: torch.empty_like(x.t()).fill_(1),
        lambda x: x.t().sort(0)[0],
        lambda x: x.t() + x[0, 0],
        lambda x: torch.relu(x.t()[::2]),
        lambda x: x.t().contiguous() + 1,
        lambda x: x.reshape(1, 2, 3, 1).to(memory_format=torch.channels_last) * 2,
        lambda x: x.reshape(2, 3, 1, 1).transpose(1, 2) + 1,
    ],
)
def test_results_have_pytorchs_strides_and_reshape_copies_where_it_does(result):
    a = torch.arange(6.0).reshape(2, 3)
    on_cpu, on_tenon = result(a), result(a.to(DEVICE))
    assert on_tenon.stride() == on_cpu.stride()
    for t in (on_cpu, on_tenon):
        t.reshape(-1).zero_()
        t.flatten(1).add_(1)
        t.contiguous().mul_(5)
    close(on_tenon, on_cpu)


def test_writing_to_a_flattened_copy_leaves_the_heads_alone():
    q = torch.ones(5, 2, 3, 5, device=DEVICE)
    h = q.transpose(1, 2) + 1
    h.flatten(1).mul_(0)
    assert h.sum().item() == 300


def test_recurrent_layers_and_attention_have_pytorchs_strides():
    lstm = nn.LSTM(3, 4, batch_first=True)
    x = torch.randn(2, 5, 3)
    expected = lstm(x)[0]
    assert lstm.to(DEVICE)(x.to(DEVICE))[0].stride() == expected.stride()
    q = torch.randn(2, 5, 4, 8).transpose(1, 2)
    attention = nn.functional.scaled_dot_product_attention
    assert attention(*[q.to(DEVICE)] * 3).stride() == attention(q, q, q).stride()


@pytest.mark.parametrize("location", [None, "cpu", DEVICE])
def test_what_shares_memory_shares_it_after_saving(location):
    for device in ("cpu", DEVICE):
        x = torch.arange(6.0).reshape(2, 3).to(device)
        file = io.BytesIO()
        torch.save({"all": x, "row": x[1], "turned": x.t()}, file)
        file.seek(0)
        loaded = torch.load(file, map_location=location)
        assert loaded["all"].device.type == (location or device)
        loaded["row"].zero_()
        assert loaded["turned"].tolist() == [[0, 0], [1, 0], [2, 0]] and loaded["turned"].stride() == (1, 3)
        assert x.sum().item() == 15


def test_checkpoints_of_every_dtype_go_to_the_device():
    tensors = {str(d): torch.ones(3, 2).to(d) for d in (torch.bfloat16, torch.int8, torch.bool, torch.uint8, torch.complex64)}
    file = io.BytesIO()
    torch.save(tensors, file)
    file.seek(0)
    for name, x in torch.load(file, map_location=DEVICE).items():
        assert x.device.type == DEVICE and torch.equal(x.cpu(), tensors[name]), name
        assert torch.equal(copy.deepcopy(x).cpu(), tensors[name]), name


def test_deep_copies_share_what_was_shared():
    x = torch.arange(6.0).reshape(2, 3).to(DEVICE)
    twin = copy.deepcopy({"all": x, "row": x[1]})
    twin["row"].zero_()
    assert twin["all"].tolist() == [[0, 1, 2], [0, 0, 0]] and x.sum().item() == 15


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
def test_out_of_other_sizes_resizes_the_storage_that_others_see():
    seen = []
    for device in ("cpu", DEVICE):
        whole = torch.zeros(6).to(device)
        out = whole[:4]
        torch.add(torch.arange(8.0).reshape(2, 4).to(device), 1, out=out)
        out[0, 0] = 9
        small = torch.zeros(2, 2).to(device)
        alias = small.view(-1)
        torch.mul(torch.ones(3, device=device), 2, out=small)
        seen.append([whole.tolist(), out.tolist(), out.stride(), small.tolist(), alias.tolist()])
    assert seen[0] == seen[1]


def test_elements_of_expanded_views_are_written():
    seen = []
    for device in ("cpu", DEVICE):
        x = torch.zeros(3).to(device)
        x.expand(2, 3)[0, 1] = 5
        x.expand(2, 3)[1, 2:] += 1
        y = torch.zeros(2, 1).to(device)
        y.expand(2, 3).fill_(4)
        y[:0].expand(3, 0, 1).clamp_(0, 1)  # nothing is written
        seen.append([x.tolist(), y.tolist()])
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            x.expand(2, 3).add_(1)
    assert seen[0] == seen[1]


def test_sizes_that_data_decide_are_sizes():
    x = torch.tensor([[1.0, 0, 2], [0, 3, 0]])
    for device in ("cpu", DEVICE):
        found = x.to(device).nonzero()
        assert found.stride() == (1, 3)
        zeros = torch.zeros_like(found)
        zeros[:, 1] = found[:, 1]
        found[:, 0] = 7
        assert zeros.tolist() == [[0, 0], [0, 2], [0, 1]] and found.tolist() == [[7, 0], [7, 2], [7, 1]]


def test_storages_are_told_apart_by_where_they_begin():
    x, y = torch.ones(2, 3, device=DEVICE), torch.ones(2, 3, device=DEVICE)
    assert x[1].data_ptr() == x.data_ptr() + 12 and x[1].untyped_storage().data_ptr() == x.data_ptr()
    assert y.data_ptr() not in range(x.data_ptr(), x.data_ptr() + x.untyped_storage().nbytes())


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


@pytest.mark.parametrize("one", [lambda x: x.t().flatten()[3], lambda x: x.flip(0).t().flatten()[3], lambda x: x.t().reshape(-1)[1]])
def test_single_elements_of_flattened_views(one):
    x = torch.rand(3, 2)
    close(one(x.to(DEVICE)).tanh(), one(x).tanh())


def test_the_rule_for_strides_of_pointwise_results_is_pytorchs():
    import random

    from tenon.torch.strides import pointwise

    r = random.Random(0)
    for _ in range(2000):
        sizes = [r.choice((1, 1, 2, 3)) for _ in range(r.randint(1, 5))]
        operands = []
        for _ in range(r.randint(1, 3)):
            own = [1 if r.random() < 0.3 else n for n in sizes[r.choice((0, 0, 0, 1)) :]]
            order = r.sample(range(len(own)), len(own))
            x = torch.zeros([own[i] for i in order]).permute([order.index(i) for i in range(len(own))])
            operands.append(x.repeat_interleave(2, 0)[::2] if own and r.random() < 0.2 else x)
        result = {1: torch.neg, 2: torch.add, 3: torch.addcmul}[len(operands)](*operands)
        found = pointwise(operands)
        assert found == result.stride() or (found is None and result.is_contiguous()), [(x.shape, x.stride()) for x in operands]
