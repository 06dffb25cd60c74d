//===- BlockGemm.cpp - products of packed blocks --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "BlockGemm.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void host::packRows(HostBuilder &hb, const RowSource &source, Value rows,
                    Value columns, Value out, int64_t stride) {
  hb.loop(hb.i64(0), rows, 1, [&](Value row) {
    auto elements = source(row);
    Value to = hb.advance(out, hb.mul(row, hb.i64(stride)));
    hb.columns(columns, [&](Value column, unsigned width) {
      hb.store(elements(column, width), to, column);
    });
  });
}

/// Where column `n` of B begins.
static Value panelColumn(HostBuilder &hb, Value out, Value n,
                         int64_t panelStride) {
  Value panel = hb.div(n, hb.i64(panelColumns));
  return hb.advance(out, hb.add(hb.mul(panel, hb.i64(panelStride)),
                                hb.rem(n, hb.i64(panelColumns))));
}

void host::packPanels(HostBuilder &hb, const RowSource &source, Value rows,
                      Value columns, Value out, int64_t panelStride) {
  hb.loop(hb.i64(0), rows, 1, [&](Value row) {
    auto elements = source(row);
    Value k = hb.mul(row, hb.i64(panelColumns));
    hb.columns(columns, [&](Value column, unsigned width) {
      hb.store(elements(column, width),
               panelColumn(hb, out, column, panelStride), k);
    });
  });
}

/// Columns of an 8 x 8 matrix from its rows: pairs, then fours, then halves.
static SmallVector<Value> transpose(HostBuilder &hb, ArrayRef<Value> rows) {
  const int64_t low2[] = {0, 8, 1, 9, 4, 12, 5, 13};
  const int64_t high2[] = {2, 10, 3, 11, 6, 14, 7, 15};
  const int64_t low4[] = {0, 1, 8, 9, 4, 5, 12, 13};
  const int64_t high4[] = {2, 3, 10, 11, 6, 7, 14, 15};
  const int64_t low8[] = {0, 1, 2, 3, 8, 9, 10, 11};
  const int64_t high8[] = {4, 5, 6, 7, 12, 13, 14, 15};
  SmallVector<Value> twos(8), fours(8), columns(8);
  for (unsigned i = 0; i < 8; i += 2) {
    twos[i] = hb.shuffle(rows[i], rows[i + 1], low2);
    twos[i + 1] = hb.shuffle(rows[i], rows[i + 1], high2);
  }
  for (unsigned i = 0; i < 8; i += 4)
    for (unsigned j = 0; j < 2; ++j) {
      fours[i + 2 * j] = hb.shuffle(twos[i + j], twos[i + j + 2], low4);
      fours[i + 2 * j + 1] = hb.shuffle(twos[i + j], twos[i + j + 2], high4);
    }
  for (unsigned i = 0; i < 4; ++i) {
    columns[i] = hb.shuffle(fours[i], fours[i + 4], low8);
    columns[i + 4] = hb.shuffle(fours[i], fours[i + 4], high8);
  }
  return columns;
}

void host::packPanelsTransposed(HostBuilder &hb, const RowSource &source,
                                Value rows, Value columns, Value out,
                                int64_t panelStride) {
  auto at = [&](Value k) { return hb.mul(k, hb.i64(panelColumns)); };
  hb.columns(rows, [&](Value row, unsigned height) {
    Value to = panelColumn(hb, out, row, panelStride);
    if (height == 1) {
      auto elements = source(row);
      hb.loop(hb.i64(0), columns, 1, [&](Value column) {
        hb.store(elements(column, 1), to, at(column));
      });
      return;
    }
    SmallVector<std::function<Value(Value, unsigned)>> elements;
    for (unsigned i = 0; i < lanes; ++i)
      elements.push_back(source(hb.add(row, hb.i64(i))));
    hb.columns(columns, [&](Value column, unsigned width) {
      SmallVector<Value> block;
      for (auto &row : elements)
        block.push_back(row(column, width));
      if (width == 1) {
        for (auto [i, element] : llvm::enumerate(block))
          hb.store(element, to, hb.add(at(column), hb.i64(i)));
        return;
      }
      for (auto [i, vector] : llvm::enumerate(transpose(hb, block)))
        hb.store(vector, to, at(hb.add(column, hb.i64(i))));
    });
  });
}

