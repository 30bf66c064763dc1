"""fit writes labels, model and report; predict applies the model to raw new data."""

import json
import shutil
import sys

import numpy as np
import pyarrow.parquet
import pytest
from PIL import Image
from sklearn.base import clone

from s3c2 import S3C2, LabNet
from s3c2.files.tables import read_table, write_table
from s3c2.links import Links

from .conftest import QUICK, fit_command


def test_fit_writes_labels_model_and_report(fitted):
    summary = json.loads(fitted.result.stdout)
    assert (summary["rows"], summary["clusters"], sum(summary["sizes"])) == (60, 3, 60)
    assert summary["outputs"]["labels"] == "out/labels.csv"
    out = fitted / "out"
    assert sorted(path.name for path in out.iterdir()) == ["labels.csv", "model", "report.html"]
    labels = fitted.read("out/labels.csv")
    assert [row["id"] for row in labels] == [row["name"] for row in fitted.read("data.csv")]
    assert {int(row["cluster"]) for row in labels} <= {0, 1, 2}
    assert all(1 / 3 <= float(row["probability"]) <= 1 for row in labels)
    assert "60 rows in" in (out / "report.html").read_text(encoding="utf-8")


def test_the_rows_are_asked_about_once(folder, monkeypatch):
    """Labels, report and summary share one pass over the rows and one over the links."""
    asked = []
    for owner, name in ((S3C2, "predict_proba"), (LabNet, "link_distances")):
        ask = getattr(owner, name)

        def counted(self, *args, _ask=ask, _name=name, **kwargs):
            asked.append(_name)
            return _ask(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, counted)
    assert folder.run(*fit_command(), "--json").exit_code == 0
    assert sorted(asked) == ["link_distances", "predict_proba"]


