"""The model that the options of ``s3c2 fit`` ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s3c2 import S3C2


def new_model(n_clusters: int, X: Any, settings: dict[str, Any], shared: dict[str, Any]) -> S3C2:
    """The default model, or the paper's, with what the user gave in its place."""
    from s3c2 import S3C2

    shared |= {"device": settings["device"], "random_state": settings["seed"]}
    semi_supervised = settings["semi_supervised"]
    if settings["as_published"]:
        network = _network_for(settings["network"], X)
        model = S3C2.as_published(
            n_clusters, network=network, semi_supervised=semi_supervised, **shared
        )
    else:
        model = S3C2(n_clusters, network=settings["network"], **shared)
        model.set_params(
            labnet__semi_supervised=semi_supervised, labnet__code=not settings["no_autoencoder"]
        )
    given: dict[str, Any] = {
        "labnet__threshold": settings["threshold"],
        "labnet__cache": settings["cache"],
        "labnet__n_committee": settings["n_committee"],
        "labnet__dropout": settings["dropout"],
        "labnet__steps": settings["labnet_steps"],
        "clunet__n_restarts": settings["n_restarts"],
        "clunet__dropout": settings["dropout"],
        "clunet__steps": settings["clunet_steps"],
        "clunet__batch_points": settings["points"],
    }
    return model.set_params(**{name: one for name, one in given.items() if one is not None})


def _network_for(network: str, X: Any) -> str:
    """The kind of network by name: the paper's settings differ by it."""
    import numpy as np

    from s3c2.data.arrays import channels_first
    from s3c2.reading import network_kind

    images = channels_first(X) if isinstance(X, np.ndarray) else X
    return network_kind(network, images.shape[1:])[0]
