"""The epochs of IDEC: batches of all rows, then of the must-links, then of the cannot-links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from s3c2 import losses
from s3c2.baselines.pair_methods import Replica
from s3c2.engine.inference import batches
from s3c2.engine.randomness import Purpose, generator
from s3c2.engine.rows import Rows
from s3c2.engine.stack import Stack
from s3c2.engine.task import Losses
from s3c2.pairs import Ends, PairBatch, RowBatch, Twins

if TYPE_CHECKING:
    from s3c2.baselines.idec import IDEC

Table = tuple[NDArray[np.int64], NDArray[Any]]  # row numbers (count, ends) and weights (count,)
FLOOR = 1e-6  # of the probabilities inside a logarithm


class Clustering(nn.Module):
    """Each replica's centres, and of all rows the target distribution and the labels.

    The last two are taken anew before every epoch; as buffers they are part of a checkpoint.

    Parameters
    ----------
    centres : (replicas, K, dimensions)
    power : of the assignment
    n : number of rows
    """

    target: Tensor
    labels: Tensor

    def __init__(self, centres: Tensor, power: float, n: int) -> None:
        super().__init__()
        self.centres = nn.Parameter(centres)
        self.power = power
        self.register_buffer("target", torch.zeros(len(centres), n, centres.shape[1]))
        self.register_buffer("labels", torch.zeros(len(centres), n, dtype=torch.int64))

    def assignment(self, z: Tensor) -> Tensor:
        """The soft assignment q of embedded rows: (replicas, rows, dimensions) → (…, K)."""
        return losses.student_assignment(z, self.centres, self.power)


class Epochs:
    """What a step of IDEC does, for replicas that have equally many batches in an epoch.

    The batches are the same in every epoch, as the authors have them, in an order of each replica's
    own. What fills up the last one has weight 0.

    Parameters
    ----------
    settings : IDEC
    replicas : Replica of each
    rows : Rows
    stacks : "encoder" and "decoder"
    centres : (replicas, K, dimensions), where they start
    n_batches : of rows, must-links and cannot-links
    """

    def __init__(
        self,
        settings: IDEC,
        replicas: Sequence[Replica],
        rows: Rows,
        stacks: dict[str, Stack],
        centres: Tensor,
        n_batches: tuple[int, int, int],
    ) -> None:
        self.settings = settings
        self.rows = rows
        self.encoder, self.decoder = stacks["encoder"], stacks["decoder"]
        self._twins = Twins(self.encoder, rows, [replica.seed for replica in replicas])
        self.clustering = Clustering(centres, settings.assignment_power, rows.n).to(rows.device)
        self.n_batches = n_batches
        self.length = sum(n_batches)
        self._position = torch.arange(int(settings.batch_size), device=rows.device)
        # (replicas, batches of the kind · batch size) row numbers and weights
        orders: list[Table] = []
        musts: list[Table] = []
        cannots: list[Table] = []
        for replica in replicas:
            links, rng = replica.links, generator(replica.seed, Purpose.LINKS)
            orders.append((rng.permutation(rows.n)[:, None], np.ones(rows.n)))
            for table, pairs, weight in (
                (musts, links.must, links.must_weight),
                (cannots, links.cannot, links.cannot_weight),
            ):
                order = rng.permutation(len(pairs))
                table.append((pairs[order], weight[order]))
        self._tables = [
            self._padded(table, count) for table, count in zip((orders, musts, cannots), n_batches)
        ]
        self._share = {
            name: torch.tensor(
                [float(getattr(r.model, f"{name}_weight")) for r in replicas], device=rows.device
            )
            for name in ("clustering", "must", "cannot", "reconstruction")
        }  # (replicas,) each
        self._kinds: tuple[Losses, ...] = (self.of_rows, self.of_must_links, self.of_cannot_links)

    def kind(self, step: int) -> Losses:
        """The losses of this step: of rows, of must-links or of cannot-links."""
        at = step % self.length
        rows, must, _ = self.n_batches
        return self._kinds[0 if at < rows else 1 if at < rows + must else 2]

    def before(self, step: int) -> Sequence[bool] | None:
        """Take the target distribution anew; whether so few labels changed that it is enough."""
        if step % self.length:
            return None
        held = self.clustering
        q = self._assignments()  # (replicas, rows, K)
        labels = q.argmax(-1)
        changed = (labels != held.labels).float().mean(1)
        with torch.no_grad():
            held.labels.copy_(labels)
            held.target.copy_(losses.target_distribution(q))
        return None if step == 0 else (changed < self.settings.tol).tolist()

    def of_rows(self, step: int | Tensor) -> dict[str, Tensor]:
        """Divergence from the target distribution, and reconstruction."""
        (numbers,), weight = self._draw(0, step)
        (ends,) = self._twins(step, RowBatch(numbers))
        x, z = ends.x[1], ends.out[1]
        q = self.clustering.assignment(z)
        index = numbers.unsqueeze(-1).expand(-1, -1, q.shape[-1])
        target = self.clustering.target.gather(1, index)
        clustering = losses.weighted_mean(losses.clustering_error(target, q), weight)
        reconstruction = losses.weighted_mean(self._reconstruction(z, x), weight)
        return {
            "loss": self._share["clustering"] * clustering
            + self._share["reconstruction"] * reconstruction,
            "clustering": clustering,
            "reconstruction": reconstruction,
        }

    def of_must_links(self, step: int | Tensor) -> dict[str, Tensor]:
        """Likelihood of must-links, and the reconstruction of their rows."""
        links, ends = self._links(1, step)
        likelihood = self._likelihood(links, ends)
        z, x = torch.cat(ends.out, dim=1), torch.cat(ends.x, dim=1)
        a, b = self._reconstruction(z, x).chunk(2, dim=1)
        reconstruction = losses.weighted_mean(a + b, links.weight)
        return {
            "loss": self._share["must"] * likelihood
            + self._share["reconstruction"] * reconstruction,
            "must": likelihood,
            "reconstruction": reconstruction,
        }

    def of_cannot_links(self, step: int | Tensor) -> dict[str, Tensor]:
        """Likelihood of cannot-links. The decoder has no part in it, and is left as it is."""
        likelihood = self._likelihood(*self._links(2, step))
        return {"loss": self._share["cannot"] * likelihood, "cannot": likelihood}

    def _links(self, kind: int, step: int | Tensor) -> tuple[PairBatch, Ends]:
        """A batch of must-links (1) or cannot-links (2), and the embedding of both ends."""
        (a, b), weight = self._draw(kind, step)
        links = PairBatch(a, b, torch.full_like(weight, float(kind == 1)), weight)
        (ends,) = self._twins(step, links)
        return links, ends

    def _likelihood(self, links: PairBatch, ends: Ends) -> Tensor:
        """Negative log-likelihood of links: (replicas,)."""
        q_a, q_b = (self.clustering.assignment(z) for z in ends.out)
        p_same = losses.same_probability(q_a, q_b)
        return losses.link_likelihood(p_same, links.same, links.weight, FLOOR)

    def _draw(self, kind: int, step: int | Tensor) -> tuple[Sequence[Tensor], Tensor]:
        """Row numbers, for each end, and weights of this step: (replicas, batch) each."""
        ends, weight = self._tables[kind]
        first = (step % self.length - sum(self.n_batches[:kind])) * len(self._position)
        place = first + self._position
        return [end[:, place] for end in ends], weight[:, place]

    def _reconstruction(self, z: Tensor, x: Tensor) -> Tensor:
        x_hat = self.decoder(z)
        return losses.reconstruction_error(x_hat.flatten(2), x.flatten(2).float(), "mean")

    def _assignments(self) -> Tensor:
        """The soft assignments q of all rows: (replicas, rows, K)."""
        network = _RowsFirst(self.encoder, self.clustering)
        q = torch.empty_like(self.clustering.target)
        for start, block in batches(network, self.rows):
            q[:, start : start + len(block)] = block.transpose(0, 1)
        network.train()
        return q

    def _padded(self, tables: Sequence[Table], n_batches: int) -> tuple[list[Tensor], Tensor]:
        """Ends and weights of all replicas, filled up with what there is, at weight 0."""
        size = n_batches * len(self._position)
        numbers = np.stack([np.resize(numbers, (size, numbers.shape[1])) for numbers, _ in tables])
        weights = np.zeros((len(tables), size), dtype=np.float32)
        for row, (_, weight) in enumerate(tables):
            weights[row, : len(weight)] = weight
        ends = torch.from_numpy(numbers.astype(np.int64)).to(self.rows.device)
        return list(ends.unbind(-1)), torch.from_numpy(weights).to(self.rows.device)


class _RowsFirst(nn.Module):
    """All replicas' assignments of the same rows: (rows, *shape) → (rows, replicas, K)."""

    def __init__(self, encoder: Stack, clustering: Clustering) -> None:
        super().__init__()
        self.encoder = encoder
        self.clustering = clustering

    def forward(self, x: Tensor) -> Tensor:
        z = self.encoder(x.unsqueeze(0).expand(len(self.clustering.centres), *x.shape))
        return self.clustering.assignment(z).transpose(0, 1)
