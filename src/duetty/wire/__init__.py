"""Shapes at the boundary: what comes in is checked here, what goes out is described here."""
