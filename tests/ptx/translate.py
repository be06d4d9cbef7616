#!/usr/bin/env python3
"""Translates kernels from PTX, which nvcc makes, into C++ that the machine in machine.hpp runs.

    translate.py KERNELS.ptx ... > kernels.cpp

Each PTX instruction becomes one statement that calls a function of instructions.hpp or of the thread. An instruction
that this program does not know is an error that names it: nothing is left out."""
import re
import sys

REGISTERS = {"p": "bool", "rs": "std::uint16_t", "r": "std::uint32_t", "rd": "std::uint64_t", "f": "float", "fd": "double"}
TYPES = {"b": "std::uint{}_t", "u": "std::uint{}_t", "s": "std::int{}_t"}
SPECIAL = re.compile(r"%(tid|ntid|ctaid|nctaid)\.([xyz])|%envreg([12])")
# Instructions whose operands and result have the type that they end in, and the modifiers that change nothing here.
SAME_TYPE = {
    "abs": set(), "add": {"rn"}, "and": set(), "bfi": set(), "div": {"rn"}, "fma": {"rn"}, "mad": {"lo"}, "max": set(),
    "min": set(), "mul": {"rn", "lo"}, "neg": set(), "not": set(), "or": set(), "rcp": {"approx", "ftz"}, "rem": set(),
    "shl": set(), "shr": set(), "sub": {"rn"}, "xor": set(),
}


class Unknown(Exception):
    pass


def type_of(suffix):
    if suffix in ("f32", "f64", "pred"):
        return {"f32": "float", "f64": "double", "pred": "bool"}[suffix]
    if not re.fullmatch(r"[bus](8|16|32|64)", suffix):
        raise Unknown(f"type {suffix}")
    return TYPES[suffix[0]].format(suffix[1:])


def operands(text):
    """Splits at commas outside of {} and []."""
    return [part.strip() for part in re.split(r",(?![^{\[]*[}\]])", text) if part.strip()]


