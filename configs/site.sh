# shellcheck shell=bash disable=SC2034
# Properties of a cluster for 'wallheat submit', in Bash syntax. This file contains the defaults, and each installation of
# wallheat replaces it. Write the variables that differ on your cluster into one or more of these files; each takes
# precedence over those above it in this list:
#   /etc/wallheat/site.sh        for all users of this machine
#   the file in $WALLHEAT_SITE   for one user, or from an environment module
#   --site FILE                  for one submission
# Jobs read the same files, so each file must have the same path on the nodes.

# Options of all jobs: partition or queue, account, and others that your site requires. The options --partition, --account,
# --qos and --mail-user of submit replace those that are named here.
slurm_options=()              # e.g. (--partition=normal --account=abc123)
lsf_options=()                # e.g. (-q normal -P abc123)

# Options that request GPUs (--gpus N). {}: number of GPUs on each node. A partition or queue that is named here replaces
# that of slurm_options or lsf_options.
slurm_gpu_option=('--gpus-per-node={}')   # e.g. (--partition=gpu '--gres=gpu:{}')
lsf_gpu_option=(-gpu 'num={}')            # e.g. (-q gpu -gpu 'num={}:mode=exclusive_process')

# Options that request memory (--memory GB, of each node). {}: whole GB; {MB}: whole MB (1 GB = 1024 MB); both are rounded
# up. With Slurm they apply to a node, with LSF to the unit in lsf_memory_per.
slurm_memory_option=('--mem={}G')
lsf_memory_option=(-R 'rusage[mem={MB}MB]')
# Use slot if LSF multiplies rusage[mem] by the slots (cores) of a host, because submit then divides --memory by their
# number; otherwise use host. This depends on RESOURCE_RESERVE_PER_TASK, which 'bparams -a' prints; most sites use slot.
lsf_memory_per=slot

# Options of the job that merges the shard files of an array (--array). This job has one core and no GPU.
slurm_merge_options=()        # added to slurm_options, e.g. (--partition=short)
lsf_merge_options=()          # added to lsf_options, e.g. (-q short)
# If these options contain no partition or queue, the merge job uses that of the array. If the array has GPUs, it uses that
# of slurm_options or lsf_options instead; if this is also that of the array, it uses the default of the scheduler.
merge_time_limit=             # empty: 1h, or the time limit of the array's jobs if that is shorter
merge_memory=                 # in GB; empty: the default of the scheduler

# Cores that a job uses on each node (--cores). Slurm: empty requests whole nodes, with --exclusive. LSF requires a number.
cores_per_node=

# Time limit of a job (--time): 4h, 90m, 1h30m, 2d, 1:30:00, 90:00 for 90 minutes, or 1-12:00:00 for a day and 12 hours. A
# run may take longer: a job that its time limit stops is requeued, and resumes.
time_limit=4h

# Lines that make wallheat's libraries and mpirun available inside a job.
setup='
# module purge
# module load gcc hdf5 openmpi boost hwloc
'

# The command with which a job calls wallheat. Empty: the program that was built or installed with jobs/submit.sh. For a
# container, e.g.:
# wallheat=(apptainer exec --bind /scratch wallheat.sif wallheat)
wallheat=()
