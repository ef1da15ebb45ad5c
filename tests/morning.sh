#!/bin/sh
# Ten workers have worked over night: three did well, two are in conflict, one asks, one failed, one lost its own work,
# one left its plan, and one claims tests that it never ran. A person decides on each by typed commands; afterwards a
# fresh clone of the state tells what was decided, what was not, and whether what landed still holds.
#
#     tests/morning.sh PROGRAM [FOLDER]
#
# Without a folder it works in one of its own, which it removes.
set -eu

program=$(realpath -- "$1")
if [ $# -gt 1 ]; then
    root=$2
else
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
fi
mkdir -p "$root/bin" "$root/home"
ln -sf "$program" "$root/bin/git-skein"
PATH=$root/bin:$PATH HOME=$root/home XDG_CONFIG_HOME=$root/home/.config GIT_CONFIG_NOSYSTEM=1
export PATH HOME XDG_CONFIG_HOME GIT_CONFIG_NOSYSTEM
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE SKEIN_WORKER 2>/dev/null || true

fail() {
    printf 'morning: %s\n' "$*" >&2
    exit 1
}

# `says TEXT COMMAND…`: the command ends well and prints the text. `refused TOKEN COMMAND…`: it does not.
says() {
    text=$1
    shift
    printf '$ %s\n' "$*"
    out=$("$@" 2>&1) || fail "it ended with $?: $out"
    printf '%s\n' "$out"
    case $out in *"$text"*) ;; *) fail "it does not say: $text" ;; esac
}

refused() {
    token=$1
    shift
    printf '$ %s\n' "$*"
    if out=$("$@" 2>&1); then fail "it was not refused: $out"; fi
    printf '%s\n' "$out"
    case $out in *"refused: $token:"*) ;; *) fail "it was not refused as $token" ;; esac
}

# What the night left: a repository with tests, and a policy that nothing lands unjudged.
git init --quiet --initial-branch=main "$root/repo"
cd "$root/repo"
git config user.name Ada
git config user.email ada@example.invalid
git config skein.jail none
mkdir .skein src
echo 'require_verdict = true' >.skein/policy.toml
for name in sum auth page; do printf '%s\n' one two three four five six seven eight nine >"src/$name.txt"; done
printf '%s\n' 'grep -q . src/sum.txt && echo "test result: ok. 3 passed; 0 failed; 0 ignored"' >test.sh
git add .
git commit --quiet -m 'a program'

work() {
    name=$1 task=$2 script=$3
    shift 3
    git skein --quiet dispatch --name "$name" --check 'sh test.sh' "$@" "$task" -- sh -c "$script" >/dev/null
}
commit='git commit --quiet -am work'
done_='git skein worker done --outcome complete --summary'

work fix-sum 'Mend the sum' "sed -i s/two/2/ src/sum.txt; $commit; $done_ 'The sum is right' --evidence 'sh test.sh: 3 passed'"
work add-page 'Add a page' "sed -i s/nine/9/ src/page.txt; $commit"
work docs 'Write it down' "echo words >README; git add README; git commit --quiet -m words"
work rename 'Rename it' "sed -i s/five/V/ src/auth.txt; $commit"
work shorten 'Shorten it' "sed -i s/five/5/ src/auth.txt; $commit"
work colours 'Colour the button' "if grep -q -e '-> blue' -e blue \"\$SKEIN_BRIEF\"; then echo blue >button; git add button; git commit --quiet -m blue; else git skein worker wait --question 'Which colour?' --option red --option blue; fi"
work broken 'Do the impossible' "echo half >half; git add half; git commit --quiet -m half; echo 'it cannot be done' >&2; exit 3"
work lost 'Rewrite it' "sed -i s/one/ONE/ src/page.txt; sleep 3; git checkout --quiet src/page.txt"
work boast 'Test everything' "sed -i s/seven/7/ src/sum.txt; $commit; $done_ 'src/sum.txt has its seven right, and all tests pass' --evidence 'make test: 412 passed'"
work planned 'Build a door' "if grep -q 'Your plan .* is approved' \"\$SKEIN_BRIEF\"; then echo door >door; echo window >window; git add door window; git commit --quiet -m door
    else git skein worker plan --goal 'A door' --step 'Make it -- door' --verify 'cat door' --risk 'None'; fi" --kind architect
