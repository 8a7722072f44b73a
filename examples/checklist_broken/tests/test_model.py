import torch
from tinynet.model import TinyNet


def test_shape():
    assert TinyNet()(torch.zeros(2, 64)).shape == (2, 64)
