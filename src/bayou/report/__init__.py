"""Reports on fitted models: one self-contained HTML file that works without scripts and without network."""

from bayou.report.data import ReportData
from bayou.report.page import render, write
from bayou.report.track import TrackData
from bayou.report.track_page import render_track, write_track

__all__ = ["ReportData", "TrackData", "render", "render_track", "write", "write_track"]
