#!/bin/bash -eu
# OSS-Fuzz runs this in the repository: a program and a corpus for each target in $OUT. The program
# is the same for all, and fuzzes what its name says.
# shellcheck disable=SC1091
. precompile_swift

export LONGHAUL_TARGETS=LonghaulFuzz
# SWIFTFLAGS is a list of words.
# shellcheck disable=SC2206
flags=(
    -c release --scratch-path .build/fuzz --product LonghaulFuzz $SWIFTFLAGS
    -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug
    -Xlinker -rpath -Xlinker "\$ORIGIN/lib"
)
swift build "${flags[@]}"
program=$(swift build "${flags[@]}" --show-bin-path)/LonghaulFuzz

for target in $("$program"); do
    cp "$program" "$OUT/$target"
    zip -q -j "$OUT/${target}_seed_corpus.zip" "Fixtures/fuzz/$target"/*
done

# The machines that fuzz have no libraries. libcurl and libcrypto are loaded when first called.
mkdir -p "$OUT/lib"
libraries=$(ldconfig -p | awk '$1 ~ /^lib(curl|sqlite3|ssl|crypto)\.so\.[0-9]+$/ { print $NF }')
for library in $libraries; do
    cp -L "$library" "$OUT/lib/"
    ldd "$library" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|pthread|rt)\.so/ { print $3 }' \
        | xargs -r cp -L -t "$OUT/lib/"
done
