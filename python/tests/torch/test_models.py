"""Whole models, unchanged: forward, loss, backward and a step on the device, held against the CPU."""

import copy

import pytest
import torch
from torch import nn

import tenon
import tenon.torch
from models import MobileNet, Recurrent, ResNet18, Translator, UNet


def close(got, expected, rtol, atol):
    torch.testing.assert_close(got.detach().cpu(), expected.detach().cpu(), rtol=rtol, atol=atol)


def compare_step(model, inputs, loss_of, rtol=2e-3, atol=2e-4):
    """Forward, loss, gradients and the weights after a step; how many kernels the step took."""
    model.train()
    twin = copy.deepcopy(model).to("tenon")
    results = []
    for net, device in ((model, "cpu"), (twin, "tenon")):
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
        moved = {k: v.to(device) for k, v in inputs.items()}
        tenon.clear_realizations()
        loss = loss_of(net, **moved)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss.detach().cpu())
        counts = tenon.realization_counts()
    close(results[1], results[0], rtol, atol)
    largest = max(p.grad.abs().max().item() for p in model.parameters() if p.grad is not None)
    for a, b in zip(model.parameters(), twin.parameters()):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            close(b.grad, a.grad, 0, 2e-3 * a.grad.abs().max().item() + 1e-5 * largest)
        close(b, a, rtol, atol)
    for a, b in zip(model.buffers(), twin.buffers()):
        close(b, a, rtol, atol)
    return counts


def _weighted(value):
    """A loss that norms at the end do not make constant."""
    weights = torch.linspace(-1, 1, value.numel(), device="cpu").reshape(value.shape).to(value.device)
    return (value * weights).mean() + (value[..., 0] ** 2).mean()


def cross_entropy(net, x, y):
    return nn.functional.cross_entropy(net(x), y)


@pytest.mark.parametrize("make", [lambda: ResNet18(10, 16), MobileNet, Recurrent], ids=["resnet18", "mobilenet", "lstm"])
def test_classifiers(make):
    torch.manual_seed(0)
    model = make()
    # Batch norms of three numbers, as the last of three such images have, turn last bits into percents.
    x = torch.randn(3, 7, 12) if isinstance(model, Recurrent) else torch.randn(8, 3, 32, 32)
    compare_step(model, {"x": x, "y": torch.randint(0, 3, (len(x),))}, cross_entropy)


def test_unet():
    torch.manual_seed(0)
    inputs = {"x": torch.randn(2, 3, 16, 16), "y": torch.randint(0, 2, (2, 16, 16))}
    compare_step(UNet(), inputs, cross_entropy)


def test_transformer():
    torch.manual_seed(0)
    compare_step(Translator(), {"x": torch.randn(2, 5, 16)}, lambda net, x: _weighted(net(x)))


def test_the_training_step_of_resnet18_takes_less_than_100_kernels():
    torch.manual_seed(0)
    model = ResNet18(10, 16).to("tenon")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(2, 3, 64, 64).to("tenon"), torch.randint(0, 10, (2,)).to("tenon")
    for _ in range(2):
        tenon.clear_realizations()
        loss = cross_entropy(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    counts = tenon.realization_counts()
    assert counts["runs"] == 1
    assert counts["kernels"] < 100


transformers = pytest.importorskip("transformers", reason="the PyPI package transformers is not installed")


def _language(config_class, model_class, **settings):
    torch.manual_seed(0)
    config = config_class(vocab_size=50, **settings)
    return model_class(config), {"input_ids": torch.randint(0, 50, (2, 6))}


def _loss(output):
    return _weighted(output.last_hidden_state if hasattr(output, "last_hidden_state") else output.logits)


SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "vit", "resnet"])
def test_models_of_transformers(name):
    t = transformers
    if name == "bert":
        model, inputs = _language(t.BertConfig, t.BertModel, **SMALL, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    elif name == "gpt2":
        model, inputs = _language(t.GPT2Config, t.GPT2Model, n_embd=16, n_layer=2, n_head=2, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    elif name == "llama":
        model, inputs = _language(t.LlamaConfig, t.LlamaModel, **SMALL, num_key_value_heads=1)
    elif name == "vit":
        torch.manual_seed(0)
        model = t.ViTModel(t.ViTConfig(**SMALL, image_size=16, patch_size=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
        inputs = {"pixel_values": torch.randn(2, 3, 16, 16)}
    else:
        torch.manual_seed(0)
        model = t.ResNetModel(t.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"))
        inputs = {"pixel_values": torch.randn(2, 3, 32, 32)}
    compare_step(model, inputs, lambda net, **given: _loss(net(**given)))


def test_gpt2_with_a_cache_continues_as_without():
    t = transformers
    torch.manual_seed(0)
    model = t.GPT2LMHeadModel(t.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=64)).eval()
    tokens = torch.randint(0, 50, (1, 5))
    expected = model.generate(tokens, max_new_tokens=6, do_sample=False)
    got = model.to("tenon").generate(tokens.to("tenon"), max_new_tokens=6, do_sample=False)
    assert got.cpu().tolist() == expected.tolist()
