"""Parameters of models that are solved from moments."""

from __future__ import annotations

from typing import NamedTuple

MODES = ("basis", "history", "reservoir")
WEIGHTINGS = ("tokens", "documents")
LEAST_BURN_IN = 1_000  # documents from which a basis is chosen, by default


class MomentSettings(NamedTuple):
    """The parameters of one run; `SpectralLeader` documents them."""

    n_topics: int
    mode: str
    weighting: str
    decomposition: str
    smoothing: float | None
    beta: float
    burn_in: int
    reservoir: int
    half_life: int | None
    generation: int | None  # documents per generation; None if a basis is never replaced
    max_share: float | None
    n_polish: int
    alpha0: float  # sum of the Dirichlet parameters of LDA; 0 for one topic per document


def complete(p: MomentSettings) -> MomentSettings:
    """Fill in defaults that depend on other parameters. Refuse combinations that contradict each other."""
    if p.half_life and p.mode == "reservoir":
        raise ValueError("half_life has no effect on a uniform sample; use another mode")
    if p.generation and not (p.half_life and p.mode == "basis"):
        raise ValueError("generation belongs to a half_life and mode 'basis'; leave it out")
    burn_in = int(p.burn_in or max(LEAST_BURN_IN, 100 * p.n_topics))
    if not (p.half_life and p.mode == "basis"):
        return p._replace(burn_in=burn_in)
    generation = p.generation or max(2 * p.half_life, burn_in)
    if generation < burn_in:
        raise ValueError(
            f"generation must be at least burn_in = {burn_in}, or no basis is ever ready; "
            f"got {generation}"
        )
    return p._replace(burn_in=burn_in, generation=generation)
