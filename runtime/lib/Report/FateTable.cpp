//===- FateTable.cpp - what becomes of each value, and why ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/FateTable.h"

#include "Plan/Fates.h"
#include "Report/TextTable.h"

#include <ostream>

using namespace ckpt::rt;

namespace {

std::vector<FateRow> rowsOf(const BlockKind &kind, const Demand &demand,
                            const Role &role, const SizeValues &sizes,
                            const Controls &controls) {
  std::vector<FateRow> rows;
  for (size_t i = 0; i < kind.saved.size(); ++i) {
    const SavedValue &saved = kind.saved[i];
    FateRow row;
    row.value = saved.name;
    row.bytes =
        kind.values[saved.value].type.bytes().evaluate(sizes).value_or(0);
    row.fate = demand.fates[i];
    row.reason = row.fate == Fate::Unused
                     ? "read by neither backward nor replay"
                     : decideFate(kind, saved, controls, role).reason;
    rows.push_back(row);
  }
  return rows;
}

} // namespace

std::vector<FateGroup> ckpt::rt::fateTable(const Program &program,
                                           const PlannedStep &plan,
                                           const SizeValues &sizes,
                                           const Controls &controls) {
  std::vector<FateGroup> groups;
  // What each group stands for, beside it.
  struct Key {
    int kind;
    Role role;
    const Demand *demand;
  };
  std::vector<Key> keys;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const BlockPlan &block = plan.blocks[b];
    Role role = roleOf(plan, int(b));
    size_t g = 0;
    while (g < keys.size() &&
           !(keys[g].kind == block.ref.kind && keys[g].role == role &&
             *keys[g].demand == block.demand))
      ++g;
    if (g == keys.size()) {
      keys.push_back({block.ref.kind, role, &block.demand});
      const BlockKind &kind = program.kinds[block.ref.kind];
      groups.push_back({kind.name,
                        role.str(),
                        {},
                        rowsOf(kind, block.demand, role, sizes, controls)});
    }
    groups[g].blocks.push_back(int(b));
  }
  return groups;
}

std::string ckpt::rt::formatBlocks(const std::vector<int> &blocks) {
  std::string text;
  for (size_t i = 0; i < blocks.size();) {
    size_t last = i;
    while (last + 1 < blocks.size() && blocks[last + 1] == blocks[last] + 1)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(blocks[i]);
    if (last > i)
      text += "-" + std::to_string(blocks[last]);
    i = last + 1;
  }
  return text;
}

void ckpt::rt::printFates(const std::vector<FateGroup> &groups,
                          std::ostream &os) {
  for (const FateGroup &group : groups) {
    os << "@" << group.kind << ", " << group.role << " ("
       << (group.blocks.size() == 1 ? "block " : "blocks ")
       << formatBlocks(group.blocks) << ")\n";
    TextTable table({"value", "size", "fate", "why"});
    for (const FateRow &row : group.rows)
      table.add(
          {row.value, formatBytes(row.bytes), nameOf(row.fate), row.reason});
    table.print(os, "  ");
  }
}
