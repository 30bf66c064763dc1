"""Grids of models that train together on the same rows: ``fit_many``.

On one machine they share stacks; on a Ray cluster each worker trains a group of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from sklearn.base import clone
from torch import nn

from s3c2.engine.cluster import connected, n_workers, spread
from s3c2.engine.devices import device_name
from s3c2.engine.randomness import seed_from
from s3c2.errors import DataError, kept_warnings, warn
from s3c2.fitting import Fitting, begin, equal, of_configuration
from s3c2.links import Links

Group = tuple[Sequence[Any], Sequence[Any], Sequence[int]]  # models, their links and seeds
C = TypeVar("C", bound="TrainsInGrids")


@runtime_checkable
class TrainsInGrids(Protocol):
    """A model that ``fit_many`` can train beside others of its kind."""

    random_state: Any
    # What models that are trained together may differ in, beside their links.
    _may_differ: ClassVar[tuple[str, ...]]

    def _learn(self, fitting: Fitting[Any]) -> Sequence[Any]:
        """Train the models; what each learned, or the error that ended it."""

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be worked with."""

    def _flat_params(self) -> dict[str, Any]:
        """All parameters by name."""


def fit_many(
    X: Any,
    configurations: Sequence[tuple[C, Links | None]],
    *,
    sample_id: Any = None,
    engine: str | None = None,
) -> list[C]:
    """Fit every model on X with its links, all of them together.

    The models are all S3C2, or all of one baseline. They may differ in their links and
    ``random_state``; S3C2 also in ``labnet__threshold`` and ``labnet__reconstruction_weight``, a
    baseline in the parameters that its class names. Each comes out as from its own ``fit``; LabNets
    that differ in the threshold alone are trained once. Stacks that do not fit into memory are
    split. A ``checkpoint``, the same file for all models, keeps the state of the whole grid.

    Parameters
    ----------
    X : rows
    configurations : (model, links) of each; the models are cloned, and stay unfitted themselves
    sample_id : the rows' ids, if the links speak of ids
    engine : {None, "ray"}
        "ray" spreads the models over the GPUs, or else the CPUs, of a Ray cluster: the one this
        process is connected to, or a new one on this machine. A group of models that is lost with
        its worker is trained again.

    Returns
    -------
    list of models, in the order of the configurations; one whose training diverged is left
    unfitted, with a warning

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2 import S3C2, CluNet, LabNet, Links, fit_many
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> base = S3C2(3, labnet=LabNet(steps=20), clunet=CluNet(steps=20), layers=(32, 16), verbose=0)
    >>> base.set_params(scale="unit", random_state=0)
    S3C2(...)
    >>> grid = [
    ...     (clone(base).set_params(labnet__threshold=T), Links.from_labels(y, n, random_state=0))
    ...     for n in (100, 200) for T in (0.1, 0.3)
    ... ]
    >>> [model.threshold_ for model in fit_many(X, grid)]
    [0.1, 0.3, 0.1, 0.3]
    """
    if not isinstance(configurations, Sequence):
        raise TypeError(
            f"fit_many takes a list of pairs (model, links). Got {type(configurations).__name__}."
        )
    if not configurations:
        return []
    for number, one in enumerate(configurations):
        if (
            not isinstance(one, tuple | list)
            or len(one) != 2
            or not isinstance(one[1], Links | None)
        ):
            raise TypeError(
                "fit_many takes pairs (model, links), where links is a Links object or None. "
                f"Configuration {number} is {one!r}."
            )
    given = [model for model, _ in configurations]
    _check_alike(given)
    # Seeds come from the models as given: a generator that several share goes on from one to the
    # next, as in fits one after another.
    seeds = [seed_from(model.random_state) for model in given]
    links = [one for _, one in configurations]
    if engine is None:
        models, failed = _fit_together((X, sample_id), (given, links, seeds))
    elif engine == "ray":
        models, failed = _fit_on_ray(X, sample_id, given, links, seeds)
    else:
        raise ValueError(
            f"The 'engine' parameter of fit_many must be None or 'ray'. Got {engine!r}."
        )
    _report(failed, len(models))
    return models


