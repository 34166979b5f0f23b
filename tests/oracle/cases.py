"""All cases by name; a case is a function of the number of threads that gives values by name."""

from functools import partial

from tests.oracle.commands import COMMANDS
from tests.oracle.others import OTHERS
from tests.oracle.variants import VARIANTS
from tests.oracle.ways import SEEDS, ways_of

CASES = {}

for _name, _variant in VARIANTS.items():
    for _way, _work in ways_of(_variant).items():
        for _seed in SEEDS if _way != "stopped" else SEEDS[1:2]:
            CASES[f"{_name}/{_way}/{_seed}"] = partial(_work, _variant, _seed)
for _name, _case in (OTHERS | COMMANDS).items():
    if _name in CASES:
        raise ValueError(f"there are two cases {_name}")
    CASES[_name] = _case
