"""Names of files that programs outside run or obey later, in whatever directory they are used."""

_SHELLS = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".inputrc", ".config/fish", ".envrc", ".direnvrc",
    ".bash_aliases", ".bash_completion", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login",
    ".logout", ".config/zsh", ".oh-my-zsh", ".config/direnv", ".mise.toml", ".config/mise",
    ".bashrc.d", ".bash.d", ".profile.d", ".bash_functions", ".bash_prompt", ".bash_exports",
    ".bashrc.local", ".zshrc.d", ".zshrc.local", ".zsh.d", ".zsh", ".zfunc", ".zsh_aliases",
    ".aliases", ".functions", ".exports", ".p10k.zsh", ".fzf", ".fzf.bash", ".fzf.zsh", ".zprezto",
    ".zpreztorc", ".zim", ".zimrc", ".zinit", ".zplug", ".antigen", ".antigenrc", ".antidote",
    ".zsh_plugins.txt", ".zsh_plugins.zsh", ".oh-my-bash", ".bash_it", ".blerc", ".config/blesh",
    ".liquidpromptrc", ".config/bash", ".config/sheldon", ".config/starship.toml",
    ".config/oh-my-posh", ".config/nushell", ".config/powershell", ".config/elvish", ".xonshrc",
    ".config/xonsh", ".mise.local.toml", "mise.toml", "mise.local.toml", ".mise", ".autoenv",
    ".autoenv.zsh", ".local/share/direnv", ".local/share/fish/vendor_conf.d", ".local/share/zinit",
    ".local/share/mise", ".local/state/mise",
)  # fmt: skip
"""Shells, what their start-up files read by custom, and what changes directories with them."""

_VERSIONS = (
    ".nvm", ".asdf", ".asdfrc", ".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".tfenv", ".rvm",
    ".rvmrc", ".sdkman", ".volta", ".deno/bin", ".deno/env", ".bun/bin", ".opam", ".ghcup",
    ".rustup/settings.toml", ".local/share/uv/tools", ".local/share/pnpm", ".npm-global",
    ".dotnet/tools", ".krew/bin", ".config/nix", ".config/nixpkgs", ".config/home-manager",
)  # fmt: skip
"""Versions of languages, each with a script that shells read and programs in PATH."""

_STARTED = (
    ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".forward",
    ".local/bin", ".config/autostart", ".config/systemd", ".config/environment.d",
    ".local/share/applications", ".config/plasma-workspace", ".config/i3", ".config/sway",
    ".config/hypr", ".config/sxhkd", ".config/bspwm", ".config/awesome", ".config/openbox",
    ".xbindkeysrc", ".config/kitty", ".config/alacritty", ".config/wezterm", ".wezterm.lua",
    ".config/ghostty", ".config/foot",
)  # fmt: skip
"""What a login or a desktop starts."""

_COMMITS = (
    ".gitconfig", ".gitmodules", ".config/git", ".hgrc", ".config/hg", ".hg/hgrc",
    ".hg/hgrc-not-shared", ".hg/sharedpath", ".jj/repo/config.toml", ".jj/repo/config-id",
    ".jj/workspace-config.toml", ".jj/workspace-config-id", ".jjconfig.toml", ".config/jj",
    ".tigrc", ".config/tig", ".config/lazygit", ".husky", ".huskyrc", ".githooks", ".git-hooks",
    ".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml", ".lefthook",
    ".lefthook-local", "lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json",
    ".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json", "lefthook-local.yml",
    "lefthook-local.yaml", ".lefthook-local.yml", ".lefthook-local.yaml", ".config/lefthook.yml",
    ".overcommit.yml", "captainhook.json", ".simple-git-hooks.js", ".simple-git-hooks.cjs",
    ".simple-git-hooks.json", "simple-git-hooks.js", "simple-git-hooks.cjs",
    "simple-git-hooks.json",
)  # fmt: skip
"""Version control, and what runs at a commit."""

_EDITORS = (
    ".mcp.json", ".vscode", ".idea", ".run", ".fleet", ".zed", ".config/zed", ".config/Code/User",
    ".vscode-server", ".cursor-server", ".devcontainer", ".devcontainer.json", ".claude",
    ".claude.json", ".codex", ".gemini", ".cursor", ".windsurf", ".codeium", ".kiro", ".roo",
    ".amazonq", ".continue", ".copilot", ".opencode", "opencode.json", "opencode.jsonc",
    ".config/opencode", ".aider.conf.yml", ".duetty", ".vimrc", ".gvimrc", ".vim", ".exrc",
    ".lvimrc", ".nvimrc", ".nvim.lua", ".config/nvim", ".config/vim", ".local/share/nvim/site",
    ".emacs", ".emacs.d", ".config/emacs", ".doom.d", ".config/doom", ".spacemacs", ".spacemacs.d",
    ".dir-locals.el", ".dir-locals-2.el", ".nanorc", ".config/nano", ".helix", ".config/helix",
    ".config/kak", ".config/micro",
)  # fmt: skip
"""Editors and agents."""

_BY_HAND = (
    ".gdbinit", ".gdbearlyinit", ".config/gdb", ".lldbinit", ".pdbrc", ".pdbrc.py", ".pythonrc",
    ".pythonrc.py", ".pythonstartup", ".ipython/profile_default/startup",
    ".ipython/profile_default/ipython_config.py", ".jupyter/jupyter_server_config.py",
    ".jupyter/jupyter_notebook_config.py", ".jupyter/jupyter_lab_config.py", ".irbrc", ".pryrc",
    ".byebugrc", ".Rprofile", ".Renviron", ".julia/config", ".octaverc", ".ghci", ".iex.exs",
    ".erlang", ".psqlrc", ".sqliterc", ".duckdbrc", ".mongorc.js", ".mongoshrc.js", ".lessfilter",
    ".lesskey", ".config/lesskey", ".ripgreprc", ".curlrc", ".wgetrc", ".mailcap", ".muttrc",
    ".mutt", ".config/mutt", ".tmux.conf", ".tmux", ".config/tmux", ".screenrc", ".config/zellij",
    ".config/ranger", ".config/lf", ".config/yazi", ".config/vifm", ".config/mpv",
)  # fmt: skip
"""Debuggers, interpreters and clients that are used by hand."""

_PACKAGES = (
    ".npmrc", ".pnpmfile.cjs", ".pnpmfile.mjs", ".yarnrc", ".yarnrc.yml", ".yarn/plugins",
    ".yarn/releases", ".bunfig.toml", ".cargo/config", ".cargo/config.toml", ".cargo/env",
    ".cargo/bin", ".bazelrc", ".mavenrc", ".gemrc", ".pip", ".config/pip", ".condarc",
)  # fmt: skip
"""Package managers."""

PROTECTED = (*_SHELLS, *_VERSIONS, *_STARTED, *_COMMITS, *_EDITORS, *_BY_HAND, *_PACKAGES)
"""At the top of a workspace, and of every repository in it.

Not those that are edited and run on purpose all day (`Makefile`, `package.json`).
"""

MADE = {".hg/hgrc": ".hg/store"}
"""Obeyed as soon as a program makes them: so they are made, empty, where the other one is."""

OF_THE_HOME = (".local/lib", "bin", "go/bin")
"""Modules that every Python of the person loads at its start, and programs in PATH."""

DATA = (".json", ".md", ".txt", ".toml", ".yml", ".yaml", ".lock", ".xml", ".html", ".csv")
"""Named without a directory in a command line, such a file is read, and edited all day."""
