//===- VerifyTest.cpp - the verifier against seeded faults ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Mutants of real schedules. Whether a mutant changes a dependency is decided
/// by brute force, which shares nothing with the verifier: the transitive
/// closure of "done before" over all pairs of commands, every pair of accesses
/// to common bytes, and the last write in list order before each read. The
/// verifier must refuse every mutant that brute force refuses.
///
//===----------------------------------------------------------------------===//

#include "Schedule/Schedule.h"
#include "TestProgram.h"

#include "gtest/gtest.h"

#include <bitset>
#include <functional>
#include <iostream>

using namespace ckpt::rt;

namespace {

using Kind = Command::Kind;

//===----------------------------------------------------------------------===//
// Brute force
//===----------------------------------------------------------------------===//

constexpr int maxCommands = 1024;

struct Access {
  int command;
  int buffer;
  bool isWrite;
  /// Arena 0, slots from 1 on, the caller's tensors below 0.
  int memory;
  int64_t begin, end;
};

std::vector<Access> accessesOf(const Schedule &s) {
  std::vector<Access> all;
  auto add = [&](int command, int buffer, bool isWrite) {
    if (buffer < 0)
      return;
    const Buffer &b = s.buffers[buffer];
    if (b.space == Space::Arena)
      all.push_back(
          {command, buffer, isWrite, 0, b.offset, b.offset + b.bytes});
    else if (b.space == Space::Host)
      all.push_back({command, buffer, isWrite, 1 + b.slot, 0, b.bytes});
    else
      all.push_back({command, buffer, isWrite, -1 - b.external, 0, b.bytes});
  };
  for (size_t c = 0; c < s.commands.size(); ++c) {
    const Command &command = s.commands[c];
    for (size_t i = 0; i < command.buffers.size(); ++i)
      add(int(c), command.buffers[i], int(i) >= command.numReads);
    add(int(c), command.workspace, true);
  }
  return all;
}

/// Row c: the commands that are done before c starts. Empty when an event is
/// recorded twice, never, or not before its wait.
std::vector<std::bitset<maxCommands>> closureOf(const Schedule &s) {
  std::vector<std::bitset<maxCommands>> before(s.commands.size());
  std::vector<int> recordOf(s.numEvents, -1);
  std::vector<int> last(numStreams, -1);
  for (size_t c = 0; c < s.commands.size(); ++c) {
    const Command &command = s.commands[c];
    auto follow = [&](int other) {
      if (other < 0)
        return;
      before[c] |= before[other];
      before[c].set(other);
    };
    follow(last[int(command.stream)]);
    if (command.kind == Kind::Wait) {
      if (recordOf[command.event] < 0)
        return {};
      follow(recordOf[command.event]);
    }
    if (command.kind == Kind::Record) {
      if (recordOf[command.event] >= 0)
        return {};
      recordOf[command.event] = int(c);
    }
    last[int(command.stream)] = int(c);
  }
  for (int record : recordOf)
    if (record < 0)
      return {};
  return before;
}

/// Whether the schedule is right, looking only at what involves `only` when
/// that is a buffer.
bool isRight(const Schedule &s,
             const std::vector<std::bitset<maxCommands>> &before,
             int only = -1) {
  if (before.empty())
    return false;
  std::vector<Access> all = accessesOf(s);
  auto isDeclared = [&](const Access &read, const Access &write) {
    const Command &command = s.commands[read.command];
    if (read.begin != write.begin || read.end != write.end)
      return false;
    for (int r = 0; r < command.numReads; ++r)
      for (size_t w = command.numReads; w < command.buffers.size(); ++w)
        if (command.buffers[r] == read.buffer &&
            command.buffers[w] == write.buffer &&
            std::find(command.inPlace.begin(), command.inPlace.end(),
                      std::pair<int, int>(r, int(w) - command.numReads)) ==
                command.inPlace.end())
          return false;
    return command.workspace != write.buffer;
  };
  for (size_t j = 0; j < all.size(); ++j) {
    const Access &later = all[j];
    const Access *lastWrite = nullptr;
    for (size_t i = 0; i < j; ++i) {
      const Access &earlier = all[i];
      if (earlier.memory != later.memory || earlier.begin >= later.end ||
          later.begin >= earlier.end)
        continue;
      if (earlier.isWrite && earlier.command != later.command)
        lastWrite = &earlier;
      if (!earlier.isWrite && !later.isWrite)
        continue;
      if (only >= 0 && earlier.buffer != only && later.buffer != only)
        continue;
      if (earlier.command != later.command) {
        if (!before[later.command][earlier.command])
          return false;
      } else if (earlier.isWrite || !isDeclared(earlier, later)) {
        return false;
      }
    }
    if (later.isWrite)
      continue;
    bool isGiven = false;
    if (later.memory < 0) {
      ExternalKind kind = s.externals[-1 - later.memory].kind;
      isGiven = kind != ExternalKind::Output && kind != ExternalKind::Gradient;
    }
    if (lastWrite ? lastWrite->buffer != later.buffer : !isGiven)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Schedules to mutate
//===----------------------------------------------------------------------===//

struct Case {
  std::string name;
  Schedule schedule;
};

std::vector<Case> makeCases() {
  std::vector<Case> cases;
  auto add = [&](const std::string &name, const Program &program,
                 const Controls &controls, const SizeValues &sizes,
                 const char *profile) {
    if (!checkControls(controls).ok() || !checkControls(controls, program).ok())
      return;
    Result<PlannedStep> plan = applyPolicy(program, controls, std::nullopt);
    ASSERT_TRUE(plan.ok()) << plan.message();
    Result<Schedule> schedule =
        instantiate(program, *plan, sizes, controls, *profileNamed(profile));
    ASSERT_TRUE(schedule.ok()) << name << ": " << schedule.message();
    cases.push_back({name, *schedule});
  };
  Program dit = makeDitProgram(4, smallDitShape());
  const std::pair<std::optional<int64_t>, std::optional<int64_t>> segments[] = {
      {std::nullopt, std::nullopt}, {2, std::nullopt}, {2, 4}};
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn,
                          Backend::Unsloth, Backend::UnslothFfn})
    for (auto [interval, stride] : segments)
      for (int flags = 0; flags < 4; ++flags)
        for (const char *profile : {"h200", "host"}) {
          // Two ratios of compute to link; one is enough for the segments.
          if (interval && profile == std::string("host"))
            continue;
          Controls controls;
          controls.backend = backend;
          controls.interval = interval;
          controls.segmentStride = stride;
          controls.attentionOnce = flags & 1;
          controls.offloadAttention = flags & 2;
          add(std::string(nameOf(backend)) + " interval " +
                  std::to_string(interval.value_or(0)) + " stride " +
                  std::to_string(stride.value_or(0)) + " flags " +
                  std::to_string(flags) + " " + profile,
              dit, controls, {{"image", 48}}, profile);
        }
  add("adapter", makeAdapterProgram(3), Controls(), {{"rows", 5}}, "host");
  return cases;
}

class VerifyTest : public testing::Test {
protected:
  static void SetUpTestSuite() { cases = new std::vector<Case>(makeCases()); }
  static void TearDownTestSuite() { delete cases; }

