"""What was typed, as the API takes it: the same limits, said in a sentence."""

from __future__ import annotations

import sys
from typing import Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from scrapersky.errors import InvalidInput
from scrapersky.http.lists import Listing

Model = TypeVar("Model", bound=BaseModel)


def as_asked(model: type[Model], **given: Any) -> Model:
    try:
        return model(**given)
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][-1]) if first["loc"] else "It"
        raise InvalidInput(f"{where} does not fit: {first['msg']}.") from None


def order_of(listing: Listing, text: str) -> str:
    if text.removeprefix("-") not in listing.sorts:
        raise InvalidInput(f"There is no order by {text}; known are {', '.join(listing.sorts)}.")
    return text


def ask(sentence: str, *, yes: bool) -> None:
    """For what cannot be taken back."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Nobody is here to be asked; add --yes if that is meant.")
    typer.confirm(f"{sentence} Go on?", abort=True, err=True)
