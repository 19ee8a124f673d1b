"""What in a workspace stays read-only: files that programs outside run or obey later."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from duetty.errors import SandboxUnavailable
from duetty.sandbox.bounded_reads import bytes_of
from duetty.sandbox.git_config import Named, parse_named
from duetty.sandbox.hidden_files import is_within
from duetty.sandbox.placeholders import is_plain, make_empty, make_empty_file
from duetty.sandbox.protected_names import DATA, MADE, OF_THE_HOME, PROTECTED
from duetty.sandbox.stat_checks import check_absent, is_directory, stat_of
from duetty.sandbox.symlinks import way_of

GIT_FILES = ("hooks", "config", "config.worktree", "info", "commondir", "gitdir")
"""Of a directory of git's: each can name a program that git runs."""

CONFIGS = ("config", "config.worktree")
OTHERS = (".hg", ".jj")
"""Repositories of other programs, with settings that name programs, too."""

OF_THE_PERSON = (".gitconfig", ".config/git/config")
OF_THE_MACHINE = Path("/etc/gitconfig")

MAX_REPOSITORIES = 256
MAX_LOOKED_AT = 100_000
"""Entries of directories, and names in configurations of git's, that one look at a workspace takes in."""

OF_GIT = 10
"""What an entry of git's own counts: each is a directory to be opened, and no project has many."""

MAX_NAME_BYTES = 4_096
MAX_CONFIG_BYTES = 256 << 10
"""Of one file: what a person has is far smaller."""

MAX_CONFIGS_BYTES = 4 << 20
MAX_INCLUDES = 10
"""Within one another, as git has it."""

REPOSITORY_DEPTH = 3
MODULE_DEPTH = 6
"""Submodules within submodules, and names with slashes in them."""

HOOKS_DEPTH = 3
"""Directories of hooks within directories of hooks."""

MAX_MADE = 64
"""Empty files and directories for one workspace: each is a mount, and a person finds it later."""


_PROTECTED: dict[str, list[str]] = {}
"""By their first part: what is not in a directory is not looked for."""

for _name in PROTECTED:
    _PROTECTED.setdefault(_name.partition("/")[0].lower(), []).append(_name)


def protected(
    workspaces: Sequence[Path], *, whole_git: bool = False, homes: Sequence[Path] = ()
) -> dict[Path, Path]:
    """Each with the workspace that it is in.

    As it is now, by paths without a link in them: what a link leads to is not in the workspace.

    `whole_git`: all that git keeps, so that nothing can be committed either.
    `homes`: the person's, whose settings of git hold in every repository.

    Raises:
        SandboxUnavailable: if it is unknown what is there: there are too many files, or some are closed.
    """
    found: dict[Path, Path] = {}
    for workspace in workspaces:
        for path in _Look(workspace, workspaces, homes).protected(whole_git=whole_git):
            around = next((each for each in workspaces if each in path.parents), None)
            if around is not None:
                found[path] = around
    for home in {home.resolve() for home in homes}:
        if (around := next((each for each in workspaces if is_within(home, [each])), None)) is None:
            continue
        for name in (".local", ".local/lib"):
            make_empty(home / name)
        found |= {home / name: around for name in OF_THE_HOME if is_plain(home / name)}
    return found


def repositories(workspace: Path) -> list[Path]:
    """Every `.git` near the top, and directories that git would take for one.

    Raises:
        SandboxUnavailable: as `protected` does.
    """
    return _Look(workspace, [workspace], []).gits()


