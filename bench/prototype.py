# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Attention cubins of a kernel prototype as peers. Its folder holds what its
pack.py wrote (meta_fa.json, meta_bwd.json, *.cubin) and its bench code (bench,
attn, prepost), which gives tensor maps, launches and the small kernels."""

import ctypes
import json
import math
import pathlib
import sys

import torch

import timing

LOG2_E = math.log2(math.e)


class Prototype:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        sys.path.insert(0, str(self.folder))
        import attn
        import prepost

        self.attn, self.prepost = attn, prepost
        self.forward = self._load("meta_fa.json", b"fa")
        self.backward = self._load("meta_bwd.json", b"bwd")

    def _load(self, name, symbol):
        path = self.folder / name
        metas = json.loads(path.read_text()) if path.exists() else []
        return [(m, self.attn.load(str(self.folder), m, symbol)) for m in metas]

    def timers(self, direction, memory):
        """{name: timer} of the kernels that fit the head size."""
        q, k, v, do = (
            memory[name][0].transpose(0, 1).contiguous()
            for name in ("q", "k", "v", "grad.out.q")
        )
        made = {}
        for meta, function in getattr(self, direction):
            if meta["d"] != q.shape[-1]:
                continue
            plan = self._forward if direction == "forward" else self._backward
            run = plan(meta, function, q, k, v, do)
            made[f"prototype {meta['name']}"] = timing.by_events(run)
        return made

    def _forward(self, m, function, q, k, v, do):
        heads, tokens, size = q.shape
        o, lse = torch.empty_like(q), torch.empty(heads, tokens, device="cuda")
        rows = m["bn"] // (2 if m["cl"] > 1 and size == 64 else 1)
        map3 = self.attn.tmap3
        maps = [map3(q, m["bm"]), map3(k, rows), map3(v, rows), map3(o, 16)]
        scalars = [
            ctypes.c_void_p(lse.data_ptr()),
            ctypes.c_int(tokens),
            ctypes.c_float(size**-0.5 * LOG2_E),
        ]
        grid = (-(-tokens // (m["bm"] * m["cl"])) * m["cl"], heads)
        keep = (q, k, v, o, lse)
        return self.attn.launcher(function, grid, m, m["nt"], maps, scalars, keep)

    def _backward(self, m, function, q, k, v, do):
        """The whole pass: delta, zeroing, the kernel, dQ to bf16."""
        heads, tokens, size = q.shape
        o = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])
        o = o[0].contiguous()
        lse2 = torch.zeros(heads, tokens, device="cuda")
        for head in range(heads):
            for begin in range(0, tokens, 4096):
                part = slice(begin, begin + 4096)
                scores = (q[head, part] @ k[head].t()).float() * size**-0.5
                lse2[head, part] = torch.logsumexp(scores, -1) * LOG2_E
        bm, cluster = m["bm"], m["cl"]
        blocks = -(-tokens // bm)
        keys = -(-tokens // (128 * cluster)) * cluster
        assert m["det"] != 2 or keys <= self.attn.NSM
        rows = bm // (2 if cluster > 1 and size == 64 else 1)
        padded = blocks * bm
        lse, delta = (torch.zeros(heads, padded, device="cuda") for _ in range(2))
        sums = torch.zeros(heads * padded * size, device="cuda")
        turns = torch.zeros(2 * heads * blocks, device="cuda", dtype=torch.int32)
        dq, dk, dv = (torch.empty_like(q) for _ in range(3))
        maps = [
            self.attn.tmap3(t, r)
            for t, r in ((q, rows), (k, 128), (v, 128), (do, rows), (dk, 16), (dv, 16))
        ]
        scalars = [ctypes.c_void_p(t.data_ptr()) for t in (lse, delta, sums, turns)]
        scalars += [
            ctypes.c_int(tokens),
            ctypes.c_float(size**-0.5 * LOG2_E),
            ctypes.c_float(size**-0.5),
        ]
        keep = (q, k, v, do, dk, dv, lse, delta, sums, turns)
        launch = self.attn.launcher(function, (keys, heads), m, 384, maps, scalars, keep)

        def whole():
            self.prepost.pre(o, do, lse2, lse, delta, padded)
            sums.zero_()
            if m["det"]:
                turns.zero_()
            launch()
            self.prepost.post(sums, dq, padded, bm)

        return whole
