"""Chains in rounds: which chain sweeps when, and chains that wait for their turn.

Each round runs every chain in turn and ends at twice the sweeps of the round before. The later half of a
chain's sweeps is therefore its last round. After a round the chains are compared (`agreement`). A chain that
waits is stored as its topics, tables and concentrations; counts follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bayou.inference.hdp import agreement, chains, franchise
from bayou.inference.hdp.franchise import U8, FranchiseChain, FranchiseData, FranchisePrior
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.lda.resume import refuse

SHORTEST = 40  # sweeps of a chain before chains are compared for the first time


class Turn(NamedTuple):
    """The next sweep."""

    chain: int
    sweep: int  # of this chain, from 1 on
    is_first: bool  # of this chain in this round
    end: int  # sweeps of each chain at the end of the round


class Waiting(NamedTuple):
    """Chains that wait; a row per chain."""

    z: U16  # (chains, tokens); topics numbered from 0 on
    heads: U8  # (chains, tokens)
    ids: I64  # (chains, most topics); -1 beyond the topics of the chain
    numbers: F64  # (chains, 3): alpha, gamma, next id


def ends(n_sweeps: int, n_chains: int, burn_in: int | None) -> tuple[int, ...]:
    """Sweeps of each chain at the end of each round; one round for one chain or a given ``burn_in``."""
    if n_chains == 1 or burn_in is not None:
        return (n_sweeps,)
    return (n_sweeps // 2, n_sweeps) if n_sweeps // 2 >= SHORTEST else (n_sweeps,)


def find_turn(step: int, round_ends: tuple[int, ...], n_chains: int) -> Turn:
    """The sweep that follows the first ``step`` sweeps of all chains together."""
    begin = 0
    for end in round_ends:
        length = end - begin
        if step < n_chains * end or end == round_ends[-1]:
            chain, inner = divmod(step - n_chains * begin, length)
            return Turn(chain, begin + inner + 1, inner == 0, end)
        begin = end
    raise AssertionError("there is a last round")


def none_waits(n_chains: int, n_tokens: int) -> Waiting:
    """Room for the chains if there are several."""
    n = n_chains if n_chains > 1 else 0
    ids, numbers = np.full((n, 0), -1, np.int64), np.zeros((n, 3))
    z, heads = np.zeros((n, n_tokens), np.uint16), np.zeros((n, n_tokens), np.uint8)
    return Waiting(z, heads, ids, numbers)


def fields_of(waiting: Waiting) -> dict[str, Any]:
    """The chains that wait by the names that a state has for them."""
    return {f"waiting_{name}": array for name, array in waiting._asdict().items()}


def waiting_of(state: Any) -> Waiting:
    """The inverse of `fields_of`."""
    return Waiting(*(getattr(state, f"waiting_{name}") for name in Waiting._fields))


def park(waiting: Waiting, no: int, chain: FranchiseChain, prior: FranchisePrior) -> Waiting:
    """Store a chain. Rows of ``waiting`` are written in place."""
    live = np.flatnonzero(chain.counts.topic > 0)
    to = np.zeros(len(chain.counts.topic), np.uint16)
    to[live] = np.arange(len(live))
    ids = np.full((len(waiting.ids), max(waiting.ids.shape[1], len(live))), -1, np.int64)
    ids[:, : waiting.ids.shape[1]] = waiting.ids
    ids[no] = -1
    ids[no, : len(live)] = chain.counts.ids[live]
    waiting.z[no], waiting.heads[no] = to[chain.z], chain.heads
    waiting.numbers[no] = prior.alpha, prior.gamma, chain.counts.sizes[2]
    return waiting._replace(ids=ids)


def resume(
    waiting: Waiting, no: int, corpus: FranchiseData, prior: FranchisePrior
) -> tuple[FranchiseChain, FranchisePrior]:
    """The chain that was stored, with its counts and an empty store of draws, and its concentrations."""
    alpha, gamma, next_id = waiting.numbers[no]
    ids = waiting.ids[no][waiting.ids[no] >= 0]
    chain = franchise.count_chain(corpus, waiting.z[no].copy(), waiting.heads[no].copy(), ids)
    chain.counts.sizes[2] = int(next_id)
    return chain, prior._replace(alpha=float(alpha), gamma=float(gamma))


def current_chain(state: Any, p: Any) -> int:
    """The chain of the last sweep; ``p`` are the model's settings."""
    return find_turn(state.step - 1, p.ends, p.n_chains).chain


def exchange_chains(
    state: Any, turn: Turn, data: FranchiseData, p: Any, seed: int, each: Each
) -> dict[str, Any]:
    """Fields of a state whose current chain waits from now on, and whose next chain starts or resumes."""
    prior = FranchisePrior(state.alpha, state.gamma, p.discount, p.beta)
    now = chains.chain_of(state, data)
    waiting = park(waiting_of(state), current_chain(state, p), now, prior)
    if turn.sweep == 1:
        chain, prior = chains.start_chain(data, p, seed, each, turn.chain)
    else:
        chain, prior = resume(waiting, turn.chain, data, prior)
    concentrations = {"alpha": prior.alpha, "gamma": prior.gamma}
    return {**chains.fields_of(chain), **concentrations, **fields_of(waiting)}


def is_finished(state: Any, p: Any) -> bool:
    """Whether all sweeps are done, or the chains agree at the end of a round; ``p``: the model's settings."""
    if state.step >= p.n_sweeps * p.n_chains:
        return True
    at_end = state.step in {p.n_chains * end for end in p.ends}
    return at_end and agreement.is_agreed(state.trace, state.fits, p.burn_in)


def check_state(state: Any, data: FranchiseData, p: Any) -> None:
    """Refuse a state of a checkpoint whose arrays contradict each other or its number of sweeps."""
    chains.check_chain(state, data)
    waiting = waiting_of(state)
    if len(waiting.z) != (p.n_chains if p.n_chains > 1 else 0):
        refuse("waiting_z", "is of another number of chains")
    turns = [find_turn(step, p.ends, p.n_chains).chain for step in range(state.step)]
    if state.trace[:, 0].tolist() != turns:
        refuse("trace", "does not follow from the number of sweeps")
    if state.n_kept > state.step or state.times.max(initial=0) > state.n_kept:
        refuse("times", "does not follow from the number of kept sweeps")
    if len(state.times) != (len(state.topic) if state.n_kept else 0):
        refuse("kept", "does not follow from the number of kept sweeps")
    for no in {*turns} - {*turns[-1:]}:
        ids = waiting.ids[no][waiting.ids[no] >= 0]
        tables = np.bincount(waiting.z[no], weights=waiting.heads[no], minlength=len(ids))
        alpha, gamma, next_id = waiting.numbers[no]
        if len(tables) != len(ids) or (tables < 1).any():
            refuse("waiting_z", "does not follow from the topics of its chain")
        if min(alpha, gamma) <= 0.0 or not ids.max(initial=-1) < next_id < 2**53:
            refuse("waiting_numbers", "holds impossible numbers")


def other_counts(state: Any, data: FranchiseData, p: Any) -> Iterator[F32]:
    """n_vk of the chains that are not the model, each at its last sweep."""
    now = current_chain(state, p)
    prior = FranchisePrior(state.alpha, state.gamma, p.discount, p.beta)
    for no in np.unique(state.trace[:, 0])[1:]:
        if no == now:
            chain = chains.chain_of(state, data)
        else:
            chain, _ = resume(waiting_of(state), no, data, prior)
        yield np.ascontiguousarray(chain.counts.term_topic[:, chain.counts.topic > 0])
