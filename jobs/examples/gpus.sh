#!/usr/bin/env bash
# Solves the plans on GPUs, with a job on two nodes with four GPUs each and one worker per GPU. The run fails at once if
# a worker gets no GPU. Remove '--device gpu' from this script to let workers without a GPU use their cores instead.
#   jobs/examples/gpus.sh DATA OUT [OPTIONS OF submit.sh]
#   jobs/examples/gpus.sh plans results.h5 --nodes 1 --gpus 2 --partition gpu
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
exec "$jobs/submit.sh" --nodes 2 --gpus 4 "${@:3}" -- --data "$1" --out "$2" --device gpu --solver jacobi
