# Sourced by ./run and ./test, with $here and $AUTOPILOT_SETUP (run or dev) set.
# Makes .venv from the hash-locked requirements, with uv where it is there and venv + pip otherwise.
# Does nothing when .venv already answers to the lock file in question.
# shellcheck shell=sh disable=SC2154
venv="$here/.venv"
if [ "$AUTOPILOT_SETUP" = dev ]; then lock=requirements-dev.lock; else lock=requirements.lock; fi

python=""
for candidate in "${AUTOPILOT_PYTHON:-}" python3 python3.13 python3.12 python3.11 python; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "error: Python 3.11 or newer was not found" >&2
    echo "  fix   install it, or name one: AUTOPILOT_PYTHON=/path/to/python3.11 $0" >&2
    exit 6
fi
if ! command -v git >/dev/null 2>&1; then
    echo "error: git was not found" >&2
    exit 6
fi

want=$(cat "$here/$lock" "$here/pyproject.toml" | cksum)
if [ -x "$venv/bin/autopilot" ]; then
    # a development set-up holds everything that a run needs
    for stamp in "$venv/.stamp-$lock" "$venv/.stamp-requirements-dev.lock"; do
        [ "$lock" = requirements.lock ] || [ "$stamp" = "$venv/.stamp-$lock" ] || continue
        wanted=$want
        [ "$stamp" = "$venv/.stamp-$lock" ] || wanted=$(cat "$here/requirements-dev.lock" "$here/pyproject.toml" | cksum)
        if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then return 0; fi
    done
fi

echo "setting up .venv from $lock (once; a minute or so)..." >&2
if command -v uv >/dev/null 2>&1; then
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv"
    uv pip install --quiet --python "$venv/bin/python" --require-hashes --compile-bytecode -r "$here/$lock"
    uv pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation -e "$here"
else
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/$lock"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e "$here"
fi
"$venv/bin/python" -m compileall -q "$here/orchestrator" "$here/agents" "$here/playbooks" "$here/state" || true
printf '%s\n' "$want" >"$venv/.stamp-$lock"
