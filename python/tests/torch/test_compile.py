"""Door 2: torch.compile(backend="tenon") against eager PyTorch, forward, backward and steps."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import door_models as models
import tenon.torch


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    tenon.torch.reset_report()
    torch.manual_seed(0)


def door():
    return tenon.torch.report().doors["compile"]


def close(a, b, tolerance=2e-4):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def train(make, data, sizes, optimizer=lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)):
    """Steps at these sizes on both, with everything compared after each."""
    model = make()
    reference = copy.deepcopy(model)
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    steps = [optimizer(m.parameters()) for m in (model, reference)]
    for size in sizes:
        arguments = data(*size)
        losses = []
        for run, step in zip((compiled, reference), steps):
            step.zero_grad()
            loss = run(*arguments).square().mean()
            loss.backward()
            losses.append(loss.detach())
        close(*losses)
        for a, b in zip(model.parameters(), reference.parameters()):
            close(a.grad, b.grad)
        for step in steps:
            step.step()
        for a, b in zip(model.buffers(), reference.buffers()):
            close(a, b)


def test_mlp_trains_with_two_compiles_for_all_sizes():
    train(models.mlp, lambda n: (torch.randn(n, 16),), [(4,), (7,), (9,), (30,), (2,)])
    assert door().compiles == 2  # forward and backward
    assert not door().fallbacks


def test_cnn_trains_with_batch_norm():
    train(models.cnn, lambda n, h: (torch.randn(n, 3, h, h),), [(4, 16), (7, 18), (3, 32)])
    assert door().compiles == 2
    assert not door().fallbacks


def test_transformer_trains():
    train(models.encoder_layer, lambda n, s: (torch.randn(n, s, 32),), [(4, 5), (7, 9)])
    assert door().compiles == 2
    assert not door().fallbacks


def test_u_net_trains():
    train(models.UNet, lambda n: (torch.randn(n, 3, 16, 16),), [(2,), (3,)])
    assert not door().fallbacks


def test_adam_steps():
    train(models.mlp, lambda n: (torch.randn(n, 16),), [(4,), (7,)], lambda p: torch.optim.AdamW(p, 0.01))


def test_cross_entropy_of_tokens():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(20, 16), nn.Linear(16, 6)

        def forward(self, ids, labels):
            return F.cross_entropy(self.head(self.embed(ids)).flatten(0, 1), labels.flatten(), ignore_index=-1)

    def data(n, s):
        labels = torch.randint(6, (n, s))
        labels[0, 0] = -1
        return torch.randint(20, (n, s)), labels

    train(Tagger, data, [(3, 4), (2, 9)])
    assert not door().fallbacks


@pytest.mark.parametrize("make", [models.mlp, models.cnn, models.encoder_layer])
def test_inference(make):
    model = make().eval()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    shape = {models.mlp: (16,), models.cnn: (3, 16, 16), models.encoder_layer: (6, 32)}[make]
    with torch.no_grad():
        for n in (4, 7, 3):
            x = torch.randn(n, *shape)
            close(compiled(x), model(x))
    assert door().compiles == 1


def test_gpt_decodes_with_a_growing_cache():
    model = models.Gpt().eval()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    cache = models.empty_cache(3, 7)  # no two axes of one size: PyTorch would take them for the same
    expected_cache = cache.clone()
    with torch.no_grad():
        for length in (6, 2, 3, 5, 2):
            ids = torch.randint(50, (3, length))
            logits, cache = compiled(ids, cache)
            expected, expected_cache = model(ids, expected_cache)
            close(logits, expected)
            close(cache, expected_cache)
    assert door().compiles == 1


def test_dropout_follows_the_seed_and_scales():
    model = nn.Sequential(nn.Dropout(0.25))
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    x = torch.ones(4000, 10)
    torch.manual_seed(3)
    first = compiled(x)
    again = compiled(x)
    torch.manual_seed(3)
    assert torch.equal(first, compiled(x))
    assert not torch.equal(first, again)
    close(first.unique(), torch.tensor([0.0, 4 / 3]))
    assert abs(first.mean() - 1) < 0.02


def test_the_gradient_of_dropout_is_its_mask():
    compiled = torch.compile(nn.Dropout(0.5), backend="tenon", dynamic=True)
    x = torch.ones(50, 10, requires_grad=True)
    y = compiled(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_inputs_that_are_changed():
    def step(state, x):
        state.mul_(0.9).add_(x, alpha=0.1)
        return state.sum(0)

    compiled = torch.compile(step, backend="tenon", dynamic=True)
    ours, theirs = torch.zeros(5, 4), torch.zeros(5, 4)
    for _ in range(3):
        x = torch.randn(5, 4)
        close(compiled(ours, x), step(theirs, x))
        close(ours, theirs)


def test_results_have_memory_of_their_own():
    def copies(x):
        y = x * 2
        return y, y.clone(), x.clone(), x[1:].clone(), x.view(-1).clone()

    compiled = torch.compile(copies, backend="tenon", dynamic=True)
    x = torch.randn(3, 4)
    results, expected = compiled(x), copies(x)
    before = x.clone()
    for i, result in enumerate(results):
        close(result, expected[i])
        result.fill_(i)  # must change nothing else
    assert torch.equal(x, before)


def test_what_is_missing_runs_in_pytorch_and_is_reported():
    def mixed(x):
        y = (x * 2 + 1).relu()
        z = torch.special.airy_ai(y)
        return (z.exp() - y).sum(1)

    compiled = torch.compile(mixed, backend="tenon", dynamic=True)
    for n in (3, 6):
        x = torch.randn(n, 4)
        close(compiled(x), mixed(x))
    text = str(tenon.torch.report())
    assert "airy_ai" in text and "no row" in text
    assert door().compiles == 2  # before and after it


def test_sizes_that_are_results():
    def sized(x, n):
        return x[: x.shape[0] // 2] * n, x.shape[0] // 2

    compiled = torch.compile(sized, backend="tenon", dynamic=True)
    for rows, n in ((8, 3), (11, 4), (6, 5)):
        x = torch.randn(rows, 2)
        got, expected = compiled(x, n), sized(x, n)
        close(got[0], expected[0])
        assert got[1] == expected[1]


def test_fifty_sizes_meet_one_compile():
    model = models.encoder_layer().eval()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    with torch.no_grad():
        for i in range(50):
            x = torch.randn(2 + i % 7, 11 + i, 32)
            close(compiled(x), model(x))
    assert door().compiles == 1


def _writes_a_number(x):
    x[0] = 5.0
    return x * 2


def _adds_in_place(x):
    x.add_(1)
    return x.sum()


def _gives_what_it_wrote(x):
    x[:, 1] += x[:, 0]
    return x


@pytest.mark.parametrize("function", [_writes_a_number, _adds_in_place, _gives_what_it_wrote])
def test_functions_that_write_into_their_inputs(function):
    compiled = torch.compile(function, backend="tenon", dynamic=True)
    for rows in (3, 5):
        ours, theirs = (torch.arange(2.0 * rows).reshape(rows, 2) for _ in range(2))
        torch.testing.assert_close(compiled(ours), function(theirs))
        torch.testing.assert_close(ours, theirs)


def test_modules_on_the_device_record_what_they_would():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to("tenon")
    compiled = torch.compile(net, backend="tenon", dynamic=True)
    for rows in (2, 5):
        x = torch.randn(rows, 3).to("tenon")
        net.zero_grad()
        compiled(x).square().sum().backward()
        grads = [p.grad.cpu() for p in net.parameters()]
        net.zero_grad()
        net(x).square().sum().backward()
        torch.testing.assert_close(grads, [p.grad.cpu() for p in net.parameters()])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, y: F.interpolate(x, size=y.shape[2:]), lambda h, w: (torch.randn(1, 2, h, 5), torch.randn(1, 3, 7, w))),
        (
            lambda x, y: F.interpolate(x, size=y.shape[2:], mode="bilinear", align_corners=False),
            lambda h, w: (torch.randn(1, 2, h, 5), torch.randn(1, 3, 7, w)),
        ),
        (
            lambda x: F.interpolate(x, size=(int(x.shape[2] / 2), int(x.shape[3] * 1.5))),
            lambda h, w: (torch.randn(1, 2, h, w),),
        ),
        (lambda x: x[: int(x.shape[0] / 2)] * (x.shape[1] / 4), lambda h, w: (torch.randn(h, w),)),
        (lambda x: (x / x.shape[1] ** 0.5, x.shape[0] / 2), lambda h, w: (torch.randn(h, w),)),
    ],
)
def test_sizes_of_others_and_by_true_division(function, arguments):
    compiled = torch.compile(function, backend="tenon", dynamic=True)
    for h, w in ((4, 8), (6, 11), (9, 5)):
        given = arguments(h, w)
        torch.testing.assert_close(compiled(*given), function(*given), rtol=1e-4, atol=1e-5)
    assert not door().fallbacks


def test_heads_in_groups_train():
    class Grouped(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.kv = nn.Linear(32, 32), nn.Linear(32, 16)

        def forward(self, x):
            n, length, _ = x.shape
            q = self.q(x).view(n, length, 8, 4).transpose(1, 2)
            k, v = (t.view(n, length, 2, 4).transpose(1, 2) for t in self.kv(x).chunk(2, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return y.transpose(1, 2).reshape(n, length, 32)

    train(Grouped, lambda n, s: (torch.randn(n, s, 32),), [(2, 5), (3, 7)])
    assert not door().fallbacks
