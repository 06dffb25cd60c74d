//===- RowWiseTest.cpp - norms, sums, element-wise ops and views ----------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ckpt::test;

namespace {

std::string num(int64_t value) { return std::to_string(value); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x, bool tanh) {
  if (tanh)
    return 0.5 * x *
           (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}
/// A central difference, exact to about 1e-9.
double slope(double (*f)(double, bool), double x, bool flag) {
  const double h = 1e-5;
  return (f(x + h, flag) - f(x - h, flag)) / (2 * h);
}
double silu(double x, bool) { return x * sigmoid(x); }

} // namespace

// From -20 to 20 and beyond what exp can hold; absolute near 0, where a result
// far smaller than its argument has few bits left.
TEST(RowWise, activations) {
  std::string type = "!ckpt.tensor<n x f32>";
  std::string body;
  std::vector<std::string> calls = {
      "ckpt.silu %x : " + type,
      "ckpt.gelu %x {approximate = tanh} : " + type,
      "ckpt.gelu %x {approximate = erf} : " + type,
      "ckpt.silu_dx %dy, %x : " + type + ", " + type,
      "ckpt.gelu_dx %dy, %x {approximate = tanh} : " + type + ", " + type,
      "ckpt.gelu_dx %dy, %x {approximate = erf} : " + type + ", " + type};
  for (size_t i = 0; i < calls.size(); ++i)
    body += "%r" + num(i) + " = " + calls[i] + "\n";
  body += "ckpt.yield %r0, %r1, %r2, %r3, %r4, %r5 : " + type;
  for (int i = 1; i < 6; ++i)
    body += ", " + type;
  Kernels kernels(kernelText("k", "row_wise",
                             "%x : " + type + ", %dy : " + type, body + "\n"),
                  {"n"});
  const int64_t n = 4003;
  Tensor x({n}, false), dy({n}, false);
  for (int64_t i = 0; i < n; ++i) {
    x.set(i, (i - 2000) * 0.01);
    dy.set(i, 1);
  }
  x.set(0, -1e4);
  x.set(1, 1e4);
  x.set(2, -1e30);
  x.set(3, 1e30);
  std::vector<Tensor> results = kernels.run("k", {&x, &dy}, {n});
  for (int64_t i = 0; i < n; ++i) {
    double v = x.get(i);
    double expected[] = {silu(v, false),
                         gelu(v, true),
                         gelu(v, false),
                         i < 4 ? double(v > 0) : slope(silu, v, false),
                         i < 4 ? double(v > 0) : slope(gelu, v, true),
                         i < 4 ? double(v > 0) : slope(gelu, v, false)};
    for (int k = 0; k < 6; ++k)
      ASSERT_LE(std::abs(results[k].get(i) - expected[k]),
                4e-7 * std::max(1.0, std::abs(expected[k])))
          << calls[k] << " at " << v << ": " << results[k].get(i);
  }
}

// Values between and at ties, infinities and a NaN; the references are the
// bits that IEEE rounding gives.
TEST(RowWise, bf16Rounding) {
  std::string wide = "!ckpt.tensor<17 x f32>", half = "!ckpt.tensor<17 x bf16>";
  Kernels kernels(
      kernelText("k", "row_wise", "%x : " + wide,
                 "%h = ckpt.cast %x {to = bf16} : " + wide +
                     "\n%w = ckpt.cast %h {to = "
                     "f32} : " +
                     half + "\n%y = ckpt.scale %w {factor = 1.0} : " + wide +
                     "\nckpt.yield %h, %y : " + half + ", " + wide + "\n"));
  const uint32_t bits[17] = {
      0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0xbf808000,
      0x7f7fffff, 0x7f800000, 0xff800000, 0x00000001, 0x00008000, 0x7fc00000,
      0x7f800001, 0x80000000, 0x3f80ffff, 0x00018000, 0x3f818001};
  const uint16_t expected[17] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x3f80, 0xbf80,
                                 0x7f80, 0x7f80, 0xff80, 0x0000, 0x0000, 0x7fc0,
                                 0x7fc0, 0x8000, 0x3f81, 0x0002, 0x3f82};
  Tensor x({17}, false);
  memcpy(x.bytes.data(), bits, sizeof bits);
  std::vector<Tensor> results = kernels.run("k", {&x});
  for (int i = 0; i < 17; ++i) {
    uint16_t stored;
    uint32_t inner;
    memcpy(&stored, &results[0].bytes[2 * i], 2);
    memcpy(&inner, &results[1].bytes[4 * i], 4);
    EXPECT_EQ(stored, expected[i]) << std::hex << bits[i];
    // The same rounding where the value does not leave the kernel.
    EXPECT_EQ(inner, uint32_t(expected[i]) << 16) << std::hex << bits[i];
  }
}

