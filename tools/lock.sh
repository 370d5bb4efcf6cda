# Sourced by scripts that use or replace .venv: `lock --shared`, or `lock --exclusive`, until the end of the script.
mkdir -p target
exec 9>target/.environment.lock
lock() {
    # macOS has no flock; builds there take turns by hand.
    if command -v flock >/dev/null; then flock "$1" 9; fi
}