class Translator:
    def __init__(self, shared):
        self.shared = shared  # symbol -> C++ expression of its address in shared memory
        self.parameter = ""

    def register(self, name):
        if not re.fullmatch(r"%(\w+)", name):
            raise Unknown(f"operand {name}")
        return name[1:]

    def value(self, operand, kind):
        """A C++ expression of type `kind`."""
        if match := SPECIAL.fullmatch(operand):
            source = f"thread.environment({match[3]})" if match[3] else f"thread.{match[1]}('{match[2]}')"
            return f"as<{kind}>({source})"
        if operand.startswith("%"):
            return f"as<{kind}>({self.register(operand)})"
        if match := re.fullmatch(r"0d([0-9A-Fa-f]{16})", operand):
            return f"as<{kind}>(std::uint64_t{{0x{match[1]}}})"
        if match := re.fullmatch(r"0f([0-9A-Fa-f]{8})", operand):
            return f"as<{kind}>(std::uint32_t{{0x{match[1]}}})"
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
        if match[1] == self.parameter:
            return f"{offset}U"
        return f"{self.value(match[1], 'std::uint64_t')} + {offset}U"

    def memory(self, name, modifiers, arguments):
        *modifiers, suffix = modifiers
        kind = type_of(suffix)
        vector = [m for m in modifiers if re.fullmatch(r"v[24]", m)]
        space = [m for m in modifiers if m in ("param", "shared", "global")] or ["generic"]
        rest = set(modifiers) - set(vector) - set(space)
        waits = name == "ld" and rest == {"acquire", "gpu"}
        if rest - {"volatile"} and not waits:
            raise Unknown(f"modifiers {sorted(rest)}")
        place, values = (arguments[1], arguments[0]) if name == "ld" else arguments
        values = operands(values[1:-1]) if vector else [values]
        size = f"{len(values)} * sizeof({kind})"
        if waits:
            yield f"thread.await_change({self.address(place)});"
        function = "read_shared" if name == "ld" and space == ["shared"] else f"{space[0]}_memory"
        yield f"auto* const memory = thread.{function}({self.address(place)}, {size});"
        for index, operand in enumerate(values):
            if name == "ld":
                yield f"set({self.register(operand)}, load<{kind}>(memory, {index}));"
            else:
                yield f"store<{kind}>(memory, {index}, {self.value(operand, kind)});"

    def instruction(self, opcode, arguments, line):
        """Yields the statements of one instruction."""
        name, *modifiers = opcode.split(".")
        suffix = modifiers[-1] if modifiers else ""
        if name == "bra":
            yield f"goto {arguments[0].lstrip('$')};"
        elif name in ("ret", "trap"):
            yield "return;" if name == "ret" else "thread.trap();"
        elif opcode in ("bar.sync", "barrier.sync") and arguments == ["0"]:
            yield f"thread.await_block({line if name == 'bar' else 0});"
        elif opcode in ("barrier.cluster.arrive", "barrier.cluster.wait"):
            yield f"thread.cluster_{suffix}();"
        elif opcode == "shfl.sync.bfly.b32":
            to = arguments[0].split("|")[0]
            yield (f"{self.register(to)} = thread.exchange({self.register(arguments[1])}, "
                   f"{self.value(arguments[2], 'std::uint32_t')}, {line});")
        elif opcode == "mapa.u64":
            yield (f"{self.register(arguments[0])} = thread.in_block({self.register(arguments[1])}, "
                   f"{self.value(arguments[2], 'std::uint32_t')});")
        elif opcode == "mapa.shared::cluster.u32":
            yield (f"{self.register(arguments[0])} = thread.shared_in_block({self.register(arguments[1])}, "
                   f"{self.value(arguments[2], 'std::uint32_t')});")
        elif opcode == "mbarrier.init.shared::cta.b64":
            yield f"thread.make_arrivals({self.address(arguments[0])}, {self.value(arguments[1], 'std::uint32_t')});"
        elif opcode == "fence.mbarrier_init.release.cluster":
            yield "thread.show_arrivals();"
        elif opcode == "mbarrier.arrive.expect_tx.shared::cta.b64":
            yield f"thread.expect_arrivals({self.address(arguments[1])}, {self.value(arguments[2], 'std::uint32_t')});"
        elif opcode == "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64":
            yield (f"{self.register(arguments[0])} = thread.await_arrivals({self.address(arguments[1])}, "
                   f"{self.value(arguments[2], 'std::uint32_t')});")
        elif opcode == "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64":
            pair = ", ".join(self.value(operand, "double") for operand in operands(arguments[1][1:-1]))
            yield f"const double pair[] = {{{pair}}};"
            yield f"thread.store_later({self.address(arguments[0])}, pair, sizeof pair, {self.address(arguments[2])});"
        elif opcode in ("atom.shared.add.u32", "atom.shared.max.u64", "atom.global.max.u64", "atom.add.release.gpu.u32"):
            kind = type_of(suffix)
            space = modifiers[0] if modifiers[0] in ("shared", "global") else "generic"
            yield f"auto* const memory = thread.{space}_memory({self.address(arguments[1])}, sizeof({kind}));"
            yield f"const auto before = load<{kind}>(memory, 0);"
            change = "add" if "add" in modifiers else "max"
            yield f"store<{kind}>(memory, 0, {change}<{kind}>(before, {self.value(arguments[2], kind)}));"
            yield f"set({self.register(arguments[0])}, before);"
        elif opcode in ("cvta.shared.u64", "cvta.to.shared.u64", "cvta.to.global.u64"):
            value = self.value(arguments[1], "std::uint64_t")
            converted = {"shared": f"thread.generic({value})", "toshared": f"thread.shared_of({value})"}
            yield f"set({self.register(arguments[0])}, {converted.get(''.join(modifiers[:-1]), value)});"
        elif name in ("ld", "st"):
            yield from self.memory(name, modifiers, arguments)
        elif name == "mov":
            yield from self.move(suffix, *arguments)
        elif name == "setp":
            comparison, = modifiers[:-1]
            kind = type_of(suffix)
            first, second = (self.value(argument, kind) for argument in arguments[1:])
            yield f"{self.register(arguments[0])} = is_{comparison}<{kind}>({first}, {second});"
        elif name == "selp":
            kind = type_of(suffix)
            first, second = (self.value(argument, kind) for argument in arguments[1:3])
            yield f"set({self.register(arguments[0])}, {self.register(arguments[3])} ? {first} : {second});"
        elif name == "cvt" and set(modifiers[:-2]) <= {"rn", "rzi"}:
            to, of = type_of(modifiers[-2]), type_of(suffix)
            yield f"set({self.register(arguments[0])}, convert<{to}>({self.value(arguments[1], of)}));"
        elif name == "mul" and modifiers[0] == "wide":
            kind = type_of(suffix)
            wide = type_of(suffix[0] + str(2 * int(suffix[1:])))
            factors = (f"static_cast<{wide}>({self.value(argument, kind)})" for argument in arguments[1:])
            yield f"set({self.register(arguments[0])}, mul<{wide}>({', '.join(factors)}));"
        elif name in SAME_TYPE and set(modifiers[:-1]) <= SAME_TYPE[name]:
            kind = type_of(suffix)
            kinds = [kind] * (len(arguments) - 1)
            if name in ("shl", "shr"):
                kinds[1] = "std::uint32_t"
            if name == "bfi":
                kinds[2:] = ["std::uint32_t"] * 2
            values = (self.value(argument, k) for argument, k in zip(arguments[1:], kinds))
            suffixed = "bitwise_" + name if name in ("and", "or", "xor", "not") else name
            yield f"set({self.register(arguments[0])}, {suffixed}<{kind}>({', '.join(values)}));"
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
    """`cluster_kernel 8 8 128 2` of a mangled name."""
    name = re.search(r"\d([a-z]+_kernel)(I(?:L[ib]\d+E)+E)?", symbol)
    return " ".join([name[1], *re.findall(r"L[ib](\d+)E", name[2] or "")])