// Norms of rows of 1, 7, 33 and 96 elements with everything around them: a
// residual before, a modulation after, statistics.
TEST(RowWise, norms) {
  for (bool bf16 : {false, true})
    for (bool layer : {true, false})
      for (int64_t w : {1, 7, 33, 96}) {
        std::string what = std::string(layer ? "layer " : "rms ") + num(w) +
                           " " + nameOf(bf16);
        SCOPED_TRACE(what);
        std::string norm = layer ? "ckpt.layer_norm" : "ckpt.rms_norm";
        std::string text =
            kernelText("forward", "row_wise",
                       "%x : $X, %r : $X, %g : $W, %b : $W, %m : $M",
                       "%s = ckpt.add %x, %r : $X, $X\n"
                       "%n, %st = " +
                           norm + " %s, %g" + (layer ? ", %b" : "") +
                           " {eps = 1.0e-5, with_stats} : $X, $W" +
                           (layer ? ", $W" : "") +
                           "\n%y = ckpt.mul %n, %m : $X, $M\n"
                           "ckpt.yield %y, %st, %s : $X, $S, $X\n") +
            kernelText("backward", "row_wise",
                       "%dy : $X, %x : $X, %st : $S, %g : $W, %r : $X",
                       "%d = " + norm +
                           "_dx %dy, %x, %st, %g : $X, $X, $S, $W\n"
                           "%y = ckpt.add %d, %r : $X, $X\n"
                           "ckpt.yield %y : $X\n") +
            kernelText("xhat", "row_wise", "%x : $X, %st : $S",
                       "%h = ckpt.normalize %x, %st : $X, $S\n"
                       "ckpt.yield %h : $F\n");
        text =
            fill(text, {{"X", "!ckpt.tensor<batch x 5 x " + num(w) + " x $T>"},
                        {"F", "!ckpt.tensor<batch x 5 x " + num(w) + " x f32>"},
                        {"M", "!ckpt.tensor<batch x 1 x " + num(w) + " x $T>"},
                        {"S", std::string("!ckpt.tensor<batch x 5 x ") +
                                  (layer ? "2" : "1") + " x f32>"},
                        {"W", "!ckpt.tensor<" + num(w) + " x $T>"},
                        {"T", nameOf(bf16)}});
        Kernels kernels(text, {"batch"});
        const int64_t batch = 3, rows = batch * 5;
        Tensor x = Tensor::random({batch, 5, w}, bf16, 1);
        Tensor r = Tensor::random({batch, 5, w}, bf16, 2);
        Tensor g = Tensor::random({w}, bf16, 3),
               b = Tensor::random({w}, bf16, 4);
        Tensor m = Tensor::random({batch, 1, w}, bf16, 5);
        Tensor dy = Tensor::random({batch, 5, w}, bf16, 6);
        std::vector<Tensor> out =
            kernels.run("forward", {&x, &r, &g, &b, &m}, {batch});
        std::vector<double> mean(rows), inverse(rows);
        for (int64_t row = 0; row < rows; ++row) {
          double square = 0;
          for (int64_t i = 0; i < w && layer; ++i)
            mean[row] += (x.get(row * w + i) + r.get(row * w + i)) / w;
          for (int64_t i = 0; i < w; ++i) {
            double d = x.get(row * w + i) + r.get(row * w + i) - mean[row];
            square += d * d / w;
          }
          inverse[row] = 1 / std::sqrt(square + 1e-5);
        }
        expectNear(
            out[0],
            [&](int64_t at) {
              double v = (x.get(at) + r.get(at) - mean[at / w]) *
                         inverse[at / w] * g.get(at % w);
              if (layer)
                v += b.get(at % w);
              return v * m.get(at / (5 * w) * w + at % w);
            },
            toleranceOf(bf16), "y");
        expectNear(
            out[1],
            [&](int64_t at) {
              if (!layer)
                return inverse[at];
              return at % 2 ? inverse[at / 2] : mean[at / 2];
            },
            4e-6, "stats");
        expectNear(
            out[2], [&](int64_t at) { return x.get(at) + r.get(at); },
            toleranceOf(bf16), "sum");

        // The backward is that of x with statistics of its own.
        Tensor stats({batch, 5, layer ? 2 : 1}, false);
        for (int64_t row = 0; row < rows; ++row) {
          if (layer)
            stats.set(2 * row, mean[row]);
          stats.set(layer ? 2 * row + 1 : row, inverse[row]);
        }
        auto xhat = [&](int64_t at) {
          return (x.get(at) - (layer ? stats.get(at / w * 2) : 0)) *
                 stats.get(layer ? at / w * 2 + 1 : at / w);
        };
        expectNear(kernels.run("xhat", {&x, &stats}, {batch})[0], xhat, 4e-6,
                   "xhat");
        expectNear(
            kernels.run("backward", {&dy, &x, &stats, &g, &r}, {batch})[0],
            [&](int64_t at) {
              int64_t row = at / w;
              double sum = 0, projection = 0;
              for (int64_t i = 0; i < w; ++i) {
                double term = dy.get(row * w + i) * g.get(i);
                sum += term / w;
                projection += term * xhat(row * w + i) / w;
              }
              double term = dy.get(at) * g.get(at % w) - xhat(at) * projection;
              return (term - (layer ? sum : 0)) *
                         stats.get(layer ? row * 2 + 1 : row) +
                     r.get(at);
            },
            toleranceOf(bf16), "dx");
      }
}

