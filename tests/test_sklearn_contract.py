"""S3C2 and the baselines as scikit-learn estimators: checks, cloning, pipelines, routing, grids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import ClassifierTags
from sklearn.utils.estimator_checks import check_clustering, parametrize_with_checks

from s3c2 import S3C2, CluNet, LabNet, Links
from s3c2.baselines import DCPR, IDEC, DGraph, NNClustering
from s3c2.errors import LinksError, LinksWarning
from s3c2.reading import read_for_fit


def links_by_rule(rows):
    """A row's nearest other row is a must-link, its farthest a cannot-link.

    The rule looks at no clustering and at no label.
    """
    d = pairwise_distances(rows.block(0, rows.n).numpy())
    every = np.arange(rows.n)
    farthest = d.argmax(1)
    np.fill_diagonal(d, np.inf)
    nearest = d.argmin(1)
    apart = farthest != every
    return Links(
        must=np.column_stack([every, nearest]),
        cannot=np.column_stack([every, farthest])[apart],
        n_samples=rows.n,
    )


class RuleLinks:
    """An estimator whose links follow a fixed rule on X, for checks that pass none."""

    def fit(self, X, y=None, *, links=None, sample_id=None):
        if links is None:
            links = links_by_rule(read_for_fit(self, X)[1])
        return super().fit(X, y, links=links, sample_id=sample_id)

    def score(self, X, y=None, *, links=None, sample_id=None):
        if links is None:
            links = links_by_rule(self._read(X))
        return super().score(X, y, links=links, sample_id=sample_id)

    def __sklearn_tags__(self):
        # The check of sparse input takes whatever has predict_proba for a classifier and reads
        # its tags; those of a two-class one fit two clusters.
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


WITHOUT_LINKS = S3C2(
    2, labnet=LabNet(code=False, steps=30, learning_rate=1e-2),
    clunet=CluNet(steps=30, batch_pairs=60, learning_rate=1e-2), layers=(32, 32, 16),
    scale="standard", random_state=0, verbose=0,
)  # fmt: skip
SCORES = "score measures the clusters against links, and the check gives none"
CLASSIFIES = "the check takes whatever has predict_proba for a classifier, and reads its tags"
NOT_FOR_S3C2 = {
    "check_fit_score_takes_y": SCORES,
    "check_n_features_in_after_fitting": SCORES,
    "check_pipeline_consistency": SCORES,
    "check_estimator_sparse_array": CLASSIFIES,
    "check_estimator_sparse_matrix": CLASSIFIES,
}  # the baselines, which share score and the reading of X, have links and tags by a rule for these


@dataclass(eq=False, repr=False, kw_only=True)
class QuickBaseline(RuleLinks):
    """Defaults for a baseline with few steps."""

    n_clusters: int = 2
    layers: tuple = (32, 32, 16)
    scale: str = "standard"
    contradictions: str = "drop"
    learning_rate: float = 5e-3
    random_state: int = 0
    verbose: int = 0


@dataclass(eq=False, repr=False, kw_only=True)
class RuleDGraph(QuickBaseline, DGraph):
    steps: int = 80
    batch_pairs: int = 60
    n_neighbors: int = 20


@dataclass(eq=False, repr=False, kw_only=True)
class RuleDCPR(QuickBaseline, DCPR):
    steps: int = 80
    batch_pairs: int = 60


@dataclass(eq=False, repr=False, kw_only=True)
class RuleNNClustering(QuickBaseline, NNClustering):
    steps: int = 80


@dataclass(eq=False, repr=False, kw_only=True)
class RuleIDEC(QuickBaseline, IDEC):
    layer_epochs: int = 5
    whole_epochs: int = 10
    epochs: int = 10
    batch_size: int = 32
    n_init: int = 2


BASELINES = [RuleDGraph(), RuleDCPR(), RuleNNClustering(), RuleIDEC()]
LEARNS = {check_clustering}  # it compares labels with groups
SHORT = {
    "S3C2": {"labnet__steps": 5, "clunet__steps": 5},
    "RuleDGraph": {"steps": 8},
    "RuleDCPR": {"steps": 8},
    "RuleNNClustering": {"steps": 8},
    "RuleIDEC": {"layer_epochs": 1, "whole_epochs": 1, "epochs": 2},
}


@pytest.mark.filterwarnings("ignore:n_clusters=1 puts", "ignore::s3c2.errors.LinksWarning")
@parametrize_with_checks(
    [WITHOUT_LINKS, *BASELINES],
    expected_failed_checks=lambda one: NOT_FOR_S3C2 if isinstance(one, S3C2) else {},
)
def test_scikit_learn_checks(estimator, check):
    if check.func not in LEARNS:  # the others ask how it behaves, not what it has learned
        estimator = clone(estimator).set_params(**SHORT[type(estimator).__name__])
    check(estimator)


def test_clone_keeps_every_parameter():
    model = S3C2.as_published(7, network="convolutional", semi_supervised=True)
    copied = clone(model)
    assert copied._flat_params() == model._flat_params()
    assert copied.labnet is not model.labnet
    assert copied.clunet is not model.clunet


def test_pipeline_hands_links_on(blobs, blob_links, small):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), S3C2(3, **small))
    labels = pipeline.fit_predict(X, s3c2__links=blob_links)
    assert labels.shape == y.shape
    assert pipeline[-1].score(pipeline[:-1].transform(X), links=blob_links) > 0.9
    assert pipeline.transform(X).shape == (120, 16)


def test_score_without_links_names_metadata_routing(blobs, blob_links, small):
    model = S3C2(3, **small).fit(blobs[0], links=blob_links)
    with pytest.raises(LinksError, match=r"enable_metadata_routing.*cross_validate_links"):
        model.score(blobs[0])


@pytest.mark.filterwarnings("ignore::s3c2.errors.LinksWarning")
@pytest.mark.parametrize("kind", ["ids", "row numbers"])
def test_grid_search_with_sample_id(blobs, small, kind):
    X, y = blobs
    if kind == "ids":
        names = np.array([f"row-{i}" for i in range(len(X))])
        rows = Links.from_labels(y, 1200, random_state=0)
        links = Links(must=names[rows.must], cannot=names[rows.cannot])
    else:
        names = np.arange(len(X))
        links = Links.from_labels(y, 1200, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(S3C2(3, **small), {"labnet__threshold": [0.3, 1e9]}, cv=3)
        search.fit(X, links=links, sample_id=names)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"labnet__threshold": 0.3}
    assert search.best_score_ > 0.95
    assert search.best_estimator_.labels_.shape == y.shape


def test_row_folds_without_sample_id_are_refused(blobs, small):
    X, y = blobs
    links = Links.from_labels(y, 120, random_state=0)  # as many links as rows
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            S3C2(3, **small), {"labnet__threshold": [0.3]}, cv=3, error_score="raise"
        )
        with pytest.raises(LinksError, match="sample_id"):
            search.fit(X, links=links)


def test_left_out_links_are_counted(blobs, small):
    X, y = blobs
    links = Links.from_labels(y, 200, random_state=0)
    kept = np.arange(0, 120, 2)
    with pytest.warns(LinksWarning, match="of 200 links"):
        model = S3C2(3, **small).fit(X[kept], links=links, sample_id=kept)
    assert model.labels_.shape == (60,)
