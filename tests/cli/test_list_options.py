"""The command line has the same list filters as the API, with the same meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from typer.main import get_command

from scrapersky.cli.app import build_full_app
from scrapersky.cli.options import add_filter_options
from scrapersky.contacts.listing import CONTACTS, SUPPRESSIONS
from scrapersky.jobs.listing import JOBS
from scrapersky.leads.listing import LEADS
from scrapersky.lists import Listing
from scrapersky.operations.listing import DEAD_LETTER_LISTING
from scrapersky.webhooks.listing import DELIVERIES, ENDPOINTS

LISTS: dict[str, Listing] = {
    "leads": LEADS,
    "contacts": CONTACTS,
    "suppression list": SUPPRESSIONS,
    "job list": JOBS,
    "dead-letter list": DEAD_LETTER_LISTING,
    "webhook list": ENDPOINTS,
    "webhook deliveries": DELIVERIES,
}
NO_LISTS = {
    "audit": "It is read by a cursor of its own, by who and what and when.",
    "batch status": "It shows one batch.",
    "host list": "Hosts are nobody's rows; the API narrows them by the same one word.",
}
"""Commands that show at most so many of something, which is no list of the API's."""


def _commands(group: Any, *words: str) -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield " ".join((*words, name)), command
        yield from _commands(command, *words, name)


COMMANDS = dict(_commands(get_command(build_full_app())))


def test_every_command_that_shows_at_most_so_many_is_a_list_or_says_why_not() -> None:
    bounded = {
        name
        for name, command in COMMANDS.items()
        if any("--limit" in each.opts for each in command.params)
    }

    assert bounded == LISTS.keys() | NO_LISTS.keys()


@pytest.mark.parametrize("words", LISTS)
def test_a_list_command_has_an_option_for_every_filter_of_its_list(words: str) -> None:
    listing = LISTS[words]
    offered = {each.name: each for each in COMMANDS[words].params}

    for name, field in listing.filter_model.model_fields.items():
        kinds = get_args(field.annotation)
        option = offered[name]
        assert f"--{name.replace('_', '-')}" in option.opts
        assert option.help == field.description
        assert option.multiple == any(get_origin(each) is list for each in kinds), name
        assert bool(option.secondary_opts) == (bool in kinds), name


@pytest.mark.parametrize("words", LISTS)
def test_a_list_command_is_narrowed_by_its_own_list(words: str) -> None:
    assert COMMANDS[words].callback.__wrapped__.listing is LISTS[words]


@pytest.mark.parametrize("words", LISTS)
def test_no_two_options_of_a_command_have_one_name(words: str) -> None:
    spelled = [
        name for each in COMMANDS[words].params for name in (*each.opts, *each.secondary_opts)
    ]

    assert len(spelled) == len(set(spelled))


def test_a_shorter_name_is_that_of_a_filter() -> None:
    with pytest.raises(ValueError, match="Lead has no filter colour"):
        add_filter_options(LEADS, colour="--color")
