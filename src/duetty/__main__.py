"""`python -m duetty` is `duetty`."""

from duetty.cli.main import main

raise SystemExit(main())
