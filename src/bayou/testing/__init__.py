"""Laws that every model keeps, shipped so that new models can be held to them."""

from bayou.testing.laws import check_model, laws

__all__ = ["check_model", "laws"]
