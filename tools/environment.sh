#!/usr/bin/env bash
# Creates the environment in .venv from requirements.lock, if it is missing or stale: what builds, runs and draws.
# With the argument `development` it also has requirements-dev.lock: what tests, lints and documents.
# Stale means: other locks, another place on the disk (scripts in a virtual environment hold its path) or another Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
fail() { echo "xoff: error: $*" >&2; exit 2; }

command -v "$python" >/dev/null || fail "$python is not there; install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old; Python 3.11 or newer is needed: make PYTHON=/path/to/python3"
# Inside an activated environment, be it this very one, the Python beneath it makes the new one.
python=$("$python" -c 'import sys; print(sys._base_executable)')
command -v cargo >/dev/null || fail "cargo is not there; install a Rust toolchain (https://rustup.rs)"

# Two builds in one tree: a build holds the shared lock (tools/lock.sh), and who replaces the environment waits for it.
. tools/lock.sh
stage=${1:-}
state=$(pwd; "$python" -c 'import sys; print(sys.version, sys.base_prefix)'; cat requirements.lock requirements-dev.lock)
is_fresh() { [ -f .venv/.state ] && [ -x .venv/bin/python ] && [ "$(cat .venv/.state)" = "$state" ]; }
is_enough() { is_fresh && { [ "$stage" != development ] || [ -f .venv/.development ]; }; }
install() {
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement "$1" ||
        fail "cannot install the packages of $1; is there a network connection?"
}
lock --shared
if is_enough; then exit 0; fi
lock --exclusive
# Another build may have made the environment meanwhile.
if is_enough; then exit 0; fi
if ! is_fresh; then
    # Who has the tools of the development keeps them.
    [ ! -f .venv/.development ] || stage=development
    echo "Creating the environment in .venv (once; about 20 seconds)"
    rm -rf .venv
    "$python" -m venv .venv || fail "cannot create .venv; on Debian and Ubuntu the package python3-venv is needed"
    install requirements.lock
    printf '%s\n' "$state" > .venv/.state
fi
if [ "$stage" = development ]; then
    echo "Adding tools of the development to .venv (once; about a minute)"
    install requirements-dev.lock
    touch .venv/.development
fi
