#!/usr/bin/env bash
# Compiles the core and installs the package and the experiments into .venv, in place: .venv/bin/xoff runs this checkout.
# On a terminal the compiler's progress is shown; otherwise nothing is, unless something fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/lock.sh
lock --shared
export VIRTUAL_ENV=$PWD/.venv
# Cargo uses all cores, however many targets make runs at a time.
unset MAKEFLAGS MFLAGS
log=.venv/build.log
show=/dev/null
[ -t 2 ] && show=/dev/stderr
echo "Building xoff (a few minutes the first time)"
if ! .venv/bin/maturin develop --release --locked > "$log" 2> >(tee -a "$log.errors" > "$show"); then
    [ -t 2 ] || cat "$log.errors" >&2
    cat "$log" >&2
    rm -f "$log.errors"
    echo "xoff: error: the build failed; the messages are above" >&2
    exit 1
fi
rm -f "$log.errors"
tools/experiments.sh
