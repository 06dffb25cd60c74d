//===- CkptTypes.cpp - symbolic tensors -----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptTypes.h"
#include "SizeText.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ckpt;

#define GET_TYPEDEF_CLASSES
#include "ckpt/Dialect/Ckpt/IR/CkptTypes.cpp.inc"

void CkptDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ckpt/Dialect/Ckpt/IR/CkptTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<rt::Size> ckpt::sizeOf(StringAttr text) {
  if (!text)
    return std::nullopt;
  return rt::Size::parse(std::string_view(text.data(), text.size()));
}

double ckpt::magnitudeOf(const rt::Size &size) {
  double sum = 0;
  for (const auto &[names, coefficient] : size.getTerms())
    sum += std::abs(static_cast<double>(coefficient));
  return sum;
}

std::optional<bool> ckpt::isPositive(const rt::Size &size) {
  bool anyPositive = false, anyNegative = false;
  for (const auto &[names, coefficient] : size.getTerms())
    (coefficient > 0 ? anyPositive : anyNegative) = true;
  if (anyPositive && anyNegative)
    return std::nullopt;
  return anyPositive;
}

//===----------------------------------------------------------------------===//
// TensorType
//===----------------------------------------------------------------------===//

rt::Size ckpt::TensorType::getDim(unsigned i) const {
  return sizeOf(getDims()[i]).value_or(rt::Size());
}

SmallVector<rt::Size> ckpt::TensorType::getShape() const {
  SmallVector<rt::Size> shape;
  for (unsigned i = 0; i < getRank(); ++i)
    shape.push_back(getDim(i));
  return shape;
}

rt::Size ckpt::TensorType::getNumElements() const {
  rt::Size product = 1;
  for (const rt::Size &dim : getShape())
    product *= dim;
  return product;
}

ckpt::TensorType ckpt::TensorType::withElementType(Type type) const {
  return get(getContext(), getDims(), type);
}

bool ckpt::isElementType(Type type) {
  return isa<Float32Type, BFloat16Type, Float16Type>(type);
}

LogicalResult
ckpt::TensorType::verify(function_ref<InFlightDiagnostic()> emitError,
                         ArrayRef<StringAttr> dims, Type elementType) {
  if (!elementType || !isElementType(elementType))
    return emitError() << "expected element type f32, bf16 or f16, got "
                       << elementType;
  double elements = 1;
  for (StringAttr dim : dims) {
    std::optional<rt::Size> size = sizeOf(dim);
    if (!size)
      return emitError() << "expected an extent of named sizes and integers, "
                            "got "
                         << dim;
    if (isPositive(*size) == false)
      return emitError() << "expected a positive extent, got '"
                         << dim.getValue() << "'";
    if (size->str() != dim.getValue())
      return emitError() << "expected the canonical extent '" << size->str()
                         << "', got '" << dim.getValue() << "'";
    elements *= magnitudeOf(*size);
  }
  if (elements > maxElements)
    return emitError() << "expected at most 2^56 elements, got " << elements;
  return success();
}

namespace {
/// Reads `a*b*2`.
FailureOr<rt::Size> parseTerm(AsmParser &parser) {
  rt::Size term = 1;
  do {
    SMLoc loc = parser.getCurrentLocation();
    int64_t value;
    OptionalParseResult integer = parser.parseOptionalInteger(value);
    if (integer.has_value()) {
      if (failed(*integer))
        return failure();
      term *= rt::Size(value);
    } else {
      StringRef name;
      if (failed(parser.parseOptionalKeyword(&name)))
        return parser.emitError(loc, "expected a named size or an integer"),
               failure();
      term *= rt::Size::symbol(name.str());
    }
    if (magnitudeOf(term) > maxElements)
      return parser.emitError(loc, "expected a size below 2^56"), failure();
  } while (succeeded(parser.parseOptionalStar()));
  return term;
}
} // namespace

Type ckpt::TensorType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  SmallVector<rt::Size> dims;
  Type elementType;
  if (parser.parseLess())
    return {};
  while (true) {
    // The element type comes last; a size cannot have its name.
    StringRef name;
    if (succeeded(parser.parseOptionalKeyword(&name, {"f32", "bf16", "f16"}))) {
      MLIRContext *context = parser.getContext();
      elementType = llvm::StringSwitch<Type>(name)
                        .Case("f32", Float32Type::get(context))
                        .Case("bf16", BFloat16Type::get(context))
                        .Default(Float16Type::get(context));
      break;
    }
    SMLoc loc = parser.getCurrentLocation();
    bool negative = succeeded(parser.parseOptionalMinus());
    rt::Size extent;
    while (true) {
      FailureOr<rt::Size> term = parseTerm(parser);
      if (failed(term))
        return {};
      extent = negative ? extent - *term : extent + *term;
      if (succeeded(parser.parseOptionalPlus()))
        negative = false;
      else if (succeeded(parser.parseOptionalMinus()))
        negative = true;
      else
        break;
    }
    if (isPositive(extent) == false) {
      parser.emitError(loc, "expected a positive extent, got '")
          << extent.str() << "'";
      return {};
    }
    dims.push_back(extent);
    if (failed(parser.parseOptionalKeyword("x"))) {
      parser.emitError(
          parser.getCurrentLocation(),
          "expected ' x ' and the element type f32, bf16 or f16 after "
          "the extents");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  SmallVector<StringAttr> texts;
  for (const rt::Size &dim : dims)
    texts.push_back(StringAttr::get(parser.getContext(), dim.str()));
  return getChecked([&] { return parser.emitError(start); },
                    parser.getContext(), texts, elementType);
}

void ckpt::TensorType::print(AsmPrinter &printer) const {
  printer << "<";
  for (StringAttr dim : getDims())
    printer << dim.getValue() << " x ";
  printer << getElementType() << ">";
}