  /// Counts one mutant and fails when the verifier passes a wrong one.
  /// `isExact`: it must not refuse a right one either.
  void judge(const Case &original, const Schedule &mutant, bool isMutantRight,
             bool isExact, const std::string &what) {
    Status status = verify(mutant);
    ++mutants;
    if (!isMutantRight) {
      ++changing;
      EXPECT_FALSE(status.ok()) << original.name << ": " << what;
      caught += !status.ok();
      if (!status.ok() && example.empty())
        example = status.message();
    } else if (isExact) {
      EXPECT_TRUE(status.ok())
          << original.name << ": " << what << ": " << status.message();
    }
  }
  void report(const char *kind) {
    std::cout << kind << ": " << mutants << " mutants, " << changing
              << " change a dependency, " << caught << " of them caught; e.g. "
              << example << "\n";
    EXPECT_GT(changing, 0);
    EXPECT_EQ(caught, changing);
  }

  static std::vector<Case> *cases;
  int mutants = 0, changing = 0, caught = 0;
  std::string example;
};

std::vector<Case> *VerifyTest::cases = nullptr;

/// One command goes from one index to another; the rest keep their order.
Schedule moved(const Schedule &schedule, int from, int to) {
  Schedule mutant = schedule;
  Command command = mutant.commands[from];
  mutant.commands.erase(mutant.commands.begin() + from);
  mutant.commands.insert(mutant.commands.begin() + to, command);
  return mutant;
}

} // namespace

// 5 backends x 3 segmentations x 4 flags, less what is refused: 2 + 12 + 24,
// those without segments (2 + 4 + 8) on a second profile, and the adapter.
TEST_F(VerifyTest, SchedulesAreRight) {
  EXPECT_EQ(cases->size(), 38u + 14u + 1u);
  for (const Case &test : *cases) {
    ASSERT_LT(test.schedule.commands.size(), size_t(maxCommands));
    Status status = verify(test.schedule);
    EXPECT_TRUE(status.ok()) << test.name << ": " << status.message();
    EXPECT_TRUE(isRight(test.schedule, closureOf(test.schedule))) << test.name;
  }
}

