"""Recognize social-media profile URLs and normalize them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_OPTIONAL_PATH = r"(?:/[^?]*)?(?:\?.*)?"
_PATH_END = r"/?(?:\?.*)?"


@dataclass(frozen=True, slots=True)
class ProfilePattern:
    """One form of a profile's path and query; its groups fill `path` and `handle`."""

    pattern: re.Pattern[str]
    path: str
    handle: str
    keeps_case: bool


def _build_pattern(
    pattern: str, path: str = "{0}", handle: str | None = None, *, keeps_case: bool = False
) -> ProfilePattern:
    flags = re.NOFLAG if keeps_case else re.IGNORECASE
    return ProfilePattern(re.compile(pattern, flags), path, handle or path, keeps_case)


@dataclass(frozen=True, slots=True)
class ProfilePlatform:
    """A social platform; `reserved` lists first path segments that are not profiles."""

    name: str
    hosts: tuple[str, ...]
    base: str
    shapes: tuple[ProfilePattern, ...]
    reserved: frozenset[str] = frozenset()


def _split_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


FACEBOOK = ProfilePlatform(
    "facebook",
    ("facebook.com", "fb.com"),
    "https://www.facebook.com/",
    (
        _build_pattern(r"profile\.php\?(?:.*&)?id=(\d+)(?:&.*)?", "profile.php?id={0}", "{0}"),
        _build_pattern(rf"(pages|people)/([\w.%&'-]+)/(\d+){_OPTIONAL_PATH}", "{0}/{1}/{2}", "{2}"),
        _build_pattern(
            rf"pages/category/([\w.-]+)/([\w.-]+){_OPTIONAL_PATH}", "pages/category/{0}/{1}", "{1}"
        ),
        _build_pattern(rf"p/([\w.-]+){_PATH_END}", "p/{0}", "{0}"),
        _build_pattern(rf"pg/([\w.-]+){_OPTIONAL_PATH}"),
        _build_pattern(
            r"([\w.&'-]{2,100})(?!/(?:posts|videos|photos/\w|reels?/\w|events?/\w|permalink))"
            + _OPTIONAL_PATH
        ),
    ),
    _split_words(
        "ads about adsmanager badges business campaign careers developers dialog directory docs "
        "events events.php fundraisers gaming games groups hashtag help home home.php l.php legal "
        "live login login.php marketplace media memories messages messenger notes notifications "
        "nearby offers pages people permalink.php photo photo.php photos places plugins policies "
        "policy.php privacy profile profile.php r.php reel reels saved search security settings "
        "share share.php sharer sharer.php sitetour stories story.php support terms terms.php tr "
        "v2.0 video video.php videos watch whatsapp 2008 v2.1 login.html connect platform p pg "
        "ad_preferences adpreferences bookmarks brand communitystandards cookies credits "
        "data_preferences feed friends full_data_use_policy intl invite lite mobile "
        "policies_center privacycheckup recover reg safety t"
    ),
)

INSTAGRAM = ProfilePlatform(
    "instagram",
    ("instagram.com", "instagr.am"),
    "https://www.instagram.com/",
    (
        _build_pattern(
            r"(?:_u/)?@?(\w(?:[a-z0-9_]|\.(?!\.)){0,29})(?!/(?:p|reel|tv)/)(?![\w.-])"
            + _OPTIONAL_PATH,
        ),
    ),
    _split_words(
        "about accounts api ar challenge create developer developers direct directory explore "
        "emails graphql invites legal lite oauth p privacy reel reels s share stories tags terms "
        "tv web press blog cookies data help policies security settings static"
    ),
)

X = ProfilePlatform(
    "x",
    ("x.com", "twitter.com"),
    "https://x.com/",
    (
        _build_pattern(
            r"(?:#!/)?(?![a-z]{2}/)@?([a-z0-9_]{1,15})(?!/status)(?!\w)" + _OPTIONAL_PATH
        ),
    ),
    _split_words(
        "about account appeals compose download explore following followers goodies hashtag help "
        "cookies follow personalization statuses "
        "home i intent invitations jobs lists login logout messages notifications oauth premium "
        "privacy profile rules search session settings share signup similar_to tos topics welcome "
        "who_to_follow widgets"
    ),
)

LINKEDIN = ProfilePlatform(
    "linkedin",
    ("linkedin.com",),
    "https://www.linkedin.com/",
    (
        _build_pattern(
            rf"(?:mwlite/|organization-guest/)?(company|in|school|showcase)/([\w.&'’+–-]+){_OPTIONAL_PATH}",
            "{0}/{1}",
        ),
    ),
)

