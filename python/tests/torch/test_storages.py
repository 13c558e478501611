"""Storages on the device: saving, copying, growing, and where they lie."""

import copy
import gc
import io

import pytest
import torch
from device_support import DEVICE

import tenon.torch  # noqa: F401  (registers the device)


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


def test_storages_are_told_apart_by_where_they_begin():
    x, y = torch.ones(2, 3, device=DEVICE), torch.ones(2, 3, device=DEVICE)
    assert x[1].data_ptr() == x.data_ptr() + 12 and x[1].untyped_storage().data_ptr() == x.data_ptr()
    assert y.data_ptr() not in range(x.data_ptr(), x.data_ptr() + x.untyped_storage().nbytes())


def _saved(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
@pytest.mark.parametrize("again", [copy.deepcopy, _saved])
def test_storages_that_grew_while_they_were_shared_are_copied_whole(again):
    seen = []
    for device in ("cpu", DEVICE):
        whole = torch.arange(4.0).to(device)
        end = whole[2:]
        torch.neg(torch.arange(5.0).to(device), out=end)  # the storage has 7 elements now
        assert whole.untyped_storage().nbytes() == len(whole.untyped_storage()) == 28
        twins = again([whole, end])
        twins[1].add_(10)
        whole.zero_()
        copied = torch.empty(0).to(device).set_(end.untyped_storage(), 1, (6,), (1,))
        seen.append([t.tolist() for t in (*twins, end, copied)])
    assert seen[0] == seen[1]


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
def test_storages_that_grew_count_as_memory_and_can_be_written():
    gc.collect()  # what other tests have left
    before = torch.tenon.memory_allocated()
    whole = torch.zeros(4, device=DEVICE)
    end = whole[2:]
    torch.neg(torch.ones(5, device=DEVICE), out=end)
    gc.collect()
    assert torch.tenon.memory_allocated() == before + 28
    end.untyped_storage().copy_(torch.arange(7.0).to(DEVICE).untyped_storage())
    assert whole.tolist() == [0, 1, 2, 3] and end.tolist() == [2, 3, 4, 5, 6]
    with pytest.raises(RuntimeError, match="size does not match, self was 28 bytes but src was 8 bytes"):
        end.untyped_storage().copy_(torch.zeros(2, device=DEVICE).untyped_storage())
    del whole, end
    gc.collect()
    assert torch.tenon.memory_allocated() == before
