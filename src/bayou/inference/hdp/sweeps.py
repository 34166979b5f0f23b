"""One sweep of an HDP chain: tokens, topics, tables, concentrations."""

from __future__ import annotations

from typing import NamedTuple

from bayou.inference.hdp import franchise, table_moves, warm_up
from bayou.inference.hdp.franchise import FranchiseChain, FranchiseData, FranchisePrior
from bayou.inference.lda.arrays import I64

SETTLE = 10  # sweeps before concentrations are learned
N_PROPOSALS = 1  # of the alias sampler per token


class SweepSettings(NamedTuple):
    """What the sweeps of a chain do."""

    sampler: str
    n_moves: int
    learn_alpha: bool
    learn_gamma: bool
    last_merges: int = 0  # the last sweep that may merge topics whenever p(z, g, w) rises


def draw_chain(
    chain: FranchiseChain,
    data: FranchiseData,
    prior: FranchisePrior,
    how: SweepSettings,
    renew: bool,
    seed: int,
    step: int,
) -> tuple[FranchiseChain, FranchisePrior, I64]:
    """z and tables of all tokens; moves of topics and tables; alpha and gamma.

    Also returns the old slot of each slot, or -1. ``renew`` says whether stored draws are renewed.
    """
    if how.sampler == "direct":
        g = franchise.draw_root(chain, prior, seed, step)
        chain, g, old = franchise.sweep_direct(chain, data, g, prior, seed, step)
    else:
        proposals = (N_PROPOSALS if how.sampler == "alias" else 0, renew)
        chain, old = franchise.sweep_tables(chain, data, prior, proposals, seed, step)
        g = franchise.draw_root(chain, prior, seed, step)
    if how.n_moves:
        franchise.move_topics(chain, data, g, prior, how.n_moves, seed, step)
    if how.n_moves and step <= how.last_merges and step % warm_up.EVERY == 0:
        warm_up.merge_topics(chain, data, g, prior)
    if how.n_moves and step % table_moves.EVERY == 0:
        chain, new = table_moves.move_tables(chain, data, g, prior, how.n_moves, seed, step)
        old = franchise.move_slots(old, new, -1)
    elif how.n_moves or how.sampler == "direct":
        franchise.seat(chain, data, g, prior, seed, step)
    if step > SETTLE:
        learn = (how.learn_alpha, how.learn_gamma)
        prior = franchise.draw_concentrations(chain, data, prior, learn, seed, step)
    return chain, prior, old
