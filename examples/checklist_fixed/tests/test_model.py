import torch
import torch.nn.functional as F
from tinynet.model import TinyNet


def test_shape():
    assert TinyNet()(torch.zeros(2, 64)).shape == (2, 64)


def test_gelu_gradient_flow():
    x = torch.tensor([-(2**0.5), 0.0, 10.0], requires_grad=True)
    F.gelu(x, approximate="none").sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([-0.1289, 0.5, 1.0]), atol=1e-4, rtol=0)
