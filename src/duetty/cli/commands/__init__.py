"""One module per command: `add_arguments(parser)` and `run(arguments) -> exit code`.

Knows arguments, texts and exit codes; nothing of how the work is done.
"""