// A norm per head followed by rope, as attention blocks have it; the rows are
// reshaped on the way in and out.
TEST(RowWise, normRope) {
  for (int64_t d : {2, 6, 16, 128}) {
    SCOPED_TRACE(d);
    for (bool inverse : {false, true}) {
      std::string text = fill(
          kernelText(
              "k", "row_wise",
              "%x : !ckpt.tensor<2 x tokens x $w x f32>, %g : "
              "!ckpt.tensor<$d x f32>, %cos : !ckpt.tensor<tokens x $e x f32>, "
              "%sin : !ckpt.tensor<tokens x $e x f32>",
              "%h = ckpt.reshape %x {shape = [\"2\", \"tokens\", \"3\", "
              "\"$d\"]} : !ckpt.tensor<2 x tokens x $w x f32>\n"
              "%n = ckpt.rms_norm %h, %g {eps = 1.0e-6} : $H, "
              "!ckpt.tensor<$d x f32>\n"
              "%y = ckpt.rope %n, %cos, %sin {$i} : $H, "
              "!ckpt.tensor<tokens x $e x f32>, "
              "!ckpt.tensor<tokens x $e x f32>\n"
              "ckpt.yield %y : $H\n"),
          {{"H", "!ckpt.tensor<2 x tokens x 3 x $d x f32>"},
           {"d", num(d)},
           {"e", num(d / 2)},
           {"w", num(3 * d)},
           {"i", inverse ? "inverse" : ""}});
      Kernels kernels(text, {"tokens"});
      const int64_t tokens = 5;
      Tensor x = Tensor::random({2, tokens, 3 * d}, false, 1);
      Tensor g = Tensor::random({d}, false, 2);
      Tensor cos = Tensor::random({tokens, d / 2}, false, 3);
      Tensor sin = Tensor::random({tokens, d / 2}, false, 4);
      auto normed = [&](int64_t at) {
        double square = 0;
        for (int64_t i = 0; i < d; ++i)
          square += x.get(at / d * d + i) * x.get(at / d * d + i) / d;
        return x.get(at) / std::sqrt(square + 1e-6) * g.get(at % d);
      };
      expectNear(
          kernels.run("k", {&x, &g, &cos, &sin}, {tokens})[0],
          [&](int64_t at) {
            int64_t token = at / (3 * d) % tokens;
            double c = cos.get(token * (d / 2) + at % d / 2);
            double s = sin.get(token * (d / 2) + at % d / 2);
            if (inverse)
              s = -s;
            return at % 2 ? normed(at - 1) * s + normed(at) * c
                          : normed(at) * c - normed(at + 1) * s;
          },
          4e-6, "rope");
    }
  }
}

