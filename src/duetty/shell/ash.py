"""ash of busybox: the `sh` of Alpine and of small containers.

It has a line editor, but no hook besides its prompts, and no bracketed paste.
"""

from duetty.shell.kind import ShellKind, by_env_file

ASH = ShellKind(
    name="ash",
    programs=("ash",),
    behind_sh=("ash", "busybox"),
    start_as_sh=by_env_file("duetty.ash"),
    announces="ends",
    has_line_editor=True,
)
