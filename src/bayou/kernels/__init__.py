"""Compiled loops over plain arrays. Nothing here knows a file, a string or a thread."""
