#!/usr/bin/env bash
# A real agent, from its dispatch to the removal of its worktree, driven by the scripted model beside this file, which
# is slow and fails at times: without a jail, and in one where it can be made. There the agent also asks a question, is
# answered, and goes on in its session; one that listens is told something while it works. The agent is installed from npm into a cache folder; without npm
# or its registry the test is skipped.
#
#   tests/agents/run.sh <git-skein binary> pi|codex|opencode
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
usage='usage: run.sh <git-skein binary> pi|codex|opencode'
binary=$(realpath -- "${1:?$usage}")
agent=${2:?$usage}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/git-skein/agents

skip() {
    printf 'tests/agents/run.sh: %s skipped: %s\n' "$agent" "$*"
    exit 0
}

fail() {
    printf 'tests/agents/run.sh: %s: %s\n' "$agent" "$*" >&2
    exit 1
}

listens=()
# The package, the command, the one with which it listens, the event that it ends with, and the statuses after which it tries again.
case $agent in
    pi)
        package=@earendil-works/pi-coding-agent@1.6.0
        command=(--provider local --model scripted --mode json -p '{brief}')
        listens=(--provider local --model scripted --mode rpc)
        ends=agent_end
        statuses='429, 500, 529'
        ;;
    codex)
        package=@openai/codex@0.171.0
        command=(exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox '{brief}')
        ends=turn.completed
        statuses='500, 529'
        ;;
    opencode)
        package=opencode-ai@1.18.33
        command=(run --format json '{brief}')
        ends=step_finish
        statuses='429, 529'
        ;;
    *) fail "$usage" ;;
esac

command -v npm > /dev/null || skip "there is no npm here"
command -v node > /dev/null || skip "there is no node here"
program=$cache/node_modules/.bin/$agent
if [[ ! -x $program ]]; then
    mkdir -p -- "$cache"
    npm install --silent --no-audit --no-fund --prefix "$cache" "$package" > "$cache/log" 2>&1 ||
        skip "npm could not install $package"
fi

# The agent's own start needs a newer node than some systems have; npm has that too.
if [[ $agent == pi ]] && (($(node -p 'process.versions.node.split(".")[0]') < 22)); then
    if [[ ! -x $cache/node/node_modules/.bin/node ]]; then
        mkdir -p -- "$cache/node"
        npm install --silent --no-audit --no-fund --prefix "$cache/node" node@22.20.0 > "$cache/log" 2>&1 ||
            skip "it needs node 22, and npm could not install that"
    fi
    PATH=$cache/node/node_modules/.bin:$PATH
fi

# Not below the folder for temporary files: codex wants its home elsewhere.
root=$(mktemp -d -- "$cache/run.XXXXXX")
model=
end() {
    [[ -z $model ]] || kill "$model"
    rm -rf -- "$root"
}
trap end EXIT

# What the model says: look, change, commit, done.
cat > "$root/script.json" << 'SCRIPT'
[
  {"bash": "cat greeting.txt", "fail": [STATUSES]},
  {"bash": "printf 'hello, world\\n' > greeting.txt && git commit --quiet --all --message 'Greet the world'", "after": 700},
  {"say": "The greeting is for the world now."}
]
SCRIPT
sed -i "s/STATUSES/$statuses/" "$root/script.json"
# And in another task: ask, end the turn, do what was answered.
cat > "$root/ask.json" << 'SCRIPT'
[
  {"bash": "git skein worker wait --question 'Who is greeted?' --option moon"},
  {"say": "I have asked."},
  {"bash": "printf 'hello, {answer}\\n' > greeting.txt && git commit --quiet --all --message 'Greet whom they said'"},
  {"say": "The greeting is for {answer} now."}
]
SCRIPT

# And in a third one: work until something is there, and do what was told meanwhile, unasked.
cat > "$root/listen.json" << 'SCRIPT'
[
  {"bash": "for n in $(seq 300); do [ -e go ] && break; sleep 0.1; done; rm go"},
  {"say": "Nobody has told me anything."},
  {"bash": "printf 'hello, {answer}\\n' > greeting.txt && git commit --quiet --all --message 'Greet whom they named'"},
  {"say": "The greeting is for {answer} now."}
]
SCRIPT

# And in a document: look, and answer in two places. Somebody types in it meanwhile.
cat > "$root/document.json" << 'SCRIPT'
[
  {"bash": "ls"},
  {"say": "<!-- patch:status -->\nanswered\n<!-- /patch:status -->\nIt is 42, by the agent.", "after": 2500},
  {"bash": "ls"},
  {"say": "It is 48, by the agent."}
]
SCRIPT

