"""Topics from moments.

Moments in a fixed basis (`moments`), along a stream (`moment_stream`, `reservoir`), whitening and tensor
decomposition (`solve`, `tensor`), mixtures of multinomials (`mixture`), parameters (`settings`),
single-threaded linear algebra (`blas`).
"""
