#!/usr/bin/env bash
# A real agent, from its dispatch to the removal of its worktree: `pi`, driven by the scripted model beside this
# file. It is installed from npm into a cache folder; without npm or its registry the test is skipped.
#
#   tests/agents/pi.sh <git-skein binary>
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
binary=$(realpath -- "${1:?usage: pi.sh <git-skein binary>}")
package=@earendil-works/pi-coding-agent@1.6.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/git-skein/agents

skip() {
    printf 'tests/agents/pi.sh: skipped: %s\n' "$*"
    exit 0
}

fail() {
    printf 'tests/agents/pi.sh: %s\n' "$*" >&2
    exit 1
}

command -v npm > /dev/null || skip "there is no npm here"
command -v node > /dev/null || skip "there is no node here"
pi=$cache/node_modules/.bin/pi
if [[ ! -x $pi ]]; then
    mkdir -p -- "$cache"
    npm install --silent --no-audit --no-fund --prefix "$cache" "$package" > "$cache/log" 2>&1 ||
        skip "npm could not install $package"
fi

root=$(mktemp -d)
model=
end() {
    [[ -z $model ]] || kill "$model"
    rm -rf -- "$root"
}
trap end EXIT

# What the model says: look, change, commit, done.
cat > "$root/script.json" << 'SCRIPT'
[
  {"bash": "cat greeting.txt"},
  {"bash": "printf 'hello, world\\n' > greeting.txt && git commit --quiet --all --message 'Greet the world'"},
  {"say": "The greeting is for the world now."}
]
SCRIPT
node "$here/model.mjs" "$root/script.json" > "$root/port" &
model=$!
for _ in $(seq 100); do
    [[ -s $root/port ]] && break
    sleep 0.1
done
port=$(< "$root/port")
[[ -n $port ]] || fail "the model does not listen"

export HOME=$root/home PI_OFFLINE=1 GIT_CONFIG_NOSYSTEM=1
export PATH=$root/bin:$PATH
unset XDG_CONFIG_HOME
mkdir -p "$HOME/.pi/agent" "$root/bin" "$root/repo"
ln -s "$binary" "$root/bin/git-skein"
cat > "$HOME/.pi/agent/models.json" << MODELS
{"providers": {"local": {
  "baseUrl": "http://127.0.0.1:$port/v1", "api": "openai-completions", "apiKey": "none",
  "compat": {"supportsDeveloperRole": false, "supportsReasoningEffort": false},
  "models": [{"id": "scripted"}]
}}}
MODELS
git config --global user.name Ada
git config --global user.email ada@example.invalid
git config --global init.defaultBranch main

cd "$root/repo"
git init --quiet
printf 'hello\n' > greeting.txt
git add greeting.txt
git commit --quiet --message first

step() {
    printf '\n$ git skein %s\n' "$*"
    git skein "$@"
}

step dispatch --wait --name greet --timeout 2m "Greet the world" -- \
    "$pi" --provider local --model scripted --mode json -p '{brief}'
step import greet
step land --gate "grep -q world greeting.txt" greet
step landed --explain greet
[[ $(git show main:greeting.txt) == "hello, world" ]] || fail "main does not have the greeting"
[[ $(git log -1 --format=%an main) == greet ]] || fail "the commit is not the worker's"
git skein show --log greet | grep -q agent_end || fail "the agent's log is not kept"
step reap --yes greet
[[ ! -e $root/repo.skein/greet ]] || fail "the worktree is still there"
step landed greet
printf '\ntests/agents/pi.sh: a real agent went all the way\n'
