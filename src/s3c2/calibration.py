"""How sure posteriors are, so that they fit what the links say.

Training makes CluNet surer than it may be: the loss is lowest where every posterior is 0 or 1. A
temperature takes that back: p becomes softmax(log p / t), which changes no arg max.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import nn

from s3c2 import losses
from s3c2.data.indexing import evenly_spread
from s3c2.engine.inference import apply_to_rows
from s3c2.engine.rows import Rows
from s3c2.links import Links
from s3c2.prior import Neighbours, neighbours_of

MOST_LINKS = 4096  # that are asked
LEAST, MOST = 0.5, 10.0  # temperature
SURE = 1e-6  # no pair is surer than that


def calibrate(network: nn.Module, rows: Rows, links: Links, prior: Neighbours) -> float:
    """Divide the last layer of a cluster network by the temperature that suits the links."""
    t = temperature_of(network, rows, links, prior)
    last = [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1]
    with torch.no_grad():
        for weights in last.parameters():
            weights.div_(t)
    return t


def temperature_of(network: nn.Module, rows: Rows, links: Links, prior: Neighbours) -> float:
    """The temperature that makes the links likeliest; 1 without links.

    Half of the evidence is what the network says of linked rows, half what it says of their
    neighbours: linked rows were learned by heart, and neighbours may belong elsewhere.
    """
    if links.n_links == 0:
        return 1.0
    ends = np.concatenate([links.must, links.cannot]).astype(np.int64)
    weight = np.concatenate([links.must_weight, links.cannot_weight])
    must = np.arange(len(ends)) < links.n_must
    some = evenly_spread(len(ends), MOST_LINKS)
    ends, weight, must = ends[some], weight[some], must[some]
    near = neighbours_of(torch.from_numpy(ends), prior.on_the_host()).numpy()  # (links, 2, asked)
    asked = np.concatenate([np.repeat(ends[:, :, None], near.shape[2], axis=2), near], axis=2)
    unique, place = np.unique(asked, return_inverse=True)
    p = torch.from_numpy(apply_to_rows(network, rows.subset(unique), "calibrating", 0))
    log_p = p.double().clamp(min=1e-30).log()
    one, two = torch.from_numpy(place.reshape(asked.shape)).unbind(1)  # (links, pairs) each
    same, of_link = torch.from_numpy(must)[:, None], torch.from_numpy(weight)

    def surprise(log_t: float) -> float:
        q = (log_p / math.exp(log_t)).softmax(1)
        together = losses.same_probability(q[one], q[two]).clamp(SURE, 1 - SURE)
        right = torch.where(same, together, 1 - together)
        return float(-(of_link * right.log().mean(1)).sum())

    found = minimize_scalar(surprise, bounds=(math.log(LEAST), math.log(MOST)), method="bounded")
    return math.exp(float(found.x))