TEST_F(VerifyTest, RemovedWait) {
  for (const Case &test : *cases)
    for (size_t c = 0; c < test.schedule.commands.size(); ++c) {
      if (test.schedule.commands[c].kind != Kind::Wait)
        continue;
      Schedule mutant = test.schedule;
      // Removing would shift the lifetimes; a launch of nothing does not.
      mutant.commands[c] = Command();
      mutant.commands[c].stream = StreamKind::Compute;
      judge(test, mutant, isRight(mutant, closureOf(mutant)), true,
            "no wait at #" + std::to_string(c));
    }
  report("removed waits");
}

TEST_F(VerifyTest, RecordAfterItsWait) {
  for (const Case &test : *cases) {
    const std::vector<Command> &commands = test.schedule.commands;
    for (size_t r = 0; r < commands.size(); ++r) {
      if (commands[r].kind != Kind::Record)
        continue;
      size_t w = r;
      while (w < commands.size() && (commands[w].kind != Kind::Wait ||
                                     commands[w].event != commands[r].event))
        ++w;
      ASSERT_LT(w, commands.size()) << test.name << ": an event for nobody";
      Schedule mutant = moved(test.schedule, int(r), int(w));
      judge(test, mutant, isRight(mutant, closureOf(mutant)), false,
            "record #" + std::to_string(r) + " after wait #" +
                std::to_string(w));
    }
  }
  report("records after their waits");
}

// The record stands before the command whose end it should tell.
TEST_F(VerifyTest, RecordTooEarly) {
  for (const Case &test : *cases) {
    const std::vector<Command> &commands = test.schedule.commands;
    for (size_t r = 0; r < commands.size(); ++r) {
      if (commands[r].kind != Kind::Record)
        continue;
      int to = int(r) - 1;
      while (to >= 0 && (commands[to].stream != commands[r].stream ||
                         commands[to].kind == Kind::Record))
        --to;
      if (to < 0)
        continue;
      Schedule mutant = test.schedule;
      // Swapped, so that no other command changes its index.
      std::swap(mutant.commands[r], mutant.commands[to]);
      judge(test, mutant, isRight(mutant, closureOf(mutant)), false,
            "record #" + std::to_string(r) + " at #" + std::to_string(to));
    }
  }
  report("records too early");
}

TEST_F(VerifyTest, RecordTwiceOrNever) {
  for (const Case &test : *cases)
    for (size_t c = 0; c < test.schedule.commands.size(); ++c) {
      if (test.schedule.commands[c].kind != Kind::Record)
        continue;
      Schedule twice = test.schedule;
      twice.commands.push_back(twice.commands[c]);
      judge(test, twice, isRight(twice, closureOf(twice)), true, "twice");
      Schedule never = test.schedule;
      never.commands[c] = Command();
      judge(test, never, isRight(never, closureOf(never)), true, "never");
    }
  report("records twice or never");
}

// A buffer moves onto another that is held at the same time, so that one is
// written over before its last reader; up to three victims a buffer.
TEST_F(VerifyTest, ReuseBeforeTheLastReader) {
  for (const Case &test : *cases) {
    const Schedule &s = test.schedule;
    std::vector<std::bitset<maxCommands>> closure = closureOf(s);
    for (size_t a = 0; a < s.buffers.size(); ++a) {
      if (s.buffers[a].space != Space::Arena)
        continue;
      int victims = 0;
      for (size_t step = 0; step < s.buffers.size() && victims < 3; ++step) {
        size_t b = (a * 7 + step * 13 + 1) % s.buffers.size();
        const Buffer &from = s.buffers[a], &to = s.buffers[b];
        if (b == a || to.space != Space::Arena || from.offset == to.offset ||
            from.begin >= to.end || to.begin >= from.end ||
            to.offset + from.bytes > s.arenaBytes)
          continue;
        ++victims;
        Schedule mutant = s;
        mutant.buffers[a].offset = to.offset;
        // What the lifetimes say must not be what finds it.
        mutant.buffers[a].begin = mutant.buffers[a].end = 0;
        judge(test, mutant, isRight(mutant, closure, int(a)), false,
              from.name + " onto " + to.name);
      }
    }
  }
  report("reuse before the last reader");
}

