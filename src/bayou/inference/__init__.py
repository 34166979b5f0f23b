"""Composable mathematics by family: states and short functions over kernels.

`lda` is the base that every family may use. `hdp`, `spectral` and `thresholds` use `lda`; `margin`, `labels`
and `tracking` may use those too. No family uses another on its own level.
"""
