"""What PyTorch refuses, the device refuses too."""

import pytest
import torch

import tenon
import tenon.torch

DEVICE = "tenon"


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2, device="tenon:1"),
        lambda: torch.randn(2, device="tenon:1"),
        lambda: torch.empty(2, device="tenon:3"),
        lambda: torch.ones(2).to("tenon:1"),
        lambda: torch.tensor([1.0, 2.0], device="tenon:1"),
        lambda: torch.nn.Linear(2, 2).to("tenon:1"),
        lambda: torch.tenon.set_device(1),
    ],
)
def test_there_is_one_device(make):
    with pytest.raises(RuntimeError, match="tenon:[13]: there is one device tenon, tenon:0"):
        make()


def test_the_one_device_has_an_index():
    assert torch.ones(2, device="tenon:0").device == torch.ones(2).to("tenon").device == torch.device("tenon:0")


@pytest.mark.parametrize(
    "reduce",
    [
        lambda x: x.max(),
        lambda x: x.min(),
        lambda x: x.max(0),
        lambda x: x.amax(),
        lambda x: x.amin(0),
        lambda x: x.argmax(0),
        lambda x: x.argmin(),
        lambda x: x.aminmax(),
    ],
)
def test_extremes_of_nothing_are_errors_as_on_the_cpu(reduce):
    kinds = []
    for device in ("cpu", DEVICE):
        with pytest.raises((RuntimeError, IndexError), match="reduction dim|empty dimension") as error:
            reduce(torch.empty(0, 3, device=device))
        kinds.append(error.type)
    assert kinds[0] == kinds[1]
    assert torch.empty(0, 3, device=DEVICE).amax(1).shape == (0,)


