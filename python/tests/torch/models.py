"""Models as people write them in PyTorch, for tests and benchmarks."""

import torch
from torch import nn


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self, classes=1000, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        widths = [width, width * 2, width * 4, width * 8]
        blocks, before = [], width
        for i, after in enumerate(widths):
            blocks += [BasicBlock(before, after, 1 if i == 0 else 2), BasicBlock(after, after)]
            before = after
        self.layers = nn.Sequential(*blocks)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(before, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = torch.flatten(self.avgpool(self.layers(x)), 1)
        return self.fc(x)


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, factor):
        super().__init__()
        hidden = inputs * factor
        self.adds = stride == 1 and inputs == outputs
        self.block = nn.Sequential(
            nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip

    def forward(self, x):
        return x + self.block(x) if self.adds else self.block(x)


class MobileNet(nn.Module):
    """MobileNet-V2's blocks, fewer of them."""

    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(inplace=True),
            InvertedResidual(8, 8, 1, 2), InvertedResidual(8, 12, 2, 3), InvertedResidual(12, 12, 1, 3),
        )  # fmt: skip
        self.classifier = nn.Linear(12, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class UNet(nn.Module):
    def __init__(self, width=4, classes=2):
        super().__init__()
        block = lambda i, o: nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU()
        )
        self.down1, self.down2, self.bottom = block(3, width), block(width, width * 2), block(width * 2, width * 4)
        self.up2, self.up1 = nn.ConvTranspose2d(width * 4, width * 2, 2, 2), nn.ConvTranspose2d(width * 2, width, 2, 2)
        self.out2, self.out1 = block(width * 4, width * 2), block(width * 2, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = self.bottom(nn.functional.max_pool2d(b, 2))
        b = self.out2(torch.cat([self.up2(c), b], 1))
        return self.head(self.out1(torch.cat([self.up1(b), a], 1)))


class Recurrent(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, 3)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


class Translator(nn.Module):
    """nn.Transformer, encoder and decoder."""

    def __init__(self, width=16):
        super().__init__()
        self.transformer = nn.Transformer(width, 4, 1, 1, 32, dropout=0.0, batch_first=True)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.transformer(x, x, tgt_mask=mask)
