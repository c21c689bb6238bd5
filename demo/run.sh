#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Asks the three questions of this folder about demo.pcap, the first again on Spark: `make demo`.
set -eu
cd "$(dirname "$0")/.."

ask() { # question, options
    local question=$1
    shift
    printf '\n$ gigastream run demo/%s.gsql -r demo/demo.pcap %s\n\n' "$question" "$*"
    gigastream run "demo/$question.gsql" -r demo/demo.pcap -o table "$@"
}

seconds_of() { # command
    local started=$EPOCHREALTIME
    "$@" >&3
    printf '%s %s\n' "$started" "$EPOCHREALTIME" | awk '{ printf "%.1f s\n", $2 - $1 }'
}

for question in top_talkers refused vlans; do
    printf '\n'
    cat "demo/$question.gsql"
    ask "$question"
done

printf '\nThe same question, on Spark:\n'
exec 3>/dev/null
here=$(seconds_of ask top_talkers --quiet)
exec 3>&1
spark=$(seconds_of ask top_talkers --on spark --quiet)
printf '\nhere %s, on Spark %s, most of which is its start\n' "$here" "$spark"
