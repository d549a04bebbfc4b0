"""How well two descriptions are taken for one business or two, on labelled pairs of our own.

    python -m benchmarks.entity_resolution

`tuned` are the pairs that weights were chosen with; nobody looked at `held out` meanwhile.
"""

from __future__ import annotations

import argparse
from collections import Counter
from time import perf_counter

from scrapersky.scraper.matching.model import MatchResult, MatchVerdict
from tests.scraper.matching.pairs import Pair, figures, judged, labelled_pairs

Results = list[tuple[Pair, MatchResult]]
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="show what is not as labelled")
    options = parser.parse_args()
    results = judged(labelled_pairs())
    parts = {
        "tuned": [each for each in results if not each[0].held_out],
        "held out": [each for each in results if each[0].held_out],
        "all": results,
    }
    print(f"{'':10}{'pairs':>8}{'precision':>12}{'recall':>10}{'doubtful':>11}")
    for name, part in parts.items():
        _print_figures(name, part)
    _print_kinds(results)
    _print_speed()
    if options.wrong:
        _print_wrong(parts["tuned"])


def _print_figures(name: str, part: Results) -> None:
    found = figures(part)
    shares = f"{found.precision:12.3f}{found.recall:10.3f}{found.doubtful:11.1%}"
    print(f"{name:10}{found.pairs:8}{shares}")


def _print_kinds(results: Results) -> None:
    print(f"\n{'kind of pair':32}{'pairs':>7}{'same':>7}{'doubtful':>10}{'different':>11}")
    for kind, count in Counter(pair.kind for pair, _ in results).most_common():
        verdicts = Counter(found.verdict for pair, found in results if pair.kind == kind)
        said = (
            verdicts[each]
            for each in (MatchVerdict.SAME, MatchVerdict.DOUBTFUL, MatchVerdict.DIFFERENT)
        )
        same, doubtful, different = said
        print(f"{kind:32}{count:7}{same:7}{doubtful:10}{different:11}")


def _print_speed() -> None:
    pairs = list(labelled_pairs())
    begun = perf_counter()
    for _ in range(ROUNDS):
        judged(pairs)
    each = (perf_counter() - begun) / ROUNDS / len(pairs)
    print(f"\n{each * 1e6:.0f} µs for a pair")


def _print_wrong(results: Results) -> None:
    for pair, found in results:
        if (found.verdict is MatchVerdict.SAME) != pair.is_same:
            label = "same" if pair.is_same else "different"
            print(f"\n{pair.id} {pair.kind}: {label}, taken for {found.verdict} ({found.score})")
            print(*(f"  {reason}" for reason in found.reasons), sep="\n")


if __name__ == "__main__":
    main()
