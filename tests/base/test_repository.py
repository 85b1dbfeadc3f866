"""A repository is one key from wherever it is looked at, and two repositories are never one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenon.base.repository import Identity, _config, identify, key_of_url

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
WIDGETS = "https://github.com/acme/widgets.git"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder, as its real path."""
    return Path(os.path.realpath(tmp_path))


def git(folder: Path, *words: str) -> None:
    """Runs git there, away from the configuration of this machine."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", HOME=str(folder), GIT_TERMINAL_PROMPT="0")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, env=clean, check=True, capture_output=True)


def made(folder: Path, origin: str = "") -> Path:
    """A new repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "first")
    if origin:
        git(folder, "remote", "add", "origin", origin)
    return folder


def by_hand(folder: Path, config: str | bytes = "") -> Path:
    """What identify() needs to see of a repository, without git."""
    for name in ("objects", "refs", "hooks"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_bytes(config if isinstance(config, bytes) else config.encode())
    return folder


def bare_by_hand(folder: Path, config: str = "[core]\n\tbare = true\n") -> Path:
    """A folder as a hostile commit can hold it: the layout of a bare repository."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
        (folder / name / ".keep").write_text("")
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(config)
    return folder


def key(folder: Path) -> str:
    """The key alone."""
    return identify(str(folder)).key


def seen(folder: Path) -> tuple[str, str, str]:
    """Key, root and kind."""
    here = identify(str(folder))
    return here.key, here.root, here.kind


GITHUB = [
    "https://github.com/acme/widgets",
    "https://github.com/acme/widgets.git",
    "https://github.com/acme/widgets/",
    "https://github.com/acme/widgets.git/",
    "https://github.com//acme/widgets",
    "https://GitHub.com/Acme/Widgets.git",
    "https://github.com:443/acme/widgets",
    "https://github.com./acme/widgets",
    "https://www.github.com/acme/widgets",
    "https://ghp_token@github.com/acme/widgets.git",
    "https://ada:p%40ss@github.com/acme/widgets.git",
    "https://github.com/acme/w%69dgets",
    "http://github.com/acme/widgets",
    "HTTPS://github.com/acme/widgets",
    "git://github.com/acme/widgets.git",
    "ssh://git@github.com/acme/widgets.git",
    "ssh://git@github.com:22/acme/widgets.git",
    "ssh://git@github.com:acme/widgets.git",
    "ssh://git@ssh.github.com:443/acme/widgets.git",
    "git+ssh://git@github.com/acme/widgets.git",
    "git@github.com:acme/widgets.git",
    "git@github.com:acme/widgets",
    "git@github.com:/acme/widgets.git/",
    "git@GITHUB.com:ACME/widgets.git",
    "github.com:acme/widgets.git",
    "  https://github.com/acme/widgets.git  ",
]


@pytest.mark.parametrize("url", GITHUB)
def test_every_form_of_a_github_url_is_one_key(url: str) -> None:
    """Scheme, user, token, port, case, slashes and .git make no difference."""
    assert "github.com/acme/widgets" == key_of_url(url, "/base")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://gitlab.com/acme/widgets", "gitlab.com/acme/widgets"),
        ("git@gitlab.com:acme/tools/deep/widgets.git", "gitlab.com/acme/tools/deep/widgets"),
        ("ssh://git@altssh.gitlab.com:443/acme/widgets.git", "gitlab.com/acme/widgets"),
        ("https://git.acme.example/Team/Widgets.git", "git.acme.example/Team/Widgets"),
        ("https://git.acme.example:8443/team/widgets", "git.acme.example:8443/team/widgets"),
        ("ssh://git@git.acme.example:2222/team/widgets.git", "git.acme.example:2222/team/widgets"),
        ("[git@git.acme.example:2222]:team/widgets.git", "git.acme.example:2222/team/widgets"),
        ("http://git.acme.example:80/w", "git.acme.example/w"),
        ("http://git.acme.example:443/w", "git.acme.example:443/w"),
        ("https://git.acme.example:/w", "git.acme.example/w"),
        ("git@[2001:db8::1]:team/w.git", "[2001:db8::1]/team/w"),
        ("ssh://git@[2001:db8::1]/team/w.git", "[2001:db8::1]/team/w"),
        ("ssh://git@[2001:db8::1]:22/team/w.git", "[2001:db8::1]/team/w"),
        ("ssh://git@[2001:db8::1]:2222/team/w.git", "[2001:db8::1]:2222/team/w"),
        ("host:srv/git/x.git", "host/~/srv/git/x"),
        ("ssh://host/~ada/x.git", "host/~ada/x"),
        ("https://host.example/srv/x/.git", "host.example/srv/x"),
        ("https://host.example/x.git.git", "host.example/x.git"),
        ("https://host.example/a%20b", "host.example/a b"),
        ("https://host.example/a%2", "host.example/a%2"),
        ("https://host.example/a%zzb", "host.example/a%zzb"),
        ("https://host.example/%E2%82%AC/größe", "host.example/€/größe"),
        ("https://acme.ghe.com/Team/W", "acme.ghe.com/team/w"),
        ("gcrypt::https://github.com/acme/widgets", "github.com/acme/widgets"),
        ("https://acme@dev.azure.com/acme/Big%20Project/_git/widgets", "dev.azure.com/acme/big project/widgets"),
        ("git@ssh.dev.azure.com:v3/acme/Big%20Project/widgets", "dev.azure.com/acme/big project/widgets"),
        ("ssh://git@ssh.dev.azure.com/v3/acme/big%20project/widgets", "dev.azure.com/acme/big project/widgets"),
        ("https://acme.visualstudio.com/DefaultCollection/Big%20Project/_git/widgets", "dev.azure.com/acme/big project/widgets"),
        ("acme@vs-ssh.visualstudio.com:v3/acme/Big%20Project/widgets", "dev.azure.com/acme/big project/widgets"),
        ("https://dev.azure.com/acme/_git/widgets", "dev.azure.com/acme/widgets/widgets"),
    ],
)
def test_other_hosts_keep_what_tells_repositories_apart(url: str, expected: str) -> None:
    """Sub-groups, unusual ports, the case of paths on unknown hosts."""
    assert expected == key_of_url(url, "/base")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("alice@shell.example.com:app.git", "alice@shell.example.com/~/app"),
        ("alice@Shell.Example.com:~/app.git", "alice@shell.example.com/~/app"),
        ("alice@shell.example.com:/~/app.git", "alice@shell.example.com/~/app"),
        ("ssh://alice@shell.example.com/~/app", "alice@shell.example.com/~/app"),
        ("ssh://alice:secret@shell.example.com/%7E/app", "alice@shell.example.com/~/app"),
        ("[alice@shell.example.com:2222]:app", "alice@shell.example.com:2222/~/app"),
        ("ssh://alice@shell.example.com:2222/~/app", "alice@shell.example.com:2222/~/app"),
        ("bob@shell.example.com:~alice/app.git", "shell.example.com/~alice/app"),
        ("ssh://bob@shell.example.com/~alice/app.git", "shell.example.com/~alice/app"),
        ("alice@shell.example.com:/srv/app.git", "shell.example.com/srv/app"),
        ("ssh://alice@shell.example.com/srv/app.git", "shell.example.com/srv/app"),
        ("shell.example.com:/srv/app.git", "shell.example.com/srv/app"),
        ("git@git.acme.example:team/app.git", "git.acme.example/team/app"),
        ("git@git.acme.example:/team/app.git", "git.acme.example/team/app"),
        ("git@git.acme.example:~/team/app.git", "git.acme.example/team/app"),
        ("ssh://git@git.acme.example/team/app", "git.acme.example/team/app"),
        ("https://git.acme.example/team/app", "git.acme.example/team/app"),
        ("org-1234@github.com:acme/app.git", "github.com/acme/app"),
        ("ada@gitlab.com:acme/app.git", "gitlab.com/acme/app"),
        ("acme@acme.ghe.com:team/app.git", "acme.ghe.com/team/app"),
        ("git@git.sr.ht:~ada/app", "git.sr.ht/~ada/app"),
        ("https://git.sr.ht/~ada/app", "git.sr.ht/~ada/app"),
        ("alice@shell.example.com:", ""),
        ("alice@shell.example.com:/", ""),
    ],
)
def test_a_path_below_a_home_folder_keeps_whose_home_it_is(url: str, expected: str) -> None:
    """Unless the user is git or the host a known forge, where the user says nothing about the place."""
    assert expected == key_of_url(url, "/base")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://gitlab.com/o/r?private_token=secret", "gitlab.com/o/r"),
        ("https://gitlab.com/o/r.git?private_token=secret#secret", "gitlab.com/o/r"),
        ("http://h.example/o/r#secret", "h.example/o/r"),
        ("https://h.example?secret/o/r", ""),
        ("https://ada:secret@h.example/o/r", "h.example/o/r"),
        ("https://ada:secr@et@h.example/o/r", "h.example/o/r"),
        ("https://ada:sec/ret@h.example/o/r", "h.example/o/r"),
        ("https://ada:sec/r@et@h.example:8443/o/r", "h.example:8443/o/r"),
        ("https://ada:sec?ret@gitlab.com/o/r?secret", "gitlab.com/o/r"),
        ("https://h.example/cgi?repo=a", ""),
        ("https://ada:sec#ret@h.example/o/r", "h.example/o/r"),
        ("ssh://ada:sec/ret@h.example/o/r", "h.example/o/r"),
        ("https://ada:12/secret@h.example/o/r", ""),
        ("https://ada:12?secret@h.example/o/r", ""),
        ("https://ada:sec/ret@h.example", ""),
        ("https://ada:secret/o/r", ""),
        ("https://sec/ret@h.example/o/r", ""),
        ("https://ada:se@cr/et@h.example/o/r", ""),
        ("https://ada.l:sec/ret@h.example/o/r", ""),
        ("ada:secret@h.example:o/r", ""),
        ("ada:secret@h.example/o/r", ""),
        ("https://h.example/o/r@v1", "h.example/o/r@v1"),
        ("h.example:/o/r@v1", "h.example/o/r@v1"),
        ("ssh://ada:secret@h.example/o/r", "h.example/o/r"),
    ],
)
def test_no_credential_gets_into_a_key(url: str, expected: str) -> None:
    """Where a password cannot be told from a path there is no key at all."""
    assert expected == key_of_url(url, "/base")


@pytest.mark.skipif(os.name == "nt", reason="the path is that of POSIX")
def test_the_user_of_a_file_url_is_left_out() -> None:
    """A share may be written with one."""
    assert "path://server/share/x" == key_of_url("file://ada:secret@server/share/x", "/base")


@pytest.mark.parametrize("url", ["https://h.example/" + "%41" * 300_000, "a/../" * 190_000, "https://h.example/" + "a" * 2031])
def test_a_url_that_is_too_long_is_no_url(place: Path, url: str) -> None:
    """It would hold up the prompt; the path is the key then."""
    assert "" == key_of_url(url, str(place))
    here = by_hand(place / "here", f'[remote "origin"]\n\turl = {url}\n')
    assert (f"path:{here}", str(here), "path") == seen(here)


def test_the_longest_url_is_a_url() -> None:
    """2,048 characters are allowed."""
    assert "h.example/" + "a" * 2030 == key_of_url("https://h.example/" + "a" * 2030, "/base")


@pytest.mark.parametrize(
    "url", ["", "  ", "https://github.com", "https://github.com/", "https:///x", "git@github.com:", "ext::sh -c x", "https://h/a%0ab", "a\0b", "a\nb"]
)
def test_what_cannot_be_a_repository_has_no_key(url: str) -> None:
    """No host, no path, a command, or control characters."""
    assert "" == key_of_url(url, "/base")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://github.com/acme/x", "https://gitlab.com/acme/x"),
        ("https://github.com/acme/a.b", "https://github.com/acme/a-b"),
        ("https://github.com/acme/a_b", "https://github.com/acme/a-b"),
        ("https://github.com/acme/x", "https://github.com/acme/x.wiki.git"),
        ("https://github.com/acme/x", "https://github.com/acmex"),
        ("https://git.example/X", "https://git.example/x"),
        ("https://github.com/acme/x", "https://github.com.example/acme/x"),
        ("https://github.com@evil.example/acme/x", "https://github.com/acme/x"),
        ("https://evil.example/y@github.com/acme/x", "https://github.com/acme/x"),
        ("https://evil.example?@github.com/acme/x", "https://github.com/acme/x"),
        ("https://evil.example#@github.com/acme/x", "https://github.com/acme/x"),
        ("https://evil.example:8443/y@github.com/acme/x", "https://github.com/acme/x"),
        ("https://evil.example:/y@github.com/acme/x", "https://github.com/acme/x"),
        ("https://evil.example:x/y@github.com/acme/x", "https://github.com/acme/x"),
        ("https://me@evil.example:x/y@github.com/acme/x", "https://github.com/acme/x"),
        ("alice@shell.example.com:app.git", "bob@shell.example.com:app.git"),
        ("ssh://alice@shell.example.com/~/app.git", "ssh://bob@shell.example.com/~/app.git"),
        ("shell.example.com:app.git", "shell.example.com:/app.git"),
        ("alice@shell.example.com:app.git", "alice@shell.example.com:/app.git"),
        ("alice@shell.example.com:app.git", "shell.example.com:app.git"),
        ("git@shell.example.com:app.git", "alice@shell.example.com:app.git"),
    ],
)
def test_different_repositories_have_different_keys(one: str, other: str) -> None:
    """Nothing is flattened or cut so that two names fall together."""
    assert key_of_url(one, "/base") != key_of_url(other, "/base")


@pytest.mark.skipif(os.name == "nt", reason="the paths are those of POSIX")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/nowhere/git/x.git", "path:/nowhere/git/x.git"),
        ("file:///nowhere/git/x.git", "path:/nowhere/git/x.git"),
        ("file:///nowhere/a%20b", "path:/nowhere/a b"),
        ("../sibling", "path:/nowhere/sibling"),
        ("./x:y", "path:/nowhere/base/x:y"),
        ("sibling", "path:/nowhere/base/sibling"),
        (".", "path:/nowhere/base"),
        ("C:\\work\\x", "path:C:/work/x"),
        ("C:/work/x", "path:C:/work/x"),
        ("file:///C:/work/x", "path:C:/work/x"),
        ("//server/share/x/../y", "path://server/share/y"),
        ("file://server/share/x", "path://server/share/x"),
    ],
)
def test_a_path_is_not_mistaken_for_a_host(url: str, expected: str) -> None:
    """Local, relative, file and Windows forms."""
    assert expected == key_of_url(url, "/nowhere/base")


def test_a_tilde_is_the_home_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As git has it for local repositories."""
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("USERPROFILE", str(place))
    assert f"path:{os.path.normcase(place / 'x.git')}" == key_of_url("~/x.git", "/base")


@needs_git
def test_main_worktrees_and_subfolders_are_one_repository(place: Path) -> None:
    """With and without origin; each worktree is its own root."""
    main = made(place / "main")
    git(main, "worktree", "add", "../one")
    git(main, "worktree", "add", str(main / ".claude" / "two"))
    one, two = place / "one", main / ".claude" / "two"
    (main / "src" / "deep").mkdir(parents=True)
    (one / "src").mkdir()
    expected = "path:" + str(main)
    assert {expected} == {key(folder) for folder in (main, one, two, main / "src" / "deep", one / "src")}
    assert [str(main), str(one), str(two), str(one)] == [identify(str(folder)).root for folder in (main / "src", one, two, one / "src")]
    assert 1 == len({identify(str(folder)).fingerprint for folder in (main, one, two)})
    git(main, "remote", "add", "origin", WIDGETS)
    assert {"github.com/acme/widgets"} == {key(folder) for folder in (main, one, two, main / "src" / "deep", one / "src")}


@needs_git
def test_relative_worktree_links_are_followed(place: Path) -> None:
    """Newer git writes them relative when asked to."""
    main = made(place / "main")
    git(main, "worktree", "add", "../one")
    (place / "one" / ".git").write_text("gitdir: ../main/.git/worktrees/one\n")
    assert key(main) == key(place / "one")


@needs_git
def test_a_removed_worktree_is_its_own_path(place: Path) -> None:
    """The store remembers what it was; here it must only not fail."""
    main = made(place / "main")
    gone = main / "trees" / "gone"
    git(main, "worktree", "add", str(gone))
    git(main, "worktree", "remove", str(gone))
    assert (f"path:{gone}", str(gone), "folder") == seen(gone)
    assert (f"path:{gone / 'src'}", str(gone / "src"), "folder") == seen(gone / "src")


@needs_git
def test_a_worktree_without_its_repository_is_its_own_path(place: Path) -> None:
    """The main repository was deleted or moved away."""
    main = made(place / "main")
    git(main, "worktree", "add", "../one")
    shutil.rmtree(main)
    (place / "one" / "src").mkdir()
    assert (f"path:{place / 'one'}", str(place / "one"), "path") == seen(place / "one" / "src")
    assert "" == identify(str(place / "one")).fingerprint


@needs_git
def test_a_submodule_is_a_repository_of_its_own(place: Path) -> None:
    """From its top, from inside, and from its git folder, with an origin or without one."""
    lib, outer = made(place / "lib"), made(place / "outer", WIDGETS)
    git(outer, "submodule", "add", str(lib), "vendor/lib")
    inner = outer / "vendor" / "lib"
    (inner / "src").mkdir()
    assert (f"path:{lib}", str(inner), "origin") == seen(inner) == seen(inner / "src")
    assert "github.com/acme/widgets" == key(outer) == key(outer / "vendor")
    git(inner, "remote", "set-url", "origin", "https://github.com/acme/lib")
    assert ("github.com/acme/lib", str(inner), "origin") == seen(inner / "src")
    git(inner, "remote", "remove", "origin")
    assert (f"path:{inner}", str(inner), "path") == seen(inner / "src") == seen(outer / ".git" / "modules" / "vendor" / "lib" / "hooks")


@needs_git
def test_a_bare_repository_committed_inside_another_one_cannot_claim_an_origin(place: Path) -> None:
    """A hostile checkout does not open the memory of the repository it names."""
    git(place, "init", "checkout")
    git(place / "checkout", "remote", "add", "origin", "https://github.com/stranger/bait")
    git(place / "checkout", "init", "--bare", "docs")
    git(place / "checkout" / "docs", "remote", "add", "origin", "https://github.com/acme/widgets")
    assert "github.com/stranger/bait" == key(place / "checkout" / "docs")


@pytest.mark.parametrize("target", ["c", "../../private/.git", "../private.git"])
@pytest.mark.parametrize("outer", ["stranger/bait", ""])
def test_a_committed_commondir_leads_nowhere(place: Path, target: str, outer: str) -> None:
    """Neither to a folder beside it with any origin, nor to a repository elsewhere; with a repository around or none."""
    origin = f'[remote "origin"]\n\turl = {WIDGETS}\n'
    by_hand(place / "private", origin)
    clone = by_hand(place / "clone", f'[remote "origin"]\n\turl = https://github.com/{outer}\n') if outer else place / "clone"
    app = bare_by_hand(clone / "app")
    bare_by_hand(clone / "private.git", origin)
    bare_by_hand(app / "c", origin)
    (app / "commondir").write_text(target + "\n")
    expected = "github.com/stranger/bait" if outer else f"path:{app}"
    assert expected == key(app)
    if outer:
        assert expected == key(app / "refs") == key(app / "c") == key(clone / "private.git")


def test_bare_layouts_inside_each_other_cannot_claim_an_origin(place: Path) -> None:
    """The repository around all of them counts, however far up it is."""
    clone = by_hand(place / "clone", '[remote "origin"]\n\turl = https://github.com/stranger/bait\n')
    app = bare_by_hand(clone / "app", f'[remote "origin"]\n\turl = {WIDGETS}\n')
    inner = bare_by_hand(app / "x" / "inner", f'[remote "origin"]\n\turl = {WIDGETS}\n')
    assert ("github.com/stranger/bait", str(clone), "origin") == seen(inner) == seen(app)
    deep = clone.joinpath(*["d"] * 250, "app")
    assert "folder" == identify(str(bare_by_hand(deep, f'[remote "origin"]\n\turl = {WIDGETS}\n'))).kind


def test_a_bare_layout_in_a_worktree_below_the_git_folder_cannot_claim_an_origin(place: Path) -> None:
    """Some tools put worktrees there; what is checked out in them is committed all the same."""
    here = by_hand(place / "here", '[remote "origin"]\n\turl = https://github.com/stranger/bait\n')
    link = here / ".git" / "worktrees" / "one"
    link.mkdir(parents=True)
    (link / "HEAD").write_text("ref: refs/heads/one\n")
    (link / "commondir").write_text("../..\n")
    tree = here / ".git" / "trees" / "one"
    app = bare_by_hand(tree / "app", f'[remote "origin"]\n\turl = {WIDGETS}\n')
    (tree / ".git").write_text(f"gitdir: {link}\n")
    assert ("github.com/stranger/bait", str(tree), "origin") == seen(app) == seen(tree)


def test_the_working_tree_that_a_bare_layout_names_is_not_followed(place: Path) -> None:
    """Neither from inside it nor as the origin of another repository."""
    (place / "private").mkdir()
    app = bare_by_hand(place / "app", f"[core]\n\tworktree = {(place / 'private').as_posix()}\n")
    assert (f"path:{app}", str(app), "path") == seen(app)
    assert f"path:{app}" == key_of_url(str(app), str(place))
    (app / "commondir").write_text("../private\n")
    assert f"path:{app}" == key_of_url(str(app), str(place))


@pytest.mark.parametrize("name", ["commondir", "worktree", "gitdir"])
def test_a_link_that_is_too_long_is_not_followed(place: Path, name: str) -> None:
    """No file system takes such a path, and finding that out would hold up the prompt."""
    long = "a/../" * 1000
    here = by_hand(place / "here", f"[core]\n\tworktree = {long}\n" if name == "worktree" else "")
    if name == "commondir":
        (here / ".git" / "commondir").write_text(long)
    elif name == "gitdir":
        (here / ".git").rename(place / "store")
        (here / ".git").write_text(f"gitdir: {long}../store\n")
    assert (f"path:{here}", str(here), "path") == seen(here)


@needs_git
def test_a_bare_repository_and_its_worktrees_are_one(place: Path) -> None:
    """Also when a .git file beside the worktrees points to it."""
    source = made(place / "source")
    git(place, "clone", "--bare", str(source), "project/.bare")
    bare = place / "project" / ".bare"
    git(bare, "remote", "remove", "origin")
    (place / "project" / ".git").write_text("gitdir: ./.bare\n")
    git(bare, "worktree", "add", "../feature")
    assert f"path:{bare}" == key(bare) == key(bare / "refs") == key(place / "project") == key(place / "project" / "feature")


@needs_git
def test_a_clone_of_a_local_repository_is_that_repository(place: Path) -> None:
    """By path, by its .git, without the .git of its name, by file:// and relative."""
    source = made(place / "a source")
    git(place, "clone", "--bare", str(source), "bare.git")
    git(place / "bare.git", "remote", "remove", "origin")
    for number, url in enumerate([str(source), str(source / ".git"), source.as_uri()]):
        git(place, "clone", url, f"one{number}")
        assert (f"path:{source}", "origin") == (key(place / f"one{number}"), identify(str(place / f"one{number}")).kind)
    for number, url in enumerate([str(place / "bare.git"), str(place / "bare")]):
        git(place, "clone", url, f"two{number}")
        assert f"path:{place / 'bare.git'}" == key(place / f"two{number}") == key(place / "bare.git")
    git(place / "two0", "remote", "set-url", "origin", "../a source")
    assert key(source) == key(place / "two0")


@needs_git
def test_two_clones_of_one_origin_are_one_repository(place: Path) -> None:
    """Whatever they are called and however the origin is written."""
    one = made(place / "one", WIDGETS)
    other = made(place / "other", "git@github.com:Acme/widgets")
    assert "github.com/acme/widgets" == key(one) == key(other)
    assert identify(str(one)).fingerprint != identify(str(other)).fingerprint


@needs_git
def test_only_the_remote_named_origin_counts(place: Path) -> None:
    """Another remote, and the URL to push to, say nothing about whose code it is."""
    here = made(place / "here")
    git(here, "remote", "add", "upstream", WIDGETS)
    assert f"path:{here}" == key(here)
    git(here, "remote", "add", "origin", "https://github.com/ada/widgets")
    git(here, "remote", "set-url", "--push", "origin", "https://github.com/ada/push")
    git(here, "remote", "set-url", "--add", "origin", "https://github.com/ada/second")
    assert "github.com/ada/widgets" == key(here)


@needs_git
def test_a_copy_without_origin_is_another_repository(place: Path) -> None:
    """Neither key nor fingerprint is shared, though all times are kept."""
    here = made(place / "here")
    shutil.copytree(here, place / "copy", copy_function=shutil.copy2)
    one, other = identify(str(here)), identify(str(place / "copy"))
    assert one.key != other.key
    assert one.fingerprint != other.fingerprint


@needs_git
def test_a_renamed_repository_keeps_its_fingerprint(place: Path) -> None:
    """The key without origin is the path, so the fingerprint has to tell."""
    here = made(place / "here")
    before = identify(str(here))
    git(here, "commit", "--allow-empty", "-m", "second")
    git(here, "init")
    here.rename(place / "there")
    after = identify(str(place / "there"))
    assert before.fingerprint == after.fingerprint
    assert before.fingerprint.count(":") == 2
    assert (f"path:{here}", f"path:{place / 'there'}") == (before.key, after.key)


@needs_git
def test_a_repository_inside_a_repository_is_its_own(place: Path) -> None:
    """The nearest one counts; its neighbour folders stay with the outer one."""
    outer = made(place / "outer", WIDGETS)
    inner = made(outer / "inner")
    (outer / "beside").mkdir()
    assert [f"path:{inner}", "github.com/acme/widgets"] == [key(inner), key(outer / "beside")]


@needs_git
@pytest.mark.parametrize("name", ["with space", "größe 漢字 🪵", "it's", "a#b;c", "a%20b"] + ([] if os.name == "nt" else ['say "hi"', "back\\slash"]))
def test_unusual_names_are_names(place: Path, name: str) -> None:
    """As the folder of a repository, as a worktree, and as the origin of another one."""
    here = made(place / name)
    git(here, "worktree", "add", "-b", "tree", str(place / (name + " tree")))
    git(place, "clone", str(here), "clone")
    assert f"path:{here}" == key(here) == key(place / (name + " tree")) == key(place / "clone")


@needs_git
def test_a_separate_git_folder_is_one_key_with_its_worktrees(place: Path) -> None:
    """The main working tree cannot be told from a worktree then; the git folder can."""
    git(place, "init", "--separate-git-dir", str(place / "store"), "here")
    git(place / "here", "commit", "--allow-empty", "-m", "first")
    git(place / "here", "worktree", "add", "../tree")
    assert f"path:{place / 'store'}" == key(place / "here") == key(place / "tree") == key(place / "store")
    assert str(place / "here") == identify(str(place / "here")).root


def test_folders_without_git_never_share(place: Path) -> None:
    """Not by name, not with the folder around them."""
    for name in ("a/app", "b/app"):
        (place / name).mkdir(parents=True)
    assert [(f"path:{place / name}", str(place / name), "folder") for name in ("a", "a/app", "b/app")] == [
        seen(place / name) for name in ("a", "a/app", "b/app")
    ]
    assert "" == identify(str(place / "a")).fingerprint


def test_a_git_folder_without_head_is_no_repository(place: Path) -> None:
    """The walk goes on above it."""
    outer = by_hand(place / "outer", f'[remote "origin"]\n\turl = {WIDGETS}\n')
    (outer / "inner" / ".git").mkdir(parents=True)
    assert ("github.com/acme/widgets", str(outer), "origin") == seen(outer / "inner")


def test_inside_the_git_folder_is_inside_the_repository(place: Path) -> None:
    """A session in the hooks folder, say."""
    here = by_hand(place / "here")
    assert (f"path:{here}", str(here), "path") == seen(here / ".git" / "hooks") == seen(here / ".git") == seen(here)


@pytest.mark.parametrize("text", [b"", b"rubbish", b"gitdir: ", b"gitdir: ../nowhere\n", b"gitdir: \0\n", b"gitdir: \xff\xfe\n", b"\xff" * 5000])
def test_a_broken_git_file_marks_the_folder_it_is_in(place: Path, text: bytes) -> None:
    """All of that folder stays together, and apart from the repository around it."""
    outer = by_hand(place / "outer")
    (outer / "inner" / "src").mkdir(parents=True)
    (outer / "inner" / ".git").write_bytes(text)
    assert (f"path:{outer / 'inner'}", str(outer / "inner"), "path") == seen(outer / "inner" / "src")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('[remote "origin"]\n\turl = https://h.example/a\n', "h.example/a"),
        ('[REMOTE "origin"]\r\nURL=https://h.example/a\r\n', "h.example/a"),
        ('[remote "origin"] url = https://h.example/a', "h.example/a"),
        ("[remote.origin]\nurl = https://h.example/a", "h.example/a"),
        ('\ufeff[remote "origin"]\nurl = https://h.example/a', "h.example/a"),
        ('[remote "origin"]\nurl = https://h.example/a # mine', "h.example/a"),
        ('[remote "origin"]\nurl = https://h.example/a;mine', "h.example/a"),
        ('[remote "origin"]\nurl = "https://h.example/a;b" ; mine', "h.example/a;b"),
        ('[remote "origin"]\nurl = "https://h.example/\\"q\\"/back\\\\slash"', 'h.example/"q"/back\\slash'),
        ('[remote "origin"]\nurl = https://h.exam\\\nple/a', "h.example/a"),
        ('[remote "origin"]\nurl\n url = https://h.example/a', "h.example/a"),
        ('[remote "origin"]\npushurl = https://h.example/push\nurl = https://h.example/a\nurl = https://h.example/b', "h.example/a"),
        ('[remote "origin"]\n# url = https://h.example/no\n; url = https://h.example/no \\\nurl = https://h.example/a', "h.example/a"),
        ('[remote "o]ri\\"gin"]\nurl = https://h.example/no\n[remote "origin"]\nurl = https://h.example/a', "h.example/a"),
        ('[alias]\nx = "!f() { \\\n[remote \\"origin\\"] }; f"\nurl = https://h.example/no\n[remote "origin"]\nurl = https://h.example/a', "h.example/a"),
        ('rubbish\n[\n]]\n= =\n[remote "origin"]\nurl = https://h.example/a', "h.example/a"),
        ('[remote "Origin"]\nurl = https://h.example/no', ""),
        ('[remote "origin.x"]\nurl = https://h.example/no', ""),
        ('[remote "upstream"]\nurl = https://h.example/no', ""),
        ('[url "https://h.example/no"]\ninsteadOf = x', ""),
        ('[remote "origin"]\nfetch = +refs/heads/*:refs/remotes/origin/*', ""),
        ('[remote "origin"]\nurl =', ""),
        ('[remote "origin"', ""),
        ('[remote "origin"]\nurl = "https://', ""),
        ("", ""),
    ],
)
def test_the_origin_is_read_as_git_reads_it(place: Path, config: str, expected: str) -> None:
    """Case, quotes, escapes, comments and continued lines of the config file."""
    here = by_hand(place / "here", config)
    assert (expected or f"path:{here}", "origin" if expected else "path") == (key(here), identify(str(here)).kind)


