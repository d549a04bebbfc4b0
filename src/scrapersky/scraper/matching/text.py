"""Normalize spellings for comparison (case, accents, umlauts, scripts), and edit distance."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_LETTER_REPLACEMENTS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "o", "æ": "a", "Æ": "a", "œ": "o", "Œ": "o", "ł": "l", "Ł": "l",
     "đ": "d", "Đ": "d", "ð": "d", "þ": "th", "ı": "i", "’": "'", "`": "'", "´": "'", "‘": "'"}
)  # fmt: skip
_LETTERS = (
    ("абвгдезийклмнопрстуфыэіј", "abvgdeziyklmnoprstufyeij"),
    ("αβγδεζηικλμνξοπρσςτυφχω", "avgdeziiklmnxoprsstyfho"),
)
_MULTI_LETTERS = {
    "ж": "zh", "х": "h", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sch", "ъ": "", "ь": "", "ю": "yu",
    "я": "ya", "ђ": "dj", "љ": "lj", "њ": "nj", "ћ": "c", "џ": "dz", "є": "ye", "θ": "th",
    "ψ": "ps",
}  # fmt: skip
_ROMANIZATION = str.maketrans(
    {a: b for theirs, ours in _LETTERS for a, b in zip(theirs, ours, strict=True)} | _MULTI_LETTERS
)
"""Approximate romanization; a difference of one letter is tolerated as a typing error."""
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_DOTTED_LEGAL_FORM = re.compile(r"\be\.?\s?([kv])\.?(?=\s|$)")
_POSSESSIVE = re.compile(r"'s\b|s'(?=\s|$)")
_UMLAUTS = re.compile(r"([aou])e")
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=65_536)
def fold_text(text: str) -> str:
    """Normalize text: `Bäckerei` and `Baeckerei` become `backerei`."""
    plain = unicodedata.normalize("NFKD", text.translate(_LETTER_REPLACEMENTS).casefold())
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    if not plain.isascii():
        plain = plain.replace("ου", "u").replace("αυ", "av").translate(_ROMANIZATION)
    return _UMLAUTS.sub(r"\1", plain)


@lru_cache(maxsize=65_536)
def split_words(text: str) -> tuple[str, ...]:
    """Split into normalized words; `G.m.b.H.` is one word, and `Joe's` becomes `joe`."""
    text = text.translate(_LETTER_REPLACEMENTS).casefold()
    text = _DOTTED_LEGAL_FORM.sub(r"e\1", text)
    text = _DOTTED.sub(lambda match: match[0].replace(".", "") + " ", text)
    text = _POSSESSIVE.sub(" ", text).replace("'", "")
    return tuple(fold_text(each) for each in _WORD.findall(unicodedata.normalize("NFC", text)))


@lru_cache(maxsize=16_384)
def is_latin(text: str) -> bool:
    """Return whether the text is comparable with Latin names; Greek and Cyrillic are romanized."""
    letters = [each for each in fold_text(text) if each.isalpha()]
    return bool(letters) and sum(ord(each) < 0x250 for each in letters) * 2 > len(letters)


def edit_distance(left: str, right: str, most: int) -> int:
    """Return the Damerau-Levenshtein distance, or `most + 1` if it exceeds `most`."""
    if left == right:
        return 0
    if abs(len(left) - len(right)) > most or len(set(left) ^ set(right)) > 2 * most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i] + [0] * len(right)
        for j, b in enumerate(right, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > most:
            return most + 1
    return row[-1]