# Starts the model with a script of its own. Agents find it by its port.
model() {
    [[ -z $model ]] || kill "$model"
    : > "$root/port"
    node "$here/model.mjs" "$root/$1.json" > "$root/port" 2> "$root/failures" &
    model=$!
    for _ in $(seq 100); do
        [[ -s $root/port ]] && break
        sleep 0.1
    done
    port=$(< "$root/port")
    [[ -n $port ]] || fail "the model does not listen"
    configure
}

export HOME=$root/home PI_OFFLINE=1 GIT_CONFIG_NOSYSTEM=1
export PATH=$root/bin:$PATH
unset XDG_CONFIG_HOME XDG_CACHE_HOME
mkdir -p "$HOME/.pi/agent" "$HOME/.codex" "$HOME/.config/opencode" "$root/bin"
ln -s "$binary" "$root/bin/git-skein"
# Some run commands in a login shell, which has a PATH of its own.
printf 'PATH=%q:$PATH\n' "$root/bin" > "$HOME/.bash_profile"
configure() {
    cat > "$HOME/.pi/agent/models.json" << MODELS
{"providers": {"local": {
  "baseUrl": "http://127.0.0.1:$port/v1", "api": "openai-completions", "apiKey": "none",
  "compat": {"supportsDeveloperRole": false, "supportsReasoningEffort": false},
  "models": [{"id": "scripted"}]
}}}
MODELS
    printf '{"retry": {"baseDelayMs": 50}}\n' > "$HOME/.pi/agent/settings.json"
    cat > "$HOME/.codex/config.toml" << CONFIG
model = "scripted"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "http://127.0.0.1:$port/v1"
wire_api = "responses"
CONFIG
    cat > "$HOME/.config/opencode/opencode.json" << CONFIG
{"autoupdate": false, "model": "local/scripted", "small_model": "local/scripted",
  "provider": {"local": {
    "npm": "@ai-sdk/openai-compatible", "name": "local",
    "options": {"baseURL": "http://127.0.0.1:$port/v1", "apiKey": "none"},
    "models": {"scripted": {"name": "scripted"}}
}}}
CONFIG
}
git config --global user.name Ada
git config --global user.email ada@example.invalid
git config --global init.defaultBranch main

step() {
    printf '\n$ git skein %s\n' "$*"
    git skein "$@"
}

# All the way, shut in at the level given.
way() {
    model script
    local repo=$root/$1
    git init --quiet "$repo"
    cd "$repo"
    printf 'hello\n' > greeting.txt
    git add greeting.txt
    git commit --quiet --message first
    step dispatch --wait --jail "$1" --name greet --timeout 2m "Greet the world" -- "$program" "${command[@]}" || {
        git skein show --log greet
        fail "it did not end well"
    }
    step import greet
    step land --gate "grep -q world greeting.txt" greet
    step landed --explain greet
    [[ $(git show main:greeting.txt) == "hello, world" ]] || fail "main does not have the greeting"
    [[ $(git log -1 --format=%an main) == greet ]] || fail "the commit is not the worker's"
    (($(wc -l < "$root/failures") == $(wc -w <<< "$statuses"))) || fail "the model did not fail as it should"
    git skein show --log greet | grep -q "$ends" || fail "the agent's log is not kept"
    step reap --yes greet
    [[ ! -e $repo.skein/greet ]] || fail "the worktree is still there"
    step landed greet
}

