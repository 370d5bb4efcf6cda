#!/usr/bin/env bash
# Installs the published experiments into .venv, in place, so that xoff reproduce finds those of this checkout.
# Nothing is done while the project file, which has the entry point and the version, is the one that is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
installed=.venv/.experiments.toml
if cmp -s experiments/pyproject.toml "$installed"; then exit 0; fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable experiments ||
    { echo "xoff: error: the experiments cannot be installed into .venv" >&2; exit 2; }
cp experiments/pyproject.toml "$installed"
