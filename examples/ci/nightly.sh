#!/usr/bin/env bash
# nightly.sh REPOSITORY [TASK]: carries a task on, for a machine of your own with cron.
#
#   17 1-5 * * *  /srv/widget/nightly.sh /srv/widget task.yaml >> /var/log/maintain.log 2>&1
#
# The record may stay where it is (`store: {use: sqlite}`). Two that overlap do no harm: the second ends with `busy`.
set -euo pipefail
cd "$1"
task=${2:-task.yaml}

# What is new at the base; nothing of yours is touched.
git fetch --quiet origin
if [ -z "$(git status --porcelain --untracked-files=no)" ]; then
  git merge --quiet --ff-only '@{upstream}'
fi

code=0
controller run "$task" --until waiting --deadline "${DEADLINE:-06:00}" --exit-zero-on waiting,busy || code=$?
if [ "$code" -ne 0 ]; then
  printf 'maintain: %s ended with %s\n' "$task" "$code" >&2 # 5: a person must answer; your mail, chat, pager
fi
exit "$code"
