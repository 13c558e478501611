"""Door 1: exported modules against PyTorch, one compile for many sizes."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

import door_models as models
import tenon
import tenon.torch
import tenon.torch.lower as lowering

BATCH = Dim("batch", min=1, max=64)
SEQ = Dim("seq", min=2, max=60)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def agree(model, exported, *arguments, tolerance=2e-4):
    with torch.no_grad():
        expected = model(*arguments)
    torch.testing.assert_close(exported(*arguments), expected, rtol=tolerance, atol=tolerance)


def test_mlp_at_many_batch_sizes_is_one_compile():
    model = models.mlp().eval()
    tenon.torch.reset_report()
    exported = tenon.torch.export(model, torch.randn(4, 16), dynamic_shapes=({0: BATCH},))
    for n in (1, 2, 7, 33):
        agree(model, exported, torch.randn(n, 16))
    assert tenon.torch.report().doors["export"].compiles == 1
    assert "batch" in str(exported.graph)


def test_numpy_in_numpy_out():
    model = models.mlp().eval()
    exported = tenon.torch.export(model, torch.randn(4, 16), dynamic_shapes=({0: BATCH},))
    x = np.random.default_rng(0).standard_normal((5, 16)).astype(np.float32)
    y = exported(x)
    assert isinstance(y, np.ndarray)
    np.testing.assert_allclose(y, model(torch.from_numpy(x)).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_weights_are_shared():
    """What the constant holds is the parameter's memory."""
    model = nn.Linear(16, 8).eval()
    tensor = model.weight.detach()
    assert tenon.Array(tensor).numpy().__array_interface__["data"][0] == tensor.data_ptr()


def test_conv_batch_norm_relu_is_one_kernel():
    model = models.conv_bn_relu().eval()
    exported = tenon.torch.export(model, torch.randn(4, 3, 8, 8), dynamic_shapes=({0: BATCH},))
    agree(model, exported, torch.randn(3, 3, 8, 8))
    assert exported.executable.kernel_count == 1


def test_cnn_at_any_image_size():
    model = models.cnn().eval()
    half = Dim("half", min=4, max=40)
    exported = tenon.torch.export(
        model, torch.randn(4, 3, 16, 16), dynamic_shapes=({0: BATCH, 2: 2 * half, 3: 2 * half},)
    )
    for n, size in ((4, 16), (2, 22), (7, 64)):
        agree(model, exported, torch.randn(n, 3, size, size))


