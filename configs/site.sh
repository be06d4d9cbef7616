# shellcheck shell=bash disable=SC2034
# What 'wallheat submit' has to know of your cluster. Bash syntax. Adapt it, or put what differs into a file of your own and
# name that with --site FILE.

# Added to every job: partition or queue, account, whatever else your site insists on.
slurm_options=()              # e.g. (--partition=normal --account=abc123)
lsf_options=()                # e.g. (-q normal -P abc123)

# How your site asks for GPUs on each node; {} stands for their number.
slurm_gpu_option=('--gpus-per-node={}')
lsf_gpu_option=(-gpu 'num={}')

# How it asks for memory on each node (--memory); {} stands for GB.
slurm_memory_option=('--mem={}G')
lsf_memory_option=(-R 'rusage[mem={}GB]')

# Cores of a node that a job takes. Slurm: empty takes whole nodes, with --exclusive. LSF has to know.
cores_per_node=

# The longest run time of a job: 4h, 90m, 1h30m, 2d, 1:30:00, 90:00 for 90 minutes, or 1-12:00:00 for a day and 12 hours. A
# campaign may take longer: a job that its time limit stops is started again, and resumes.
time_limit=4h

# Lines that make wallheat's libraries and mpirun available inside a job.
setup='
# module purge
# module load gcc openmpi hdf5 boost hwloc
'

# The program, as a job calls it: empty takes the one that was built or installed with jobs/submit.sh. In a
# container, e.g.: wallheat=(apptainer exec --bind /scratch wallheat.sif wallheat)
wallheat=()
