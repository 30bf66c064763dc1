"""NMI against the number of questions, answered by someone who knows the classes.

    python -m experiments.questions --device cuda --precision bf16 --budget-seconds 500
    python -m experiments.questions --quick

Strategies: that of `s3c2 ask` (ours), random pairs, and the classical Explore-Consolidate, Min-Max
and NPU. After each of MARKS questions a model with the defaults learns from the answers; NMI is
that of the test part. Strategies that listen to a model hear a new one after each of REFITS.
Trajectories of a data set go on together, so that their models train as one stack. Rows in
results/questions.csv; the state is kept after every round, and the same command goes on from it.
Neighbours of the rows, which depend on no link, are kept in pretrained/.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import clone

from s3c2 import S3C2, Links, fit_many, metrics
from s3c2.files.atomic import write_atomically
from s3c2.questions import Questions, View

from experiments import data, ledger, runs
from experiments.classical import CLASSICAL
from experiments.command_line import positive
from experiments.questions_page import (
    COLUMNS,
    KEY,
    OURS,
    RANDOM,
    STRATEGIES,
    claims,
    draw,
    is_earlier,
    read,
    table_of,
)
from experiments.training import device, tell

DATASETS = ("digits", "letters", "mnist")
SEEDS = 5
MARKS = (0, 20, 50, 100, 200, 300, 500, 1000)
REFITS = (0, 10, 20, 35, 50, 75, 100, 125, 150, 175, 200, 250, 300, 350, 400, 500, 600, 800, 1000)
TOGETHER = 30  # models in a stack
QUICK = {"datasets": ("digits",), "seeds": 2, "marks": (0, 20, 40), "refits": (0, 20, 40)}
Key = tuple[str, int]  # strategy and seed


class Study:
    """All trajectories on one data set, side by side."""

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self.name, self.args = name, args
        self.prepared = data.load(name, "dense")
        self.folder = ledger.results_folder(args.quick)
        self.state = self.folder / f"questions-unfinished-{self._mark()}.pickle"
        self.mark, self.asked = self._begun()

    def _mark(self) -> str:
        args = self.args
        what = (
            self.name,
            args.strategies,
            args.seeds,
            args.marks,
            args.refits,
            args.precision,
        )
        return f"{self.name}-{hashlib.sha256(repr(what).encode()).hexdigest()[:8]}"

    def _begun(self) -> tuple[int, dict[Key, Questions]]:
        """Where an earlier start was; else the beginning, before all marks."""
        if self.state.exists():
            mark, asked = pickle.loads(self.state.read_bytes())  # written by this file alone
            for questions in asked.values():
                questions.X = self.prepared.X_train
            return mark, asked
        asked = {
            (strategy, seed): self._questions(strategy, seed)
            for strategy in self.args.strategies
            for seed in range(self.args.seeds)
        }
        return -1, asked

    def _questions(self, strategy: str, seed: int) -> Questions:
        X, n_clusters = self.prepared.X_train, self.prepared.n_clusters
        if strategy in (OURS, RANDOM):
            chosen = "informative" if strategy == OURS else "random"
            return Questions(X, n_clusters, strategy=chosen, random_state=seed)
        questions = Questions(X, n_clusters, strategy="random", random_state=seed)
        code = View.of_rows(X, questions.rows, n_clusters, seed).codes[0]
        made = CLASSICAL[strategy](questions.rows, code, n_clusters, seed)
        return Questions(X, n_clusters, strategy=made, random_state=seed)

    def rounds(self) -> Iterator[int]:
        """The marks that are left."""
        marks = sorted({*self.args.marks, *self.args.refits})
        return (mark for mark in marks if mark > self.mark)

    def advance(self, mark: int) -> None:
        """Ask up to a mark, train, write the rows, and keep the state."""
        scored = mark in self.args.marks
        due = {
            key: questions
            for key, questions in self.asked.items()
            if scored or (mark in self.args.refits and questions.strategy.needs_view)
        }
        for questions in due.values():
            self._ask(questions, mark)
        models, seconds = self._train(due)
        rows = []
        for (strategy, seed), questions in due.items():
            model = models[strategy, seed]
            if questions.strategy.needs_view:
                questions.learn(model)
            if scored:
                scores = metrics.evaluate(self.prepared.y_test, model.predict(self.prepared.X_test))
                known = questions.known
                rows.append({
                    "dataset": self.name, "strategy": strategy, "seed": seed, "n_questions": mark,
                    "nmi": round(scores.nmi, 5), "ari": round(scores.ari, 5),
                    "acc": round(scores.acc, 5), "n_same": known.n_same,
                    "n_different": known.n_different, "n_links": questions.links().n_links,
                    "seconds_per_run": round(seconds / len(due), 3), "group_size": len(due),
                    **ledger.provenance(model, self.prepared.source),
                })  # fmt: skip
        append(self.folder / "questions.csv", rows)
        self.mark = mark
        self._keep()
        tell(f"{self.name}: {mark} questions, {len(due)} models in {seconds:.1f} s")

    def _ask(self, questions: Questions, mark: int) -> None:
        y = self.prepared.y_train
        while len(questions.history) < mark:
            pair = questions.next_pair()
            if pair is None:  # all is known
                return
            questions.answer(pair, "same" if y[pair.a] == y[pair.b] else "different")

    def _train(self, due: dict[Key, Questions]) -> tuple[dict[Key, S3C2], float]:
        """A model for each; those of the same seed and links are one."""
        models: dict[Any, S3C2] = {}
        wanted: dict[Any, tuple[S3C2, Links]] = {}
        keys = {}
        for (strategy, seed), questions in due.items():
            links = questions.links()
            alike = (
                seed,
                hashlib.sha256(links.must.tobytes() + b"-" + links.cannot.tobytes()).hexdigest(),
            )
            keys[strategy, seed] = alike
            wanted[alike] = (clone(self._model()).set_params(random_state=seed), links)
        began = time.perf_counter()
        names = list(wanted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for start in range(0, len(names), TOGETHER):
                some = names[start : start + TOGETHER]
                fitted = fit_many(self.prepared.X_train, [wanted[name] for name in some])
                models |= zip(some, fitted)
        seconds = time.perf_counter() - began
        return {key: models[alike] for key, alike in keys.items()}, seconds

    def _model(self) -> S3C2:
        args = self.args
        model = S3C2(self.prepared.n_clusters, device=device(args.device), verbose=0)
        model.set_params(precision=args.precision, labnet__cache=runs.PRETRAINED)
        if args.steps:
            model.set_params(labnet__steps=args.steps, clunet__steps=args.steps)
        return model

    def _keep(self) -> None:
        """Write the state: the answers, and what the last model said, without the data."""
        X = self.prepared.X_train
        for questions in self.asked.values():
            questions.X = None
            if questions.view is not None:
                questions.view = replace(questions.view)  # without what was worked out
        write_atomically(self.state, pickle.dumps((self.mark, self.asked)))
        for questions in self.asked.values():
            questions.X = X


def append(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Add rows; those that are there stay, unless they are from before a change of the default."""
    given = {tuple(str(row[name]) for name in KEY): row for row in rows}
    stays = {
        key: row
        for key, row in ((tuple(row[name] for name in KEY), row) for row in read(path))
        if not (key in given and is_earlier(row))
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    new = [row for key, row in given.items() if key not in stays]
    ledger.write(path, COLUMNS, [*stays.values(), *new])


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "python -m experiments.questions", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = made.add_argument
    add("--quick", action="store_true", help="digits, 40 questions, few steps: a minute on a CPU")
    add("--dataset", nargs="+", choices=DATASETS, metavar="NAME", help="only these data sets")
    add("--only", nargs="+", choices=STRATEGIES, metavar="NAME",
        help=f"only these strategies: {', '.join(STRATEGIES)}")  # fmt: skip
    add("--seeds", type=positive, default=SEEDS, help="trajectories of each strategy")
    add("--most", type=positive, default=MARKS[-1], help="no more questions than this")
    add("--device", default="auto", help="auto (a GPU if there is one), cuda or cpu")
    add("--precision", default="float32", choices=("float32", "bf16"))
    add("--steps", type=positive, help="with --quick: steps of both stages")
    add("--budget-seconds", type=positive, metavar="S", help="begin no round after S seconds")
    add("--plot-only", action="store_true", help="train nothing; draw the rows that exist")
    return made


def main(argv: Sequence[str] | None = None) -> None:
    args = parser().parse_args(argv)
    began = time.perf_counter()
    if args.steps and not args.quick:
        raise SystemExit("--steps needs --quick: shortened runs are not for the results")
    args.strategies = tuple(args.only or STRATEGIES)
    args.marks = tuple(mark for mark in MARKS if mark <= args.most)
    args.refits = tuple(mark for mark in REFITS if mark <= args.most)
    names = args.dataset or DATASETS
    if args.quick:
        names, args.seeds = QUICK["datasets"], QUICK["seeds"]
        args.marks, args.refits = QUICK["marks"], QUICK["refits"]
        args.steps = args.steps or 100
    folder = ledger.results_folder(args.quick)

    def spent() -> bool:
        return bool(args.budget_seconds and time.perf_counter() - began > args.budget_seconds)

    for name in () if args.plot_only else names:
        if spent():
            tell(f"stopped after {args.budget_seconds} s; the same command goes on")
            break
        study = Study(name, args)
        for mark in study.rounds():
            if spent():
                break
            study.advance(mark)
    rows = read(folder / "questions.csv")
    if not rows:
        raise SystemExit(f"{folder / 'questions.csv'} has no rows yet: nothing was drawn.")
    found = table_of(rows)
    draw(folder, found)
    for claim, holds, numbers in claims(found):
        tell(f"{'yes' if holds else 'NO '}  {claim}: {numbers}")


if __name__ == "__main__":
    main()
