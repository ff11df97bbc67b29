#!/bin/sh
# One night: measures, compares with the baseline, or with the night before while there is none, and renews the site of
# all nights, which tells what changed for good.
#
#   docs/nightly/nightly.sh FOLDER [OPTION of `campaign run`]...
#
# FOLDER gets index.html, which says how the night ended, and the pages that it links to: compare.html, and nights/, the
# site. Variables:
#   NIGHTLY_ARCHIVE   folder of the archive, outside of what a CI runner cleans; default: results
#   NIGHTLY_SYSTEM    the system that is measured; default: local
#   NIGHTLY_LIBRARIES a new release of these is measured beside the one before it; default: openmpi mpich intel
#   NIGHTLY_PUBLIC    not empty: the site has no names of hosts and users, and FOLDER no compare.html
#   NIGHTLY_AGAIN     for about so many seconds what is slower is measured again, before it alarms anybody; default: 900
#
# The exit code is the largest of all steps: 0 good; 1 a case failed or is slower, a library could
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
than=
undecided=
run=
worst=0

# Runs one step and remembers the largest exit code.
step() {
    "$@"
    code=$?
    if [ "$code" -gt "$worst" ]; then
        worst=$code
    fi
}

# A line of index.html, if there is the page.
link() {
    if [ -e "$pages/$1" ]; then
        echo "<li><a href=\"$1\">$2</a></li>"
    fi
}

# Writes index.html. That is done after the run. If the pages are inside of the clone, an older index.html would be a file
# that git does not know, and the run would be marked as made by a changed clone.
index() {
    echo '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>MPI overlap, nightly</title>'
    echo "<h1>MPI overlap on $system, $(date -u +%Y-%m-%d)</h1><p><strong id=\"age\"></strong></p><script>"
    echo "const days = (Date.now() - Date.parse('$(date -u +%Y-%m-%dT%H:%M:%SZ)')) / 864e5;"
    echo "if (days > 1.5) age.textContent = 'SILENT: this night is ' + Math.round(days) + ' days old, and none came after it.';"
    echo '</script>'
    case $worst in
    0)
        echo "<p>Good: no case failed, ${than:+none is slower than $than, }${undecided}no alarm rings.</p>"
        ;;
    1) echo "<p><strong>A case failed${than:+ or is slower than $than}, a library could not be had, or an alarm rings: see the log.</strong></p>" ;;
    130) echo '<p><strong>Interrupted: see the log.</strong></p>' ;;
    *) echo "<p><strong>${1:-A step could not run}: see the log.</strong></p>" ;;
    esac
    echo '<ul>'
    link "nights/$system/runs/$run.html" 'report of this night'
    link compare.html 'comparison with the baseline or the night before'
    link "nights/$system/alarms.html" alarms
    link nights/index.html 'all nights'
    echo '</ul></html>'
}

# A signal, which the step that runs gets too, ends the night with its page.
trap 'worst=130; index >"$pages/index.html"; exit 130' HUP INT TERM

# Yesterday's pages would pass for today's.
rm -f "$pages/index.html" "$pages/compare.html" "$pages/compare.xml" || exit 2

# What is judged is the run that this night made, whatever else the archive has got meanwhile: its name is in the last
# line that `campaign run` prints.
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
page=${NIGHTLY_PUBLIC:+$scratch/compare.html}
mkfifo "$scratch/pipe" || exit 2
tee "$scratch/said" <"$scratch/pipe" &
step ./campaign run --system "$system" --output "$archive" "$@" >"$scratch/pipe"
wait
folder=$(sed -n 's|^run: ||p' "$scratch/said" | tail -n 1)
run=${folder##*/}
if [ "$worst" -gt 1 ] || [ -z "$run" ]; then
    [ "$worst" -gt 1 ] || worst=2
    run=
    index 'Nothing was measured' >"$pages/index.html" || exit 2
    exit "$worst"
fi

# The night before is the newest other run of the same suite. One in which a launch failed is incomplete.
side=
for other in "$archive/$system"/*/manifest.json "$archive/$system"/.partial/*/manifest.json; do
    name=$(basename "${other%/manifest.json}")
    if [ "$name" != "$run" ] && [ -e "$other" ] && ! grep -q '^ "again_of": ' "$other" &&
        grep -qxF -e "$(grep -m 1 '^ "suite": ' "$folder/manifest.json")" "$other"; then
        side=$(printf '%s\n' "$side" "$name" | sort | tail -n 1)
        than='the night before'
    fi
done
if [ -e "$baseline" ]; then
    side=$system,baseline
    than='the baseline'
fi
if [ -n "$side" ]; then
    step ./campaign compare "$side" "$run" --again "${NIGHTLY_AGAIN:-900}" --output "$archive" \
        --html "${page:-$pages/compare.html}" --junit "$pages/compare.xml"
else
    echo "nightly: the first night: tomorrow's is compared with $run"
fi
# JUnit has a testcase without content for what is as good as before.
if [ "$worst" = 0 ] && [ -e "$pages/compare.xml" ] && ! grep -q -e '<testcase[^>]*/>' -e '<failure' "$pages/compare.xml"; then
    undecided="nothing could be told against $than, "
    than=
fi
if [ "$system" = local ]; then # on a cluster, whose jobs need more options: ./campaign judge
    for library in ${NIGHTLY_LIBRARIES-openmpi mpich intel}; do
        step ./campaign versions "$library" --new --output "$archive"
    done
fi
[ -e "$baseline" ] || echo "nightly: no baseline yet; if this was a good night: ./campaign baseline $run --output $archive"
step ./campaign publish "$pages/nights" --output "$archive" ${NIGHTLY_PUBLIC:+--public}

index >"$pages/index.html" || exit 2
exit "$worst"
