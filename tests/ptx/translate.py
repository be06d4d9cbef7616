#!/usr/bin/env python3
"""Translates kernels from PTX, which nvcc makes, into C++ that the machine in machine.hpp runs.

    translate.py KERNELS.ptx > kernels.cpp

Each PTX instruction becomes one statement of operators, functions of instructions.hpp, or calls of the thread. An
instruction that this program does not know is an error that names it: nothing is left out. It does not know fma: no sum
of the kernels may be contracted."""
import re
import sys

REGISTERS = {"p": "bool", "rs": "std::uint16_t", "r": "std::uint32_t", "rd": "std::uint64_t", "f": "float", "fd": "double"}
SPECIAL = re.compile(r"%(tid|ntid|ctaid|nctaid)\.x")
# What an instruction makes of operands of the type that it ends in; those in UNSIGNED have the same bits with a sign or not.
VALUES = {
    "add": "{} + {}", "and": "{} & {}", "div": "{} / {}", "mad": "{} * {} + {}", "max": "max({}, {})", "min": "min({}, {})",
    "mul": "{} * {}", "neg": "-{}", "not": "~{}", "or": "{} | {}", "rem": "{} % {}", "shl": "shl({}, {})", "shr": "shr({}, {})",
    "sub": "{} - {}", "xor": "{} ^ {}",
}
UNSIGNED = {"add", "mad", "mul", "neg", "sub"}
# A comparison with NaN is false; of those that end with u, true.
COMPARISONS = {
    "eq": "{} == {}", "ne": "{0} < {1} || {0} > {1}", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}",
    "neu": "!({} == {})", "ltu": "!({} >= {})", "leu": "!({} > {})", "gtu": "!({} <= {})", "geu": "!({} < {})",
}
# Calls of the thread: which of an instruction's operands they take (a: an address, u: a number), and where the result goes.
CALLS = {
    "barrier.cluster.arrive": ("cluster_arrive", ""),
    "barrier.cluster.wait": ("cluster_wait", ""),
    "mapa.u64": ("in_block", "=uu"),
    "mapa.shared::cluster.u32": ("shared_in_block", "=uu"),
    "mbarrier.init.shared::cta.b64": ("make_arrivals", "au"),
    "fence.mbarrier_init.release.cluster": ("show_arrivals", ""),
    "mbarrier.arrive.expect_tx.shared::cta.b64": ("expect_arrivals", "-au"),
    "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64": ("await_arrivals", "=au"),
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64": ("store_later", "apa"),
    "cvta.shared.u64": ("generic", "=u"),
}
# Not "atom.max.u64", whose address may be of another block: what ptxas makes of it there is no atomic operation.
ATOMICS = {"atom.shared.add.u32", "atom.global.max.u64"}


class Unknown(Exception):
    pass


def type_of(suffix):
    if suffix in ("f32", "f64", "pred"):
        return {"f32": "float", "f64": "double", "pred": "bool"}[suffix]
    if not re.fullmatch(r"[bus](8|16|32|64)", suffix):
        raise Unknown(f"type {suffix}")
    return f"std::{'' if suffix[0] == 's' else 'u'}int{suffix[1:]}_t"


def operands(text):
    """Splits at commas outside of {} and []."""
    return [part.strip() for part in re.split(r",(?![^{\[]*[}\]])", text) if part.strip()]


