"""Serves the certificates that verify SNS messages. The routes need no credentials."""

from fastapi import APIRouter, Request, Response

from penstock.sns.certificates import CURRENT, find_certificate
from penstock_web.routing.openapi import UNAVAILABLE, Responses, describe_error_responses
from penstock_web.routing.runner import RunOperation

_KEY = {"parameters": [{"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}]}
_RESPONSES: Responses = {
    200: {"content": {"application/x-pem-file": {"schema": {"type": "string"}}}},
    404: {"description": "There is no such key.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    **describe_error_responses(*UNAVAILABLE),
}


def build_certificates_router(run_operation: RunOperation) -> APIRouter:
    """Returns the routes GET /SimpleNotificationService-<key>.pem, /SimpleNotificationService.pem and /v1/cert."""
    router = APIRouter(tags=["certificates"])

    async def certificate(request: Request) -> Response:
        """Return a certificate as PEM."""
        found = await run_operation(find_certificate(request.url.path), request.scope)
        return Response(found.body, found.status, dict(_texts(found.headers)))

    for path, extra in (*((path, {}) for path in CURRENT), ("/SimpleNotificationService-{key}.pem", _KEY)):
        router.add_api_route(
            path, certificate, methods=["GET"], response_class=Response, responses=_RESPONSES, openapi_extra=extra
        )
    return router


def _texts(headers: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode(), value.decode()) for name, value in headers]
