"""A structure-aware fuzzer of model files and checkpoints.

A case takes a valid file, changes arrays or the manifest, writes it with a correct digest, loads it and calls
every public method. ``python -m tests.fuzz.run`` prints what it found; see docs/reliability.md.
"""
