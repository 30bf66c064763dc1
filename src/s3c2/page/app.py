"""The page as a web application: which address shows what."""

from __future__ import annotations

import hashlib
import secrets
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from s3c2.errors import DataError, StorageError
from s3c2.page import asking, looking
from s3c2.page.guard import Guard
from s3c2.page.layout import Frame
from s3c2.page.picture import clusters_svg
from s3c2.page.project import Project
from s3c2.page.results import LABELS, REPORT, model_archive
from s3c2.questions import VERDICTS, Pair

STATIC = Path(__file__).parent / "static"
MOST_NAME = 40  # letters


def make_app(project: Project, host: str, port: int, token: str | None) -> ASGIApp:
    """The guarded application."""
    page = _Page(project)
    routes = [
        Route("/", page.question),
        Route("/answer", page.answer, methods=["POST"]),
        Route("/undo", page.undo, methods=["POST"]),
        Route("/withdraw", page.withdraw, methods=["POST"]),
        Route("/state", page.state),
        Route("/clusters", page.clusters),
        Route("/clusters/{cluster:int}", page.cluster),
        Route("/outlier", page.outlier, methods=["POST"]),
        Route("/answers", page.answers),
        Route("/answers/change", page.change),
        Route("/results", page.results),
        Route("/finish", page.finish, methods=["POST"]),
        Route("/report", page.report),
        Route("/people", page.people, methods=["GET", "POST"]),
        Route("/items/{row:int}.png", page.item),
        Route("/picture.svg", page.picture),
        Route("/download/{name}", page.download),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes), host, port, token)


