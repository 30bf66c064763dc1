"""The verbs: which pair next, an answer, and taking it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s3c2.data.indexing import indexable
from s3c2.errors import LinksError
from s3c2.links import Links
from s3c2.questions.known import VERDICTS, Known, Pair, Verdict
from s3c2.questions.stopping import Signal, share_moved, stop_signal
from s3c2.questions.strategies import STRATEGIES, Strategy
from s3c2.questions.view import View, sample_rows


@dataclass(frozen=True)
class Answered:
    """An answer, how probable "same" was thought before it, and whose it is."""

    pair: Pair
    verdict: Verdict
    expected: float | None
    author: str = ""


class Questions:
    """Asks about pairs of rows, one after another.

    Parameters
    ----------
    X : rows, as `S3C2.fit` takes them
    n_clusters : int
    strategy : {"informative", "random"}, or an object with the methods of `Strategy`
    random_state : int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from s3c2.questions import Questions
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> questions = Questions(X, n_clusters=3)
    >>> for _ in range(30):
    ...     a, b = pair = questions.next_pair()
    ...     _ = questions.answer(pair, "same" if y[a] == y[b] else "different")
    >>> questions.links().n_links
    30
    """

    def __init__(
        self,
        X: Any,
        n_clusters: int,
        *,
        strategy: str | Strategy = "informative",
        random_state: int = 0,
    ) -> None:
        self.X, self.n_clusters = indexable(X), n_clusters
        self.n_rows = int(self.X.shape[0])
        self.rows = sample_rows(self.n_rows, random_state)
        self.strategy = _strategy(strategy, self.n_rows, random_state)
        self.view: View | None = None
        if self.strategy.needs_view:
            self.view = View.of_rows(self.X, self.rows, n_clusters, random_state)
        self.history: list[Answered] = []
        self.moved: list[float] = []  # share of the rows that each new model put elsewhere
        self._learned = False  # whether the view is that of a model
        self._pair: Pair | None = None
        self._know()

    def _know(self) -> None:
        self.known = Known(agreed(self.history), self.n_rows)

    def restore(self, history: Iterable[Answered]) -> None:
        """Take over answers that were given before, in their order."""
        self.history = list(history)
        self._pair = None
        self._know()

    def next_pair(self, avoid: Collection[Pair] = ()) -> Pair | None:
        """The pair to ask about; None when all pairs are known.

        The same pair until it is answered. ``avoid`` are pairs that are being asked elsewhere.
        """
        if self._pair is None or self._pair in avoid or self.known.says(*self._pair):
            self._pair = self.strategy.next_pair(self.known, self.view, avoid)
        return self._pair

    def answer(self, pair: tuple[int, int], verdict: Verdict, author: str = "") -> Answered:
        """Take the answer to a pair: "same", "different" or "unsure".

        Of one author's answers to a pair the last one counts; where authors differ, most of them.
        """
        if verdict not in VERDICTS:
            raise ValueError(f"An answer is one of {', '.join(VERDICTS)}. Got {verdict!r} instead.")
        found = Pair.of(*map(int, pair))
        if not 0 <= found.a < found.b < self.n_rows:
            raise LinksError(f"{tuple(pair)} is no pair of rows: they are 0 to {self.n_rows - 1}.")
        new = Answered(found, verdict, self.expected(found), author)
        self.history.append(new)
        self._know()
        self.strategy.note(found, verdict)
        self._pair = None
        return new

    def undo(self, author: str = "") -> Answered | None:
        """Take back the author's last answer, and ask its pair again; None where there is none."""
        own = [i for i, one in enumerate(self.history) if one.author == author]
        if not own:
            return None
        last = self.history.pop(own[-1])
        self._know()
        self._pair = last.pair
        return last

    def learn(self, model: Any) -> None:
        """Hear what a model fitted on X says, or a View of the same rows."""
        view = model if isinstance(model, View) else View.of_model(model, self.X, self.rows)
        if self._learned and self.view is not None:
            self.moved.append(share_moved(self.view.labels, view.labels))
        self.view, self._learned = view, True

    def expected(self, pair: Pair) -> float | None:
        """The probability that a pair is the same, where there is an opinion about both rows."""
        if self.view is None:
            return None
        places = np.searchsorted(self.view.rows, pair).clip(max=len(self.view.rows) - 1)
        if not np.array_equal(self.view.rows[places], pair):
            return None
        return float(self.view.same[places[0], places[1]])

    def signal(self) -> Signal:
        """Whether more answers are worth it, in words."""
        foreseen = [
            (one.expected >= 0.5) == (one.verdict == "same")
            for one in self.history
            # Most pairs are different, and that is easily foreseen: it says nothing.
            if one.expected is not None
            and one.verdict != "unsure"
            and (one.expected >= 0.5 or one.verdict == "same")
        ]
        return stop_signal(
            n_answers=len(self.history), n_seen=self.n_seen, n_clusters=self.n_clusters,
            moved=self.moved, foreseen=foreseen,
        )  # fmt: skip

    @property
    def n_seen(self) -> int:
        """Number of clusters in which some row was found to be the same as another."""
        if self.view is None:
            return 0
        paired = [r for rows in self.known.members.values() if len(rows) > 1 for r in rows]
        return len(set(self.view.labels[np.isin(self.view.rows, paired)].tolist()))

    def links(self) -> Links:
        """The answers as links for a fit."""
        return self.known.links()


def votes(history: Iterable[Answered]) -> dict[Pair, dict[str, Verdict]]:
    """What each author last said of each pair."""
    found: dict[Pair, dict[str, Verdict]] = {}
    for one in history:
        found.setdefault(one.pair, {})[one.author] = one.verdict
    return found


def agreed(history: Iterable[Answered]) -> dict[Pair, Verdict]:
    """What most authors say of each pair; "unsure" where as many say the one as the other."""
    found: dict[Pair, Verdict] = {}
    for pair, said in votes(history).items():
        same, different = (list(said.values()).count(v) for v in ("same", "different"))
        found[pair] = "unsure" if same == different else "same" if same > different else "different"
    return found


def _strategy(given: str | Strategy, n_rows: int, seed: int) -> Strategy:
    if not isinstance(given, str):
        return given
    if given not in STRATEGIES:
        names = " or ".join(map(repr, STRATEGIES))
        raise ValueError(f"strategy must be {names}. Got {given!r} instead.")
    return STRATEGIES[given](n_rows, seed)
