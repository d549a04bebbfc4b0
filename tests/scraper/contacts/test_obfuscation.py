"""Obfuscated addresses, and the setting that disables decoding."""

from __future__ import annotations

import base64
import codecs

import pytest

from scrapersky.scraper.contacts.model import ExtractionMethod
from tests.scraper.contacts.finding import methods, only, values


def _cloudflare(text: str, key: int = 0x2A) -> str:
    return bytes([key, *(byte ^ key for byte in text.encode())]).hex()


def _percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def _codes(text: str) -> str:
    return ",".join(str(ord(character)) for character in text)


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


LINK = "<a href='mailto:desk@northwind.de'>Write</a>"

CLOAKS = {
    "Cloudflare's span": (
        f'<span data-cfemail="{_cloudflare("desk@northwind.de")}">[protected]</span>',
        ExtractionMethod.CLOUDFLARE,
    ),
    "Cloudflare's link": (
        f'<a href="/cdn-cgi/l/email-protection#{_cloudflare("desk@northwind.de?cc=")}">x</a>',
        ExtractionMethod.CLOUDFLARE,
    ),
    "TYPO3's call": (
        "<a href=\"javascript:linkTo_UnCryptMailto('ocknvq,fgumBpqtvjykpf0fg')\">x</a>",
        ExtractionMethod.TYPO3,
    ),
    "TYPO3's call in percent signs": (
        '<a href="javascript:linkTo_UnCryptMailto(%27ocknvq%2CfgumBpqtvjykpf0fg%27)">x</a>',
        ExtractionMethod.TYPO3,
    ),
    "TYPO3's old shift": (
        "<a href=\"javascript:linkTo_UnCryptMailto('nbjmup;eftlAopsuixjoe/ef')\">x</a>",
        ExtractionMethod.TYPO3,
    ),
    "TYPO3's token": (
        '<a data-mailto-token="ocknvq,fgumBpqtvjykpf0fg" data-mailto-vector="2">x</a>',
        ExtractionMethod.TYPO3,
    ),
    "Joomla's script": (
        "<span id='cloak1'></span><script>var prefix='ma'+'il'+'to';"
        "var addy1 = 'desk' + '&#64;'; addy1 = addy1 + 'northwind' + '&#46;' + 'de';"
        "document.getElementById('cloak1').innerHTML += prefix + ':' + addy1;</script>",
        ExtractionMethod.JOOMLA,
    ),
    "Joomla's element": (
        '<joomla-hidden-mail first="ZGVzaw==" last="bm9ydGh3aW5kLmRl">x</joomla-hidden-mail>',
        ExtractionMethod.JOOMLA,
    ),
    "Drupal's SpamSpan": (
        '<span class="spamspan"><span class="u">desk</span> [at] '
        '<span class="d">northwind [dot] de</span></span>',
        ExtractionMethod.SPAMSPAN,
    ),
    "WordPress: rot13": (
        '<a data-enc-email="qrfx[at]abegujvaq.qr">x</a>',
        ExtractionMethod.WORDPRESS_ENCODER,
    ),
    "WordPress: picked letters": (
        '<span id="eeb-1"></span><script>var ml="desknorthwi%40.",mi="0123;<=456789:40>01",o="";'
        "for(;;){o+=ml.charAt(mi.charCodeAt(j)-48);}</script>",
        ExtractionMethod.WORDPRESS_ENCODER,
    ),
    "picked letters of an older kind": (
        '<script>ML="desk@northwi.\\"";\nMI="0123456789:;50<01";OT=\'\';\n'
        "for(;;){OT+=ML.charAt(MI.charCodeAt(j)-48);}</script>",
        ExtractionMethod.WORDPRESS_ENCODER,
    ),
    "WordPress: percent signs": (
        f'<script>decodeURIComponent("{_percent("desk@northwind.de")}")</script>',
        ExtractionMethod.WORDPRESS_ENCODER,
    ),
    "CryptX": (
        "<a href=\"javascript:DeCryptX('1e0e1t0k1A0n1p0r1u0h1x0i1o0d1/0d1f')\">x</a>",
        ExtractionMethod.CRYPTX,
    ),
    "strings put together": (
        "<script>document.write('mailto:' + 'desk' + '@' + 'northwind.de');</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "variables put together": (
        "<script>var u='desk', h=\"northwind.de\"; a.href = 'mailto:' + u + '@' + h;</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "an object's parts": (
        "<script>c={user:'desk',host:'northwind.de'}; s = c.user + '@' + c.host;</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "a template string": (
        "<script>const u='desk'; const h='northwind.de'; s=`${u}@${h}`;</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "a joined list": (
        "<script>s=['desk','northwind.de'].join('@')</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "a concatenation": (
        "<script>s='desk'.concat('@','northwind.de')</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "a replaced sign": (
        "<script>s='desk#northwind.de'.replace(/#/g,'@'); // mailto</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "character codes": (
        f"<script>document.write(String.fromCharCode({_codes(LINK)}))</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "a list of character codes": (
        f"<script>const c = [{_codes('desk@northwind.de')}]; String.fromCharCode(...c)</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "an unescaped string": (
        f"<script>document.write(unescape('{_percent(LINK)}'))</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "base64 in a script": (
        "<script>s = 'mailto:' + atob('ZGVza0Bub3J0aHdpbmQuZGU=');</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "parts given to a function": (
        "<a href=\"javascript:sendMail('desk','northwind','de')\">x</a>",
        ExtractionMethod.ONCLICK,
    ),
    "escapes in a link": (
        "<a href=\"javascript:location='mailto:\\u0064esk\\u0040northwind.de'\">x</a>",
        ExtractionMethod.ONCLICK,
    ),
    "user and host in attributes": (
        '<b data-user="desk" data-domain="northwind.de">x</b>',
        ExtractionMethod.SPLIT_ATTRIBUTES,
    ),
    "three parts in attributes": (
        '<b data-name="desk" data-domain="northwind" data-tld="de">x</b>',
        ExtractionMethod.SPLIT_ATTRIBUTES,
    ),
    "parts back to front": (
        '<b data-user="ksed" data-domain="ed.dniwhtron">x</b>',
        ExtractionMethod.SPLIT_ATTRIBUTES,
    ),
    "parts in base64": (
        '<b data-part1="ZGVzaw==" data-part2="bm9ydGh3aW5kLmRl">x</b>',
        ExtractionMethod.SPLIT_ATTRIBUTES,
    ),
    "base64 in an attribute": (
        '<b data-mail="ZGVza0Bub3J0aHdpbmQuZGU=">x</b>',
        ExtractionMethod.BASE64,
    ),
    "rot13 in an attribute": (
        f'<a data-mail-to="{_rot13("desk/at/northwind/dot/de")}">x</a>',
        ExtractionMethod.ROT13,
    ),
    "rot13 in a text": (
        f'<b class="rot13">{_rot13("desk@northwind.de")}</b>',
        ExtractionMethod.ROT13,
    ),
    "rot13 in a script": (
        f"<script>w('{_rot13(LINK[9:34])}'.replace(/[a-z]/g, c => code(c) + 13))</script>",
        ExtractionMethod.ROT13,
    ),
    "back to front by direction": (
        '<bdo dir="rtl">ed.dniwhtron@ksed</bdo>',
        ExtractionMethod.REVERSED,
    ),
    "back to front by style": (
        "<style>.r{unicode-bidi:bidi-override;direction:rtl}</style><b class=r>ed.dniwhtron@ksed",
        ExtractionMethod.REVERSED,
    ),
    "back to front by script": (
        "<script>w('ed.dniwhtron@ksed'.split('').reverse().join(''))</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "a variable turned around": (
        "<script>var a='ed.dniwhtron@ksed'; w(a.split('').reverse().join(''))</script>",
        ExtractionMethod.REVERSED,
    ),
    "escaped once too often": ("<p>desk&amp;#64;northwind.de</p>", ExtractionMethod.ENTITIES),
    "rot13 in a link": (
        f'<a href="{_rot13("mailto:desk@northwind.de")}">x</a>',
        ExtractionMethod.ROT13,
    ),
    "base64 in an attribute that says so": (
        '<b data-enc="ZGVza0Bub3J0aHdpbmQuZGU=">x</b>',
        ExtractionMethod.BASE64,
    ),
    "a list that is joined later": (
        "<script>var p=['desk','@','northwind','.','de']; w(p.join(''))</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "the items of a list": (
        "<script>var p=new Array('desk','northwind.de'); w(p[0]+'@'+p[1])</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "codes turned into letters one by one": (
        f"<script>w([{_codes('desk@northwind.de')}].map(c=>String.fromCharCode(c)).join(''))</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "letters moved by one": (
        "<script>s='eftlAopsuixjoe/ef'; r+=String.fromCharCode(s.charCodeAt(i)-1)</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "parts given to the page's own function": (
        "<script>function m(u,h){location='mailto:'+u+'@'+h}</script>"
        "<a href=\"javascript:m('desk','northwind.de')\">x</a>",
        ExtractionMethod.ONCLICK,
    ),
    "three parts given to such a function": (
        "<script>function m(a,b,c){w(a+'@'+b+'.'+c)} m('desk','northwind','de')</script>",
        ExtractionMethod.JAVASCRIPT,
    ),
    "a style": (
        "<style>.m::after{content:'desk\\40 northwind.de'}</style><b class=m>",
        ExtractionMethod.TEXT,
    ),
    "a picture's description": (
        '<img src="m.png" alt="desk (at) northwind.de">',
        ExtractionMethod.AT_DOT,
    ),
    "words in structured data": (
        '<script type="application/ld+json">{"email":"desk [at] northwind.de"}</script>',
        ExtractionMethod.JSON_LD,
    ),
    "words in a mailto link": (
        '<a href="mailto:desk(at)northwind.de">x</a>',
        ExtractionMethod.AT_DOT,
    ),
}


