//===- StepForward.cpp - the forward of a step ----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "StepForward.h"
#include "ckpt/Dialect/Ckpt/IR/CkptStepAttributes.h"
#include "ckpt/Transforms/SelectGroups.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ckpt;

LogicalResult StepForward::build() {
  flatten();
  eraseDead();
  findActive();
  if (failed(findDifferentiated()))
    return failure();
  addStatistics();
  collectSaved();
  keepResultsApart();
  insertSaves();
  return success();
}

SmallVector<bool> StepForward::neededOf(Operation *op) const {
  return llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    return active.contains(operand);
  });
}

// A view has no bytes of its own, and bf16 under a cast to f32 holds the same
// value in half of them; either is made again by what reads it.
Value StepForward::baseOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op) && !isWideningCast(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

StringRef StepForward::nameOf(Value base) const {
  auto it = saved.find(base);
  return it == saved.end() ? StringRef() : StringRef(it->second);
}

void StepForward::flatten() {
  Block *from = &block.getBody().front();
  Block &to = step.getForward().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : from->getArguments())
    mapping.map(argument,
                to.addArgument(argument.getType(), argument.getLoc()));

  OpBuilder builder = OpBuilder::atBlockEnd(&to);
  auto cloneOp = [&](Operation &op, StringRef scope) {
    // A cast to the type that a value has would be a second value to save.
    if (auto cast = dyn_cast<CastOp>(op);
        cast && cast.getX().getType() == cast.getY().getType()) {
      mapping.map(cast.getY(), mapping.lookup(cast.getX()));
      return;
    }
    Operation *copy = builder.clone(op, mapping);
    if (!scope.empty())
      copy->setAttr(scopeAttrName, builder.getStringAttr(scope));
  };
  auto flattenRegion = [&](auto region, StringRef scope, bool Facts::*operand) {
    for (Value value : region.getCapturedValues()) {
      Value base = baseOf(mapping.lookup(value));
      captured.insert(base);
      facts[base].*operand = true;
    }
    Block &ops = region.getBody().front();
    for (Operation &op : ops.without_terminator())
      cloneOp(op, scope);
    for (auto [result, value] : llvm::zip_equal(
             region.getResults(), ops.getTerminator()->getOperands())) {
      mapping.map(result, mapping.lookup(value));
      facts[baseOf(mapping.lookup(value))].scopeResult = true;
    }
  };
  for (Operation &op : from->without_terminator()) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      flattenRegion(attention, "attention", &Facts::attentionOperand);
    else if (auto ffn = dyn_cast<FfnOp>(op))
      flattenRegion(ffn, "ffn", &Facts::ffnOperand);
    else
      cloneOp(op, "");
  }
  Operation *end = from->getTerminator();
  SmallVector<Value> results = llvm::map_to_vector(
      end->getOperands(), [&](Value value) { return mapping.lookup(value); });
  YieldOp::create(builder, end->getLoc(), results);
}

void StepForward::eraseDead() {
  SmallVector<Operation *> ops;
  for (Operation &op : body()->without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    if (!op->use_empty())
      continue;
    for (Value result : op->getResults()) {
      facts.erase(result);
      captured.remove(result);
    }
    op->erase();
  }
}

void StepForward::findActive() {
  for (auto [port, argument] : llvm::enumerate(body()->getArguments()))
    if (ports.isState(port) || ports.needsGradient(port))
      active.insert(argument);
  for (Operation &op : body()->without_terminator())
    if (llvm::is_contained(neededOf(&op), true))
      active.insert_range(op.getResults());
}

// After `eraseDead` every op leads to a result, so an active one has a
// gradient.
LogicalResult StepForward::findDifferentiated() {
  for (Operation &op : body()->without_terminator()) {
    if (!active.contains(op.getResult(0)))
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op.emitOpError() << "has no backward, expected an op that "
                                 "implements DifferentiableOpInterface";
    differentiated.push_back(differentiable);
  }
  return success();
}

Operation *StepForward::rebuildWithStatistics(Operation *op) {
  OpBuilder builder(op);
  UnitAttr unit = builder.getUnitAttr();
  Operation *copy = nullptr;
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    copy = SdpaOp::create(builder, op->getLoc(), sdpa.getQ(), sdpa.getK(),
                          sdpa.getV(), sdpa.getScaleAttr(), unit);
  else if (auto norm = dyn_cast<LayerNormOp>(op))
    copy = LayerNormOp::create(builder, op->getLoc(), norm.getX(),
                               norm.getWeight(), norm.getBias(),
                               norm.getEpsAttr(), unit);
  else if (auto norm = dyn_cast<RmsNormOp>(op))
    copy = RmsNormOp::create(builder, op->getLoc(), norm.getX(),
                             norm.getWeight(), norm.getEpsAttr(), unit);
  else
    return op;
  copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return copy;
}

