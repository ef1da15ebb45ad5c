#!/usr/bin/env bash
# Counts the instructions of the five verbs that run most, and compares them with benches/instructions.json: a count
# says the same on a busy machine as on an idle one. Fails where one has grown by more than 10 %.
#
#     benches/instructions.sh [--write] [PROGRAM]
#
# With --write the counts become the ones to compare with. PROGRAM is target/release/git-skein unless given. Needs
# valgrind. Only our own process counts: not git's, and not what it leaves running.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

write=
[[ ${1-} != --write ]] || { write=yes; shift; }
program=$(realpath -- "${1:-${CARGO_TARGET_DIR:-target}/release/git-skein}")
known=$PWD/benches/instructions.json
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

export HOME=$folder GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC
export GIT_AUTHOR_DATE='1767225600 +0000' GIT_COMMITTER_DATE='1767225600 +0000'
mkdir "$folder/repo"
cd "$folder/repo"
git init --quiet --template= --initial-branch=main .
git config user.name Ada
git config user.email ada@example.invalid
git config maintenance.auto false

# 2,000 files, twenty to a folder, and 500 commits that change three each.
awk 'BEGIN {
    who = "committer Ada <ada@example.invalid> 1767225600 +0000"
    print "commit refs/heads/main\n" who "\ndata 4\nbase"
    for (n = 0; n < 2000; n++) put(n, "a")
    for (c = 1; c <= 500; c++) {
        print "commit refs/heads/main\n" who "\ndata 1\nc"
        for (k = 0; k < 3; k++) put((c * 7919 + k * 104729) % 2000, c)
    }
}
function put(n, word,   body, line) {
    body = ""
    for (line = 0; line < 20; line++) body = body n " " (line == 5 ? word : line) "\n"
    printf "M 100644 inline d%02d/e%02d/f%d\ndata %d\n%s\n", n / 400, n / 20 % 20, n, length(body), body
}' | git fast-import --quiet
git read-tree -m -u main

skein() {
    "$program" "$@" >"$folder/said" 2>&1 || { cat "$folder/said" >&2; exit 1; }
}
skein init
for n in {1..20}; do
    skein dispatch --wait --jail none --name "w$n" --base main~400 t -- \
        sh -c "echo $n >new$n && git add new$n && git commit --quiet -m new$n"
done
printf -- '---\nskein_doc: 01k00000000000000000000d0c\n---\n\n<!-- agent:exchange -->\n' >doc.md
for ((n = 0; n < 2000; n++)); do echo "Line $n of what was said before, about so long."; done >>doc.md
printf 'Question?\n<!-- /agent:exchange -->\n' >>doc.md
git add doc.md
git commit --quiet -m doc
skein doc preflight doc.md
skein land w1

grown=()
lines=()
count() {
    local verb=$1 before now
    shift
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" >"$folder/said" 2>"$folder/count" </dev/stdin ||
        { cat "$folder/said" "$folder/count" >&2; exit 1; }
    now=$(sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p' "$folder/count")
    [[ -n $now ]] || { echo "instructions: valgrind counted nothing" >&2; exit 1; }
    before=$(sed -n "s/^ *\"$verb\": \([0-9]*\),*\$/\1/p" "$known" 2>/dev/null || true)
    lines+=("  \"$verb\": $now")
    if [[ -z $before ]]; then
        printf '%-12s %12d\n' "$verb" "$now"
    else
        printf '%-12s %12d %+6.1f %%\n' "$verb" "$now" "$(awk "BEGIN { print ($now / $before - 1) * 100 }")"
        ((now * 10 <= before * 11)) || grown+=("$verb")
    fi
    [[ -n $before || -n $write ]] || grown+=("$verb")
}
count status status
count landed landed w1
count import import w2
count land land w2
count 'doc write' doc write doc.md <<<'<!-- patch:exchange -->
An answer.
<!-- /patch:exchange -->'

if [[ -n $write ]]; then
    (IFS=,; printf '{%s\n}\n' "${lines[*]}") | sed 's/,  "/,\n  "/g; s/^{  /{\n  /' >"$known"
elif ((${#grown[@]})); then
    echo "instructions: grown by more than 10 %, or not known: ${grown[*]}; see benches/instructions.json" >&2
    exit 1
fi
