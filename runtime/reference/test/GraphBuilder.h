//===- GraphBuilder.h - block graphs for tests ------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_REFERENCE_TEST_GRAPHBUILDER_H
#define CKPT_REFERENCE_TEST_GRAPHBUILDER_H

#include "Program/Program.h"

namespace ckpt::rt {

/// Appends values and ops to a graph, arguments first.
struct GraphBuilder {
  Graph graph;

  int value(std::vector<Size> dims, DType dtype = DType::F32) {
    graph.values.push_back({std::move(dims), dtype});
    return static_cast<int>(graph.values.size()) - 1;
  }
  int op(const std::string &name, std::vector<int> operands,
         std::vector<Size> dims,
         std::map<std::string, Attribute> attributes = {},
         DType dtype = DType::F32) {
    int result = value(std::move(dims), dtype);
    graph.ops.push_back(
        {name, std::move(operands), {result}, std::move(attributes), {}});
    return result;
  }
};

} // namespace ckpt::rt

#endif // CKPT_REFERENCE_TEST_GRAPHBUILDER_H
