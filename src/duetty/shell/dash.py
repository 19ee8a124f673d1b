"""dash, which is `sh` on many systems. It has no line editor and no hook but its prompts."""

from duetty.shell.kind import ShellKind, by_env_file

DASH = ShellKind(
    name="sh",
    programs=("sh", "dash"),
    behind_sh=("dash",),
    start_as_sh=by_env_file("duetty.sh"),
    announces="ends",
    terminal_assembles_lines=True,
    proven_as="dash",
)
