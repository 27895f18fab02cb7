"""Drives turns on models: `engine.generate(turn, ...)` is the only loop that makes tokens."""
