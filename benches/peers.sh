#!/usr/bin/env bash
# Installs what people would use instead from the crate registry, into target/peers, each only if it builds; runs the
# same work with each on the same generated repositories, in turn; and puts the table into docs/performance.md, between
# the lines <!-- peers --> and <!-- /peers -->.
#
#     benches/peers.sh [--keep]
#
# With --keep the table is only printed. Needs strace and GNU time. The first run builds for an hour on two cores; the
# work itself takes another one.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

keep=
[[ ${1-} != --keep ]] || keep=yes
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/peers"
peers=$(realpath -- "$target/peers")

# Versions are named: a figure of tomorrow is to be about the same program.
installed() {
    local program=$1 crate=$2 version=$3
    [[ -x $peers/bin/$program ]] && return
    cargo install --quiet --locked --root "$peers" --target-dir "$peers/build" --version "$version" "$crate" ||
        echo "peers: $crate $version does not build here, it has no rows" >&2
}
installed wt worktrunk 0.67.0
installed doctrine doctrine 0.48.1

# Its published lock file lacks where one dependency comes from, and what fits that name today does not build with it.
agent_doc() {
    local version=0.31.14 source
    [[ -x $peers/bin/agent-doc ]] && return
    mkdir -p "$peers/fetch/src"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n\n[workspace]\n\n[dependencies]\nagent-doc = "=%s"\n' \
        "$version" >"$peers/fetch/Cargo.toml"
    : >"$peers/fetch/src/lib.rs"
    cargo fetch --quiet --manifest-path "$peers/fetch/Cargo.toml" || return
    source=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/src" -maxdepth 2 -name "agent-doc-$version" | head -1)
    rm -rf "$peers/agent-doc"
    cp -r "$source" "$peers/agent-doc"
    printf '\n[workspace]\n' >>"$peers/agent-doc/Cargo.toml"
    rm -f "$peers/agent-doc/Cargo.lock"
    cargo update --quiet --manifest-path "$peers/agent-doc/Cargo.toml" -p tmux-router --precise 0.3.9 || return
    cargo install --quiet --locked --root "$peers" --target-dir "$peers/build" --path "$peers/agent-doc"
}
agent_doc || echo "peers: agent-doc does not build here, it has no rows" >&2

table=$(mktemp)
trap 'rm -f -- "$table"' EXIT
export SKEIN_PEERS=$peers
cargo bench --locked --features bench -- peers | grep '^|' | tee "$table"
if [[ -x $peers/bin/agent-doc ]]; then
    echo >>"$table"
    AGENT_DOC=$peers/bin/agent-doc cargo bench --locked --features bench -- documents |
        grep '^|' | sed 's/plain git/agent-doc/' | tee -a "$table"
fi
[[ -z $keep ]] || exit 0

page=$(mktemp)
awk -v table="$table" '
    /^<!-- peers -->$/ { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
    /^<!-- \/peers -->$/ { skip = 0 }
    !skip
' docs/performance.md >"$page"
cat "$page" >docs/performance.md
rm -f -- "$page"
