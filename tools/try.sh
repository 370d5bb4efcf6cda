#!/usr/bin/env bash
# Compiles the core for trying a changed line, and writes the command .venv/bin/xoff-try, which runs with that core.
# The release build stays, and .venv/bin/xoff runs with the release build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/lock.sh
lock --shared
root=$PWD
place=$root/.venv/share/xoff/try
# Cargo uses all cores, however many targets make runs at a time.
unset MAKEFLAGS MFLAGS
PYO3_PYTHON=$root/.venv/bin/python cargo build --profile try --locked --quiet --package xoff-python --features pyo3/extension-module
built=${CARGO_TARGET_DIR:-target}/try
library=$built/lib_core.so
[ -f "$library" ] || library=$built/lib_core.dylib
mkdir -p "$place"
# A process that runs keeps the core of before.
cp "$library" "$place/.new"
mv "$place/.new" "$place/_core.abi3.so"
# The core belongs to these sources, and to no release build.
printf '{"beside": null, "packages": []}\n' > "$place/core.json"
cat > "$place/.new" <<END
#!/usr/bin/env bash
export XOFF_PLUGINS='$place' PYTHONPATH='$root/python'\${PYTHONPATH:+:\$PYTHONPATH}
exec '$root/.venv/bin/python' -m xoff "\$@"
END
chmod +x "$place/.new"
tools/experiments.sh
mv "$place/.new" .venv/bin/xoff-try
echo "The command is .venv/bin/xoff-try; runs take about 1.2 times the CPU time of a release build"
