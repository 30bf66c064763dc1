"""The equations of the paper and of the baselines, as pure functions.

Every function works on the last dimension(s) and keeps those before it, so that a leading
dimension may hold replicas. Nothing is normalised, clipped or averaged beyond what the equation
says. One convention for labels: ``same`` is 1 for a must-link, 0 for a cannot-link, and between the
two for a label that is not sure; the loss is then that share of either.
"""

from __future__ import annotations

import torch
from torch import Tensor


def squared_distance(h_a: Tensor, h_b: Tensor) -> Tensor:
    """d(x, y)² = ‖h(x) − h(y)‖², exactly 0 for equal representations.

    Parameters
    ----------
    h_a, h_b : (..., pairs, dimensions)

    Returns
    -------
    (..., pairs)
    """
    return (h_a - h_b).square().sum(-1)


def squared_distances_of_all(h: Tensor) -> Tensor:
    """d² of every two of some rows: (replicas, rows, dimensions) → (replicas, rows, rows)."""
    squares = h.square().sum(-1)
    products = torch.bmm(h, h.transpose(1, 2))
    return (squares[:, :, None] + squares[:, None, :] - 2 * products).clamp(min=0)


def is_must_link(d2: Tensor, threshold: float | Tensor) -> Tensor:
    """The one place where a distance becomes a label: d² < T is a must-link."""
    return d2 < threshold


def contrastive(d2: Tensor, same: Tensor, weight: Tensor) -> Tensor:
    """Contrastive loss, eq. (1), with margin 1.

    1/|L| · ( Σ_M d² + Σ_C max{1 − d, 0}² ); a weight multiplies its pair's term, and |L| becomes
    the sum of the weights.

    Parameters
    ----------
    d2 : (..., pairs)
        Squared distances.
    same : (..., pairs), in [0, 1]
    weight : (..., pairs)

    Returns
    -------
    (...,)
    """
    # sqrt has an infinite slope at 0; there the distance is taken as the constant 0, so that the
    # gradient of two rows that coincide is 0 and finite.
    apart = d2 > 0
    d = torch.where(apart, d2, 1.0).sqrt() * apart
    terms = torch.lerp((1 - d).clamp(min=0).square(), d2, same)
    return weighted_mean(terms, weight)


def reconstruction_error(x_hat: Tensor, x: Tensor, over: str = "sum") -> Tensor:
    """‖x̂ − x‖² of each row; ``over="mean"`` divides it by the number of columns.

    Parameters
    ----------
    x_hat, x : (..., rows, columns)

    Returns
    -------
    (..., rows)
    """
    squares = (x_hat - x).square()
    return squares.sum(-1) if over == "sum" else squares.mean(-1)


def same_probability(p_a: Tensor, p_b: Tensor) -> Tensor:
    """pˢ(x, y) = Σₖ pₖ(x) pₖ(y), the probability of the same cluster.

    Parameters
    ----------
    p_a, p_b : (..., pairs, K)

    Returns
    -------
    (..., pairs)
    """
    return (p_a * p_b).sum(-1)


def same_probability_of_all(p: Tensor) -> Tensor:
    """pˢ of every ordered pair of some rows: (replicas, rows, K) → (replicas, rows²)."""
    return torch.bmm(p, p.transpose(1, 2)).flatten(1)


def misclassification(p_same: Tensor, same: Tensor, weight: Tensor) -> Tensor:
    """Misclassification loss, eq. (3), over a batch of labelled pairs.

    1/|P| · ( Σ_M̃ (1 − pˢ) + Σ_C̃ pˢ ); a weight multiplies its pair's term, and |P| becomes the
    sum of the weights.

    Parameters
    ----------
    p_same : (..., pairs)
    same : (..., pairs), in [0, 1]
    weight : (..., pairs)

    Returns
    -------
    (...,)
    """
    return weighted_mean(torch.lerp(p_same, 1 - p_same, same), weight)


def link_likelihood(p_same: Tensor, same: Tensor, weight: Tensor, floor: float) -> Tensor:
    """Negative log-likelihood of links (DCPR, IDEC).

    1/|L| · ( Σ_M −log pˢ + Σ_C −log(1 − pˢ) ), with pˢ clipped to [floor, 1 − floor]; a weight
    multiplies its pair's term, and |L| becomes the sum of the weights.

    Parameters
    ----------
    p_same : (..., pairs)
    same : (..., pairs), in [0, 1]
    weight : (..., pairs)
    floor : float

    Returns
    -------
    (...,)
    """
    of_must, of_cannot = (-p.clamp(floor, 1 - floor).log() for p in (p_same, 1 - p_same))
    return weighted_mean(torch.lerp(of_cannot, of_must, same), weight)


