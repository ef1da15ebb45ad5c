# The built-in agent: it does what its brief says, without a model. Lines that begin with "run: " are
# commands, run in order until one fails. A brief without any becomes a note that is committed.
brief=$(cat)
if printf '%s\n' "$brief" | grep -q '^run: '; then
  printf '%s\n' "$brief" | sed -n 's/^run: //p' >"${TMPDIR:-/tmp}/skein-script.$$"
  exec 3<"${TMPDIR:-/tmp}/skein-script.$$"
  rm -f "${TMPDIR:-/tmp}/skein-script.$$"
  while IFS= read -r line <&3; do
    printf '+ %s\n' "$line"
    eval "$line" || exit $?
  done
else
  mkdir -p notes
  printf '%s\n' "$brief" >"notes/$SKEIN_HANDLE.md"
  git add "notes/$SKEIN_HANDLE.md"
  git commit --quiet -m "$(printf '%s\n' "$brief" | head -n 1)"
fi
