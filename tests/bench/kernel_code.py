#!/usr/bin/env python3
"""What the compiler made of the GPU's kernels: registers and spills a thread and, from the machine code, the
instructions of a sweep. Needs nvcc, and no GPU. For the machine code it needs NVIDIA's nvdisasm, which comes with most
toolkits, and readelf.

The last columns are a model of a multiprocessor that is full of blocks: cycles of a sweep that its double-precision
units (64 lanes), its four schedulers and its shared memory (128 bytes a cycle) are busy, and the updates a cycle that
the busiest of them allows. A resident kernel has two sweeps: with a mask, and without for whole tiles. Barriers, latencies and conflicts come on top. To compare two commits, run it in both."""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLASSES = {
    "fp64": r"D(ADD|MUL|FMA|SETP|MNMX)",
    "shared": r"(LDS|STS|ST\.E|LD\.E|STAS)",
    "spills": r"(LDL|STL)",
    "mask": r"(FSEL|SEL|LOP3|R2P|PLOP3|SHF|ISETP)",
}


def compiled(nvcc, source, architecture, folder):
    """Returns (path of the cubin, what ptxas says of it)."""
    cubin = os.path.join(folder, f"{source}.{architecture}.cubin")
    done = subprocess.run(
        [nvcc, "-std=c++20", "--fmad=false", "--expt-relaxed-constexpr", f"-arch=sm_{architecture}", f"-I{ROOT}/src",
         f"-I{ROOT}/include", "-Xptxas", "-v", "-cubin", "-o", cubin, f"{ROOT}/src/solve/gpu/{source}.cu"],
        capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return cubin, done.stderr


def readable(symbol):
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout.strip()
    name = re.sub(r"wallheat::gpu::|\(anonymous namespace\)::|^void |\([^()]*\)$|\(int\)|\(bool\)", "", name)
    return re.sub(r"cluster_kernel<(\d+), (\d+)", r"cluster_kernel<\1 x \2", name)


def resources(said):
    """Yields (symbol, registers, bytes stored by spills, bytes loaded) of each kernel."""
    kernel = spills = None
    for line in said.splitlines():
        if match := re.search(r"Function properties for (\S+)", line):
            kernel = match[1]
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spills = match[1], match[2]
        elif (match := re.search(r"Used (\d+) registers", line)) and kernel:
            yield kernel, int(match[1]), *map(int, spills)
            kernel = None


def machine_code(nvdisasm, cubin, symbol, architecture):
    """Returns [(address, is conditional, text)] of a kernel; nothing where the disassembler does not know it."""
    sections = subprocess.run(["readelf", "-SW", cubin], capture_output=True, text=True, check=True).stdout
    begin, size = re.search(rf"\.text\.{re.escape(symbol)} +PROGBITS +\S+ +(\S+) +(\S+)", sections).groups()
    with open(cubin, "rb") as file:
        file.seek(int(begin, 16))
        code = file.read(int(size, 16))
    with open(cubin + ".raw", "wb") as file:
        file.write(code)
    done = subprocess.run([nvdisasm, "-b", f"SM{architecture}", cubin + ".raw"], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{nvdisasm}: {done.stderr.strip()}", file=sys.stderr)
        return []
    found = re.findall(r"/\*([0-9a-f]{4,})\*/ +(@!?U?P\w+ )? *([A-Z][^;]*);", done.stdout)
    return [(int(address, 16), bool(predicate) or code.startswith("BRA.DIV"), code.strip())
            for address, predicate, code in found]


def target(code):
    match = re.match(r"BRA\S* (?:\S+, )?0x([0-9a-f]+)", code)
    return int(match[1], 16) if match else None


def longest_way(code, first, last):
    """Counts the instructions on the longest way from one address forwards to another."""
    index = {address: place for place, (address, _, _) in enumerate(code)}
    best = {}  # by address: the counts from there to the end
    for place in range(index[last], index[first] - 1, -1):
        address, predicated, text = code[place]
        own = collections.Counter(["all"] + [name for name, pattern in CLASSES.items() if re.match(pattern, text)])
        goes_to = target(text)
        follow = [collections.Counter()] if address == last else []
        if goes_to is not None and goes_to > address and goes_to in best:
            follow.append(best[goes_to])
        if (goes_to is None or predicated) and place + 1 < len(code) and code[place + 1][0] in best:
            follow.append(best[code[place + 1][0]])
        if follow:
            best[address] = own + max(follow, key=lambda way: way["all"])
    return best.get(first, collections.Counter())


def sweep_loops(code, cells):
    """Returns the counts of each innermost loop that has all additions of a sweep: those without largest change."""
    loops = [(target(text), address) for address, _, text in code
             if target(text) is not None and target(text) < address]
    ways = {loop: longest_way(code, *loop) for loop in loops}
    sweeps = [loop for loop in loops if ways[loop]["fp64"] >= 4 * cells]
    return [ways[loop] for loop in sweeps
            if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in sweeps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", help="as 90 for 9.0 (default: 75 80 90 120)")
    parser.add_argument("--nvdisasm", default=shutil.which("nvdisasm"), help="NVIDIA's disassembler")
    options = parser.parse_args()
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(nvcc, os.X_OK):
        sys.exit(f"kernel_code.py: there is no nvcc at {nvcc}; name it by CUDACXX")
    known = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout.split()
    if not options.nvdisasm:
        print("There is no nvdisasm on the path: no instructions are counted.", file=sys.stderr)
    print(f"{'arch':<5}{'kernel':<34}{'regs':>5}{'spilled':>8}{'sweep':>7}{'fp64':>6}{'shared':>7}{'mask':>6}{'local':>6}"
          f"{'FP64':>7}{'issue':>7}{'shared':>7}{'updates':>9}")
    for architecture in options.architectures or ["75", "80", "90", "120"]:
        if f"compute_{architecture}" not in known:
            print(f"this nvcc does not know {architecture}", file=sys.stderr)
            continue
        disassembler = options.nvdisasm
        with tempfile.TemporaryDirectory() as folder:
            for source in ["cluster_kernel"] * (int(architecture) >= 90) + ["kernels"]:  # clusters came with 9.0
                cubin, said = compiled(nvcc, source, architecture, folder)
                for symbol, registers, stored, _ in resources(said):
                    name = readable(symbol)
                    row = f"{architecture:<5}{name:<34}{registers:>5}{stored:>8}"
                    cells = 64 if "8 x 8" in name else 32
                    code = machine_code(disassembler, cubin, symbol, architecture) if disassembler else []
                    disassembler = disassembler if code else None
                    warps = 8 if cells == 64 else 16  # of a multiprocessor
                    for way in sweep_loops(code, cells):
                        cycles = [warps * way["fp64"] / 2, warps * way["all"] / 4, warps * way["shared"] * 4]
                        row = (f"{row:<52}{way['all']:>7}{way['fp64']:>6}{way['shared']:>7}{way['mask']:>6}"
                               f"{way['spills']:>6}" + "".join(f"{value:>7.0f}" for value in cycles) +
                               f"{warps * 32 * cells / max(cycles):>9.1f}")
                        print(row)
                        row = ""
                    if row:
                        print(row)


if __name__ == "__main__":
    main()