YOUTUBE = ProfilePlatform(
    "youtube",
    ("youtube.com",),
    "https://www.youtube.com/",
    (
        _build_pattern(rf"(@[\w.·-]{{2,30}}){_OPTIONAL_PATH}"),
        _build_pattern(
            rf"channel/(UC[\w-]{{8,30}}){_OPTIONAL_PATH}", "channel/{0}", keeps_case=True
        ),
        _build_pattern(rf"(user|c)/([\w.-]+){_OPTIONAL_PATH}", "{0}/{1}"),
        _build_pattern(
            r"([a-z0-9][\w.-]{2,60})(?:/(?:featured|videos|about|playlists|community))?" + _PATH_END
        ),
    ),
    _split_words(
        "about account account_notifications ads attribution_link audiolibrary channel channels "
        "clip create_channel creators culture dashboard embed embeds error feed feeds gaming "
        "get_video_info hashtag hashtags howyoutubeworks iframe_api index intl jobs kids live "
        "live_chat logout login movies music my_videos new news oembed playlist playlists post "
        "premium press privacy profile redirect red reporthistory results search select_site share "
        "shorts signin source sports subscription_center subscription_manager supported_browsers t "
        "terms testtube theme trends trending tv upload user v verify view_play_list vi watch "
        "watch_popup watch_videos yt c video videos account_privacy api getpremium img player_api "
        "s static"
    ),
)

TIKTOK = ProfilePlatform(
    "tiktok",
    ("tiktok.com",),
    "https://www.tiktok.com/",
    (_build_pattern(rf"@([\w.-]{{2,30}}){_OPTIONAL_PATH}", "@{0}", "{0}"),),
)

THREADS = ProfilePlatform(
    "threads",
    ("threads.net", "threads.com"),
    "https://www.threads.net/",
    (_build_pattern(r"@([\w.]{1,30})(?!/post)(?![\w.])" + _OPTIONAL_PATH, "@{0}", "{0}"),),
)

BLUESKY = ProfilePlatform(
    "bluesky",
    ("bsky.app",),
    "https://bsky.app/",
    (
        _build_pattern(
            rf"profile/@?((?:[a-z0-9-]+\.)+[a-z]{{2,}}|did:(?:plc|web):[\w.%:-]+){_PATH_END}",
            "profile/{0}",
            "{0}",
        ),
    ),
)

TELEGRAM = ProfilePlatform(
    "telegram",
    ("t.me", "telegram.me"),
    "https://t.me/",
    (
        _build_pattern(rf"(?:s/)?@?([a-z]\w{{3,31}}){_PATH_END}"),
        _build_pattern(rf"(\+\d{{7,15}}){_PATH_END}"),
    ),
    _split_words(
        "a addemoji addlist addstickers addtheme bg c confirmphone contact giftcode invoice iv "
        "joinchat k login m proxy setlanguage share socks"
    ),
)

WHATSAPP = ProfilePlatform(
    "whatsapp",
    ("wa.me", "api.whatsapp.com", "web.whatsapp.com"),
    "https://wa.me/",
    (
        _build_pattern(rf"(?:c/)?\+?(?:00)?([1-9]\d{{6,14}}){_PATH_END}"),
        _build_pattern(rf"(message|qr)/([A-Z0-9]{{6,30}}){_PATH_END}", "{0}/{1}", keeps_case=True),
        _build_pattern(r"(?:send)?/?\?(?:.*&)?phone=[\s+]*(?:00)?([1-9]\d{6,14})(?:&.*)?"),
    ),
)

PINTEREST = ProfilePlatform(
    "pinterest",
    ("pinterest",),
    "https://www.pinterest.com/",
    (_build_pattern(rf"([a-z0-9_-]{{2,40}}){_OPTIONAL_PATH}"),),
    _split_words(
        "about analytics board business categories create discover explore help ideas login oauth "
        "offsite password pin pins pin-builder resource search settings shopping source today "
        "topics videos _tools _ cookies policy privacy terms"
    ),
)

XING = ProfilePlatform(
    "xing",
    ("xing.com",),
    "https://www.xing.com/",
    (_build_pattern(rf"(profile|companies|company|pages)/([\w.&-]+){_OPTIONAL_PATH}", "{0}/{1}"),),
)

GITHUB = ProfilePlatform(
    "github",
    ("github.com",),
    "https://github.com/",
    (_build_pattern(rf"(?:orgs/)?([a-z0-9](?:[a-z0-9-]{{0,38}})){_PATH_END}"),),
    _split_words(
        "about account apps blog codespaces collections contact copilot customer-stories dashboard "
        "enterprise events explore features gist issues join login logout marketplace mobile new "
        "notifications open-source organizations orgs pricing pulls readme search security session "
        "settings sessions signup site sponsors stars team topics trending watching privacy terms"
    ),
)

