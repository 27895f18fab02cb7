"""Shapes that other programs speak, and nothing else: `openai` (chat completions) and `sse`.

A wire module turns bytes of a request into library values and library values into bytes of an
answer. It does no I/O, and it holds no rule about models, templates or engines.
"""