git skein --quiet wait >/dev/null 2>&1 || true

# The person comes.
says 'an answer: Which colour?' git skein inbox
says 'exit code 3' git skein inbox
[ "$(git skein status --porcelain | wc -l)" -ge 10 ] || fail 'there are not ten workers'
says 'rename and shorten' sh -c 'git skein overlap || true'

# Nothing lands unjudged.
refused not-accepted git skein land fix-sum

# Three that did well.
for good in fix-sum add-page docs; do
    says 'passed  sh test.sh' git skein check "$good"
    says 'risk      ' git skein verdict "$good"
    says accept git skein verdict "$good" accept -m 'looks right'
    says main git skein land "$good"
    says landed git skein landed "$good"
done

# Two in conflict: the first lands, the second is done again on what there is now.
says 'shorten in src/auth.txt: conflicts' git skein verdict rename
says main git skein land --accept rename
refused conflict git skein land --accept shorten
says retry git skein verdict shorten retry -m 'rename has landed; begin from there'
git skein --quiet wait >/dev/null 2>&1 || true
refused rejected git skein land shorten

# One asks.
says 'answer: colours q1' git skein verdict colours answer --option 2
says '' git skein resume colours
says ready git skein wait colours
says main git skein land --accept colours

# One failed: it is looked at, and rejected.
says 'it cannot be done' git skein show --log broken
says reject git skein verdict broken reject -m 'give it up'
refused rejected git skein land --any-outcome broken

# One threw its own work away: it is all there.
says self-discarded git skein show lost
says 'next: git skein restore lost --snapshot ' git skein show lost
snapshot=$(git skein show lost | sed -n 's/^  discarded *snapshot \([0-9a-f]*\) has it$/\1/p')
says 'copied: lost' git skein restore lost --snapshot "$snapshot" --to "$root/again"
grep -q ONE "$root/again/src/page.txt" || fail 'the work that was thrown away is not back'

# One planned, and left its plan.
says 'goal      A door' git skein plan planned
says approved git skein plan planned approve
git skein --quiet wait planned >/dev/null
says 'off plan  window' git skein show planned
says 'off plan: window' git skein verdict planned
says reject git skein verdict planned reject -m 'nobody asked for a window'

# One claims what nobody saw.
says 'it claims evidence, and none was seen' git skein verdict boast
says reject git skein verdict boast reject -m 'there is no make here'
refused rejected git skein land boast

says 'sh test.sh' git skein verify main
git skein --quiet reap add-page --yes >/dev/null
says 'no finding' sh -c 'git skein fsck && echo no finding'
[ -z "$(git status --porcelain)" ] || fail 'the checkout is dirty'

# A year later, somewhere else: a fresh clone of the repository and its state.
git clone --quiet "$root/repo" "$root/clone"
cd "$root/clone"
git config user.name Bob
git config user.email bob@example.invalid
git config skein.jail none
git fetch --quiet origin '+refs/skein/*:refs/skein/*' '+refs/notes/skein/*:refs/notes/skein/*'
says 'there is no make here' git skein log decisions
for line in 'accept fix-sum' 'accept rename' 'retry shorten' 'answer colours' 'reject broken' 'reject planned' 'reject boast'; do
    says "$line" git skein log decisions
done
says 'looks right' git skein log decisions
[ -z "$(git skein debt)" ] || fail 'something landed that nobody judged'
says 'same  sh test.sh' git skein verify main
says landed git skein landed fix-sum --onto main
refused foreign-worker git skein verdict boast accept

printf 'morning: all is decided\n'
