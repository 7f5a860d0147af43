"""What can make a comparison worthless."""


class Failure(Exception):
    """Its text says what to do."""
