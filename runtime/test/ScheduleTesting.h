//===- ScheduleTesting.h - schedules for tests ------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_SCHEDULETESTING_H
#define CKPT_RT_TEST_SCHEDULETESTING_H

#include "Schedule/Schedule.h"
#include "TestProgram.h"

#include "gtest/gtest.h"

namespace ckpt::rt {

/// A schedule for the H200 profile, or why there is none.
inline Result<Schedule> tryMake(const Program &program,
                                const Controls &controls,
                                const SizeValues &sizes,
                                std::optional<int64_t> limit = std::nullopt) {
  Result<PlannedStep> plan = applyPolicy(program, controls, limit);
  if (!plan.ok())
    return plan.takeError();
  return instantiate(program, *plan, sizes, controls, *profileNamed("h200"));
}

/// The same; a failure, or one that the verifier refuses, fails the test.
inline Schedule make(const Program &program, const Controls &controls,
                     const SizeValues &sizes,
                     std::optional<int64_t> limit = std::nullopt) {
  Result<Schedule> schedule = tryMake(program, controls, sizes, limit);
  EXPECT_TRUE(schedule.ok()) << schedule.message();
  if (!schedule.ok())
    return {};
  Status status = verify(*schedule);
  EXPECT_TRUE(status.ok()) << status.message();
  return *schedule;
}

inline Simulation simulated(const Program &program, const Schedule &schedule) {
  return simulate(program, schedule, *profileNamed("h200"));
}

inline Controls with(Backend backend) {
  Controls controls;
  controls.backend = backend;
  return controls;
}

} // namespace ckpt::rt

#endif // CKPT_RT_TEST_SCHEDULETESTING_H
