"""Losses of max-margin models: one record each. Kernels know a loss by its code.

A loss on the score f becomes the Gaussian pseudo-observation exp(kappa f - omega f**2 / 2) after
augmentation. `kernels.margin.response.augment` draws (omega, kappa) for each code. The topic sampler sees
(omega, kappa) only.
"""

from __future__ import annotations

from typing import NamedTuple

from bayou.data.checks import one_of
from bayou.kernels.margin import response


class Loss(NamedTuple):
    """One loss."""

    name: str  # the word that users give
    code: int  # of `kernels.margin.response`
    classifies: bool  # whether responses are signs (+1, -1) rather than numbers
    refit: str  # linear model fitted after the chain: "svm", "logistic" or "ridge"
    smoothing: float = 0.0  # width of the rounded corner, in margins; 0 if the loss has none


HINGE = Loss("hinge", response.HINGE, True, "svm")
LOGISTIC = Loss("logistic", response.LOGISTIC, True, "logistic")
SMOOTH_HINGE = Loss("smooth-hinge", response.SMOOTH_HINGE, True, "svm", 1.0 / 16.0)
INSENSITIVE = Loss("insensitive", response.INSENSITIVE, False, "ridge")

LOSSES = {loss.name: loss for loss in (HINGE, LOGISTIC, SMOOTH_HINGE, INSENSITIVE)}
CLASSIFICATION_LOSSES = tuple(loss.name for loss in LOSSES.values() if loss.classifies)


def loss_by_name(name: str) -> Loss:
    """The loss of that name; an error lists the names there are."""
    one_of("loss", name, tuple(LOSSES))
    return LOSSES[name]


def smooth_loss(name: str, smoothing: float | None) -> Loss:
    """The loss of that name with the smoothing that a user gave; None keeps that of the record."""
    loss = loss_by_name(name)
    if smoothing is None:
        return loss
    if loss.smoothing == 0.0:
        raise ValueError(f"smoothing is for loss='smooth-hinge'; got loss={name!r}")
    return loss._replace(smoothing=float(smoothing))
