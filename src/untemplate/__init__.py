"""Any LLM chat template, turned inside out: one grammar that masks and reads tool calls."""

__all__: list[str] = []
