"""Topics through time.

One slice: its documents (`slice`, `record`), inference (`prior`, `cvb0`), memory (`memory`,
`remembering`), the state (`state`), significance of changes (`evidence`, `change`), births and deaths
(`lineage`), alerts (`alerts`, `history`), warnings about thin data (`doubts`), and words that name the
slice itself (`own_time`).
"""
