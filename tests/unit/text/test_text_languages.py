"""Scripts and languages of texts: examples, and laws that hold for any string."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softquery.text import LANGUAGES, language_name, language_of, script_of
from softquery.text.languages import LONGEST

anything = st.text(alphabet=st.characters(), max_size=60)
han = st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1)
signs = st.text(alphabet="0123456789 .,?!…，。？👍🎉\n\t-+", max_size=20)
NAMES = {  # how Unicode begins the names of their letters
    "Latin": ("LATIN", "FEMININE", "MASCULINE"),
    "Greek": ("GREEK", "COPTIC"),
    "Han": ("CJK", "IDEOGRAPHIC"),
    "kana": ("HIRAGANA", "KATAKANA"),
}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How can I get a new password?", "en"),
        ("reset password", "en"),
        ("What does 你好 mean in this message?", "en"),
        ("Where is Café Müller?", "en"),
        ("VPN怎么用", "zh"),
        ("iPhone 退款要多久", "zh"),
        ("忘記密碼怎麼辦", "zh"),
        ("鲜の每日", "zh"),
        ("パスワードを忘れました", "ja"),
        ("東京からの配送は何日かかりますか", "ja"),
        ("비밀번호를 잊어버렸어요", "ko"),
        ("Как сбросить пароль?", "und-Cyrl"),
        ("كيف أعيد تعيين كلمة المرور؟", "und-Arab"),
        ("मैं अपना पासवर्ड कैसे बदलूं?", "und-Deva"),
        ("איך מאפסים סיסמה?", "he"),
        ("Πώς αλλάζω τον κωδικό;", "el"),
        ("ลืมรหัสผ่าน", "th"),
        ("Wie setze ich mein Passwort zurück?", "de"),
        ("Comment puis-je réinitialiser mon mot de passe ?", "fr"),
        ("¿Cómo puedo cambiar mi contraseña?", "es"),
        ("Come posso cambiare la mia password?", "it"),
        ("Como posso mudar a minha senha?", "pt"),
        ("Hoe kan ik mijn wachtwoord wijzigen?", "nl"),
        ("Wi-Fi", None),
        ("password", None),
        ("12:30?", None),
        ("👍🎉", None),
        ("", None),
    ],
)
def test_the_language_of_a_question(text, language):
    assert language_of(text) == language


@given(anything)
def test_any_text_has_a_known_language_or_none(text):
    language = language_of(text)
    assert language is None or language in LANGUAGES
    assert (language is None) or script_of(text) is not None
    assert language is None or language_name(language) == LANGUAGES[language]


@given(anything)
def test_how_letters_are_composed_does_not_matter(text):
    assert language_of(unicodedata.normalize("NFD", text)) == language_of(
        unicodedata.normalize("NFC", text)
    )


@given(anything, signs, signs)
def test_signs_and_digits_do_not_matter(text, before, after):
    assert script_of(f"{before} {text} {after}") == script_of(text)


@given(han, signs)
def test_han_without_kana_is_chinese(text, after):
    assert language_of(text + after) == "zh"


@given(st.characters(max_codepoint=0xFFFF, categories=["Lu", "Ll", "Lo"]))
def test_scripts_are_those_of_unicode(letter):
    script = script_of(letter)
    composed = unicodedata.normalize("NFKC", letter)
    if script is not None:
        names = NAMES.get(script, script.upper())
        assert any(unicodedata.name(each, "").startswith(names) for each in composed)


def test_only_the_beginning_of_a_long_text_is_read():
    assert language_of("how do I pay? " * 100_000) == "en"
    assert language_of("怎" * LONGEST + "how do I pay? " * 10_000) == "zh"
