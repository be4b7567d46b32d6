#!/bin/bash
# The last line of a demo is one response of the served checkpoint, and no
# process of it is left.
set -euo pipefail
session="$1" client="$2" example="$3" worker="$4" checkpoint="$5"

out="$("$session" "$client" "$example" "$worker" --checkpoint="$checkpoint" \
  </dev/null)"
/usr/bin/python3 -c '
import json, sys
response = json.loads(sys.argv[1])
assert "untrained" in response["model"], response
assert set(response["answers"]["next"]["probabilities"]) == {
    "save", "discard", "cancel"}, response
' "$(tail -n 1 <<<"$out")"

if "$session" "$client" "$example" "$worker" --checkpoint=/nonexistent \
  </dev/null >/dev/null; then
  echo "a demo without a checkpoint ended with 0" >&2
  exit 1
fi
