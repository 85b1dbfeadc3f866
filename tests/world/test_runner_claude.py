"""Claude Code asked once: what it is given, what it is not, what becomes of its answer, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tenon.base import paths, settings
from tenon.world import agreed, runner_claude, runners
from tenon.world.runners import Answer, Failed, Question
from tests.fakes.claude_command import ClaudeCommand, Watch, begins, failure, line, on_path, result, says, speaks, stops

SYSTEM = 'You digest, say "JSON" only: 100 % of it.\n— é 日本'
PROMPT = "the heron sleeps at noon; see @/etc/hostname\nünd «so» on"
SECRET = "the heron sleeps at noon"
ANSWER = '{"operations": [{"op": "remember", "text": "é 日本"}]}'
PATIENCE_S = 30


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeCommand:
    """The stand-in on the PATH; no other one is found, and temporary folders are made where a test can look."""
    monkeypatch.setattr(runner_claude, "PLACES", ())
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    command = ClaudeCommand(tmp_path / "a bïn")
    monkeypatch.setenv("PATH", on_path(command.folder))
    command.plan(says(ANSWER))
    return command


def ask(prompt: str = PROMPT, timeout_s: float = PATIENCE_S) -> Answer:
    """The answer to a question."""
    return runners.ask("claude", "haiku", Question(SYSTEM, prompt, {"type": "object"}, 500), settings.load(), timeout_s=timeout_s)


def failed(timeout_s: float = PATIENCE_S) -> Failed:
    """How the question fails; never with a word of it."""
    with pytest.raises(Failed) as caught:
        ask(timeout_s=timeout_s)
    assert SECRET not in str(caught.value)
    assert "operations" not in str(caught.value)
    return caught.value


def settle(**block: object) -> None:
    """Writes the user's settings of Claude Code."""
    folder = Path(paths.claude_home())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(block), encoding="utf-8")


def environment(claude: ClaudeCommand) -> dict[str, Any]:
    """What the child saw when it was asked."""
    ask()
    found: dict[str, Any] = claude.ran[-1]["env"]
    return found


def test_an_answer_comes_back_whole_with_what_it_took(claude: ClaudeCommand) -> None:
    """The text, the model's name, tokens in and out, and the price."""
    answer = ask()

    assert (ANSWER, "claude-haiku-5-5") == (answer.text, answer.model)
    assert (120, 11, 7, 30) == (answer.input_tokens, answer.written, answer.read, answer.output_tokens)
    assert (0.00027, 1, 1) == (answer.dollars, answer.requests, len(claude.ran))


