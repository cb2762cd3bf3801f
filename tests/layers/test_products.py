"""Products with a few vectors are the library's own products."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from wenmai.kernels import products
from wenmai.kernels.panels import Panels
from wenmai.kernels.products import Packed16, Repeated, plain, product


@pytest.mark.parametrize(
    "shape", [(1, 1, 5), (3, 1, 5), (4, 1, 5), (2, 3, 5), (7, 1, 5), (9, 1, 5), (1, 5)]
)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shared", [1, 10**9])
def test_a_product_is_the_layer(shape, bias, shared, monkeypatch):
    monkeypatch.setattr(products, "SHARED", shared)
    torch.manual_seed(0)
    layer, x = nn.Linear(5, 7, bias), torch.randn(*shape)
    with torch.no_grad():
        for given in (x, x.transpose(0, -2)):
            torch.testing.assert_close(product(given, layer.weight, layer.bias), layer(given))


def test_where_a_gradient_is_asked_for_there_is_one():
    layer, x = nn.Linear(5, 7), torch.randn(1, 1, 5)
    assert product(x, layer.weight, layer.bias).requires_grad
    with torch.no_grad():
        assert plain(x) and not plain(x.double())


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("rows", [9, 64, 130])
@pytest.mark.parametrize("words", [16, 17, 40])
def test_products_with_many_vectors(rows, words, onednn, monkeypatch):
    """With the library's better product and without it, and with a token that is never said."""
    monkeypatch.setattr(products, "ONEDNN", onednn and products.ONEDNN)
    torch.manual_seed(0)
    layer, x = nn.Linear(5, words), torch.randn(rows, 5)
    with torch.no_grad():
        layer.bias[3] = float("-inf")
        torch.testing.assert_close(product(x[:, None], layer.weight, layer.bias), layer(x)[:, None])


@pytest.mark.parametrize("bits", [16, 32])
def test_a_product_again_and_again(bits):
    torch.manual_seed(0)
    layer, again, near = (
        nn.Linear(5, 7),
        Repeated(),
        {"atol": 0.03, "rtol": 0.03} if bits == 16 else {},
    )
    for rows in (1000, 1, 8, 9, 40, 3, 12):
        x = torch.randn(rows, 1, 5)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=bits == 16):
            found = again(x, layer, lambda: layer.bias)
        torch.testing.assert_close(found.float(), layer(x).detach(), **near)
        assert found.dtype == (torch.bfloat16 if bits == 16 and rows > 8 else torch.float32)
        assert (again.kept.both is None) == (rows == 1000)  # no text that is written
    assert isinstance(again.kept.both[1], Packed16 if bits == 16 else Panels)
    with torch.no_grad():
        layer.bias += 1
    for _ in range(5):  # other weights, and gradients
        torch.testing.assert_close(again(x[:3], layer, lambda: layer.bias), layer(x[:3]))
        assert again.kept.both is None and again(x, layer, lambda: layer.bias).requires_grad
        with torch.no_grad():
            torch.testing.assert_close(again(x[:3], layer, lambda: layer.bias), layer(x[:3]))


@pytest.mark.parametrize("onednn", [True, False])
def test_products_in_16_bits(onednn, monkeypatch):
    monkeypatch.setattr(products, "ONEDNN", onednn and products.ONEDNN)
    torch.manual_seed(0)
    layer, x, y = nn.Linear(50, 7), torch.randn(20, 50), torch.randn(20, 7)
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            packed = Packed16(layer.weight, layer.bias)
            found = {
                "plain": packed(x),
                "relu": packed(x, "relu"),
                "gelu": packed(x, "gelu"),
                "added": packed.added(x, y),
                "many": product(x, layer.weight, layer.bias),
            }
            few = product(x[:2], layer.weight, layer.bias)  # which stay in 32
        wanted = {
            "plain": layer(x),
            "relu": layer(x).relu(),
            "gelu": functional.gelu(layer(x)),
            "added": layer(x) + y,
            "many": layer(x),
        }
    assert {name for name, value in found.items() if value.dtype == torch.float32} == {"added"}
    for name, value in found.items():
        torch.testing.assert_close(value.float(), wanted[name], atol=0.03, rtol=0.03)
    torch.testing.assert_close(few, layer(x[:2]).detach())
