#!/usr/bin/env python3
"""What the compiler made of the GPU's kernels: registers and spills a thread and, from the machine code, the
instructions of a sweep. Needs nvcc, and no GPU. For the machine code it needs NVIDIA's nvdisasm, which comes with most
toolkits, and readelf.

The last columns are a model, not a measurement, of a multiprocessor that is full of blocks: cycles of a sweep that its
double-precision units (64 lanes), its four schedulers and its shared memory (128 bytes a cycle) are busy, and the updates
a cycle that the busiest of them allows. A cluster's sweep has the instructions of a warp without neighbours in other
blocks; "remote" are those more of one that has some on all four sides. How many sides that are, bank conflicts and
interior cells the model takes from the three real plans of ../shared/floorplans, if they are there. What comes on top is
the time that barriers and loads take. To compare two commits, run it in both."""
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
    "barriers": r"(BAR|UCGABAR_WAIT|SYNCS\.PHASECHK)",
    "membars": r"(MEMBAR|CCTL)",
}
REMOTE = r"STAS"
WARP = 32


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
    return name


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


def longest_way(code, first, last, avoided=None):
    """Counts the instructions on the longest way from one address forwards to another, around those that are avoided."""
    index = {address: place for place, (address, _, _) in enumerate(code)}
    best = {}  # by address: the counts from there to the end
    for place in range(index[last], index[first] - 1, -1):
        address, predicated, text = code[place]
        if avoided and re.match(avoided, text):
            continue
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


def sweep_loop(code, cells):
    """Returns (counts, instructions more of a warp with neighbours in other blocks) of the shortest loop that has all
    additions of a sweep: that without largest change. Nothing if there is none."""
    places = {address for address, _, _ in code}
    loops = [(target(text), address) for address, _, text in code
             if target(text) is not None and target(text) < address and target(text) in places]
    sweeps = [(first, last) for first, last in loops if longest_way(code, first, last)["fp64"] >= 4 * cells]
    if not sweeps:
        return None
    loop = min(sweeps, key=lambda loop: loop[1] - loop[0])
    way = longest_way(code, *loop, REMOTE)
    return way, longest_way(code, *loop)["all"] - way["all"]


def tiles_of(path, side=8):
    """{(row, column): interior cells} of the tiles of a mask that have any."""
    with open(path, "rb") as file:
        data = file.read()
    rows, cols = map(int, re.search(rb"'shape': \((\d+), (\d+)\)", data).groups())
    mask = data[-rows * cols:]
    tiles = collections.Counter()
    for place in (place for place, cell in enumerate(mask) if cell):
        tiles[place // cols // side, place % cols // side] += 1
    return dict(sorted(tiles.items()))


def edge_stores(tiles, threads=128):
    """What Tiling::deal and the cluster kernel make of a plan, in the fewest blocks: what a warp's 16 stores take of
    shared memory's cycles, were there no bank conflicts and with them; the shares of warps' sides on which any thread has
    its neighbour in another block, and of edges that go there; interior cells a thread."""
    blocks = -(-len(tiles) // threads)
    a_block = -(-len(tiles) // blocks)
    slots = -(-a_block // WARP) * WARP
    slot_of = {tile: number // a_block * slots + number % a_block for number, tile in enumerate(tiles)}
    at = {slot: tile for tile, slot in slot_of.items()}
    ideal = taken = remote_sides = remote_edges = edges = 0
    warps = range(0, blocks * slots, WARP)
    for first in warps:
        for down, right in ((0, -1), (0, 1), (-1, 0), (1, 0)):
            groups = collections.defaultdict(lambda: collections.defaultdict(set))  # 8 threads store 128 bytes a cycle
            lanes = 0
            is_remote = False
            for lane in range(WARP):
                tile = at.get(first + lane)
                to = slot_of.get((tile[0] + down, tile[1] + right)) if tile else None
                if to is None:
                    continue
                remote = to // slots != first // slots
                is_remote = is_remote or remote
                remote_edges += remote
                lanes += 1
                groups[lane // 8, to // slots][to % 8].add(to)
            edges += lanes
            remote_sides += is_remote
            ideal += 4 * -(-lanes // 8)
            taken += 4 * sum(max(map(len, banks.values())) for banks in groups.values())
    return (ideal / len(warps), taken / len(warps), remote_sides / len(warps) / 4, remote_edges / edges,
            sum(tiles.values()) / (blocks * slots))


def real_plans():
    """Prints what edge_stores says of each real plan; returns the means."""
    folder = os.path.join(ROOT, "..", "shared", "floorplans")
    if not os.path.isdir(folder):
        print(f"{folder} is not there: a model without bank conflicts, of whole tiles in one block", file=sys.stderr)
        return 64, 64, 0, 0, 64
    found = []
    for name in sorted(name for name in os.listdir(folder) if name.endswith("_interior.npy")):
        found.append(edge_stores(tiles_of(os.path.join(folder, name))))
        ideal, taken, warp_sides, edges, cells = found[-1]
        print(f"{name.split('_')[0]:<8} stores of a warp take {taken:.1f} cycles, {taken / ideal:.2f} times the ideal; "
              f"{warp_sides:.0%} of warps' sides and {edges:.0%} of edges face other blocks; {cells:.1f} interior cells a thread")
    return [sum(values) / len(found) for values in zip(*found)]


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
    plans = real_plans()
    print(f"{'arch':<5}{'kernel':<26}{'regs':>5}{'spilled':>8}{'sweep':>7}{'remote':>7}{'fp64':>6}{'shared':>7}{'mask':>6}"
          f"{'local':>6}{'barriers':>9}{'membars':>8}{'FP64':>7}{'issue':>7}{'shared':>7}{'updates':>9}")
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
                    row = f"{architecture:<5}{name:<26}{registers:>5}{stored:>8}"
                    code = machine_code(disassembler, cubin, symbol, architecture) if disassembler else []
                    disassembler = disassembler if code else None
                    found = sweep_loop(code, 64 if "cluster" in name else 32)
                    print(row + (modelled("cluster" in name, *found, plans) if found else ""))


def modelled(is_cluster, way, remote, plans):
    """The columns of a sweep."""
    _, stores, remote_share, _, interior = plans
    warps, cells = (8, interior) if is_cluster else (16, 32)  # of a multiprocessor, and of a thread
    instructions = way["all"] + (remote_share * remote if is_cluster else 0)
    accesses = 4 * way["shared"]  # a warp's 512 bytes
    if is_cluster:
        accesses = 4 * 16 + stores
    cycles = [warps * way["fp64"] / 2, warps * instructions / 4, warps * accesses]
    return (f"{way['all']:>7}{remote:>7}{way['fp64']:>6}{way['shared']:>7}{way['mask']:>6}{way['spills']:>6}"
            f"{way['barriers']:>9}{way['membars']:>8}" + "".join(f"{value:>7.0f}" for value in cycles) +
            f"{warps * WARP * cells / max(cycles):>9.1f}")


if __name__ == "__main__":
    main()