def root_misclassification(p_same: Tensor, same: Tensor, weight: Tensor, floor: float) -> Tensor:
    """Half way between eq. (3) and the log-likelihood of links.

    1/|L| · ( Σ_M 2 (1 − √pˢ) + Σ_C 2 (1 − √(1 − pˢ)) ), with pˢ clipped to [floor, 1 − floor]; a
    weight multiplies its pair's term, and |L| becomes the sum of the weights.

    With p for the probability of what the link says, the slope is 1/√p: that of eq. (3) is 1, that
    of the log-likelihood 1/p. It is the generalised cross entropy of Zhang and Sabuncu (2018) with
    q = 1/2, which learns from what is contradicted, and yet is not ruled by wrong links.

    Parameters
    ----------
    p_same : (..., pairs)
    same : (..., pairs), in [0, 1]
    weight : (..., pairs)
    floor : float

    Returns
    -------
    (...,)
    """
    of_must, of_cannot = (2 * (1 - p.clamp(floor, 1 - floor).sqrt()) for p in (p_same, 1 - p_same))
    return weighted_mean(torch.lerp(of_cannot, of_must, same), weight)


def divergence(
    p_a: Tensor, p_b: Tensor, same: Tensor, weight: Tensor, margin: float | Tensor
) -> Tensor:
    """Divergence loss of NNclustering, over both directions of every pair.

    1/|L| · ( Σ_M [KL(p‖q) + KL(q‖p)] + Σ_C [max{m − KL(p‖q), 0} + max{m − KL(q‖p), 0}] ), with
    KL(p‖q) = Σₖ pₖ (log(pₖ + ε) − log(qₖ + ε)) and ε = 10⁻³⁵; a weight multiplies its pair's
    terms, and |L| becomes the sum of the weights. The first distribution of each KL counts as a
    constant: no gradient goes through it.

    Parameters
    ----------
    p_a, p_b : (..., pairs, K)
    same : (..., pairs), in [0, 1]
    weight : (..., pairs)
    margin : number, or (..., 1)

    Returns
    -------
    (...,)
    """

    def one_way(p: Tensor, q: Tensor) -> Tensor:
        p = p.detach()
        kl = (p * ((p + 1e-35).log() - (q + 1e-35).log())).sum(-1)
        return torch.lerp((margin - kl).clamp(min=0), kl, same)

    return weighted_mean(one_way(p_a, p_b) + one_way(p_b, p_a), weight)


def entropy(p: Tensor, floor: float) -> Tensor:
    """H = −Σₖ pₖ log pₖ, with pₖ clipped to [floor, 1 − floor] (DCPR).

    Of a row's posteriors it is the row's part of H(Y|X), of their mean over rows it is H(Y).

    Parameters
    ----------
    p : (..., K)

    Returns
    -------
    (...,)
    """
    p = p.clamp(floor, 1 - floor)
    return -(p * p.log()).sum(-1)


def vanishing(share: Tensor, least: Tensor) -> Tensor:
    """How far clusters have shrunk below the least share of the rows that each is to have.

    1/K · Σₖ max{ log(leastₖ / shareₖ), 0 }, with shares of at least 10⁻⁶.

    Parameters
    ----------
    share : (..., K), the mean of the posteriors of rows
    least : (..., K)

    Returns
    -------
    (...,)
    """
    shortfall = least.clamp(min=1e-6).log() - share.clamp(min=1e-6).log()
    return shortfall.clamp(min=0).mean(-1)


def student_assignment(z: Tensor, centres: Tensor, power: float = 1.0) -> Tensor:
    """Soft assignment of embedded rows to centres by Student's t (IDEC).

    qᵢₖ ∝ (1 + ‖zᵢ − μₖ‖²)^−power, summing to 1 over k.

    Parameters
    ----------
    z : (..., rows, dimensions)
    centres : (..., K, dimensions)
    power : 1 is Student's t with one degree of freedom

    Returns
    -------
    (..., rows, K)
    """
    d2 = squared_distance(z.unsqueeze(-2), centres.unsqueeze(-3))
    return (-power * d2.log1p()).softmax(-1)  # as it stands, but without overflow


def target_distribution(q: Tensor) -> Tensor:
    """Assignments made surer, and the more so in small clusters (IDEC).

    pᵢₖ ∝ qᵢₖ² / Σᵢ qᵢₖ, summing to 1 over k.

    Parameters
    ----------
    q : (..., rows, K), of all rows

    Returns
    -------
    (..., rows, K)
    """
    p = q.square() / q.sum(-2, keepdim=True)
    return p / p.sum(-1, keepdim=True)


def clustering_error(target: Tensor, q: Tensor) -> Tensor:
    """KL(pᵢ‖qᵢ) = Σₖ pᵢₖ (log(pᵢₖ + ε) − log(qᵢₖ + ε)) of each row, with ε = 10⁻⁶ (IDEC).

    Parameters
    ----------
    target, q : (..., rows, K)

    Returns
    -------
    (..., rows)
    """
    return (target * ((target + 1e-6).log() - (q + 1e-6).log())).sum(-1)


def divergence_of(p: Tensor, q: Tensor) -> Tensor:
    """KL(p‖q) = Σₖ pₖ (log pₖ − log qₖ) of each row, with both at least 10⁻⁶.

    Parameters
    ----------
    p, q : (..., K)

    Returns
    -------
    (...,)
    """
    p, q = p.clamp(min=1e-6), q.clamp(min=1e-6)
    return (p * (p.log() - q.log())).sum(-1)


def weighted_mean(terms: Tensor, weight: Tensor) -> Tensor:
    """Σ wᵢ tᵢ / Σ wᵢ over the last dimension; 0 where all weights are 0."""
    return (terms * weight).sum(-1) / weight.sum(-1).clamp(min=torch.finfo(weight.dtype).tiny)
