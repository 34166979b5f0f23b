"""``bayou`` and ``python -m bayou``: the command line."""

import sys
import warnings


def run() -> None:
    """Read the verbs and run the one that is asked for; Ctrl-C while they are read ends it as well."""
    try:
        from bayou.cli import app
        from bayou.cli.terminal import show_warning
    except KeyboardInterrupt:
        print("bayou: interrupted; nothing was done", file=sys.stderr)
        sys.exit(130)
    warnings.showwarning = show_warning
    app(prog_name="bayou")


if __name__ == "__main__":
    run()
