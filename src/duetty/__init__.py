"""One terminal, two drivers: a person and an AI agent share real terminals."""

__version__ = "0.1.0"
