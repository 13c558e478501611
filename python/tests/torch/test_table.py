"""The ATen table: what it finds, promotion, and rows against PyTorch."""

import itertools

import pytest
import tenon
import torch
from tenon.torch import dtypes, table
from torch.nn import functional as F

from row_check import RowCheck

aten = torch.ops.aten


def test_core_aten_is_there_but_for_what_is_named():
    missing = set()
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::"):
            continue
        packet, _, overload = name.removeprefix("aten::").partition(".")
        found = getattr(getattr(aten, packet), overload or "default")
        if torch.Tag.core in found.tags and table.find_functional(found) is None:
            missing.add(packet)
    assert missing <= {
        "_embedding_bag", "_fft_c2r", "_fft_r2c", "_local_scalar_dense", "_pdist_forward", "grid_sampler_2d",
        "resize_", "sym_numel", "sym_size", "sym_storage_offset", "sym_stride", "sym_is_contiguous",
    }  # fmt: skip


def test_every_row_is_an_operator():
    for name in table.rows():
        space, packet, overload = name.split(".")
        if space == "transformers":  # which registers its operators when it is imported; test_experts.py calls them
            continue
        assert hasattr(getattr(getattr(torch.ops, space), packet), overload), name


@pytest.mark.parametrize(
    ("overload", "row", "writes", "drop"),
    [
        (aten.add_.Tensor, "aten.add.Tensor", ((0, "self"),), ()),
        (aten.add.out, "aten.add.Tensor", ((0, "out"),), ("out",)),
        (aten.max.dim_max, "aten.max.dim", ((0, "max"), (1, "max_values")), ("max", "max_values")),
        (aten.fill_.Scalar, "aten.fill.Scalar", ((0, "self"),), ()),
        (aten.normal_.default, "aten.normal_functional.default", ((0, "self"),), ()),
        (aten._foreach_add_.List, "aten._foreach_add.List", ((0, "self"),), ()),
        (aten._foreach_addcdiv_.ScalarList, "aten._foreach_addcdiv.ScalarList", ((0, "self"),), ()),
        (aten.native_batch_norm.default, "aten._native_batch_norm_legit_functional.default",
         ((3, "running_mean"), (4, "running_var")), ()),
    ],
)  # fmt: skip
def test_forms_that_write_are_found_from_the_schema(overload, row, writes, drop):
    found = table.find_functional(overload)
    assert (found.row.name, found.writes, found.drop) == (row, writes, drop)


def test_promotion_is_pytorchs():
    integers = [torch.bool, torch.uint8, torch.int32, torch.int64]
    kinds = [*integers, torch.float16, torch.bfloat16, torch.float32, torch.float64]
    pairs = itertools.product(
        [torch.zeros(size, dtype=d) for d in kinds for size in ((2,), ())],
        [torch.zeros(size, dtype=d) for d in kinds for size in ((2,), ())] + [True, 2, 2.5],
    )
    for a, b in pairs:
        ours = [tenon.tensor(x) if isinstance(x, torch.Tensor) else x for x in (a, b)]
        assert dtypes.result_type(*ours) == torch.result_type(a, b), (a, b)


def test_complex_has_no_dtype():
    with pytest.raises(table.Unsupported, match="complex64"):
        dtypes.tenon_dtype(torch.complex64)


def checked(function):
    with RowCheck() as check:
        function()
    assert not check.wrong, check.wrong
    return check


def values(*sizes, **options):
    return torch.randn(*sizes, requires_grad=True, **options)


