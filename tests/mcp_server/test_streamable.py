"""Over HTTP: who is refused, how a session goes, where each call works, and that no two clients mix."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mcp_server import server, streamable
from mcp_server.streamable import Door
from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.store import db, memories, places
from tenon.world import peer
from tests.mcp_server import conformance_tools
from tests.mcp_server.doors import PATIENCE_S, TOKEN, Answer, post, raw, sent, served
from tests.mcp_server.messages import STATELESS, request

ROOTED = {"roots": {"listChanged": True}}


@pytest.fixture
def door() -> Iterator[Door]:
    """The product's tools over HTTP."""
    with served(server.dispatcher) as door:
        yield door


def hello(door: Door, capabilities: dict[str, Any] | None = None, target: str = "/mcp", **headers: str | None) -> str:
    """The id of a new session."""
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = post(door, request("initialize", params), target, **headers)
    assert 200 == answer.status, answer.body
    return answer.headers["mcp-session-id"]


def call(door: Door, session: str, tool: str, arguments: dict[str, Any], target: str = "/mcp", **headers: str | None) -> Any:
    """The result of a call in a session."""
    answer = post(door, request("tools/call", {"name": tool, "arguments": arguments}), target, Mcp_Session_Id=session, **headers)
    assert 200 == answer.status, answer.body
    return answer.told["result"]


def data(result: Any) -> Any:
    """What a tool gave, as data."""
    assert not result.get("isError"), result
    return result["structuredContent"]


def refusal(result: Any) -> str:
    """The sentence of a tool that refused."""
    assert result.get("isError"), result
    return str(result["content"][0]["text"])


def fact(text: str) -> dict[str, Any]:
    """A memory to be written."""
    return {"tier": "short", "type": "fact", "content": text}


# ---------------------------------------------------------------- who is refused


@pytest.mark.parametrize(
    ("status", "method", "target", "changed"),
    [
        (403, "POST", "/mcp", {"Host": "evil.example"}),
        (403, "POST", "/mcp", {"Host": "127.0.0.1.evil.example"}),
        (403, "POST", "/mcp", {"Host": None}),
        (403, "POST", "/mcp", {"Origin": "http://evil.example"}),
        (403, "POST", "/mcp", {"Origin": "http://localhost:1"}),
        (403, "POST", "/mcp", {"Origin": "null"}),
        (404, "POST", "/", {}),
        (404, "POST", "/mcp/", {}),
        (404, "POST", "/agent/a/b/mcp", {}),
        (404, "GET", "/.well-known/oauth-protected-resource", {"Authorization": None}),
        (401, "POST", "/mcp", {"Authorization": None}),
        (401, "POST", "/mcp", {"Authorization": "Bearer " + "0" * 64}),
        (401, "POST", "/mcp", {"Authorization": f"Bearer {TOKEN}0"}),
        (401, "POST", "/mcp", {"Authorization": f"Basic {TOKEN}"}),
        (401, "POST", "/mcp", {"Authorization": "Bearer "}),
        (401, "GET", "/mcp", {"Authorization": None}),
        (401, "DELETE", "/mcp", {"Authorization": None}),
        (400, "POST", "/agent/Not%20one/mcp", {}),
        (400, "POST", "/agent/one/mcp", {"X_Tenon_Agent": "two"}),
        (400, "POST", "/mcp", {"X_Tenon_Agent": "../x"}),
        (405, "GET", "/mcp", {}),
        (405, "PUT", "/mcp", {}),
        (415, "POST", "/mcp", {"Content_Type": "text/plain"}),
        (415, "POST", "/mcp", {"Content_Type": None}),
        (406, "POST", "/mcp", {"Accept": "text/html"}),
        (400, "POST", "/mcp", {"X_Tenon_Repository": "./here"}),
        (400, "POST", "/mcp", {"X_Tenon_Repository": "~/project"}),
        (400, "POST", "/mcp", {"X_Tenon_Repository": "project"}),
        (400, "POST", "/mcp", {"X_Tenon_Repository": ""}),
        (400, "POST", "/mcp", {"X_Tenon_Repository": "/%ff"}),
        (400, "POST", "/mcp", {"X_Tenon_Repository": "/no/such/folder"}),
        (413, "POST", "/mcp", {"Content_Length": str((16 << 20) + 1)}),
        (400, "POST", "/mcp", {"Content_Length": "ten"}),
        (400, "POST", "/mcp", {}),  # a message that is none
    ],
)  # fmt: skip
def test_what_does_not_belong_here_is_refused_and_told_why(door: Door, status: int, method: str, target: str, changed: dict[str, str | None]) -> None:
    """With the status for it and a sentence as JSON, whatever else is right; no answer lets another page read it."""
    answer = sent(door, raw(door, method, target, b"nonsense", **changed))
    assert (status, -32700 if (status, target, changed) == (400, "/mcp", {}) else -32600) == (answer.status, answer.told["error"]["code"])
    assert answer.told["error"]["message"]
    assert {401: "Bearer"}.get(status) == answer.headers.get("www-authenticate")
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_a_preflight_of_a_web_page_gets_nothing(door: Door) -> None:
    """No method, no header, no origin is allowed to one."""
    answer = sent(door, raw(door, "OPTIONS", "/mcp", Origin="http://evil.example", Authorization=None, Access_Control_Request_Method="POST"))
    assert (403, False) == (answer.status, any(name.startswith("access-control-") for name in answer.headers))


