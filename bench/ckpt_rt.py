# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""The runtime's C API (ckpt_rt/ckpt_rt.h) from Python, by ctypes alone.

    program = Program("dit.ckpt")
    plan = Plan(program, backend="unsloth", sizes={"image": 4096})
    step = Step(plan, Device("cuda"))
    for tensor in plan.tensors:
        step.bind(tensor.name, memory[tensor.name].data_ptr(), tensor.bytes)
    step.run()

Failures are raised as `Error` with the library's message. Sizes are bytes and
times are seconds, as in the header, which says what each function does. Which
library is loaded: $CKPT_RT_LIBRARY, or libckpt_rt.so.1 beside this file or in
build/lib.
"""

import collections
import ctypes
import os
import pathlib

UNSET = -(2**63)
DTYPES = ("float32", "bfloat16", "float16")
KINDS = ("state", "input", "param", "output", "output-gradient", "gradient")
CLASSES = ("gemm", "attention-forward", "attention-backward", "row-wise")
COMMANDS = ("launch", "fill", "copy-out", "copy-in", "record", "wait")
STREAMS = ("compute", "copy-out", "copy-in")


class Error(RuntimeError):
    """What ckpt_rt_message says."""


class _Struct(ctypes.Structure):
    """A struct of the API: its first member is its size."""

    def __init__(self, **values):
        super().__init__(ctypes.sizeof(self), **values)

    def as_dict(self):
        return {name: getattr(self, name) for name, _ in self._fields_[1:]}


def _struct(name, /, **members):
    fields = [("size", ctypes.c_size_t), *members.items()]
    return type(name, (_Struct,), {"_fields_": fields})


_int, _i64, _text = ctypes.c_int, ctypes.c_int64, ctypes.c_char_p
_double, _size, _pointer = ctypes.c_double, ctypes.c_size_t, ctypes.c_void_p

_PlanOptions = _struct(
    "ckpt_rt_plan_options",
    backend=_text,
    interval=_i64,
    segment_stride=_i64,
    attention_once=_int,
    offload_attention=_int,
    pin_memory_max_buckets=_i64,
    blocks=_i64,
    profile=_text,
    size_names=ctypes.POINTER(_text),
    size_values=ctypes.POINTER(_i64),
    num_sizes=_size,
)
_Tensor = _struct(
    "ckpt_rt_tensor",
    name=_text,
    kind=_int,
    dtype=_int,
    shape=ctypes.POINTER(_i64),
    rank=_size,
    bytes=_i64,
)
_Costs = _struct(
    "ckpt_rt_costs",
    peak_bytes=_i64,
    external_bytes=_i64,
    host_bytes=_i64,
    pinned_bytes=_i64,
    copied_to_host=_i64,
    copied_to_device=_i64,
    replayed_ops=_i64,
    seconds=_double,
    forward_seconds=_double,
    exposed_seconds=_double,
)
_Command = _struct(
    "ckpt_rt_command",
    kind=_int,
    stream=_int,
    backward=_int,
    block=_i64,
    label=_text,
    kernel=_text,
    kernel_class=_int,
    flops=_i64,
    bytes=_i64,
    begin_seconds=_double,
    end_seconds=_double,
)
_StepOptions = _struct(
    "ckpt_rt_step_options",
    poison=_int,
    share_host_memory_with=_pointer,
    measure=_int,
    graph=_int,
)
_Statistics = _struct(
    "ckpt_rt_statistics",
    arena_bytes=_i64,
    arenas=_i64,
    touched_bytes=_i64,
    open_forwards=_i64,
    forwards=_i64,
    backwards=_i64,
    launches=_i64,
    replayed_ops=_i64,
    copied_to_host=_i64,
    copied_to_device=_i64,
    forward_seconds=_double,
    backward_seconds=_double,
    pool_pinned_bytes=_i64,
    pool_buckets=_i64,
    pool_hits=_i64,
    pool_misses=_i64,
    pool_pageable=_i64,
    pool_fallbacks=_i64,
    graph_runs=_i64,
    graph_recordings=_i64,
    issue_seconds=_double,
)

Tensor = collections.namedtuple("Tensor", "name kind dtype shape bytes")


class Command(
    collections.namedtuple(
        "Command",
        "index kind stream backward block label kernel kernel_class flops bytes begin end",
    )
):
    """One command of a schedule; `begin` and `end` are predicted seconds."""

    def __str__(self):
        return f"{self.label} {self.kernel}" if self.kernel else self.label


#===------------------------------------------------------------------------===#
# The library
#===------------------------------------------------------------------------===#


def _out(kind):
    return ctypes.POINTER(kind)


# Functions that return int fail; the others are getters.
_FALLIBLE = {
    "program_load_file": [_text, _out(_pointer)],
    "plan_options_init": [_pointer, _out(_PlanOptions)],
    "plan_create": [_pointer, _out(_PlanOptions), _out(_pointer)],
    "plan_tensor": [_pointer, _size, _out(_Tensor)],
    "plan_costs": [_pointer, _out(_Costs)],
    "plan_command": [_pointer, _size, _out(_Command)],
    "device_create": [_text, _out(_pointer)],
    "device_bytes_in_use": [_pointer, _out(_i64)],
    "step_create": [_pointer, _pointer, _out(_StepOptions), _out(_pointer)],
    "step_bind": [_pointer, _text, _pointer, _i64],
    "step_forward": [_pointer, _out(_pointer)],
    "step_backward": [_pointer, _pointer],
    "step_run": [_pointer],
    "step_statistics": [_pointer, _out(_Statistics)],
    "step_time_command": [_pointer, _size, _i64, _out(_double)],
    "step_command_times": [_pointer, _size, _out(_double), _out(_double)],
}
_GETTERS = {
    "api_version": (_int, []),
    "message": (_text, []),
    "program_target": (_text, [_pointer]),
    "program_num_sizes": (_size, [_pointer]),
    "program_size_name": (_text, [_pointer, _size]),
    "plan_num_tensors": (_size, [_pointer]),
    "plan_num_commands": (_size, [_pointer]),
}
_HANDLES = ("program", "plan", "device", "step", "forward")


def _find():
    here = pathlib.Path(__file__).resolve().parent
    for path in (
        os.environ.get("CKPT_RT_LIBRARY"),
        here / "libckpt_rt.so.1",
        here.parent / "build/lib/libckpt_rt.so.1",
    ):
        if path and pathlib.Path(path).exists():
            return str(path)
    return "libckpt_rt.so.1"


class _Library:
    """Its functions by name without `ckpt_rt_`; those that fail raise."""

    def __init__(self):
        library = ctypes.CDLL(_find())
        for name, (result, arguments) in _GETTERS.items():
            self._declare(library, name, result, arguments)
        for name in _HANDLES:
            self._declare(library, f"{name}_destroy", None, [_pointer])
        for name, arguments in _FALLIBLE.items():
            self._declare(library, name, _int, arguments).errcheck = self._check

    def _declare(self, library, name, result, arguments):
        function = getattr(library, f"ckpt_rt_{name}")
        function.restype, function.argtypes = result, arguments
        setattr(self, name, function)
        return function

    def _check(self, result, function, arguments):
        if result != 0:
            raise Error(self.message().decode())


_loaded = None


def _library():
    global _loaded
    if _loaded is None:
        _loaded = _Library()
    return _loaded


class _Handle:
    """Owns a handle of the API; `_kind` names its `_destroy`."""

    _kind = ""

    def __init__(self, create, *arguments):
        self.handle = _pointer()
        create(*arguments, ctypes.byref(self.handle))

    def __del__(self):
        if getattr(self, "handle", None):
            getattr(_library(), f"{self._kind}_destroy")(self.handle)


#===------------------------------------------------------------------------===#
# What a user touches
#===------------------------------------------------------------------------===#


class Program(_Handle):
    """An artifact of ckpt-compile."""

    _kind = "program"

    def __init__(self, path):
        super().__init__(_library().program_load_file, os.fsencode(path))

    @property
    def target(self):
        """`host` or `nvptx`."""
        return _library().program_target(self.handle).decode()

    @property
    def sizes(self):
        names = range(_library().program_num_sizes(self.handle))
        return [_library().program_size_name(self.handle, i).decode() for i in names]


class Plan(_Handle):
    """A program under controls and sizes. What is not given or None is what
    the program was compiled with: backend, interval, segment_stride,
    attention_once, offload_attention, pin_memory_max_buckets, blocks, profile."""

    _kind = "plan"

    def __init__(self, program, sizes, **controls):
        options = _PlanOptions()
        _library().plan_options_init(program.handle, options)
        names = [name.encode() for name in sizes]
        options.size_names = (_text * len(names))(*names)
        options.size_values = (_i64 * len(names))(*sizes.values())
        options.num_sizes = len(names)
        for name, value in controls.items():
            if not hasattr(options, name):
                raise TypeError(f"plan: no control is called {name}")
            if value is not None:
                text = isinstance(value, str)
                setattr(options, name, value.encode() if text else int(value))
        super().__init__(_library().plan_create, program.handle, options)
        self.tensors = [
            self._tensor(i) for i in range(_library().plan_num_tensors(self.handle))
        ]

    def _tensor(self, index):
        raw = _Tensor()
        _library().plan_tensor(self.handle, index, raw)
        shape = tuple(raw.shape[: raw.rank])
        name, dtype = raw.name.decode(), DTYPES[raw.dtype]
        return Tensor(name, KINDS[raw.kind], dtype, shape, raw.bytes)

    @property
    def costs(self):
        raw = _Costs()
        _library().plan_costs(self.handle, raw)
        return raw.as_dict()

    @property
    def commands(self):
        """The schedule: forward, then backward."""
        return [
            self._command(i) for i in range(_library().plan_num_commands(self.handle))
        ]

    def _command(self, index):
        raw = _Command()
        _library().plan_command(self.handle, index, raw)
        return Command(
            index=index,
            kind=COMMANDS[raw.kind],
            stream=STREAMS[raw.stream],
            backward=bool(raw.backward),
            block=raw.block,
            label=raw.label.decode(),
            kernel=raw.kernel.decode() if raw.kernel else None,
            kernel_class=CLASSES[raw.kernel_class] if raw.kernel else None,
            flops=raw.flops,
            bytes=raw.bytes,
            begin=raw.begin_seconds,
            end=raw.end_seconds,
        )


class Device(_Handle):
    """`host`, `cuda` or `cuda:N`."""

    _kind = "device"

    def __init__(self, name):
        super().__init__(_library().device_create, name.encode())

    @property
    def bytes_in_use(self):
        """Of the device's memory, by all processes; None where it is unknown."""
        size = _i64()
        _library().device_bytes_in_use(self.handle, size)
        return None if size.value == UNSET else size.value


