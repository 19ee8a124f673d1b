"""Ordinary jobs as a model would do them: with tool calls only, scripted, each with a check of its result."""
