"""The application: addresses, and the layers around them.

    app = create_app(engine, template, model="smollm2")
    uvicorn.run(app, host="127.0.0.1", port=8080)

It holds no model and no template of its own, and reads no files.
"""

import contextlib
import time
from collections.abc import AsyncGenerator, Mapping

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from untemplate.engines.engine import Engine
from untemplate.server.chat import ChatEndpoint
from untemplate.server.edge import LOCAL_ORIGIN, Edge
from untemplate.server.failures import HANDLERS, Refused
from untemplate.server.keywords import CHECKED_HEADER
from untemplate.server.runs import Runs
from untemplate.server.served import Served
from untemplate.server.settings import Settings
from untemplate.turn import ChatTemplate
from untemplate.wire.openai.failure import Failure
from untemplate.wire.openai.response import ModelCard, encode_model, encode_models

__all__ = ["create_app"]


def create_app(
    engine: Engine,
    template: ChatTemplate,
    *,
    model: str,
    meta: Mapping[str, str | int | None] | None = None,
    settings: Settings | None = None,
) -> Starlette:
    """An ASGI application that serves one model.

    Args:
        engine: generates; its `generate` is called in threads, several at once.
        template: turns conversations into prompts, and what is generated into messages.
        model: the name that clients know the model by.
        meta: what else `/v1/models` tells.
        settings: limits and intervals.
    """
    settings = settings or Settings()
    served = Served(
        engine,
        template,
        model,
        int(time.time()),
        meta or {},
        vocabulary=getattr(engine, "vocabulary", None),
        context_tokens=getattr(engine, "context_tokens", None),
    )
    runs = Runs(limit=settings.requests, retry_after_s=settings.retry_after_s)
    card = ModelCard(
        id=model,
        object="model",
        created=served.created,
        owned_by="untemplate",
        meta=dict(served.meta),
    )

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def models(_request: Request) -> Response:
        return Response(encode_models([card]), media_type="application/json")

    async def one_model(request: Request) -> Response:
        asked = request.path_params["model"]
        if asked != model:
            raise Refused(
                Failure(404, f"there is no model {asked!r}", param="model", code="model_not_found")
            )
        return Response(encode_model(card), media_type="application/json")

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        yield
        runs.close()

    chat = ChatEndpoint(served, runs, settings)
    routes = [Route("/health", health)]
    for prefix in ("/v1", ""):
        routes += [
            Route(f"{prefix}/chat/completions", chat, methods=["POST"]),
            Route(f"{prefix}/models", models),
            Route(f"{prefix}/models/{{model:path}}", one_model),
        ]
    layers = [
        Middleware(Edge),
        Middleware(
            CORSMiddleware,
            allow_origin_regex=LOCAL_ORIGIN,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["x-request-id", CHECKED_HEADER],
        ),
    ]
    return Starlette(
        routes=routes, middleware=layers, exception_handlers=HANDLERS, lifespan=lifespan
    )
