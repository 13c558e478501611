"""Small models for the tests of export and torch.compile."""

import torch
from torch import nn
from torch.nn import functional as F


def mlp():
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8))


def conv_bn_relu():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


def encoder_layer():
    return nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)


class Recurrent(nn.Module):
    """The outputs of a recurrent layer, and a dense layer on them."""

    def __init__(self, kind=nn.LSTM, **options):
        super().__init__()
        self.layer = kind(8, 16, batch_first=True, **options)
        self.head = nn.Linear(32 if options.get("bidirectional") else 16, 4)

    def forward(self, x):
        return self.head(self.layer(x)[0])


class UNet(nn.Module):
    """Down, up, and a connection across."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.deep = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 2, 1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x):
        a = F.silu(self.norm(self.down(x)))
        b = F.relu(self.deep(F.avg_pool2d(a, 2)))
        c = self.up(b) + F.interpolate(b[:, :8], scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(torch.cat([a, c], 1))


class Block(nn.Module):
    """Attention with a cache of keys and values, and a feed-forward layer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, past):
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).chunk(3, -1)
        q, k, v = (t.view(n, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        seen = torch.ones(length, k.shape[2], dtype=torch.bool, device=x.device).tril(k.shape[2] - length)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh")), torch.stack([k, v])


class Gpt(nn.Module):
    """A small decoder: tokens and the cache in, logits and the longer cache out."""

    def __init__(self, vocabulary=50, width=32, heads=4, depth=2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, cache):
        """cache: [depth, 2, batch, heads, past, depth of a head]"""
        place = torch.arange(ids.shape[1], device=ids.device) + cache.shape[4]
        x = self.tokens(ids) + self.places(place)
        grown = []
        for block, past in zip(self.blocks, cache):
            x, new = block(x, past)
            grown.append(new)
        return self.norm(x) @ self.tokens.weight.t(), torch.stack(grown)


def empty_cache(batch, past=0, depth=2, heads=4, width=32):
    return torch.randn(depth, 2, batch, heads, past, width // heads)