// The next buffer comes one command too early: at the last reader of the one
// whose place it takes.
TEST_F(VerifyTest, PlaceTakenByTheLastReader) {
  for (const Case &test : *cases) {
    const Schedule &s = test.schedule;
    std::vector<std::bitset<maxCommands>> closure = closureOf(s);
    for (size_t c = 0; c < s.commands.size(); ++c) {
      const Command &command = s.commands[c];
      if (command.kind != Kind::Launch)
        continue;
      for (int r = 0; r < command.numReads; ++r)
        for (size_t w = command.numReads; w < command.buffers.size(); ++w) {
          int read = command.buffers[r], written = command.buffers[w];
          if (written < 0 || read < 0 || read == written ||
              s.buffers[read].space != Space::Arena ||
              s.buffers[written].space != Space::Arena ||
              s.buffers[read].offset == s.buffers[written].offset ||
              s.buffers[read].offset + s.buffers[written].bytes > s.arenaBytes)
            continue;
          Schedule mutant = s;
          mutant.buffers[written].offset = s.buffers[read].offset;
          mutant.buffers[written].begin = mutant.buffers[written].end = 0;
          judge(test, mutant, isRight(mutant, closure, written), false,
                s.buffers[written].name + " onto its operand");
        }
    }
  }
  report("place taken by the last reader");
}

TEST_F(VerifyTest, CopyInBeforeItsCopyOut) {
  for (const Case &test : *cases) {
    const std::vector<Command> &commands = test.schedule.commands;
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].kind != Kind::CopyIn)
        continue;
      int out = 0;
      while (commands[out].kind != Kind::CopyOut ||
             commands[out].buffers[1] != commands[i].buffers[0])
        ++out;
      Schedule swapped = test.schedule;
      std::swap(swapped.commands[i], swapped.commands[out]);
      judge(test, swapped, isRight(swapped, closureOf(swapped)), false,
            "swapped #" + std::to_string(i) + " and #" + std::to_string(out));
      // In its place, but it waits for nothing that the copies out record.
      Schedule unordered = test.schedule;
      std::vector<bool> isOfCopyOut(test.schedule.numEvents);
      for (const Command &command : commands)
        if (command.kind == Kind::Record &&
            command.stream == StreamKind::CopyOut)
          isOfCopyOut[command.event] = true;
      for (Command &command : unordered.commands)
        if (command.kind == Kind::Wait && isOfCopyOut[command.event])
          command = Command();
      judge(test, unordered, isRight(unordered, closureOf(unordered)), true,
            "unordered");
    }
  }
  report("copies in before their copies out");
}

TEST_F(VerifyTest, SlotGivenBackEarly) {
  for (const Case &test : *cases) {
    const Schedule &s = test.schedule;
    std::vector<std::bitset<maxCommands>> closure = closureOf(s);
    for (size_t a = 0; a < s.buffers.size(); ++a)
      for (size_t b = 0; b < s.buffers.size(); ++b) {
        if (a == b || s.buffers[a].space != Space::Host ||
            s.buffers[b].space != Space::Host ||
            s.buffers[a].bytes > s.buffers[b].bytes)
          continue;
        Schedule mutant = s;
        mutant.buffers[a].slot = s.buffers[b].slot;
        judge(test, mutant, isRight(mutant, closure, int(a)), true,
              s.buffers[a].name + " in the slot of " + s.buffers[b].name);
      }
  }
  report("slots given back early");
}

// A lifetime that says less than the commands do is refused even where nothing
// else is in the place.
TEST_F(VerifyTest, ShrunkLifetime) {
  int count = 0;
  for (const Case &test : *cases)
    for (size_t b = 0; b < test.schedule.buffers.size(); ++b) {
      const Buffer &buffer = test.schedule.buffers[b];
      if (buffer.space != Space::Arena)
        continue;
      // The last command that names it, and the first.
      int first = -1, last = -1;
      for (size_t c = 0; c < test.schedule.commands.size(); ++c) {
        const Command &command = test.schedule.commands[c];
        bool isNamed = command.workspace == int(b) ||
                       std::count(command.buffers.begin(),
                                  command.buffers.end(), int(b)) > 0;
        if (isNamed && first < 0)
          first = int(c);
        if (isNamed)
          last = int(c);
      }
      ASSERT_EQ(buffer.begin, first) << buffer.name;
      ASSERT_GE(buffer.end, last) << buffer.name;
      Schedule late = test.schedule;
      late.buffers[b].begin = first + 1;
      EXPECT_FALSE(verify(late).ok()) << test.name << ": " << buffer.name;
      Schedule early = test.schedule;
      early.buffers[b].end = last - 1;
      EXPECT_FALSE(verify(early).ok()) << test.name << ": " << buffer.name;
      count += 2;
    }
  std::cout << "shrunk lifetimes: " << count << " mutants, all caught\n";
}

