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
install() { install_for 'the build' "$@"; }

# install_for PURPOSE PACKAGE…: the same, and what they are for is said before.
install_for() {
    local missing=() purpose=$1
    for package in "${@:2}"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' \
            || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    local root=()
    [ "$(id -u)" -eq 0 ] || root=(sudo)
    echo "for $purpose, apt-get installs: ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    "${root[@]}" apt-get update -qq >&2
    "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# build_progress: reads what `swift build` says, and says on standard error how far it is. Nothing
# where nothing is built. On a terminal it is one line that goes in the end, elsewhere a line now and
# then: build_seconds apart.
build_seconds=30
build_progress() {
    local line='' part='' step='' status next=0 start=$SECONDS is_terminal=''
    [ -t 2 ] && [ "${TERM-dumb}" != dumb ] && is_terminal=1
    while :; do
        status=0
        IFS= read -r -t 5 line || status=$?
        part+=$line
        if [ "$status" -eq 0 ]; then
            case $part in
                Fetching*|"Creating working copy"*) step='fetching what it is built with' ;;
                Another\ instance*) step='waiting for another build' ;;
                \[*/*\]\ Compiling*|\[*/*\]\ Emitting*|\[*/*\]\ Linking*)
                    step=${part%%]*}
                    step="building, step ${step#[}"
                    step="${step%/*} of ${step#*/}" ;;
            esac
            part=''
        elif [ "$status" -le 128 ]; then
            break
        fi
        [ -n "$step" ] || continue
        if [ -n "$is_terminal" ]; then
            printf '\r\033[Klonghaul: %s (%s s)' "$step" $((SECONDS - start)) >&2
        elif [ "$SECONDS" -ge "$next" ]; then
            echo "longhaul: $step" >&2
            next=$((SECONDS + build_seconds))
        fi
    done
    [ -z "$is_terminal" ] || [ -z "$step" ] || printf '\r\033[K' >&2
}

# What Longhaul is built with.
build_needs=(pkg-config libcurl4-openssl-dev libssl-dev libsqlite3-dev)

# The tests that depend on libcurl, for scripts that bring another one. The heavy ones run by themselves,
# and no more of the others at once than `scripts/test` has: their bounds would run out.
libcurl_tests='LonghaulTransportTests|ConnectionTests|ProtocolTests|ProxyTests|YieldTests|MirrorTests|UploadTests'
heavy_libcurl_tests='YieldTests'
# The servers that they use.
libcurl_servers=(nginx openssl curl aria2 strace vsftpd openssh-server procps python3-venv iproute2 ethtool acl)

# A release: Swift's own libraries inside, without what nobody calls; position-independent and with its
# tables read-only after the start, as Debian hardens programs. Its compiler and libraries are the same
# as ever.
release=(-c release --static-swift-stdlib -Xlinker --gc-sections -Xlinker -z -Xlinker now)
