"""Parameters that share a description in a docstring keep their own types and defaults on the page.

The parser of `rtol, max_steps` gives both the type and the default of the first.
"""

from __future__ import annotations

from typing import Any

import griffe


class EachParameter(griffe.Extension):
    """Takes type and default of every documented parameter from the signature."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Whatever has parameters reads its docstring with them, when it is asked to: dataclasses get theirs late."""
        if isinstance(obj, griffe.Function | griffe.Class) and (found := obj.docstring) is not None:
            obj.docstring = _Signed(
                found.value,
                lineno=found.lineno,
                endlineno=found.endlineno,
                parent=obj,
                parser=found.parser,
                parser_options=found.parser_options,
            )


class _Signed(griffe.Docstring):
    def parse(self, *arguments: Any, **options: Any) -> list[griffe.DocstringSection]:
        sections = super().parse(*arguments, **options)
        assert isinstance(self.parent, griffe.Function | griffe.Class)
        signature = {parameter.name: parameter for parameter in self.parent.parameters}
        for section in sections:
            if section.kind is griffe.DocstringSectionKind.parameters:
                for written in section.value:
                    if (own := signature.get(written.name.lstrip("*"))) is not None:
                        written.annotation, written.value = own.annotation, own.default
        return sections
