"""Training on the device, held against the CPU."""

import copy
import warnings

import pytest
import torch
from device_support import DEVICE, close
from torch import nn

import tenon.torch  # noqa: F401  (registers the device)


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
    for (_name, a), b in zip(on_cpu.state_dict().items(), on_tenon.state_dict().values()):
        close(b, a, rtol=tolerance.get("rtol", 1e-3), atol=tolerance.get("atol", 1e-3))
    return on_tenon


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
