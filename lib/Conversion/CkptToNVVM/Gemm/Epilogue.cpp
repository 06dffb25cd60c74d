//===- Epilogue.cpp - from accumulators to results ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;

Epilogue::Epilogue(Pipeline &pipeline, const Problem &problem,
                   const Parameters &parameters, Value warpgroup, Value warp,
                   Value lane)
    : pipeline(pipeline), ptx(pipeline.ptx), shape(pipeline.shape),
      problem(problem), parameters(parameters), warpgroup(warpgroup),
      lane(lane), body(ptx, problem, parameters), warpChunk(ptx, lane) {
  isFirstLane = ptx.equal(lane, 0);
  warpOfBlock = ptx.add(ptx.mul(warpgroup, 4), warp);
  staging = ptx.at(ptx.at(pipeline.shared, shape.stagingOffset()),
                   ptx.mul(warpOfBlock, shape.buffers * shape.bufferBytes()));
  auxiliaryRows = ptx.mul(warpOfBlock, 16 * 128);
  if (!shape.splitK && problem.outputs.size() > 1)
    for (Value pointer : parameters.outputs)
      wanted.push_back(ptx.isNotNull(pointer));
}

bool Epilogue::hasStagedBias() const {
  return problem.bias && shape.staged && !shape.splitK;
}

//===----------------------------------------------------------------------===//
// Bias
//===----------------------------------------------------------------------===//

Values Epilogue::loadBias(int chunk) {
  // Beyond the last column any pair will do.
  Value first = ptx.add(tileColumn, chunk * 64);
  Value at = ptx.min(ptx.add(first, ptx.mul(lane, 2)),
                     ptx.sub(parameters.n, ptx.constant(2)));
  Value pointer = parameters.pointers.lookup(problem.bias);
  Type element = codegen::elementOf(problem.bias);
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  pointer = ptx.at(pointer, ptx.toI64(ptx.mul(at, bytes)));
  if (bytes == 2)
    return {ptx.load(pointer, ptx.i32(), 4)};
  return ptx.elements(ptx.load(pointer, VectorType::get(2, ptx.f32()), 8));
}