// Two lifetimes that overlap in time and place are refused although no command
// shows it: stretched until the end of the step.
TEST_F(VerifyTest, OverlappingLifetimes) {
  int count = 0;
  for (const Case &test : *cases)
    for (size_t b = 0; b < test.schedule.buffers.size(); ++b) {
      const Buffer &buffer = test.schedule.buffers[b];
      bool isReused = false;
      for (const Buffer &other : test.schedule.buffers)
        isReused |= buffer.space == Space::Arena &&
                    other.space == Space::Arena && other.begin >= buffer.end &&
                    other.offset < buffer.offset + buffer.bytes &&
                    buffer.offset < other.offset + other.bytes;
      if (!isReused)
        continue;
      Schedule mutant = test.schedule;
      mutant.buffers[b].end = int(mutant.commands.size());
      EXPECT_FALSE(verify(mutant).ok()) << test.name << ": " << buffer.name;
      ++count;
    }
  EXPECT_GT(count, 0);
  std::cout << "overlapping lifetimes: " << count << " mutants, all caught\n";
}

// Indices and ranges that no schedule may have are messages, not crashes.
TEST_F(VerifyTest, OutOfRange) {
  const Schedule &good = cases->front().schedule;
  auto refused = [&](std::function<void(Schedule &)> change) {
    Schedule mutant = good;
    change(mutant);
    Status status = verify(mutant);
    EXPECT_FALSE(status.ok());
    return status.ok() ? std::string() : status.message();
  };
  size_t arena = 0;
  while (good.buffers[arena].space != Space::Arena)
    ++arena;
  EXPECT_NE(refused([](Schedule &s) {
              s.commands[0].buffers[0] = 1 << 20;
            }).find("expected a buffer below"),
            std::string::npos);
  refused([](Schedule &s) { s.commands[0].buffers[0] = -2; });
  refused([](Schedule &s) { s.commands[0].numReads = 99; });
  refused([](Schedule &s) { s.commands[0].stream = StreamKind::CopyIn; });
  refused([](Schedule &s) { s.commands[0].workspace = 1 << 20; });
  refused([](Schedule &s) { s.forwardEnd = -1; });
  refused([](Schedule &s) { s.numEvents = 1; });
  refused([](Schedule &s) { s.numEvents = -1; });
  EXPECT_NE(refused([&](Schedule &s) {
              s.buffers[arena].offset += 1;
            }).find("multiple of 256"),
            std::string::npos);
  EXPECT_NE(refused([&](Schedule &s) {
              s.buffers[arena].offset = s.arenaBytes / 256 * 256;
            }).find("an end within the arena"),
            std::string::npos);
  refused(
      [&](Schedule &s) { s.buffers[arena].offset = INT64_MAX / 256 * 256; });
  refused([&](Schedule &s) { s.buffers[arena].bytes = 0; });
  refused([](Schedule &s) { s.arenaBytes = 0; });
  refused([](Schedule &s) { s.buffers[0].external = 1 << 20; });
  refused([](Schedule &s) { s.buffers[1].external = 0; });
}

// A message names both commands and the buffer.
TEST_F(VerifyTest, MessageNamesBothCommandsAndTheBuffer) {
  for (const Case &test : *cases) {
    if (test.name != "unsloth interval 0 stride 0 flags 0 h200")
      continue;
    // Compute waits for no copy in, so the replay reads x' before it is there.
    Schedule mutant = test.schedule;
    std::vector<bool> isOfCopyIn(mutant.numEvents);
    for (const Command &command : mutant.commands)
      if (command.kind == Kind::Record && command.stream == StreamKind::CopyIn)
        isOfCopyIn[command.event] = true;
    for (Command &command : mutant.commands)
      if (command.kind == Kind::Wait && isOfCopyIn[command.event])
        command = Command();
    Status status = verify(mutant);
    ASSERT_FALSE(status.ok());
    int copy = -1, reader = -1;
    for (size_t c = 0; c < mutant.commands.size() && reader < 0; ++c) {
      const Command &command = mutant.commands[c];
      if (command.kind == Kind::CopyIn && copy < 0)
        copy = int(c);
      else if (copy >= 0 && command.kind == Kind::Launch && command.numReads &&
               command.buffers[0] == mutant.commands[copy].buffers[1])
        reader = int(c);
    }
    EXPECT_EQ(status.message(),
              "#" + std::to_string(reader) +
                  " f0 b3 reads b3.x': expected to run after #" +
                  std::to_string(copy) +
                  " copy x b3, which writes it, found nothing that orders "
                  "them");
    return;
  }
  FAIL() << "no such case";
}
