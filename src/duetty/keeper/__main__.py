"""`python -m duetty.keeper` is the keeper process."""

from duetty.keeper.process import main

raise SystemExit(main())
