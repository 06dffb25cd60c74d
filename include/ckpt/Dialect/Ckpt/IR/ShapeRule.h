//===- ShapeRule.h - result types from operand types ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_DIALECT_CKPT_IR_SHAPERULE_H
#define CKPT_DIALECT_CKPT_IR_SHAPERULE_H

#include "ckpt/Dialect/Ckpt/IR/CkptTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpDefinition.h"

namespace ckpt {

/// Where a shape rule reports why there is no result type; silent without a
/// location.
class ShapeReport {
public:
  ShapeReport(std::optional<mlir::Location> location, llvm::StringRef opName)
      : location(location), opName(opName) {}

  /// Emits `'op' op ` and the arguments; always a failure.
  template <typename... Args>
  llvm::LogicalResult operator()(Args &&...args) const {
    return mlir::emitOptionalError(location, "'", opName, "' op ",
                                   std::forward<Args>(args)...);
  }

private:
  std::optional<mlir::Location> location;
  llvm::StringRef opName;
};

/// An op whose result types follow from its operands and attributes:
/// `static LogicalResult inferShape(const ShapeReport &, Adaptor,
/// SmallVectorImpl<Type> &)`. The rule also checks the constraints that speak
/// of shapes and element types, so that the parser reports them.
template <typename ConcreteType>
class ShapeRule : public mlir::OpTrait::TraitBase<ConcreteType, ShapeRule> {
public:
  static llvm::LogicalResult
  runShapeRule(std::optional<mlir::Location> location,
               mlir::ValueRange operands, mlir::DictionaryAttr attributes,
               mlir::OpaqueProperties properties, mlir::RegionRange regions,
               llvm::SmallVectorImpl<mlir::Type> &types) {
    ShapeReport report(location, ConcreteType::getOperationName());
    for (auto [index, operand] : llvm::enumerate(operands))
      if (!llvm::isa<TensorType>(operand.getType()))
        return report("expected operand #", index,
                      " to be a !ckpt.tensor, got ", operand.getType());
    using Properties = typename ConcreteType::Properties;
    // A parser has the attributes of `attr-dict` in the dictionary and not yet
    // in the properties.
    Properties merged{};
    if constexpr (!std::is_same_v<Properties, mlir::EmptyProperties>) {
      if (properties)
        merged = *properties.as<Properties *>();
      if (attributes)
        for (mlir::NamedAttribute attribute : attributes)
          ConcreteType::setInherentAttr(merged, attribute.getName(),
                                        attribute.getValue());
    }
    return ConcreteType::inferShape(
        report,
        typename ConcreteType::Adaptor(operands, attributes, merged, regions),
        types);
  }
};

} // namespace ckpt

#endif // CKPT_DIALECT_CKPT_IR_SHAPERULE_H