def test_another_user_of_this_machine_is_refused(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with the token."""
    monkeypatch.setattr(peer, "is_foreign", lambda connection: True)
    assert 403 == post(door, request("ping")).status


def test_a_body_that_grows_too_large_in_chunks_is_refused(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it says its length."""
    monkeypatch.setattr(streamable, "LARGEST_BYTES", 100)
    body = b"".join(b"32\r\n" + b" " * 50 + b"\r\n" for _ in range(4)) + b"0\r\n\r\n"
    assert 413 == sent(door, raw(door, "POST", "/mcp", body, Content_Length=None, Transfer_Encoding="chunked")).status


def test_a_message_may_come_in_chunks_and_be_waited_for(door: Door) -> None:
    """With `Expect: 100-continue`, as some clients send it."""
    body = json.dumps(request("server/discover", {"_meta": STATELESS})).encode()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    asked = raw(door, "POST", "/mcp", chunked, Content_Length=None, Transfer_Encoding="chunked", Mcp_Protocol_Version="2026-07-28", Mcp_Method="server/discover", Expect="100-continue")  # fmt: skip
    with socket.create_connection(("127.0.0.1", door.port), PATIENCE_S) as client:
        client.sendall(asked)
        said = b""
        while part := client.recv(65536):
            said += part
    first, _, rest = said.partition(b"\r\n\r\n")
    assert (b"HTTP/1.1 100 Continue", ["2026-07-28"]) == (first, Answer(rest).told["result"]["supportedVersions"])


def test_a_connection_serves_one_request_after_the_other(door: Door) -> None:
    """It is kept while the client keeps it."""
    session = hello(door)
    ping = raw(door, body=request("ping"), Mcp_Session_Id=session, Connection=None)
    last = raw(door, body=request("ping", number=2), Mcp_Session_Id=session)
    with socket.create_connection(("127.0.0.1", door.port), PATIENCE_S) as client:
        client.sendall(ping + last)
        said = b""
        while part := client.recv(65536):
            said += part
    assert (2, True) == (said.count(b"HTTP/1.1 200"), said.endswith(b'"id":2,"result":{}}\n'))


def test_a_port_that_is_taken_is_told(door: Door) -> None:
    """As a sentence that names it and the way out."""
    with pytest.raises(TenonError, match=f"port {door.port} of this machine cannot be used.*--port"):
        Door(door.port, server.dispatcher, TOKEN)


# ---------------------------------------------------------------- sessions


def test_a_session_begins_with_the_handshake_and_ends_when_the_client_says_so(door: Door) -> None:
    """Its id is needed, known, and then gone."""
    session = hello(door)
    assert 202 == post(door, {"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=session).status
    assert {} == post(door, request("ping"), Mcp_Session_Id=session).told["result"]
    assert 400 == post(door, request("ping")).status
    assert 404 == post(door, request("ping"), Mcp_Session_Id="0" * 32).status
    assert 400 == sent(door, raw(door, "DELETE")).status
    assert 204 == sent(door, raw(door, "DELETE", Mcp_Session_Id=session)).status
    assert (404, 404) == (post(door, request("ping"), Mcp_Session_Id=session).status, sent(door, raw(door, "DELETE", Mcp_Session_Id=session)).status)


def test_a_version_of_no_era_is_refused(door: Door) -> None:
    """In the header of a session's request."""
    session = hello(door)
    assert [200, 400] == [post(door, request("ping"), Mcp_Session_Id=session, Mcp_Protocol_Version=version).status for version in ("2025-06-18", "1999-01-01")]


def test_each_session_agrees_on_its_own_version(door: Door) -> None:
    """An old one has batches, a new one beside it has not."""
    old = post(door, request("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}})).headers["mcp-session-id"]
    new = hello(door)
    told = [post(door, [request("ping")], Mcp_Session_Id=session).told for session in (old, new)]
    assert ([{"jsonrpc": "2.0", "id": 1, "result": {}}], -32600) == (told[0], told[1]["error"]["code"])


def test_a_handshake_that_fails_leaves_no_session(door: Door) -> None:
    """There is no id to be had from it."""
    answer = post(door, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": 7})
    assert ("error" in answer.told, "mcp-session-id" in answer.headers, 0) == (True, False, len(door.sessions))


def test_progress_comes_as_events_to_a_client_that_takes_them() -> None:
    """Then the answer; to one that takes JSON alone, only the answer."""
    with served(conformance_tools.dispatcher) as door:
        session = hello(door)
        asked = request("tools/call", {"name": "test_tool_with_progress", "_meta": {"progressToken": "p"}})
        answer = post(door, asked, Mcp_Session_Id=session)
        assert ("text/event-stream", [0, 50, 100]) == (answer.headers["content-type"], [event["params"]["progress"] for event in answer.events[:-1]])
        assert "Done." == answer.events[-1]["result"]["content"][0]["text"]
        assert "Done." == post(door, asked, Mcp_Session_Id=session, Accept="application/json").told["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("status", "code", "meta", "changed"),
    [
        (200, None, STATELESS, {}),
        (400, -32602, {}, {}),
        (400, -32020, STATELESS, {"Mcp_Protocol_Version": "2025-11-25"}),
        (400, -32020, STATELESS, {"Mcp_Protocol_Version": None}),
        (400, -32020, STATELESS, {"Mcp_Method": "tools/list"}),
        (400, -32020, STATELESS, {"Mcp_Method": None}),
        (400, -32020, STATELESS, {"Mcp_Name": "memory_write"}),
        (400, -32020, STATELESS, {"Mcp_Name": None}),
        (200, None, STATELESS, {"Mcp_Name": "=?base64?bWVtb3J5X3JlY2FsbA==?="}),
        (400, -32020, STATELESS, {"Mcp_Name": "=?base64?bWVtb3J5?="}),
        (400, -32020, STATELESS, {"Mcp_Name": "=?base64?!?="}),
        (400, -32022, {**STATELESS, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}, {"Mcp_Protocol_Version": "2030-01-01"}),
    ],
)
def test_a_stateless_requests_headers_say_what_its_body_says(
    door: Door, status: int, code: int | None, meta: dict[str, Any], changed: dict[str, str | None]
) -> None:
    """Else it is refused: whoever stands between reads the headers alone."""
    headers = {"Mcp_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "memory_recall", **changed}
    answer = post(door, request("tools/call", {"name": "memory_recall", "arguments": {"cue": "x"}, "_meta": meta}), **headers)
    assert (status, code) == (answer.status, answer.told.get("error", {}).get("code"))


def test_a_stateless_method_that_is_not_there_has_its_own_status(door: Door) -> None:
    """As has a notification, which gets no answer."""
    version = {"Mcp_Protocol_Version": "2026-07-28"}
    assert 404 == post(door, request("prompts/list", {"_meta": STATELESS}), Mcp_Method="prompts/list", **version).status
    assert (
        202
        == post(
            door, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, Mcp_Method="notifications/cancelled", **version
        ).status
    )


# ---------------------------------------------------------------- where a call works


def test_a_header_names_the_repository_by_folder_or_key(door: Door, tmp_path: Path) -> None:
    """A folder beyond ASCII is percent-encoded; its key, once known, is the same place."""
    folder = tmp_path / "mein Projekt é %"
    folder.mkdir()
    session, place = hello(door), quote(str(folder))
    assert data(call(door, session, "memory_write", fact("the zebra sleeps"), X_Tenon_Repository=place))["new"]
    with db.open_store(paths.store_path("default")) as store:
        key = places.key(store, places.find(store, str(folder)))
    assert f"path:{folder.resolve()}" == key
    for named in (place, quote(key)):
        assert ["the zebra sleeps"] == [
            hit["content"] for hit in data(call(door, session, "memory_recall", {"cue": "zebra"}, X_Tenon_Repository=named))["hits"]
        ]
    assert [] == data(call(door, session, "memory_recall", {"cue": "zebra"}, X_Tenon_Repository=quote(str(tmp_path))))["hits"]
    assert "no repository 'host/other' is known" in refusal(call(door, session, "memory_recall", {"cue": "zebra"}, X_Tenon_Repository="host/other"))


def test_a_key_without_a_folder_has_no_files_to_depend_on(door: Door, tmp_path: Path) -> None:
    """What a procedure needs of the files is refused, and nothing is looked for where the server runs."""
    session = hello(door)
    with db.open_store(paths.store_path("default")) as store:
        gone = tmp_path / "gone"
        gone.mkdir()
        places.settle(store, str(gone), 1.0)
        gone.rmdir()
    proposed = {"action": "propose", "name": "n", "trigger": "t", "steps": "s", "depends_on_paths": ["README.md"]}
    key = quote(f"path:{gone}")
    assert "name the repository by its folder" in refusal(call(door, session, "procedure", proposed, X_Tenon_Repository=key))
    assert data(call(door, session, "memory_write", fact("the yak is bold"), X_Tenon_Repository=key))["new"]


def test_without_a_repository_only_what_holds_everywhere_is_there(door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read and written; all else says how a repository is named, and the folder of the server is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    with db.open_store(paths.store_path("default")) as store:
        memories.write(store, repository=places.settle(store, str(tmp_path), 1.0), tier="short", kind="fact", text="the zebra is of this repository", now=1.0)
    session = hello(door)
    wide = {**fact("the zebra likes tabs everywhere"), "scope": "agent"}
    ref = data(call(door, session, "memory_write", wide))["id"]
    assert ["the zebra likes tabs everywhere"] == [hit["content"] for hit in data(call(door, session, "memory_recall", {"cue": "zebra"}))["hits"]]
    assert 1 == data(call(door, session, "memory_reinforce", {"id": ref}))["citations"]
    for tool, arguments in (
        ("memory_write", fact("x")), ("procedure", {"action": "sweep"}), ("task_state", {"action": "write", "epic_id": "e"}),
        ("memory_maintain", {"action": "decay_sweep"}), ("memory_graph", {"action": "approve", "edge_id": 1}), ("memory_archive", {"action": "done", "written": ["t1"]}),
        ("memory_write_episode", {"situation": "s", "action_type": "fix", "action_taken": "a", "expected": "success", "outcome": "success", "evidence": "e"}),
    ):  # fmt: skip
        assert "no repository is named" in refusal(call(door, session, tool, arguments)), tool
    for tool, arguments in (
        ("task_state", {"action": "read"}),
        ("memory_archive", {"action": "pending"}),
        ("procedure", {"action": "grounding", "trigger": "t"}),
    ):
        assert data(call(door, session, tool, arguments)) is not None


def test_an_excluded_folder_is_excluded_by_folder_key_and_root(door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way it is named."""
    secret = tmp_path / "secret"
    secret.mkdir()
    with db.open_store(paths.store_path("default")) as store:
        places.settle(store, str(secret), 1.0)
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", str(secret))
    session = hello(door)
    for named in (quote(str(secret)), quote(f"path:{secret}")):
        assert "excluded" in refusal(call(door, session, "memory_recall", {"cue": "zebra"}, X_Tenon_Repository=named))
    asked = request("tools/call", {"name": "memory_recall", "arguments": {"cue": "zebra"}, "inputResponses": {"roots": {"roots": [{"uri": secret.as_uri()}]}}, "_meta": {**STATELESS, "io.modelcontextprotocol/clientCapabilities": ROOTED}})  # fmt: skip
    answer = post(door, asked, Mcp_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="memory_recall")
    assert "excluded" in refusal(answer.told["result"])


def test_each_agent_has_its_own_memory(door: Door, tmp_path: Path) -> None:
    """By address or by header, which are the same; without either it is the settings' one."""
    session, place = hello(door), {"X_Tenon_Repository": quote(str(tmp_path))}
    data(call(door, session, "memory_write", fact("the zebra belongs to work"), "/agent/work/mcp", **place))
    found = [
        len(data(call(door, session, "memory_recall", {"cue": "zebra"}, target, **place, **more))["hits"])
        for target, more in (("/agent/work/mcp", {}), ("/mcp", {"X_Tenon_Agent": "work"}), ("/mcp", {}))
    ]
    assert [1, 1, 0] == found
    assert "nothing is remembered yet" in refusal(call(door, session, "memory_recall", {"cue": "zebra"}, X_Tenon_Agent="other", **place))


def answering(door: Door, session: str, roots: list[dict[str, str]], body: Any, target: str = "/mcp") -> list[Any]:
    """The events of a call whose questions for roots are answered as a client does, by another message of its own."""
    with socket.create_connection(("127.0.0.1", door.port), PATIENCE_S) as client:
        client.sendall(raw(door, "POST", target, body, Mcp_Session_Id=session))
        seen: list[Any] = []
        for line in client.makefile("rb"):
            if line.startswith(b"data: "):
                seen.append(json.loads(line[6:]))
                if seen[-1].get("method") == "roots/list":
                    assert 202 == post(door, {"jsonrpc": "2.0", "id": seen[-1]["id"], "result": {"roots": roots}}, Mcp_Session_Id=session).status
            elif line.startswith(b"{"):
                seen.append(json.loads(line))
        return seen


def test_the_clients_roots_are_asked_for_once_and_again_when_they_change(door: Door, tmp_path: Path) -> None:
    """On the stream of the call that needs them; a header goes before them."""
    first, second = tmp_path / "first é", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    session = hello(door, ROOTED)
    writes = request("tools/call", {"name": "memory_write", "arguments": fact("the zebra of the first")})
    asks = request("tools/call", {"name": "memory_recall", "arguments": {"cue": "zebra"}})
    asked, answer = answering(door, session, [{"uri": "https://no.folder"}, {"uri": first.as_uri()}], writes)
    assert ("roots/list", True) == (asked["method"], answer["result"]["structuredContent"]["new"])
    (answer,) = answering(door, session, [], asks)
    assert 1 == answer["result"]["structuredContent"]["count"]
    assert 202 == post(door, {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}, Mcp_Session_Id=session).status
    asked, answer = answering(door, session, [{"uri": second.as_uri()}], asks)
    assert ("roots/list", 0) == (asked["method"], answer["result"]["structuredContent"]["count"])
    assert 1 == data(call(door, session, "memory_recall", {"cue": "zebra"}, X_Tenon_Repository=quote(str(first))))["count"]


def test_roots_and_an_agent_go_together(door: Door, tmp_path: Path) -> None:
    """What is written there is that agent's, and of that repository."""
    writes = request("tools/call", {"name": "memory_write", "arguments": fact("the zebra belongs to work")})
    answering(door, hello(door, ROOTED), [{"uri": tmp_path.as_uri()}], writes, "/agent/work/mcp")
    place = {"X_Tenon_Repository": quote(str(tmp_path))}
    assert [1, 0] == [data(call(door, hello(door), "memory_recall", {"cue": "zebra"}, target, **place))["count"] for target in ("/agent/work/mcp", "/mcp")]


def test_a_root_that_is_not_here_is_told_and_none_is_no_repository(door: Door, tmp_path: Path) -> None:
    """The server never takes another folder in its place."""
    writes = request("tools/call", {"name": "memory_write", "arguments": fact("x")})
    for roots, says in (([{"uri": (tmp_path / "gone").as_uri()}], "no such folder on this machine"), ([], "no repository is named")):
        assert says in refusal(answering(door, hello(door, ROOTED), roots, writes)[-1]["result"])


def test_a_client_that_takes_no_events_is_not_asked(door: Door) -> None:
    """It is told how a repository is named."""
    session = hello(door, ROOTED)
    assert "no repository is named" in refusal(call(door, session, "memory_write", fact("x"), Accept="application/json"))


def test_a_stateless_client_tells_its_roots_with_a_second_call(door: Door, tmp_path: Path) -> None:
    """The first ends with the question; one that cannot be asked has no repository, and a header spares the question."""
    headers = {"Mcp_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "memory_write"}
    able = {**STATELESS, "io.modelcontextprotocol/clientCapabilities": ROOTED}
    params = {"name": "memory_write", "arguments": fact("the zebra came twice"), "_meta": able}
    asked = post(door, request("tools/call", params), **headers).told["result"]
    assert ("input_required", {"roots": {"method": "roots/list", "params": {}}}) == (asked["resultType"], asked["inputRequests"])
    answers = {"roots": {"roots": [{"uri": tmp_path.as_uri(), "name": "here"}]}}
    assert data(post(door, request("tools/call", {**params, "inputResponses": answers}), **headers).told["result"])["new"]
    assert "no repository is named" in refusal(post(door, request("tools/call", {**params, "_meta": STATELESS}), **headers).told["result"])
    assert not data(post(door, request("tools/call", params), X_Tenon_Repository=quote(str(tmp_path)), **headers).told["result"])["new"]


def test_clients_of_different_repositories_never_mix(door: Door, tmp_path: Path) -> None:
    """Six at once, by header and by roots, each writing and recalling its own word twenty times."""
    wrong: list[str] = []
    words = ["zebra", "yak", "walrus", "viper", "tapir", "shrew"]

    def one(word: str, rooted: bool) -> None:
        folder = tmp_path / word
        folder.mkdir()
        session = hello(door, ROOTED if rooted else {})
        headers: dict[str, str | None] = {} if rooted else {"X_Tenon_Repository": quote(str(folder))}
        if rooted:
            answering(door, session, [{"uri": folder.as_uri()}], request("tools/call", {"name": "memory_recall", "arguments": {"cue": "first"}}))
        for number in range(20):
            text = f"the animal number {number} is the {word}"
            if not data(call(door, session, "memory_write", fact(text), **headers))["new"]:
                wrong.append(f"{text} was there before")
            hits = data(call(door, session, "memory_recall", {"cue": f"animal number {number}", "k": 50}, **headers))["hits"]
            if not hits or any(not hit["content"].endswith(word) for hit in hits):
                wrong.append(f"{word} saw {[hit['content'] for hit in hits]}")

    def work(word: str, rooted: bool) -> None:
        try:
            one(word, rooted)
        except Exception as error:
            wrong.append(f"{word}: {error!r}")

    threads = [threading.Thread(target=work, args=(word, at % 2 == 0)) for at, word in enumerate(words)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong
    with db.open_store(paths.store_path("default")) as store:
        assert (120, 6) == (store.value("SELECT count(*) FROM memory"), store.value("SELECT count(DISTINCT repository) FROM memory"))


def test_reading_begins_no_memory_for_an_agent_that_is_only_named(door: Door) -> None:
    """By header or by address; writing does."""
    session = hello(door)
    for target, headers in (("/mcp", {"X_Tenon_Agent": "newone"}), ("/agent/newone/mcp", {})):
        for tool, arguments in (("memory_recall", {"cue": "zebra"}), ("memory_archive", {"action": "search", "cue": "zebra"})):
            told = refusal(call(door, session, tool, arguments, target, **headers))
            assert told.startswith("nothing is remembered yet for the agent that is named")
    assert [] == paths.agents()
    data(call(door, session, "memory_write", {**fact("the zebra"), "scope": "agent"}, "/agent/newone/mcp"))
    assert 1 == len(data(call(door, session, "memory_recall", {"cue": "zebra"}, "/agent/newone/mcp"))["hits"])
    assert ["newone"] == paths.agents()
    data(call(door, session, "memory_recall", {"cue": "zebra"}))
    assert ["default", "newone"] == sorted(paths.agents())


def test_the_log_has_a_line_for_each_request_and_no_secret() -> None:
    """Method, tool, status and time; neither the token nor what was said."""
    lines: list[str] = []
    with served(server.dispatcher) as door:
        door.log = lines.append
        session = hello(door)
        call(door, session, "memory_recall", {"cue": "zebra"})
        post(door, request("ping"), Authorization="Bearer nothing")
    assert [["POST", "initialize", "200"], ["POST", "tools/call", "memory_recall", "200"], ["POST", "-", "401"]] == [line.split(" ")[1:-2] for line in lines]
    assert not any(TOKEN in line or "zebra" in line for line in lines)