Value Epilogue::biasPair(int chunk, int group) {
  // Lane 4 g + i has the pair of columns 8 g + 2 i.
  Value from = ptx.add(ptx.bitAnd(lane, 3), 4 * group);
  Values pair;
  for (Value word : bias[chunk])
    pair.push_back(ptx.shuffle(word, from));
  if (pair.size() == 1) {
    auto [low, high] =
        ptx.unpack(pair[0], halfOf(codegen::elementOf(problem.bias)));
    pair = {low, high};
  }
  return ptx.vector(pair);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void Epilogue::beginTile(Value row, Value columnOfTile) {
  tileColumn = columnOfTile;
  warpRow = ptx.add(row, ptx.mul(warpOfBlock, 16));
  rows[0] = ptx.add(warpRow, ptx.shiftRight(lane, 2));
  rows[1] = ptx.add(rows[0], 8);
  column = ptx.add(tileColumn, ptx.mul(ptx.bitAnd(lane, 3), 2));
  if (shape.staged) {
    // Two values, also where they are equal: they stand for two rows.
    Value lastRow = ptx.sub(parameters.m, ptx.constant(1));
    for (int half = 0; half < 2; ++half)
      insideRows[half] = ptx.min(rows[half], lastRow);
  }
  bias.clear();
  if (hasStagedBias())
    for (int chunk = 0; chunk < shape.chunks(); ++chunk)
      bias.push_back(loadBias(chunk));
}

Ring Epilogue::finishTile(ArrayRef<Value> accumulators, Ring ring, Value part) {
  if (shape.splitK)
    storePartial(accumulators, part);
  else if (shape.staged)
    storeStaged(accumulators, ring);
  else
    storeDirect(accumulators);
  return ring;
}

void Epilogue::leave() {
  if (shape.staged)
    ptx.ifThen(isFirstLane, [&] { ptx.waitStores(0, /*readOnly=*/true); });
}

int Epilogue::storesSince(int chunk) const {
  int chunks = shape.chunks(), buffers = shape.buffers;
  if (chunk >= buffers)
    return buffers - 1;
  // The buffer was last used in the tile before.
  int last = chunks - 1;
  while (last % buffers != chunk)
    --last;
  return chunks - 1 - last + chunk;
}

void Epilogue::storeStaged(ArrayRef<Value> accumulators, Ring &ring) {
  // Tiles of auxiliaries lie in the ring one after the other, those of a chunk
  // together.
  int perStage = shape.auxiliariesPerStage();
  int tiles = shape.chunks() * shape.auxiliaries;
  SmallVector<Ring> stages;
  for (int chunk = 0; chunk < shape.chunks(); ++chunk) {
    // Words of 16 columns each of the auxiliaries. All are read before any is
    // used: the order of side effects stays as it is here.
    SmallVector<SmallVector<Values>> arrived(4);
    for (int i = 0; i < shape.auxiliaries; ++i) {
      int tile = chunk * shape.auxiliaries + i;
      if (tile % perStage == 0) {
        pipeline.waitFull(ring);
        stages.push_back(ring);
        ring = pipeline.next(ring);
      }
      Value rowsOfTile = ptx.at(
          pipeline.stageBase(stages.back().stage),
          ptx.add(auxiliaryRows, tile % perStage * shape.auxiliaryBytes()));
      for (int k = 0; k < 4; ++k)
        arrived[k].push_back(warpChunk.load(rowsOfTile, k));
    }
    Value buffer = ptx.at(staging, chunk % shape.buffers * shape.bufferBytes());
    ptx.ifThen(isFirstLane,
               [&] { ptx.waitStores(storesSince(chunk), /*readOnly=*/true); });
    ptx.syncWarp();
    for (int k = 0; k < 4; ++k) {
      SmallVector<Values> words =
          finishWords(accumulators, chunk, k, arrived[k]);
      for (auto [output, list] : llvm::enumerate(words))
        warpChunk.store(ptx.at(buffer, output * 2048), k, list);
    }
    // Stages whose last tile this was, when all warps have read it.
    for (auto [i, stage] : llvm::enumerate(stages)) {
      int last = std::min(int(i + 1) * perStage, tiles) - 1;
      if (last / shape.auxiliaries != chunk)
        continue;
      ptx.barrier(ptx.add(warpgroup, 1), 128);
      pipeline.release(stage.stage);
    }
    sendChunk(chunk, buffer);
  }
}

SmallVector<Values> Epilogue::finishWords(ArrayRef<Value> accumulators,
                                          int chunk, int k,
                                          ArrayRef<Values> arrived) {
  // Beyond the edges the ops read what is at them; nothing of it is stored.
  Value lastPair = ptx.sub(parameters.n, ptx.constant(2));
  SmallVector<Values> words(problem.outputs.size());
  // Both rows of a thread have the same columns.
  Value biasOfGroup;
  for (int j = 0; j < 4; ++j) {
    int group = 2 * k + j / 2, half = j % 2;
    unsigned first = chunk * 32 + group * 4 + half * 2;
    Body::Operands operands;
    operands.product = ptx.vector(accumulators.slice(first, 2));
    if (problem.bias && half == 0)
      biasOfGroup = biasPair(chunk, group);
    operands.bias = biasOfGroup;
    for (auto [auxiliary, list] : llvm::zip(problem.auxiliaries, arrived)) {
      auto [low, high] = ptx.unpack(list[j], halfOf(auxiliary.matrix.type));
      operands.auxiliaries.push_back(ptx.vector({low, high}));
    }
    Place place;
    place.row = insideRows[half];
    place.column = ptx.min(ptx.add(column, chunk * 64 + group * 8), lastPair);
    Values results = body.evaluate(ptx, place, operands);
    for (auto [output, list, value] :
         llvm::zip(problem.outputs, words, results)) {
      Values pair = ptx.elements(value);
      list.push_back(ptx.pack(pair[1], pair[0], halfOf(output.matrix.type)));
    }
  }
  return words;
}

void Epilogue::sendChunk(int chunk, Value buffer) {
  ptx.fenceAsyncProxy();
  ptx.syncWarp();
  ptx.ifThen(isFirstLane, [&] {
    Value firstColumn = ptx.add(tileColumn, chunk * 64);
    for (unsigned output = 0; output < problem.outputs.size(); ++output) {
      auto store = [&] {
        ptx.storeTile(parameters.outputMaps[output],
                      ptx.at(buffer, output * 2048), {firstColumn, warpRow});
      };
      if (wanted.empty())
        store();
      else
        ptx.ifThen(wanted[output], store);
    }
    // Also where nothing was stored, so that groups count chunks.
    ptx.commitStores();
  });
}

//===----------------------------------------------------------------------===//
// From registers
//===----------------------------------------------------------------------===//

void Epilogue::storeDirect(ArrayRef<Value> accumulators) {
  // Pairs where no row ends within one, else single elements.
  unsigned width = codegen::isMultiple(problem.n, 2) ? 2 : 1;
  for (Value row : rows)
    body.prepare(ptx, row);
  for (unsigned i = 0; i < accumulators.size(); i += width) {
    Value row = rows[i / 2 % 2];
    Place place;
    place.row = row;
    place.column = ptx.add(column, i / 4 * 8 + i % 2);
    place.width = width;
    Value exists = ptx.both(ptx.less(row, parameters.m),
                            ptx.less(place.column, parameters.n));
    ptx.ifThen(exists, [&] {
      Body::Operands operands;
      operands.product =
          width == 1 ? accumulators[i] : ptx.vector(accumulators.slice(i, 2));
      Values results = body.evaluate(ptx, place, operands);
      for (unsigned output = 0; output < results.size(); ++output) {
        auto store = [&] { body.store(ptx, output, place, results[output]); };
        if (wanted.empty())
          store();
        else
          ptx.ifThen(wanted[output], store);
      }
    });
  }
}

void Epilogue::storePartial(ArrayRef<Value> accumulators, Value part) {
  // Part after part, each row-major.
  Value size = ptx.mul(ptx.toI64(parameters.m), ptx.toI64(parameters.n));
  Value base =
      ptx.at(parameters.workspace, ptx.mul(ptx.mul(ptx.toI64(part), size), 4));
  unsigned width = codegen::isMultiple(problem.n, 2) ? 2 : 1;
  for (unsigned i = 0; i < accumulators.size(); i += width) {
    Value row = rows[i / 2 % 2];
    Value at = ptx.add(column, i / 4 * 8 + i % 2);
    Value exists =
        ptx.both(ptx.less(row, parameters.m), ptx.less(at, parameters.n));
    ptx.ifThen(exists, [&] {
      Value offset = ptx.add(ptx.mul(ptx.toI64(row), ptx.toI64(parameters.n)),
                             ptx.toI64(at));
      ptx.store(width == 1 ? accumulators[i]
                           : ptx.vector(accumulators.slice(i, 2)),
                ptx.at(base, ptx.mul(offset, 4)), 4 * width);
    });
  }
}
