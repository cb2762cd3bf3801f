"""Products with a few vectors are the library's own products."""

import pytest
import torch
from torch import nn

from wenmai.layers import products
from wenmai.layers.products import plain, product, said


@pytest.mark.parametrize("shape", [(1, 1, 5), (3, 1, 5), (4, 1, 5), (2, 3, 5), (7, 1, 5), (9, 1, 5), (1, 5)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shared", [1, 10**9])
def test_a_product_is_the_layer(shape, bias, shared, monkeypatch):
    monkeypatch.setattr(products, "SHARED", shared)
    torch.manual_seed(0)
    layer, x = nn.Linear(5, 7, bias), torch.randn(*shape)
    with torch.no_grad():
        for given in (x, x.transpose(0, -2)):
            torch.testing.assert_close(product(given, layer.weight, layer.bias), layer(given))
            if bias:
                torch.testing.assert_close(said(given, layer.weight, layer.bias), layer(given).log_softmax(-1))


def test_where_a_gradient_is_asked_for_there_is_one():
    layer, x = nn.Linear(5, 7), torch.randn(1, 1, 5)
    assert product(x, layer.weight, layer.bias).requires_grad
    with torch.no_grad():
        assert plain(x) and not plain(x.double())
        with torch.autocast("cpu", torch.bfloat16):
            assert product(x, layer.weight, layer.bias).dtype == torch.bfloat16


@pytest.mark.parametrize("rows", [8, 9, 64, 65, 130])
@pytest.mark.parametrize("words", [16, 17, 40])
def test_what_is_said_is_the_softmax(rows, words):
    """Whichever way round it is multiplied, and with a token that is never said."""
    torch.manual_seed(0)
    x, weight, bias = torch.randn(rows, 1, 5), torch.randn(words, 5), torch.randn(words)
    bias[3] = float("-inf")
    with torch.no_grad():
        torch.testing.assert_close(said(x, weight, bias), (x @ weight.mT + bias).log_softmax(-1))
