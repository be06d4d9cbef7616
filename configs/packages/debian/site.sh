# shellcheck shell=bash
# Settings of this cluster for 'wallheat submit', for all users. Bash syntax.
#
# /usr/share/wallheat/configs/site.sh lists all settings with their meanings and defaults. Copy the lines that differ on
# your cluster into this file; an upgrade of the package replaces that file, but keeps this one. A user may override a
# setting by another file: WALLHEAT_SITE=FILE in the environment, or 'wallheat submit --site FILE'.
#
# slurm_options=(--partition=normal --account=abc123)
# cores_per_node=48
