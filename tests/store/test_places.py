"""Which repository a folder belongs to, over its life: worktrees, moves, origins, aliases."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.store import db, places


def git(folder: Path, *arguments: str) -> None:
    """Runs git, which must succeed."""
    identity = ["-c", "user.name=x", "-c", "user.email=x@y.test", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def land(tmp_path: Path) -> Path:
    """A folder to make repositories in."""
    land = (tmp_path / "mes dépôts").resolve()
    land.mkdir()
    return land


@pytest.fixture
def store(tmp_path: Path) -> Iterator[db.Store]:
    """An open store."""
    with db.open_store(str(tmp_path / "tenon" / "tenon.db")) as store:
        yield store


def test_reading_and_writing_use_one_key(store: db.Store, land: Path) -> None:
    """What settle wrote is what find finds, from any folder of the repository."""
    git(land, "init", "a")
    (land / "a" / "src").mkdir()
    assert places.find(store, str(land / "a")) is None
    assert places.settle(store, str(land / "a" / "src"), 1.0) == places.find(store, str(land / "a"))


def test_two_folders_without_git_never_share(store: db.Store, land: Path) -> None:
    """The same name elsewhere is another place."""
    for name in ("one", "two"):
        (land / name / "app").mkdir(parents=True)
    assert places.settle(store, str(land / "one" / "app"), 1.0) != places.settle(store, str(land / "two" / "app"), 1.0)


def test_a_moved_repository_without_origin_keeps_its_memory(store: db.Store, land: Path) -> None:
    """It is recognised where it is now, and a new one in its old place is another."""
    git(land, "init", "a")
    before = places.settle(store, str(land / "a"), 1.0)
    (land / "a").rename(land / "b")
    assert before == places.find(store, str(land / "b"))
    assert before == places.settle(store, str(land / "b"), 2.0)
    git(land, "init", "a")
    assert places.find(store, str(land / "a")) is None
    assert before != places.settle(store, str(land / "a"), 3.0)


def test_a_copied_repository_without_origin_is_another(store: db.Store, land: Path) -> None:
    """Both exist, so they are two."""
    git(land, "init", "a")
    before = places.settle(store, str(land / "a"), 1.0)
    shutil.copytree(land / "a", land / "copy", copy_function=shutil.copy2)
    assert before != places.settle(store, str(land / "copy"), 2.0)


def test_an_origin_added_later_keeps_what_was_known(store: db.Store, land: Path) -> None:
    """Memories written before `git remote add` are in scope after it, for every clone."""
    git(land, "init", "a")
    before = places.settle(store, str(land / "a"), 1.0)
    git(land / "a", "remote", "add", "origin", "https://github.com/acme/widgets.git")
    after = places.settle(store, str(land / "a"), 2.0)
    assert before in places.scope(store, after)
    git(land, "init", "clone")
    git(land / "clone", "remote", "add", "origin", "git@github.com:ACME/Widgets")
    assert after == places.settle(store, str(land / "clone"), 3.0)


def test_another_origin_is_another_repository(store: db.Store, land: Path) -> None:
    """A clone of a template that gets its own origin does not take the template's memories along."""
    git(land, "init", "a")
    git(land / "a", "remote", "add", "origin", "https://github.com/acme/template")
    before = places.settle(store, str(land / "a"), 1.0)
    git(land / "a", "remote", "set-url", "origin", "https://github.com/acme/product")
    assert before != places.settle(store, str(land / "a"), 2.0)


def test_worktrees_share_and_a_removed_one_is_remembered(store: db.Store, land: Path) -> None:
    """The folder of a worktree that is gone still belongs to its repository."""
    git(land, "init", "a")
    git(land / "a", "commit", "--allow-empty", "-m", "begin")
    git(land / "a", "worktree", "add", "../feature")
    main = places.settle(store, str(land / "a"), 1.0)
    assert main == places.settle(store, str(land / "feature"), 1.0)
    shutil.rmtree(land / "feature")
    assert main == places.find(store, str(land / "feature"))
    assert main == places.settle(store, str(land / "feature" / "src"), 2.0)


def test_an_alias_joins_two_repositories_until_it_is_taken_back(store: db.Store, land: Path) -> None:
    """Both scopes hold both while the alias stands."""
    for name in ("old", "new"):
        (land / name).mkdir()
    old, new = (places.settle(store, str(land / name), 1.0) for name in ("old", "new"))
    places.join(store, f"path:{land / 'old'}", f"path:{land / 'new'}", 2.0)
    assert {old, new} == set(places.scope(store, places.find(store, str(land / "old"))))
    assert new == places.settle(store, str(land / "old"), 3.0)
    places.part(store, f"path:{land / 'old'}", 4.0)
    assert [old] == places.scope(store, places.find(store, str(land / "old")))


def test_an_alias_of_an_unknown_repository_names_the_known_ones(store: db.Store, land: Path) -> None:
    """The refusal says what there is."""
    places.settle(store, str(land), 1.0)
    with pytest.raises(TenonError, match=f"known are: path:{land}"):
        places.join(store, "github.com/acme/nothing", f"path:{land}", 2.0)


def test_a_folder_name_that_is_no_text_is_a_place_too(store: db.Store, land: Path) -> None:
    """A name in another encoding does not stop anything."""
    folder = str(land) + "/\udcff\udcfe"
    assert places.settle(store, folder, 1.0) == places.find(store, folder)