@needs_git
@pytest.mark.parametrize("value", ["a b  c", " outer blanks ", 'q"u\\o;t#e', "tab\there", "größe 漢字", "#", "end\\", "two\nlines"])
def test_a_value_that_git_wrote_is_read_back(place: Path, value: str) -> None:
    """Whatever quoting git chose for it."""
    here = made(place / "here")
    git(here, "config", "remote.origin.url", value)
    assert value == _config(str(here / ".git"))["remote.origin.url"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    config=st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from(
                [
                    b"[remote",
                    b' "origin"',
                    b"]",
                    b"\n",
                    b"url",
                    b" = ",
                    b'"',
                    b"\\",
                    b"#",
                    b"%",
                    b"::",
                    b"://",
                    b"@",
                    b":",
                    b"[",
                    b"\0",
                    b"\xff",
                    b"a",
                    b"/",
                    b".git",
                    b"[core]worktree=",
                ]
            )
        ).map(b"".join),
        st.binary(max_size=60).map(lambda url: b'[remote "origin"]\nurl = ' + url),
    ),
    kind=st.sampled_from(["config", "file", "commondir"]),
)
def test_no_bytes_make_it_fail(place: Path, config: bytes, kind: str) -> None:
    """The answer is always a key that a database takes and a root."""
    folder = place / "here"
    shutil.rmtree(folder, ignore_errors=True)
    by_hand(folder, config)
    if kind == "commondir":
        (folder / ".git" / "commondir").write_bytes(config)
    if kind == "file":
        (folder / "sub").mkdir()
        (folder / "sub" / ".git").write_bytes(b"gitdir: " + config)
        folder = folder / "sub"
    here = identify(str(folder))
    assert here.key.encode()
    assert here.key != "path:"
    assert here.root
    assert here.kind in {"origin", "path", "folder"}


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.text(alphabet='ab:/@[]%.~\\2g-+"\ud800')))
def test_no_url_makes_it_fail(url: str) -> None:
    """The answer is a key that a database takes, or nothing."""
    found = key_of_url(url, os.path.abspath("nowhere"))
    assert found.encode() is not None


