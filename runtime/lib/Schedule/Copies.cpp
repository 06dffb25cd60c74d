//===- Copies.cpp - when copies are done and when they begin --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Draft.h"

#include <algorithm>
#include <numeric>

using namespace ckpt::rt;

namespace {

/// Copies in are issued this much earlier than the model says: a share of the
/// copy and a fixed time, so that a slower link does not show at once.
constexpr double slackShare = 0.1;
constexpr double slackSeconds = 2e-4;

/// Start of each compute node when compute never waits, counted from `begin`;
/// other nodes have the start of the compute node that follows.
std::vector<double> computeStarts(const Draft &draft, int begin) {
  std::vector<double> starts(draft.nodes.size() + 1, 0);
  double now = 0;
  for (size_t n = begin; n < draft.nodes.size(); ++n) {
    starts[n] = now;
    if (draft.isCompute(int(n)))
      now += draft.nodes[n].seconds;
  }
  starts.back() = now;
  return starts;
}

} // namespace

// The place is the first one that the model says the copy does not delay and
// that no longer reads the source: earlier it would free nothing.
void ckpt::rt::releaseCopied(Draft &draft) {
  std::vector<double> starts = computeStarts(draft, 0);
  std::vector<int> lastReader(draft.buffers.size(), -1);
  for (int n = 0; n < draft.forwardEnd; ++n)
    if (draft.isCompute(n))
      for (int buffer : draft.nodes[n].command.buffers)
        if (buffer >= 0)
          lastReader[buffer] = n;
  double engineFree = 0;
  for (int n = 0; n < draft.forwardEnd; ++n) {
    Node &copy = draft.nodes[n];
    if (copy.command.kind != Command::Kind::CopyOut)
      continue;
    double begin = engineFree;
    for (int producer : copy.after)
      begin = std::max(begin, starts[producer] + draft.nodes[producer].seconds);
    engineFree = begin + copy.seconds;
    int source = copy.command.buffers[0];
    int place = std::max(n, lastReader[source]) + 1;
    while (place < draft.forwardEnd - 1 &&
           (!draft.isCompute(place) || starts[place] < engineFree))
      ++place;
    place = std::min(place, draft.forwardEnd - 1);
    copy.releasedAt = place;
    draft.nodes[place].releases.push_back({n, true});
  }
}

void ckpt::rt::advanceCopiesIn(Draft &draft, Lookahead lookahead) {
  std::vector<int> copies;
  for (size_t n = draft.forwardEnd; n < draft.nodes.size(); ++n)
    if (draft.nodes[n].command.kind == Command::Kind::CopyIn)
      copies.push_back(int(n));
  if (copies.empty())
    return;

  // As late as still hides: the copies queue up in the order of their readers,
  // so each must end before the next one begins.
  std::vector<double> starts = computeStarts(draft, draft.forwardEnd);
  std::vector<int> place(copies.size());
  double next = starts.back();
  for (size_t c = copies.size(); c-- > 0;) {
    double seconds = draft.nodes[copies[c]].seconds;
    next = std::min(next, starts[copies[c]]) - seconds;
    double issue = next - seconds * slackShare - slackSeconds;
    auto after = std::upper_bound(starts.begin() + draft.forwardEnd,
                                  starts.begin() + copies[c] + 1, issue);
    place[c] = std::max(int(after - starts.begin()) - 1, draft.forwardEnd);
  }

  // Never so early that the peak is above what it is when every copy is issued
  // at the start of its reader's block, and never more than a block ahead.
  size_t count = draft.nodes.size();
  std::vector<int> identity(count + 1);
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<Buffer> buffers = draft.buffers;
  setLifetimes(draft, identity, buffers);
  std::vector<int> runOf(copies.size());
  for (size_t c = 0; c < copies.size(); ++c) {
    auto run =
        std::upper_bound(draft.runs.begin(), draft.runs.end(), copies[c]);
    runOf[c] = int(run - draft.runs.begin()) - 1;
    Buffer &target = buffers[draft.nodes[copies[c]].command.buffers[1]];
    target.begin = draft.runs[runOf[c]];
  }
  std::vector<int64_t> held(count + 1, 0);
  for (const Buffer &buffer : buffers)
    if (buffer.space == Space::Arena && buffer.begin < buffer.end) {
      held[buffer.begin] += alignedBytes(buffer.bytes);
      held[buffer.end] -= alignedBytes(buffer.bytes);
    }
  std::partial_sum(held.begin(), held.end(), held.begin());
  int64_t limit = *std::max_element(held.begin(), held.end());
  int64_t largest = 0;
  for (int copy : copies)
    largest = std::max(
        largest,
        alignedBytes(
            draft.buffers[draft.nodes[copy].command.buffers[1]].bytes));
  if (lookahead == Lookahead::Spare)
    limit -= largest;
  if (lookahead == Lookahead::None)
    limit = 0;

  int previous = draft.forwardEnd;
  for (size_t c = 0; c < copies.size(); ++c) {
    int64_t bytes = alignedBytes(
        draft.buffers[draft.nodes[copies[c]].command.buffers[1]].bytes);
    int runStart = draft.runs[runOf[c]];
    int earliest = runOf[c] > 0 ? draft.runs[runOf[c] - 1] : draft.forwardEnd;
    int wanted = std::max({place[c], earliest, previous});
    int chosen = std::max(wanted, runStart);
    while (chosen > wanted && held[chosen - 1] + bytes <= limit)
      --chosen;
    for (int n = chosen; n < runStart; ++n)
      held[n] += bytes;
    for (int n = runStart; n < chosen; ++n)
      held[n] -= bytes;
    place[c] = previous = chosen;
  }

  // Move each copy in front of its place; copies stay in order.
  std::vector<int> order, newIndex(count);
  size_t c = 0;
  for (int n = 0; n < int(count); ++n) {
    for (; c < copies.size() && place[c] <= n; ++c)
      order.push_back(copies[c]);
    if (draft.nodes[n].command.kind != Command::Kind::CopyIn)
      order.push_back(n);
  }
  for (size_t n = 0; n < count; ++n)
    newIndex[order[n]] = int(n);
  std::vector<Node> nodes;
  int lastCompute = -1;
  for (int old : order) {
    Node node = std::move(draft.nodes[old]);
    for (int &other : node.after)
      other = newIndex[other];
    for (Release &release : node.releases)
      release.copy = newIndex[release.copy];
    // What compute did before here has freed the destination.
    if (node.command.kind == Command::Kind::CopyIn)
      node.after.push_back(lastCompute);
    if (node.command.stream == StreamKind::Compute)
      lastCompute = int(nodes.size());
    nodes.push_back(std::move(node));
  }
  draft.nodes = std::move(nodes);
}
