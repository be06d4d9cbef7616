#!/usr/bin/env bash
# The job scripts that jobs/submit.sh writes, without a scheduler.
set -uo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$here/checks.sh"
job=$scratch/job

for script in "$root"/jobs/*.sh "$root"/configs/site.sh "$here"/*.sh; do
  check "$(basename "$script") is well-formed" bash -n "$script"
done
if command -v shellcheck > /dev/null; then
  check "shellcheck finds nothing in them" shellcheck "$root"/jobs/*.sh "$root/configs/site.sh" "$root"/tests/cluster/*.sh "$root/tests/cluster/bsub"
else
  echo "skipped: shellcheck is not installed"
fi

cat > "$scratch/site.sh" <<'END'
slurm_options=(--partition=long '--comment="floor plans"')
lsf_options=(-q long -P heat)
slurm_gpu_option='--gres=gpu:{}'
lsf_gpu_option='-gpu "num={}:mode=shared"'
cores_per_node=32
time_limit=10:30
setup='module load openmpi/4'
wallheat=(apptainer exec "my image.sif" wallheat)
END
submit() { "$root/jobs/submit.sh" "$@" > "$job" 2>&1; }
has() { check "the job script says $1" contains "$job" "$1"; }
has_not() { check "the job script does not say $1" not grep -qF -- "$1" "$job"; }
plans=(-- --data "my plans" --out out/results.h5 --save-fields)

submit --scheduler slurm --dry-run "${plans[@]}"
check "submit.sh --dry-run ends with 0" same 0 $?
check "what it prints is well-formed" bash -n "$job"
for line in '#SBATCH --nodes=1' '#SBATCH --exclusive' '#SBATCH --time=04:00:00' '#SBATCH --signal=B:USR1@120' \
  '#SBATCH --open-mode=append' '#SBATCH --requeue' '#SBATCH --no-kill' 'workers=1' \
  "launch=$(printf %q "$root/jobs/launch.sh")" 'set -- --data my\ plans --out out/results.h5 --save-fields' \
  'run --resume "$@"' 'scontrol requeue'; do has "$line"; done
has_not --array
has_not merge

submit --scheduler slurm --site "$scratch/site.sh" --nodes 4 --gpus 8 --array 16 --time 1:05 --name heat --dry-run "${plans[@]}"
for line in '#SBATCH --nodes=4' '#SBATCH --gres=gpu:8' '#SBATCH --array=1-16' '#SBATCH --partition=long' \
  '#SBATCH --comment="floor plans"' '#SBATCH --cpus-per-task=32' '#SBATCH --time=1:05:00' 'workers=8' 'module load openmpi/4' \
  '#SBATCH --output=heat-%A_%a.out' 'wallheat=(apptainer exec my\ image.sif wallheat)' '--dependency=afterany:JOB' \
  'apptainer exec my\ image.sif wallheat merge --out out/results.h5 out/results.part-*-of-16.h5'; do has "$line"; done
has_not --exclusive

submit --scheduler lsf --site "$scratch/site.sh" --nodes 3 --gpus 2 --array 4 --workers 5 --dry-run "${plans[@]}"
check "the job scripts for LSF are well-formed" bash -n "$job"
for line in '#BSUB -J "wallheat[1-4]"' '#BSUB -n 96' '#BSUB -R "span[ptile=32]"' '#BSUB -gpu "num=2:mode=shared"' \
  '#BSUB -W 10:30' '#BSUB -wt 2' '#BSUB -wa USR1' '#BSUB -Q "75"' '#BSUB -r' '#BSUB -q long -P heat' 'workers=5' \
  'run --resume "$@"' '-w ended(JOB)' 'merge --out out/results.h5 out/results.part-*-of-4.h5'; do has "$line"; done

submit --scheduler lsf --dry-run "${plans[@]}"
check "LSF without cores_per_node is refused" contains "$job" "LSF has to know cores_per_node"

refused() {  # SENTENCE WORDS...
  submit "${@:2}"
  check "refused as wrong usage: ${*:2}" same 2 $?
  check "it says why" contains "$job" "$1"
}
refused "come after --" --scheduler slurm --dry-run
refused "--out FILE is missing" --scheduler slurm --dry-run -- --data plans
refused "--nodes must be a number" --scheduler slurm --nodes many --dry-run "${plans[@]}"
refused "--time must be hours:minutes" --scheduler slurm --time 90 --dry-run "${plans[@]}"
refused "there is no option --gpu" --scheduler slurm --gpu 2 --dry-run "${plans[@]}"
refused "slurm or lsf" --scheduler pbs --dry-run "${plans[@]}"
refused "--array N in place of --shard" --scheduler slurm --dry-run "${plans[@]}" --shard 1/4
refused "must not overwrite" --scheduler slurm --dry-run "${plans[@]}" --overwrite
mkdir "$scratch/bin"
for tool in bash dirname env; do ln -s "$(command -v $tool)" "$scratch/bin"; done
PATH=$scratch/bin "$root/jobs/submit.sh" --dry-run "${plans[@]}" > "$job" 2>&1
check "where there is no scheduler it must be named" contains "$job" "neither sbatch nor bsub"
submit --site "$scratch/none.sh" --scheduler slurm --dry-run "${plans[@]}"
check "a missing site file is an error" same 1 $?
finish
