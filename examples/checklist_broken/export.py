import torch
from tinynet.model import TinyNet
from torch import nn


class Deployed(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net, self.act, self.head = net, nn.GELU(), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.act(self.net(x)))


if __name__ == "__main__":
    torch.onnx.export(Deployed(TinyNet()).eval(), (torch.zeros(1, 64),), "tinynet.onnx", opset_version=17)
