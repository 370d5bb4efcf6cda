#!/usr/bin/env bash
# Builds a wheel for Linux that runs with the C library 2.17 of 2012 (manylinux2014), and the wheel of the experiments.
# Zig links against that version.
#   tools/wheel.sh [SOURCE [OUT]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source=${1:-$PWD}
out=${2:-$PWD/dist}
zig=0.17.1
.venv/bin/python -c "import importlib.metadata as m, sys; sys.exit(m.version('ziglang') != '$zig')" 2>/dev/null ||
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "ziglang==$zig" ||
    { echo "xoff: error: Zig, the linker of this wheel, cannot be installed; make wheel needs no Zig" >&2; exit 2; }
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
export PATH=$PWD/.venv/bin:$PATH
cd "$source"
python -m flit_core.wheel --outdir "$out" experiments >/dev/null
maturin build --release --locked --quiet --zig --compatibility manylinux2014 --out "$out"
