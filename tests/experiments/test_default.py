"""The experiments of S3C2's defaults: calibration, wrong links, other data, targets, page."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from s3c2 import S3C2, Links

from experiments import (
    command_line,
    data,
    ledger,
    other_data,
    page,
    printed,
    results_page,
    runs,
    scoring,
    targets,
)
from experiments.figures import ablation, best, best_images, no_links, other_sets, wrong_links


class TestCalibration:
    def slow(self, right, top):
        """The definition, bin by bin."""
        error = 0.0
        for low in range(15):
            inside = [
                i for i, p in enumerate(top) if low <= p * 15 < low + 1 or (low, p) == (14, 1)
            ]
            if inside:
                share = np.mean([right[i] for i in inside])
                error += len(inside) / len(top) * abs(share - np.mean([top[i] for i in inside]))
        return error

    def test_it_is_the_definition(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet([0.5, 0.5, 0.5], 200)
        y = (p.argmax(1) + (rng.random(200) < 0.2)) % 3
        right = p.argmax(1) == y  # each cluster is the class of its number, mostly
        assert scoring.calibration_error(y, p) == pytest.approx(self.slow(right, p.max(1)))

    def test_the_names_of_clusters_do_not_matter(self):
        p = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.1, 0.9, 0.0]])
        expected = scoring.calibration_error(np.array([0, 0, 1]), p)
        assert expected == pytest.approx((0.1 + 0.2 + 0.1) / 3)
        assert scoring.calibration_error(np.array([7, 7, 4]), p[:, [2, 1, 0]]) == expected

    def test_a_cluster_without_a_class_is_never_right(self):
        p = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        assert scoring.calibration_error(np.zeros(3, int), p) == pytest.approx(1 / 3)


class TestWrongLinks:
    y = np.arange(200) % 4

    def links(self, share):
        return data.exchanged(Links.from_labels(self.y, 100, random_state=0), share, 0)

    def wrong(self, links):
        return int(
            (self.y[links.must[:, 0]] != self.y[links.must[:, 1]]).sum()
            + (self.y[links.cannot[:, 0]] == self.y[links.cannot[:, 1]]).sum()
        )

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
    def test_so_many_have_the_other_kind(self, share):
        links = self.links(share)
        assert (links.n_links, self.wrong(links)) == (100, 100 * share)
        assert links == self.links(share)

    def test_how_many_are_found(self):
        links = self.links(0.2)
        pairs = np.concatenate([links.must, links.cannot])
        same = self.y[pairs[:, 0]] == self.y[pairs[:, 1]]
        wrong = same != (np.arange(100) < links.n_must)
        order = np.argsort(~wrong, kind="stable")
        model = SimpleNamespace(suspicious_links_=pairs[order][:, ::-1])
        assert scoring.suspicion(model, links, self.y) == {"found_10": 0.5, "found_20": 1.0}
        assert scoring.suspicion(model, self.links(0.0), self.y) == {}
        assert scoring.suspicion(SimpleNamespace(), links, self.y) == {}


@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer"])
def test_a_third_of_other_data_is_held_out(name):
    found = other_data.load_other(name)
    n = len(found.X_train) + len(found.X_test)
    assert abs(len(found.X_test) - n / 3) < 1
    assert set(found.y_train) == set(found.y_test) == set(range(found.n_clusters))
    most = max(other_sets.SMALL.get(name, other_sets.BUDGETS))
    assert Links.from_labels(found.y_train, most, random_state=0).n_links == most


class TestRuns:
    def test_the_default_is_s3c2_without_any_setting(self):
        (run, *_) = best.runs(runs.FULL)
        changed = ledger.changed_settings(run.model())
        assert changed == ledger.changed_settings(S3C2(1)) == {}

    def test_the_other_methods_have_the_same_links(self):
        labels = np.arange(1000) % 5
        own, other = (
            next(run for run in some if (run.n_links, run.link_seed) == (200, 3))
            for some in (best.runs(runs.FULL), best.EXPERIMENT.beside["dense"](runs.FULL))
        )
        assert data.links_of([own], labels) == data.links_of([other], labels)

    def test_one_data_set_is_one_group(self):
        for module, size in ((best, 35), (best_images, 20), (wrong_links, 15)):
            groups = runs.groups(module.runs(runs.FULL), module.EXPERIMENT.group)
            assert {len(group) for group in groups} == {size}

    def test_the_ablation_shares_its_default_with_best(self):
        known = {ledger.key(ledger.identity(run)) for run in best.runs(runs.FULL)}
        own = [run for run in ablation.runs(runs.FULL) if not run.changes]
        assert len(own) == 36
        assert {ledger.key(ledger.identity(run)) for run in own} <= known


class TestLedger:
    def test_files_from_before_a_column_was_there_are_read_and_written_on(self, tmp_path):
        path = tmp_path / "dense.csv"
        ledger.append(
            path, [ledger.identity(run) for run in runs.grid("DCPR", ["letters"], [9], 2)]
        )
        old = pd.read_csv(path, dtype=str).drop(columns=list(ledger.LATER))
        old.to_csv(path, index=False, lineterminator="\n")
        before = path.read_text()
        assert {row["ece"] for row in ledger.read(path)} == {""}
        more = [ledger.identity(run) for run in runs.grid("DCPR", ["letters"], [9], 3)]
        ledger.append(path, more)
        assert path.read_text().startswith(before)
        assert len(ledger.read(path)) == 3
        wrong = ledger.identity(next(runs.grid("DCPR", ["letters"], [9], 1, flipped=0.1)))
        with pytest.raises(ValueError, match="flipped"):
            ledger.append(path, [wrong])


class TestTargets:
    def judged(self, nmi):
        data = pd.DataFrame([{"dataset": "mnist", "name": runs.DEFAULT, "n_links": 20, "nmi": nmi}])
        return targets.judged(data, {"mnist": (0.88, 0.9, 0.9, 0.9)})

    def test_at_or_above_is_reached(self):
        assert ".880 at 20 links (reached: .880)" in self.judged(0.88)
        assert ".880 at 20 links (not reached: .879)" in self.judged(0.879)
        assert "1 of 1 are reached" in self.judged(0.88)
        assert ".900 at 100 links (no runs yet)" in self.judged(0.9)

    def test_the_default_beside_the_others(self):
        def rows(name, **nmi):
            return [
                {"dataset": "mnist", "name": name, "n_links": int(n[1:]), "nmi": x, "nmi_std": 0.02}
                for n, x in nmi.items()
            ]

        own = rows(runs.DEFAULT, n20=0.5, n100=0.53, n1000=0.6)
        data = pd.DataFrame(own + rows("DCPR", n100=0.4, n1000=0.59) + rows("k-means", n0=0.515))
        ahead = targets.judged_beside(data, ahead=True)
        assert "reached in 0 of 3 cases" in ahead
        assert "- MNIST, 20 links: .500 ± .020, k-means .515 ± .020" in ahead
        assert "- MNIST, 1,000 links: .600 ± .020, DCPR .590 ± .020" in ahead
        assert "reached in 3 of 3 cases.\n" in targets.judged_beside(data, ahead=False)

    def test_a_handful_of_links_beside_none(self):
        few = {"mnist": 0.55, "letters": 0.51, "reuters": 0.47}
        data = pd.DataFrame(
            {"dataset": name, "name": method, "n_links": n, "nmi": nmi, "nmi_std": 0.02}
            for name, with_links in few.items()
            for method, n, nmi in (
                (runs.DEFAULT, 0, 0.5), (runs.DEFAULT, 20, with_links), ("k-means", 0, 0.9),
            )
        )  # fmt: skip
        said = targets.judged_few(data)
        assert "- higher: MNIST .500 ± .020 → .550 ± .020\n" in said
        assert "- the same: Letters .500 ± .020 → .510 ± .020\n" in said
        assert "- lower: Reuters .500 ± .020 → .470 ± .020\n" in said
        assert targets.judged_few(data[data["n_links"] > 0]) == ""

    def test_without_links_it_is_not_beside_the_others(self):
        data = pd.DataFrame(
            {"dataset": "mnist", "name": name, "n_links": 0, "nmi": 0.5, "nmi_std": 0.0}
            for name in (runs.DEFAULT, "k-means")
        )
        assert targets.judged_beside(data, ahead=True) == ""

    def test_the_best_printed_number(self):
        assert printed.best("reuters", 5000) == (0.948, 0.815)
        assert printed.best("reuters", 10_000) is None
        assert printed.entry("mnist", 1000, "DC-GMM") == ".846 / .808"
        assert printed.entry("mnist", 1000, "links alone") == "–"


class TestPage:
    @pytest.fixture(autouse=True)
    def own_results(self, tmp_path, monkeypatch):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        self.folder = tmp_path

    def append(self, experiment, wanted, **scores):
        rows = [ledger.identity(run) | {"nmi": 0.5, "acc": 0.5} | scores for run in wanted]
        ledger.append(experiment.path(self.folder), rows)

    def test_without_rows_there_are_no_sections(self):
        assert results_page.text() == results_page.INTRODUCTION + "\nNo runs yet.\n"

    def test_what_is_found_without_links_has_the_first_column(self):
        self.append(best.EXPERIMENT, best.runs(runs.FULL)[:5])
        self.append(no_links.EXPERIMENT, no_links.runs_on(["mnist"], runs.FULL), nmi=0.4)
        text = results_page.text()
        assert "| MNIST | S3C2 default | .400 ± .000 | .500 ± .000 |" in text
        assert "| MNIST | k-means | .400 ± .000 | – |" in text
        assert "- higher: MNIST .400 ± .000 → .500 ± .000" in text

    def test_a_section_comes_with_its_first_rows(self):
        self.append(best.EXPERIMENT, best.runs(runs.FULL)[:2], ece=0.03)
        text = results_page.text()
        assert "| MNIST | S3C2 default | .500 ± .000 |" in text
        assert "## Calibration" in text
        assert "| MNIST | dense | .030 ± .000 |" in text
        assert "0 of 1 are reached" in text
        assert "- Wrong links: 30 of 30 runs" in text
        for title in ("Images", "Wrong links", "Other data sets", "What each part does"):
            assert f"## {title}" not in text

    def test_all_sections(self):
        for module in (best, best_images, wrong_links, other_sets, ablation):
            self.append(module.EXPERIMENT, module.runs(runs.FULL), ece=0.1, found_10=0.4)
        text = results_page.text()
        for title in ("Images", "Wrong links", "Other data sets", "What each part does"):
            assert f"## {title}" in text
        assert "| MNIST | 1,000 | 10 % | .500 ± .000 | .400 ± .000 | – |" in text
        assert "nan" not in text

    def test_plot_only_skips_what_has_no_rows(self, capsys, monkeypatch):
        self.append(best.EXPERIMENT, best.runs(runs.FULL)[:3])
        command_line.main(["all", "--plot-only"])
        said = capsys.readouterr().err
        assert "wrong_links: skipped, it has no rows yet" in said
        assert (self.folder / "best.png").exists()
        assert not (self.folder / "best_images.png").exists()


class TestTogether:
    """``all --experiments`` runs the named ones, in this order, with one budget."""

    def test_the_budget_is_for_all(self, start, tmp_path, monkeypatch, capsys):
        monkeypatch.setenv("S3C2_RESULTS", str(tmp_path))
        clock = SimpleNamespace(perf_counter=iter(range(0, 10_000, 10)).__next__)
        monkeypatch.setattr(command_line, "time", clock)
        monkeypatch.setattr("experiments.training.time", clock)
        start("all", "--experiments", "no_links", "neighbours", "--budget-seconds", "15")
        said = capsys.readouterr().err
        assert len(ledger.read(tmp_path / "quick" / "without_links.csv")) == 2  # one group
        assert "neighbours: skipped, it has no rows yet" in said
        assert said.index("without_links.csv") < said.index("dense.csv")

    def test_the_results_page_is_one_of_the_committed_pages(self, monkeypatch):
        monkeypatch.setattr(page, "filled", lambda text: text)  # which takes long, and is not asked
        assert set(page.written(None)) == {*page.PAGES, results_page.PAGE}
