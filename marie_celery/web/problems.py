"""Every refusal and every failure is `{"error": …}` with a status that fits."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import redis
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from marie_celery.errors import MarieError, ServerError
from marie_celery.store.connection import clear_errors

log = logging.getLogger(__name__)

Handler = Callable[[Request, Any], Awaitable[JSONResponse]]


def install(app: FastAPI, url: str) -> None:
    async def unreachable(request: Request, error: redis.RedisError) -> JSONResponse:
        text = _clear(error, url)
        log.warning("%s: %s", request.url.path, text)
        return problem(503, text)

    handlers: dict[type[Exception], Handler] = {
        redis.RedisError: unreachable,
        MarieError: _refused,
        RequestValidationError: _malformed,
        HTTPException: _not_here,
        Exception: _unexpected,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def problem(status: int, text: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": text}, status, headers)


def _clear(error: redis.RedisError, url: str) -> str:
    try:
        with clear_errors(url):
            raise error
    except ServerError as clear:
        return str(clear)
    except redis.RedisError:
        return f"Redis failed: {error}"


async def _refused(request: Request, error: MarieError) -> JSONResponse:
    if isinstance(error, ServerError):
        return problem(503, str(error))
    return problem(404 if isinstance(error, LookupError) else 409, str(error))


async def _malformed(request: Request, error: RequestValidationError) -> JSONResponse:
    texts = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
    return problem(422, "; ".join(texts))


async def _not_here(request: Request, error: HTTPException) -> JSONResponse:
    texts = {404: f"there is nothing at {request.url.path}", 405: f"{request.method} is not possible here"}
    return problem(error.status_code, texts.get(error.status_code, error.detail), **(error.headers or {}))


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    """The server logs it with its traceback."""
    return problem(500, "something went wrong here; the log of the server knows more")