# A question that ends the turn, an answer, and the end of the task in the same session, in the jail if there is one.
ask() {
    model ask
    git init --quiet "$root/ask"
    cd "$root/ask"
    printf 'hello\n' > greeting.txt
    git add greeting.txt
    git commit --quiet --message first
    local called=("${listens[@]}")
    ((${#called[@]} > 0)) || called=("${command[@]}")
    if step dispatch --wait --jail "$1" --name ask --timeout 2m "Ask whom to greet" -- "$program" "${called[@]}"; then
        git skein show --log ask
        fail "it did not ask"
    fi
    git skein show ask | grep -q 'asks .*Who is greeted?' || fail "its question is not on the card"
    step tell ask moon
    step wait ask || {
        git skein show --log ask
        fail "it did not go on"
    }
    git skein show ask | grep -q 'told .*(read): moon' || fail "the answer was not seen to be read"
    step land ask
    [[ $(git show main:greeting.txt) == "hello, moon" ]] || fail "main does not have the greeting that was answered"
    step reap --yes ask
}

# Told something while it works, without a question.
listen() {
    model listen
    git init --quiet "$root/listen"
    cd "$root/listen"
    printf 'hello\n' > greeting.txt
    git add greeting.txt
    git commit --quiet --message first
    step dispatch --jail "$1" --name listen --timeout 2m "Greet" -- "$program" "${listens[@]}"
    step tell listen 'The answer: mars'
    for _ in $(seq 300); do
        git skein show listen | grep -q 'told .*(delivered): The answer: mars' && break
        sleep 0.1
    done
    git skein show listen | grep -q 'told .*(delivered)' || {
        git skein show --log listen
        fail "the message was not seen to be delivered"
    }
    touch "$root/listen.skein/listen/go"
    step wait listen || {
        git skein show --log listen
        fail "it did not end well"
    }
    git skein show listen | grep -q 'told .*(read): The answer: mars' || fail "the message was not seen to be read"
    step land listen
    [[ $(git show main:greeting.txt) == "hello, mars" ]] || fail "main does not have the greeting that was told"
    step reap --yes listen
}

# Two turns in a document, while a person types a letter every tenth of a second.
document() {
    model document
    git init --quiet "$root/document"
    cd "$root/document"
    git commit --quiet --allow-empty --message first
    step doc init plan.md "The plan"
    printf '<!-- agent:status -->\nidle\n<!-- /agent:status -->\n' >> plan.md
    sed -i '/^<!-- agent:exchange/a What is 6 * 7?' plan.md
    local typed="The answer: 48. Is it of 6 * 8, asked the person?" typing letter
    (
        printf 'Notes:\n' >> plan.md
        for ((letter = 0; letter < ${#typed}; letter++)); do
            sleep 0.1
            printf '%s' "${typed:letter:1}" >> plan.md
        done
        printf '\n' >> plan.md
    ) &
    typing=$!
    sleep 0.3
    step doc run --jail "$1" plan.md -- "$program" "${command[@]}" || {
        git skein show --log doc-plan
        fail "there is no answer in the document"
    }
    wait "$typing"
    cat plan.md
    [[ $(tail -n 1 plan.md) == "$typed" ]] || fail "what was typed meanwhile is not whole"
    for line in "What is 6 * 7?" "It is 42, by the agent." answered; do
        [[ $(grep -cxF "$line" plan.md) == 1 ]] || fail "not once in the document: $line"
    done
    grep -qxF idle plan.md && fail "the status was not replaced"
    git show HEAD:plan.md | grep -qxF "It is 42, by the agent." || fail "the answer is not committed"
    git show HEAD:plan.md | grep -qF "asked the person?" && fail "unfinished typing was committed"
    if [[ $agent == opencode ]]; then
        step doc run --jail "$1" plan.md -- "$program" "${command[@]}" 2> "$root/told" || fail "there is no second answer"
        grep -q 'its session begins anew' "$root/told" || fail "it was not told that the session begins anew"
        return
    fi
    step doc run --jail "$1" plan.md -- "$program" "${command[@]}" || fail "there is no second answer"
    [[ $(tail -n 1 plan.md) == "$typed" ]] || fail "what was typed is not whole after the second turn"
    [[ $(grep -cF ", by the agent." plan.md) == 2 ]] || fail "the answers are not there once each"
    git show HEAD:plan.md | grep -qxF "$typed" || fail "what was typed was not sent and committed"
    step doc turn undo plan.md 1
    grep -qF "It is 42" plan.md && fail "the first answer was not taken back"
    [[ $(tail -n 1 plan.md) == "$typed" ]] || fail "typing went with the answer"
    step doc turns plan.md
}

levels=(none)
if bwrap --unshare-user --ro-bind / / true 2> "$root/why"; then
    levels+=(bwrap)
else
    printf 'tests/agents/run.sh: no jail here: %s\n' "$(< "$root/why")"
fi
for level in "${levels[@]}"; do
    way "$level"
done
ask "${levels[-1]}"
document "${levels[-1]}"
if ((${#listens[@]} > 0)); then
    listen "${levels[-1]}"
    printf '\ntests/agents/run.sh: %s was told something while it worked (%s)\n' "$agent" "${levels[-1]}"
fi
printf '\ntests/agents/run.sh: %s went all the way (%s), asked and was answered (%s)\n' "$agent" "${levels[*]}" "${levels[-1]}"
