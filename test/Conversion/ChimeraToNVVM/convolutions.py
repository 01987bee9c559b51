"""Chains of convolutions, for the tests of this directory: as linalg on tensors, what
they are to compute, and whether kernels do, by the interpreter."""

from collections import namedtuple

import kernels
from programs import narrow, widen

# Of one image of c channels, h x w pixels. Each of the `layers` is (filters, side of the
# windows, stride), padded with side / 2 zeros on each side; all but the last end with
# a ReLU. Channels come last with the layout "nhwc", first with "nchw". The `ending` is
# "", "relu", "residual": something is added before a ReLU, or "shortcut": the image is.
# Whether layers are fused is up to the planner, but if `fuse` is "never".
Convolution = namedtuple(
    "Convolution",
    "type layout c h w layers ending tiles rows fuse stages",
    defaults=("", None, 1, "auto", 0),
)

RUN = [
    # A window of 3 x 3 and one pixel; edges and padding; with strides.
    Convolution(
        "f16",
        "nhwc",
        32,
        5,
        20,
        ((32, 3, 1), (16, 1, 1)),
        "",
        "h = 1, h1 = 16; r = 1, r1 = 1",
    ),
    Convolution(
        "bf16",
        "nhwc",
        24,
        6,
        19,
        ((40, 3, 2), (24, 1, 1)),
        "relu",
        "h = 1; l = 16, r = 1, r1 = 1",
    ),
    Convolution(
        "f16",
        "nhwc",
        32,
        3,
        33,
        ((48, 3, 1), (32, 1, 1)),
        "residual",
        "h = 1, h1 = 32; l = 32, k = 16, r = 1, r1 = 1",
        2,
    ),
    Convolution(
        "f16", "nhwc", 16, 9, 9, ((16, 5, 4), (8, 1, 1)), "", "h = 1; r = 1, r1 = 1"
    ),
    # Rows that are no whole units, and channels that a step has more of.
    Convolution(
        "f16",
        "nhwc",
        3,
        4,
        17,
        ((20, 3, 1), (12, 1, 1)),
        "relu",
        "h = 1; r = 1, r1 = 1",
    ),
    # Of pixels alone, with a stride that leaves out the last ones.
    Convolution(
        "f16",
        "nhwc",
        48,
        3,
        24,
        ((32, 1, 1), (16, 1, 1)),
        "relu",
        "m = 1, m1 = 16; l = 16",
    ),
    Convolution(
        "f16", "nhwc", 32, 6, 10, ((32, 1, 2), (16, 1, 1)), "residual", "h = 1; l = 16"
    ),
    # Three copies of tiles, ahead from tap to tap.
    Convolution(
        "f16",
        "nhwc",
        24,
        4,
        19,
        ((40, 3, 1), (24, 1, 1)),
        "relu",
        "h = 1; l = 16, r = 1, r1 = 1",
        stages=3,
    ),
    # As the planner has it: in one kernel, in two, since windows over what the first
    # one makes are not in its registers, and three layers in two.
    Convolution("f16", "nhwc", 32, 4, 32, ((64, 3, 1), (32, 1, 1)), "residual"),
    Convolution(
        "f16", "nhwc", 32, 3, 16, ((16, 1, 1), (16, 3, 1), (32, 1, 1)), "residual"
    ),
    Convolution("bf16", "nhwc", 32, 4, 16, ((32, 1, 1), (32, 3, 1)), "residual"),
    Convolution("f16", "nhwc", 32, 4, 16, ((32, 3, 1), (32, 1, 1)), "shortcut"),
    Convolution(
        "f32",
        "nhwc",
        16,
        3,
        20,
        ((24, 3, 1), (16, 1, 1)),
        "relu",
        "h = 1, h1 = 16; r = 1, r1 = 1",
    ),
    Convolution("f32", "nhwc", 20, 4, 16, ((24, 1, 1), (16, 3, 2)), "residual"),
    # Channels first: images, filters and results are transposed around the kernel, but
    # not between two.
    Convolution("f16", "nchw", 24, 5, 19, ((40, 3, 2), (16, 1, 1)), "residual"),
    Convolution("bf16", "nchw", 32, 4, 16, ((32, 1, 1), (24, 3, 1)), "relu"),
    # Higher than wide: rows of a tile are pixels of a line all the same.
    Convolution("f16", "nhwc", 24, 9, 5, ((32, 3, 1), (16, 1, 1)), "relu"),
]

# As the planner has them: C1 to C8 of table V of the Chimera paper, in one kernel but
# for C4 and C6, and the first also in tf32.
PLANNED = [
    Convolution("f16", "nhwc", c, h, h, ((f1, k1, stride), (f2, k2, 1)), "relu")
    for c, h, f1, f2, stride, k1, k2 in (
        (64, 112, 192, 128, 2, 3, 1),
        (32, 147, 64, 80, 2, 3, 1),
        (64, 56, 128, 64, 1, 3, 1),
        (128, 28, 256, 128, 1, 3, 1),
        (16, 227, 64, 16, 4, 3, 1),
        (64, 56, 64, 64, 1, 1, 3),
        (64, 56, 64, 64, 1, 1, 1),
        (256, 56, 256, 64, 1, 1, 1),
    )
]
PLANNED += [
    PLANNED[0]._replace(type="f32"),
    PLANNED[3]._replace(type="bf16"),
    PLANNED[5]._replace(layout="nchw"),
]


