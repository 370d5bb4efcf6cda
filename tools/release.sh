#!/usr/bin/env bash
# Writes the files of a release into dist/: the source distribution and a wheel for Linux with an old C library, both for
# the experiments, and an archive of the figures and rows of runs that belong to docs/experiments.
#   tools/release.sh https://ADDRESS-OF-THE-REPOSITORY [ADDRESS-OF-THE-DOCUMENTATION]
# The source is the last commit. Nothing is uploaded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -n "${1:-}" ] || { echo "xoff: error: the address of the repository is needed: make release ADDRESS=https://…" >&2; exit 2; }
[ -z "$(git status --porcelain)" ] || { echo "xoff: error: the checkout has changes; commit or remove them" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Before the builds, which take minutes: files may be missing.
mkdir "$work/pages"
.venv/bin/python tools/pages.py --pack "$work/pages" >/dev/null
.venv/bin/python tools/package.py "$work/source" --address "$1" ${2:+--docs "$2"}
.venv/bin/python tools/crates.py "$work/source" >/dev/null
.venv/bin/python tools/documentation.py "$work/source" >/dev/null
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
out=$PWD/dist
rm -rf "$out"
(cd "$work/source" && "$OLDPWD/.venv/bin/maturin" sdist --out "$out")
(cd "$work/source/experiments" &&
    "$OLDPWD/.venv/bin/python" -c 'import sys; from flit_core.buildapi import build_sdist; build_sdist(sys.argv[1])' "$out")
tools/wheel.sh "$work/source" "$out"
cp "$work"/pages/*.zip "$out"
ls "$out"
