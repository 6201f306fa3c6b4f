#!/bin/sh
# Figures of an accelerator, in under 8 minutes and without a network: sh benchmarks/gpu.sh
# On a machine without one, with small sizes, to see that it runs: sh benchmarks/gpu.sh --small
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
[ -x "$PYTHON" ] || PYTHON=python
HF_HUB_OFFLINE=1 exec timeout 480 "$PYTHON" benchmarks/gpu.py "$@"