VIMEO = ProfilePlatform(
    "vimeo",
    ("vimeo.com",),
    "https://vimeo.com/",
    (
        _build_pattern(
            rf"(?!\d+(?:[/?]|\Z))(?:user/)?([\w-]{{2,50}})(?:/(?:videos|albums|about))?{_PATH_END}"
        ),
    ),
    _split_words(
        "about album api blog business careers categories channels contact cookie_policy create "
        "customers enterprise event events explore features for-hire groups help home join jobs "
        "live log_in login manage ondemand ott partners press pricing privacy search settings "
        "showcase showcases site_map solutions staffpicks stats stock terms upgrade upload user "
        "video videos watch cookies dmca"
    ),
)

SNAPCHAT = ProfilePlatform(
    "snapchat",
    ("snapchat.com",),
    "https://www.snapchat.com/",
    (_build_pattern(rf"(add/|@)([a-z][\w.-]{{2,30}}){_PATH_END}", "{0}{1}", "{1}"),),
)

DISCORD = ProfilePlatform(
    "discord",
    ("discord.gg", "discord.com", "discordapp.com"),
    "https://discord.gg/",
    (_build_pattern(rf"(?:invite/)?([\w-]{{2,50}}){_PATH_END}", keeps_case=True),),
    _split_words(
        "acceptable-use ads api app blog branding careers channels community company developers "
        "discovery download features guidelines invite jobs licenses login moderation new nitro "
        "oauth2 open-source partners premium press privacy quests register safety safetycenter "
        "servers settings shop store streamkit students terms users verification widget"
    ),
)

MASTODON_HOSTS = _split_words(
    "mastodon.social mastodon.online mastodon.world mastodon.cloud mastodon.art mastodon.green "
    "mastodon.scot mastodon.uno mastodon.nl mstdn.social mstdn.ca mas.to fosstodon.org "
    "hachyderm.io chaos.social techhub.social infosec.exchange social.tchncs.de det.social "
    "troet.cafe c.im norden.social sueden.social nrw.social ruhr.social hessen.social bonn.social "
    "muenchen.social dresden.network social.bund.de social.coop social.vivaldi.net indieweb.social "
    "aus.social toot.community universeodon.com piaille.fr mamot.fr sigmoid.social newsie.social "
    "journa.host eupolicy.social openbiblio.social legal.social octodon.social kolektiva.social "
    "masto.ai masto.nu mastodontech.de mastodon.ie mastodon.au mastodon.nz wandering.shop"
)

PLATFORMS = (
    *(FACEBOOK, INSTAGRAM, X, LINKEDIN, YOUTUBE, TIKTOK, THREADS, BLUESKY, TELEGRAM, WHATSAPP),
    *(PINTEREST, XING, GITHUB, VIMEO, SNAPCHAT, DISCORD),
)

SITE_BUILDERS = _split_words(
    "wix wixcom wix-com wix.com wixdotcom squarespace wordpress wordpresscom wordpressdotcom "
    "wordpress.com elementor elemntor shopify themeforest envato envatomarket weebly godaddy jimdo "
    "webflow webnode duda strikingly tilda bigcommerce prestashop opencart joomla drupal typo3 "
    "themezee themeisle astrawp wpastra oceanwp kadencewp generatepress elegantthemes themefusion "
    "avada divi colorlib bootstrapmade html5up templatemo templatemonster cssigniter wpbakery "
    "yootheme rockettheme joomshaper bdthemes themify studiopress automattic woothemes"
)
"""Site builders and theme makers, whose profiles remain in unedited templates."""

PLACEHOLDER_HANDLE = re.compile(
    r"@?(?:your|tu|votre|ihr|dein)[-_.]?(?:page|pagename|page[-_.]name|name|user|user[-_.]?name|handle"
    r"|profile|company|company[-_.]?name|channel|channel[-_.]?id|account|id|brand|business|link|url|site"
    r"|facebook|instagram|twitter|linkedin|youtube|tiktok|pinterest|store|shop|number|organi[sz]ation)s?"
    r"|undefined|null|none|nan|false|true|x{3,}|insert.*|placeholder|lorem|ipsum|todo|tbd|_+|-+|\.+"
    r"|.+\.(?:php|html?|aspx?|png|jpe?g|svg|js|css|gif|ico|xml|json)",
    re.IGNORECASE,
)
"""Template defaults for a handle that was never filled in."""


MAX_URL_CHARACTERS = 1000
"""Longer URLs are never profiles."""