void StepForward::addStatistics() {
  for (DifferentiableOpInterface &op : differentiated) {
    Operation *copy = rebuildWithStatistics(op);
    if (copy == op)
      continue;
    Value before = op->getResult(0), after = copy->getResult(0);
    Facts known = facts.lookup(before);
    facts.erase(before);
    facts[after] = known;
    // `captured` keeps no order that matters: saves follow the program's.
    if (captured.remove(before))
      captured.insert(after);
    active.erase(before);
    active.insert(after);
    before.replaceAllUsesWith(after);
    op->erase();
    op = cast<DifferentiableOpInterface>(copy);
  }
}

void StepForward::collectSaved() {
  DenseSet<Value> wanted;
  wanted.insert_range(captured);
  for (DifferentiableOpInterface op : differentiated)
    for (Value read : op.getBackwardReads(neededOf(op)))
      wanted.insert(baseOf(read));

  llvm::StringSet<> names;
  for (auto [port, argument] : llvm::enumerate(body()->getArguments()))
    if (ports.isState(port)) {
      saved[argument] = ports.name(port).str();
      names.insert(ports.name(port));
    }
  // Numbered whether saved or not, so that a name does not depend on which
  // parameters are trained.
  llvm::StringMap<unsigned> count;
  for (Operation &op : body()->without_terminator()) {
    StringRef mnemonic = op.getName().stripDialect();
    std::string name = (mnemonic + Twine(count[mnemonic]++)).str();
    while (!names.insert(name).second)
      name += "_";
    for (OpResult result : op.getResults()) {
      if (!wanted.contains(result))
        continue;
      StringRef part = result.getResultNumber() == 0 ? ""
                       : isa<SdpaOp>(op)             ? ".lse"
                                                     : ".stats";
      saved[result] = name + part.str();
    }
  }
}

// A buffer is either the next block's state or a saved value of this block.
// The copy has the same bits.
void StepForward::keepResultsApart() {
  Operation *yield = body()->getTerminator();
  OpBuilder builder(yield);
  DenseSet<Value> seen;
  for (OpOperand &operand : yield->getOpOperands()) {
    Value value = operand.get();
    if (seen.insert(value).second && !saved.contains(value) &&
        !isa<BlockArgument>(value))
      continue;
    auto copy = ScaleOp::create(builder, yield->getLoc(), value,
                                builder.getF64FloatAttr(1.0),
                                builder.getF64FloatAttr(0.0));
    if (Operation *producer = value.getDefiningOp())
      if (Attribute scope = producer->getAttr(scopeAttrName))
        copy->setAttr(scopeAttrName, scope);
    if (active.contains(value)) {
      active.insert(copy.getY());
      differentiated.push_back(
          cast<DifferentiableOpInterface>(copy.getOperation()));
    }
    operand.set(copy);
  }
}

void StepForward::insertSaves() {
  OpBuilder builder(step.getContext());
  UnitAttr unit = builder.getUnitAttr();
  Operation *firstOp = &body()->front();
  for (auto &[value, name] : saved) {
    Operation *producer = value.getDefiningOp();
    if (producer)
      builder.setInsertionPointAfter(producer);
    else
      builder.setInsertionPoint(firstOp);
    // A second result is saved after the first.
    while (producer && builder.getInsertionPoint() != body()->end() &&
           isa<SaveOp>(*builder.getInsertionPoint()))
      builder.setInsertionPoint(builder.getInsertionBlock(),
                                std::next(builder.getInsertionPoint()));
    auto save = SaveOp::create(builder, value.getLoc(), value,
                               builder.getStringAttr(name));
    const Facts &known = facts[value];
    if (known.attentionOperand)
      save->setAttr(attentionOperandAttrName, unit);
    if (known.ffnOperand)
      save->setAttr(ffnOperandAttrName, unit);
    if (!producer) {
      save->setAttr(
          stateAttrName,
          builder.getI64IntegerAttr(cast<BlockArgument>(value).getArgNumber()));
      continue;
    }
    if (known.scopeResult)
      save->setAttr(scopeResultAttrName, unit);
    if (auto scope = producer->getAttrOfType<StringAttr>(scopeAttrName)) {
      save->setAttr(producerAttrName, scope);
      if (isa<SdpaOp>(producer) && scope.getValue() == "attention")
        save->setAttr(attentionCoreAttrName, unit);
    }
  }
}
