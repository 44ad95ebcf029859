# Shared by the scripts: sourced, never run.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

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
