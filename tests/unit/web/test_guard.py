from __future__ import annotations

import pytest
from fastapi import FastAPI

from marie_celery import Marie
from marie_celery.errors import ConfigError
from marie_celery.web import Guard, create_app
from marie_celery.web.guard import is_loopback
from tests.unit.web.web_kit import ask

TOKEN = "a-long-secret"
PATHS = ["/", "/api/capacity", "/api/executors", "/api/runs", "/api/schedulers", "/api/resources", "/metrics"]
CHANGING = ["/api/executors/ocr/pause", "/api/executors/ocr/target", "/api/resources/gpu/resize"]


@pytest.fixture
def closed(marie: Marie) -> FastAPI:
    """Open to the network, with a token."""
    return create_app(marie, Guard(TOKEN, loopback=False))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_these_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "localhost.evil.example", "127.0.0.1.evil.example"])
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)


def test_beyond_this_machine_a_token_is_needed() -> None:
    with pytest.raises(ConfigError, match="MARIE_WEB_TOKEN"):
        Guard(loopback=False)


@pytest.mark.parametrize("token", ["with space", "tab\there", "täst"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="plain characters"):
        Guard(token)


class TestWithAToken:
    @pytest.mark.parametrize("path", PATHS)
    def test_nothing_is_told_without_it(self, closed: FastAPI, path: str) -> None:
        for given in ("", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer"):
            answer = ask(closed, path, authorization=given)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "Bearer" in answer.error
        assert ask(closed, path).status == 401

    @pytest.mark.parametrize("path", PATHS)
    def test_all_is_told_with_it(self, closed: FastAPI, path: str) -> None:
        assert ask(closed, path, authorization=f"Bearer {TOKEN}", host="marie.example").status == 200

    def test_a_token_of_strange_characters_is_just_wrong(self, closed: FastAPI) -> None:
        assert ask(closed, "/api/runs", authorization="Bearer schlüssel").status == 401

    def test_health_is_open_to_all(self, closed: FastAPI) -> None:
        assert ask(closed, "/healthz").json == {"status": "OK"}

    def test_a_path_that_only_looks_like_it_is_not(self, closed: FastAPI) -> None:
        assert ask(closed, "/healthz/../api/runs").status == 401
        assert ask(closed, "/nowhere").status == 401

    def test_on_the_loopback_it_is_asked_for_as_well(self, marie: Marie) -> None:
        assert ask(create_app(marie, Guard(TOKEN)), "/api/runs").status == 401


class TestWithoutAToken:
    @pytest.mark.parametrize("host", ["localhost", "localhost:54322", "127.0.0.1:54322", "[::1]:54322"])
    def test_this_machine_is_served(self, app: FastAPI, host: str) -> None:
        assert ask(app, "/api/capacity", host=host).status == 200

    @pytest.mark.parametrize("host", ["evil.example:54322", "localhost.evil.example", "", "[::1", "10.0.0.1"])
    def test_a_name_that_was_bent_to_this_machine_is_not(self, app: FastAPI, host: str) -> None:
        answer = ask(app, "/api/capacity", host=host)
        assert answer.status == 421
        assert "localhost" in answer.error

    @pytest.mark.parametrize("path", CHANGING)
    @pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:8000", "https://"])
    def test_a_page_of_another_site_cannot_change_anything(self, app: FastAPI, path: str, origin: str) -> None:
        assert ask(app, path, "POST", origin=origin).status == 403

    def test_no_other_site_may_read_the_answers(self, app: FastAPI) -> None:
        answer = ask(app, "/api/capacity", origin="http://evil.example")
        assert not [name for name in answer.headers if name.startswith("access-control")]
