"""Stop words of languages other than English, from the extra ``languages``."""

from bayou.data.errors import DataError, did_you_mean

# English names of the supported languages, with their ISO 639-1 codes.
_CODES = {
    "afrikaans": "af", "arabic": "ar", "basque": "eu", "bengali": "bn", "breton": "br",
    "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs",
    "danish": "da", "dutch": "nl", "esperanto": "eo", "estonian": "et", "finnish": "fi",
    "french": "fr", "galician": "gl", "german": "de", "greek": "el", "hebrew": "he",
    "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga", "italian": "it",
    "japanese": "ja", "korean": "ko", "latin": "la", "latvian": "lv", "lithuanian": "lt",
    "malay": "ms", "marathi": "mr", "norwegian": "no", "persian": "fa", "polish": "pl",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "slovak": "sk", "slovenian": "sl",
    "spanish": "es", "swahili": "sw", "swedish": "sv", "thai": "th", "turkish": "tr",
    "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
}  # fmt: skip


def language_words(language: str) -> frozenset[str]:
    """The stop words of a language, by its English name or its ISO 639-1 code.

    Raises
    ------
    DataError
        If the language is unknown, or the package with the lists is not installed.
    """
    name = language.strip().lower()
    code = _CODES.get(name, name)
    if code not in _CODES.values():
        raise DataError(
            f'stop_words must be a language such as "english" or "de", None or a list of words, '
            f"got {language!r}{did_you_mean(name, ['english', *_CODES])}"
        )
    try:
        import stopwordsiso
    except ImportError:
        raise DataError(
            f"stop words for {language!r} need an extra package: pip install 'bayou[languages]'"
        ) from None
    if not stopwordsiso.has_lang(code):
        raise DataError(
            f"the installed stopwordsiso has no list for {language!r}; pass stop_words as a list"
        )
    return frozenset(stopwordsiso.stopwords(code))
