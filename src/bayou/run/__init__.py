"""How to run a step many times; knows no model."""
