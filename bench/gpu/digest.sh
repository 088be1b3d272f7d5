#!/usr/bin/env bash
# Prints a digest of what the archive of bench/gpu/pack.mjs is made of: it is for the same sources where this is the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
find bin native bench scripts lib apps test world package-lock.json tsconfig.json -type f ! -path '*/__pycache__/*' \
  ! -path 'bench/results/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
