//===- ReportTest.cpp - tables, trace, picture, JSON ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/FateTable.h"
#include "Report/JsonReport.h"
#include "Report/MemoryPicture.h"
#include "Report/MemoryUse.h"
#include "Report/PolicyTable.h"
#include "Report/TextTable.h"
#include "Report/Trace.h"
#include "TestProgram.h"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

using nlohmann::json;
using namespace ckpt::rt;

namespace {

Controls controlsOf(Backend backend, std::optional<int64_t> interval = {}) {
  Controls controls;
  controls.backend = backend;
  controls.interval = interval;
  return controls;
}

/// A planned and simulated step on the H200 profile.
struct Planned {
  Planned(Program given, const Controls &controls, const SizeValues &given2)
      : program(std::move(given)), profile(*profileNamed("h200")) {
    SizeValues sizes = *bindSizes(program, given2);
    PlannedStep plan = *applyPolicy(program, controls, std::nullopt);
    Result<Schedule> made =
        instantiate(program, plan, sizes, controls, profile);
    EXPECT_TRUE(made.ok()) << made.message();
    schedule = *made;
    simulation = simulate(program, schedule, profile);
  }

  Program program;
  Profile profile;
  Schedule schedule;
  Simulation simulation;
};

Planned ditOf(const Controls &controls, int blocks = 4) {
  return Planned(makeDitProgram(blocks), controls, {{"image", 16384}});
}

// tokens x width x 2 bytes.
constexpr int64_t unit = 16384 * 3072 * 2;

int64_t sumOf(const HeldBytes &held) {
  int64_t sum = 0;
  for (int64_t bytes : held)
    sum += bytes;
  return sum;
}

TEST(MemoryUse, AddsUpToWhatTheSimulatorFinds) {
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn,
                          Backend::Unsloth, Backend::UnslothFfn}) {
    Planned planned = ditOf(controlsOf(backend));
    int64_t most = 0;
    std::vector<HeldBytes> use = memoryUse(planned.schedule);
    ASSERT_EQ(use.size(), planned.schedule.commands.size());
    for (const HeldBytes &held : use)
      most = std::max(most, sumOf(held));
    EXPECT_EQ(most, planned.simulation.liveBytes) << nameOf(backend);
    EXPECT_EQ(sumOf(use[planned.simulation.peakCommand]), most);
  }
}

TEST(MemoryUse, SaysWhyItIsHeld) {
  // At the forward's end `none` keeps 10L - 1 units: x qkv o x1 h, without
  // the first x, which is the caller's; and the lse (24 heads) and two
  // statistics (2 values) of each block, f32 a token.
  Planned none = ditOf(controlsOf(Backend::None));
  HeldBytes held = memoryUse(none.schedule)[none.schedule.forwardEnd];
  // The backward's first op makes dh in the place of the last block's h.
  EXPECT_EQ(held[int(Holding::Gradients)], 4 * unit);
  EXPECT_EQ(held[int(Holding::Kept)],
            (39 - 4) * unit + 4 * int64_t(24 + 2 + 2) * 4 * 16384);
  for (const HeldBytes &at : memoryUse(none.schedule))
    EXPECT_EQ(at[int(Holding::Replayed)] + at[int(Holding::Outgoing)] +
                  at[int(Holding::Incoming)],
              0);

  // `unsloth` keeps nothing in the arena, sends out the three inner states
  // and holds at least one of them, come back, at some time.
  Planned unsloth = ditOf(controlsOf(Backend::Unsloth));
  bool incoming = false, outgoing = false, replayed = false;
  for (const HeldBytes &at : memoryUse(unsloth.schedule)) {
    EXPECT_EQ(at[int(Holding::Kept)], 0);
    incoming |= at[int(Holding::Incoming)] >= unit;
    outgoing |= at[int(Holding::Outgoing)] >= unit;
    replayed |= at[int(Holding::Replayed)] >= 9 * unit;
  }
  EXPECT_TRUE(incoming);
  EXPECT_TRUE(outgoing);
  EXPECT_TRUE(replayed);
}