CASES = {
    "integers and floats": lambda: (torch.arange(6) / 4 + torch.arange(6) // 4 - torch.arange(6) % 4).sum(),
    "bools": lambda: (torch.ones(3, dtype=torch.bool) + torch.zeros(3, dtype=torch.bool)) * True,
    "slices": lambda: values(4, 6)[1:, ::2].sum().backward(),
    "indices": lambda: values(4, 6, 5)[:, [0, 2, 2], [1, 3, 4]].sum().backward(),
    "indices apart": lambda: values(4, 6, 5)[[0, 2], :, [1, 3]].sum().backward(),
    "masks": lambda: values(4, 6).masked_fill(torch.randn(4, 6) > 0, -1.0).sum().backward(),
    "gather": lambda: values(4, 6).gather(1, torch.randint(6, (4, 3))).sum().backward(),
    "convolution": lambda: F.conv2d(values(2, 4, 9, 9), values(6, 2, 3, 3), values(6), 2, 1, 1, 2).sum().backward(),
    "transposed": lambda: F.conv_transpose2d(values(2, 4, 5, 5), values(4, 3, 3, 3), None, 2, 1, 1).sum().backward(),
    "dilated": lambda: F.conv1d(values(2, 3, 12), values(4, 3, 3), None, 1, 2, 2).square().sum().backward(),
    "max pool": lambda: F.max_pool2d(values(2, 3, 9, 9), 3, 2, 1).square().sum().backward(),
    "max pool that overlaps much": lambda: F.max_pool2d(values(1, 1, 12, 12), 7, 1, 3).square().sum().backward(),
    "average pool": lambda: F.avg_pool2d(values(2, 3, 9, 9), 3, 2, 1, True, False).square().sum().backward(),
    "adaptive pool": lambda: F.adaptive_avg_pool2d(values(2, 3, 7, 9), (3, 4)).square().sum().backward(),
    "batch norm": lambda: F.batch_norm(values(4, 3, 5), torch.zeros(3), torch.ones(3), values(3), values(3), True)
    .square().sum().backward(),
    "layer norm": lambda: F.layer_norm(values(4, 3, 5), (3, 5), values(3, 5), values(3, 5)).square().sum().backward(),
    "group norm": lambda: F.group_norm(values(4, 6, 5), 3, values(6), values(6)).square().sum().backward(),
    "attention": lambda: F.scaled_dot_product_attention(
        values(2, 4, 5, 8), values(2, 4, 7, 8), values(2, 4, 7, 8), is_causal=True).square().sum().backward(),
    "cross entropy": lambda: F.cross_entropy(values(5, 7), torch.tensor([1, 2, -100, 0, 6])).backward(),
    "resize": lambda: F.interpolate(values(2, 3, 5, 5), size=(8, 7), mode="bicubic").square().sum().backward(),
    "order": lambda: values(4, 6).sort(1)[0].square().sum().backward(),
    "running": lambda: values(4, 6).cumsum(1).square().sum().backward(),
    "extrema": lambda: values(4, 6).max(1)[0].sum().backward(),
    "deviation": lambda: values(4, 6).std(1).sum().backward(),
    "activations": lambda: [f(values(9)).sum().backward() for f in (
        F.gelu, F.silu, F.mish, F.elu, F.selu, F.softplus, F.hardswish, F.hardsigmoid, F.hardtanh, F.leaky_relu,
        F.logsigmoid, F.softshrink, F.hardshrink, F.tanh)],
    "lists": lambda: torch._foreach_addcmul_([torch.randn(3), torch.randn(2)], [torch.randn(3), torch.randn(2)],
                                             [torch.randn(3), torch.randn(2)], 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows_agree_with_pytorch(name):
    torch.manual_seed(0)
    check = checked(CASES[name])
    assert sum(check.right.values()) and not check.missing, check.missing


SAMPLES = (
    "add sub mul div floor_divide remainder fmod pow maximum clamp where lerp addcmul atan2 hypot xlogy heaviside sum "
    "mean prod amax var std_mean logsumexp cumsum sort index_put scatter_add scatter_reduce index_select gather take "
    "roll flip tril diagonal diag_embed unfold nn.functional.pad nn.functional.embedding nn.functional.nll_loss "
    "nn.functional.huber_loss nn.functional.interpolate nn.functional.grid_sample erfinv lgamma digamma"
).split()


@pytest.mark.parametrize("name", SAMPLES)
def test_rows_agree_with_pytorch_on_its_own_samples(name):
    from torch.testing._internal.common_methods_invocations import op_db

    for op in (op for op in op_db if op.name == name):
        for dtype in (torch.float32, torch.int64):
            if dtype not in op.supported_dtypes("cpu"):
                continue
            tracked = dtype == torch.float32 and op.supports_autograd
            for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=tracked), 2):
                checked(lambda sample=sample, op=op: op(sample.input, *sample.args, **sample.kwargs))
