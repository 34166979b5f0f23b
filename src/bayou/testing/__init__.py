"""Laws that every model must satisfy; new models can be checked with `check_model`."""

from bayou.testing.laws import check_model, laws
from bayou.testing.sklearn_checks import expected_failures

__all__ = ["check_model", "expected_failures", "laws"]
