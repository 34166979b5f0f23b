"""Where a stream of documents comes from and where answers go, each with a position to come back to."""