// Sums down to every shape that broadcasts.
TEST(RowWise, sums) {
  const int64_t batch = 2, tokens = 37;
  struct Case {
    std::string dims;
    std::vector<int64_t> shape;
  };
  for (bool bf16 : {false, true})
    for (int64_t w : {1, 12, 40}) {
      std::vector<Case> cases = {{num(w), {w}},
                                 {"batch x 1 x " + num(w), {batch, 1, w}},
                                 {"1 x tokens x " + num(w), {1, tokens, w}},
                                 {"batch x 1 x 1", {batch, 1, 1}},
                                 {"batch x tokens x 1", {batch, tokens, 1}},
                                 {"1", {1}}};
      for (const Case &c : cases) {
        SCOPED_TRACE(c.dims + " of width " + num(w));
        std::string x = "!ckpt.tensor<batch x tokens x " + num(w) + " x $T>";
        std::string text =
            fill(kernelText("sum", "row_wise", "%x : " + x + ", %m : " + x,
                            "%p = ckpt.mul %x, %m : " + x + ", " + x +
                                "\n%y = ckpt.reduce_sum %p : " + x +
                                " -> !ckpt.tensor<$Y x $T>\n"
                                "ckpt.yield %y : !ckpt.tensor<$Y x $T>\n") +
                     kernelText(
                         "accumulate", "row_wise",
                         "%s : !ckpt.tensor<$Y x f32>, %x : " + x,
                         "%y = ckpt.accumulate %s, %x : !ckpt.tensor<$Y x "
                         "f32>, " +
                             x + "\nckpt.yield %y : !ckpt.tensor<$Y x f32>\n"),
                 {{"Y", c.dims}, {"T", nameOf(bf16)}});
        Kernels kernels(text, {"batch", "tokens"});
        std::vector<int64_t> sizes = {batch, tokens};
        Tensor a = Tensor::random({batch, tokens, w}, bf16, 1);
        Tensor m = Tensor::random({batch, tokens, w}, bf16, 2);
        Tensor before = Tensor::random(c.shape, false, 3);
        auto total = [&](int64_t at, bool product) {
          // Strides of the result, 0 where it repeats.
          std::vector<int64_t> shape = c.shape;
          shape.insert(shape.begin(), 3 - shape.size(), 1);
          double sum = 0;
          for (int64_t i = 0; i < a.size(); ++i) {
            int64_t b = i / (tokens * w), t = i / w % tokens, j = i % w;
            int64_t to =
                ((shape[0] > 1 ? b : 0) * shape[1] + (shape[1] > 1 ? t : 0)) *
                    shape[2] +
                (shape[2] > 1 ? j : 0);
            if (to == at)
              sum += a.get(i) * (product ? m.get(i) : 1);
          }
          return sum;
        };
        expectNear(
            kernels.run("sum", {&a, &m}, sizes)[0],
            [&](int64_t at) { return total(at, true); }, toleranceOf(bf16),
            "sum");
        expectNear(
            kernels.run("accumulate", {&before, &a}, sizes)[0],
            [&](int64_t at) { return before.get(at) + total(at, false); },
            toleranceOf(false), "accumulate");
      }
    }
}