class Forward(_Handle):
    """A forward whose backward is still to come."""

    _kind = "forward"

    def __init__(self, step):
        super().__init__(_library().step_forward, step.handle)


class Step(_Handle):
    """A plan on a device. The caller keeps what it binds alive."""

    _kind = "step"

    def __init__(self, plan, device, **options):
        self.plan = plan
        raw = _StepOptions(**options)
        create = _library().step_create
        super().__init__(create, plan.handle, device.handle, raw)

    def bind(self, name, pointer, size):
        _library().step_bind(self.handle, name.encode(), pointer, size)

    def forward(self):
        return Forward(self)

    def backward(self, forward):
        _library().step_backward(self.handle, forward.handle)

    def run(self):
        _library().step_run(self.handle)

    @property
    def statistics(self):
        raw = _Statistics()
        _library().step_statistics(self.handle, raw)
        return raw.as_dict()

    def time_command(self, index, repeats):
        """Seconds of one of `repeats` runs, back to back, of one command."""
        seconds = _double()
        _library().step_time_command(self.handle, index, repeats, seconds)
        return seconds.value

    def command_times(self, index):
        """(begin, end) of a command in the last run of a step that measures."""
        begin, end = _double(), _double()
        _library().step_command_times(self.handle, index, begin, end)
        return begin.value, end.value
