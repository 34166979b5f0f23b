"""Texts about two things."""

import random

FRUIT = ["apple", "pear", "plum", "cherry", "grape", "melon"]
BEAST = ["wolf", "bear", "lynx", "otter", "fox", "badger"]
KEEP_ALL = ("--min-df", "1", "--max-df", "1.0")


def texts(n=120, seed=0):
    draw = random.Random(seed)
    for i in range(n):
        mine = FRUIT if i % 2 else BEAST
        yield " ".join(draw.choices(mine, k=12) + draw.choices(FRUIT + BEAST, k=2))
