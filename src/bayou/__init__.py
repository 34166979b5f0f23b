"""Topic models that learn from labels and from streams."""

__version__ = "0.1.0"
