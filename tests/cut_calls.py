"""Ten tools and what users ask of them, for calls of the embedded model that are cut."""

from untemplate.message import Tool

NAMES = ["Anna", "Bob", "Chen", "Dilek", "Emil", "Fatima", "Größe Ltd", "東京", "Ines", "Jörg"]
TEXT = {"type": "string", "maxLength": 24}


def tool(name, description, **properties):
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return Tool(name, description, parameters)


TOOLS = [
    tool("get_weather", "Weather of a city", city=TEXT),
    tool("send_note", "Send a note", to=TEXT, text=TEXT),
    tool("set_timer", "Set a timer", minutes={"type": "integer", "minimum": 1, "maximum": 600}),
    tool("calculate", "Evaluate an expression", expression=TEXT),
    tool("play_music", "Play a song", title=TEXT, loud={"type": "boolean"}),
    tool("translate", "Translate a text", text=TEXT, language={"enum": ["de", "fr", "日本語"]}),
    tool("list_files", "List the files of a folder", path=TEXT, deep={"type": "boolean"}),
    tool("convert", "Convert an amount", amount={"type": "number"}, to={"enum": ["EUR", "USD"]}),
    tool(
        "book_table",
        "Book a table",
        who={"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        guests={"type": "integer", "minimum": 1, "maximum": 12},
    ),
    tool(
        "tag_photos",
        "Tag photos",
        tags={"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
    ),
]


def asks(count):
    """So many questions, each with the tool that is asked for."""
    for number in range(count):
        tool = TOOLS[number % len(TOOLS)]
        name = NAMES[number // len(TOOLS) % len(NAMES)]
        words = tool.description.lower()
        text = f"{number // 100 + 1}. Please {words} for {name}, number {number * 7 % 31}."
        yield [{"role": "user", "content": text}], tool
