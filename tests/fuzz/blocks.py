"""Which file a case changes."""

BLOCK = 50  # consecutive cases of one file


def file_of(case, n_files):
    """The number of the file of a case, in order of names."""
    return case // BLOCK % n_files
