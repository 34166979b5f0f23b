"""Sources of document streams and sinks for predictions, each with a position to resume from."""
