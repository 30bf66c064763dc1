"""The one way into training: ``fit`` of every estimator, and ``fit_many`` in grids.

One fit is a grid of one. `begin` checks the parameters, reads X and resolves the links; the
estimator's own ``_learn`` trains; every model then gets what it learned.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sklearn.base import clone
from torch import nn

from s3c2 import __version__
from s3c2.data.streams import is_dataset
from s3c2.engine.callbacks import as_callbacks
from s3c2.engine.checkpoint import Checkpoint, digest_of_links, digest_of_module, fingerprint
from s3c2.engine.progress import say
from s3c2.engine.randomness import seed_from
from s3c2.engine.ranks import check_same, meet, n_ranks, of_first, take_weights_of_first
from s3c2.engine.rows import Rows
from s3c2.engine.run import FitRun
from s3c2.engine.usual_torch import usual_torch
from s3c2.errors import DataError, LinksError, NoLinksWarning, warn
from s3c2.links import Links
from s3c2.reading import Reading, read_for_fit
from s3c2.sampled import Sampled, sampled, tell

if TYPE_CHECKING:
    from s3c2.surface import LinkEstimator

M = TypeVar("M", bound="LinkEstimator")


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
    for number, model in enumerate(models):
        with of_configuration(number, len(models)):
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
    for number, links in enumerate(every):
        if id(links) not in known:
            with of_configuration(number, len(every)):
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


@contextmanager
def of_configuration(number: int, of: int) -> Iterator[None]:
    """Let an error about one model of a grid say which."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if of == 1:
            raise
        named = f"Configuration {number} (of {of}, the first is 0): {error}"
        raise type(error)(named) from None


def _warn_of_no_links() -> None:
    warn(
        "There are no links: the clusters follow from the rows alone, and may not be the ones you "
        "mean. Links say what belongs together: fit(X, links=…).",
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