def test_it_is_asked_without_tools_settings_servers_or_a_session(claude: ClaudeCommand) -> None:
    """These flags and no others; never a schema, for which it would have a tool."""
    ask()
    argv = claude.ran[0]["argv"]
    at = argv.index("--system-prompt-file")

    assert ["-p", "--model", "haiku", "--setting-sources", "", "--strict-mcp-config", "--tools", "", "--no-session-persistence"] == argv[:9]
    assert ["--effort", "low", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--system-prompt-file"] == argv[9 : at + 1]
    assert [SYSTEM] == [claude.ran[0]["texts"][name] for name in argv[at + 1 :]]


def test_the_prompt_goes_in_by_the_door_that_nobody_looks_through(claude: ClaudeCommand) -> None:
    """Byte for byte on stdin; neither in the arguments nor in the environment, where other programs read."""
    ask()
    ran = claude.ran[0]

    assert PROMPT == ran["stdin"]
    assert SECRET not in json.dumps([ran["argv"], ran["env"], ran["texts"]])


def test_a_prompt_that_looks_like_a_command_is_none(claude: ClaudeCommand) -> None:
    """An empty line stands in front; half a surrogate pair, which no pipe takes, becomes a question mark."""
    ask("/compact \ud800now")

    assert "\n/compact ?now" == claude.ran[0]["stdin"]


def test_files_that_the_prompt_names_are_not_sent_along(claude: ClaudeCommand) -> None:
    """The variables that switch that off are set; nor does it think, try again by itself, or do anything besides."""
    env = environment(claude)

    assert runner_claude.OURS.items() <= env.items()
    assert {
        "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
        "TENON_INSIDE": "1",
        "MAX_THINKING_TOKENS": "0",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "500",
    }.items() <= env.items()


def test_it_runs_in_an_empty_folder_that_is_gone_afterwards(claude: ClaudeCommand) -> None:
    """With all that was made for it, whether it answers or not."""
    ask()
    claude.plan(code=1)
    failed()

    assert [[], []] == [ran["around"] for ran in claude.ran]
    assert [tempfile.tempdir] * 2 == [os.path.dirname(os.path.dirname(ran["cwd"])) for ran in claude.ran]
    assert [] == os.listdir(str(tempfile.tempdir))


def test_what_ties_to_a_session_stays_behind_and_credentials_go_along(claude: ClaudeCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are."""
    left = "CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXTRA_BODY CLAUDE_PLUGIN_ROOT CLAUDE_ENV_FILE TENON_AGENT AI_AGENT ANTHROPIC_LOG CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR".split()
    kept = "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CONFIG_DIR CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_SKIP_VERTEX_AUTH AWS_PROFILE CLAUDE_CODE_CLIENT_CERT HTTPS_PROXY".split()
    for name in [*left, *kept]:
        monkeypatch.setenv(name, f"value of {name}")
    env = environment(claude)

    assert [] == [name for name in left if name in env]
    assert [f"value of {name}" for name in kept] == [env.get(name) for name in kept]


CHOICES = (
    "ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL ANTHROPIC_DEFAULT_OPUS_MODEL ANTHROPIC_BETAS ANTHROPIC_CUSTOM_HEADERS".split()
)


@pytest.mark.parametrize("name", CHOICES)
def test_what_makes_another_request_of_it_goes_along_only_by_the_users_own_word(claude: ClaudeCommand, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A project could make an Opus of haiku; a gateway's user may need to say what haiku is called there."""
    monkeypatch.setenv(name, "claude-opus-4-8")
    assert name not in environment(claude)
    settle(env={name: "gateway/haiku"})
    assert "gateway/haiku" == environment(claude)[name]
    settle()
    agreed.record(os.environ)
    assert "claude-opus-4-8" == environment(claude)[name]
    monkeypatch.setenv(name, "claude-opus-5")
    assert name not in environment(claude)


def test_the_settings_that_it_is_kept_from_lend_it_the_users_login(claude: ClaudeCommand) -> None:
    """Variables, and the commands that fetch a key; hooks and all else stay out."""
    helper = "print-my-key --for 'claude'"
    settle(env={"ANTHROPIC_API_KEY": "sk-of-the-settings", "CLAUDE_CODE_SESSION_ID": "x"}, apiKeyHelper=helper, hooks={"Stop": []}, model="opus")
    env = environment(claude)
    argv = claude.ran[-1]["argv"]

    assert ("sk-of-the-settings", None) == (env["ANTHROPIC_API_KEY"], env.get("CLAUDE_CODE_SESSION_ID"))
    assert {"apiKeyHelper": helper} == json.loads(claude.ran[-1]["texts"][argv[argv.index("--settings") + 1]])


@pytest.mark.parametrize("ours", ["http://127.0.0.1:9000", "http://localhost:9000/agent/mara"])
def test_it_does_not_go_through_our_own_proxy(claude: ClaudeCommand, monkeypatch: pytest.MonkeyPatch, ours: str) -> None:
    """Whether this process or the user's settings would lead it there; another gateway stays."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", ours)
    settle(env={"ANTHROPIC_BASE_URL": ours})
    assert "ANTHROPIC_BASE_URL" not in environment(claude)

    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example")
    assert "https://gateway.example" == environment(claude)["ANTHROPIC_BASE_URL"]


def test_the_program_is_found_where_it_may_be(claude: ClaudeCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name in TENON_CLAUDE, on the PATH, as the session's own, where it is usually installed; never in the folder at hand."""
    other = ClaudeCommand(tmp_path / "other")
    path, elsewhere = str(claude.path), str(other.path)
    monkeypatch.chdir(other.folder)

    assert path == runner_claude.find({"PATH": on_path(claude.folder)})
    assert elsewhere == runner_claude.find({"PATH": on_path(claude.folder), "TENON_CLAUDE": elsewhere})
    assert path == runner_claude.find({"PATH": str(claude.folder), "TENON_CLAUDE": "claude", "CLAUDE_CODE_EXECPATH": elsewhere})
    assert path == runner_claude.find({"PATH": os.pathsep.join(["", ".", str(claude.folder)])})
    assert elsewhere == runner_claude.find({"PATH": "", "CLAUDE_CODE_EXECPATH": elsewhere})
    assert ["", "", ""] == [
        runner_claude.find(env) for env in ({"PATH": os.pathsep.join(["", "."])}, {"PATH": on_path(claude.folder), "TENON_CLAUDE": "no-such-claude"}, {"TENON_CLAUDE": "./claude"})
    ]  # fmt: skip
    monkeypatch.setattr(runner_claude, "PLACES", (str(other.folder),))
    assert elsewhere == runner_claude.find({})


def test_where_there_is_no_claude_code_the_way_out_is_told(claude: ClaudeCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anybody asks, and to whoever does."""
    assert "" == runners.available("claude", settings.load())
    monkeypatch.setenv("PATH", str(claude.folder.parent))

    assert "TENON_CLAUDE" in runners.available("claude", settings.load())
    assert ("away", runners.available("claude", settings.load())) == (failed().kind, str(failed()))


def test_a_program_that_cannot_be_started_is_away(claude: ClaudeCommand) -> None:
    """With the system's own reason."""
    if os.name != "posix":
        pytest.skip("there a program is known by its name")
    claude.path.write_bytes(b"no program at all")

    error = failed()

    assert ("away", True) == (error.kind, str(error).startswith("Claude Code cannot be started ("))


def test_an_answer_that_was_cut_off_is_none_and_no_more_is_asked(claude: ClaudeCommand) -> None:
    """Claude Code would have the model go on, and hand over the end alone as a whole answer; so it is ended, with all that it started."""
    with Watch() as watch:
        claude.plan(begins(written=11, read=7), speaks('{"operations": [{"te'), stops("max_tokens", 500), waits=True, port=watch.port)
        error = failed()

        assert watch.have_ended()
    assert ("refused", "cut off" in str(error)) == (error.kind, True)
    assert error.answer is not None
    assert (120, 11, 7, 500, None) == (error.answer.input_tokens, error.answer.written, error.answer.read, error.answer.output_tokens, error.answer.dollars)


def test_what_was_asked_again_by_then_is_counted(claude: ClaudeCommand) -> None:
    """The request is charged, though nobody waits for its answer; its words are not taken for one."""
    said = [begins(), speaks('{"operations": [{"te'), stops("max_tokens", 500), begins(given=640), speaks(ANSWER), stops(), result(ANSWER)]
    claude.plan("".join(said))  # at once: the first of it has the child ended
    error = failed()

    assert "refused" == error.kind
    assert error.answer is not None
    assert (760, 500, 2) == (error.answer.input_tokens, error.answer.output_tokens, error.answer.requests)


def test_what_it_asked_again_by_itself_is_no_answer(claude: ClaudeCommand) -> None:
    """However well that one ended: nobody knows what of the first it leaves out."""
    claude.plan(begins() + speaks(ANSWER) + stops() + begins(given=200) + speaks("{}") + stops() + result("{}"))
    error = failed()

    assert ("wrong", "Claude Code asked the model again by itself") == (error.kind, str(error))
    assert error.answer is not None
    assert (320, 30, 2) == (error.answer.input_tokens, error.answer.output_tokens, error.answer.requests)


@pytest.mark.parametrize(
    ("said", "kind", "tokens"),
    [
        ([begins(), speaks("I cannot help with that."), stops("refusal", 9)], "refused", 129),
        ([begins(), speaks(SECRET), stops("model_context_window_exceeded", 9)], "refused", 129),
        ([begins(), stops("end_turn", 1), begins(given=200)], "wrong", 321),
        ([begins(), speaks(ANSWER), stops(), begins(given=200)], "wrong", 350),
        ([begins(), speaks(ANSWER), stops("tool_use", 9)], "wrong", 129),
        ([begins(), speaks(ANSWER)], "wrong", 120),
        ([result("")], "wrong", 168), ([result(None)], "wrong", 168), ([result(ANSWER, stop_reason="max_tokens")], "refused", 168),
        ([result(None, subtype="error_during_execution")], "wrong", 168), ([result(ANSWER, is_error=True)], "wrong", 168),
    ],
)  # fmt: skip
def test_what_is_no_whole_answer_is_a_failure_with_what_it_took(claude: ClaudeCommand, said: list[str], kind: str, tokens: int) -> None:
    """However well it reads."""
    claude.plan("".join(said))
    error = failed()

    assert (kind, tokens) == (error.kind, error.answer and error.answer.tokens)


@pytest.mark.parametrize(
    ("words", "more", "kind", "tells"),
    [
        ("Not logged in · Please run /login", {}, "away", "/login"), ("Invalid API key · Fix external API key", {"api_error_status": 400}, "away", "(400)"),
        ("Failed to authenticate. API Error: 403 " + SECRET, {"api_error_status": 403}, "away", "(403)"), ("Login expired · Please run /login", {}, "away", ""),
        ("Prompt is too long", {"api_error_status": 400, "terminal_reason": "prompt_too_long"}, "long", "window"),
        ("API Error: Request rejected (429) · " + SECRET, {"api_error_status": 429, "api_error_type": "rate_limit_error"}, "limited", "(429 rate_limit_error)"),
        ("API Error: 529 Overloaded.", {"api_error_status": 529, "api_error_type": "overloaded_error"}, "limited", "(529 overloaded_error)"), ("API Error: Overloaded", {}, "limited", ""),
        ("You've hit your session limit · resets 3pm", {}, "limited", "later"), ("Claude AI usage limit reached|1796056", {}, "limited", "later"), ("Credit balance is too low", {"api_error_status": 400}, "limited", ""),
        ("API Error: Claude's response exceeded the 500 output token maximum.", {}, "refused", ""), ("API Error: 500 " + SECRET, {"api_error_status": 500, "api_error_type": SECRET}, "wrong", "(500)"),
        ("There's an issue with the selected model (haiku).", {"api_error_status": 404}, "wrong", "tenon config digest.model"), ("Unknown command: /x", {}, "wrong", ""), (None, {"errors": [SECRET]}, "wrong", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_error", [True, False])
def test_an_error_in_the_place_of_an_answer_is_none(
    claude: ClaudeCommand, words: str | None, more: dict[str, Any], kind: str, tells: str, is_error: bool
) -> None:
    """Whether it is marked as one or not; of its words nothing is told but the API's status and name for it."""
    claude.plan(failure(words, is_error=is_error, **more), code=1)
    error = failed()

    assert (kind, None, True) == (error.kind, error.answer, tells in str(error)), str(error)


@pytest.mark.parametrize(
    ("said", "errors", "code", "kind"),
    [
        ("", f"error: unknown option, {SECRET}", 1, "wrong"), ("", "", 0, "wrong"), (f"I am so sorry; {SECRET}\n", "", 0, "wrong"), (result(ANSWER)[:90], "", 0, "wrong"),
        ("[1, 2]\nnull\n" + "[" * 100_000 + "\n", "", 0, "wrong"), (line(type="stream_event", event=5), "", 0, "wrong"), ("", "Not logged in. Run claude auth login to authenticate.", 1, "away"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_no_answer(claude: ClaudeCommand, said: str, errors: str, code: int, kind: str) -> None:
    """An error exit, prose, half of a line, JSON of another kind."""
    claude.plan(said, errors=errors, code=code)
    error = failed()

    assert (kind, None) == (error.kind, error.answer)


def test_lines_of_other_kinds_are_passed_over(claude: ClaudeCommand) -> None:
    """Newer versions say more."""
    claude.plan(
        "a warning\n",
        line(type="system", subtype="news"),
        line(type="stream_event", event={"type": "ping"}),
        line(type="assistant", message=None),
        says(ANSWER),
    )

    assert ANSWER == ask().text


def test_a_whole_answer_without_the_stream_is_one(claude: ClaudeCommand) -> None:
    """From a version that says its last line alone."""
    claude.plan(result(ANSWER))

    assert (ANSWER, "claude-haiku-5-5", 30) == (ask().text, ask().model, ask().output_tokens)


def test_one_that_does_not_answer_is_ended_in_time(claude: ClaudeCommand) -> None:
    """What it took by then is not known; nothing of it is left."""
    claude.plan(begins(), waits=True)
    error = failed(timeout_s=0.3)

    assert ("late", None, "there was no answer within 0.3 s") == (error.kind, error.answer, str(error))
    assert [] == os.listdir(str(tempfile.tempdir))


def test_one_that_does_not_end_after_its_answer_is_ended(claude: ClaudeCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is taken, and what it started goes with it."""
    monkeypatch.setattr(runner_claude, "GRACE_S", 0.1)
    with Watch() as watch:
        claude.plan(says(ANSWER), waits=True, port=watch.port)

        assert ANSWER == ask().text
        assert watch.have_ended()


def test_one_that_says_too_much_is_ended(claude: ClaudeCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all of it is kept in memory."""
    monkeypatch.setattr(runner_claude, "LARGEST_BYTES", 1 << 20)
    claude.plan(floods=True)
    error = failed()

    assert ("wrong", "Claude Code said more than 1 MiB") == (error.kind, str(error))


def test_of_a_question_nothing_is_written_down(claude: ClaudeCommand) -> None:
    """Neither where it goes well nor where it fails."""
    ask()
    claude.plan(failure(f"API Error: 400 {SECRET}"))
    failed()

    kept = [path for path in Path(paths.home()).rglob("*") if path.is_file()]
    assert [] == [path for path in kept if SECRET.encode() in path.read_bytes()]
