"""Every loss against a slow loop over its equation, and at its edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from s3c2 import losses


def slow_contrastive(h_a, h_b, same, weight):
    total = 0.0
    for a, b, s, w in zip(h_a, h_b, same.tolist(), weight.tolist()):
        d = math.sqrt(sum((float(x) - float(y)) ** 2 for x, y in zip(a, b)))
        total += w * (s * d**2 + (1 - s) * max(1 - d, 0) ** 2)
    return total / float(sum(weight))


def slow_misclassification(p_a, p_b, same, weight):
    total = 0.0
    for a, b, s, w in zip(p_a, p_b, same.tolist(), weight.tolist()):
        p_same = sum(float(x) * float(y) for x, y in zip(a, b))
        total += w * (s * (1 - p_same) + (1 - s) * p_same)
    return total / float(sum(weight))


LABELS = {
    "mixed": [1, 0, 1, 0, 0],
    "only must": [1] * 5,
    "only cannot": [0] * 5,
    "not sure": [0.3, 0.9, 0.5, 0, 1],
}


def five_points(rng, kind):
    h_a, h_b = torch.tensor(rng.uniform(size=(2, 5, 3)) * 0.7)
    weight = torch.tensor(rng.uniform(0.1, 1, size=5))
    return h_a, h_b, torch.tensor(LABELS[kind]).double(), weight


@pytest.mark.parametrize("kind", LABELS)
def test_contrastive_is_equation_1(kind):
    h_a, h_b, same, weight = five_points(np.random.default_rng(0), kind)
    fast = losses.contrastive(losses.squared_distance(h_a, h_b), same, weight)
    assert float(fast) == pytest.approx(slow_contrastive(h_a, h_b, same, weight), abs=1e-12)


@pytest.mark.parametrize("kind", LABELS)
def test_misclassification_is_equation_3(kind):
    h_a, h_b, same, weight = five_points(np.random.default_rng(1), kind)
    p_a, p_b = h_a.softmax(-1), h_b.softmax(-1)
    fast = losses.misclassification(losses.same_probability(p_a, p_b), same, weight)
    assert float(fast) == pytest.approx(slow_misclassification(p_a, p_b, same, weight), abs=1e-12)


@pytest.mark.parametrize("kind", LABELS)
def test_link_likelihood_is_the_negative_log_of_being_right(kind):
    h_a, h_b, same, weight = five_points(np.random.default_rng(4), kind)
    p_same = losses.same_probability(h_a.softmax(-1), h_b.softmax(-1))
    slow = 0.0
    for p, s, w in zip(p_same.tolist(), same.tolist(), weight.tolist()):
        slow += w * (s * -math.log(p) + (1 - s) * -math.log(1 - p))
    fast = losses.link_likelihood(p_same, same, weight, 1e-3)
    assert float(fast) == pytest.approx(slow / float(weight.sum()), abs=1e-12)


@pytest.mark.parametrize("must", [True, False])
@pytest.mark.parametrize("same", [0.0, 1e-3, 0.5, 1 - 1e-3, 1.0])
def test_link_likelihood_at_the_edges(must, same):
    p_same = torch.tensor([same], dtype=torch.float64, requires_grad=True)
    label = torch.tensor([must]).double()
    loss = losses.link_likelihood(p_same, label, torch.ones(1), 1e-3)
    loss.backward()
    right = min(max(same if must else 1 - same, 1e-3), 1 - 1e-3)
    assert float(loss.detach()) == pytest.approx(-math.log(right))
    assert torch.isfinite(p_same.grad).all()


@pytest.mark.parametrize("kind", LABELS)
def test_root_misclassification_is_half_way_between_likelihood_and_equation_3(kind):
    h_a, h_b, same, weight = five_points(np.random.default_rng(4), kind)
    p_same = losses.same_probability(h_a.softmax(-1), h_b.softmax(-1))
    slow = 0.0
    for p, s, w in zip(p_same.tolist(), same.tolist(), weight.tolist()):
        slow += w * (s * 2 * (1 - math.sqrt(p)) + (1 - s) * 2 * (1 - math.sqrt(1 - p)))
    fast = losses.root_misclassification(p_same, same, weight, 1e-4)
    assert float(fast) == pytest.approx(slow / float(weight.sum()), abs=1e-12)


@pytest.mark.parametrize("must", [True, False])
@pytest.mark.parametrize("right", [0.0, 4e-4, 0.25, 1.0])
def test_root_misclassification_pulls_the_more_the_less_likely_a_link_is(must, right):
    """With 1/√p, where eq. (3) pulls with 1 and the likelihood with 1/p; not at all below 1e-4."""
    p_same = torch.tensor([right if must else 1 - right], dtype=torch.float64, requires_grad=True)
    losses.root_misclassification(
        p_same, torch.tensor([must]).double(), torch.ones(1).double(), 1e-4
    ).backward()
    pull = float(p_same.grad) * (-1 if must else 1)
    expected = {0.0: 0, 4e-4: 50, 0.25: 2, 1.0: 0}[right]
    assert pull == pytest.approx(expected, rel=1e-3, abs=1e-9)


def slow_divergence(p_a, p_b, same, weight, margin):
    def kl(p, q):
        return sum(float(x) * math.log(float(x) / float(y)) for x, y in zip(p, q) if x > 0)

    total = 0.0
    for a, b, s, w in zip(p_a, p_b, same.tolist(), weight.tolist()):
        for one_way in (kl(a, b), kl(b, a)):
            total += w * (s * one_way + (1 - s) * max(margin - one_way, 0))
    return total / float(sum(weight))


@pytest.mark.parametrize("margin", [0.1, 2.0])
@pytest.mark.parametrize("kind", LABELS)
def test_divergence_is_that_of_both_directions(kind, margin):
    h_a, h_b, same, weight = five_points(np.random.default_rng(5), kind)
    p_a, p_b = (3 * h_a).softmax(-1), (3 * h_b).softmax(-1)
    fast = losses.divergence(p_a, p_b, same, weight, margin)
    slow = slow_divergence(p_a, p_b, same, weight, margin)
    assert float(fast) == pytest.approx(slow, abs=1e-12)


def hard_contrastive(d2, must, weight):
    apart = d2 > 0
    d = torch.where(apart, d2, 1.0).sqrt() * apart
    return losses.weighted_mean(torch.where(must, d2, (1 - d).clamp(min=0).square()), weight)


def hard_misclassification(p_same, must, weight):
    return losses.weighted_mean(torch.where(must, 1 - p_same, p_same), weight)


def hard_link_likelihood(p_same, must, weight):
    right = torch.where(must, p_same, 1 - p_same).clamp(1e-3, 1 - 1e-3)
    return losses.weighted_mean(-right.log(), weight)


def hard_divergence(p, must, weight):
    def one_way(p, q):
        p = p.detach()
        kl = (p * ((p + 1e-35).log() - (q + 1e-35).log())).sum(-1)
        return torch.where(must, kl, (2 - kl).clamp(min=0))

    return losses.weighted_mean(one_way(*p) + one_way(*p.flip(0)), weight)


def numbers_with_edges(size):
    """Uniform numbers, with exact 0 and 1 and the floor among them."""
    x = 1.2 * torch.rand(size, generator=torch.Generator().manual_seed(0))
    return torch.cat([x.clamp(max=1), torch.tensor([0.0, 0.0, 1.0, 1.0, 1e-3, 1e-3])])


def posteriors(size):
    p = (4 * torch.randn(2, size, 5, generator=torch.Generator().manual_seed(0))).softmax(-1)
    p[0, 0] = p[1, 0]  # equal
    p[:, 1] = torch.eye(2, 5)  # certain, and different
    return p


# Of each loss: itself and one that chooses, as functions of (input, labels, weight); its input.
OF_LABELS = {
    "contrastive": (losses.contrastive, hard_contrastive, numbers_with_edges(1000)),
    "misclassification": (
        losses.misclassification, hard_misclassification, numbers_with_edges(1000),
    ),
    "link_likelihood": (
        lambda p, same, weight: losses.link_likelihood(p, same, weight, 1e-3),
        hard_link_likelihood,
        numbers_with_edges(1000),
    ),
    "divergence": (
        lambda p, same, weight: losses.divergence(*p, same, weight, 2.0),
        hard_divergence,
        posteriors(1006),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_LABELS)
def test_sure_labels_choose_one_term_to_the_last_bit(name):
    """Value and gradient are those of a loss that takes either term, and never mixes them."""
    mixing, choosing, x = OF_LABELS[name]
    must = torch.arange(1006) % 2 == 0  # both kinds at every edge
    weight = torch.rand(1006, generator=torch.Generator().manual_seed(1))
    found = []
    for loss, labels in ((mixing, must.float()), (choosing, must)):
        given = x.clone().requires_grad_()
        value = loss(given, labels, weight)
        value.backward()
        assert torch.isfinite(given.grad).all()
        found.append((value.detach(), given.grad))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


@pytest.mark.parametrize("name", OF_LABELS)
def test_a_label_that_is_not_sure_is_a_share_of_either(name):
    loss, _, x = OF_LABELS[name]
    x, weight = x.double(), torch.linspace(0.1, 1, 1006).double()
    soft, must, cannot = (
        float(loss(x, torch.full_like(weight, share), weight)) for share in (0.3, 1.0, 0.0)
    )
    assert soft == pytest.approx(0.3 * must + 0.7 * cannot, rel=1e-9)
    assert must != pytest.approx(cannot)


@pytest.mark.parametrize("must", [True, False])
def test_divergence_of_equal_and_of_certain_posteriors(must):
    certain = torch.tensor([[[100.0, 0.0, -200.0]], [[100.0, 0.0, -200.0]]], requires_grad=True)
    p_a, p_b = certain.softmax(-1)
    label, weight = torch.tensor([float(must)]), torch.ones(1)
    loss = losses.divergence(p_a, p_b, label, weight, 2.0)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0.0 if must else 4.0)
    assert torch.isfinite(certain.grad).all()
    apart = losses.divergence(p_a, p_b.flip(-1), label, weight, 2.0)
    assert float(apart.detach()) == pytest.approx(2 * math.log(1e35) if must else 0.0, rel=1e-3)


def test_divergence_holds_the_first_distribution_constant():
    """The gradient of one direction is that of −Σ p log q for the second distribution alone."""
    h = torch.tensor([[0.3, -0.2, 0.9], [1.0, 0.1, -0.5]], dtype=torch.float64, requires_grad=True)
    p, q = h.softmax(-1)
    must = torch.ones(1).double()
    losses.divergence(p[None], q[None], must, torch.ones(1), 2.0).backward()
    expected = torch.stack([p - q, q - p]).detach()  # of a softmax under cross-entropy
    assert torch.allclose(h.grad, expected)


def test_entropy_of_posteriors():
    p = torch.tensor([[0.25, 0.25, 0.5], [1.0, 0.0, 0.0], [1 / 3] * 3], dtype=torch.float64)
    p.requires_grad_()
    h = losses.entropy(p, 1e-3)
    for row, value in zip(p.tolist(), h):
        clipped = [min(max(x, 1e-3), 1 - 1e-3) for x in row]
        slow = -sum(x * math.log(x) for x in clipped)
        assert float(value.detach()) == pytest.approx(slow, abs=1e-12)
    h.sum().backward()
    assert torch.isfinite(p.grad).all()
    assert float(h[2].detach()) == pytest.approx(math.log(3))


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_student_assignment_and_its_target_are_those_of_idec(power):
    rng = np.random.default_rng(6)
    z, centres = torch.tensor(rng.normal(size=(7, 3))), torch.tensor(rng.normal(size=(4, 3)))
    q = losses.student_assignment(z, centres, power)
    slow = np.zeros((7, 4))
    for i in range(7):
        for k in range(4):
            d2 = sum((float(z[i, j]) - float(centres[k, j])) ** 2 for j in (0, 1, 2))
            slow[i, k] = (1 + d2) ** -power
        slow[i] /= slow[i].sum()
    assert np.allclose(q.numpy(), slow, atol=1e-12)
    target = losses.target_distribution(q)
    for i in range(7):
        row = [slow[i, k] ** 2 / slow[:, k].sum() for k in range(4)]
        assert np.allclose(target[i].numpy(), np.array(row) / sum(row), atol=1e-12)
        kl = sum(float(p) * math.log(float(p) / x) for p, x in zip(target[i], slow[i]))
        assert float(losses.clustering_error(target, q)[i]) == pytest.approx(kl, abs=1e-5)
    assert (target.max(-1).values >= q.max(-1).values - 0.05).all()  # surer, but for cluster sizes


def test_assignments_at_their_edges():
    """A row on a centre, rows infinitely far apart, and a target of 0."""
    z = torch.tensor([[0.0, 0.0], [1e6, 0.0]], requires_grad=True)
    q = losses.student_assignment(z, torch.tensor([[0.0, 0.0], [1e6, 0.0]]))
    assert torch.allclose(q, torch.eye(2), atol=1e-6)
    target = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    error = losses.clustering_error(target, q)
    error.sum().backward()
    assert torch.allclose(error.detach(), torch.zeros(2), atol=1e-5)
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("over", ["sum", "mean"])
def test_reconstruction_error_is_the_squared_norm(over):
    x, x_hat = torch.tensor(np.random.default_rng(2).normal(size=(2, 4, 6)))
    fast = losses.reconstruction_error(x_hat, x, over)
    for row in range(4):
        slow = sum((float(a) - float(b)) ** 2 for a, b in zip(x_hat[row], x[row]))
        assert float(fast[row]) == pytest.approx(slow / (6 if over == "mean" else 1), abs=1e-12)


def test_leading_dimensions_are_replicas():
    rng = np.random.default_rng(3)
    h_a, h_b = torch.tensor(rng.uniform(size=(2, 4, 5, 3)))
    must = torch.tensor(rng.uniform(size=(4, 5)) < 0.5).double()
    weight = torch.tensor(rng.uniform(0.1, 1, size=(4, 5)))
    together = losses.contrastive(losses.squared_distance(h_a, h_b), must, weight)
    for r in range(4):
        alone = losses.contrastive(losses.squared_distance(h_a[r], h_b[r]), must[r], weight[r])
        assert float(together[r]) == float(alone)


@pytest.mark.parametrize("must", [True, False])
def test_one_pair(must):
    d2 = torch.tensor([0.25])
    loss = losses.contrastive(d2, torch.tensor([float(must)]), torch.ones(1))
    assert float(loss) == pytest.approx(0.25)  # the two losses cross at d² = 1/4


@pytest.mark.parametrize("must", [True, False])
def test_gradient_at_distance_0_is_finite(must):
    h = torch.zeros(2, 3, requires_grad=True)
    d2 = losses.squared_distance(h[:1], h[1:])
    loss = losses.contrastive(d2, torch.tensor([float(must)]), torch.ones(1))
    loss.backward()
    assert float(loss.detach()) == (0.0 if must else 1.0)
    assert torch.isfinite(h.grad).all()


@pytest.mark.parametrize("d", [1e-4, 1e-15, 1e-19])
def test_gradient_near_distance_0_pushes_cannot_links_apart(d):
    h = torch.tensor([[0.0], [d]], requires_grad=True)
    d2 = losses.squared_distance(h[:1], h[1:])
    losses.contrastive(d2, torch.zeros(1), torch.ones(1)).backward()
    assert h.grad[1].item() == pytest.approx(-2.0, rel=1e-2)  # −2(1 − d)


@pytest.mark.parametrize(("d", "expected"), [(0.5, 0.25), (1.0, 0.0), (1.5, 0.0)])
def test_cannot_link_below_at_and_above_the_margin(d, expected):
    loss = losses.contrastive(torch.tensor([d**2]), torch.zeros(1), torch.ones(1))
    assert float(loss) == pytest.approx(expected, abs=1e-7)


def test_threshold_below_at_and_above():
    d2 = torch.tensor([0.2999, 0.3, 0.3001])
    assert losses.is_must_link(d2, 0.3).tolist() == [True, False, False]


def test_a_weight_counts_like_a_share_of_a_pair():
    d2, must = torch.tensor([0.2, 0.7, 0.4]), torch.tensor([1.0, 0.0, 1.0])
    twice = losses.contrastive(d2[[0, 0, 1, 2]], must[[0, 0, 1, 2]], torch.ones(4))
    weighted = losses.contrastive(d2, must, torch.tensor([1.0, 0.5, 0.5]))
    assert float(weighted) == pytest.approx(float(twice))


class TestIdentitiesOfTheThresholdSection:
    """The loss over all pairs rewritten with p̂, for M symmetric and holding every (x, x)."""

    @pytest.fixture
    def posteriors(self):
        rng = np.random.default_rng(4)
        return torch.tensor(rng.dirichlet(np.ones(4), size=9))  # (|X|, K)

    def over_all_pairs(self, p, must):
        n = len(p)
        a, b = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
        p_same = losses.same_probability(p[a.ravel()], p[b.ravel()])
        return losses.misclassification(
            p_same, must.ravel().double(), torch.ones(n * n).double()
        ), p_same

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
    def test_loss_is_entropy_term_minus_must_links(self, posteriors, share):
        n = len(posteriors)
        links = np.random.default_rng(5).uniform(size=(n, n)) < share
        must = torch.tensor(links | links.T | np.eye(n, dtype=bool))
        loss, p_same = self.over_all_pairs(posteriors, must)
        p_hat = posteriors.mean(0)
        rewritten = (
            (p_hat**2).sum() - 2 / n**2 * p_same[must.ravel()].sum() + must.sum().double() / n**2
        )
        assert float(loss) == pytest.approx(float(rewritten), abs=1e-12)

    def test_all_pairs_sum_to_the_squared_cluster_shares(self, posteriors):
        _, p_same = self.over_all_pairs(posteriors, torch.zeros(9, 9, dtype=torch.bool))
        assert float(p_same.mean()) == pytest.approx(float((posteriors.mean(0) ** 2).sum()))

    def test_threshold_0_labels_every_open_pair_a_cannot_link(self, posteriors):
        n = len(posteriors)
        h = torch.rand(n, 3)
        d2 = losses.squared_distance(h[:, None], h[None])
        given = torch.eye(n, dtype=torch.bool)
        given[0, 1] = given[1, 0] = True
        must = given | losses.is_must_link(d2, 0.0)
        assert torch.equal(must, given)
        loss, p_same = self.over_all_pairs(posteriors, must)
        p_hat = posteriors.mean(0)
        rewritten = (
            (p_hat**2).sum() - 2 / n**2 * p_same[given.ravel()].sum() + given.sum().double() / n**2
        )
        assert float(loss) == pytest.approx(float(rewritten), abs=1e-12)


def test_vanishing_is_how_far_clusters_are_below_their_least_share():
    share = torch.tensor([[0.5, 0.3, 0.2], [0.98, 0.02, 0.0]], dtype=torch.float64)
    share.requires_grad_()
    least = torch.tensor([[0.2, 0.1, 0.1], [0.2, 0.1, 0.0]], dtype=torch.float64)
    loss = losses.vanishing(share, least)
    assert loss.tolist() == pytest.approx([0.0, math.log(0.1 / 0.02) / 3])
    loss.sum().backward()
    assert share.grad[0].abs().sum() == 0  # nobody has shrunk too far
    assert share.grad[1].tolist() == pytest.approx([0.0, -1 / 0.02 / 3, 0.0])
    # A cluster without any row has a finite slope, and a large one.
    gone = losses.vanishing(torch.tensor([1.0, 0.0]), torch.tensor([0.2, 0.2]))
    assert float(gone) == pytest.approx(math.log(0.2 / 1e-6) / 2)
