"""The tools that the conformance suite calls by name, on the dispatcher that Tenon's own tools run on."""

from __future__ import annotations

from typing import Any

from mcp_server.protocol import HANDSHAKE, MISSING_CAPABILITY, Context, Dispatcher, Refused, Result, Tool, ToolError

NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
DRAFT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}


def dispatcher() -> Dispatcher:
    """A dispatcher with every tool below, in this order."""
    return Dispatcher("fixture", "1.2.3", "Fixture", "Tools for tests.", tools(), _remember)


FAULTS: list[BaseException] = []


def _remember(error: BaseException) -> None:
    FAULTS.append(error)


def tools() -> list[Tool]:
    """The suite's tools, and three of our own: `add`, `refuse` and `break`."""
    return [
        _tool("test_simple_text", lambda given, context: "This is a simple text response for testing."),
        _tool("test_image_content", lambda given, context: [IMAGE]),
        _tool("test_audio_content", lambda given, context: [AUDIO]),
        _tool("test_embedded_resource", lambda given, context: [_resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]),
        _tool(
            "test_multiple_content_types",
            lambda given, context: Result(
                [{"type": "text", "text": "Multiple content types test:"}, IMAGE, _resource("test://mixed-content-resource", "application/json", '{"test": 1}')]
            ),
        ),
        _tool("test_error_handling", _refuse),
        _tool("test_tool_with_progress", _progress),
        _tool("test_missing_capability", _sampling),
        _tool("test_streaming_elicitation", lambda given, context: "Nothing was asked."),
        _tool("test_input_required_result_elicitation", _elicits),
        _tool("test_input_required_result_sampling", _samples),
        _tool("test_input_required_result_list_roots", _lists),
        _tool(
            "test_input_required_result_capabilities",
            lambda given, context: _samples(given, context) if "sampling" in context.capabilities else "Nothing asked.",
        ),
        _tool("test_sampling", _samples, {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}),
        _tool("test_elicitation", _elicits, {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}),
        _tool("test_logging_tool", lambda given, context: "Nothing was logged."),
        _tool("json_schema_2020_12_tool", lambda given, context: given, DRAFT),
        _tool(
            "test_custom_header",
            lambda given, context: str(given["region"]),
            {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]},
        ),
        Tool(
            name="add",
            title="Add",
            description="Adds two numbers.",
            input_schema={
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
            output_schema={"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
            annotations={"readOnlyHint": True},
            meta={"anthropic/alwaysLoad": True},
            call=lambda given, context: {"sum": given["a"] + given["b"]},
        ),
        _tool("echo", lambda given, context: {"said": given["text"]}, {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        _tool("refuse", _refuse),
        _tool("break", _break),
    ]


def _tool(name: str, call: Any, schema: dict[str, Any] | None = None) -> Tool:
    return Tool(name=name, title=name.replace("_", " ").capitalize(), description=f"Answers the test of {name}.", input_schema=schema or NOTHING, call=call)


def _resource(uri: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


def _refuse(given: dict[str, Any], context: Context) -> object:
    raise ToolError("This tool intentionally returns an error for testing")


def _break(given: dict[str, Any], context: Context) -> object:
    return given["nothing"]


def _progress(given: dict[str, Any], context: Context) -> object:
    token = context.meta.get("progressToken")
    if token is not None:
        for done in (0, 50, 100):
            context.notify("notifications/progress", {"progressToken": token, "progress": done, "total": 100})
    return "Done."


def _elicits(given: dict[str, Any], context: Context) -> object:
    form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    said = context.ask("user_name", "elicitation/create", {"message": given.get("message", "What is your name?"), "requestedSchema": form})
    return f"User response: {said}"


def _samples(given: dict[str, Any], context: Context) -> object:
    asked = {"role": "user", "content": {"type": "text", "text": given.get("prompt", "What is the capital of France?")}}
    return f"LLM response: {context.ask('capital_question', 'sampling/createMessage', {'messages': [asked], 'maxTokens': 100})}"


def _lists(given: dict[str, Any], context: Context) -> object:
    return f"Roots: {context.ask('client_roots', 'roots/list')}"


def _sampling(given: dict[str, Any], context: Context) -> object:
    if context.version not in HANDSHAKE and "sampling" not in context.capabilities:
        raise Refused(MISSING_CAPABILITY, "Missing required client capability", {"requiredCapabilities": {"sampling": {}}})
    return "The client can sample."