class Translator:
    def __init__(self, shared):
        self.shared = shared  # symbol -> C++ expression of its address in shared memory

    def register(self, name):
        if not re.fullmatch(r"%(\w+)", name):
            raise Unknown(f"operand {name}")
        return name[1:]

    def value(self, operand, kind):
        """A C++ expression of type `kind`."""
        if match := SPECIAL.fullmatch(operand):
            return f"as<{kind}>(thread.{match[1]}())"
        if operand.startswith("%"):
            return f"as<{kind}>({self.register(operand)})"
        if match := re.fullmatch(r"0d([0-9A-Fa-f]{16})", operand):
            return f"as<{kind}>(std::uint64_t{{0x{match[1]}}})"
        if re.fullmatch(r"-?\d+", operand):
            return f"static_cast<{kind}>({int(operand) % 2**64}U)"
        if operand in self.shared:
            return f"static_cast<{kind}>({self.shared[operand]})"
        raise Unknown(f"operand {operand}")

    def address(self, operand):
        match = re.fullmatch(r"\[([^+\]]+)(?:\+(-?\d+))?\]", operand)
        if not match:
            raise Unknown(f"address {operand}")
        offset = int(match[2] or 0) % 2**64
        return f"{offset}U" if match[1] == "parameters" else f"{self.value(match[1], 'std::uint64_t')} + {offset}U"

    def call(self, opcode, arguments):
        function, takes = CALLS[opcode]
        result, given = "", []
        for what, argument in zip(takes, arguments, strict=True):
            if what == "=":
                result = f"{self.register(argument)} = "
            elif what == "a":
                given.append(self.address(argument))
            elif what == "p":
                given.append("{" + ", ".join(self.value(half, "double") for half in operands(argument[1:-1])) + "}")
            elif what == "u":
                given.append(self.value(argument, "std::uint64_t" if argument.startswith("%rd") else "std::uint32_t"))
        return f"{result}thread.{function}({', '.join(given)});"

    def memory(self, name, modifiers, arguments):
        *modifiers, suffix = modifiers
        kind = type_of(suffix)
        vector = modifiers[-1:] in (["v2"], ["v4"])
        space, *others = (modifiers[:-1] if vector else modifiers) or ["generic"]
        if space not in ("param", "shared", "global", "generic") or others:
            raise Unknown(f"modifiers {modifiers}")
        place, values = (arguments[1], arguments[0]) if name == "ld" else arguments
        values = operands(values[1:-1]) if vector else [values]
        function = "read_shared" if name == "ld" and space == "shared" else f"{space}_memory"
        yield f"auto* const memory = thread.{function}({self.address(place)}, {len(values)} * sizeof({kind}));"
        for index, operand in enumerate(values):
            if name == "ld":
                yield f"set({self.register(operand)}, load<{kind}>(memory, {index}));"
            else:
                yield f"store<{kind}>(memory, {index}, {self.value(operand, kind)});"

    def atomic(self, modifiers, arguments):
        kind = type_of(modifiers[-1])
        space = modifiers[0] if modifiers[0] in ("shared", "global") else "generic"
        yield f"auto* const memory = thread.{space}_memory({self.address(arguments[1])}, sizeof({kind}));"
        yield f"const auto before = load<{kind}>(memory, 0);"
        change = VALUES[modifiers[-2]].format("before", self.value(arguments[2], kind))
        yield f"store<{kind}>(memory, 0, {change});"
        yield f"set({self.register(arguments[0])}, before);"

    def instruction(self, opcode, arguments, line):
        """Yields the statements of one instruction."""
        name, *modifiers = opcode.split(".")
        suffix = modifiers[-1] if modifiers else ""
        if name == "bra":
            yield f"goto {arguments[0].lstrip('$')};"
        elif name == "ret":
            yield "return;"
        elif opcode == "bar.sync" and arguments == ["0"]:
            yield f"thread.await_block({line});"
        elif opcode == "shfl.sync.bfly.b32":
            to = arguments[0].split("|")[0]
            yield (f"{self.register(to)} = thread.exchange({self.register(arguments[1])}, "
                   f"{self.value(arguments[2], 'std::uint32_t')}, {line});")
        elif opcode in CALLS:
            yield self.call(opcode, arguments)
        elif opcode in ATOMICS:
            yield from self.atomic(modifiers, arguments)
        elif opcode == "cvta.to.global.u64":
            yield f"set({self.register(arguments[0])}, {self.value(arguments[1], 'std::uint64_t')});"
        elif name in ("ld", "st"):
            yield from self.memory(name, modifiers, arguments)
        elif name == "mov":
            yield from self.move(suffix, *arguments)
        elif name == "setp" and len(modifiers) == 2 and modifiers[0] in COMPARISONS:
            values = (self.value(argument, type_of(suffix)) for argument in arguments[1:])
            yield f"{self.register(arguments[0])} = {COMPARISONS[modifiers[0]].format(*values)};"
        elif name == "selp":
            first, second = (self.value(argument, type_of(suffix)) for argument in arguments[1:3])
            yield f"set({self.register(arguments[0])}, {self.register(arguments[3])} ? {first} : {second});"
        elif name == "cvt" and set(modifiers[:-2]) <= {"rn", "rzi"}:
            to, of = type_of(modifiers[-2]), type_of(suffix)
            yield f"set({self.register(arguments[0])}, convert<{to}>({self.value(arguments[1], of)}));"
        elif name == "mul" and modifiers[0] == "wide":
            wide = type_of(suffix[0] + str(2 * int(suffix[1:])))
            factors = (f"static_cast<{wide}>({self.value(argument, type_of(suffix))})" for argument in arguments[1:])
            yield f"set({self.register(arguments[0])}, {' * '.join(factors)});"
        elif name in VALUES and set(modifiers[:-1]) <= {"rn", "lo"}:
            kind = type_of(suffix.replace("s", "u") if name in UNSIGNED else suffix)
            kinds = [kind] * (len(arguments) - 1)
            if name in ("shl", "shr"):
                kinds[1] = "std::uint32_t"
            values = (self.value(argument, k) for argument, k in zip(arguments[1:], kinds))
            made = VALUES[name] if (name, kind) != ("not", "bool") else "!{}"
            yield f"set({self.register(arguments[0])}, static_cast<{kind}>({made.format(*values)}));"
        else:
            raise Unknown("it")

    def move(self, suffix, to, value):
        if to.startswith("{"):
            low, high = operands(to[1:-1])
            yield f"const auto whole = {self.value(value, 'std::uint64_t')};"
            yield f"{self.register(low)} = static_cast<std::uint32_t>(whole);"
            yield f"{self.register(high)} = static_cast<std::uint32_t>(whole >> 32);"
        elif value.startswith("{"):
            low, high = (self.value(half, "std::uint32_t") for half in operands(value[1:-1]))
            yield f"set({self.register(to)}, static_cast<std::uint64_t>({high}) << 32 | {low});"
        else:
            yield f"set({self.register(to)}, {self.value(value, type_of(suffix))});"


