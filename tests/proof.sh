#!/usr/bin/env bash
# Tries to break what is promised, and prints how often each thing was tried: the tables of docs/proof.md.
#
#     tests/proof.sh [push|full] [--write]
#     tests/proof.sh --table FILE
#
# `push` strikes some of all places, others with each commit; `full` strikes all of them, in about an hour on two cores.
# With --write the table goes into docs/proof.md. `--table` prints what a run of the tests has noted in the file that
# SKEIN_PROOF named.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

# What was tried, most first. A kind of which nothing was lost ends here: a test that finds a loss fails.
table() {
    printf '| what was tried | times |\n|---|---:|\n'
    awk -F '\t' '{ n[$1] += $2 } END { for (what in n) printf "%d\t%s\n", n[what], what }' "$1" |
        sort -t $'\t' -k1,1nr -k2 | awk -F '\t' '{ printf "| %s | %d |\n", $2, $1 }'
}

# Fewer than promised is a failure of the harness.
promise() {
    local file=$1 least=$2 words=$3 found
    found=$(awk -F '\t' -v words="^($words)$" '$1 ~ words { n += $2 } END { print n + 0 }' "$file")
    ((found >= least)) || { printf 'proof: %d of "%s", and %d are promised\n' "$found" "$words" "$least" >&2; return 1; }
}

if [[ ${1-} == --table ]]; then
    table "$2"
    exit 0
fi

size=${1:-push}
[[ $size == push || $size == full ]] || { echo "usage: tests/proof.sh [push|full] [--write]" >&2; exit 129; }
# What cannot be tried here is a failure of a full run, and not left out.
[[ $size == push ]] || export SKEIN_TEST_FULL=1 SKEIN_TEST_JAIL=must SKEIN_TEST_TMUX=must
start=$SECONDS
SKEIN_PROOF=$(mktemp)
export SKEIN_PROOF
trap 'rm -f -- "$SKEIN_PROOF"' EXIT

# What was tried before a test failed is told, too.
ended=0
cargo test --locked --lib -- proof:: document:: || ended=$?
cargo test --locked --test skein -- \
    faults:: proof:: model:: fuzz:: races:: docworld:: hostile:: bundle::hostile jail:: hooks:: sync:: server:: runner:: ||
    ended=$?

printf '\n%s, %s, %d s:\n\n' "$size" "$(git --version)" $((SECONDS - start))
table "$SKEIN_PROOF"
((ended == 0)) || exit "$ended"

if [[ $size == full ]]; then
    kept=0
    promise "$SKEIN_PROOF" 7000 'kill at .*' || kept=1
    promise "$SKEIN_PROOF" 1600 'double kill' || kept=1
    promise "$SKEIN_PROOF" 5000 'error at .*' || kept=1
    promise "$SKEIN_PROOF" 400 'power cut|power cut, reftable' || kept=1
    promise "$SKEIN_PROOF" 6 'kind of disk that power was cut from: (ext4|xfs|btrfs)' || kept=1
    promise "$SKEIN_PROOF" 2000 'racing landing' || kept=1
    # With a jail and without one, as one user and as another.
    promise "$SKEIN_PROOF" 480 'hostile case' || kept=1
    promise "$SKEIN_PROOF" 100000 'interleaving of a person and an agent' || kept=1
    ((kept == 0)) || exit 1
fi

if [[ ${2-} == --write ]]; then
    page=$(mktemp)
    awk -v size="$size" -v table="$(table "$SKEIN_PROOF")" -v took="$((SECONDS - start))" '
        $0 == "<!-- " size " -->" { print; printf "\nIn %d s:\n\n%s\n\n", took, table; skip = 1; next }
        $0 == "<!-- /" size " -->" { skip = 0 }
        !skip
    ' docs/proof.md >"$page"
    cat "$page" >docs/proof.md
    rm -f -- "$page"
fi
