"""A project: the data, the answers, the questions and the training, for several people at once."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from s3c2.errors import DataError
from s3c2.files.atomic import write_atomically
from s3c2.files.tables import table_bytes
from s3c2.links import Links
from s3c2.page.items import Items
from s3c2.page.matching import as_history, match
from s3c2.page.results import LINKS, Opinions
from s3c2.page.store import Event, Store
from s3c2.page.trainer import Trainer
from s3c2.questions import Answered, Pair, Questions, Signal, Verdict, votes

ANSWERS = "answers.sqlite"
FEWEST_NEW = 5  # answers before a new training begins, or a tenth of all
MOST_OPEN = 100  # questions that wait for an answer
AGAINST = 3  # typical items of a cluster that one which does not belong to it is linked against


@dataclass(frozen=True)
class Question:
    """What one person is asked: two rows, as they are shown, and the key of the answer."""

    key: str
    left: int
    right: int

    @property
    def pair(self) -> Pair:
        return Pair.of(self.left, self.right)


def n_standing(answers: Iterable[Event]) -> int:
    """How many answers these are, where one that was changed counts once."""
    return len({(one.author, frozenset((one.a, one.b))) for one in answers})


@dataclass(frozen=True)
class Step:
    """One link of a contradiction: two rows, what was said of them, and by whom."""

    a: int
    b: int
    verdict: str
    authors: tuple[str, ...]


class Project:
    """Everything behind the page. All methods may be called from several threads.

    Parameters
    ----------
    folder : of the project; the answers are kept there
    items : the data
    n_clusters : int
    settings : title, device, seed, scale, image_shape, steps; see `Trainer`
    train : whether models are trained beside
    """

    def __init__(
        self,
        folder: Path,
        items: Items,
        n_clusters: int,
        settings: dict[str, Any],
        *,
        train: bool = True,
    ) -> None:
        self.folder, self.items, self.n_clusters = folder, items, n_clusters
        self.title = str(settings["title"])
        self._lock = threading.RLock()
        self.store = Store(folder / ANSWERS)
        seed = int(settings["seed"])
        self.questions = Questions(items.data.X, n_clusters, random_state=seed)
        found = match(self.store, items)
        stored = self.store.answers()
        history = as_history(stored, found)
        if stored and not history:
            self.store.close()
            raise DataError(
                f"None of the {len(stored)} answers in {folder} speaks of two items of this data. "
                "Give the data that they are about, or another folder."
            )
        self.questions.restore(history.values())
        self.notes = [
            *self._another_number_of_clusters(),
            *found.words(n_standing(stored), n_standing(e for e in stored if e.key not in history)),
        ]
        self._keys = list(history)
        self._open: dict[str, Question] = {}
        self._shown: dict[Pair, tuple[int, int]] = {}  # the sides of what was asked
        self._rng = np.random.default_rng()
        self.opinions: Opinions | None = None
        self.problem: str | None = None  # of the last training
        self.n_trainings = 0
        self._was_quick = False  # the last training; the next is a full one, then
        self._corrected = False  # an answer that a model may have learned from
        self.trainer: Trainer | None = None
        self._look_at_opinions(Opinions.read(folder))
        if train:
            common = settings | {"n_clusters": n_clusters}
            sample = self.questions.rows.tolist()
            self.trainer = Trainer(folder, items, common, sample, self._trained)
            self._train_if_due()

    def _another_number_of_clusters(self) -> list[str]:
        """What to say where the project was begun with another number of clusters."""
        before, now = self.store.settings().get("n_clusters"), str(self.n_clusters)
        if before == now:
            return []
        self.store.set(n_clusters=now)
        if before is None:
            return []
        return [f"The project had {before} clusters until now; from here on it has {now} (-k)."]

    # Asking and answering

    def question(self, author: str) -> Question | None:
        """What this person is asked now; None when nothing is left to ask."""
        with self._lock:
            current = self._open.get(author)
            if current is not None and not self.questions.known.says(*current.pair):
                return current
            elsewhere = {one.pair for name, one in self._open.items() if name != author}
            pair = self.questions.next_pair(avoid=elsewhere)
            if pair is None:
                self._open.pop(author, None)
                return None
            left, right = self._shown[pair] = self._sides(pair, current)
            while len(self._open) >= MOST_OPEN:  # people who came and went
                self._open.pop(next(iter(self._open)))
            self._open[author] = Question(secrets.token_urlsafe(12), left, right)
            return self._open[author]

    def _sides(self, pair: Pair, before: Question | None) -> tuple[int, int]:
        """An item that stays keeps its side; otherwise chance decides."""
        a, b = pair
        if before is not None:
            if before.left in pair:
                return (a, b) if before.left == a else (b, a)
            if before.right in pair:
                return (b, a) if before.right == a else (a, b)
        return (a, b) if self._rng.random() < 0.5 else (b, a)

    def answer(self, author: str, key: str, a: int, b: int, verdict: Verdict) -> bool:
        """Store an answer, then use it; False if this key was answered before."""
        pair = Pair.of(a, b)
        with self._lock:
            new = Answered(pair, verdict, self.questions.expected(pair), author)
            one, two = (self.items.names[row] for row in pair)
            contents = {one: self.items.content(pair.a), two: self.items.content(pair.b)}
            event = Event(key, "answer", one, two, verdict, author, new.expected)
            if not self.store.add(event, contents):
                return False
            before = self.questions.known.verdicts.get(pair)
            self.questions.answer(pair, verdict, author)
            self._corrected |= before not in (None, self.questions.known.verdicts[pair])
            self._keys.append(key)
            self._train_if_due()
            return True

    def undo(self, author: str, key: str) -> Answered | None:
        """Take back this person's last answer, and ask it again; None where there is none."""
        with self._lock:
            own = [i for i, one in enumerate(self.questions.history) if one.author == author]
            if not own:
                return None
            last = self.questions.history[own[-1]]
            one, two = (self.items.names[row] for row in last.pair)
            if not self.store.add(Event(key, "undo", one, two, self._keys[own[-1]], author), {}):
                return None
            self.questions.undo(author)
            self._keys.pop(own[-1])
            before = self._shown.get(last.pair)  # as it was seen, unless the program began anew
            left, right = before or self._sides(last.pair, self._open.get(author))
            self._open[author] = Question(secrets.token_urlsafe(12), left, right)
            return last

    def withdraw(self, author: str, key: str, pair: Pair) -> bool:
        """Take back all that this person said of a pair; False if it is nothing."""
        with self._lock:
            own = [i for i, one in enumerate(self.questions.history)
                   if one.author == author and one.pair == pair]  # fmt: skip
            one, two = (self.items.names[row] for row in pair)
            # The last answer, which counts, goes last: what is left of a kill is what was said.
            for number, i in enumerate(own):
                event = Event(f"{key}-{number}", "undo", one, two, self._keys[i], author)
                self.store.add(event, {})
            if not own:
                return False
            left = [i for i in range(len(self._keys)) if i not in own]
            self._keys = [self._keys[i] for i in left]
            self.questions.restore([self.questions.history[i] for i in left])
            self._corrected = True
            self._train_if_due()
            return True

    def said_by(self, author: str, pair: Pair) -> Verdict | None:
        """What this person last said of a pair; None if nothing."""
        with self._lock:
            return votes(self.questions.history).get(pair, {}).get(author)

    def last_words(self) -> list[Answered]:
        """What each person last said of each pair, the newest first."""
        with self._lock:
            history = list(self.questions.history)
        last = {(one.author, one.pair): number for number, one in enumerate(history)}
        return [history[number] for number in sorted(last.values(), reverse=True)]

    def does_not_belong(self, author: str, key: str, row: int, cluster: int) -> int:
        """An item is different from the typical ones of its cluster; how many links that makes."""
        with self._lock:
            if self.opinions is None:
                raise DataError("There are no clusters yet: wait for the first training.")
            others = _others_than(row, self.opinions.members(cluster))
            return sum(
                self.answer(author, f"{key}-{number}", row, other, "different")
                for number, other in enumerate(others)
            )

    def said_not_to_belong(self, members: list[int], rows: list[int]) -> set[int]:
        """Those of some rows that are different, by answers, from the typical members.

        In a cluster of two an answer does not tell which of them was meant.
        """
        with self._lock:
            verdicts = self.questions.known.verdicts
            found = set()
            for row in rows:
                others = _others_than(row, members)
                said = [verdicts.get(Pair.of(row, other)) for other in others]
                if len(said) > 1 and all(one == "different" for one in said):
                    found.add(row)
            return found

    # What is known

    def signal(self) -> Signal:
        with self._lock:
            return self.questions.signal()

    def counts(self) -> dict[str, int]:
        """How many answers of each kind there are; one that was changed counts once."""
        with self._lock:
            known = self.questions.known
            return {
                "answers": len(self.last_words()), "same": known.n_same,
                "different": known.n_different, "unsure": known.n_unsure,
            }  # fmt: skip

    def authors(self) -> dict[str, int]:
        """How many answers each person gave."""
        with self._lock:
            return dict(Counter(one.author for one in reversed(self.last_words())))

    def contradictions(self) -> list[list[Step]]:
        """Answers that exclude each other: "different", and the chain of "same" against it."""
        with self._lock:
            found = self.questions.known.contradictions
            said = votes(self.questions.history)
            return [
                [
                    self._step(one.a, one.b, "different", said),
                    *(self._step(a, b, "same", said) for a, b in zip(one.chain, one.chain[1:])),
                ]
                for one in found
            ]

    def disagreements(self) -> list[list[Step]]:
        """Pairs of which people say different things."""
        with self._lock:
            return [
                [Step(*pair, verdict, (author,)) for author, verdict in said.items()]
                for pair, said in votes(self.questions.history).items()
                if {"same", "different"} <= set(said.values())
            ]

    def doubted(self) -> list[Step]:
        """Answers that similar items contradict; not those that were given again, or changed."""
        with self._lock:
            if self.opinions is None:
                return []
            times = Counter((one.pair, one.verdict) for one in self.questions.history)
            verdicts, said = self.questions.known.verdicts, votes(self.questions.history)
            found: list[Step] = []
            for a, b, same in self.opinions.doubted.tolist():
                pair, verdict = Pair.of(a, b), "same" if same else "different"
                if verdicts.get(pair) == verdict and times[pair, verdict] < 2:
                    found.append(self._step(a, b, verdict, said))
            return found

    def _step(self, a: int, b: int, verdict: str, said: dict[Pair, dict[str, Verdict]]) -> Step:
        of_pair = said.get(Pair.of(a, b), {})
        return Step(a, b, verdict, tuple(name for name, v in of_pair.items() if v == verdict))

    def links(self) -> Links:
        """The answers as links, those that contradict others among them."""
        with self._lock:
            return self.questions.known.answers_as_links()

    # Training

    def _train_if_due(self) -> None:
        if self.trainer is None or self.trainer.busy:
            return
        n, before = len(self.last_words()), self.trainer.trained_on
        due = before is None or abs(n - before) >= max(FEWEST_NEW, n // 10)
        if due or self._was_quick or self._corrected:
            self._was_quick = self.opinions is None and self.n_trainings == 0
            self._corrected = False
            self.trainer.start(self.questions.known, n, quick=self._was_quick)

    def _trained(self, n_answers: int, problem: str | None) -> None:
        opinions = Opinions.read(self.folder) if problem is None else None
        if opinions is not None:
            _ = opinions.view.same, opinions.view.near, opinions.view.typical  # before the lock
        with self._lock:
            self.problem = problem
            self._corrected |= problem is not None  # the next answer tries again
            self.n_trainings += 1
            self._look_at_opinions(opinions)
        if problem is None:
            threading.Thread(target=self._go_on_training, daemon=True).start()

    def _go_on_training(self) -> None:
        """After a training: another one, if answers came meanwhile."""
        if self.trainer is not None and self.trainer.wait(10):
            with self._lock:
                self._train_if_due()

    def _look_at_opinions(self, opinions: Opinions | None) -> None:
        """Use what a model says, if it speaks of this data."""
        if opinions is None or not np.array_equal(opinions.view.rows, self.questions.rows):
            return
        if len(opinions.labels) == len(self.items) and opinions.view.n_clusters == self.n_clusters:
            self.opinions = opinions
            self.questions.learn(opinions.view)

    def finish(self) -> str | None:
        """Train on all answers and write labels, model, report and links; what went wrong if so."""
        self.write_links()
        if self.trainer is None:
            return None
        begun = False
        while not begun:
            self.trainer.cancel()
            with self._lock:
                known, n = self.questions.known, len(self.last_words())
                begun = self.trainer.start(known, n, quick=False, report=True)
        self.trainer.wait()
        return self.problem

    def links_table(self) -> bytes:
        """The answers as a table of links: what most people say of each pair, and who says it."""
        with self._lock:
            said = votes(self.questions.history)
            agreed = self.questions.known.verdicts
        kept = [(pair, verdict) for pair, verdict in agreed.items() if verdict != "unsure"]
        names, word = self.items.names, {"same": "must", "different": "cannot"}
        columns: dict[str, list[str]] = {
            "a": [names[pair.a] for pair, _ in kept],
            "b": [names[pair.b] for pair, _ in kept],
            "link": [word[verdict] for _, verdict in kept],
            "author": [
                ", ".join(name for name, v in said[pair].items() if v == verdict)
                for pair, verdict in kept
            ],
        }
        return table_bytes(columns)

    def write_links(self) -> None:
        """Write links.csv."""
        write_atomically(self.folder / LINKS, self.links_table())

    def close(self) -> None:
        if self.trainer is not None:
            self.trainer.stop()
        self.store.close()


def _others_than(row: int, members: list[int]) -> list[int]:
    """The most typical members of a cluster, but for this one: what it is compared with."""
    return [i for i in members[: AGAINST + 1] if i != row][:AGAINST]