// Slices, a transpose, concat and pad along the last and along other
// dimensions, at borders that are multiples of 8 and not.
TEST(RowWise, views) {
  for (int64_t part : {8, 5}) {
    SCOPED_TRACE(part);
    std::string p = num(part), w = num(3 * part);
    std::string whole = "!ckpt.tensor<2 x 6 x " + w + " x f32>";
    std::string piece = "!ckpt.tensor<2 x 6 x " + p + " x f32>";
    std::string slice =
        " = ckpt.slice %x {dim = 2, extent = \"" + p + "\", offset = \"";
    std::string text =
        kernelText("slice", "row_wise", "%x : " + whole,
                   "%y" + slice + p + "\"} : " + whole +
                       "\nckpt.yield %y : " + piece + "\n") +
        kernelText(
            "swap", "row_wise", "%x : " + whole,
            "%a" + slice + p + "\"} : " + whole + "\n%b" + slice + "0\"} : " +
                whole + "\n%c" + slice + num(2 * part) + "\"} : " + whole +
                "\n%y = ckpt.concat %a, %b, %c {dim = 2} : " + piece +
                "\n%z = ckpt.scale %y {factor = 2.0, offset = 1.0} : " + whole +
                "\nckpt.yield %y, %z : " + whole + ", " + whole + "\n") +
        kernelText("stack", "row_wise", "%x : " + whole,
                   "%y = ckpt.concat %x, %x {dim = 1} : " + whole +
                       "\n%z = ckpt.scale %y {factor = 2.0} : !ckpt.tensor<2 x "
                       "12 x " +
                       w +
                       " x f32>\n"
                       "ckpt.yield %z : !ckpt.tensor<2 x 12 x " +
                       w + " x f32>\n") +
        kernelText("pad", "row_wise", "%x : " + piece,
                   "%y = ckpt.pad %x {dim = 2, offset = \"" + p +
                       "\", extent = \"" + w + "\"} : " + piece +
                       "\nckpt.yield %y : " + whole + "\n") +
        kernelText("turn", "row_wise", "%x : " + whole,
                   "%y = ckpt.transpose %x {permutation = array<i64: 2, 0, 1>}"
                   " : " +
                       whole + "\nckpt.yield %y : !ckpt.tensor<" + w +
                       " x 2 x 6 x f32>\n") +
        // Elements run on across the rows of the inner shape.
        kernelText("heads", "row_wise", "%x : " + whole,
                   "%s = ckpt.scale %x {factor = 3.0} : " + whole +
                       "\n%r = ckpt.reshape %s {shape = [\"2\", \"2\", \"" + w +
                       "\", \"3\"]} : " + whole +
                       "\n%y = ckpt.scale %r {factor = 0.5} : !ckpt.tensor<2 x "
                       "2 x " +
                       w +
                       " x 3 x f32>\nckpt.yield %y : "
                       "!ckpt.tensor<2 x 2 x " +
                       w + " x 3 x f32>\n");
    Kernels kernels(text);
    const int64_t width = 3 * part;
    Tensor x = Tensor::random({2, 6, width}, false, 1);
    Tensor y = Tensor::random({2, 6, part}, false, 2);
    auto exact = [](const Tensor &actual,
                    const std::function<double(int64_t)> &reference,
                    const char *what) {
      for (int64_t i = 0; i < actual.size(); ++i)
        ASSERT_EQ(actual.get(i), float(reference(i))) << what << " " << i;
    };
    exact(
        kernels.run("slice", {&x})[0],
        [&](int64_t at) { return x.get(at / part * width + part + at % part); },
        "slice");
    auto swapped = [&](int64_t at) {
      int64_t j = at % width;
      j += j < part ? part : j < 2 * part ? -part : 0;
      return x.get(at / width * width + j);
    };
    std::vector<Tensor> swap = kernels.run("swap", {&x});
    exact(swap[0], swapped, "concat");
    exact(
        swap[1], [&](int64_t at) { return float(2 * swapped(at)) + 1.0f; },
        "scale");
    exact(
        kernels.run("stack", {&x})[0],
        [&](int64_t at) {
          int64_t row = at / width;
          return 2 * x.get((row / 12 * 6 + row % 6) * width + at % width);
        },
        "stack");
    exact(
        kernels.run("pad", {&y})[0],
        [&](int64_t at) {
          int64_t j = at % width - part;
          return j < 0 || j >= part ? 0 : y.get(at / width * part + j);
        },
        "pad");
    exact(
        kernels.run("turn", {&x})[0],
        [&](int64_t at) { return x.get(at % 12 * width + at / 12); },
        "transpose");
    exact(
        kernels.run("heads", {&x})[0],
        [&](int64_t at) { return 0.5f * float(x.get(at) * 3); }, "reshape");
  }
}

