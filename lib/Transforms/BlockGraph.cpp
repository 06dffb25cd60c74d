//===- BlockGraph.cpp - a block as plain data -----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "BlockGraph.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ckpt;

static rt::DType dtypeOf(Type element) {
  if (element.isF32())
    return rt::DType::F32;
  return element.isBF16() ? rt::DType::BF16 : rt::DType::F16;
}

rt::TensorType ckpt::toRuntime(ckpt::TensorType type) {
  rt::TensorType result;
  for (const rt::Size &dim : type.getShape())
    result.dims.push_back(dim);
  result.dtype = dtypeOf(type.getElementType());
  return result;
}

static std::optional<rt::Attribute> readAttribute(Attribute attribute) {
  using Optional = std::optional<rt::Attribute>;
  return llvm::TypeSwitch<Attribute, Optional>(attribute)
      .Case([](IntegerAttr a) { return rt::Attribute(a.getInt()); })
      .Case([](FloatAttr a) { return rt::Attribute(a.getValueAsDouble()); })
      .Case([](StringAttr a) { return rt::Attribute(a.getValue().str()); })
      .Case([](UnitAttr) { return rt::Attribute(int64_t(1)); })
      .Case([](GeluKindAttr a) {
        return rt::Attribute(stringifyGeluKind(a.getValue()).str());
      })
      .Case([](TypeAttr a) {
        return rt::Attribute(std::string(rt::nameOf(dtypeOf(a.getValue()))));
      })
      .Case([](DenseI64ArrayAttr a) {
        return rt::Attribute(
            std::vector<int64_t>(a.asArrayRef().begin(), a.asArrayRef().end()));
      })
      .Case([](ArrayAttr a) -> Optional {
        std::string shape;
        for (StringAttr extent : a.getAsRange<StringAttr>())
          shape += (shape.empty() ? "" : " x ") + extent.getValue().str();
        return rt::Attribute(shape);
      })
      .Default([](Attribute) { return std::nullopt; });
}

/// Operands by position in the op's definition, null where optional ones are
/// absent.
static SmallVector<Value> operandsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([](LinearOp o) {
        return SmallVector<Value>{o.getX(), o.getWeight(), o.getBias()};
      })
      .Case([](LayerNormOp o) {
        return SmallVector<Value>{o.getX(), o.getWeight(), o.getBias()};
      })
      .Case([](RmsNormOp o) {
        return SmallVector<Value>{o.getX(), o.getWeight()};
      })
      .Default(
          [](Operation *o) { return SmallVector<Value>(o->getOperands()); });
}

rt::Graph ckpt::readGraph(BlockOp block) {
  rt::Graph graph;
  DenseMap<Value, int> valueOf;
  auto add = [&](Value value) {
    valueOf[value] = int(graph.values.size());
    graph.values.push_back(toRuntime(cast<ckpt::TensorType>(value.getType())));
    return valueOf[value];
  };
  Block *body = &block.getBody().front();
  for (BlockArgument argument : body->getArguments())
    add(argument);

  auto addOps = [&](Block &ops, rt::Scope scope, auto &&addRegion) -> void {
    for (Operation &op : ops.without_terminator()) {
      if (isa<AttentionOp, FfnOp>(op)) {
        addRegion(op, addRegion);
        continue;
      }
      rt::GraphOp graphOp;
      graphOp.name = op.getName().stripDialect().str();
      graphOp.scope = scope;
      for (Value operand : operandsOf(&op))
        graphOp.operands.push_back(operand ? valueOf.lookup(operand) : -1);
      for (Value result : op.getResults())
        graphOp.results.push_back(add(result));
      for (NamedAttribute attribute : op.getAttrDictionary())
        if (attribute.getName() != "operandSegmentSizes" &&
            !op.getDiscardableAttr(attribute.getName()))
          if (auto value = readAttribute(attribute.getValue()))
            graphOp.attributes[attribute.getName().str()] = *value;
      graph.ops.push_back(std::move(graphOp));
    }
  };
  auto addRegion = [&](Operation &op, auto &&self) -> void {
    Block &inner = op.getRegion(0).front();
    addOps(inner, isa<FfnOp>(op) ? rt::Scope::Ffn : rt::Scope::Attention, self);
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), inner.getTerminator()->getOperands()))
      valueOf[result] = valueOf.lookup(value);
  };
  addOps(*body, rt::Scope::None, addRegion);
  for (Value result : body->getTerminator()->getOperands())
    graph.results.push_back(valueOf.lookup(result));
  return graph;
}