@pytest.mark.parametrize("divide", [lambda x: x // 0, lambda x: x % 0, lambda x: torch.div(x, 0, rounding_mode="trunc")])
def test_integers_by_the_number_zero_are_an_error(divide):
    for device in ("cpu", DEVICE):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(torch.arange(3).to(device))
        assert divide(torch.arange(0).to(device)).shape == (0,)  # nothing is divided
    assert torch.isinf((torch.ones(2, device=DEVICE) // 0).cpu()).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x @ x,
        lambda x: x + torch.ones(5).to(x.device),
        lambda x: torch.cat([x, torch.ones(2, 5).to(x.device)]),
        lambda x: torch.nn.functional.linear(x, torch.ones(2, 5).to(x.device)),
        lambda x: torch.nn.functional.layer_norm(x, (5,)),
        lambda x: torch.where(x > 0, x, torch.ones(7).to(x.device)),
        lambda x: x.view(5, 5),
        lambda x: x[7],
        lambda x: x[torch.tensor([0, 7])],
        lambda x: x[:, torch.tensor([0, -9])],
    ],
)
def test_wrong_sizes_are_said_in_pytorchs_words(wrong):
    said = []
    for device in ("cpu", DEVICE):
        with pytest.raises((RuntimeError, IndexError)) as error:
            wrong(torch.ones(3, 4).to(device))
        said.append((error.type, "`t`" in str(error.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.softmax(4),
        lambda x: x.var(-3),
        lambda x: x.amax((0, -2)),
        lambda x: x.sum((0, 0)),
        lambda x: (x > 1).all(2),
        lambda x: x.logsumexp(4),
        lambda x: x.prod(4),
        lambda x: x.median(4),
        lambda x: x.kthvalue(1, 4),
        lambda x: x.roll(1, 4),
        lambda x: x.roll((1, 2), 0),
        lambda x: x.rot90(1, (1, 1)),
        lambda x: x.rot90(1, (0,)),
        lambda x: x.scatter(4, torch.zeros(1, 1, dtype=torch.int64).to(x.device), 1.0),
        lambda x: torch.cat([x, x], 4),
        lambda x: torch.cat([x, x[0]], 1),
        lambda x: torch.stack([x, x], 4),
        lambda x: torch.nn.functional.glu(x, 4),
        lambda x: torch.linalg.cross(x[:, :3], x[:, :3], dim=2),
        lambda x: torch.renorm(x, 2, 4, 1),
        lambda x: torch.diag_embed(x, 0, 3, 1),
        lambda x: torch.trace(x[None]),
        lambda x: torch.tril(x[0]),
        lambda x: torch.nn.functional.max_pool2d(x[None], 2, padding=3),
        lambda x: torch.nn.functional.avg_pool2d(x[None], 2, padding=3),
        lambda x: x[torch.ones(5, dtype=torch.bool).to(x.device)],
        lambda x: x[:, torch.ones(3, dtype=torch.bool).to(x.device)],
        lambda x: x.index_put_((torch.ones(3, 2, dtype=torch.bool).to(x.device),), torch.tensor(1.0).to(x.device)),
    ],
)
def test_axes_and_masks_that_do_not_fit_are_refused_as_on_the_cpu(wrong):
    kinds = []
    for device in ("cpu", DEVICE):
        with pytest.raises((RuntimeError, IndexError)) as error:
            wrong(torch.ones(3, 4).to(device))
        kinds.append((error.type, str(error.value).partition(",")[0]))
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(
    "look",
    [
        lambda x, i: x[i],
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.gather(0, i[:, None]),
        lambda x, i: torch.nn.functional.embedding(i, x),
        lambda x, i: x.index_add(0, i, x[:1]),
    ],
)
def test_an_index_out_of_range_is_an_index_error_that_names_the_line(look):
    line = look.__code__.co_firstlineno
    result = look(torch.ones(3, 4).to(DEVICE), torch.tensor([7]).to(DEVICE))
    with pytest.raises(IndexError) as error:
        result.cpu()
    said = str(error.value).splitlines()
    assert said[0].endswith("position 7 is out of range for axis 0 of size 3")
    assert said[1].endswith(f"test_errors.py:{line}") and said[1].startswith("  recorded at ")
    assert said[2].startswith("  computed for ") and "test_errors.py:" in said[2]


def test_one_program_for_several_lines_names_the_line_that_indexed():
    x, good, bad = (t.to(DEVICE) for t in (torch.ones(3, 4), torch.tensor([2]), torch.tensor([9])))

    def line_of(result):
        with pytest.raises(tenon.PositionError) as error:
            result.cpu()
        return int(str(error.value).splitlines()[1].rpartition(":")[2])

    here = test_one_program_for_several_lines_names_the_line_that_indexed.__code__.co_firstlineno
    (x[good] * 3).cpu()
    compiles = tenon.realization_counts()["compiles"]
    first = x[bad] * 3
    second = x[bad + 0] * 3
    assert line_of(first) == here + 11
    assert line_of(second) == here + 12
    assert tenon.realization_counts()["compiles"] <= compiles + 1


@pytest.mark.parametrize("refusal", [NotImplementedError("no such form"), tenon.Unsupported("no such dtype")])
def test_what_a_decomposition_does_not_support_runs_on_the_cpu(monkeypatch, refusal):
    from tenon.torch import fallback

    def refused(x):
        raise refusal

    monkeypatch.setitem(torch._decomp.decomposition_table, torch.ops.aten.abs.default, refused)
    found = fallback.run(torch.ops.aten.abs.default, (torch.full((3,), -2.0, device=DEVICE),), {}, "a test")
    assert found.tolist() == [2, 2, 2]


@pytest.mark.parametrize("fault", [TypeError, AssertionError, RuntimeError, tenon.Error])
def test_other_errors_of_a_decomposition_are_the_users_to_see(monkeypatch, fault):
    from tenon.torch import fallback

    def broken(x):
        raise fault("a fault of ours")

    monkeypatch.setitem(torch._decomp.decomposition_table, torch.ops.aten.abs.default, broken)
    with pytest.raises(fault, match="a fault of ours"):
        fallback.run(torch.ops.aten.abs.default, (torch.ones(3, device=DEVICE),), {}, "a test")
