"""The one way into training: ``fit`` of every estimator, and grids of models by ``fit_many``.

One fit is a grid of one. `begin` checks the parameters, reads X and resolves the links; the
estimator's own ``_learn`` trains; every model then gets what it learned.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from sklearn.base import clone
from torch import nn

from s3c2 import __version__
from s3c2.data.streams import is_dataset
from s3c2.engine.callbacks import as_callbacks
from s3c2.engine.checkpoint import Checkpoint, digest_of_links, digest_of_module, fingerprint
from s3c2.engine.cluster import connected, n_workers, spread
from s3c2.engine.devices import device_name
from s3c2.engine.progress import say
from s3c2.engine.randomness import seed_from
from s3c2.engine.ranks import check_same, meet, n_ranks, of_first, take_weights_of_first
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.usual_torch import usual_torch
from s3c2.errors import DataError, LinksError, NoLinksWarning, kept_warnings, warn
from s3c2.links import Links
from s3c2.reading import Reading, read_for_fit
from s3c2.sampled import Sampled, sampled, tell

if TYPE_CHECKING:
    from s3c2.surface import LinkEstimator

Group = tuple[Sequence[Any], Sequence[Any], Sequence[int]]  # models, their links and seeds
M = TypeVar("M", bound="LinkEstimator")
C = TypeVar("C", bound="TrainsInGrids")


@dataclass(frozen=True)
class Fitting(Generic[M]):
    """Models that are fitted together, and what they learn from.

    Attributes
    ----------
    models : they differ in what their class allows, at most; their network is chosen
    given : the same models as the user gave them, which get what was learned
    reading, rows : X
    links : of each model, by row number; the same object where they are equal
    seeds : of each model
    run : callbacks, progress and checkpoint
    sampled : where X does not fit into memory, what ``rows`` are of it
    """

    models: Sequence[M]
    given: Sequence[M]
    reading: Reading
    rows: Rows
    links: Sequence[Links]
    seeds: Sequence[int]
    run: FitRun
    sampled: Sampled | None = None

    def train(self, learn: Callable[[Fitting[M]], Sequence[Any]]) -> dict[int, DataError]:
        """Train all models by this function; the errors of those that diverged, by number.

        ``learn`` gives what each model learned, or the error that ended it. Such a model stays as
        it was.
        """
        with usual_torch(), self.run:
            outcomes = learn(self)
        failed = {}
        for number, (model, outcome) in enumerate(zip(self.given, outcomes)):
            if isinstance(outcome, DataError):
                failed[number] = outcome
            else:
                model._set_fitted(self.reading, outcome)
                if self.sampled is not None:
                    model._spread(self.sampled)
                model._look_at_result()
        return failed

    def train_one(self, learn: Callable[[Fitting[M]], Sequence[Any]]) -> M:
        """The only model, trained by this function, or its error."""
        for error in self.train(learn).values():
            raise error
        return self.given[0]


def begin(
    models: Sequence[M],
    X: Any,
    links: Sequence[Any],
    *,
    sample_id: Any = None,
    y: Any = None,
    seeds: Sequence[int] | None = None,
    beside: Any = None,
) -> Fitting[M]:
    """Check the models, read X, resolve the links, and find the state of an earlier start.

    Parameters
    ----------
    models, links : one for each model
    X : rows
    sample_id : the rows' ids, if the links speak of ids
    y : ignored; links given here by mistake are an error
    seeds : one for each model, by default from its ``random_state``
    beside : what else decides the result
    """
    if isinstance(y, Links):
        raise LinksError("The links were given as y, which is ignored: write fit(X, links=…).")
    for model in models:
        model._check_parameters()
    first = models[0]
    some = sampled(X, links, sample_id, int(first.memory), first.verbose)
    if some is not None and some is not X:
        tell(some, int(first.memory), first.verbose)
    columns = some.whole.columns if some is not None and is_dataset(X) else None
    reading, rows, choices = read_for_fit(first, X if some is None else some.X, columns)
    first._with_network(reading)._check_sizes(rows)
    resolved = _resolved(first, links, rows, sample_id, some)
    if seeds is None:
        seeds = [seed_from(model.random_state) for model in models]
    meet(rows.device)
    begun = models if n_ranks() == 1 else _as_on_first(models)
    if n_ranks() > 1:
        check_same(
            {
                "another version of s3c2": __version__,
                "other settings": fingerprint(_decisive(begun, beside)),
                "other data": fingerprint(None, rows.X),
                "other links": fingerprint(None, every_links=resolved),
            }
        )
        seeds = of_first(list(seeds))
    checkpoint = None
    if first.checkpoint is not None:
        mark = fingerprint(_decisive(begun, beside), rows.X, resolved)
        checkpoint = Checkpoint(first.checkpoint, mark, seeds)
        seeds = checkpoint.seeds
    if choices:
        say(choices, first.verbose)
    run = FitRun(first, as_callbacks(first.callbacks), first.verbose, checkpoint)
    chosen = [model._with_network(reading) for model in begun]
    return Fitting(chosen, models, reading, rows, resolved, seeds, run, some)


def _decisive(models: Sequence[LinkEstimator], beside: Any) -> list[Any]:
    """What decides the result, beside data, links and seeds. Own modules are the same in all."""
    return [beside, identity(models[0]), *(model._settings() for model in models[1:])]


def _as_on_first(models: Sequence[M]) -> list[M]:
    """The models; those with modules of the user's own as copies, where these begin with the
    weights that they have on the first rank.
    """
    alike: list[M] = [
        clone(copy.copy(model).set_params(callbacks=None)) if model._modules() else model
        for model in models
    ]
    take_weights_of_first([one for model in alike for one in model._modules().values()])
    return alike


def _resolved(
    model: LinkEstimator, every: Sequence[Any], rows: Rows, sample_id: Any, some: Sampled | None
) -> list[Links]:
    """The links of each model by row number: links given twice are resolved once, and equal ones
    become one object, by which LabNets are shared.
    """
    known: dict[int, Links] = {}
    equal: dict[str, Links] = {}
    for links in every:
        if id(links) not in known:
            found = resolve(model, links, rows.n, sample_id, some)
            known[id(links)] = equal.setdefault(digest_of_links(found), found)
            if links is not None:
                dropped = model.contradictions == "drop"
                model._look_at_links(links.without_contradictions()[0] if dropped else links)
    return [known[id(links)] for links in every]


def resolve(
    model: LinkEstimator, links: Any, n: int, sample_id: Any, some: Sampled | None = None
) -> Links:
    """The links by row number of this X, consistent, with both kinds among them if need be."""
    if links is None or getattr(links, "n_links", None) == 0:
        if model._needs_links:
            raise LinksError(
                f"{type(model).__name__} learns from links, and got none. "
                "Pass fit(X, links=Links(must=…, cannot=…, n_samples=len(X)))."
            )
        _warn_of_no_links()
        return Links(must=[], cannot=[], n_samples=n)
    check_links(links)
    # Contradictions are looked for first: their words name the ids that the user gave.
    consistent: Links = links.check_consistent(model.contradictions)
    found = consistent.resolve(n, sample_id) if some is None else some.resolve(consistent)
    for kind, count in (("must", found.n_must), ("cannot", found.n_cannot)):
        if count == 0 and model._needs_links:
            raise LinksError(
                f"There is no {kind}-link among the {found.n_links} links. Both kinds are "
                f"needed to tell the same from the different: add some {kind}-links."
            )
    if found.n_links == 0:
        _warn_of_no_links()
    return found


def _warn_of_no_links() -> None:
    warn(
        "There are no links: the clusters follow from the rows alone, and may not be the ones you "
        "mean. A few links already help: fit(X, links=…).",
        NoLinksWarning,
    )


def check_links(links: Any) -> None:
    """Refuse what is no Links object."""
    if not isinstance(links, Links):
        raise LinksError(
            f"links must be a Links object. Got {type(links).__name__}. Make one with "
            "Links(must=…, cannot=…, n_samples=len(X)) or Links.read('links.csv', …)."
        )


def identity(model: LinkEstimator) -> dict[str, Any]:
    """What tells this model from others, beside data and links."""
    modules = {name: digest_of_module(module) for name, module in model._modules().items()}
    return {"class": type(model).__name__, **model._settings(), **modules}


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
                f"fit_many takes pairs (model, links). Configuration {number} is {one!r}."
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


def equal(one: Any, two: Any) -> bool:
    """Whether two parameters are the same: of modules, whether they compute the same; a list of
    sizes is the same as a tuple of them.
    """
    if isinstance(one, nn.Module) and isinstance(two, nn.Module):
        return one is two or digest_of_module(one) == digest_of_module(two)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return tuple(one) == tuple(two)
    try:
        return one is two or bool(one == two)
    except ValueError:  # an array has no one answer
        return False
