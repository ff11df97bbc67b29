"""`python -m mpi_campaign`, which `./campaign` starts in its environment."""

import errno
import signal
import sys

from mpi_campaign.processes import signals

try:
    signals.handle(signal.default_int_handler)  # as SIGINT has it already
    import click

    from mpi_campaign.children import environ
    from mpi_campaign.commands.cli import campaign
    from mpi_campaign.errors import (
        EXIT_GOOD,
        EXIT_INTERRUPTED,
        EXIT_WRONG_USE,
        CampaignError,
        check_limits,
        explained,
        limited,
    )
    from mpi_campaign.processes import streams
    from postprocess.drawing.text import clean
except KeyboardInterrupt:  # loading takes a second, longer on a busy machine
    sys.stderr.write("campaign: interrupted\n")
    sys.exit(130)

NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main() -> int:
    """The command of this process."""
    streams.open_closed()
    environ.clean_libraries()
    streams.make_visible()
    if sys.argv[1:2] != ["run"]:
        # `campaign list | head` ends as other commands do. Python itself ignores it, whoever started it.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    code = answer(sys.argv[1:])
    trouble = streams.output_trouble()
    is_explained = code in (EXIT_WRONG_USE, EXIT_INTERRUPTED)  # a line says already why
    return code if trouble is None or is_explained else _refuse(trouble, "standard output")


def answer(words: list[str]) -> int:
    """Run a command; every way out is an exit code and, where it is not good, one line."""
    try:
        check_limits("RLIMIT_AS", "RLIMIT_DATA")
        result = campaign.main(words, prog_name="campaign", standalone_mode=False)
    except CampaignError as error:
        streams.complain(f"campaign: {clean(error)}")  # it may quote a file from anywhere
        return error.exit_code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        try:
            print(error.ctx.get_help() if error.ctx else error.format_message(), flush=True)
        except OSError as trouble:
            _refuse(trouble, "standard output")
        return EXIT_WRONG_USE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "campaign"
        streams.complain(f"campaign: {' '.join(error.format_message().split())} See: ./{command} --help")
        return EXIT_WRONG_USE
    except (KeyboardInterrupt, click.Abort):
        streams.complain("campaign: interrupted")
        return EXIT_INTERRUPTED
    except OSError as error:
        return _refuse(error, error.filename or ("standard output, or a file" if error.errno in FULL else ""))
    except MemoryError:
        streams.complain(f"campaign: {limited(errno.ENOMEM)}")
        return EXIT_WRONG_USE
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        streams.complain(f"campaign: {limited(errno.EAGAIN)}")
        return EXIT_WRONG_USE
    return result if isinstance(result, int) else EXIT_GOOD


def _refuse(error: OSError, what: str) -> int:
    where = f"{what}: " if what else ""
    todo = ": this clone and its archive must be yours to read and to write" if error.errno in NOT_OURS else ""
    streams.complain(f"campaign: {where}{explained(error)}{todo}")
    return EXIT_WRONG_USE


if __name__ == "__main__":
    sys.exit(main())
