"""A project for several people: undo, going on, changed data, contradictions, disagreements."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from PIL import Image

from s3c2.errors import DataError
from s3c2.page.items import read_items
from s3c2.page.project import Project
from s3c2.page.store import Event
from s3c2.questions import Pair

from .conftest import SETTINGS, draw_pictures


def kind(row):
    return row % 3


def truth(question):
    return "same" if kind(question.left) == kind(question.right) else "different"


def answer_some(project, author, n):
    for _ in range(n):
        question = project.question(author)
        verdict = truth(question)
        project.answer(author, question.key, question.left, question.right, verdict)


def test_it_goes_on_where_it_stopped(project, folder, items):
    answer_some(project, "Ann", 7)
    project.undo("Ann", "undo-1")
    before = [(one.pair, one.verdict) for one in project.questions.history]
    project.close()
    again = Project(folder, items, 3, SETTINGS, train=False)
    assert [(one.pair, one.verdict) for one in again.questions.history] == before
    assert again.counts()["answers"] == 6
    assert again.notes == []
    again.close()


def test_an_answer_sent_twice_counts_once(project):
    question = project.question("Ann")
    assert project.answer("Ann", question.key, question.left, question.right, "same")
    assert not project.answer("Ann", question.key, question.left, question.right, "same")
    assert project.counts()["answers"] == 1


def test_an_answer_that_was_changed_counts_once(project):
    project.answer("Ann", "1", 0, 3, "same")
    project.answer("Bob", "2", 0, 3, "same")
    project.answer("Ann", "3", 0, 3, "different")
    assert project.counts()["answers"] == 2
    assert project.authors() == {"Bob": 1, "Ann": 1}


def test_two_people_are_asked_different_things_and_undo_their_own(project):
    one, two = project.question("Ann"), project.question("Bob")
    assert one.pair != two.pair
    project.answer("Ann", one.key, *one.pair, "same")
    project.answer("Bob", two.key, *two.pair, "same")
    assert project.undo("Ann", "u").pair == one.pair
    assert project.question("Ann").pair == one.pair
    assert project.authors() == {"Bob": 1}
    assert project.undo("Carol", "v") is None


def test_an_item_that_is_asked_again_stays_on_its_side(project):
    stayed = 0
    for _ in range(25):
        before = project.question("Ann")
        project.answer("Ann", before.key, before.left, before.right, truth(before))
        after = project.question("Ann")
        if after is None:
            break
        for side in ("left", "right"):
            stays = getattr(before, side)
            if stays in after.pair and set(before.pair) != set(after.pair):
                assert getattr(after, side) == stays
                stayed += 1
    assert stayed > 0


def test_a_withdrawn_answer_is_gone_with_all_that_was_said_before_it(project, folder, items):
    project.answer("Ann", "1", 0, 3, "same")
    project.answer("Bob", "2", 0, 3, "same")
    project.answer("Ann", "3", 3, 0, "different")  # Ann thought again
    assert [(one.author, one.verdict) for one in project.last_words()] == [
        ("Ann", "different"),
        ("Bob", "same"),
    ]
    assert project.withdraw("Ann", "w", Pair(0, 3))
    assert not project.withdraw("Ann", "v", Pair(0, 3))
    assert [one.author for one in project.questions.history] == ["Bob"]
    project.close()
    again = Project(folder, items, 3, SETTINGS, train=False)
    assert [one.author for one in again.questions.history] == ["Bob"]
    assert again.undo("Bob", "u").pair == Pair(0, 3)
    assert again.store.answers() == []
    again.close()


class Trainings:
    """Stands in for the trainer: notes what it is to train on."""

    busy, trained_on = False, 0

    def __init__(self):
        self.begun = []

    def start(self, known, n_answers, *, quick, report=False):
        self.begun.append(dict(known.verdicts))
        self.trained_on = n_answers
        return True

    def stop(self):
        pass


def test_one_corrected_answer_is_reason_enough_for_a_training(with_clusters):
    project = with_clusters
    answer_some(project, "Ann", 3)
    project.trainer = trainings = Trainings()
    trainings.trained_on = 3
    one, two, three = (said.pair for said in project.questions.history)
    project.answer("Ann", "new", *three, "unsure")
    assert trainings.begun[-1][three] == "unsure"
    project.withdraw("Ann", "w", one)
    assert trainings.begun[-1].keys() == {two, three}
    a = next(row for row in range(24) if row not in {*one, *two, *three})
    project.answer("Ann", "another", a, two.a, "unsure")  # a new one can wait
    assert len(trainings.begun) == 2


def test_another_number_of_clusters_is_said_once(project, folder, items):
    answer_some(project, "Ann", 2)
    project.close()
    said = []
    for k in (4, 4):
        again = Project(folder, items, k, SETTINGS, train=False)
        said.append(again.notes)
        again.close()
    assert said == [["The project had 3 clusters until now; from here on it has 4 (-k)."], []]


def test_contradictions_come_with_their_chain_and_can_be_mended(project):
    project.answer("Ann", "1", 0, 3, "same")
    project.answer("Ann", "2", 3, 6, "same")
    project.answer("Bob", "3", 0, 6, "different")
    ((first, *chain),) = project.contradictions()
    assert (first.a, first.b, first.verdict, first.authors) == (0, 6, "different", ("Bob",))
    assert [(one.a, one.b, one.verdict, one.authors) for one in chain] == [
        (0, 3, "same", ("Ann",)),
        (3, 6, "same", ("Ann",)),
    ]
    project.answer("Bob", "4", 0, 6, "same")
    assert project.contradictions() == []


def test_disagreements_are_shown_and_the_majority_counts(project):
    project.answer("Ann", "1", 0, 1, "same")
    project.answer("Bob", "2", 0, 1, "different")
    ((one, two),) = project.disagreements()
    assert {(*one.authors, one.verdict), (*two.authors, two.verdict)} == {
        ("Ann", "same"),
        ("Bob", "different"),
    }
    assert project.links().n_links == 0  # a tie
    project.answer("Carol", "3", 0, 1, "different")
    assert project.links().n_cannot == 1


def test_doubted_answers_are_shown_until_they_are_changed_or_given_again(with_clusters):
    project = with_clusters
    assert project.doubted() == []  # nobody gave the answers that the model doubts
    project.answer("Ann", "1", 0, 4, "same")
    project.answer("Bob", "2", 5, 2, "different")
    shown = [(one.a, one.b, one.verdict, one.authors) for one in project.doubted()]
    assert shown == [(0, 4, "same", ("Ann",)), (2, 5, "different", ("Bob",))]
    project.answer("Ann", "3", 0, 4, "same")  # it is right
    assert [(one.a, one.b) for one in project.doubted()] == [(2, 5)]
    project.answer("Bob", "4", 2, 5, "same")  # it was wrong
    assert project.doubted() == []
    assert project.counts()["answers"] == 2


def test_what_does_not_belong_becomes_cannot_links(with_clusters):
    project = with_clusters
    row = 4
    n = project.does_not_belong("Ann", "key", row, 1)
    assert n == 3
    assert all(row in pair for pair in project.links().cannot.tolist())
    assert project.does_not_belong("Ann", "key", row, 1) == 0  # sent again


def test_what_does_not_belong_is_seen_to_be_marked(with_clusters):
    project = with_clusters
    members = project.opinions.members(1)
    row = members[-1]
    assert project.said_not_to_belong(members, members) == set()
    project.does_not_belong("Ann", "key", row, 1)
    assert project.said_not_to_belong(members, members) == {row}
    assert project.said_not_to_belong([members[0], row], [members[0], row]) == set()
    one = project.last_words()[0].pair
    project.withdraw("Ann", "back", one)
    assert project.said_not_to_belong(members, members) == set()


def test_a_question_that_is_taken_back_is_asked_with_the_same_sides(project):
    for number in range(12):
        asked = project.question("Ann")
        project.answer("Ann", f"a{number}", asked.left, asked.right, "unsure")
        project.question("Ann")  # what comes next is shown before it is taken back
        project.undo("Ann", f"u{number}")
        again = project.question("Ann")
        assert (again.left, again.right) == (asked.left, asked.right)
        project.answer("Ann", f"b{number}", asked.left, asked.right, "unsure")


def test_without_a_model_nothing_can_be_sorted_out(project):
    with pytest.raises(DataError, match="wait for the first training"):
        project.does_not_belong("Ann", "key", 0, 0)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"

    def write(rows, header="name,u,v"):
        path.write_text("\n".join([header, *rows]) + "\n")
        return path

    return write


def begun(folder, path, **options):
    items = read_items(path, **options)
    settings = SETTINGS | {"scale": "auto"}
    return Project(folder, items, 2, settings, train=False)


ROWS = [f"r{i},{i % 2 * 9 + i / 10:.1f},{i}.5" for i in range(12)]


def test_rows_are_found_again_by_id_or_content(folder, table):
    project = begun(folder, table(ROWS), id_column="name")
    project.answer("Ann", "1", 0, 2, "same")  # r0, r2
    project.answer("Ann", "2", 4, 5, "different")  # r4, r5
    project.answer("Ann", "3", 6, 8, "same")  # r6, r8
    project.close()
    changed = [row for row in reversed(ROWS) if not row.startswith("r5,")]  # r5 is gone
    changed = [row.replace("r2,", "second,") for row in changed]  # r2 has another id
    changed = ["r6,77,77" if row.startswith("r6,") else row for row in changed]  # another content
    again = begun(folder, table(changed), id_column="name")
    names = again.items.names
    pairs = {frozenset(names[row] for row in one.pair) for one in again.questions.history}
    assert pairs == {frozenset(("r0", "second")), frozenset(("r6", "r8"))}
    said = " ".join(again.notes)
    assert "Found by content, though the data changed: 1 item (r2)" in said
    assert "Found by id, with another content" in said
    assert "Not in the data any more: 1 item (r5). 1 of 3 answers" in said
    again.close()


def test_answers_about_other_data_are_not_taken_for_a_start(folder, table):
    project = begun(folder, table(ROWS), id_column="name")
    project.answer("Ann", "1", 0, 2, "same")
    project.close()
    others = [f"q{i},{100 + i},{200 + i}" for i in range(12)]
    with pytest.raises(DataError, match="None of the 1 answers .* another folder"):
        begun(folder, table(others), id_column="name")


def test_rows_without_ids_are_found_by_content(folder, table):
    rows = [row.partition(",")[2] for row in ROWS]
    project = begun(folder, table(rows, "u,v"))
    project.answer("Ann", "1", 0, 2, "same")
    project.close()
    again = begun(folder, table(["5,5", *rows], "u,v"))
    assert [one.pair for one in again.questions.history] == [Pair(1, 3)]
    again.close()


def test_two_items_that_became_one_row_do_not_shift_what_undo_takes_back(folder, table):
    project = begun(folder, table(ROWS), id_column="name")
    project.answer("Ann", "1", 0, 2, "same")
    project.answer("Ann", "2", 4, 6, "same")
    project.close()
    gone = [row for row in ROWS if not row.startswith(("r0,", "r2,"))]
    again = begun(folder, table([*gone, "r0,5,5"]), id_column="name")
    again.store.add(
        Event("3", "answer", "r4", "r4b", "same", "Ann"), {"r4b": again.items.content(2)}
    )
    again.close()
    third = begun(folder, table([*gone, "r0,5,5"]), id_column="name")
    assert third.items.names[2] == "r4"
    assert len(third.questions.history) == 1  # r2 is lost, and r4b is r4
    third.undo("Ann", "u")
    assert {event.key for event in third.store.answers()} == {"1", "3"}
    third.close()


def test_a_run_of_any_moves_equals_a_plain_model(project):
    """400 random moves of two people: answers, repeated sends and undo."""
    moves, plain = random.Random(1), []
    for number in range(400):
        author = moves.choice(("Ann", "Bob"))
        move = moves.choice(("answer", "answer", "answer", "undo", "again"))
        if move == "undo":
            project.undo(author, f"u{number}")
            own = [i for i, one in enumerate(plain) if one[2] == author]
            if own:
                plain.pop(own[-1])
        elif move == "again" and plain:
            key, pair = plain[-1][3], plain[-1][0]
            project.answer(author, key, *pair, "unsure")
        else:
            a, b = moves.sample(range(24), 2)
            verdict = moves.choice(("same", "different", "unsure"))
            project.answer(author, f"k{number}", a, b, verdict)
            plain.append((Pair.of(a, b), verdict, author, f"k{number}"))
    assert [(one.pair, one.verdict, one.author) for one in project.questions.history] == [
        one[:3] for one in plain
    ]
    assert [event.key for event in project.store.answers()] == [one[3] for one in plain]


class TestItems:
    """What is not an item is left out and named."""

    def test_pictures_that_cannot_be_read(self, tmp_path):
        folder = draw_pictures(tmp_path / "mixed", 6)
        (folder / "broken.png").write_bytes(b"not a picture")
        (folder / "notes.txt").write_text("hello")
        (folder / ".DS_Store").write_text("")
        items = read_items(folder)
        assert len(items) == 6
        assert items.left_out.keys() == {"broken.png", "notes.txt"}

    def test_a_link_out_of_the_folder_is_not_followed(self, tmp_path):
        folder = draw_pictures(tmp_path / "inside", 6)
        secret = tmp_path / "secret.png"
        secret.write_bytes((folder / "00.png").read_bytes())
        (folder / "zz.png").symlink_to(secret)
        items = read_items(folder)
        assert "leads out of the folder" in items.left_out["zz.png"]
        assert "zz.png" not in items.names

    def test_a_folder_without_readable_pictures_is_refused(self, tmp_path):
        folder = tmp_path / "nothing"
        folder.mkdir()
        with pytest.raises(DataError, match="no picture in this folder"):
            read_items(folder)
        (folder / "broken.png").write_bytes(b"")
        with pytest.raises(DataError, match="can be read as a picture"):
            read_items(folder)

    def test_arrays_and_flat_images_are_shown_as_pictures(self, tmp_path):
        images = np.random.default_rng(0).random((5, 6, 6))
        np.save(tmp_path / "a.npy", images)
        assert read_items(tmp_path / "a.npy").picture(2)[0].startswith(b"\x89PNG")
        np.save(tmp_path / "b.npy", images.reshape(5, -1) * 16)
        assert read_items(tmp_path / "b.npy", image_shape=(6, 6)).kind == "image"
        assert read_items(tmp_path / "b.npy").kind == "table"

    def test_small_pictures_are_drawn_as_squares(self, tmp_path):
        images = np.random.default_rng(0).integers(0, 255, (2, 8, 8), dtype=np.uint8)
        images[0] = 255 * (np.indices((8, 8)).sum(0) % 2)
        np.save(tmp_path / "a.npy", images)
        content, _ = read_items(tmp_path / "a.npy").picture(0)
        shown = np.asarray(Image.open(io.BytesIO(content)))
        assert shown.shape == (256, 256)
        assert (shown == np.kron(images[0], np.ones((32, 32)))).all()

    def test_hidden_files_are_not_spoken_of(self, tmp_path):
        folder = draw_pictures(tmp_path / "photos", 6)
        (folder / "project" / ".neighbours").mkdir(parents=True)
        (folder / "project" / ".neighbours" / "neighbours-1.safetensors").touch()
        assert read_items(folder).left_out == {}
