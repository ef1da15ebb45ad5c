#!/bin/sh
# A pipeline with a bare repository on disk as its server: each job is a clone of its own, with the history and the
# branches that runners leave there, and gives one task to one agent. The last job lands what all of them made.
#
# usage: pipeline.sh GIT-SKEIN FOLDER 'JOB JOB JOB'    the jobs are one, two and three, in any order
#
# It prints the tree of the trunk, and what landed. Neither depends on the order.
set -eu
skein=$1
mkdir -p "$2"
cd "$2"
folder=$(pwd)
jobs=$3
mkdir home
export HOME="$folder/home" XDG_CONFIG_HOME="$folder/home" GIT_CONFIG_NOSYSTEM=1 CI=true
git config --global user.name Ada
git config --global user.email ada@example.invalid
git config --global init.defaultBranch main
git config --global skein.jail none
server=file://$folder/server.git

# The server, and a history that no job gets all of.
git init --quiet --bare server.git
git clone --quiet "$server" seed 2>&1 | grep -v 'empty repository' || true
(
    cd seed
    for n in 1 2 3; do
        seq 1 9 >numbers.txt
        echo "$n" >version.txt
        git add .
        git commit --quiet --message "version $n"
    done
    git push --quiet origin main
)

# What a runner checks out: one commit, on no branch.
checkout() {
    git init --quiet "$1"
    cd "$1"
    git remote add origin "$server"
    git fetch --quiet --depth=1 origin +refs/heads/main:refs/remotes/origin/main
    git checkout --quiet --detach origin/main
}

task() {
    case $1 in
    one) echo "sed -i.old 's/^1\$/first/' numbers.txt && rm numbers.txt.old && echo one >one.txt" ;;
    two) echo "sed -i.old 's/^9\$/last/' numbers.txt && rm numbers.txt.old && echo two >two.txt" ;;
    three) echo "sed -i.old 's/^1\$/FIRST/' numbers.txt && rm numbers.txt.old && echo three >three.txt" ;;
    esac
}

job() (
    checkout "job-$1"
    agent="$(task "$1") && git add --all && git commit --quiet --message 'What $1 did'"
    "$skein" -q dispatch --wait --name "$1" "Do what $1 does" -- sh -c "$agent" >/dev/null
    git push --quiet origin refs/skein/format/1 'refs/skein/worker/*:refs/skein/worker/*'
)

land() (
    checkout "$1"
    git fetch --quiet origin 'refs/skein/*:refs/skein/*' '+refs/notes/skein/*:refs/notes/skein/*'
    code=0
    "$skein" -q land --all --gate 'test -s numbers.txt' --junit results.xml >land.txt 2>&1 || code=$?
    # What cannot be merged is for a person; all that can is on the trunk.
    [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || { cat land.txt; exit "$code"; }
    if git rev-parse --quiet --verify refs/heads/main >/dev/null; then
        git push --quiet origin main 'refs/skein/lane/*:refs/skein/lane/*' 'refs/notes/skein/*:refs/notes/skein/*'
    fi
)

for name in $jobs; do
    job "$name"
done
land last
before=$(git -C server.git rev-parse main)
# Another run finds nothing to do.
land again
test "$before" = "$(git -C server.git rev-parse main)"
grep -q 'not one: it has landed already' again/land.txt
grep -q 'not two: it has landed already' again/land.txt

echo "tree $(git -C server.git rev-parse 'main^{tree}')"
git -C server.git log --format='landed %s' "$(git -C seed rev-parse HEAD)..main" | sort
