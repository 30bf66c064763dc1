"""Who may use the page: this machine, or whoever has the token; never another site's script.

A page on another site can make a browser send requests here. So the Host must be ours (against
names that are pointed at 127.0.0.1), and what changes something must come from our own page.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers send a form's Origin as null
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
MOST_BYTES = 10_000  # of a request: a form with a few fields


def is_loopback(host: str) -> bool:
    return host in LOOPBACK


class Guard:
    """Refuses what does not come from our own page, and adds the headers that keep others out.

    Parameters
    ----------
    app : what is guarded
    host, port : where it listens
    token : None on a loopback address
    """

    def __init__(self, app: ASGIApp, host: str, port: int, token: str | None) -> None:
        self.app, self.host, self.port, self.token = app, host, port, token
        self.cookie = f"s3c2-token-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                message["headers"] = list(message["headers"]) + [
                    (name.encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.encode() not in own
                ]
            await send(message)

        refused = self.refusal(scope)
        if refused is not None:
            await refused(scope, receive, with_headers)
        else:
            await self.app(scope, receive, with_headers)

    def refusal(self, scope: Scope) -> ASGIApp | None:
        """The response to a request that is not let through; None for one that is."""
        headers = Headers(scope=scope)
        if not self._own_host(headers.get("host", "")):
            return _refused("This address is not known here. Use the one that s3c2 ask printed.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Not allowed.", 405)
        if scope["method"] == "POST" and not self._own_page(headers):
            return _refused("This request comes from another site.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return PlainTextResponse("Too long.", 413)
        return self._without_token(scope, headers)

    def _own_host(self, given: str) -> bool:
        name, _, port = given.rpartition(":")
        if not port.isdecimal():
            name, port = given, "80"
        name = name.strip("[]").lower()
        if int(port) != self.port:
            return False
        if is_loopback(self.host):
            return name in LOOPBACK
        return name == self.host.lower() or name in LOOPBACK or _is_own_name(name)

    def _own_page(self, headers: Headers) -> bool:
        site = headers.get("sec-fetch-site")
        if site is not None and site not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        if origin is None:
            return site is not None or "cookie" not in headers  # no browser, no cookie to misuse
        return origin == f"http://{headers.get('host', '')}"

    def _without_token(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if self.token is None:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        given = dict(query).get("token")
        if given is not None and self._is_token(given):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            target = scope["path"] + (f"?{rest}" if rest else "")
            response = RedirectResponse("/" + target.lstrip("/"), 303)
            response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            return response
        cookies: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
        known = cookies.get(self.cookie)
        if known is not None and self._is_token(known.value):
            return None
        return _refused("Open the whole address that s3c2 ask printed, with its token.")

    def _is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


def _is_own_name(name: str) -> bool:
    """An address in numbers, or this machine's own name: no other site has these."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        return name in (own, f"{own}.local")
    return True


def _refused(why: str) -> PlainTextResponse:
    return PlainTextResponse(why, 403)
