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

# (what is wrong, file in src/solve/gpu, {what stands there once: what is put in its place}, the tests that are to find it)
MISTAKES = [
    ("no wait for edges of the same block", "cluster_kernel.cu",
     {"__syncthreads();\n    if (edge_bytes_ > 0)": "if (edge_bytes_ > 0)"}, "cluster_128"),
    ("no wait for edges of other blocks", "cluster_kernel.cu",
     {"if (edge_bytes_ > 0) arrivals.await(parity_);": ""}, "cluster_128"),
    ("nobody is told of the bytes that come", "cluster_kernel.cu",
     {"arrivals.expect(edge_bytes_)": "arrivals.expect(0)"}, "cluster_128"),
    ("more bytes are told than come", "cluster_kernel.cu",
     {"arrivals.expect(edge_bytes_)": "arrivals.expect(edge_bytes_ + 16)"}, "cluster_256"),
    ("fewer bytes are told than come", "cluster_kernel.cu",
     {"arrivals.expect(edge_bytes_)": "arrivals.expect(edge_bytes_ - 16)"}, "cluster_256"),
    ("each warp tells of the bytes", "cluster_kernel.cu",
     {"if (edge_bytes_ > 0 && leads())": "if (edge_bytes_ > 0 && threadIdx.x % 32 == 0)"}, "cluster_128"),
    ("one count of arrivals for both inboxes", "cluster_kernel.cu",
     {"&memory_.arrivals[buffer]": "&memory_.arrivals[0]",
      "parity_ ^= static_cast<unsigned>(buffer);": "parity_ ^= 1;"}, "cluster_128"),
    ("the arrivals of the other inbox are waited for", "cluster_kernel.cu",
     {"const Arrivals arrivals(arrivals_of(buffer));": "const Arrivals arrivals(arrivals_of(buffer ^ 1));"}, "cluster_128"),
    ("the wrong parity", "cluster_kernel.cu", {"unsigned parity_ = 0;": "unsigned parity_ = 1;"}, "cluster_128"),
    ("a parity that never changes", "cluster_kernel.cu",
     {"parity_ ^= static_cast<unsigned>(buffer);": ""}, "cluster_256"),
    ("arrivals that are not shown to other blocks", "arrivals.cuh",
     {"fence.mbarrier_init.release.cluster;": ""}, "cluster_128"),
    ("one inbox instead of two", "resident.hpp",
     {"sweep<shape, false>(cells, interior, received);\n      buffer ^= 1;":
      "sweep<shape, false>(cells, interior, received);"}, "cluster_128"),
    ("no wait before the first sweep", "resident.hpp", {"group.begin();\n\n  // Every block": "\n  // Every block"}, "cluster_128"),
    ("a window is one sweep longer", "resident.hpp", {"remaining = window - 1;": "remaining = window;"}, "grid"),
    ("no way back to the kept field", "resident.hpp", {"if (group.agreement().go_back)": "if (plan.slots < 0)"}, "grid"),
    ("left and right edges are swapped", "tile.hpp",
     {"give_column(0, left, shape.from_right());": "give_column(0, left, from_left);"}, "streaming"),
    ("the largest change of half a warp", "block_maximum.cuh", {"distance = 16": "distance = 8"}, "cluster_256"),
    ("no wait for the other blocks' largest changes", "cluster_kernel.cu",
     {"[blockIdx.x] = of_block;\n    sync();": "[blockIdx.x] = of_block;"}, "cluster_256"),
    ("threads ask for a block that does not exist", "cluster_kernel.cu",
     {"min(threadIdx.x, gridDim.x - 1)": "threadIdx.x"}, "cluster_256"),
    ("edges go beyond a neighbour's shared memory", "cluster_kernel.cu",
     {"static_cast<unsigned>(slot) % blockDim.x]": "static_cast<unsigned>(slot)]"}, "cluster_128"),
    ("a grid's largest change is never emptied", "kernels.cu", {"plan_.maxima[turn_] = 0": "plan_.maxima[turn_] += 0"}, "grid"),
    ("a source's term is added twice", "streaming.hpp", {"return sum + terms[cell];": "return sum + terms[cell] + terms[cell];"},
     "streaming"),
    ("a streamed region stores its rim", "streaming.hpp", {"in_col >= rim_tile_cols &&": "in_col >= 0 &&"}, "streaming"),
]


def run(command, **arguments):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **arguments)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def library(nvcc, cxx, folder):
    """Builds the kernels of folder/src for test_ptx to load in place of its own."""
    ptx = []
    for source in ("kernels", "cluster_kernel"):
        ptx.append(folder / f"{source}.ptx")
        run([nvcc, "-std=c++20", "--fmad=false", "--expt-relaxed-constexpr", "-arch=compute_90", "-ptx", "-o", ptx[-1],
             f"-I{folder}/src", f"-I{ROOT}/src", f"-I{ROOT}/include", folder / "src/solve/gpu" / f"{source}.cu"])
    translated = folder / "kernels.cpp"
    translated.write_text(run([sys.executable, HERE / "translate.py", *ptx]))
    made = folder / "kernels.so"
    run([cxx, "-std=c++20", "-w", "-ffp-contract=off", "-shared", "-fPIC", f"-I{HERE.parent}", translated, "-o", made])
    return made


def main():
    nvcc, cxx, test = sys.argv[1:]
    missed = []
    for what, file, changes, kernel in MISTAKES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            shutil.copytree(ROOT / "src/solve", folder / "src/solve")
            path = folder / "src/solve/gpu" / file
            text = path.read_text()
            for old, new in changes.items():
                if text.count(old) != 1:
                    sys.exit(f"src/solve/gpu/{file} does not have once, as a mistake is to be planted there: {old!r}")
                text = text.replace(old, new)
            path.write_text(text)
            mistaken = library(nvcc, cxx, folder)
            done = subprocess.run([test, f"--gtest_filter=*/{kernel}", "--gtest_fail_fast"], capture_output=True, text=True,
                                  env={"LD_PRELOAD": str(mistaken)})
            said = [line for line in done.stdout.splitlines() if "Violation" in line or "description" in line or "differ" in line]
            print(f"{what}: {'not found' if done.returncode == 0 else 'found, ' + (said or ['wrong iterations'])[0]}", flush=True)
            if done.returncode == 0:
                missed.append(what)
    if missed:
        sys.exit(f"{len(missed)} of {len(MISTAKES)} mistakes were not found: {', '.join(missed)}")
    print(f"all {len(MISTAKES)} mistakes were found")


if __name__ == "__main__":
    main()
