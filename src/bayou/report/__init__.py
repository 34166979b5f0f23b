"""A fitted model as one HTML file: complete without scripts, and it asks nothing of the network."""

from bayou.report.data import ReportData
from bayou.report.page import render, write

__all__ = ["ReportData", "render", "write"]
