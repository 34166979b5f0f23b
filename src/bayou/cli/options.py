"""Options that several verbs share, spelled once."""

from pathlib import Path
from typing import Annotated

import typer

_COLUMNS, _INPUT, _RUN = "Columns of the input", "Reading", "Running"
_TELLING = "Telling"

File = Annotated[
    str, typer.Argument(metavar="FILE", help="JSONL, CSV, TSV, Parquet or a folder; - is stdin.")
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `bayou fit` or `track` wrote.")
]
Text = Annotated[
    str,
    typer.Option("--text", metavar="NAME", help="Where the text is.", rich_help_panel=_COLUMNS),
]
TextAgain = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="NAME",
        help="Where the text is; else as the model remembers, else `text`. So with the others.",
        rich_help_panel=_COLUMNS,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="NAME",
        help="Where its class or labels are.",
        rich_help_panel=_COLUMNS,
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        metavar="TEXT",
        help="What stands between several labels of one field.",
        rich_help_panel=_COLUMNS,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME",
        help="Where the number to predict is.",
        rich_help_panel=_COLUMNS,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="NAME",
        help="Where its date is.",
        rich_help_panel=_COLUMNS,
    ),
]
OnAlert = Annotated[
    str | None,
    typer.Option(
        "--on-alert",
        metavar="CMD",
        help="Run this for each alert, its JSON on stdin; no shell: sh -c '...' is one.",
        rich_help_panel=_TELLING,
    ),
]
Webhook = Annotated[
    str | None,
    typer.Option(
        "--webhook", metavar="URL", help="Post each alert here.", rich_help_panel=_TELLING
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="NAME",
        help="Where its name is; else `id`, else it is numbered.",
        rich_help_panel=_COLUMNS,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="jsonl, csv, tsv, parquet or folder; else told by the name.",
        rich_help_panel=_INPUT,
    ),
]
EncodingErrors = Annotated[
    str,
    typer.Option(
        "--encoding-errors",
        metavar="HOW",
        help="Bytes that are not UTF-8: strict or replace.",
        rich_help_panel=_INPUT,
    ),
]
MaxLineBytes = Annotated[
    int,
    typer.Option(
        "--max-line-bytes",
        min=1,
        metavar="N",
        help="Refuse longer lines; else 64 MiB.",
        show_default=False,
        rich_help_panel=_INPUT,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        min=0,
        metavar="N",
        help="Same seed, same model.",
        rich_help_panel=_RUN,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="Default: all cores. Never changes the result.",
        rich_help_panel=_RUN,
    ),
]
CheckpointDir = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint-dir",
        metavar="FOLDER",
        help="Keep a checkpoint here along the way and on Ctrl-C.",
        rich_help_panel=_RUN,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on from the checkpoint, if there is one.", rich_help_panel=_RUN
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Read and check, say what would be done, do nothing.",
        rich_help_panel=_RUN,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Errors only.", rich_help_panel=_RUN),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Say more; show tracebacks.",
        rich_help_panel=_RUN,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=".jsonl, .csv, .tsv or .parquet; - is stdout.",
    ),
]
