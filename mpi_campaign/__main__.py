"""`python -m mpi_campaign`, which `./campaign` starts in its environment."""

import errno
import signal
import sys

import click

from mpi_campaign.cli import campaign
from mpi_campaign.errors import EXIT_GOOD, EXIT_INTERRUPTED, EXIT_WRONG_USE, CampaignError
from postprocess.text import clean

NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS)


def main() -> int:
    """The command of this process."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    if sys.argv[1:2] != ["run"]:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `campaign list | head` ends as other commands do
    return answer(sys.argv[1:])


def answer(words: list[str]) -> int:
    """Run a command; every way out is an exit code and, where it is not good, one line."""
    try:
        result = campaign.main(words, prog_name="campaign", standalone_mode=False)
    except CampaignError as error:
        print(f"campaign: {clean(error)}", file=sys.stderr)  # it may quote a file from anywhere
        return error.exit_code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx else error.format_message())
        return EXIT_WRONG_USE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "campaign"
        print(f"campaign: {' '.join(error.format_message().split())} See: ./{command} --help", file=sys.stderr)
        return EXIT_WRONG_USE
    except (KeyboardInterrupt, click.Abort):
        print("campaign: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        todo = ": this clone and its archive must be yours to read and to write" if error.errno in NOT_OURS else ""
        print(f"campaign: {where}{error.strerror or error}{todo}", file=sys.stderr)
        return EXIT_WRONG_USE
    return result if isinstance(result, int) else EXIT_GOOD


if __name__ == "__main__":
    sys.exit(main())
