"""Products with a few vectors are the library's own products."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from wenmai.layers import products
from wenmai.layers.products import few, linear, look, product


@pytest.mark.parametrize("shape", [(1, 1, 5), (4, 1, 5), (2, 2, 5), (9, 1, 5), (1, 5)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shared", [1, 10**9])
def test_a_product_is_the_layer(shape, bias, shared, monkeypatch):
    monkeypatch.setattr(products, "SHARED", shared)
    torch.manual_seed(0)
    layer, x = nn.Linear(5, 7, bias), torch.randn(*shape)
    with torch.no_grad():
        torch.testing.assert_close(linear(layer, x), layer(x))
        turned = x.transpose(0, -2)
        torch.testing.assert_close(product(turned, layer.weight, layer.bias), layer(turned))


def test_where_a_gradient_is_asked_for_there_is_one():
    layer, x = nn.Linear(5, 7), torch.randn(1, 1, 5)
    assert linear(layer, x).requires_grad
    with torch.no_grad():
        assert few(x, 1) and not few(x, 5) and not few(x.double(), 1)
        with torch.autocast("cpu", torch.bfloat16):
            assert linear(layer, x).dtype == torch.bfloat16


@pytest.mark.parametrize("rows", [1, 3])
def test_a_query_takes_what_attention_gives(rows):
    torch.manual_seed(0)
    room = torch.randn(2, rows, 4, 20, 8)
    q, (k, v) = 5 * torch.randn(rows, 4, 1, 8), room[:, :, :, :11]
    torch.testing.assert_close(
        look(q, k, v, 0.3), functional.scaled_dot_product_attention(q, k, v, scale=0.3), rtol=1e-4, atol=1e-5
    )
