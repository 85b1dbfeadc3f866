"""A request the Messages API does not accept: status, type, text and typed code of its error body."""

from __future__ import annotations

from typing import Any

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Refusal(Exception):
    """An error answer; `code` is the typed `details.error_code`, `headers` go out with it."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        kind: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind or TYPES.get(status, "api_error")
        self.code = code
        self.headers = headers or {}

    def body(self, request_id: str) -> dict[str, Any]:
        """The error envelope."""
        error: dict[str, Any] = {"type": self.kind, "message": self.message}
        if self.code:
            error["details"] = {"error_code": self.code}
        return {"type": "error", "error": error, "request_id": request_id}
