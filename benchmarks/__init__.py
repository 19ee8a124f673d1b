"""What Duetty costs, measured beside what it is compared with, in one run."""
