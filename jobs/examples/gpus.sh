#!/usr/bin/env bash
# GPUs: a job of two nodes with four GPUs each, and a worker for each GPU. It fails at once if a worker gets no GPU.
# Leave out '--device gpu' to have the workers that get none use their cores.
#   jobs/examples/gpus.sh DATA OUT [OPTIONS OF submit.sh]
#   jobs/examples/gpus.sh plans results.h5 --nodes 1 --gpus 2 --partition gpu
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
exec "$jobs/submit.sh" --nodes 2 --gpus 4 "${@:3}" -- --data "$1" --out "$2" --device gpu --solver jacobi
