"""Settings are loud: what does not exist or fit is named."""

import dataclasses

import pytest

from softquery.errors import ConfigError
from softquery.text import TextConfig


def test_round_trip_through_a_dictionary():
    config = TextConfig(unit="jieba", simplify=True, boundaries=True, max_tokens=9)
    assert TextConfig.from_dict(config.to_dict()) == config


def test_dictionary_names_every_field():
    names = {field.name for field in dataclasses.fields(TextConfig)}
    assert set(TextConfig().to_dict()) == names


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unit": "syllables"}, r"unit must be one of words, .*got 'syllables'"),
        ({"unit": ["words"]}, r"unit must be one of .*got \['words'\]"),
        ({"unicode_form": "NFD"}, r"unicode_form must be one of NFC, NFKC; got 'NFD'"),
        ({"lowercase": "no"}, r"lowercase must be true or false, got 'no'"),
        ({"simplify": 1}, r"simplify must be true or false, got 1"),
        ({"max_tokens": 0}, r"max_tokens must be a whole number of at least 1, got 0"),
        ({"max_tokens": 2.5}, r"max_tokens .* got 2\.5"),
        ({"max_tokens": True}, r"max_tokens .* got True"),
        ({"max_tokens": 2, "boundaries": True}, r"max_tokens .* at least 3, got 2"),
    ],
)
def test_bad_values_are_quoted(settings, message):
    with pytest.raises(ValueError, match=message):
        TextConfig(**settings)
    with pytest.raises(ConfigError, match=message):
        TextConfig.from_dict(settings)


def test_unknown_setting_names_the_nearest():
    with pytest.raises(ConfigError, match="unknown text setting 'max_token'.*'max_tokens'"):
        TextConfig.from_dict({"max_token": 3})


def test_unknown_setting_far_from_all_lists_them():
    with pytest.raises(ConfigError, match="'zzz'; known are unit, unicode_form"):
        TextConfig.from_dict({"zzz": 3})


def test_settings_must_be_a_mapping():
    with pytest.raises(ConfigError, match=r"must be names with values, got \['unit'\]"):
        TextConfig.from_dict(["unit"])
