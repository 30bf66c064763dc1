"""What is trained: one Run for each training of an experiment, and its model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from s3c2 import S3C2, baselines, published

from experiments.k_means import KMeansOfRows

AS_PUBLISHED = "as published"
DEFAULT = "S3C2 default"  # S3C2(K) and nothing else
AS_IT_COMES = "as it comes"  # its variant without changes
K_MEANS = "k-means"
CLUNET_STEPS = published.clunet_training().steps or 0
REUTERS_DROPOUT = 0.5  # from the paper; 0.1 for the other data sets
DESIGNS = ("uniform", "chained")
IDEC_MUST_WEIGHT = {"fashion-mnist": 1.0}  # from its authors; 0.1 for the other data sets
# IDEC's authors have pixels from 0 to 255 times 0.02; elsewhere the rows have a mean square of 1.
IDEC_ROWS = {(name, "dense"): 255 * 0.02 for name in ("mnist", "fashion-mnist")}
# What depends on no link, for each data set: IDEC's autoencoders, and neighbours.
PRETRAINED = Path(__file__).parent / "pretrained"

# Names in ``Run.changes`` → parameters of S3C2. If two set the same parameter, the later one wins.
S3C2_PARAMETERS = {
    "dropout": ("labnet__dropout", "clunet__dropout"),
    "threshold": ("labnet__threshold",),
    "reconstruction_weight": ("labnet__reconstruction_weight",),
    "n_committee": ("labnet__n_committee",),
    "labnet_epochs": ("labnet__epochs",),
    "labnet_steps": ("labnet__steps",),
    "labnet_links": ("labnet__batch_links",),
    "labnet_pairs": ("labnet__batch_pairs",),
    "labnet_optimizer": ("labnet__optimizer",),
    "labnet_output": ("labnet__output",),
    "labnet_l1": ("labnet__l1",),
    "n_restarts": ("clunet__n_restarts",),
    "clunet_dropout": ("clunet__dropout",),
    "clunet_steps": ("clunet__steps",),
    "clunet_links": ("clunet__batch_links",),
    "clunet_pairs": ("clunet__batch_pairs",),
    "clunet_points": ("clunet__batch_points",),
    "clunet_optimizer": ("clunet__optimizer",),
}


@dataclass(frozen=True)
class Sizes:
    """How much of an experiment is run."""

    datasets: tuple[str, ...] = ("mnist", "fashion-mnist", "letters", "reuters")
    images: tuple[str, ...] = ("mnist", "fashion-mnist")
    uniform: tuple[str, ...] = ("mnist", "fashion-mnist", "reuters")
    budgets: tuple[int, ...] = (100, 200, 500, 1000, 2000, 5000)
    uniform_budgets: tuple[int, ...] = (1000, 5000, 10_000)
    image_budgets: tuple[int, ...] = (100, 1000, 5000)  # for settings_images and the ablations
    link_sets: int = 5
    few_link_sets: int = 3
    least: int = 20  # the fewest links of the default
    wrong: tuple[str, ...] = ("mnist", "letters")  # these have wrong links, so many of them:
    wrong_budget: int = 1000
    others: tuple[str, ...] = (
        "iris", "wine", "breast-cancer", "digits", "vowels", "footwear", "mnist-0-4",
    )  # fmt: skip


FULL = Sizes()
QUICK = Sizes(
    ("digits",), ("digits",), ("digits",), (100, 500), (200, 1000), (100, 500), 2, 2,
    wrong=("digits",), wrong_budget=500, others=("iris", "wine"),
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One training: a method on one set of links of a data set.

    Attributes
    ----------
    dataset : name for ``experiments.data.load``
    method : a key of METHODS
    n_links : number of given links; 0 for k-means
    link_seed : seed of the links, and the model's ``random_state``
    must_share : share of must-links among the links; None draws pairs uniformly
    network : "dense" or "convolutional"
    semi_supervised : whether LabNet also reconstructs; S3C2 only
    threshold : T; S3C2 only
    variant : a name for the settings
    changes : parameters that differ from the published ones, in the experiments' own names:
        rows are found by them, so they outlive the names in the library; see ``parameters``
    flipped : share of the links whose kind is exchanged; None, as 0, exchanges none
    design : how the links are drawn, one of DESIGNS; see ``Links.from_labels``
    """

    dataset: str
    method: str
    n_links: int
    link_seed: int
    must_share: float | None = 0.5
    network: str = "dense"
    semi_supervised: bool = False
    threshold: float | None = None
    variant: str = AS_PUBLISHED
    changes: Mapping[str, Any] = field(default_factory=dict)
    flipped: float | None = None
    design: str = "uniform"

    @property
    def row_factor(self) -> float:
        """What the rows of the data set are multiplied by."""
        return IDEC_ROWS.get((self.dataset, self.network), 1.0) if self.method == "IDEC" else 1.0

    def model(self) -> Any:
        """The estimator. The number of clusters and the device are set later."""
        own = {} if self.threshold is None else {"threshold": self.threshold}
        given = parameters(self.method, {**own, **self.changes})
        model = METHODS[self.method](self)
        return model.set_params(random_state=self.link_seed, verbose=0, **given)


