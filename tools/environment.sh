#!/usr/bin/env bash
# Creates the development environment in .venv from requirements-dev.lock, if it is missing or stale.
# Stale means: another lock, another place on the disk (scripts in a virtual environment hold its path) or another Python.
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
state=$(pwd; "$python" -c 'import sys; print(sys.version, sys.base_prefix)'; cat requirements-dev.lock)
is_fresh() { [ -f .venv/.state ] && [ -x .venv/bin/python ] && [ "$(cat .venv/.state)" = "$state" ]; }
lock --shared
if is_fresh; then exit 0; fi
lock --exclusive
# Another build may have made the environment meanwhile.
if is_fresh; then exit 0; fi
echo "Creating the development environment in .venv (once; about a minute)"
rm -rf .venv
"$python" -m venv .venv || fail "cannot create .venv; on Debian and Ubuntu the package python3-venv is needed"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.lock ||
    fail "cannot install the packages of requirements-dev.lock; is there a network connection?"
printf '%s\n' "$state" > .venv/.state
