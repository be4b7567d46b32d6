#!/bin/bash
# The last line of a demo is one response of the served checkpoint, and no
# worker is left, however the demo ended.
set -euo pipefail
session="$1" client="$2" example="$3" worker="$4" checkpoint="$5"

# Fails if a process that runs this very program is there. The link of one that
# belongs to somebody else cannot be read; it is not ours.
expect_none_left() {
  local program link
  program="$(readlink -f "$1")"
  for link in /proc/[0-9]*/exe; do
    if [[ "$(readlink "$link" 2>/dev/null)" == "$program" ]]; then
      echo "a demo left a process: $link is $program" >&2
      exit 1
    fi
  done
}

# A copy of its own, so that another test's worker is not taken for it.
own="$(mktemp -d "${TEST_TMPDIR:-/tmp}/demo.XXXXXX")/worker"
cp -L "$worker" "$own"
worker="$own"

out="$("$session" "$client" "$example" "$worker" --checkpoint="$checkpoint" \
  </dev/null)"
/usr/bin/python3 -c '
import json, sys
response = json.loads(sys.argv[1])
assert "untrained" in response["model"], response
assert set(response["answers"]["next"]["probabilities"]) == {
    "save", "discard", "cancel"}, response
' "$(tail -n 1 <<<"$out")"
expect_none_left "$worker"

# The worker is up, and the first thing asked of it fails.
if "$session" /bin/false "$example" "$worker" --checkpoint="$checkpoint" \
  </dev/null >/dev/null; then
  echo "a demo without a client ended with 0" >&2
  exit 1
fi
expect_none_left "$worker"

if "$session" "$client" "$example" "$worker" --checkpoint=/nonexistent \
  </dev/null >/dev/null; then
  echo "a demo without a checkpoint ended with 0" >&2
  exit 1
fi
expect_none_left "$worker"
