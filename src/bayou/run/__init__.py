"""Training loop, threads, checkpoints and stream ingestion, independent of any model."""