def parameters(method: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes as parameters of the method's estimator. Names not in the table stay as they are."""
    table = S3C2_PARAMETERS if method in ("S3C2", DEFAULT) else {}
    given = {name: value for name, value in changes.items() if name not in table}
    for name, theirs in table.items():  # in the order of the table
        if name in changes:
            given |= dict.fromkeys(theirs, changes[name])
    return given


def _s3c2(run: Run) -> Any:
    return S3C2.as_published(
        1,
        network=run.network,
        semi_supervised=run.semi_supervised,
        dropout=_dropout(run),
        scale=None,  # the data sets are prepared; also below
    )


def _d_graph(run: Run) -> Any:
    return baselines.DGraph(1, network=run.network, scale=None, dropout=_dropout(run))


def _dcpr(run: Run) -> Any:
    return baselines.DCPR(1, network=run.network, scale=None, dropout=_dropout(run))


def _idec(run: Run) -> Any:
    weight = IDEC_MUST_WEIGHT.get(run.dataset)
    own = {} if weight is None else {"must_weight": weight}
    scale = "rms" if run.row_factor == 1 else None
    return baselines.IDEC(1, network=run.network, scale=scale, cache=PRETRAINED, **own)


def _nnclustering(run: Run) -> Any:
    return baselines.NNClustering(1, network=run.network, scale=None)


def _default(run: Run) -> Any:
    model = S3C2(1)  # the shape of the data decides the network
    return model.set_params(labnet__cache=PRETRAINED)  # runs share what depends on no link


def _k_means(run: Run) -> Any:
    return KMeansOfRows(1)


METHODS: dict[str, Callable[[Run], Any]] = {
    "S3C2": _s3c2,
    "d-graph": _d_graph,
    "DCPR": _dcpr,
    "IDEC": _idec,
    "NNclustering": _nnclustering,
    DEFAULT: _default,
    K_MEANS: _k_means,
}
IN_THE_PAPER = ("S3C2", "d-graph", "DCPR", "IDEC", "NNclustering")


def _dropout(run: Run) -> float | None:
    return REUTERS_DROPOUT if run.dataset == "reuters" else None


def grid(
    method: str, datasets: Iterable[str], budgets: Iterable[int], link_sets: int, **settings: Any
) -> Iterator[Run]:
    """A method on every data set, budget and link set."""
    if method == "S3C2":
        settings = {"threshold": published.THRESHOLD, **settings}
    if method == DEFAULT:
        settings = {"variant": AS_IT_COMES, **settings}
    for dataset in datasets:
        for n_links in budgets:
            for seed in range(link_sets):
                yield Run(dataset, method, n_links, seed, **settings)


def both_designs(runs: Callable[[Sizes], list[Run]]) -> Callable[[Sizes], list[Run]]:
    """The same runs with links of either design."""
    return lambda sizes: [replace(run, design=design) for design in DESIGNS for run in runs(sizes)]


def shortened(run: Run, steps: int) -> Run:
    """The same run with ``steps`` CluNet steps instead of 3,000, other lengths in proportion."""
    own = {
        name: max(1, round(value * steps / CLUNET_STEPS)) if name.endswith("_steps") else value
        for name, value in run.changes.items()
    }
    return replace(run, changes={**_short(run, steps), **own})


def _short(run: Run, steps: int) -> dict[str, Any]:
    """Few steps and small networks; for images also small batches and less dropout."""
    if run.method == K_MEANS:
        return {}
    if run.method == "IDEC":
        epochs = max(1, steps // 15)
        lengths = {"layer_epochs": epochs, "whole_epochs": epochs, "epochs": epochs, "n_init": 2}
        return {"layers": (64, 10), **lengths}
    if run.network == "dense":
        names = ("labnet_steps", "clunet_steps") if "S3C2" in run.method else ("steps",)
        return {"layers": (64, 64, 64), **dict.fromkeys(names, steps)}
    steps = max(1, steps // 2)
    if run.method == "NNclustering":
        return {"steps": steps, "batch_links": 30}
    if run.method == DEFAULT:
        return {"labnet_steps": steps, "labnet_links": 60, "clunet_steps": steps,
                "clunet_links": 30, "clunet_points": 30}  # fmt: skip
    # A dropout of 0.5 is too much for so few steps on 8 × 8 pixels.
    dropout = {"dropout": published.DROPOUT["dense"]}
    if run.method == "S3C2":
        pairs = {"labnet_pairs": 60} if run.semi_supervised else {}
        labnet = {"labnet_steps": steps, "labnet_links": 60, **pairs}
        return dropout | labnet | {"clunet_steps": steps, "clunet_links": 30, "clunet_pairs": 150}
    neighbours = {"n_neighbors": 5} if run.method == "d-graph" else {}
    return dropout | {"steps": steps, "batch_links": 30, "batch_pairs": 150, **neighbours}


def groups(runs: Sequence[Run], limit: int) -> list[list[Run]]:
    """Runs that ``fit_many`` can train together, in groups of about ``limit`` at most.

    Runs on the same links stay together: if only the threshold differs, they share a LabNet.
    """
    kinds: dict[Any, dict[Any, list[Run]]] = {}
    for run in runs:
        changes = as_json(run.changes)
        kind = (run.dataset, run.method, run.network, run.semi_supervised, changes)
        links = (run.n_links, run.link_seed, run.must_share, run.flipped, run.design)
        kinds.setdefault(kind, {}).setdefault(links, []).append(run)
    found = []
    for families in kinds.values():
        group: list[Run] = []
        # In the order of budgets: LabNets that train equally long come together.
        for _, family in sorted(families.items(), key=lambda item: item[0][0]):
            if group and len(group) + len(family) > limit:
                found.append(group)
                group = []
            group = group + family
        found.append(group)
    return found


def as_json(settings: Mapping[str, Any]) -> str:
    """Settings in one line, in a fixed order."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"))
