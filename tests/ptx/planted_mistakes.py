#!/usr/bin/env python3
"""Plants one mistake after the other into the GPU's kernels, and checks that test_ptx finds each.

    planted_mistakes.py NVCC CXX TEST_PTX

Takes about 20 s of a core a mistake. The project's sources stay as they are."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# (what is wrong, file in src/solve/gpu, what stands there once, what is put in its place, the kernel that is to be found wrong)
MISTAKES = [
    ("no wait for edges of the same block", "cluster.cuh", "__syncthreads();\n    if (edge_bytes_ > 0)", "if (edge_bytes_ > 0)",
     "cluster"),
    ("no wait for edges of other blocks", "cluster.cuh", "if (edge_bytes_ > 0) arrivals.await(parity_);", "", "cluster"),
    ("more bytes are told than come", "cluster.cuh", "expect(edge_bytes_)", "expect(edge_bytes_ + 16)", "cluster"),
    ("a parity that never changes", "cluster.cuh", "parity_ ^= static_cast<unsigned>(buffer);", "", "cluster"),
    ("arrivals that are not shown to other blocks", "cluster.cuh", "fence.mbarrier_init.release.cluster;", "", "cluster"),
    ("one inbox instead of two", "resident.hpp",
     "sweep<cluster_tile, false>(cells, interior, received);\n      buffer ^= 1;",
     "sweep<cluster_tile, false>(cells, interior, received);", "cluster"),
    ("no way back to the kept field", "resident.hpp", "if (group.agreement().go_back)", "if (plan.slots < 0)", "cluster"),
    ("no wait for the other blocks' largest changes", "cluster.cuh", "of_warp;\n    sync();", "of_warp;", "cluster"),
    ("blocks overwrite each other's largest changes", "cluster.cuh", "maxima[blockIdx.x * warps + threadIdx.x / warp_threads]",
     "maxima[threadIdx.x / warp_threads]", "cluster"),
    ("threads ask for a block that does not exist", "cluster.cuh", "min(lane, gridDim.x - 1)", "lane", "cluster"),
    ("edges go beyond a neighbour's shared memory", "cluster.cuh", "static_cast<unsigned>(slot) % blockDim.x]",
     "static_cast<unsigned>(slot)]", "cluster"),
    ("the largest change of half a warp", "maximum.cuh", "warp_threads / 2", "warp_threads / 4", "streaming"),
    ("a source's term is added twice", "streaming.hpp", "return sum + terms[cell];", "return sum + terms[cell] + terms[cell];",
     "streaming"),
    ("a streamed region stores its rim", "streaming.hpp", "in_col >= rim_tile_cols &&", "in_col >= 0 &&", "streaming"),
]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def library(nvcc, cxx, folder):
    """Builds the kernels of folder/src for test_ptx to load in place of its own."""
    ptx, translated, made = folder / "kernels.ptx", folder / "kernels.cpp", folder / "kernels.so"
    run(nvcc, "-std=c++20", "--fmad=false", "--expt-relaxed-constexpr", "-arch=compute_90", "-ptx", "-o", ptx,
        f"-I{folder}/src", f"-I{ROOT}/src", f"-I{ROOT}/include", folder / "src/solve/gpu/kernels.cu")
    translated.write_text(run(sys.executable, HERE / "translate.py", ptx))
    run(cxx, "-std=c++20", "-w", "-ffp-contract=off", "-shared", "-fPIC", f"-I{HERE.parent}", translated, "-o", made)
    return made


def main():
    nvcc, cxx, test = sys.argv[1:]
    missed = []
    for what, file, old, new, kernel in MISTAKES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            shutil.copytree(ROOT / "src/solve", folder / "src/solve")
            path = folder / "src/solve/gpu" / file
            text = path.read_text()
            if text.count(old) != 1:
                sys.exit(f"src/solve/gpu/{file} does not have once, as a mistake is to be planted there: {old!r}")
            path.write_text(text.replace(old, new))
            done = subprocess.run([test, f"--gtest_filter=*/{kernel}", "--gtest_fail_fast"], capture_output=True, text=True,
                                  env={"LD_PRELOAD": str(library(nvcc, cxx, folder))})
            said = [line for line in done.stdout.splitlines() if "Violation" in line or "description" in line or "differ" in line]
            print(f"{what}: {'not found' if done.returncode == 0 else 'found, ' + (said or ['wrong iterations'])[0]}", flush=True)
            if done.returncode == 0:
                missed.append(what)
    if missed:
        sys.exit(f"{len(missed)} of {len(MISTAKES)} mistakes were not found: {', '.join(missed)}")
    print(f"all {len(MISTAKES)} mistakes were found")


if __name__ == "__main__":
    main()
