"""Composable mathematics: states and short functions over kernels."""