@pytest.mark.parametrize("folder", ["", ".", "a\0b", "\ud800", "/nowhere/" + "x" * 5000, "x/" * 5000])
def test_no_folder_name_makes_it_fail(folder: str) -> None:
    """Not even one that no file system takes."""
    assert identify(folder).key.startswith(("path:", "github.com/")) or identify(folder).kind == "origin"


def test_a_folder_that_is_gone_while_one_stands_in_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has no name then."""
    if os.name == "nt":
        pytest.skip("Windows does not remove the current folder")
    (place / "gone").mkdir()
    monkeypatch.chdir(place / "gone")
    (place / "gone").rmdir()
    assert "folder" == identify("sub").kind


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
def test_links_lead_to_one_key_and_loops_end(place: Path) -> None:
    """A link to a repository is the repository; a link to itself is a path."""
    here = by_hand(place / "here")
    (place / "link").symlink_to(here)
    (place / "loop").symlink_to(place / "loop")
    (here / "sub").mkdir()
    (here / "sub" / ".git").symlink_to(here / "sub" / ".git")
    assert key(here) == key(place / "link") == key(place / "link" / "sub")
    assert "folder" == identify(str(place / "loop")).kind


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_the_place_of_a_file_does_not_hang(place: Path) -> None:
    """Nobody writes into it, so opening it would never end."""
    here = by_hand(place / "here")
    (here / ".git" / "config").unlink()
    os.mkfifo(here / ".git" / "config")
    os.mkfifo(here / ".git" / "commondir")
    assert f"path:{here}" == key(here)


def test_the_environment_of_git_is_not_asked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of git may set GIT_DIR for its children; the folder still decides."""
    here, other = by_hand(place / "here"), by_hand(place / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert f"path:{here}" == key(here)


def test_it_loads_nothing_beside_os() -> None:
    """The prompt hook pays for each module it loads."""
    scripts = str(Path(__file__).parents[2] / "scripts")
    code = f"import sys, os; sys.path.insert(0, {scripts!r}); had = set(sys.modules); import tenon.base.repository; print(*sorted(set(sys.modules) - had))"
    out = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert ["__future__", "tenon", "tenon.base", "tenon.base.repository"] == out.split()


def test_an_identity_holds_four_things_and_no_more() -> None:
    """No dictionary per object, and nothing that could be misspelt."""
    with pytest.raises(AttributeError):
        Identity("k", "r", "path").other = 1  # type: ignore[attr-defined]