def readable(symbol):
    """`streaming_kernel 1 0` of a mangled name."""
    name = re.search(r"\d([a-z]+_kernel)(I(?:L[ib]\d+E)+E)?", symbol)
    return " ".join([name[1], *re.findall(r"L[ib](\d+)E", name[2] or "")])


def translate(source, table):
    """Yields lines of C++; adds an entry of each kernel to `table`."""
    text = re.sub(r"//.*", "", source)
    external = re.findall(r"^\.extern \.shared .*? (\w+)\[\];", text, re.M)
    for match in re.finditer(r"\.entry (\w+)\((.*?)\)(.*?)^\{\n(.*?)^\}\n", text, re.S | re.M):
        symbol, parameters, _, body = match.groups()
        shared, static_bytes = {}, 0
        for alignment, name, size in re.findall(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\];", body):
            static_bytes = -(-static_bytes // int(alignment)) * int(alignment)
            shared[name] = f"first_shared_address + {static_bytes}U"
            static_bytes += int(size)
        static_bytes = -(-static_bytes // 16) * 16
        shared |= {name: f"first_shared_address + {static_bytes}U" for name in external}
        table.append(f'{{"{readable(symbol)}", kernel_{len(table)}, {static_bytes}}},')
        yield f"void kernel_{len(table) - 1}(Thread& thread) {{"
        for kind, count in re.findall(r"\.reg \.\w+\s+%(\w+)<(\d+)>;", body):
            yield f"{REGISTERS[kind]} " + ", ".join(f"{kind}{index}" for index in range(int(count))) + ";"
        for kind, name in sorted(set(re.findall(r"\.reg \.(\w+) %([a-z]\w*);", body))):  # of inline assembly
            yield f"{type_of(kind)} {name};"
        for offset, name in zip(parameter_offsets(parameters), re.findall(r"(\w+_param_\d+)", parameters)):
            body = re.sub(rf"\[{name}(?:\+(\d+))?\]", lambda m, o=offset: f"[parameters+{o + int(m[1] or 0)}]", body)
        translator = Translator(shared)
        for line, statement in enumerate(re.split(r"[;{}]\s*\n|(?<=:)\n|;(?=\s*\})|\{(?=\s*\.reg)", body), 1):
            statement = " ".join(statement.split())
            if label := re.fullmatch(r"\$(\w+):", statement):
                yield f"{label[1]}:;"
            elif statement and statement not in ("{", "}") and not statement.startswith("."):
                yield translated(translator, statement.removeprefix("} "), line, symbol)
        yield "}"


def parameter_offsets(parameters):
    end = 0
    for alignment, size, kind in re.findall(r"\.param (?:\.align (\d+) \.b8 \w+\[(\d+)\]|\.u(\d+) \w+)", parameters):
        width = int(kind or 0) // 8
        end = -(-end // int(alignment or width)) * int(alignment or width)
        yield end
        end += int(size or width)


def translated(translator, statement, line, symbol):
    match = re.fullmatch(r"(?:@(!?)(%p\d+) )?(\S+)\s*(.*)", statement)
    try:
        guard = f"if ({match[1]}{translator.register(match[2])}) " if match[2] else ""
        return f"{guard}{{ {' '.join(translator.instruction(match[3], operands(match[4]), line))} }}"
    except (Unknown, IndexError, KeyError, ValueError) as unknown:
        sys.exit(f"translate.py: {symbol}: '{statement}': {unknown} is not known; teach it to translate.py")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = []
        print('#include "ptx/instructions.hpp"\n#include "ptx/machine.hpp"\n\nnamespace wallheat::ptx {\nnamespace {')
        print("\n".join(translate(file.read(), table)))
    print("}  // namespace\n\nconst std::vector<Kernel>& kernels() {\nstatic const std::vector<Kernel> all{")
    print("\n".join(table))
    print("};\nreturn all;\n}\n}  // namespace wallheat::ptx")


if __name__ == "__main__":
    main()