def test_predict_on_the_same_raw_data_gives_the_labels_of_fit(fitted, tmp_path):
    for model in ("out", "out/model"):
        result = fitted.run("predict", model, "data.csv")
        assert result.stdout == (fitted / "out/labels.csv").read_text()
        assert result.stderr == ""
    fitted.run("predict", "out", "data.csv", "-o", tmp_path / "labels.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "labels.parquet")
    assert table.column_names == ["id", "cluster", "probability"]
    assert table["id"].to_pylist() == [row["name"] for row in fitted.read("data.csv")]


def test_predict_reports_as_json(fitted, tmp_path):
    result = fitted.run("predict", "out", "data.csv", "-o", tmp_path / "x.csv", "--json")
    out = str(tmp_path / "x.csv")
    assert json.loads(result.stdout) == {"rows": 60, "output": out, "ids_twice": 0}
    assert fitted.run("predict", "out", "data.csv", "--json").exit_code == 2


def test_same_seed_same_labels_and_quiet_says_nothing(fitted, folder):
    result = folder.run(*fit_command(), "--quiet", "--no-report")
    assert (result.exit_code, result.output) == (0, "")
    assert folder.read("out/labels.csv") == fitted.read("out/labels.csv")
    assert not (folder / "out/report.html").exists()


def test_kept_neighbours_change_no_label(fitted, folder):
    for out in ("first", "second"):
        result = folder.run(*fit_command(out=out), "--no-report", "--cache", "kept")
        assert result.exit_code == 0, result.output
        assert folder.read(f"{out}/labels.csv") == fitted.read("out/labels.csv")
    assert "neighbours: as kept in kept" in result.stderr
    assert len(list((folder / "kept").iterdir())) == 1


def test_fit_without_a_report_needs_no_matplotlib(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert folder.run(*fit_command(), "--no-report").exit_code == 0


def test_rows_by_number(folder):
    np.save(folder / "X.npy", np.random.default_rng(0).normal(size=(20, 3)))
    folder.write("l.csv", "a,b,link\n0,1,must\n2,19,cannot\n")
    result = folder.run(*fit_command("X.npy", "l.csv", id_column=None), "--no-report")
    assert result.exit_code == 0, result.output
    assert [row["id"] for row in folder.read("out/labels.csv")] == [str(n) for n in range(20)]


def test_ids_survive_whatever_they_hold(folder):
    ids = ["a\rb", "\r", 'say "no"', "x,y", "  blanks", "tail ", "line\nbreak", "\ttab", "é", "007"]
    truth = {"key": ids, "kind": ["a", "b"] * 5}
    write_table(folder / "t.csv", {"key": ids, "v": list(range(10))})
    write_table(folder / "truth.csv", truth)
    Links([(ids[0], ids[2])], [(ids[1], ids[4])]).write(folder / "l.csv")
    command = fit_command("t.csv", "l.csv", k=2, id_column="key")
    assert folder.run(*command, "--no-report").exit_code == 0
    assert [row["id"] for row in folder.read("out/labels.csv")] == ids
    scores = folder.run("evaluate", "out/labels.csv", "truth.csv", "--id-column", "key", "--json")
    assert json.loads(scores.stdout)["matched"] == 10
    for name in ("new.csv", "new.tsv", "new.jsonl", "new.parquet"):
        assert folder.run("predict", "out", "t.csv", "-o", name).exit_code == 0
        assert read_table(folder / name, ["id"]).columns["id"] == ids


@pytest.mark.parametrize("scale", ["standard", "unit", "together", "rms", "none"])
@pytest.mark.parametrize("data", ["t.csv", "t.npy"])
def test_scales_are_those_of_python(folder, scale, data):
    """The same data, scale and seed give the same labels here and there."""
    X = np.random.default_rng(0).normal(2, 3, size=(30, 4))
    write_table(folder / "t.csv", {str(n): column.tolist() for n, column in enumerate(X.T)})
    np.save(folder / "t.npy", X)
    folder.write("l.csv", "a,b,link\n0,1,must\n2,19,cannot\n")
    command = [*fit_command(data, "l.csv", id_column=None), "--scale", scale, "--no-report"]
    assert folder.run(*command).exit_code == 0
    links = Links([(0, 1)], [(2, 19)], n_samples=30)
    model = S3C2.load(folder / "out/model")
    assert model.scale == (None if scale == "none" else scale)
    expected = clone(model).set_params(verbose=0).fit(X, links=links).labels_
    assert [int(row["cluster"]) for row in folder.read("out/labels.csv")] == expected.tolist()
    assert folder.run("predict", "out", data).stdout == (folder / "out/labels.csv").read_text()


def test_tables_are_scaled_unless_asked_otherwise(fitted, folder):
    model = S3C2.load(fitted / "out")
    assert (model.scale, model.scale_, model.network_kind_) == ("auto", "robust", "dense")
    np.save(folder / "X.npy", np.zeros((20, 3, 3)))
    folder.write("l.csv", "a,b,link\n0,1,must\n2,19,cannot\n")
    assert folder.run(*fit_command("X.npy", "l.csv", id_column=None), "--no-report").exit_code == 0
    assert S3C2.load(folder / "out/model").scale is None


def test_values_that_the_scaling_cannot_take_are_refused(folder):
    np.save(folder / "X.npy", np.random.default_rng(0).normal(size=(20, 3)) / 1000)
    folder.write("l.csv", "a,b,link\n0,1,must\n2,19,cannot\n")
    assert folder.run(*fit_command("X.npy", "l.csv", id_column=None), "--no-report").exit_code == 0
    np.save(folder / "new.npy", np.array([[0, 0, 3e38]]))
    result = folder.run("predict", "out", "new.npy")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "new.npy holds 3e+38 at row 0, column 2" in result.stderr


def test_pictures(folder):
    (folder / "pictures").mkdir()
    rng = np.random.default_rng(0)
    for name in "abcdefgh":
        pixels = rng.integers(0, 255, (8, 8), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"pictures/{name}.png")
    folder.write("l.csv", "a,b,link\na.png,b.png,must\na.png,c.png,cannot\n")
    command = fit_command("pictures", "l.csv", k=2, id_column=None)
    result = folder.run(*command)
    assert result.exit_code == 0
    assert "(scale: none, network: convolutional)" in result.stderr  # they come onto [0, 1]
    report = (folder / "out/report.html").read_text(encoding="utf-8")
    assert "data:image/png" in report
    assert folder.run("predict", "out", "pictures").stdout.splitlines()[1].startswith("a.png,")


def test_texts(folder):
    words = ["red apple pie", "green apple tart", "fast car race", "slow car drive"] * 3
    rows = "".join(f"t{n},{text} {n}\n" for n, text in enumerate(words))
    folder.write("t.csv", "key,text\n" + rows)
    folder.write("l.csv", "a,b,link\nt0,t1,must\nt2,t3,must\nt0,t2,cannot\n")
    command = fit_command("t.csv", "l.csv", k=2, id_column="key")
    assert folder.run(*command, "--text-column", "text", "--scale", "rms").exit_code == 0
    assert "apple pie" in (folder / "out/report.html").read_text(encoding="utf-8")
    assert folder.run("predict", "out", "t.csv").stdout == (folder / "out/labels.csv").read_text()
    result = folder.run(*command, "--text-column", "text", "--json")
    summary = json.loads(result.stdout)
    assert (summary["scale"], summary["network"]) == ("topics", "dense")
    assert "(scale: topics, network: dense)" in result.stderr
    assert folder.run("predict", "out", "t.csv").stdout == (folder / "out/labels.csv").read_text()


def test_texts_beside_dropped_columns(folder):
    folder.write("t.csv", "text,n\nred apple,1\ngreen apple,2\nfast car,3\nslow car,4\n")
    folder.write("l.csv", "a,b,link\n0,1,must\n0,2,cannot\n")
    command = fit_command("t.csv", "l.csv", k=2, id_column=None)
    result = folder.run(*command, "--text-column", "text", "--drop", "n", "--no-report")
    assert result.exit_code == 0, result.output


def test_dropped_columns_are_not_asked_for_in_new_data(folder):
    command = [*fit_command(), "--drop", "a", "--drop", "b", "--no-report"]
    assert folder.run(*command).exit_code == 0
    folder.write("new.csv", "d,c\n1,2\n")
    assert folder.run("predict", "out", "new.csv").stdout.splitlines()[1].startswith("0,")


def test_contradictions_are_left_out_when_asked(folder):
    folder.write("l.csv", links_text() + "row-1,row-3,cannot\nrow-4,row-5,cannot\n")
    command = [*fit_command(links="l.csv"), "--contradictions", "drop"]
    result = folder.run(*command, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("left out") == 1
    assert "1 of 4 links were left out" in result.stderr
    assert "'s3c2 links check l.csv' shows which" in result.stderr
    assert "60 rows from 3 links" in result.stderr
    summary = json.loads(result.stdout)
    counts = [summary[n] for n in ("must_links", "cannot_links", "links_left_out")]
    assert counts == [2, 1, 1]
    report = (folder / "out/report.html").read_text(encoding="utf-8")
    assert "learned from 3 pairs" in report
    assert folder.run(*command, "--quiet").output == ""


@pytest.mark.parametrize("ids", ["row-{}", "{}", "0{}"])
def test_too_many_groups_are_named_by_id(folder, ids):
    """A warning on stderr speaks of the user's ids, also where all of them are integers."""
    for name in ("data.csv", "links.csv"):
        folder.write(name, (folder / name).read_text().replace("row-", ids.format("")))
    a, b, c, d, e = (ids.format(n) for n in (41, 42, 43, 44, 45))
    cannot = f"{a},{b},cannot\n{b},{c},cannot\n{a},{c},cannot\n"
    folder.write("l.csv", f"a,b,link\n{cannot}{d},{e},must\n")
    result = folder.run(*fit_command(links="l.csv", k=2), "--no-report")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("The links ask for at least 3 clusters") == 1
    named = result.stderr.split("the rows ")[1].split(" are all")[0]
    assert sorted(named.split(", ")) == [a, b, c]
    assert "Raise -k" in result.stderr


def links_text():
    return "a,b,link\nrow-1,row-2,must\nrow-2,row-3,must\n"


def test_model_saved_from_python_predicts_prepared_arrays(folder):
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    links = Links(must=[(0, 1)], cannot=[(2, 3)], n_samples=20)
    model = S3C2(2, random_state=0, verbose=0)
    model.set_params(labnet__code=False, labnet__steps=2, clunet__steps=2)
    model.fit(X, links=links).save(folder / "saved")
    np.save(folder / "X.npy", X)
    lines = folder.run("predict", "saved", "X.npy").stdout.splitlines()[1:]
    assert [int(line.split(",")[1]) for line in lines] == model.labels_.tolist()
    result = folder.run("predict", "saved", "data.csv")
    assert result.exit_code == 2
    assert "saved from Python" in result.stderr


def test_new_data_with_texts_gets_no_advice_for_fit(fitted, folder):
    lines = (fitted / "data.csv").read_text().splitlines()
    folder.write("new.csv", "\n".join([lines[0], "x,1,2,blue,4"]) + "\n")
    result = folder.run("predict", fitted / "out", "new.csv")
    assert result.exit_code == 2
    assert "column 'c' is not numeric" in result.stderr
    assert "The model learned from numbers in this column" in result.stderr
    assert "--drop" not in result.stderr


def test_a_fit_says_that_it_replaces_results(fitted, folder):
    said = "The results of an earlier fit in out will be replaced."
    assert said not in fitted.result.stderr
    shutil.copytree(fitted / "out", folder / "out")
    again = folder.run(*fit_command(), "--no-report")
    assert again.exit_code == 0, again.output
    assert said in again.stderr


def test_failed_fit_leaves_the_old_results(fitted, folder):
    shutil.copytree(fitted / "out", folder / "out")
    before = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    folder.write("bad.csv", "a,b,link\nrow-1,row-1,cannot\n")
    assert folder.run(*fit_command(links="bad.csv")).exit_code == 2
    after = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(28, "No space left on device"), 2, "out/report.html: cannot be written (No space"),
        (KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
def test_failing_report_leaves_model_and_labels(fitted, folder, monkeypatch, error, code, said):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("s3c2.report.write_report", fail)
    result = folder.run(*fit_command(), "--quiet")
    assert result.exit_code == code
    assert said in result.stderr
    assert "kept in out/model, out/labels.csv." in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["labels.csv", "model"]
    assert folder.read("out/labels.csv") == fitted.read("out/labels.csv")
    assert folder.run("predict", "out", "data.csv").exit_code == 0


def test_interrupt_is_one_line_and_130(folder, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(S3C2, "fit", interrupt)
    result = folder.run(*fit_command(), "--quiet")
    assert result.exit_code == 130
    assert result.stderr.startswith("Interrupted")
    assert result.stderr.count("\n") == 1
    assert "out" not in folder.names()


def test_interrupted_fit_goes_on_and_ends_with_the_same_labels(fitted, folder, monkeypatch):
    from s3c2.engine import checkpoint

    keep = checkpoint.Checkpoint.keep

    def keep_and_interrupt(self, *args):
        keep(self, *args)
        raise KeyboardInterrupt

    command = [*fit_command(), "--no-report"]
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoint, "keep", keep_and_interrupt)
        result = folder.run(*command)
    assert result.exit_code == 130
    assert "The same command goes on from out/checkpoint.safetensors" in result.stderr
    assert [p.name for p in (folder / "out").iterdir()] == ["checkpoint.safetensors"]
    other = folder.run(*command, "--seed", 1)
    assert other.exit_code == 2
    assert other.stderr.count("\n") == 1
    assert "out/checkpoint.safetensors was left by" in other.stderr
    assert "Remove this file, or choose another folder with -o." in other.stderr
    assert folder.run(*command).exit_code == 0
    assert folder.read("out/labels.csv") == fitted.read("out/labels.csv")
    assert not (folder / "out/checkpoint.safetensors").exists()


def test_quick_settings_reach_the_model(fitted):
    model = S3C2.load(fitted / "out/model")
    assert [str(model.labnet.steps), str(model.clunet.steps)] == [QUICK[1], QUICK[3]]


def built(folder, monkeypatch, *options, data="data.csv", links="links.csv", id_column="name"):
    """The model that the command would fit."""
    kept = []

    def keep(self, *args, **kwargs):
        kept.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(S3C2, "fit", keep)
    ids = ["--id-column", id_column] if id_column else []
    command = ["fit", data, "--links", links, "-k", 3, "-o", "out", *ids, *options, "--quiet"]
    assert folder.run(*command).exit_code == 130
    return kept[0].set_params(checkpoint=None, verbose=1)


def test_without_options_it_is_the_default_of_python(folder, monkeypatch):
    model = built(folder, monkeypatch)
    assert model._flat_params() == S3C2(3, random_state=0)._flat_params()


def test_as_published(folder, monkeypatch):
    model = built(folder, monkeypatch, "--as-published")
    expected = S3C2.as_published(3, random_state=0, scale="auto")
    assert model._flat_params() == expected._flat_params()


@pytest.mark.parametrize("semi_supervised", [False, True])
def test_as_published_on_pictures_is_convolutional(folder, monkeypatch, semi_supervised):
    np.save(folder / "X.npy", np.zeros((20, 8, 8, 3)))
    folder.write("l.csv", "a,b,link\n0,1,must\n2,19,cannot\n")
    options = ["--as-published", *(["--semi-supervised"] if semi_supervised else [])]
    files = {"data": "X.npy", "links": "l.csv", "id_column": None}
    model = built(folder, monkeypatch, *options, **files)
    expected = S3C2.as_published(
        3, network="convolutional", semi_supervised=semi_supervised, random_state=0, scale=None
    )
    assert model._flat_params() == expected._flat_params()
    model = built(folder, monkeypatch, *options, "--network", "dense", **files)
    assert (model.network, model.labnet.dropout) == ("dense", 0.1)


@pytest.mark.parametrize("which", [[], ["--as-published"]])
def test_options_change_either_model(folder, monkeypatch, which):
    usual = built(folder, monkeypatch, *which)._flat_params()
    options = ["--threshold", 0.1, "--dropout", 0.3, "--labnet-steps", 7, "--clunet-steps", 8]
    more = ["--points", 9, "--restarts", 2, "--committee", 3]
    changed = built(folder, monkeypatch, *which, *options, *more)._flat_params()
    assert {name: value for name, value in changed.items() if value != usual[name]} == {
        "labnet__threshold": 0.1, "labnet__dropout": 0.3, "labnet__steps": 7,
        "labnet__n_committee": 3, "clunet__dropout": 0.3, "clunet__steps": 8,
        "clunet__batch_points": 9, "clunet__n_restarts": 2,
    }  # fmt: skip


def test_the_autoencoder_and_the_published_method_from_the_command_line(folder):
    command = fit_command()
    with_code = [option for option in command if option != "--no-autoencoder"]
    assert folder.run(*with_code, "--no-report").exit_code == 0
    assert S3C2.load(folder / "out/model").labnet.code
    assert folder.run(*command, "--as-published", "--no-report").exit_code == 0
    assert S3C2.load(folder / "out/model").labnet.neighbors == 0


def test_restarts_committee_and_dropout_reach_the_model(folder):
    command = [*fit_command(), "--restarts", 2, "--committee", 3, "--dropout", 0, "--no-report"]
    assert folder.run(*command).exit_code == 0
    model = S3C2.load(folder / "out/model")
    assert (model.clunet.n_restarts, model.labnet.n_committee) == (2, 3)
    assert model.labnet.dropout == model.clunet.dropout == 0.0


def test_threshold_may_be_calibrated(folder):
    group = np.repeat([0, 1], 300)
    np.save(folder / "X.npy", np.random.default_rng(0).normal(size=(600, 4)) + group[:, None])
    Links.from_labels(group, 300, random_state=0).write(folder / "l.csv")
    command = fit_command("X.npy", "l.csv", k=2, id_column=None)
    result = folder.run(*command, "--labnet-steps", 100, "--threshold", "auto", "--json")
    assert result.exit_code == 0, result.output
    threshold = json.loads(result.stdout)["threshold"]
    assert threshold != 0.3
    report = (folder / "out/report.html").read_text(encoding="utf-8")
    assert f"T = {threshold:.3g} was calibrated" in report


def test_threshold_that_cannot_be_calibrated_is_said(folder):
    result = folder.run(*fit_command(), "--threshold", "auto")
    assert result.exit_code == 0, result.output
    assert "Warning: threshold='auto' takes T = 0.3" in result.stderr
    report = (folder / "out/report.html").read_text(encoding="utf-8")
    assert "T could not be calibrated" in report


def test_export_writes_a_graph(fitted, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    result = fitted.run("export", "out", "-o", tmp_path / "model.onnx", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["opset"] == 18
    rows = [[float(row[name]) for name in "abcd"] for row in fitted.read("data.csv")]
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (clusters,) = session.run(["cluster"], {"rows": np.array(rows, dtype=np.float32)})
    assert clusters.tolist() == [int(row["cluster"]) for row in fitted.read("out/labels.csv")]