def translate(source, number, table):
    """Yields lines of C++; adds an entry of each kernel to `table`."""
    text = re.sub(r"//.*", "", source)
    external = re.findall(r"^\.extern \.shared .*? (\w+)\[\];", text, re.M)
    kernels = []
    for match in re.finditer(r"\.entry (\w+)\((.*?)\)(.*?)^\{\n(.*?)^\}\n", text, re.S | re.M):
        symbol, parameters, _, body = match.groups()
        function = f"kernel_{number}_{len(kernels)}"
        shared, static_bytes = {}, 0
        for alignment, name, size in re.findall(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\];", body):
            static_bytes = -(-static_bytes // int(alignment)) * int(alignment)
            shared[name] = f"first_shared_address + {static_bytes}U"
            static_bytes += int(size)
        static_bytes = -(-static_bytes // 16) * 16
        shared |= {name: f"first_shared_address + {static_bytes}U" for name in external}
        translator = Translator(shared)
        names = re.findall(r"(\w+_param_\d+)", parameters)
        offsets = parameter_offsets(parameters)
        kernels.append((readable(symbol), function, static_bytes))
        yield f"void {function}(Thread& thread) {{"
        for kind, count in re.findall(r"\.reg \.\w+\s+%(\w+)<(\d+)>;", body):
            yield f"{REGISTERS[kind]} " + ", ".join(f"{kind}{index}" for index in range(int(count))) + ";"
        for kind, name in sorted(set(re.findall(r"\.reg \.(\w+) %([a-z]\w*);", body))):  # of inline assembly
            yield f"{type_of(kind)} {name};"
        for offset, name in zip(offsets, names):
            body = re.sub(rf"\[{name}(?:\+(\d+))?\]", lambda m, o=offset: f"[parameters+{o + int(m[1] or 0)}]", body)
        translator.parameter = "parameters"
        for line, statement in enumerate(re.split(r"[;{}]\s*\n|(?<=:)\n|;(?=\s*\})|\{(?=\s*\.reg)", body), 1):
            statement = " ".join(statement.split())
            if label := re.fullmatch(r"\$(\w+):", statement):
                yield f"{label[1]}:;"
            elif statement and statement not in ("{", "}") and not statement.startswith("."):
                yield from translated(translator, statement.removeprefix("} "), line, symbol)
        yield "}"
    for name, function, static_bytes in kernels:
        table.append(f'{{"{name}", {function}, {static_bytes}}},')


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
        statements = " ".join(translator.instruction(match[3].replace("bra.uni", "bra"), operands(match[4]), line))
    except (Unknown, IndexError, KeyError, ValueError) as unknown:
        sys.exit(f"translate.py: {symbol}: '{statement}': {unknown} is not known; teach it to translate.py")
    yield f"{guard}{{ {statements} }}"


def main():
    print('#include "ptx/instructions.hpp"\n#include "ptx/machine.hpp"\n\nnamespace wallheat::ptx {\nnamespace {')
    table = []
    for number, path in enumerate(sys.argv[1:]):
        with open(path, encoding="utf-8") as file:
            print("\n".join(translate(file.read(), number, table)))
    print("}  // namespace\n\nconst std::vector<Kernel>& kernels() {\nstatic const std::vector<Kernel> all{")
    print("\n".join(table))
    print("};\nreturn all;\n}\n}  // namespace wallheat::ptx")


if __name__ == "__main__":
    main()