@dataclass(slots=True)
class _Look:
    """One look at a workspace, with a bound: a hostile program may have made it endless."""

    workspace: Path
    workspaces: Sequence[Path]
    homes: Sequence[Path]
    looked_at: int = 0
    config_bytes: int = 0
    made: int = 0
    configs: dict[Path, Named] = field(default_factory=dict[Path, Named])
    listed: dict[Path, frozenset[str] | None] = field(
        default_factory=dict[Path, "frozenset[str] | None"]
    )
    tops: dict[Path, None] = field(default_factory=dict[Path, None])
    """Of the workspace and of repositories: what is worked in."""

    def protected(self, *, whole_git: bool) -> dict[Path, None]:
        found: dict[Path, None] = {}
        gits = self.gits()
        self.tops |= dict.fromkeys((self.workspace, *(git.parent for git in gits)))
        for top in self.tops:
            found |= dict.fromkeys(self.named_at(top))
        directories = 0
        for git in gits:
            if whole_git or _is_file(git):  # of a worktree or submodule, it says where git looks
                found[git] = None
            for directory, tops in self.git_directories(git):
                directories += 1
                if directories > MAX_REPOSITORIES:
                    raise self.too_much()
                found |= dict.fromkeys([directory] if whole_git else self.of_git(directory))
                found |= dict.fromkeys(self.named_in_configs(directory, tops))
        return found

    # --- by name --------------------------------------------------------------------

    def named_at(self, top: Path) -> Iterator[Path]:
        """Files of these names, and where they lead if they are links."""
        there = self.names(top)
        for first in _PROTECTED if there is None else there & _PROTECTED.keys():
            for name in _PROTECTED[first]:
                if stat_of(f"{top}/{name}") is not None:
                    yield from self.led_to(top / name)
        for name, beside in MADE.items():
            if self.may_have(top, name) and is_plain(top / beside):
                yield from self.led_to(top / name, made=True)

    def names(self, top: Path) -> frozenset[str] | None:
        """Of what is in it, in small letters; None where they cannot be read."""
        if top not in self.listed:
            is_listed = os.access(top, os.R_OK, effective_ids=True)
            names = frozenset(each.name.lower() for each in self.entries(top))
            self.listed[top] = names if is_listed else None
        return self.listed[top]

    def may_have(self, top: Path, name: str) -> bool:
        """By one look at the directory: most names are in none."""
        there, first = self.names(top), name.partition("/")[0]
        return there is None or first == ".." or first.lower() in there

    def led_to(self, path: Path, *, made: bool = False) -> Iterator[Path]:
        """What is there, and where links lead from it, in the workspaces.

        Directories that hold links on the way are among them: a link cannot be covered, and
        a program that exchanges it leads elsewhere. Not those that are worked in.

        `made`: if nothing is there, an empty file.
        """
        way = way_of(path)
        if way is None:
            return
        around = self.around(way.end)
        if way.mode is None and not made:
            return
        if around is not None and way.mode is None:
            self.make()
            make_empty_file(way.end, within=around)
        leads_back = way.end != path and is_within(path, [way.end])
        is_there = way.mode is not None and not way.holders
        if around is not None and not leads_back and (is_there or is_plain(way.end)):
            yield way.end
        for holder in way.holders:
            is_worked_in = any(is_within(top, [holder]) for top in self.tops)
            if self.around(holder) is not None and not is_worked_in:
                yield holder

    def around(self, path: Path) -> Path | None:
        """The workspace that it is in; a whole one is not protected, or it would be none."""
        return next((each for each in self.workspaces if each in path.parents), None)

    def make(self) -> None:
        self.made += 1
        if self.made > MAX_MADE:
            raise self.too_much()

    # --- repositories ---------------------------------------------------------------

    def gits(self) -> list[Path]:
        """Every `.git` near the top; a workspace may hold several repositories."""
        first = self.workspace / ".git"
        found = {first: None} if is_plain(first) else {}
        level = [self.workspace]
        for _ in range(REPOSITORY_DEPTH + 1):
            below: list[Path] = []
            for directory in level:
                for entry in self.entries(directory):
                    if len(found) > MAX_REPOSITORIES:
                        raise self.too_much()
                    if entry.name == ".git" and not entry.is_symlink():
                        found[Path(entry.path)] = None
                    elif entry.name in OTHERS:
                        self.tops[directory] = None
                    elif entry.name == "HEAD" and _is_git(directory):  # bare, or of another name
                        found[directory] = None
                    elif entry.name != "node_modules" and _is_directory(entry):
                        below.append(Path(entry.path))
            level = below
        return list(found)

    def git_directories(self, git: Path) -> Iterator[tuple[Path, list[Path]]]:
        """The repository's own, wherever in the workspace, and those of its submodules and worktrees.

        Each with the tops of the work trees that are known to be its.
        """
        if _is_file(git):
            named = self.named(git)
            common = None if named is None else self.named(named / "commondir")
            for each in (named, common):
                if each is not None and self.workspace in each.parents and is_plain(each):
                    yield each, [git.parent]
            return
        tops = [git.parent] if git.name == ".git" else []
        for worktree in self.entries(git / "worktrees", each=OF_GIT):
            if _is_directory(worktree):
                named = self.named(Path(worktree.path) / "gitdir")
                top = [] if named is None else [named.parent]
                tops += top
                yield Path(worktree.path), top
        yield git, tops
        yield from self.modules(git)

    def modules(self, git: Path) -> Iterator[tuple[Path, list[Path]]]:
        """Where their work trees are, their own `config` says."""
        level = [f"{git}/modules"]
        for _ in range(MODULE_DEPTH):
            below: list[str] = []
            for directory in level:
                for entry in self.entries(directory, each=OF_GIT):
                    if not _is_directory(entry):
                        continue
                    if (
                        stat_of(f"{entry.path}/HEAD") is not None
                    ):  # or a link that leads nowhere yet
                        yield Path(entry.path), []
                        below.append(f"{entry.path}/modules")
                    else:
                        below.append(entry.path)
            level = below

    def of_git(self, directory: Path) -> Iterator[Path]:
        if is_directory(directory / "objects"):
            make_empty(directory / "hooks")
        for name in GIT_FILES:
            if stat_of(f"{directory}/{name}") is not None:
                yield from self.led_to(directory / name)
        yield from self.hooks(directory / "hooks")

    def hooks(self, directory: Path) -> Iterator[Path]:
        """Where those lead that are links."""
        level = [str(directory)]
        for _ in range(HOOKS_DEPTH):
            below: list[str] = []
            for each in level:
                for entry in self.entries(each):
                    if entry.is_symlink():
                        yield from self.led_to(Path(entry.path), made=True)
                    elif _is_directory(entry):
                        below.append(entry.path)
            level = below

    def named(self, file: Path) -> Path | None:
        """The directory that a file of git's names: `gitdir: …`, or a plain path (`commondir`)."""
        if not is_within(file, self.workspaces):
            return None
        try:
            raw = bytes_of(file, MAX_NAME_BYTES, through_links=False)
        except OSError as error:
            check_absent(file, error)
            return None
        # To git a name ends where a string of C does, and line ends behind it are no part of it.
        text = raw.partition(b"\0")[0].decode("utf-8", "surrogateescape").rstrip("\r\n")
        path = text.removeprefix("gitdir: ")
        return Path(os.path.normpath(file.parent / path)) if path else None

    # --- what configurations name ---------------------------------------------------

    def named_in_configs(self, directory: Path, tops: Sequence[Path]) -> Iterator[Path]:
        """Hooks and programs in a workspace, and files that git reads as parts of its configuration."""
        if self.has_worktree_config(directory):
            yield from self.led_to(directory / "config.worktree", made=True)
        own = [directory / name for name in CONFIGS]
        worktrees = [each for config in own for each in self.config(config).worktrees]
        places = [*tops, *(Path(os.path.normpath(directory / each)) for each in worktrees)]
        others = [OF_THE_MACHINE]
        others += [home / name for home in self.homes for name in OF_THE_PERSON]
        seen: set[Path] = set()
        for config in (*own, *others):
            yield from self.obeyed(config, places or [directory], seen, MAX_INCLUDES)
        for config in seen:
            yield from self.programs(self.config(config), places)

    def has_worktree_config(self, directory: Path) -> bool:
        """Of a worktree the repository's own `config` says it."""
        common = self.named(directory / "commondir") or directory
        return (
            is_within(common, self.workspaces)
            and self.config(common / "config").has_worktree_config
        )

    def obeyed(
        self, config: Path, tops: Sequence[Path], seen: set[Path], depth: int
    ) -> Iterator[Path]:
        if config in seen:
            return
        seen.add(config)
        named = self.config(config)
        for text in named.hooks:
            for place in self.placed(text, tops):
                yield from self.hooks_at(place)
        for text in named.includes if depth else ():
            for place in self.placed(text, [config.parent], anywhere=self.is_theirs(config)):
                yield from self.led_to(place, made=not self.is_theirs(place))
                way = way_of(place)
                if way is not None:
                    yield from self.obeyed(way.end, tops, seen, depth - 1)

    def hooks_at(self, place: Path) -> Iterator[Path]:
        """Made if they are not there: git would obey those that a program makes later."""
        way = way_of(place)
        around = None if way is None else self.around(way.end)
        if way is None or around is None:
            return
        if way.mode is None:
            self.make()
            make_empty(way.end, within=around)
        yield from self.led_to(place)
        yield from self.hooks(way.end)

    def programs(self, named: Named, tops: Sequence[Path]) -> Iterator[Path]:
        for word in named.words:
            if "/" not in word and ("." not in word or word.endswith(DATA)):
                continue  # the shell looks for it elsewhere
            for top in tops:
                self.count()
                if not word.startswith(("/", "~")) and not self.may_have(
                    top, os.path.normpath(word)
                ):
                    continue
                for place in self.placed(word, [top]):
                    way = way_of(place)
                    if way is not None and way.is_file:
                        yield from self.led_to(place)

    def placed(self, text: str, bases: Iterable[Path], *, anywhere: bool = False) -> Iterator[Path]:
        """Where a name of a configuration leads: into a workspace, or nothing is looked at."""
        is_of_home = text == "~" or text.startswith("~/")
        for base in [home / text[2:] for home in self.homes] if is_of_home else bases:
            self.count()
            path = Path(os.path.normpath(base if is_of_home else base / text))
            if self.around(path) is not None or (anywhere and self.is_theirs(path)):
                yield path

    def is_theirs(self, file: Path) -> bool:
        """Whether it is the person's own, or the machine's: no program inside wrote it."""
        return not is_within(file, self.workspaces)

    def config(self, file: Path) -> Named:
        if file not in self.configs:
            try:
                raw = bytes_of(file, MAX_CONFIG_BYTES, through_links=self.is_theirs(file))
            except OSError as error:
                check_absent(file, error)
                raw = b""
            self.config_bytes += len(raw)
            if self.config_bytes > MAX_CONFIGS_BYTES:
                raise self.too_much()
            self.configs[file] = parse_named(raw)
        return self.configs[file]

    # --- the end of it --------------------------------------------------------------

    def entries(self, directory: Path | str, *, each: int = 1) -> Iterator["os.DirEntry[str]"]:
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    self.count(each)
                    yield entry
        except OSError as error:
            check_absent(directory, error)

    def count(self, each: int = 1) -> None:
        self.looked_at += each
        if self.looked_at > MAX_LOOKED_AT:
            raise self.too_much()

    def too_much(self) -> SandboxUnavailable:
        return SandboxUnavailable(
            f"{str(self.workspace)!r} has too much in it to find every repository that is to be"
            " protected",
            hint="look what filled it, or name a smaller workspace",
        )


def _is_git(directory: Path) -> bool:
    return is_directory(directory / "objects") and is_directory(directory / "refs")


def _is_file(path: Path) -> bool:
    found = stat_of(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError as error:  # where directories do not say it themselves, it is looked up
        check_absent(entry.path, error)
        return False
