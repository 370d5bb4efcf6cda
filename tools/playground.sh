#!/usr/bin/env bash
# Compiles the core to WebAssembly and writes the playground, a folder of static files.
#   tools/playground.sh [FOLDER [HOME]]
# FOLDER is out/playground by default. HOME is the address of the documentation, relative to the page.
# The toolchain is rustup's, or Debian's packages. Without a toolchain there is no playground, and the script says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-out/playground}
home=${2:-}
target=wasm32-unknown-unknown
build=(--locked --quiet --profile wasm --target "$target" --package xoff-wasm)
# Cargo uses all cores, however many targets make runs at a time.
unset MAKEFLAGS MFLAGS
rm -f "$out/index.html" "$out/core.js"

# Debian compiles the standard library from its sources, which the compiler allows only with RUSTC_BOOTSTRAP.
debian() {
    local rustc=/usr/bin/rustc cargo=/usr/bin/cargo
    [ -x $rustc ] && [ -x $cargo ] && command -v wasm-ld >/dev/null || return 1
    [ -e "$($rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ] || return 1
    RUSTC_BOOTSTRAP=1 RUSTC=$rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld \
        $cargo build "${build[@]}" -Z build-std=std,panic_abort
}

if command -v rustup >/dev/null && rustup target add "$target" >/dev/null 2>&1; then
    cargo build "${build[@]}"
elif ! debian; then
    echo "No toolchain for WebAssembly is installed: there is no playground (rustup target add $target," \
        "or Debian: apt-get install cargo-web rustc-web rust-web-src lld)"
    if [ -n "$home" ]; then
        # A page of the documentation leads here.
        mkdir -p "$out"
        echo "<!doctype html><title>xoff playground</title><p>This documentation was built without a toolchain for" \
            "WebAssembly, and has no playground. <a href='$home'>How to build the playground</a>" > "$out/index.html"
    fi
    exit 0
fi
.venv/bin/python tools/playground.py "${CARGO_TARGET_DIR:-target}/$target/wasm/xoff_wasm.wasm" "$out" --home "$home"
echo "The playground is in $out/index.html"
