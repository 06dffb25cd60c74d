//===- MemoryPicture.h - memory over time, drawn ----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_REPORT_MEMORYPICTURE_H
#define CKPT_RT_REPORT_MEMORYPICTURE_H

#include "Schedule/Schedule.h"

namespace ckpt::rt {

/// An SVG of the arena's live bytes over time, stacked by why they are there,
/// with the phases behind them and the highest point marked. `times` holds
/// start and end seconds per command, simulated or measured.
void drawMemory(const Schedule &schedule,
                const std::vector<std::pair<double, double>> &times,
                const std::string &title, std::ostream &os);

} // namespace ckpt::rt

#endif // CKPT_RT_REPORT_MEMORYPICTURE_H
