"""Exit codes of commands, and the error that ends a command with one line for a person."""

EXIT_GOOD = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130


class CampaignError(Exception):
    """Wrong use, or nothing could be run. The message is one line: what is wrong, the legal values, what to do."""

    exit_code = EXIT_WRONG_USE

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
