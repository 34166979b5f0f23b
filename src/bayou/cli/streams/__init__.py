"""Runs of the verbs that learn from streams: learner, loop, tasks and order of time."""