@pytest.mark.parametrize(("page", "method"), CLOAKS.values(), ids=CLOAKS)
def test_an_address_is_read_in_spite_of(page: str, method: ExtractionMethod) -> None:
    assert methods(page) == {"desk@northwind.de": method}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "page",
    [
        f'<b data-mail="{_base64("desk@northwind.org")}">x</b>',
        f'<b data-mail="{_base64("gro.dniwhtron@ksed")}">x</b>',
        f'<b class="mail" data-x="{_base64("desk@northwind.org")}" data-y="13">x</b>',
        "<script>var a='desk'+'@'+'northwind.org', width=130;</script>",
        "<script>var a='desk'+'@'+'northwind.org'; list.slice(0, 13)</script>",
        '<b data-mail="gro.dniwhtron@ksed">x</b>',
    ],
)
def test_an_address_that_was_decoded_is_not_turned_into_another(page: str) -> None:
    """The rot13 of `.org` is `.bet`, which is a suffix as well."""
    assert values(page) == ["desk@northwind.org"]


@pytest.mark.parametrize("page", [page for page, _ in CLOAKS.values()], ids=CLOAKS)
def test_without_decoding_nothing_is_read_from(page: str) -> None:
    assert values(page, decode=False) == []


AT_AND_DOT = [
    "desk (at) northwind (dot) de",
    "desk[at]northwind[punkt]de",
    "desk {AT} northwind {DOT} de",
    "desk &lt;at&gt; northwind.de",
    "desk (ät) northwind.de",
    "desk (arroba) northwind (punto) de",
    "desk [chiocciola] northwind.de",
    "desk(małpa)northwind.de",
    "desk (snabel-a) northwind.de",
    "desk(a)northwind.de",
    "desk AT northwind DOT de",
    "desk at northwind dot de",
    "desk &quot;at&quot; northwind.de",
    "desk -at- northwind.de",
    "desk_at_northwind.de",
    "desk/AT/northwind/DOT/de",
    "desk @ northwind.de",
    "desk@northwind[.]de",
    "E-Mail: desk at northwind.de",
    'desk<img src="at.gif" alt="@">northwind.de',
    'desk<img src="/pics/at.gif">northwind.de',
    'desk<i class="fas fa-at"></i>northwind.de',
    "desk<script>document.write('@');</script>northwind.de",
    "desk (bei) northwind.de",
    "desk (à) northwind.de",
    "desk (aet) northwind.de",
    "desk (kuyruklu a) northwind (nokta) de",
    "desk arroba northwind punto de",
    "desk arobase northwind point de",
    "desk chiocciola northwind.de",
]


