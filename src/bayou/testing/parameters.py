"""Laws of the constructor: parameters are stored, copied, shown, and checked only by `fit`."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from bayou.testing.cases import Case, expect, expect_error, file_bytes, fit, same


def constructor_stores(case: Case) -> None:
    """The constructor stores its arguments, the same objects, and does nothing else."""
    params = case.model.get_params(deep=False)
    made = type(case.model)(**params)
    expect(set(vars(made)) == set(params), "the constructor sets more or less than its parameters")
    for name, value in params.items():
        expect(getattr(made, name) is value, f"the constructor replaces the parameter {name}")


def fit_judges(case: Case) -> None:
    """An invalid parameter is stored by the constructor and refused by `fit`."""
    for name, bad in (("n_topics", 0), ("beta", -1.0), ("n_threads", 0), ("inference", "?")):
        if name not in case.model.get_params():
            continue
        model = clone(case.model).set_params(**{name: bad})
        expect_error(ValueError, f"fit with {name}={bad!r}", fit, model, case.corpus)


def fit_keeps_parameters(case: Case) -> None:
    """Fitting changes no parameter: learned attributes end in an underscore or are private."""
    model = case.fresh()
    before = dict(model.get_params(deep=False))
    fit(model, case.corpus)
    after = model.get_params(deep=False)
    expect(all(after[k] is v for k, v in before.items()), "fit replaces a parameter")
    learned = set(vars(model)) - set(before)
    odd = [k for k in learned if not k.endswith("_") and not k.startswith("_")]
    expect(not odd, f"fit sets public attributes without a final underscore: {odd}")


def clone_copies(case: Case) -> None:
    """A clone has the same parameters, is not fitted, and learns the same."""
    model = case.fit_copy()
    copy = clone(model)
    expect(not copy.__sklearn_is_fitted__(), "the clone of a fitted model is fitted")
    expect(
        same(copy.get_params(deep=False), model.get_params(deep=False)),
        "the clone's parameters differ",
    )
    expect(
        file_bytes(fit(copy, case.corpus)) == file_bytes(model),
        "the clone's fit differs from the model's",
    )


def set_params_round_trip(case: Case) -> None:
    """The parameters of one model, set on another, make both models equal."""
    model = case.fresh()
    other = type(case.model)().set_params(**model.get_params())
    expect(same(other.get_params(), model.get_params()), "set_params loses a parameter")
    expect(
        file_bytes(fit(other, case.corpus)) == file_bytes(fit(model, case.corpus)),
        "the two models learn differently",
    )
    expect_error(ValueError, "an unknown parameter", lambda: other.set_params(no_such_parameter=1))


def repr_round_trip(case: Case) -> None:
    """The repr is the same before and after fit, and evaluates to an equal model."""
    model = case.fresh()
    text = repr(model)
    expect(repr(case.fit_copy()) == text, "the repr of a fitted model differs")
    simple = all(_simple(v) for v in model.get_params(deep=False).values())
    if simple:
        made = eval(text, {type(model).__name__: type(model)})  # the repr holds only plain values
        expect(same(made.get_params(), model.get_params()), f"{text} evaluates to another model")


def _simple(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


LAWS = (
    constructor_stores,
    fit_judges,
    fit_keeps_parameters,
    clone_copies,
    set_params_round_trip,
    repr_round_trip,
)
