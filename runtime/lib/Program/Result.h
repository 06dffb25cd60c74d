//===- Result.h - a value or a message --------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The runtime throws nothing. A function that can fail returns a `Result`:
/// the value, or one message that names the thing, what was expected, what was
/// found and, where there is something to do, what to do. Messages are lower
/// case without a final period.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_RESULT_H
#define CKPT_RT_PROGRAM_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace ckpt::rt {

struct Error {
  std::string message;
};

/// The outcome of a function without a value.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : error(std::move(error)) {}
  bool ok() const { return !error; }
  const std::string &message() const { return error->message; }

private:
  std::optional<Error> error;
};

template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Error error) : error(std::move(error)) {}
  bool ok() const { return value.has_value(); }
  const std::string &message() const { return error.message; }
  Error takeError() const { return error; }
  T &operator*() {
    assert(value && "no value, look at ok() first");
    return *value;
  }
  const T &operator*() const {
    assert(value && "no value, look at ok() first");
    return *value;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

private:
  std::optional<T> value;
  Error error;
};

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_RESULT_H
