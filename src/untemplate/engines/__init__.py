"""Drives turns on models: `engine.generate(turn, ...)` is the only loop that makes tokens.

What others ask of an engine stands in `engine`, what it tells in `events`. Nothing is loaded from
here: fetching a model needs no numpy.
"""
