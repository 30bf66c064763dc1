"""The page in a real browser: by keyboard, touch and screen reader, wide and narrow."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest
import uvicorn

from s3c2.page.app import make_app, name_cookie
from s3c2.page.server import listening

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parents[2] / ".axe" / "axe.min.js"
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium"
)
NARROW = {"viewport": {"width": 375, "height": 700}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def served(with_clusters):
    """The address of a page that is really served."""
    place = listening("127.0.0.1", 0)
    port = place.getsockname()[1]
    app = make_app(with_clusters, "127.0.0.1", port, None)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def opened(browser, served):
    """Open the page for a new person; requests to other hosts and errors fail the test."""
    wrong, contexts = [], []

    def open_page(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on(
            "request", lambda one: one.url.startswith((served, "data:")) or wrong.append(one.url)
        )
        page.goto(served)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def rows(page):
    return [
        int(page.locator(f"form.verdicts input[name={side}]").get_attribute("value"))
        for side in ("left", "right")
    ]


def press(page, key):
    """Press a key and wait until its answer is shown."""
    n = int(page.locator("body").get_attribute("data-answers") or 0)
    page.keyboard.press(key)
    page.wait_for_selector(f"body[data-answers='{n + 1}']")


def truth(page):
    left, right = rows(page)
    return "s" if left % 3 == right % 3 else "d"


def test_a_whole_run_by_keyboard(opened, with_clusters):
    page = opened()
    for _ in range(40):
        if page.get_by_text("Nothing is left to ask").count():
            break
        press(page, truth(page))
    assert page.get_by_text("Nothing is left to ask").is_visible()
    known = with_clusters.questions.known
    assert all(
        known.relation(a, b) == ("same" if a % 3 == b % 3 else "different")
        for a in range(24)
        for b in range(24)
    )


def test_undo_reload_and_unsure(opened, with_clusters):
    page = opened()
    first = sorted(rows(page))
    press(page, "s")
    assert page.locator("#said").inner_text() == "Saved: same."
    press(page, "z")
    assert sorted(rows(page)) == first
    press(page, "u")
    page.reload()
    assert with_clusters.counts() == {"answers": 1, "same": 0, "different": 0, "unsure": 1}
    assert sorted(rows(page)) != first


def test_keys_can_be_switched_off_and_stay_off(opened, with_clusters):
    page = opened()
    page.get_by_label("Answer with the keys").uncheck()
    page.keyboard.press("s")
    page.reload()
    page.keyboard.press("d")
    page.wait_for_timeout(100)
    assert with_clusters.counts()["answers"] == 0
    page.get_by_label("Answer with the keys").check()
    page.keyboard.press("Control+s")  # not ours
    press(page, "s")
    assert with_clusters.counts()["answers"] == 1


def test_without_the_script_the_page_works(opened, with_clusters):
    page = opened(java_script_enabled=False)
    page.get_by_role("button", name="Different").click()
    assert "1 different" in page.locator("#state").inner_text()
    assert with_clusters.counts()["different"] == 1


def test_two_people_and_a_disagreement(opened, with_clusters):
    ann, bob = opened(), opened()
    for page, name in ((ann, "Ann"), (bob, "Bob")):
        page.get_by_role("link", name="Person").click()
        page.get_by_label("Your name").fill(name)
        page.get_by_role("button", name="Keep it").click()
    assert set(rows(ann)) != set(rows(bob))
    press(ann, "s")
    press(bob, "d")
    said = with_clusters.questions.history[0]
    with_clusters.answer("Bob", "again", *said.pair, "different")
    ann.reload()
    ann.get_by_role("link", name="Answers 1").click()
    ann.get_by_role("heading", name="Disagreements").wait_for()
    problem = ann.locator(".problem")
    assert "Ann: same; Bob: different" in problem.inner_text()
    problem.get_by_role("button", name="Different").click()  # Ann thinks again
    ann.get_by_role("heading", name="Disagreements").wait_for(state="detached")


def test_a_contradiction_is_found_and_mended(opened, with_clusters):
    for number, (a, b, verdict) in enumerate(((0, 3, "same"), (3, 6, "same"), (0, 6, "different"))):
        with_clusters.answer("Person 1", f"c{number}", a, b, verdict)
    page = opened()
    page.get_by_role("link", name="Answers 1").click()
    page.get_by_text("These 3 answers exclude each other").wait_for()
    page.locator(".problem li").first.get_by_role("button", name="Same").click()
    page.wait_for_selector("text=all answers go together")


def test_an_old_answer_is_changed_and_withdrawn_by_keyboard(opened, with_clusters):
    with_clusters.answer("Person 1", "k1", 0, 3, "same")
    page = opened()
    page.goto(f"{page.url}people")
    page.get_by_label("Your name").fill("Person 1")
    page.keyboard.press("Enter")
    for key, said, left in (("d", "Saved: different.", 1), ("w", "Withdrawn.", 0)):
        page.get_by_role("link", name="Answers").click()
        page.get_by_role("link", name="Change what you said of 00.png and 03.png").focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Change an answer").wait_for()
        page.keyboard.press("x")  # no key of this page
        page.keyboard.press(key)
        page.get_by_text(said).wait_for()
        assert with_clusters.links().n_cannot == left
    assert with_clusters.store.answers() == []


def test_a_narrow_screen_by_touch(opened, with_clusters):
    page = opened(**NARROW)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 375
    for name in ("Same", "Different", "Unsure"):
        button = page.get_by_role("button", name=name)
        box = button.bounding_box()
        assert box["height"] >= 44
        assert box["y"] + box["height"] <= 700  # without scrolling
    page.get_by_role("button", name="Same").tap()
    page.wait_for_selector("body[data-answers='1']")
    assert with_clusters.counts()["same"] == 1


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core in .axe; .ci/run fetches it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(opened, with_clusters, served, scheme):
    for number, (a, b, verdict) in enumerate(((0, 3, "same"), (3, 6, "same"), (0, 6, "different"))):
        with_clusters.answer("Ann", f"c{number}", a, b, verdict)
    with_clusters.answer("Bob", "d", 0, 3, "different")
    page, known = opened(color_scheme=scheme, bypass_csp=True), name_cookie(with_clusters.folder)
    page.context.add_cookies([{"name": known, "value": "Ann", "url": served}])
    change = "/answers/change?a=0&b=3"
    paths = ("/", "/clusters", "/clusters/1", "/answers", change, "/results", "/people")
    for path in paths if scheme == "light" else ("/", "/answers"):  # the colours are the same
        page.goto(served + path)
        page.add_script_tag(path=AXE)
        found = page.evaluate("axe.run()")["violations"]
        assert [(one["id"], [n["html"] for n in one["nodes"]]) for one in found] == [], path
