#!/usr/bin/env bash
# Solves the plans with one job on eight nodes. The nodes read the plans from one zip archive, because a shared file
# system is slow with thousands of small files. If OUT is results.h5, the archive is results.plans.zip, and rank 0 writes
# the event log results.jsonl. Remove the archive if the plans change.
#   jobs/examples/many-nodes.sh DATA OUT [OPTIONS OF submit.sh]
#   jobs/examples/many-nodes.sh plans results.h5 --nodes 32
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
archive=$(realpath -m -- "${2%.h5}.plans.zip")

[ -e "$archive" ] || (cd -- "$1" && zip -qr "$archive" .)
exec "$jobs/submit.sh" --nodes 8 "${@:3}" -- --data "$archive" --out "$2" --save-fields --events "${2%.h5}.jsonl"