void host::zeroBlock(HostBuilder &hb, Value out, Value rows, Value columns,
                     int64_t stride) {
  hb.loop(hb.i64(0), rows, 1, [&](Value row) {
    Value to = hb.advance(out, hb.mul(row, hb.i64(stride)));
    hb.loop(hb.i64(0), hb.roundUp(columns, panelColumns), lanes,
            [&](Value column) { hb.store(hb.f32(0, lanes), to, column); });
  });
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// One tile of C: loads it, adds k products, stores it.
static void emitTile(HostBuilder &hb, Value a, Value aRow, Value aColumn,
                     Value b, Value c, Value cRow, Value k) {
  SmallVector<Value> rows, outs, tile;
  for (int64_t i = 0; i < tileRows; ++i) {
    rows.push_back(hb.advance(a, hb.mul(aRow, hb.i64(i))));
    outs.push_back(hb.advance(c, hb.mul(cRow, hb.i64(i))));
    for (int64_t j = 0; j < panelColumns; j += lanes)
      tile.push_back(hb.load(outs[i], hb.i64(j), lanes));
  }
  tile = hb.loop(hb.i64(0), k, 1, tile,
                 [&](Value p, ValueRange carried) -> SmallVector<Value> {
                   Value panel = hb.advance(b, hb.mul(p, hb.i64(panelColumns)));
                   Value low = hb.load(panel, hb.i64(0), lanes);
                   Value high = hb.load(panel, hb.i64(lanes), lanes);
                   Value offset = hb.mul(p, aColumn);
                   SmallVector<Value> sums;
                   for (int64_t i = 0; i < tileRows; ++i) {
                     Value factor = hb.splat(hb.load(rows[i], offset), lanes);
                     sums.push_back(hb.fma(factor, low, carried[2 * i]));
                     sums.push_back(hb.fma(factor, high, carried[2 * i + 1]));
                   }
                   return sums;
                 });
  for (int64_t i = 0; i < tileRows; ++i)
    for (int64_t j = 0; j < 2; ++j)
      hb.store(tile[2 * i + j], outs[i], hb.i64(j * lanes));
}

static LLVM::LLVMFuncOp getBlockGemm(HostBuilder &hb, ModuleOp module) {
  constexpr StringLiteral name = "ckpt_block_gemm";
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type ptr = hb.ptrType(), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()),
      {ptr, i64, i64, ptr, i64, ptr, i64, i64, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, hb.loc, name, type,
                                           LLVM::Linkage::Private);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  HostBuilder body(builder, hb.loc);
  Value a = entry->getArgument(0), aRow = entry->getArgument(1),
        aColumn = entry->getArgument(2), b = entry->getArgument(3),
        panelStride = entry->getArgument(4), c = entry->getArgument(5),
        cRow = entry->getArgument(6), m = entry->getArgument(7),
        n = entry->getArgument(8), k = entry->getArgument(9);
  // A panel of B stays in the first-level cache for all rows of A.
  body.loop(body.i64(0), n, panelColumns, [&](Value j) {
    Value panel = body.div(j, body.i64(panelColumns));
    Value bj = body.advance(b, body.mul(panel, panelStride));
    body.loop(body.i64(0), m, tileRows, [&](Value i) {
      Value ai = body.advance(a, body.mul(i, aRow));
      Value cij = body.advance(c, body.add(body.mul(i, cRow), j));
      emitTile(body, ai, aRow, aColumn, bj, cij, cRow, k);
    });
  });
  LLVM::ReturnOp::create(body.b, hb.loc, ValueRange());
  return function;
}

void host::emitBlockGemm(HostBuilder &hb, const BlockGemm &gemm) {
  auto module =
      hb.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  LLVM::CallOp::create(hb.b, hb.loc, getBlockGemm(hb, module),
                       ValueRange{gemm.a, hb.i64(gemm.aRow),
                                  hb.i64(gemm.aColumn), gemm.b,
                                  hb.i64(gemm.panelStride), gemm.c,
                                  hb.i64(gemm.cRow), gemm.m, gemm.n, gemm.k});
}
