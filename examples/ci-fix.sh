#!/usr/bin/env bash
# In CI: let the agent try to repair a failing test, and report what happened.
# Needs jq, and OPENAI_API_KEY (or OPENAI_BASE_URL) in the environment.
#
# Nobody is there to answer questions, so what the sandbox and the policy do not
# allow is refused; the run then ends with status 3 and says what would allow it.
set -uo pipefail

lines=$(mktemp)
codeagent exec --json --timeout 15m --max-turns 40 -o answer.md \
  "Run the tests, find out why they fail, repair the code, not the tests, and run them again." >"$lines"
status=$?

echo "== commands"
jq -r 'select(.type == "item.completed" and .item.type == "command_execution")
       | "\(.item.exit_code // "-")\t\(.item.duration_ms // 0) ms\t\(.item.command)"' "$lines"

echo "== files"
jq -r 'select(.type == "item.completed" and .item.type == "file_change") | .item.changes[]? | "\(.kind)\t\(.path)"' "$lines"

echo "== refused by the sandbox"
jq -r 'select(.item.sandbox.denied? == true) | .item.sandbox.denials[] | "\(.kind)\t\(.target)\t\(.evidence)"' "$lines"

echo "== asked for, and refused because nobody was there"
jq -r 'select(.type == "turn.completed") | .refused[]? | "\(.title)\n\tto allow it: \(.hint)"' "$lines"

echo "== tokens"
jq -c 'select(.type == "turn.completed") | .usage' "$lines"

case $status in
  0) echo "done: see answer.md" ;;
  3) echo "done as far as it was allowed: see above" ;;
  4) echo "the provider did not accept the key" ;;
  124) echo "out of time" ;;
  *) echo "failed" ;;
esac
exit $status
