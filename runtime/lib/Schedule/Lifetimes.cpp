//===- Lifetimes.cpp - who holds the arena when ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Draft.h"
#include "Schedule/Place.h"

#include <algorithm>
#include <map>

using namespace ckpt::rt;

namespace {

/// First and last node that names a buffer.
struct Uses {
  int first = -1, last = -1;
  bool isCopiedOut = false;
};

std::vector<Uses> usesOf(const Draft &draft) {
  std::vector<Uses> uses(draft.buffers.size());
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const Command &command = draft.nodes[n].command;
    for (int buffer : command.buffers) {
      if (buffer < 0)
        continue;
      if (uses[buffer].first < 0)
        uses[buffer].first = int(n);
      uses[buffer].last = int(n);
    }
    if (command.kind == Command::Kind::CopyOut)
      uses[command.buffers[0]].isCopiedOut = true;
  }
  return uses;
}

} // namespace

// A pair stays in Command::inPlace only when it is taken: the operand is in the
// arena and never used again, the result is new and of equal size. What is
// copied out is left alone; its copy would have to be waited for here.
void ckpt::rt::shareInPlace(Draft &draft) {
  std::vector<Uses> uses = usesOf(draft);
  std::vector<bool> isReplaced(draft.buffers.size());
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    Command &command = draft.nodes[n].command;
    std::vector<std::pair<int, int>> allowed = std::move(command.inPlace);
    command.inPlace.clear();
    if (command.kind != Command::Kind::Launch)
      continue;
    auto isAllowed = [&](int read, int write) {
      return std::find(allowed.begin(), allowed.end(),
                       std::make_pair(read, write)) != allowed.end();
    };
    int numWrites = int(command.buffers.size()) - command.numReads;
    for (int w = 0; w < numWrites; ++w) {
      int written = command.buffers[command.numReads + w];
      for (int r = 0; written >= 0 && r < command.numReads; ++r) {
        int read = command.buffers[r];
        if (read < 0)
          continue;
        // A running sum is one buffer before and after.
        if (read == written) {
          command.inPlace.push_back({r, w});
          continue;
        }
        const Buffer &from = draft.buffers[read], &to = draft.buffers[written];
        if (!isAllowed(r, w) || from.space != Space::Arena ||
            to.space != Space::Arena || from.bytes != to.bytes ||
            uses[read].last != int(n) || uses[read].isCopiedOut ||
            uses[written].first != int(n) || isReplaced[read] ||
            draft.replaces[written] >= 0)
          continue;
        // Every place where the kernel reads it must allow it.
        bool isEverywhere = true;
        for (int other = 0; other < command.numReads; ++other)
          if (command.buffers[other] == read)
            isEverywhere &= isAllowed(other, w);
        if (!isEverywhere)
          continue;
        for (int other = 0; other < command.numReads; ++other)
          if (command.buffers[other] == read)
            command.inPlace.push_back({other, w});
        isReplaced[read] = true;
        draft.replaces[written] = read;
      }
    }
  }
}

void ckpt::rt::setLifetimes(const Draft &draft, const std::vector<int> &at,
                            std::vector<Buffer> &buffers) {
  for (Buffer &buffer : buffers) {
    buffer.begin = INT32_MAX;
    buffer.end = 0;
  }
  auto use = [&](int buffer, size_t node) {
    if (buffer < 0)
      return;
    buffers[buffer].begin = std::min(buffers[buffer].begin, at[node]);
    buffers[buffer].end = std::max(buffers[buffer].end, at[node] + 1);
  };
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const Node &node = draft.nodes[n];
    for (int buffer : node.command.buffers)
      use(buffer, n);
    use(node.command.workspace, n);
    for (const Release &release : node.releases) {
      Buffer &source = buffers[draft.nodes[release.copy].command.buffers[0]];
      source.end = std::max(source.end, at[n]);
    }
  }
  for (size_t b = 0; b < buffers.size(); ++b)
    if (draft.replaces[b] >= 0)
      buffers[draft.replaces[b]].end = buffers[b].begin;
  for (Buffer &buffer : buffers)
    if (buffer.space == Space::External) {
      buffer.begin = 0;
      buffer.end = at.back();
    }
}

Status ckpt::rt::placeBuffers(Draft &draft, bool isLast) {
  std::vector<int> at(draft.nodes.size() + 1);
  for (size_t n = 0; n < at.size(); ++n)
    at[n] = int(n);
  setLifetimes(draft, at, draft.buffers);

  // Buffers that take each other's place are one extent.
  std::vector<Extent> extents;
  std::vector<int> extentOf(draft.buffers.size(), -1);
  int64_t total = 0;
  for (size_t b = 0; b < draft.buffers.size(); ++b) {
    const Buffer &buffer = draft.buffers[b];
    if (buffer.space != Space::Arena)
      continue;
    int64_t bytes = alignedBytes(buffer.bytes);
    if (draft.replaces[b] >= 0)
      continue;
    if (bytes > (int64_t(1) << 62) - total)
      return Error{"arena: expected at most 2^62 bytes over all buffers, found "
                   "more at " +
                   buffer.name + "; make the sizes smaller"};
    total += bytes;
    extentOf[b] = int(extents.size());
    extents.push_back({bytes, buffer.begin, buffer.end});
  }
  // The order of nodes is the order of replacements, not that of buffers.
  for (size_t b = 0; b < draft.buffers.size(); ++b) {
    if (draft.replaces[b] < 0)
      continue;
    int root = int(b);
    while (draft.replaces[root] >= 0)
      root = draft.replaces[root];
    extentOf[b] = extentOf[root];
    Extent &extent = extents[extentOf[root]];
    extent.end = std::max(extent.end, draft.buffers[b].end);
  }

  Placement placement = placeExtents(extents, isLast ? 1.0 : 0.3);
  draft.isTight = placement.bytes - placement.live <= placement.live / 50;
  for (size_t b = 0; b < draft.buffers.size(); ++b) {
    Buffer &buffer = draft.buffers[b];
    if (buffer.space != Space::Arena)
      continue;
    buffer.offset = placement.offsets[extentOf[b]];
    draft.arenaBytes = std::max(draft.arenaBytes, buffer.offset + buffer.bytes);
  }

  // Nobody needs to know that a copy is done whose bytes are not used again.
  for (size_t n = 0; n < draft.nodes.size(); ++n)
    for (Release &release : draft.nodes[n].releases) {
      const Buffer &source =
          draft.buffers[draft.nodes[release.copy].command.buffers[0]];
      release.isNeeded =
          source.space == Space::Arena &&
          std::any_of(draft.buffers.begin(), draft.buffers.end(),
                      [&](const Buffer &other) {
                        return other.space == Space::Arena &&
                               other.begin >= source.end &&
                               other.offset < source.offset + source.bytes &&
                               source.offset < other.offset + other.bytes;
                      });
    }
  return {};
}
