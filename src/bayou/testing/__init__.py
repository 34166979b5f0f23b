"""Laws that every model keeps, shipped so that new models can be held to them."""

from bayou.testing.laws import check_model, laws
from bayou.testing.sklearn_checks import expected_failures

__all__ = ["check_model", "expected_failures", "laws"]