// Broadcasts over tokens, channels, samples and everything.
TEST(RowWise, broadcasts) {
  std::string x = "!ckpt.tensor<2 x tokens x 11 x f32>";
  struct Case {
    std::string dims;
    std::vector<int64_t> shape;
  };
  for (const Case &c : {Case{"11", {11}}, Case{"2 x 1 x 11", {2, 1, 11}},
                        Case{"2 x tokens x 1", {2, 3, 1}}, Case{"1", {1}},
                        Case{"tokens x 11", {3, 11}}}) {
    SCOPED_TRACE(c.dims);
    std::string y = "!ckpt.tensor<" + c.dims + " x f32>";
    Kernels kernels(kernelText("k", "row_wise", "%x : " + x + ", %y : " + y,
                               "%z = ckpt.sub %x, %y : " + x + ", " + y +
                                   "\nckpt.yield %z : " + x + "\n"),
                    {"tokens"});
    Tensor a = Tensor::random({2, 3, 11}, false, 1);
    Tensor b = Tensor::random(c.shape, false, 2);
    Tensor result = kernels.run("k", {&a, &b}, {3})[0];
    std::vector<int64_t> shape = c.shape;
    shape.insert(shape.begin(), 3 - shape.size(), 1);
    for (int64_t i = 0; i < a.size(); ++i) {
      int64_t at = ((shape[0] > 1 ? i / 33 : 0) * shape[1] +
                    (shape[1] > 1 ? i / 11 % 3 : 0)) *
                       shape[2] +
                   (shape[2] > 1 ? i % 11 : 0);
      ASSERT_EQ(result.get(i), float(a.get(i)) - float(b.get(at)));
    }
  }
}

// Not a test: bytes read and written, by what a block of the sweep does most.
TEST(RowWise, rate) {
  std::string x = "!ckpt.tensor<1 x tokens x 3072 x bf16>";
  std::string c = "!ckpt.tensor<1 x 1 x 3072 x bf16>";
  std::string stats = "!ckpt.tensor<1 x tokens x 2 x f32>";
  std::string sum = "!ckpt.tensor<1 x 1 x 3072 x f32>";
  struct Case {
    std::string name, body;
    double bytes;
  };
  std::vector<Case> cases = {
      {"add",
       "%y = ckpt.add %x, %z : " + x + ", " + x + "\nckpt.yield %y : " + x, 6},
      {"gelu",
       "%y = ckpt.gelu %x {approximate = tanh} : " + x +
           "\nckpt.yield %y : " + x,
       4},
      {"erf",
       "%y = ckpt.gelu %x {approximate = erf} : " + x +
           "\nckpt.yield %y : " + x,
       4},
      {"norm",
       "%n = ckpt.layer_norm %x {eps = 1.0e-6} : " + x +
           "\n%y = ckpt.mul %n, %c : " + x + ", " + c +
           "\nckpt.yield %y : " + x,
       4},
      {"norm_dx",
       "%d = ckpt.layer_norm_dx %z, %x, %st : " + x + ", " + x + ", " + stats +
           "\n%y = ckpt.add %d, %z : " + x + ", " + x +
           "\nckpt.yield %y : " + x,
       6},
      {"sum",
       "%m = ckpt.mul %x, %z : " + x + ", " + x +
           "\n%y = ckpt.reduce_sum %m : " + x + " -> " + sum +
           "\nckpt.yield %y : " + sum,
       4}};
  std::string text;
  for (const Case &one : cases)
    text += kernelText(one.name, "row_wise",
                       "%x : " + x + ", %z : " + x + ", %c : " + c +
                           ", %st : " + stats,
                       one.body + "\n");
  Kernels kernels(text, {"tokens"});
  const int64_t tokens = 1024;
  Tensor a = Tensor::random({1, tokens, 3072}, true, 1);
  Tensor b = Tensor::random({1, tokens, 3072}, true, 2);
  Tensor row = Tensor::random({1, 1, 3072}, true, 3);
  Tensor st = Tensor::random({1, tokens, 2}, false, 4);
  for (const Case &one : cases) {
    std::vector<Tensor> results = kernels.outputs(one.name, {tokens});
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      double begin = processorSeconds();
      kernels.run(one.name, {&a, &b, &row, &st}, {&results[0]}, {tokens});
      best = std::min(best, processorSeconds() - begin);
    }
    printf("%s: %.1f GB/s\n", one.name.c_str(),
           1e-9 * one.bytes * tokens * 3072 / best);
  }
  printf("%zu kernels compiled in %.2f s\n", cases.size(),
         kernels.compileSeconds);
}
