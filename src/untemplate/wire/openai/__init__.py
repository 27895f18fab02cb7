"""OpenAI's chat completions: `conversation` (messages, tools), `request`, `response`, `failure`.

`conversation` needs no extra, so the command line uses it too; `request` and `response` need
msgspec, of the extra `[server]`.
"""
