"""The browser side joined into one script: notebooks and saved pages serve no folder of modules."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r"^import \{ ([^}]*) \} from \"\./([a-z_]+\.js)\";\n", flags=re.M)
_DOCUMENTATION = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", flags=re.M | re.S)  # for readers and the type checker
_EXPORT = re.compile(r"^export (?:async )?(?:class|function\*?|const|let) (\w+)", flags=re.M)


@cache
def joined(entry: str) -> str:
    """A module of the page with all it imports, each in a function of its own, as `modules["NAME.js"]`."""
    parts: dict[str, str] = {}
    _add(entry, parts)
    return "const modules = {};\n" + "\n".join(parts.values())


def page_text(name: str) -> str:
    """A file of the browser side."""
    return (files("reluflow.lab") / "page" / name).read_text(encoding="utf-8")


def _add(name: str, parts: dict[str, str]) -> None:
    text = _DOCUMENTATION.sub("", page_text(name))
    for _, other in _IMPORT.findall(text):
        if other not in parts:
            _add(other, parts)
    body = _IMPORT.sub(lambda found: f'const {{ {found[1]} }} = modules["{found[2]}"];\n', text)
    names = ", ".join(_EXPORT.findall(body))
    body = re.sub(r"^export ", "", body, flags=re.M)
    parts[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {names} }};\n}})();'
