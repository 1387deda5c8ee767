#!/usr/bin/env bash
# load.sh N SECONDS COMMAND...: runs a command while N other processes are busy, as on a shared
# machine. The busy processes end with the command, however it ends; a command that takes longer
# than SECONDS is ended, and the status is 124. The command finds the ids of the busy processes in
# LOAD_PROCESSES.
set -euo pipefail
count=$1 seconds=$2
shift 2
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for ((i = 0; i < count; i++)); do
  (end=$((SECONDS + seconds + 10)); while ((SECONDS < end)); do :; done) & # ends by itself even if this script is killed
  busy+=("$!")
done
LOAD_PROCESSES="${busy[*]}" timeout "$seconds" "$@" & # in the background, so that a signal to this script is handled at once
command=$!
busy+=("$command")
wait "$command"