def test_training_batch_norm_writes_its_buffers():
    model, other = models.conv_bn_relu(), models.conv_bn_relu()
    other.load_state_dict(model.state_dict())
    exported = tenon.torch.export(model, torch.randn(4, 3, 8, 8), dynamic_shapes=({0: BATCH},))
    x = torch.randn(6, 3, 8, 8)
    torch.testing.assert_close(exported(x), other(x), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(model[1].running_mean, other[1].running_mean)
    torch.testing.assert_close(model[1].running_var, other[1].running_var)
    assert model[1].num_batches_tracked == 1


def test_transformer_encoder_layer():
    model = models.encoder_layer().eval()
    exported = tenon.torch.export(model, torch.randn(4, 5, 32), dynamic_shapes=({0: BATCH, 1: SEQ},))
    for n, length in ((4, 5), (1, 9), (8, 31)):
        agree(model, exported, torch.randn(n, length, 32))


@pytest.mark.parametrize(
    "make",
    [
        lambda: models.Recurrent(nn.LSTM),
        lambda: models.Recurrent(nn.LSTM, num_layers=2, bidirectional=True),
        lambda: models.Recurrent(nn.GRU),
        lambda: models.Recurrent(nn.RNN, nonlinearity="relu"),
    ],
)
def test_recurrent_layers_at_any_length(make):
    model = make().eval()
    exported = tenon.torch.export(model, torch.randn(4, 5, 8), dynamic_shapes=({0: BATCH, 1: SEQ},))
    for n, length in ((4, 5), (2, 13)):
        agree(model, exported, torch.randn(n, length, 8))


def test_u_net():
    model = models.UNet().eval()
    exported = tenon.torch.export(model, torch.randn(2, 3, 16, 16), dynamic_shapes=({0: BATCH},))
    for n in (2, 5):
        agree(model, exported, torch.randn(n, 3, 16, 16))


def test_gpt_with_cache():
    model = models.Gpt().eval()
    past = Dim("past", min=2, max=30)
    shapes = ({0: BATCH, 1: SEQ}, {2: BATCH, 4: past})
    ids = torch.randint(50, (2, 4))
    exported = tenon.torch.export(model, (ids, models.empty_cache(2, 6)), dynamic_shapes=shapes)
    for n, length, before in ((2, 4, 6), (3, 2, 11), (1, 9, 3)):
        agree(model, exported, torch.randint(50, (n, length)), models.empty_cache(n, before))


def test_ranges_are_checked():
    exported = tenon.torch.export(
        models.mlp().eval(), torch.randn(4, 16), dynamic_shapes=({0: Dim("batch", min=1, max=8)},)
    )
    with pytest.raises(tenon.Error, match="batch"):
        exported(torch.randn(9, 16))


def test_names_of_derived_axes():
    class Pairs(nn.Module):
        def forward(self, x):
            return x.view(x.shape[0] // 2, 2, -1).sum(1)

    half = Dim("half", min=1, max=20)
    exported = tenon.torch.export(Pairs(), torch.randn(8, 4), dynamic_shapes=({0: 2 * half},))
    assert "2*half" in str(exported.graph)
    agree(Pairs(), exported, torch.randn(6, 4))


def test_nested_arguments_and_results_buffers_and_sizes():
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

        def forward(self, x, *, parts):
            self.calls.add_(1)
            return {"sum": x + parts[0].sum(0) + parts[1].sum(0), "rows": x.shape[0], "same": (x, None)}

    model = Nested()
    shapes = {"x": {0: BATCH}, "parts": [{0: Dim("rows")}, {0: Dim.AUTO}]}
    kwargs = {"parts": [torch.randn(5, 4), torch.randn(6, 4)]}
    exported = tenon.torch.export(model, torch.randn(3, 4), dynamic_shapes=shapes, kwargs=kwargs)
    for n in (3, 9):
        x, parts = torch.randn(n, 4), [torch.randn(n + 2, 4), torch.randn(n + 4, 4)]
        y = exported(x, parts=parts)
        torch.testing.assert_close(y["sum"], x + parts[0].sum(0) + parts[1].sum(0))
        assert y["rows"] == n and y["same"][1] is None
    assert model.calls == 2


def test_an_error_in_a_row_is_no_missing_operator(monkeypatch):
    def broken(row, args, kwargs):
        raise TypeError("the row is wrong")

    monkeypatch.setattr(lowering, "call_row", broken)
    with pytest.raises(TypeError, match="the row is wrong"):
        tenon.torch.export(nn.Tanh(), torch.randn(3))


def test_missing_operators_are_listed_with_counts():
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvalsh(x) + torch.linalg.eigvalsh(x + 1), torch.special.airy_ai(x)

    with pytest.raises(tenon.torch.MissingOperators) as caught:
        tenon.torch.export(Odd(), torch.randn(3, 3))
    text = str(caught.value)
    assert "_linalg_eigh x 2" in text and "airy_ai x 1" in text


def test_arguments_of_any_number_have_axes_of_their_own():
    class Sum(nn.Module):
        def forward(self, *arguments):
            return sum(x.sum() for x in arguments)

    rows = torch.export.Dim("rows", min=1)
    given = tuple(torch.ones(3 + i, 2) for i in range(3))
    exported = tenon.torch.export(Sum(), given, dynamic_shapes=(({0: rows}, {0: rows + 1}, {0: rows + 2}),))
    assert exported(*(torch.ones(7 + i, 2) for i in range(3))) == 48
    assert "rows" in str(exported.graph)