def sizes_of(case):
    """The height and width of the image and of what each layer makes."""
    sizes = [(case.h, case.w)]
    for _, side, stride in case.layers:
        sizes.append(
            tuple((size + 2 * (side // 2) - side) // stride + 1 for size in sizes[-1])
        )
    return sizes


def shape_of(case, channels, size):
    return (channels, *size) if case.layout == "nchw" else (*size, channels)


def filter_shape(case, filters, channels, side):
    return (
        (filters, channels, side, side)
        if case.layout == "nchw"
        else (side, side, channels, filters)
    )


def write_convolution(case):
    sizes, channels = sizes_of(case), [case.c] + [layer[0] for layer in case.layers]
    is_first = case.layout == "nchw"
    name = "linalg.conv_2d_" + ("nchw_fchw" if is_first else "nhwc_hwcf")
    parallel = ", ".join(['"parallel"'] * 4)

    def tensor(shape, type=case.type, batch=(1,)):
        return f"tensor<{'x'.join(map(str, (*batch, *shape)))}x{type}>"

    def image(number, type=case.type, border=0):
        size = [extent + 2 * border for extent in sizes[number]]
        return tensor(shape_of(case, channels[number], size), type)

    arguments, body, last = [f"%x0: {image(0)}"], [], len(case.layers)
    for number, (filters, side, stride) in enumerate(case.layers, 1):
        weights = tensor(
            filter_shape(case, filters, channels[number - 1], side), batch=()
        )
        arguments.append(f"%w{number}: {weights}")
        value, border = f"%x{number - 1}", side // 2
        source = image(number - 1, border=border)
        if border:
            low = ", ".join(map(str, (0, *shape_of(case, 0, (border, border)))))
            body.append(f"""
  %p{number} = tensor.pad {value} low[{low}] high[{low}] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %none : {case.type}
  }} : {image(number - 1)} to {source}""")
            value = f"%p{number}"
        sums = image(number, "f32")
        isAdded = number == last and case.ending in ("residual", "shortcut")
        operand = "%added" if case.ending == "residual" else "%x0"
        hasReLU = number < last or case.ending
        added_line, added = widen("%r", "%more", case.type)
        made, stored = narrow("%n", "%a" if hasReLU else "%s", case.type)
        body.append(f"""
  %e{number} = tensor.empty() : {sums}
  %z{number} = linalg.fill ins(%zero : f32) outs(%e{number} : {sums}) -> {sums}
  %c{number} = {name} {{strides = dense<{stride}> : tensor<2xi64>}}
      ins({value}, %w{number} : {source}, {weights}) outs(%z{number} : {sums}) -> {sums}
  %o{number} = tensor.empty() : {image(number)}
  %x{number} = linalg.generic {{indexing_maps = [#id, {"#id, " * isAdded}#id],
      iterator_types = [{parallel}]}}
      ins(%c{number}{f", {operand}" * isAdded} : {sums}{f", {image(last)}" * isAdded})
      outs(%o{number} : {image(number)}) {{
  ^bb0(%in: f32, {f"%more: {case.type}, " * isAdded}%out: {case.type}):
    {added_line if isAdded else ""}
    %s = arith.addf %in, {added if isAdded else "%nothing"} : f32
    {"%a = arith.maximumf %s, %zero : f32" if hasReLU else ""}
    {made}
    linalg.yield {stored} : {case.type}
  }} -> {image(number)}""")
    if case.ending == "residual":
        arguments.append(f"%added: {image(last)}")
    return f"""
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @convolve({", ".join(arguments)}) -> {image(last)} {{
  %zero = arith.constant 0.0 : f32
  %nothing = arith.constant -0.0 : f32
  %none = arith.constant 0.0 : {case.type}{"".join(body)}
  return %x{last} : {image(last)}
}}
"""


def convolve(np, image, filters, stride):
    """In f64, channels last."""
    side = filters.shape[0]
    border = side // 2
    padded = np.pad(image, ((border, border), (border, border), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), (0, 1))
    return np.einsum("hwcrs,rscf->hwf", windows[::stride, ::stride], filters)


def convolution_data(case, numbers):
    """Arguments of the function, what each layer is to make, and the sums of the
    magnitudes of what that adds up."""
    np, isFirst = numbers.np, case.layout == "nchw"
    sizes = sizes_of(case)
    inputs, channels, expected = (
        [numbers.normal(1, *shape_of(case, case.c, sizes[0]))],
        case.c,
        [],
    )
    image, sums = numbers.widen(inputs[0])[0], []
    if isFirst:
        image = np.moveaxis(image, 0, -1)
    terms = np.abs(image)
    for number, (filters, side, stride) in enumerate(case.layers, 1):
        inputs.append(numbers.normal(*filter_shape(case, filters, channels, side)))
        weights = numbers.widen(inputs[-1])
        if isFirst:
            weights = weights.transpose(2, 3, 1, 0)
        image = convolve(np, image, weights, stride)
        terms = convolve(np, terms, np.abs(weights), stride)
        isLast = number == len(case.layers)
        if isLast and case.ending == "residual":
            inputs.append(numbers.normal(1, *shape_of(case, filters, sizes[-1])))
        if isLast and case.ending in ("residual", "shortcut"):
            added = numbers.widen(inputs[-1 if case.ending == "residual" else 0])[0]
            added = np.moveaxis(added, 0, -1) if isFirst else added
            image, terms = image + added, terms + np.abs(added)
        if not isLast or case.ending:
            image = np.maximum(image, 0)
        made = np.moveaxis(image, -1, 0) if isFirst else image
        expected.append(made[None])
        sums.append((np.moveaxis(terms, -1, 0) if isFirst else terms)[None])
        image = numbers.widen(numbers.narrow(image))
        channels = filters
    return inputs, expected, sums


def run_convolution(case, target):
    return check_convolution(case, kernels.make(case, target, burst=1))


def check_convolution(case, made):
    """What is wrong with the kernels: of all layers, or one for each."""
    numbers = kernels.Numbers(case.type)
    np, emulator = numbers.np, numbers.ptx
    inputs, layers, sums = convolution_data(case, numbers)
    problems, results = [], []
    for late, reverse in emulator.ORDERS:
        if problems:
            break
        arrays = {("argument", number): array for number, array in enumerate(inputs)}
        origins, depth, rounded = {}, 0, 0
        for index, (text, manifest, plan) in enumerate(made):
            written = manifest["arguments"][-1]
            result = numbers.narrow(np.full(written["shape"], np.nan))
            keys = [kernels.key_of(argument) for argument in manifest["arguments"]]
            blocks = np.arange(manifest["grid"][0])
            launch = emulator.Launch(
                emulator.Kernel(text),
                blocks if reverse else numbers.random.permutation(blocks),
                manifest["block"][0],
                manifest["shared"],
                [*(arrays[key] for key in keys[:-1]), result],
                late=late,
                reverse=reverse,
            )
            arrays[keys[-1]] = result
            isLast = index + 1 == len(made)
            if plan:
                depth += sum("operator" in line for line in plan["tree"])
                rounded += 1
            else:
                # A tensor in another order, which tells where it is from.
                origins[keys[-1]] = origins.get(keys[0], keys[0])
            if not plan and not isLast:
                problems += ["banks are in conflict"] * (launch.conflicts > 0)
                continue
            expected, terms = layers[depth - 1], sums[depth - 1]
            if plan and case.layout == "nchw":
                expected, terms = (
                    np.moveaxis(array, 1, -1) for array in (expected, terms)
                )
            allowed = kernels.TOLERANCE[case.type] * rounded
            error, off = kernels.find_errors(numbers, result, expected, terms, allowed)
            problems += off
            print(
                *case, f"kernel {index + 1} of {len(made)} error {error:.1e}", end=" "
            )
            if plan:
                places = [origins.get(key, key) for key in keys]
                problems += check_bytes(
                    case, launch, places, plan, isLast=depth == len(layers)
                )
            print("conflicts", launch.conflicts)
            if launch.conflicts:
                problems.append("banks are in conflict")
            if launch.cut:
                problems.append(f"{launch.cut} factors are not rounded")
        results.append(result.tobytes())
    if len(set(results)) > 1:
        problems.append("bits depend on the order of blocks")
    return problems


def check_bytes(case, launch, places, plan, isLast):
    """That every tensor moves what the planner predicts; `places` says where arguments
    are from. What is added, each thread reads for itself: whole rows of
    instructions."""
    level = plan["levels"][-1]
    read = [tensor["read_bytes"] for tensor in level["tensors"] if tensor["read_bytes"]]
    problems = []

    # A kernel reads its image, the filters in turn, and what is added.
    def isShortcut(place):
        return case.ending == "shortcut" and not launch.copied[place]

    order = sorted(
        range(len(places) - 1),
        key=lambda place: (
            isShortcut(place),
            places[place][0] != "buffer",
            places[place],
        ),
    )
    for number, place in enumerate(order):
        moved = launch.copied[place] + launch.loaded[place]
        expected = read[number]
        isAdded = isShortcut(place) or (
            isLast
            and case.ending == "residual"
            and places[place] == ("argument", len(case.layers) + 1)
        )
        print("added" if isAdded else "copied", moved, end=" ")
        # Of an image that something else reads as well, the planner counts the
        # padding, too.
        isPadded = number == 0 and case.ending == "shortcut"
        if not (
            expected <= moved
            if isAdded
            else moved < expected if isPadded else moved == expected
        ):
            problems.append(f"{expected} bytes are to be read of argument {place}")
    stored = sum(launch.stored)
    print("stored", stored, "predicted", level["bytes"], end=" ")
    if stored != level["written_bytes"]:
        problems.append(f"{level['written_bytes']} bytes are to be stored")
    if level["bytes"] != sum(read) + level["written_bytes"]:
        problems.append("tensors do not add up to what is predicted")
    return problems
