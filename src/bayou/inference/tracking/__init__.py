"""Topics through time.

`models.topic_tracker.next_slice` is the step of one slice. Its parts: priors and starts (`slice`, `prior`),
inference (`cvb0` and `expectations`, or the samplers in `prior`), significance of changes (`evidence`, with
the statistics in `change` and `surprise`), memory (`memory_update`, `memory`), births and deaths (`lineage`).
After the step: terms and history (`record`, `history`), alerts (`alerts`, `calendar_words`), warnings about
the data (`data_warnings`). `settings` and `state` are what all of them share.
"""
