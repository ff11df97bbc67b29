#!/bin/sh
# One night: measures, compares with the baseline, looks for lasting changes, and writes pages to publish.
#
#   docs/nightly/nightly.sh FOLDER [OPTION of `campaign run`]...
#
# FOLDER gets index.html, which says how the night ended, and the pages that it links to. Variables:
#   NIGHTLY_ARCHIVE   folder of the archive, outside of what a CI runner cleans; default: results
#   NIGHTLY_SYSTEM    the system that is measured; default: local
#
# The exit code is the largest of all steps: 0 good; 1 a case failed or is slower than the baseline, a library could
# not be had, or an alarm rings; 2 something could not run or could not be compared. 130: interrupted, nothing is compared.
set -u

if [ $# -eq 0 ]; then
    echo "usage: $0 FOLDER [OPTION of 'campaign run']..." >&2
    exit 2
fi
mkdir -p "$1" || exit 2
pages=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname "$0")/../.." || exit 2
archive=${NIGHTLY_ARCHIVE:-results}
system=${NIGHTLY_SYSTEM:-local}
baseline=systems/$system/references.yaml
worst=0

# Runs one step and remembers the largest exit code.
step() {
    "$@"
    code=$?
    if [ "$code" -gt "$worst" ]; then
        worst=$code
    fi
}

# Writes index.html. That is done after the run. If the pages are inside of the clone, an older index.html would be a file
# that git does not know, and the run would be marked as made by a changed clone.
index() {
    echo '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>MPI overlap, nightly</title>'
    echo "<h1>MPI overlap on $system, $(date -u +%Y-%m-%d)</h1>"
    case $worst in
    0)
        if [ -e "$baseline" ]; then
            echo '<p>Good: no case failed, none is slower than the baseline, no alarm rings.</p>'
        else
            echo '<p>Good: no case failed, no alarm rings. There is no baseline yet.</p>'
        fi
        ;;
    1) echo '<p><strong>A case failed or is slower than the baseline, a library could not be had, or an alarm rings: see the log.</strong></p>' ;;
    130) echo '<p><strong>Interrupted: see the log.</strong></p>' ;;
    *) echo "<p><strong>${1:-A step could not run}: see the log.</strong></p>" ;;
    esac
    echo '<ul>'
    for page in report compare history; do
        if [ -e "$pages/$page.html" ]; then
            echo "<li><a href=\"$page.html\">$page</a></li>"
        fi
    done
    echo '</ul></html>'
}

# A signal, which the step that runs gets too, ends the night with its page.
trap 'worst=130; index >"$pages/index.html"; exit 130' HUP INT TERM

# Yesterday's pages would pass for today's.
rm -rf "$pages/index.html" "$pages/report.html" "$pages/report-maps" "$pages/compare.html" "$pages/compare.xml" \
    "$pages/history.html" || exit 2

# What is judged is the run that this night made, whatever else the archive has got meanwhile: its name is in the last
# line that `campaign run` prints.
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
mkfifo "$scratch/pipe" || exit 2
tee "$scratch/said" <"$scratch/pipe" &
step ./campaign run --system "$system" --output "$archive" "$@" >"$scratch/pipe"
wait
run=$(sed -n 's|^run: .*/||p' "$scratch/said" | tail -n 1)
if [ "$worst" -gt 1 ] || [ -z "$run" ]; then
    [ "$worst" -gt 1 ] || worst=2
    index 'Nothing was measured' >"$pages/index.html" || exit 2
    exit "$worst"
fi
step ./campaign report "$run" --output "$archive" -o "$pages/report.html"
if [ -e "$baseline" ]; then
    step ./campaign compare "$system,baseline" "$run" --output "$archive" --html "$pages/compare.html" \
        --junit "$pages/compare.xml"
else
    echo "nightly: no baseline yet; after five nights: ./campaign baseline RUN RUN RUN RUN RUN --output $archive"
fi
step ./campaign history "$system" --output "$archive" --html "$pages/history.html"

index >"$pages/index.html" || exit 2
exit "$worst"