TEST(FateTable, OneGroupForEachRoleAndDemand) {
  Controls controls = controlsOf(Backend::Unsloth, 2);
  Planned planned = ditOf(controls, 5);
  std::vector<FateGroup> groups =
      fateTable(planned.program, planned.schedule.plan,
                planned.schedule.sizeValues, controls);
  // Segments [0,1] [2,3] [4]: the last block replays no result.
  ASSERT_EQ(groups.size(), 4u);
  std::vector<std::string> heads;
  for (const FateGroup &group : groups)
    heads.push_back(group.role + " " + formatBlocks(group.blocks));
  EXPECT_EQ(heads, (std::vector<std::string>{"first 0", "inner 1, 3",
                                             "border 2", "border 4"}));
  const FateRow &callers = groups[0].rows[0], &border = groups[2].rows[0];
  EXPECT_EQ(callers.value, "x");
  EXPECT_EQ(callers.bytes, unit);
  EXPECT_EQ(callers.fate, Fate::Keep);
  EXPECT_EQ(callers.reason, "the caller's own tensor");
  EXPECT_EQ(border.fate, Fate::Offload);
  EXPECT_EQ(border.reason, "state at the segment's border");
  EXPECT_EQ(groups[1].rows[0].reason, "state inside a segment");

  std::ostringstream text;
  printFates({groups[1]}, text);
  EXPECT_EQ(text.str().substr(0, text.str().find("stats1")),
            "@dit, inner (blocks 1, 3)\n"
            "  value       size  fate       why\n"
            "  x         96 MiB  recompute  state inside a segment\n"
            "  ");
}

TEST(FateTable, UnusedValuesSaySo) {
  // Without a gradient of x nothing reads the block's saved values.
  Program program = makeDitProgram(1);
  PlannedStep plan;
  plan.blocks = {
      {{0, 0, 0}, {std::vector<Fate>(8, Fate::Unused), {false}, {false}}, 0}};
  plan.segments = {{0, 1, false}};
  FateGroup group =
      fateTable(program, plan, {{"batch", 1}, {"image", 8}}, {})[0];
  EXPECT_EQ(group.role, "first, plain");
  EXPECT_EQ(group.rows[3].reason, "read by neither backward nor replay");
}

TEST(FateTable, BlocksAreRanges) {
  EXPECT_EQ(formatBlocks({}), "");
  EXPECT_EQ(formatBlocks({3}), "3");
  EXPECT_EQ(formatBlocks({0, 2, 3, 4, 8}), "0, 2-4, 8");
}

TEST(PolicyTable, EveryLegalCombinationOnce) {
  Planned planned = ditOf(controlsOf(Backend::None));
  Result<std::vector<PolicyRow>> rows =
      comparePolicies(planned.program, controlsOf(Backend::Torch, 2), 3,
                      planned.schedule.sizeValues, planned.profile);
  ASSERT_TRUE(rows.ok()) << rows.message();
  std::vector<std::string> names;
  for (const PolicyRow &row : *rows)
    names.push_back(formatControls(row.controls));
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "none", "none offload-attention", "torch-ffn interval=2",
          "torch-ffn interval=2 offload-attention", "unsloth-ffn interval=2",
          "unsloth-ffn interval=2 offload-attention", "torch interval=2",
          "torch interval=2 attention-once",
          "torch interval=2 offload-attention", "unsloth interval=2",
          "unsloth interval=2 attention-once",
          "unsloth interval=2 offload-attention"}));
  // torch-ffn in blocks 0 and 2: f4 and f5 each.
  EXPECT_EQ((*rows)[2].replayedOps, 4);
  EXPECT_EQ((*rows)[2].hostBytes, 0);
  // unsloth-ffn sends out x1 of both.
  EXPECT_EQ((*rows)[4].copiedToHost, 2 * unit);
  EXPECT_EQ((*rows)[4].hostBytes, 2 * unit);
  // torch over [0,1] [2]: f0 to f5 of each block, f6 of the first.
  EXPECT_EQ((*rows)[6].replayedOps, 3 * 6 + 1);

  Program adapter = makeAdapterProgram(2);
  EXPECT_EQ(
      comparePolicies(adapter, {}, std::nullopt, {{"rows", 4}}, planned.profile)
          ->size(),
      3u);
}

TEST(Trace, HasEveryCommandThatTakesTime) {
  Planned planned = ditOf(controlsOf(Backend::UnslothFfn));
  std::ostringstream text;
  writeTrace(planned.program, planned.schedule, planned.simulation.times, text);
  json trace = json::parse(text.str());
  int slices = 0, counters = 0;
  double last = 0;
  for (const json &event : trace.at("traceEvents")) {
    if (event.at("ph") == "C")
      ++counters;
    if (event.at("ph") != "X")
      continue;
    ++slices;
    EXPECT_GE(event.at("dur"), 0.0);
    last = std::max(last, event.at("ts").get<double>() +
                              event.at("dur").get<double>());
  }
  int expected = 0, onCompute = 0;
  for (const Command &command : planned.schedule.commands) {
    bool takesTime = command.kind != Command::Kind::Record &&
                     command.kind != Command::Kind::Wait;
    expected += takesTime;
    onCompute += takesTime && command.stream == StreamKind::Compute;
  }
  EXPECT_EQ(slices, expected);
  EXPECT_EQ(counters, onCompute);
  EXPECT_NEAR(last, planned.simulation.seconds * 1e6, 1);
}

