"""Attach: a session in the terminal where `duetty attach` was typed.

Programs' bytes go to an emulator of our own (`mirror`); what the person's terminal
gets is the difference between two frames of cells (`paint`). See docs/attach.md.

Knows nothing of the session but what its viewing connection sends.
"""