@pytest.mark.parametrize("page", AT_AND_DOT)
def test_spelled_out_signs_are_read(page: str) -> None:
    assert values(f"<p>{page}</p>") == ["desk@northwind.de"]


def test_dots_in_the_name_may_be_spelled_out_too() -> None:
    assert values("jane [dot] doe [at] northwind [dot] co [dot] uk") == ["jane.doe@northwind.co.uk"]


@pytest.mark.parametrize(
    "page",
    [
        'desk@<span style="display:none">no</span>northwind.de',
        "<style>.x {display: none}</style>desk<b class='x'>no</b>@northwind.de",
        "desk@<i hidden>no</i>northwind.de",
        'desk@<b style="visibility: hidden">no</b>northwind.de',
        'desk@<b style="font-size:0">no</b>northwind.de',
    ],
)
def test_decoys_that_a_style_hides_are_left_out(page: str) -> None:
    assert values(page) == ["desk@northwind.de"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def test_an_enkoder_of_three_layers_is_unwrapped() -> None:
    code = f"document.write({_quoted(LINK)});"
    turned = f"kode={_quoted(code[::-1])};kode=kode.split('').reverse().join('')"
    moved = "".join(chr(ord(character) + 3) for character in turned)
    shifted = f"kode={_quoted(moved)};x='';for(;;){{c=kode.charCodeAt(i)-3;}}kode=x"
    pairs = [shifted[i : i + 2][::-1] for i in range(0, len(shifted), 2)]
    swapped = f"kode={_quoted(''.join(pairs))};x+=kode.charAt(i+1)+kode.charAt(i)"
    page = (
        f"<script>function e(){{var kode=\n{_quoted(swapped)}\n;while(eval(kode));}}e();</script>"
    )
    assert methods(page) == {"desk@northwind.de": ExtractionMethod.ENKODER}


def test_an_enkoder_with_a_running_key_is_unwrapped() -> None:
    code, key = f"document.write({_quoted(LINK)});", 9
    mixed = "".join(chr(ord(c) ^ ((key + i) % 127)) for i, c in enumerate(code))
    octal = "".join(f"\\{ord(character):03o}" for character in mixed)
    inner = f'function f(x,y){{y%=127;x^(y++)}}f("{octal}",{key})'
    outer = f"function f(x){{for(i=l-1;i>=0;i--)}}f({_quoted(inner[::-1])})"
    page = f"<script>var x={_quoted(outer)};while(x=eval(x));</script>"
    assert methods(page) == {"desk@northwind.de": ExtractionMethod.ENKODER}


def test_the_page_s_own_spelling_is_kept_as_evidence() -> None:
    found = only("<p>Mail: desk (at) northwind.de</p>")
    assert found.raw == "desk (at) northwind.de"
