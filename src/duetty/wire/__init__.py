"""Shapes at the boundary: what comes in is checked here, what goes out is described here.

The only package that knows pydantic, beside the edges. Knows nothing of what is done with a shape.
"""
