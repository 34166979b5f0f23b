"""What training leaves behind: frozen values that prediction, metrics and reports read."""