TEST(MemoryPicture, IsLabelledAndWellFormed) {
  Planned planned = ditOf(controlsOf(Backend::Unsloth, 4), 16);
  std::ostringstream text;
  drawMemory(planned.schedule, planned.simulation.times, "a < b & c", text);
  std::string svg = text.str();
  for (const char *part : {"a &lt; b &amp; c", "arena in use, GiB", "time, ms",
                           ">forward<", ">backward<", "back from the host",
                           "made again by a replay", "arena ", "fullest at "})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  // Every tag closes, in order.
  std::vector<std::string> open;
  for (size_t at = 0; (at = svg.find('<', at)) != std::string::npos;) {
    size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    std::string tag = svg.substr(at + 1, end - at - 1);
    at = end;
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
  for (const char *bad : {"nan", "inf", "-nan"})
    EXPECT_EQ(svg.find(bad), std::string::npos);
}

TEST(MemoryPicture, StaysSmallHoweverLongTheSchedule) {
  Planned planned = ditOf(controlsOf(Backend::Torch), 300);
  EXPECT_GT(planned.schedule.commands.size(), 5000u);
  std::ostringstream text;
  drawMemory(planned.schedule, planned.simulation.times, "long", text);
  // 7 stacks, a point every half pixel of 856, two corners above and below,
  // 12 letters each; and the bands of 300 segments.
  EXPECT_LT(text.str().size(), 7 * 2 * 856 * 4 * 12 + 300 * 600u);
}

TEST(MemoryPicture, OfNothingIsStillAPicture) {
  std::ostringstream text;
  drawMemory(Schedule(), {}, "empty", text);
  EXPECT_NE(text.str().find("</svg>"), std::string::npos);
}

TEST(JsonReport, HasWhatIsKnownAndNullForTheRest) {
  Controls controls = controlsOf(Backend::Torch, 2);
  Planned planned = ditOf(controls, 5);
  RunReport report;
  report.controls = controls;
  report.profile = planned.profile;
  report.simulation = planned.simulation;
  std::string text = jsonReport(planned.program, planned.schedule, report);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  json j = json::parse(text);
  EXPECT_EQ(j["segments"], json::parse("[[0,1],[2,3],[4,4]]"));
  EXPECT_EQ(j["peak"]["predicted"], planned.simulation.peakBytes);
  EXPECT_EQ(j["peak"]["arena"], planned.schedule.arenaBytes);
  EXPECT_EQ(j["external_bytes"], planned.simulation.externalBytes);
  // f0 to f5 of 5 blocks, f6 of the two that stand before an inner state.
  EXPECT_EQ(j["replayed_ops"], 5 * 6 + 2);
  for (const char *pointer :
       {"/peak/touched", "/time/measured", "/digest", "/check", "/pool"})
    EXPECT_TRUE(j.at(json::json_pointer(pointer)).is_null()) << pointer;

  report.statistics = StepStatistics();
  report.statistics->touched = 7;
  report.statistics->backwards = 2;
  report.statistics->copiedToHost = 10;
  report.statistics->pool.pinnedBytes = 3;
  report.measuredSeconds = 0.5;
  report.digest = "00ff";
  report.check = {
      {"out.x", 1e-3, 2e-3, 3e-3, true},
      {"grad.x", std::numeric_limits<double>::quiet_NaN(), 1, 1, false}};
  j = json::parse(jsonReport(planned.program, planned.schedule, report));
  EXPECT_EQ(j["peak"]["touched"], 7);
  // Of one step of the two.
  EXPECT_EQ(j["copied"]["to_host"], 5);
  EXPECT_EQ(j["pool"]["pinned_bytes"], 3);
  EXPECT_EQ(j["time"]["measured"], 0.5);
  EXPECT_EQ(j["digest"], "00ff");
  EXPECT_EQ(j["check"]["passed"], false);
  EXPECT_EQ(j["check"]["tensors"][0]["error"], 1e-3);
  EXPECT_TRUE(j["check"]["tensors"][1]["error"].is_null());
}

TEST(TextTable, NumbersToTheRightWordsToTheLeft) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1000), "1000 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(int64_t(96) << 20), "96 MiB");
  EXPECT_EQ(formatBytes(int64_t(1) << 50), "1024 TiB");
  EXPECT_EQ(formatSeconds(0), "0 us");
  EXPECT_EQ(formatSeconds(0.0125), "12.5 ms");
  EXPECT_EQ(formatSeconds(123.4), "123 s");
  TextTable table({"what", "size"});
  table.add({"a", "5 B"});
  table.add({"long", "1.50 KiB"});
  std::ostringstream text;
  table.print(text, "> ");
  EXPECT_EQ(text.str(), "> what      size\n"
                        "> a          5 B\n"
                        "> long  1.50 KiB\n");
}

} // namespace
