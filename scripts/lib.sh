# Shared by the scripts: sourced, never run.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# All temporary files of a script go with it. The compiler leaves a directory behind at each start.
outer_tmpdir=${TMPDIR-}
TMPDIR=$(mktemp -d)
# Tests start programs as another user.
chmod 755 "$TMPDIR"
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# install PACKAGE…: what is missing of these Debian packages, without a question.
install() {
    local missing=()
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' \
            || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    local root=()
    [ "$(id -u)" -eq 0 ] || root=(sudo)
    echo "installing ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    "${root[@]}" apt-get update -qq >&2
    "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# What Longhaul is built with.
build_needs=(pkg-config libcurl4-openssl-dev libsqlite3-dev libsystemd-dev)

# A release, linked for a quick start: Swift's own libraries inside, at a fixed address (nothing to
# relocate), without what nobody calls. Its compiler and libraries are the same as ever.
release=(-c release --static-swift-stdlib -Xlinker --no-pie -Xlinker --gc-sections)
