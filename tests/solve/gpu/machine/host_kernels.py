#!/usr/bin/env python3
"""Makes of the GPU's kernels what the host compiles for the machine in machine.hpp.

    host_kernels.py FOLDER > host_kernels.cpp      FOLDER: src/solve/gpu

It is their source, kernels.cu up to its launches and cluster.cuh, with calls (cuda.hpp) in place of the instructions. An
instruction that is not known here to the letter is an error that names it: so is one that the compiler might move, as it
is not volatile or does not say that it touches memory."""
import pathlib
import re
import sys

INSTRUCTIONS = {
    "mapa.shared::cluster.u32 %0, %1, %2;": "{0} = in_shared_memory_of({1}, {2});",
    "mbarrier.init.shared::cta.b64 [%0], 1;": "make_arrivals({0});",
    "fence.mbarrier_init.release.cluster;": "show_arrivals();",
    "{.reg .b64 %%phase;mbarrier.arrive.expect_tx.shared::cta.b64 %%phase, [%0], %1;}": "expect_arrivals({0}, {1});",
    "{.reg .pred %%over;mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%over, [%1], %2;selp.u32 %0, 1, 0, %%over;}":
        "{0} = await_arrivals({1}, {2});",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];": "store_later({0}, {1}, {2}, {3});",
    "": "",
}
MAY_MOVE = {"mapa.shared::cluster.u32 %0, %1, %2;", ""}


def call(instruction):
    literals = re.findall(r'"((?:[^"\\]|\\.)*)"(?:\(([^()]*)\))?', instruction[2])
    operands = [operand for _, operand in literals if operand]
    words = [text for text, operand in literals if not operand]
    text = re.sub(r"\\[nt]", "", "".join(word for word in words if word != "memory"))
    is_fixed = instruction[1] and "memory" in words
    if text not in INSTRUCTIONS or not (is_fixed or text in MAY_MOVE):
        sys.exit(f"host_kernels.py: teach me this instruction, or let it stay in its place: {instruction[0]}")
    return INSTRUCTIONS[text].format(*operands)


def main():
    folder = pathlib.Path(sys.argv[1])
    kernels, launches, _ = (folder / "kernels.cu").read_text().partition("/// A launch of one cluster.")
    if not launches:
        sys.exit("host_kernels.py: I do not find where the launches begin in kernels.cu")
    text = kernels.replace('#include "solve/gpu/cluster.cuh"', (folder / "cluster.cuh").read_text())
    text = re.sub(r"asm\s*(volatile)?\s*\((.*?)\);\n", lambda found: call(found) + "\n", text, flags=re.S)
    text = text.replace('#include "solve/gpu/kernels.hpp"', '#include "solve/gpu/machine/cuda.hpp"')
    text = text.replace("#include <cooperative_groups.h>", "").replace("#pragma once", "")
    text = text.replace("extern __shared__ __align__(16) unsigned char memory[];", "auto* const memory = dynamic_shared_memory();")
    print(text.replace("namespace {", "", 1))
    for arguments in ("true, true", "true, false", "false, true", "false, false"):
        print(f"template void streaming_kernel<{arguments}>(StreamedPlan, unsigned long long*);")
    print("}  // namespace wallheat::gpu")


if __name__ == "__main__":
    main()
