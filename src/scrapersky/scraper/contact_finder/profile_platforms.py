"""The platforms on which people have profiles, and what the addresses of profiles look like."""

import re
from dataclasses import dataclass

_REST = r"(?:/[^?]*)?(?:\?.*)?"
_END = r"/?(?:\?.*)?"


@dataclass(frozen=True, slots=True)
class Shape:
    """A way to write a profile's path and query; its groups fill `path` and `handle`."""

    pattern: re.Pattern[str]
    path: str
    handle: str
    keeps_case: bool


def _shape(
    pattern: str, path: str = "{0}", handle: str | None = None, *, keeps_case: bool = False
) -> Shape:
    flags = re.NOFLAG if keeps_case else re.IGNORECASE
    return Shape(re.compile(pattern, flags), path, handle or path, keeps_case)


@dataclass(frozen=True, slots=True)
class Platform:
    """`reserved` are first words of paths that belong to the platform itself."""

    name: str
    hosts: tuple[str, ...]
    base: str
    shapes: tuple[Shape, ...]
    reserved: frozenset[str] = frozenset()


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


FACEBOOK = Platform(
    "facebook",
    ("facebook.com", "fb.com"),
    "https://www.facebook.com/",
    (
        _shape(r"profile\.php\?(?:.*&)?id=(\d+)(?:&.*)?", "profile.php?id={0}", "{0}"),
        _shape(rf"(pages|people)/([\w.%&'-]+)/(\d+){_REST}", "{0}/{1}/{2}", "{2}"),
        _shape(rf"pages/category/([\w.-]+)/([\w.-]+){_REST}", "pages/category/{0}/{1}", "{1}"),
        _shape(rf"p/([\w.-]+){_END}", "p/{0}", "{0}"),
        _shape(rf"pg/([\w.-]+){_REST}"),
        _shape(
            r"([\w.&'-]{2,100})(?!/(?:posts|videos|photos/\w|reels?/\w|events?/\w|permalink))"
            + _REST
        ),
    ),
    _words(
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

INSTAGRAM = Platform(
    "instagram",
    ("instagram.com", "instagr.am"),
    "https://www.instagram.com/",
    (
        _shape(
            r"(?:_u/)?@?(\w(?:[a-z0-9_]|\.(?!\.)){0,29})(?!/(?:p|reel|tv)/)(?![\w.-])" + _REST,
        ),
    ),
    _words(
        "about accounts api ar challenge create developer developers direct directory explore "
        "emails graphql invites legal lite oauth p privacy reel reels s share stories tags terms "
        "tv web press blog cookies data help policies security settings static"
    ),
)

X = Platform(
    "x",
    ("x.com", "twitter.com"),
    "https://x.com/",
    (_shape(r"(?:#!/)?(?![a-z]{2}/)@?([a-z0-9_]{1,15})(?!/status)(?!\w)" + _REST),),
    _words(
        "about account appeals compose download explore following followers goodies hashtag help "
        "cookies follow personalization statuses "
        "home i intent invitations jobs lists login logout messages notifications oauth premium "
        "privacy profile rules search session settings share signup similar_to tos topics welcome "
        "who_to_follow widgets"
    ),
)

LINKEDIN = Platform(
    "linkedin",
    ("linkedin.com",),
    "https://www.linkedin.com/",
    (
        _shape(
            rf"(?:mwlite/|organization-guest/)?(company|in|school|showcase)/([\w.&'’+–-]+){_REST}",
            "{0}/{1}",
        ),
    ),
)

YOUTUBE = Platform(
    "youtube",
    ("youtube.com",),
    "https://www.youtube.com/",
    (
        _shape(rf"(@[\w.·-]{{2,30}}){_REST}"),
        _shape(rf"channel/(UC[\w-]{{8,30}}){_REST}", "channel/{0}", keeps_case=True),
        _shape(rf"(user|c)/([\w.-]+){_REST}", "{0}/{1}"),
        _shape(r"([a-z0-9][\w.-]{2,60})(?:/(?:featured|videos|about|playlists|community))?" + _END),
    ),
    _words(
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

TIKTOK = Platform(
    "tiktok",
    ("tiktok.com",),
    "https://www.tiktok.com/",
    (_shape(rf"@([\w.-]{{2,30}}){_REST}", "@{0}", "{0}"),),
)

THREADS = Platform(
    "threads",
    ("threads.net", "threads.com"),
    "https://www.threads.net/",
    (_shape(r"@([\w.]{1,30})(?!/post)(?![\w.])" + _REST, "@{0}", "{0}"),),
)

BLUESKY = Platform(
    "bluesky",
    ("bsky.app",),
    "https://bsky.app/",
    (
        _shape(
            rf"profile/@?((?:[a-z0-9-]+\.)+[a-z]{{2,}}|did:(?:plc|web):[\w.%:-]+){_END}",
            "profile/{0}",
            "{0}",
        ),
    ),
)

TELEGRAM = Platform(
    "telegram",
    ("t.me", "telegram.me"),
    "https://t.me/",
    (_shape(rf"(?:s/)?@?([a-z]\w{{3,31}}){_END}"), _shape(rf"(\+\d{{7,15}}){_END}")),
    _words(
        "a addemoji addlist addstickers addtheme bg c confirmphone contact giftcode invoice iv "
        "joinchat k login m proxy setlanguage share socks"
    ),
)

WHATSAPP = Platform(
    "whatsapp",
    ("wa.me", "api.whatsapp.com", "web.whatsapp.com"),
    "https://wa.me/",
    (
        _shape(rf"(?:c/)?\+?(?:00)?([1-9]\d{{6,14}}){_END}"),
        _shape(rf"(message|qr)/([A-Z0-9]{{6,30}}){_END}", "{0}/{1}", keeps_case=True),
        _shape(r"(?:send)?/?\?(?:.*&)?phone=[\s+]*(?:00)?([1-9]\d{6,14})(?:&.*)?"),
    ),
)

PINTEREST = Platform(
    "pinterest",
    ("pinterest",),
    "https://www.pinterest.com/",
    (_shape(rf"([a-z0-9_-]{{2,40}}){_REST}"),),
    _words(
        "about analytics board business categories create discover explore help ideas login oauth "
        "offsite password pin pins pin-builder resource search settings shopping source today "
        "topics videos _tools _ cookies policy privacy terms"
    ),
)

XING = Platform(
    "xing",
    ("xing.com",),
    "https://www.xing.com/",
    (_shape(rf"(profile|companies|company|pages)/([\w.&-]+){_REST}", "{0}/{1}"),),
)

GITHUB = Platform(
    "github",
    ("github.com",),
    "https://github.com/",
    (_shape(rf"(?:orgs/)?([a-z0-9](?:[a-z0-9-]{{0,38}})){_END}"),),
    _words(
        "about account apps blog codespaces collections contact copilot customer-stories dashboard "
        "enterprise events explore features gist issues join login logout marketplace mobile new "
        "notifications open-source organizations orgs pricing pulls readme search security session "
        "settings sessions signup site sponsors stars team topics trending watching privacy terms"
    ),
)

VIMEO = Platform(
    "vimeo",
    ("vimeo.com",),
    "https://vimeo.com/",
    (_shape(rf"(?!\d+(?:[/?]|\Z))(?:user/)?([\w-]{{2,50}})(?:/(?:videos|albums|about))?{_END}"),),
    _words(
        "about album api blog business careers categories channels contact cookie_policy create "
        "customers enterprise event events explore features for-hire groups help home join jobs "
        "live log_in login manage ondemand ott partners press pricing privacy search settings "
        "showcase showcases site_map solutions staffpicks stats stock terms upgrade upload user "
        "video videos watch cookies dmca"
    ),
)

SNAPCHAT = Platform(
    "snapchat",
    ("snapchat.com",),
    "https://www.snapchat.com/",
    (_shape(rf"(add/|@)([a-z][\w.-]{{2,30}}){_END}", "{0}{1}", "{1}"),),
)

DISCORD = Platform(
    "discord",
    ("discord.gg", "discord.com", "discordapp.com"),
    "https://discord.gg/",
    (_shape(rf"(?:invite/)?([\w-]{{2,50}}){_END}", keeps_case=True),),
    _words(
        "acceptable-use ads api app blog branding careers channels community company developers "
        "discovery download features guidelines invite jobs licenses login moderation new nitro "
        "oauth2 open-source partners premium press privacy quests register safety safetycenter "
        "servers settings shop store streamkit students terms users verification widget"
    ),
)

MASTODON_HOSTS = _words(
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

MAKERS = _words(
    "wix wixcom wix-com wix.com wixdotcom squarespace wordpress wordpresscom wordpressdotcom "
    "wordpress.com elementor elemntor shopify themeforest envato envatomarket weebly godaddy jimdo "
    "webflow webnode duda strikingly tilda bigcommerce prestashop opencart joomla drupal typo3 "
    "themezee themeisle astrawp wpastra oceanwp kadencewp generatepress elegantthemes themefusion "
    "avada divi colorlib bootstrapmade html5up templatemo templatemonster cssigniter wpbakery "
    "yootheme rockettheme joomshaper bdthemes themify studiopress automattic woothemes"
)
"""Site builders and theme makers: their own profiles stand in templates that nobody edited."""

PLACEHOLDER = re.compile(
    r"@?(?:your|tu|votre|ihr|dein)[-_.]?(?:page|pagename|page[-_.]name|name|user|user[-_.]?name|handle"
    r"|profile|company|company[-_.]?name|channel|channel[-_.]?id|account|id|brand|business|link|url|site"
    r"|facebook|instagram|twitter|linkedin|youtube|tiktok|pinterest|store|shop|number|organi[sz]ation)s?"
    r"|undefined|null|none|nan|false|true|x{3,}|insert.*|placeholder|lorem|ipsum|todo|tbd|_+|-+|\.+"
    r"|.+\.(?:php|html?|aspx?|png|jpe?g|svg|js|css|gif|ico|xml|json)",
    re.IGNORECASE,
)
"""What a template says where nobody filled in a handle."""