@dataclass(frozen=True, slots=True)
class SocialProfile:
    """A profile; `handle` is unique per platform, `url` is normalized."""

    platform: str
    handle: str
    url: str


_URL = re.compile(
    r"(?:(?:https?:)?/{1,3})?(?P<host>[a-z0-9.-]+)(?::\d+)?(?:/(?P<rest>.*)|(?P<query>\?.*))?",
    re.IGNORECASE | re.DOTALL,
)
_TRAILING_MARKUP = re.compile(r"[<>\"].*", re.DOTALL)
_INVISIBLE = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_SUBDOMAIN = re.compile(r"(?:www\d?|m|mobile|web|touch|mbasic|[a-z]{2}(?:[-_][a-z]{2})?)\.")
_PINTEREST_HOST = re.compile(r"pinterest\.(?:[a-z]{2,3}|com?\.[a-z]{2})")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s().-]+(?=\d)")
_WHATSAPP_SCHEME = re.compile(r"\s*whatsapp:/{0,3}send/?(?=\?)", re.IGNORECASE)
_MASTODON_PATH = re.compile(
    r"(?:web/)?(?:@|users/)([\w.-]{1,30})(?:@([a-z0-9.-]+))?/?(?:\?.*)?", re.IGNORECASE
)

_PLATFORM_BY_HOST = {host: platform for platform in PLATFORMS for host in platform.hosts}


def parse_profile(url: str) -> SocialProfile | None:
    """Return the profile a URL leads to; None for posts, share buttons and other links."""
    url = _INVISIBLE.sub("", _TRAILING_MARKUP.sub("", url[: MAX_URL_CHARACTERS + 1]))
    url = _WHATSAPP_SCHEME.sub("https://api.whatsapp.com/send", url, count=1)
    address = _URL.fullmatch(url)
    if address is None or len(url) > MAX_URL_CHARACTERS:
        return None
    host = address["host"].lower().rstrip(".")
    path = _decode_path(address["rest"] or address["query"] or "")
    if host in MASTODON_HOSTS:
        return _match_mastodon(host, path)
    platform = _get_platform(host)
    if platform is WHATSAPP:
        path = _BETWEEN_DIGITS.sub("", path)
    return _match_platform(platform, path) if platform and path else None


def _get_platform(host: str) -> ProfilePlatform | None:
    if host in _PLATFORM_BY_HOST:
        return _PLATFORM_BY_HOST[host]
    bare = _SUBDOMAIN.sub("", host, count=1) if _SUBDOMAIN.match(host) else host
    if _PINTEREST_HOST.fullmatch(bare):
        return PINTEREST
    return _PLATFORM_BY_HOST.get(bare) if "." in bare else None


def _decode_path(rest: str) -> str:
    """Decode path and query; the fragment is kept only for `#!/` paths, which X once used."""
    if not rest.startswith("#!/"):
        rest = rest.partition("#")[0]
    path, mark, query = rest.partition("?")
    path = (
        _TRAILING_MARKUP.sub("", unquote(re.sub(r"/{2,}", "/", path).strip("/"))).strip().strip("/")
    )
    return path + mark + unquote(query)


def _match_platform(platform: ProfilePlatform, path: str) -> SocialProfile | None:
    for shape in platform.shapes:
        if found := shape.pattern.fullmatch(path):
            return _build_profile(platform, shape, found)
    return None


def _build_profile(
    platform: ProfilePlatform, shape: ProfilePattern, found: re.Match[str]
) -> SocialProfile | None:
    groups = found.groups() if shape.keeps_case else tuple(map(str.lower, found.groups()))
    is_platforms_own = shape.path == "{0}" and groups[0].lower() in platform.reserved
    if is_platforms_own or _is_placeholder_handle(groups[-1]):
        return None
    handle = shape.handle.format(*groups)
    path = shape.path.format(*(quote(group, safe="@:/+&'") for group in groups))
    return SocialProfile(platform.name, handle, platform.base + path)


def _is_placeholder_handle(handle: str) -> bool:
    return (
        handle.lower().lstrip("@") in SITE_BUILDERS
        or PLACEHOLDER_HANDLE.fullmatch(handle) is not None
    )


def _match_mastodon(host: str, path: str) -> SocialProfile | None:
    found = _MASTODON_PATH.fullmatch(path)
    if found is None or _is_placeholder_handle(found[1]):
        return None
    name, home = found[1].lower(), (found[2] or host).lower()
    if home in MASTODON_HOSTS:
        return SocialProfile("mastodon", f"{name}@{home}", f"https://{home}/@{name}")
    return SocialProfile("mastodon", f"{name}@{home}", f"https://{host}/@{name}@{home}")
