"""Social profiles: which links are profiles, and their canonical form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.contacts.profiles import load_platforms, parse_profile


@pytest.mark.parametrize(
    ("url", "platform", "handle"),
    [
        ("https://www.facebook.com/Baeckerei.Sonne", "facebook", "baeckerei.sonne"),
        ("https://de-de.facebook.com/baeckerei.sonne/about", "facebook", "baeckerei.sonne"),
        ("fb.com/baeckerei.sonne?ref=hl", "facebook", "baeckerei.sonne"),
        ("https://facebook.com/pg/baeckerei.sonne/reviews/", "facebook", "baeckerei.sonne"),
        ("https://facebook.com/profile.php?v=info&id=1000123", "facebook", "1000123"),
        ("https://facebook.com/pages/Bäckerei-Sonne/123456", "facebook", "123456"),
        ("https://facebook.com/people/Eva-Sonne/1000123/", "facebook", "1000123"),
        ("https://facebook.com/Brot-%26-Caf%C3%A9-123", "facebook", "brot-&-café-123"),
        ("https://facebook.com/p/Sonne-1000123/", "facebook", "sonne-1000123"),
        ("http://instagram.com/sonne.backt/", "instagram", "sonne.backt"),
        ("https://instagr.am/Sonne_Backt", "instagram", "sonne_backt"),
        ("https://mobile.twitter.com/SonneBackt", "x", "sonnebackt"),
        ("https://x.com/@SonneBackt?lang=de", "x", "sonnebackt"),
        ("https://twitter.com/#!/SonneBackt", "x", "sonnebackt"),
        ("https://de.linkedin.com/in/eva-sonne-1a2b/", "linkedin", "in/eva-sonne-1a2b"),
        ("https://linkedin.com/company/sonne/about/", "linkedin", "company/sonne"),
        ("https://linkedin.com/school/backschule", "linkedin", "school/backschule"),
        ("https://linkedin.com/showcase/brot", "linkedin", "showcase/brot"),
        ("https://linkedin.com/company/b%C3%A4cker", "linkedin", "company/bäcker"),
        ("https://youtube.com/@SonneBackt/videos", "youtube", "@sonnebackt"),
        ("https://youtube.com/channel/UCaBcDeF12345", "youtube", "channel/UCaBcDeF12345"),
        ("https://m.youtube.com/user/SonneBackt", "youtube", "user/sonnebackt"),
        ("https://youtube.com/c/SonneBackt", "youtube", "c/sonnebackt"),
        ("https://youtube.com/SonneBackt", "youtube", "sonnebackt"),
        ("https://www.tiktok.com/@sonne.backt?lang=de", "tiktok", "sonne.backt"),
        ("https://www.tiktok.com/@sonne/video/123", "tiktok", "sonne"),
        ("https://www.threads.net/@sonne", "threads", "sonne"),
        ("https://threads.com/@sonne", "threads", "sonne"),
        ("https://bsky.app/profile/sonne.bsky.social", "bluesky", "sonne.bsky.social"),
        ("https://mastodon.social/@Sonne", "mastodon", "sonne@mastodon.social"),
        ("https://chaos.social/users/sonne", "mastodon", "sonne@chaos.social"),
        ("https://mastodon.social/@sonne@brot.test", "mastodon", "sonne@brot.test"),
        ("https://t.me/sonne_backt", "telegram", "sonne_backt"),
        ("https://telegram.me/s/sonne_backt", "telegram", "sonne_backt"),
        ("https://wa.me/4915112345678?text=Hallo", "whatsapp", "4915112345678"),
        (
            "https://api.whatsapp.com/send?text=Hi&phone=%2B4915112345678",
            "whatsapp",
            "4915112345678",
        ),
        ("whatsapp://send?phone=4915112345678&text=Hi", "whatsapp", "4915112345678"),
        ("https://wa.me/49%20151%2012345678", "whatsapp", "4915112345678"),
        ("https://api.whatsapp.com/send?phone=49-151-12345678", "whatsapp", "4915112345678"),
        ("https://www.facebook.com/baeckerei.sonne%22", "facebook", "baeckerei.sonne"),
        ("https://www.pinterest.co.uk/sonne/brot/", "pinterest", "sonne"),
        ("https://pinterest.de/sonne", "pinterest", "sonne"),
        ("https://www.xing.com/profile/Eva_Sonne", "xing", "profile/eva_sonne"),
        ("https://www.xing.com/pages/sonne", "xing", "pages/sonne"),
        ("https://github.com/Sonne", "github", "sonne"),
        ("https://vimeo.com/sonne", "vimeo", "sonne"),
        ("https://www.snapchat.com/add/sonne", "snapchat", "sonne"),
        ("https://snapchat.com/@sonne", "snapchat", "sonne"),
        ("https://discord.gg/aBcDeF", "discord", "aBcDeF"),
        ("https://discord.com/invite/aBcDeF/", "discord", "aBcDeF"),
        ('fb.com/sonne">Facebook</a>', "facebook", "sonne"),
    ],
)
def test_a_link_to_a_profile_says_whose(url: str, platform: str, handle: str) -> None:
    profile = parse_profile(url)
    assert profile is not None
    assert (profile.platform, profile.handle) == (platform, handle)
    assert parse_profile(profile.url) == profile


@pytest.mark.parametrize(
    "url",
    [
        "https://www.facebook.com/",
        "https://www.facebook.com/sharer/sharer.php?u=https://acme.test",
        "https://www.facebook.com/share.php?u=x",
        "https://www.facebook.com/dialog/feed?app_id=1",
        "https://www.facebook.com/groups/1234",
        "https://www.facebook.com/sonne/posts/1234",
        "https://www.facebook.com/sonne/videos/1234/",
        "https://www.facebook.com/profile.php",
        "https://www.facebook.com/pages/",
        "https://www.facebook.com/tr?id=123&ev=PageView",
        "https://l.facebook.com/l.php?u=x",
        "https://developers.facebook.com/docs",
        "https://xfacebook.com/sonne",
        "https://www.facebook.com/wix",
        "https://www.facebook.com/YOUR_PAGE",
        "https://www.facebook.com/{{ handle }}",
        "https://www.facebook.com/%s",
        "https://www.facebook.com/#",
        "https://www.facebook.com/son[ne",
        "https://www.facebook.com/index.php",
        "https://www.instagram.com/p/AbC123/",
        "https://www.instagram.com/sonne/reel/AbC123/",
        "https://www.instagram.com/explore/tags/brot",
        "https://www.instagram.com/squarespace",
        "https://www.instagram.com/son-ne",
        "https://twitter.com/intent/tweet?text=x",
        "https://twitter.com/share?url=x",
        "https://x.com/sonne/status/1234",
        "https://x.com/i/flow/login",
        "https://x.com/hashtag/brot",
        "https://x.com/de/tos",
        "https://twitter.com/en/privacy",
        "https://twitter.com/personalization",
        "https://www.facebook.com/full_data_use_policy",
        "https://www.facebook.com/data_preferences",
        "https://www.youtube.com/static?template=privacy",
        "https://www.youtube.com/player_api",
        "https://www.instagram.com/embed.js",
        "whatsapp://send?text=x",
        "https://business.x.com/en",
        "https://x.com/a_name_that_is_too_long",
        "https://www.linkedin.com/shareArticle?url=x",
        "https://www.linkedin.com/sharing/share-offsite/?url=x",
        "https://www.linkedin.com/posts/sonne-1",
        "https://www.linkedin.com/company/",
        "https://www.linkedin.com/company/your-company-name",
        "https://youtu.be/AbC123",
        "https://www.youtube.com/watch?v=AbC123",
        "https://www.youtube.com/embed/AbC123",
        "https://www.youtube.com/playlist?list=1",
        "https://www.youtube.com/one/two/three",
        "https://www.tiktok.com/trending",
        "https://vm.tiktok.com/AbC123",
        "https://www.threads.net/@sonne/post/AbC",
        "https://bsky.app/profile/sonne.bsky.social/post/3k",
        "https://bsky.app/intent/compose?text=x",
        "https://mastodon.social/@sonne/1234",
        "https://mastodon.social/share?text=x",
        "https://mastodon.social/about",
        "https://t.me/share/url?url=x",
        "https://t.me/joinchat/AbC",
        "https://t.me/sonne_backt/12",
        "https://wa.me/?text=x",
        "https://api.whatsapp.com/send?text=x",
        "https://www.pinterest.com/pin/create/button/?url=x",
        "https://www.pinterest.com/pin/1234/",
        "https://www.xing.com/spi/shares/new?url=x",
        "https://github.com/sonne/brot",
        "https://github.com/features",
        "https://vimeo.com/123456",
        "https://player.vimeo.com/video/123456",
        "https://vimeo.com/channels/brot",
        "https://www.snapchat.com/scan?attachmentUrl=x",
        "https://discord.com/channels/1234",
        "https://discord.com/terms",
        "mailto:sonne@facebook.com",
        "javascript:void(0)",
        "/facebook.com",
        "#",
        "",
    ],
)
def test_other_links_lead_to_no_profile(url: str) -> None:
    assert parse_profile(url) is None


@pytest.mark.parametrize(
    "spellings",
    [
        (
            "https://www.facebook.com/sonne",
            "http://m.facebook.com/Sonne/?ref=1#top",
            "//de-de.facebook.com/sonne//",
            "facebook.com/sonne",
            " https://facebook.com/son\u200bne\n",
            "https://www.facebook.com:443/sonne",
        ),
        ("https://x.com/sonne", "http://www.twitter.com/Sonne/", "twitter.com/@sonne?s=20"),
        ("https://discord.gg/aBc", "https://discordapp.com/invite/aBc"),
        ("https://pinterest.at/sonne/", "https://www.pinterest.com.mx/Sonne/brot"),
        ("https://wa.me/+4915112345678", "https://web.whatsapp.com/send?phone=4915112345678"),
        ("https://mas.to/@Sonne", "https://mas.to/users/sonne", "https://mas.to/web/@sonne"),
    ],
)
def test_one_profile_has_one_spelling(spellings: tuple[str, ...]) -> None:
    profiles = {parse_profile(spelling) for spelling in spellings}
    assert len(profiles) == 1
    assert None not in profiles


@pytest.mark.parametrize("maker", sorted(load_platforms().site_builders))
def test_the_profiles_in_unedited_templates_are_nobodys(maker: str) -> None:
    assert parse_profile(f"https://www.facebook.com/{maker}") is None
    assert parse_profile(f"https://www.youtube.com/@{maker}") is None


HOSTS = list(load_platforms().by_host)


@given(st.sampled_from([*HOSTS, "pinterest.fr", "mas.to", ""]), st.text(max_size=80))
def test_the_spelling_of_a_profile_leads_to_the_same_profile(host: str, rest: str) -> None:
    profile = parse_profile(f"https://{host}/{rest}")
    if profile is not None:
        assert parse_profile(profile.url) == profile


@given(st.text())
def test_any_text_may_be_asked_about(text: str) -> None:
    for each in (parse_profile(text), parse_profile("https://facebook.com/" + text)):
        assert each is None or each.url.startswith("https://")
