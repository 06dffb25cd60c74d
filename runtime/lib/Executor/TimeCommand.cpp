//===- TimeCommand.cpp - one command, back to back ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Executor/StepImpl.h"

using namespace ckpt::rt;

static bool takesTime(Command::Kind kind) {
  return kind != Command::Kind::Record && kind != Command::Kind::Wait;
}

Result<double> StepImpl::timeCommand(Lease &lease, int index, int64_t repeats) {
  Result<std::unique_ptr<Event>> begin = device->createEvent();
  Result<std::unique_ptr<Event>> end = device->createEvent();
  if (!begin.ok() || !end.ok())
    return Error{begin.ok() ? end.message() : begin.message()};
  Stream &stream = on(schedule->commands[index].stream);
  Status status = stream.record(**begin);
  for (int64_t i = 0; i < repeats && status.ok(); ++i)
    status = issueOne(lease, index);
  if (status.ok())
    status = stream.record(**end);
  // In every case: the events must outlive what names them.
  Status drained = synchronise();
  if (!status.ok() || !drained.ok())
    return Error{status.ok() ? drained.message() : status.message()};
  Result<double> seconds = device->secondsBetween(**begin, **end);
  if (!seconds.ok())
    return seconds.takeError();
  return *seconds / double(repeats);
}

Result<double> Step::timeCommand(int index, int64_t repeats) {
  const std::vector<Command> &commands = impl->schedule->commands;
  if (!takesTime(commands[index].kind))
    return Error{"command " + std::to_string(index) +
                 ": expected a launch, a fill or a copy, got an event"};
  if (repeats < 1)
    return Error{"repeats: expected 1 or more, got " + std::to_string(repeats)};
  Result<OpenForward> opened = open();
  if (!opened.ok())
    return opened.takeError();
  Lease &lease = *opened->lease;
  for (bool backward : {false, true})
    if (Status status = impl->takeBindings(lease, backward); !status.ok())
      return Error{status.message()};
  return impl->timeCommand(lease, index, repeats);
}
