//===- Trace.h - a step in a trace viewer -----------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_REPORT_TRACE_H
#define CKPT_RT_REPORT_TRACE_H

#include "Schedule/Schedule.h"

namespace ckpt::rt {

/// The trace event format that ui.perfetto.dev and chrome://tracing read: one
/// row a stream, one slice a command, and the arena's live bytes as a counter.
/// `times` holds start and end seconds per command, simulated or measured.
void writeTrace(const Program &program, const Schedule &schedule,
                const std::vector<std::pair<double, double>> &times,
                std::ostream &os);

} // namespace ckpt::rt

#endif // CKPT_RT_REPORT_TRACE_H
