#!/bin/sh
# A host for tasks and wake-ups, in the directory that is its argument: `refresh` fetches what
# feeds.txt lists, `clean` deletes old files, and a wake-up adds a feed to the list.
set -u
cd "$1" || exit 1
jq -r '[.type, .identifier // "-", .payload.feed? // "-"] | join(" ")' |
    while read -r type name feed; do
        result=success
        case "$type $name" in
        "task refresh") longhaul enqueue --if-exists overwrite --input feeds.txt >&2 || result=failure ;;
        "task clean") [ -n "$(find . -name '*.xml' -mtime +30 -print -delete)" ] || result=noData ;;
        wake*) echo "$feed" >>feeds.txt ;;
        esac
        if [ "$type" = task ]; then echo "{\"task\":\"$name\",\"result\":\"$result\"}"; fi
    done