def _fit_together(data: tuple[Any, Any], group: Group) -> tuple[list[Any], dict[int, DataError]]:
    """New models, fitted in one grid, and the errors of those that diverged."""
    (X, sample_id), (given, links, seeds) = data, group
    models: list[Any] = [clone(model) for model in given]
    fitting = begin(models, X, links, sample_id=sample_id, seeds=seeds)
    return models, fitting.train(fitting.models[0]._learn)


def _fit_on_ray(
    X: Any, sample_id: Any, given: Sequence[Any], links: Sequence[Any], seeds: Sequence[int]
) -> tuple[list[Any], dict[int, DataError]]:
    """The same on a Ray cluster, in as many groups as it has workers."""
    for name in ("checkpoint", "callbacks"):
        if any(getattr(model, name) is not None for model in given):
            raise ValueError(f"With engine='ray' models have no {name}: leave it out.")
    with connected():
        numbers = _groups(links, seeds, n_workers()[0])
        groups = [
            ([given[i] for i in some], [links[i] for i in some], [seeds[i] for i in some])
            for some in numbers
        ]
        found = spread(_fit_for_another, (X, sample_id), groups, int(given[0].verbose))
    models: list[Any] = [None] * len(given)
    failed: dict[int, DataError] = {}
    for some, (fitted, diverged, _) in zip(numbers, found):
        for place, model in zip(some, fitted):
            models[place] = model
        failed |= {some[place]: error for place, error in diverged.items()}
    for message, category in dict.fromkeys(one for *_, said in found for one in said):
        warn(message, category)
    return models, failed


def _groups(links: Sequence[Any], seeds: Sequence[int], n: int) -> list[list[int]]:
    """The numbers of the models in at most n groups of about one size.

    Models with the same links and seed share a LabNet, and stay together.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for number, (one, seed) in enumerate(zip(links, seeds)):
        alike.setdefault((id(one), seed), []).append(number)
    groups: list[list[int]] = [[] for _ in range(n)]
    for some in sorted(alike.values(), key=len, reverse=True):
        min(groups, key=len).extend(some)
    return [sorted(some) for some in groups if some]


def _fit_for_another(
    data: tuple[Any, Any], group: Group
) -> tuple[list[Any], dict[int, DataError], list[tuple[str, type[Warning]]]]:
    """The same for another process, which may have no GPU; and what the library warned of."""
    with kept_warnings() as said:
        models, failed = _fit_together(data, group)
    for model in models:
        model._trained_on = device_name(model.device)
        _bring_home(model)
    return models, failed, said


def _bring_home(model: Any) -> None:
    """Put the networks of a model into the host's memory."""
    for value in vars(model).values():
        if isinstance(value, nn.Module):
            value.cpu()
        elif hasattr(value, "reading_"):  # a stage
            _bring_home(value)


def _report(failed: dict[int, DataError], total: int) -> None:
    """Say which configurations diverged; an error if all did."""
    if len(failed) == total:
        raise next(iter(failed.values()))
    if failed:
        numbers = ", ".join(map(str, sorted(failed)))
        warn(
            f"{len(failed)} of {total} configurations diverged and are returned unfitted: "
            f"{numbers}. {next(iter(failed.values()))}",
        )


def _check_alike(models: Sequence[Any]) -> None:
    kind = type(models[0])
    for number, model in enumerate(models):
        if isinstance(model, type) or not isinstance(model, TrainsInGrids):
            raise TypeError(
                f"fit_many trains S3C2 and the baselines. Got {type(model).__name__}: use its own "
                "fit."
            )
        if type(model) is not kind:
            raise ValueError(
                f"fit_many trains models of one kind: configuration 0 is {kind.__name__} and "
                f"configuration {number} is {type(model).__name__}. Fit each kind in a call of its "
                "own."
            )
        with of_configuration(number, len(models)):
            model._check_parameters()
    expected = models[0]._flat_params()
    free = (*kind._may_differ, "callbacks", "verbose")  # the first model's are those of all
    for number, model in enumerate(models):
        for name, value in model._flat_params().items():
            if name not in free and not equal(value, expected[name]):
                raise ValueError(
                    f"fit_many trains models that are alike: '{name}' is {expected[name]!r} in "
                    f"configuration 0 and {value!r} in configuration {number}. They may differ in "
                    f"{', '.join(kind._may_differ)} and links; fit others in a call of their own."
                )
