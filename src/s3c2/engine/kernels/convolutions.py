"""The three kernels of `convolution`: forwards, gradient of the input, gradient of the filters.

All are products of tiles of pixels with filters, (TILE, K) · (K, N). PLAIN convolutions take their
filters as they are. POOLed and UPsampled ones have four outputs to a window of 2 × 2 pixels, whose
filters stand side by side: N is then (4, filters). Images have their channels last.
"""

from __future__ import annotations

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

PLAIN, POOL, UP = 0, 1, 2

if triton is not None:
    from s3c2.engine.kernels.steps import dropped_units

    # mypy: disable-error-code="no-untyped-def, untyped-decorator, misc"

    @triton.jit
    def _place(m, height, width):
        """Image, row and column of pixel m."""
        return m // (height * width), m // width % height, m % width

    @triton.jit
    def _patch(
        x, image, oy, ox, inside, k0, height, width,
        CIN: tl.constexpr, T: tl.constexpr, PAD: tl.constexpr, BK: tl.constexpr,
    ):  # fmt: skip
        """What the taps k0, k0 + 1, … see of x around the pixels (oy, ox): (TILE, BK).

        Taps are numbered (row, column, channel); those of neighbouring columns lie side by side.
        """
        if BK % CIN == 0 and (T * CIN) % BK == 0:
            k = tl.arange(0, BK)
            iy = oy + (k0 // CIN // T - PAD)
            ix = ox + (k0 // CIN % T - PAD)
            column = ix[:, None] + (k // CIN)[None, :]
            seen = (inside & (iy >= 0) & (iy < height))[:, None] & (column >= 0) & (column < width)
            at = (((image * height + iy) * width + ix) * CIN)[:, None] + k[None, :]
            out = tl.load(x + at, mask=seen, other=0.0)
        else:
            k = k0 + tl.arange(0, BK)
            tap = k // CIN
            iy = oy[:, None] + (tap // T - PAD)[None, :]
            ix = ox[:, None] + (tap % T - PAD)[None, :]
            seen = inside[:, None] & (iy >= 0) & (iy < height) & (ix >= 0) & (ix < width)
            seen = seen & (k < T * T * CIN)[None, :]
            at = ((image[:, None] * height + iy) * width + ix) * CIN + (k % CIN)[None, :]
            out = tl.load(x + at, mask=seen, other=0.0)
        return out

    @triton.jit
    def _outputs(image, by, bx, base_height, base_width, n, F: tl.constexpr, KIND: tl.constexpr):
        """Where the outputs n of windows (by, bx) lie in y: (TILE, len(n))."""
        if KIND == 2:
            oy = 2 * by[:, None] + (n // F // 2)[None, :]
            ox = 2 * bx[:, None] + (n // F % 2)[None, :]
            at = ((image[:, None] * 2 * base_height + oy) * 2 * base_width + ox) * F
        else:
            at = (((image * base_height + by) * base_width + bx) * F)[:, None]
        return at + (n % F)[None, :]

    @triton.jit
    def _gradients(
        gy, code, image, by, bx, inside, base_height, base_width, n,
        F: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr,
    ):  # fmt: skip
        """Gradients of the outputs n of windows (by, bx), and which member is met: (TILE, len(n)).

        Of a pooled window there is one for each filter; of others the member counts as 0.
        """
        N: tl.constexpr = F * 4 if KIND == 2 else F
        at = _outputs(image, by, bx, base_height, base_width, n, F, KIND)
        met = inside[:, None] & (n < N)[None, :]
        g = tl.load(gy + at, mask=met, other=0.0)
        if RELU or KIND == 1:
            where = tl.load(code + at, mask=met, other=4)
        else:
            where = tl.zeros(g.shape, tl.int8)
        return g, where

    @triton.jit
    def convolve_kernel(
        y, code, x, w, bias, keys, step, images, height, width, base_height, base_width,
        dropped, scale,
        CIN: tl.constexpr, F: tl.constexpr, T: tl.constexpr, PAD: tl.constexpr,
        KIND: tl.constexpr, RELU: tl.constexpr, DROP: tl.constexpr, PRECISION: tl.constexpr,
        TILE: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ):  # fmt: skip
        K: tl.constexpr = T * T * CIN
        N: tl.constexpr = F if KIND == 0 else 4 * F
        STRIDE: tl.constexpr = 2 if KIND == 1 else 1
        r = tl.program_id(1)
        m = tl.program_id(0) * TILE + tl.arange(0, TILE)
        count = images * base_height * base_width
        inside = m < count
        image, by, bx = _place(m, base_height, base_width)
        n = tl.arange(0, BN)
        x += r.to(tl.int64) * images * height * width * CIN
        w += r.to(tl.int64) * K * N
        acc = tl.zeros((TILE, BN), tl.float32)
        for k0 in range(0, K, BK):
            a = _patch(
                x, image, STRIDE * by, STRIDE * bx, inside, k0, height, width, CIN, T, PAD, BK
            )
            k = k0 + tl.arange(0, BK)
            known = (k < K)[:, None] & (n < N)[None, :]
            filters = tl.load(w + k[:, None] * N + n[None, :], mask=known, other=0.0)
            acc = tl.dot(a, filters, acc, input_precision=PRECISION)
        if KIND == 1:
            value, where = tl.max(tl.reshape(acc, (TILE, 4, BN // 4)), 1, return_indices=True)
            n = tl.arange(0, BN // 4)
            stored = inside[:, None] & (n < F)[None, :]
        else:
            value = acc
            where = tl.zeros((TILE, BN), tl.int32)
            stored = inside[:, None] & (n < N)[None, :]
        at = _outputs(image, by, bx, base_height, base_width, n, F, KIND)
        value += tl.load(bias + r * F + n % F)[None, :]
        if RELU:
            gone = value <= 0  # false for NaN, which is to be seen in the loss
            if DROP:
                gone = gone | dropped_units(tl.load(keys + r), tl.load(step), at, dropped)
            value = tl.where(gone, 0.0, value * scale)
            where = tl.where(gone, 4, where)
        OUTPUTS: tl.constexpr = 4 if KIND == 2 else 1
        first = r.to(tl.int64) * count * OUTPUTS * F
        tl.store(y + first + at, value.to(y.dtype.element_ty), mask=stored)
        if RELU or KIND == 1:
            tl.store(code + first + at, where.to(tl.int8), mask=stored)

    @triton.jit
    def input_gradient_kernel(
        dx, gy, code, w, images, height, width, base_height, base_width, scale,
        CIN: tl.constexpr, F: tl.constexpr, T: tl.constexpr, PAD: tl.constexpr,
        KIND: tl.constexpr, RELU: tl.constexpr, PRECISION: tl.constexpr,
        TILE: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr,
    ):  # fmt: skip
        """Tiles of pixels of x, or of windows of 2 × 2 of them under a pooling."""
        N: tl.constexpr = F if KIND == 0 else 4 * F
        C: tl.constexpr = 4 * CIN if KIND == 1 else CIN
        r = tl.program_id(1)
        m = tl.program_id(0) * TILE + tl.arange(0, TILE)
        if KIND == 1:
            down = (height + 1) // 2
            across = (width + 1) // 2
        else:
            down = height
            across = width
        inside = m < images * down * across
        image, qy, qx = _place(m, down, across)
        c = tl.arange(0, BC)
        OUTPUTS: tl.constexpr = 4 if KIND == 2 else 1
        first = r.to(tl.int64) * images * base_height * base_width * OUTPUTS * F
        gy += first
        code += first
        w += r.to(tl.int64) * T * T * N * C
        acc = tl.zeros((TILE, BC), tl.float32)
        # A block of outputs at a time; under a pooling all filters, and the members one by one.
        BLOCKS: tl.constexpr = 1 if KIND == 1 else (N + BN - 1) // BN
        MEMBERS: tl.constexpr = 4 if KIND == 1 else 1
        for step in range(0, T * T * BLOCKS):
            o = step // BLOCKS
            n = step % BLOCKS * BN + tl.arange(0, BN)
            by = qy + (o // T - PAD)
            bx = qx + (o % T - PAD)
            met = inside & (by >= 0) & (by < base_height) & (bx >= 0) & (bx < base_width)
            g, where = _gradients(
                gy, code, image, by, bx, met, base_height, base_width, n, F, KIND, RELU
            )
            for d in tl.static_range(MEMBERS):
                row = o * N + d * F + n
                known = (d * F + n < N)[:, None] & (c < C)[None, :]
                filters = tl.load(w + row[:, None] * C + c[None, :], mask=known, other=0.0)
                here = tl.where(where == d, g, 0.0).to(filters.dtype)
                acc = tl.dot(here, filters, acc, input_precision=PRECISION)
        if KIND == 1:
            iy = 2 * qy[:, None] + (c // CIN // 2)[None, :]
            ix = 2 * qx[:, None] + (c // CIN % 2)[None, :]
            at = ((image[:, None] * height + iy) * width + ix) * CIN + (c % CIN)[None, :]
            stored = inside[:, None] & (c < C)[None, :] & (iy < height) & (ix < width)
        else:
            at = m[:, None] * CIN + c[None, :]
            stored = inside[:, None] & (c < C)[None, :]
        dx += r.to(tl.int64) * images * height * width * CIN
        tl.store(dx + at, (acc * scale).to(dx.dtype.element_ty), mask=stored)

    @triton.jit
    def filter_gradient_kernel(
        dw, db, x, gy, code, images, height, width, base_height, base_width, share, scale,
        CIN: tl.constexpr, F: tl.constexpr, T: tl.constexpr, PAD: tl.constexpr,
        KIND: tl.constexpr, RELU: tl.constexpr, PRECISION: tl.constexpr,
        TILE: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ):  # fmt: skip
        """A block of taps over one share of the windows; the shares are summed afterwards."""
        K: tl.constexpr = T * T * CIN
        N: tl.constexpr = F if KIND == 0 else 4 * F
        STRIDE: tl.constexpr = 2 if KIND == 1 else 1
        block = tl.program_id(0)
        s = tl.program_id(1)
        r = tl.program_id(2)
        count = images * base_height * base_width
        OUTPUTS: tl.constexpr = 4 if KIND == 2 else 1
        x += r.to(tl.int64) * images * height * width * CIN
        first = r.to(tl.int64) * count * OUTPUTS * F
        gy += first
        code += first
        n = tl.arange(0, BN)
        acc = tl.zeros((BK, BN), tl.float32)
        if KIND == 1:
            acc_1 = tl.zeros((BK, BN), tl.float32)
            acc_2 = tl.zeros((BK, BN), tl.float32)
            acc_3 = tl.zeros((BK, BN), tl.float32)
        total = tl.zeros((BN,), tl.float32)
        for start in range(s * share, tl.minimum((s + 1) * share, count), TILE):
            m = start + tl.arange(0, TILE)
            inside = m < count
            image, by, bx = _place(m, base_height, base_width)
            g, where = _gradients(
                gy, code, image, by, bx, inside, base_height, base_width, n, F, KIND, RELU
            )
            a = _patch(
                x, image, STRIDE * by, STRIDE * bx, inside, block * BK, height, width, CIN, T, PAD,
                BK,
            )  # fmt: skip
            a = tl.trans(a)
            here = tl.where(where == 0, g, 0.0).to(a.dtype)
            acc = tl.dot(a, here, acc, input_precision=PRECISION)
            if KIND == 1:
                here = tl.where(where == 1, g, 0.0).to(a.dtype)
                acc_1 = tl.dot(a, here, acc_1, input_precision=PRECISION)
                here = tl.where(where == 2, g, 0.0).to(a.dtype)
                acc_2 = tl.dot(a, here, acc_2, input_precision=PRECISION)
                here = tl.where(where == 3, g, 0.0).to(a.dtype)
                acc_3 = tl.dot(a, here, acc_3, input_precision=PRECISION)
            if block == 0:
                total += tl.sum(tl.where(where < 4, g, 0.0).to(tl.float32), 0)
        k = block * BK + tl.arange(0, BK)
        row = r.to(tl.int64) * tl.num_programs(1) + s
        OUT: tl.constexpr = F if KIND != 2 else N
        stored = (k < K)[:, None] & (n < OUT)[None, :]
        at = dw + row * K * N + k[:, None] * N + n[None, :]
        tl.store(at, acc * scale, mask=stored)
        if KIND == 1:
            tl.store(at + F, acc_1 * scale, mask=stored)
            tl.store(at + 2 * F, acc_2 * scale, mask=stored)
            tl.store(at + 3 * F, acc_3 * scale, mask=stored)
        if block == 0:
            tl.store(db + row * OUT + n, total * scale, mask=n < OUT)
