"""The default regular expression of a token."""

# Letters and digits of any script. `re` does not count vowel signs and other combining marks as letters.
# The blocks that need them are listed here; without them, words of those scripts would be split.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u0711\u0730-\u074a\u0900-\u0903\u093a-\u094f\u0955-\u0957"
    "\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83"
    "\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3e-\u0c56"
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0dca-\u0ddf\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3"
)
TOKEN_PATTERN = rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*"