class _Page:
    """The answers to requests."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._people = 0  # so many got a number for a name
        self._finishing = threading.Event()
        self._said: dict[str, str] = {}  # to each person, on the next page

    # Asking

    async def question(self, request: Request) -> Response:
        author, new = self._author(request)
        said = self._said.pop(author, "")
        made = await run_in_threadpool(asking.question_page, self.project, author, said)
        return self._shown("Same or different?", made, author, "/", new)

    async def answer(self, request: Request) -> Response:
        form, (author, new) = await _form(request), self._author(request)
        key, verdict = form.get("key", ""), form.get("verdict")
        pair = self._pair(form.get("left"), form.get("right"))
        if verdict not in VERDICTS or not 0 < len(key) <= 64 or pair is None:
            return PlainTextResponse("This is no answer to a question.", 400)
        try:
            await run_in_threadpool(self.project.answer, author, key, *pair, verdict)
        except StorageError as error:
            return await self._not_saved(author, str(error), new)
        back = "/answers" if form.get("back") == "/answers" else "/"
        return self._seen(back, f"Saved: {verdict}.", author, new)

    async def undo(self, request: Request) -> Response:
        form, (author, new) = await _form(request), self._author(request)
        key = form.get("key", "")[:64] or secrets.token_urlsafe(9)
        try:
            last = await run_in_threadpool(self.project.undo, author, key)
        except StorageError as error:
            return await self._not_saved(author, str(error), new)
        said = "There is nothing to take back." if last is None else "Taken back. Answer it again."
        return self._seen("/", said, author, new)

    async def withdraw(self, request: Request) -> Response:
        form, (author, new) = await _form(request), self._author(request)
        key, pair = form.get("key", "")[:60], self._pair(form.get("left"), form.get("right"))
        if pair is None or not key:
            return PlainTextResponse("This is no answer to a pair.", 400)
        try:
            done = await run_in_threadpool(self.project.withdraw, author, key, Pair.of(*pair))
        except StorageError as error:
            return await self._not_saved(author, str(error), new)
        said = "Withdrawn." if done else "There was no answer of yours to withdraw."
        return self._seen("/answers", said, author, new)

    def _pair(self, one: str | None, two: str | None) -> tuple[int, int] | None:
        """Two different items by number; None if they are not that."""
        a, b = _number(one, -1), _number(two, -1)
        n = len(self.project.items)
        return (a, b) if 0 <= a < n and 0 <= b < n and a != b else None

    async def _not_saved(self, author: str, why: str, new: bool) -> Response:
        made = await run_in_threadpool(asking.question_page, self.project, author, "", why)
        return self._shown("Not saved", made, author, "/", new, 507)

    async def state(self, request: Request) -> Response:
        project = self.project
        return JSONResponse(
            {"version": asking.version(project), "training": asking.training(project)}
        )

    # Looking

    async def clusters(self, request: Request) -> Response:
        return await self._looked(request, "Clusters", looking.clusters_page)

    async def cluster(self, request: Request) -> Response:
        cluster, page = request.path_params["cluster"], _number(request.query_params.get("page"))
        said = self._said.pop(self._author(request)[0], "")

        def made(project: Project) -> str | None:
            return looking.cluster_page(project, cluster, page, said)

        return await self._looked(request, f"Cluster {cluster}", made)

    async def outlier(self, request: Request) -> Response:
        form, (author, new) = await _form(request), self._author(request)
        row, cluster = _number(form.get("row"), -1), _number(form.get("cluster"), -1)
        key = form.get("key", "")[:60]
        project = self.project
        if not (0 <= row < len(project.items) and 0 <= cluster < project.n_clusters and key):
            return PlainTextResponse("This is no item of a cluster.", 400)
        try:
            n = await run_in_threadpool(project.does_not_belong, author, key, row, cluster)
        except StorageError as error:
            return await self._not_saved(author, str(error), new)
        except DataError as error:
            return PlainTextResponse(str(error), 409)
        said = f"Saved: {project.items.names[row]} is different from {n} typical items."
        return self._seen(
            f"/clusters/{cluster}?page={_number(form.get('page'))}", said, author, new
        )

    async def answers(self, request: Request) -> Response:
        author, page = self._author(request)[0], _number(request.query_params.get("page"))
        said = self._said.pop(author, "")
        return await self._looked(
            request, "Answers", lambda project: looking.answers_page(project, author, page, said)
        )

    async def change(self, request: Request) -> Response:
        author, query = self._author(request)[0], request.query_params
        pair = self._pair(query.get("a"), query.get("b")) or (0, 0)
        return await self._looked(
            request, "Change an answer", lambda project: looking.change_page(project, author, *pair)
        )

    async def results(self, request: Request) -> Response:
        busy = self._finishing.is_set()
        return await self._looked(
            request, "Results", lambda project: looking.results_page(project, busy)
        )

    async def people(self, request: Request) -> Response:
        if request.method == "GET":
            author, _ = self._author(request)
            return await self._looked(
                request, "People", lambda project: looking.people_page(project, author)
            )
        name = " ".join((await _form(request)).get("name", "").split())[:MOST_NAME]
        if not name.isprintable() or not name:
            return PlainTextResponse("This is no name. Give one of letters.", 400)
        return self._seen("/", f"You are {name}.", name, True)

    # Taking away

    async def finish(self, request: Request) -> Response:
        author, new = self._author(request)
        if not self._finishing.is_set():
            self._finishing.set()

            def work() -> None:
                try:
                    self.project.finish()
                finally:
                    self._finishing.clear()

            threading.Thread(target=work, daemon=True).start()
        return self._seen("/results", "", author, new)

    async def report(self, request: Request) -> Response:
        path = self.project.folder / REPORT
        if not path.is_file():
            return PlainTextResponse("There is no report yet. Finish first.", 404)
        # The report is one file with its pictures and its style inside.
        policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
        return HTMLResponse(path.read_bytes(), headers={"content-security-policy": policy})

    async def download(self, request: Request) -> Response:
        name, folder = request.path_params["name"], self.project.folder
        try:
            if name == "links.csv":
                content = await run_in_threadpool(self.project.links_table)
            elif name == "labels.csv":
                content = (folder / LABELS).read_bytes()
            elif name == "model.zip":
                content = await run_in_threadpool(model_archive, folder)
            else:
                return PlainTextResponse("There is no such file.", 404)
        except (OSError, StorageError):
            return PlainTextResponse("It comes with the first training.", 404)
        kind = "application/zip" if name == "model.zip" else "text/csv; charset=utf-8"
        where = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=kind, headers=where)

    async def item(self, request: Request) -> Response:
        row, items = request.path_params["row"], self.project.items
        if items.kind != "image" or not 0 <= row < len(items):
            return PlainTextResponse("There is no such item.", 404)
        try:
            content, kind = await run_in_threadpool(items.picture, row)
        except DataError:
            return PlainTextResponse("This picture cannot be read any more.", 410)
        return Response(content, media_type=kind, headers={"cache-control": "private, max-age=600"})

    async def picture(self, request: Request) -> Response:
        opinions = self.project.opinions
        if opinions is None:
            return PlainTextResponse("There are no clusters yet.", 404)
        made = await run_in_threadpool(clusters_svg, opinions)
        return Response(made, media_type="image/svg+xml", headers={"cache-control": "no-store"})

    # What all pages share

    async def _looked(self, request: Request, heading: str, make: Any) -> Response:
        author, new = self._author(request)
        made = await run_in_threadpool(make, self.project)
        if made is None:
            return PlainTextResponse("There is no such page.", 404)
        return self._shown(heading, made, author, request.url.path, new)

    def _shown(
        self, heading: str, made: str, author: str, path: str, new: bool, status: int = 200
    ) -> Response:
        project = self.project
        n = len(project.contradictions()) + len(project.disagreements())
        frame = Frame(project.title, author, path, n)
        response = HTMLResponse(
            frame.page(heading, made), status, headers={"cache-control": "no-store"}
        )
        self._remember(response, author, new)
        return response

    def _seen(self, path: str, said: str, author: str, new: bool) -> Response:
        """Lead on to a page, which says what happened."""
        self._said[author] = said
        response = RedirectResponse(path, 303)
        self._remember(response, author, new)
        return response

    @property
    def _cookie(self) -> str:
        return name_cookie(self.project.folder)

    def _author(self, request: Request) -> tuple[str, bool]:
        """Who asks, and whether the name is new; without a name the next number is given."""
        known = unquote(request.cookies.get(self._cookie, ""))[:MOST_NAME]
        if known and known.isprintable():
            return known, False
        there = self.project.authors()
        self._people += 1
        while f"Person {self._people}" in there:
            self._people += 1
        return f"Person {self._people}", True

    def _remember(self, response: Response, author: str, new: bool) -> None:
        if new:
            response.set_cookie(
                self._cookie, quote(author), max_age=10**8, httponly=True, samesite="strict"
            )


def name_cookie(folder: Path) -> str:
    """The cookie that knows a person, of the project: the port is another one at the next start."""
    return f"s3c2-name-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; a body that is too long counts as empty."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > 10_000:
            return {}
    try:
        return {k: v[0] for k, v in parse_qs(body.decode(), keep_blank_values=True).items()}
    except UnicodeDecodeError:
        return {}


def _number(given: str | None, otherwise: int = 0) -> int:
    return int(given) if given is not None and given.isdecimal() and len(given) < 10 else otherwise
