"""The routes of the certificates that verify SNS messages: public, without credentials."""

from fastapi import APIRouter, Request, Response

from penstock.sns.certificates import CURRENT, find_certificate

from .native_route import RunOperation


def certificates_router(run_operation: RunOperation) -> APIRouter:
    """The routes GET /SimpleNotificationService-<key>.pem, /SimpleNotificationService.pem and /v1/cert."""
    router = APIRouter(tags=["certificates"])

    async def certificate(request: Request) -> Response:
        """A certificate, as PEM."""
        found = await run_operation(find_certificate(request.url.path), request.scope)
        return Response(found.body, found.status, dict(_texts(found.headers)))

    for path in (*CURRENT, "/SimpleNotificationService-{key}.pem"):
        router.add_api_route(path, certificate, methods=["GET"], response_class=Response)
    return router


def _texts(headers: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode(), value.decode()) for name, value in headers]
