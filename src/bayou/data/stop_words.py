"""Names of stop-word lists: languages other than English (extra ``languages``), and text files."""

import os

from bayou.data.errors import DataError, did_you_mean, reason_of

MAX_FILE = 16 * 2**20  # bytes; longer files are texts, not lists of words

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
            f"got {language!r}{did_you_mean(name, ['english', 'english-long', *_CODES])}; the name of a "
            "file has a dot or a slash"
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


def split_names(names: str) -> list[str]:
    """The names in ``english+own.txt``; a file whose own name has a plus is one name."""
    if is_file(names) and os.path.isfile(names):
        return [names]
    found = [name.strip() for name in names.split("+")]
    if not all(found):
        raise DataError(
            f"stop_words has an empty name in {names!r:.200}; write names such as english+own.txt"
        )
    return found


def is_file(name: str) -> bool:
    """Whether a name is one of a file: it has a dot or a slash."""
    return "." in name or "/" in name or os.sep in name


def has_file(names: str) -> bool:
    """Whether one of the names joined by + is a file."""
    return any(map(is_file, split_names(names)))


def file_words(path: str) -> str:
    """The text of a file of stop words (UTF-8), without comments, which begin with #."""
    try:
        if os.path.isfile(path) and os.path.getsize(path) > MAX_FILE:
            raise DataError(f"{path}: a file of stop words has at most {MAX_FILE:,} bytes")
        with open(path, encoding="utf-8-sig") as file:
            return "\n".join(line.partition("#")[0] for line in file)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: the file of stop words is not UTF-8 ({error.reason}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise DataError(
            f"{path}: the file of stop words cannot be read: {reason_of(error)}"
        ) from None
